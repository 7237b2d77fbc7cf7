"""Data-parallel training under torchrun: the same program on every rank, and a few sums in between.

Without torchrun (one process) every call is a no-op, so callers need no branches. Tensors of one call travel as one flat
buffer: one message a step instead of one for each parameter.
"""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Group:
    """The processes of one training; alone, every call does nothing."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_main(self) -> bool:
        """The rank that writes files and prints."""
        return self.rank == 0

    def sum_(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over ranks."""
        if self.world_size == 1 or not tensors:
            return
        if len(tensors) == 1 and tensors[0].is_contiguous():
            dist.all_reduce(tensors[0])
            return
        flat = torch.cat([t.reshape(-1).to(torch.float32) for t in tensors])
        dist.all_reduce(flat)
        for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def mean_(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its mean over ranks."""
        if self.world_size == 1:
            return
        self.sum_(tensors)
        for tensor in tensors:
            tensor.div_(self.world_size)

    def broadcast_(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by rank 0's."""
        if self.world_size == 1:
            return
        for tensor in tensors:
            dist.broadcast(tensor, src=0)

    def agree(self, flag: bool) -> bool:
        """Rank 0's answer to a question that clocks or files may answer differently on each rank."""
        if self.world_size == 1:
            return flag
        answer = torch.tensor([1.0 if flag else 0.0], device=self.device)
        dist.broadcast(answer, src=0)
        return bool(answer.item())

    def close(self) -> None:
        """Leave the group."""
        if self.world_size > 1 and dist.is_initialized():
            dist.destroy_process_group()


def setup(device: torch.device | str) -> Group:
    """Join the group torchrun describes in the environment; on CUDA each rank takes the GPU of its local rank."""
    device = torch.device(device)
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if world_size > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Group(dist.get_rank() if world_size > 1 else 0, world_size, device)
