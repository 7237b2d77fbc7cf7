"""Feet that swing over edges: a plan's foot that cuts through the corner of a step is lifted over it.

A generated motion may put its foot through the edge of a box on the way up: nothing stops it there. A simulated foot is stopped
by the wall, and the body falls over it. What a foot lacks in height over the ground under its sole is spread over the
frames around, so that it rises in time and sinks slowly; feet that stand are left where they are:

    need_t = clearance + ground_t - sole_t    while the foot swings, 0 where it is more than `HIGHEST`
    lift_t = max_s need_s (1 + cos(pi (t - s) / SPREAD)) / 2,  |t - s| < SPREAD

Two-bone inverse kinematics bend the leg accordingly; the rest of the body stays.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from parc.character.character import Character
from parc.generate.frame import FrameState
from parc.generate.legs import bend_legs, legs_of
from parc.generate.probe import probe_points, sole_points
from parc.terrain.heightmap import heights_at
from parc.terrain.terrain import TerrainBatch

CLEARANCE = 0.04
"""m of a swinging sole over an edge"""
HIGHEST = 0.7
"""m: a foot deeper than this goes through a wall, and lifting does not help"""
SPREAD = 5
"""frames"""
SLOW = 0.02
"""m a frame: feet that are slower and said to be in contact stand"""


def clear_edges(character: Character, frames: FrameState, terrain: TerrainBatch) -> FrameState:
    """Frames [B, L, ...] on the one terrain, with swinging feet above the ground."""
    legs = legs_of(character, frames.root_pos.device)
    if legs is None:
        return frames
    probe, pose = probe_points(character, frames.root_pos.device), frames.body_pose(character)
    soles = sole_points(probe, pose)
    ground = heights_at(terrain, soles[..., :2].unsqueeze(0)).squeeze(0)
    need = (ground + CLEARANCE - soles[..., 2]).amax(-1)
    feet = pose.pos.index_select(-2, probe.feet)
    speed = functional.pad((feet[:, 1:] - feet[:, :-1]).norm(dim=-1), (0, 0, 1, 0), value=1.0)
    stands = (speed < SLOW) & (frames.contacts.index_select(-1, probe.feet) > 0.5)
    flat = need <= CLEARANCE + 0.02
    need = torch.where(stands | flat | (need > HIGHEST), 0.0, need)
    lift = torch.where(stands, 0.0, _spread(need))
    return bend_legs(legs, frames, pose, feet + functional.pad(lift.unsqueeze(-1), (2, 0)))


def _spread(need: Tensor) -> Tensor:
    """[B, L, F] -> the highest of bumps around each frame."""
    offset = torch.arange(1 - SPREAD, SPREAD, device=need.device)
    bump = 0.5 + 0.5 * torch.cos(math.pi * offset / SPREAD)
    around = functional.pad(need, (0, 0, SPREAD - 1, SPREAD - 1)).unfold(1, 2 * SPREAD - 1, 1)
    return (around * bump).amax(-1)
