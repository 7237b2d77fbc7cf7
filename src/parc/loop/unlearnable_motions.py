"""Synthesised motions that the tracker before loses too early to learn from: the next tracker does without them."""

import json
from pathlib import Path

import torch

from parc.character.character import Character
from parc.dataset.dataset_store import Dataset
from parc.loop.ledger import LoopError
from parc.loop.loop_plan import TrackerPlan
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_json
from parc.track.follow.tracked_share import shares_followed


def lost_motions(
    plan: TrackerPlan, policy: Path | None, generated: Path, file: Path, character: Character, device: torch.device | str
) -> frozenset[str]:
    """Names of motions of which the policy follows less than asked for; kept in `file` for a training that goes on."""
    if policy is None or not plan.least_followed:
        return frozenset()
    if not file.is_file():
        clips = list(Dataset.open(generated, character))
        shares = shares_followed(policy, clips, character, device, threads=plan.training.threads) if clips else {}
        write_bytes_atomically(file, json.dumps(shares, indent=1).encode())
    shares = read_json(file)
    if not isinstance(shares, dict) or not all(isinstance(share, int | float) for share in shares.values()):
        raise LoopError(f"{file} is damaged; move it away, and it is made again")
    return frozenset(name for name, share in shares.items() if share < plan.least_followed)
