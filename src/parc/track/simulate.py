"""A trained policy follows clips in simulation, and what the body did comes back as motion."""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.motion import Motion
from parc.motion.qpos import qpos_to_frames
from parc.physics.world import World
from parc.track.env import TrackEnv
from parc.track.evaluate import END_SLACK
from parc.track.inference import inference
from parc.track.policy import TrainedActor
from parc.track.reference import ReferenceSettings, build_library
from parc.track.screen import ScreenSettings


@dataclass(frozen=True, eq=False)
class TrackResult:
    clip: Clip
    start: int
    """frame of the clip the simulation started in"""
    motion: Motion
    """what was simulated, with the simulator's contacts; frame 0 is the reference's frame `start`"""
    success: bool
    """tracked to within two frames of the end"""
    joint_error: float
    """m, mean over steps"""
    errors: Tensor
    """[T - 1] m, mean root-relative distance of the bodies at each step"""
    rewards: Tensor
    """[T - 1]"""


def track_clip(trained: TrainedActor, clip: Clip, world: World, start: int = 0, seed: int = 0) -> TrackResult:
    """One clip from frame `start`, with the mean action and without noise."""
    return track_clips(trained, [clip], world, [start], seed)[0]


@torch.no_grad()
def track_clips(
    trained: TrainedActor, clips: list[Clip], world: World, starts: list[int] | None = None, seed: int = 0
) -> list[TrackResult]:
    """Clips side by side, `world.num_worlds` at a time, each from its frame in `starts` (default: the first)."""
    world.contract.check_matches(trained.contract)
    starts = starts or [0] * len(clips)
    fps = float(world.contract.control_hz)
    library = build_library(world.character, clips, ReferenceSettings(ScreenSettings(enabled=False)), world.device, fps)
    for clip, start, length in zip(clips, starts, library.length.tolist(), strict=True):
        if not 0 <= start < length - 1:
            raise MotionError(f"clip '{clip.name}' cannot be tracked from frame {start}, it has {length}")
    generator = torch.Generator(device=world.device).manual_seed(seed)
    env = TrackEnv(world, library, trained.settings, generator, graphs=False)
    results = []
    for first in range(0, len(clips), world.num_worlds):
        part = list(range(first, min(first + world.num_worlds, len(clips))))
        results += _track_part(trained, env, clips, starts, part)
    return results


def _track_part(trained: TrainedActor, env: TrackEnv, clips: list[Clip], starts: list[int], part: list[int]) -> list[TrackResult]:
    device, count = env.world.device, env.num_worlds
    index = torch.tensor([part[i % len(part)] for i in range(count)], device=device)
    start = torch.tensor([starts[part[i % len(part)]] for i in range(count)], device=device)
    env.begin(index, start, torch.zeros(count, device=device))
    last = env.library.length[index] - 1
    alive = torch.ones(count, dtype=torch.bool, device=device)
    states, contacts = [env.world.qpos.clone()], [env.contacts.clone()]
    errors, rewards, steps_done = [], [], torch.zeros(count, dtype=torch.long, device=device)
    with inference(device):
        for _ in range(int((last - start).max())):
            env.simulate(trained.act(env.observation))
            states.append(env.world.qpos.clone())
            contacts.append(env.world.contacts.clone())
            env.judge()
            errors.append(env.error.clone())
            rewards.append(env.reward.clone())
            alive = alive & ~env.failed
            steps_done += alive
            alive = alive & ~env.at_end
            env.world.idle.copy_(~alive)
            if not bool(alive.any()):
                break
    qpos, touch = torch.stack(states, 1).cpu(), torch.stack(contacts, 1).cpu()
    error, reward = torch.stack(errors, 1).cpu(), torch.stack(rewards, 1).cpu()
    results = []
    for k, clip_index in enumerate(part):
        steps = int(steps_done[k])
        root_pos, root_rot, joint_rot = qpos_to_frames(env.world.character, qpos[k, : steps + 1])
        results.append(
            TrackResult(
                clip=clips[clip_index],
                start=starts[clip_index],
                motion=Motion(root_pos, root_rot, joint_rot, touch[k, : steps + 1], fps=float(env.world.contract.control_hz)),
                success=bool(start[k] + steps >= last[k] - END_SLACK),
                joint_error=float(error[k, :steps].mean()) if steps else float(error[k, 0]),
                errors=error[k, :steps],
                rewards=reward[k, :steps],
            )
        )
    return results
