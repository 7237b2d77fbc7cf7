"""Writing plans: short motions from the generator that go on from what a body does.

Motions are written in four ways. *From the body*: the generator goes on after the two last simulated frames, so that plan and
body agree. *From the plan*: it goes on after the frames of the reference that the body follows, which then has no seam.
*Held*: what is left of that reference is kept, and only then written on. It was followed well so far, and nothing changes for the
tracker. *Pause*: from the body, but with nowhere to go. Standing still is nearly always possible, and from there most things are.

    head     the frames that are kept, and the two that the generator goes on after
    windows  one after the other, each after the last two frames of the one before
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.character import Character
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.rollout.path_rollout import PathRunner
from parc.motion.frame_state import FrameState
from parc.plan.future_tree import Branch, Origin


class GivenUp(Exception):
    """Nobody wants the plan any more."""


def is_always_wanted() -> bool:
    """For plans that nobody gives up."""
    return True


class Head(NamedTuple):
    """What a motion begins with."""

    kept: FrameState
    """[n, ...] its first frames; the branch's last is the first"""
    past: FrameState
    """[2, ...] the frames that the generator goes on after; the last is the last that is kept"""


def head_after(branch: Branch, origin: Origin, character: Character, most: int | None = None) -> Head:
    """How a motion after a branch begins; of what is held `most` frames (all) are kept."""
    if origin == "held":
        rest = branch.ahead.row(slice(most))
        if len(rest.root_pos) >= PAST_FRAMES:
            return Head(rest, rest.row(slice(-PAST_FRAMES, None)))
    if origin in ("body", "pause"):
        past = branch.last.frames(character)
    else:
        at = min(branch.first + branch.end, branch.reference.length - 1)
        begin = max(at + 1 - PAST_FRAMES, 0)
        past = branch.reference.frames.row(0).row(slice(begin, begin + PAST_FRAMES))
    return Head(past.row(slice(-1, None)), past)


def write_after(
    runner: PathRunner,
    heads: Sequence[Head],
    progress: Tensor,
    frames: int,
    random: torch.Generator,
    is_wanted: Callable[[], bool] = is_always_wanted,
) -> FrameState:
    """Motions [K, frames, ...] with these heads, of bodies that have come `progress` [K] m when the new frames begin."""
    runner.reset(FrameState.stack([head.past for head in heads]), random)
    runner.progress.copy_(progress)
    missing = frames - min(len(head.kept.root_pos) for head in heads)
    new = write_windows(runner, missing, random, is_wanted=is_wanted).to(heads[0].kept.root_pos.device)
    return FrameState.stack([FrameState.cat([head.kept, new.row(k)], 0).row(slice(frames)) for k, head in enumerate(heads)])


def write_new(
    runner: PathRunner, frames: int, random: torch.Generator, is_wanted: Callable[[], bool] = is_always_wanted
) -> FrameState:
    """Motions [K, `frames` or more, ...] out of nothing, at the beginnings of the paths."""
    runner.reset(None, random)
    return write_windows(runner, frames, random, is_wanted=is_wanted)


def write_windows(
    runner: PathRunner,
    frames: int,
    random: torch.Generator,
    first: FrameState | None = None,
    is_wanted: Callable[[], bool] = is_always_wanted,
) -> FrameState:
    """As many whole windows as so many frames need, [K, ...], behind the frames `first`, if any."""
    parts = [] if first is None else [first]
    for _ in range(math.ceil(frames / runner.settings.keep)):
        if not is_wanted():
            raise GivenUp
        parts.append(runner.step(random).clone())
    return FrameState.cat(parts)
