"""Test processes run side by side, so each keeps to one thread: torch's threads would stand in each other's way."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
