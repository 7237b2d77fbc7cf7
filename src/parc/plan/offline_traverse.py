"""Terrain in, physically simulated motion out.

`traverse` goes along a given path, by a search through simulations (`parc.plan.offline_search`) or the paper's way (`open_loop`).
The result says honestly what happened. *Reached* means: in one unbroken simulation, from the first frame on, the body never lost
its reference by the tracker's own limits, never fell, and its root came within half a metre of the goal at standing height. Where
it was not reached, the motion is that of the body that came farthest.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip, Provenance
from parc.errors import PathError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.models import shipped_generator, shipped_tracker
from parc.motion.frame_state import FrameState
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.path.terrain_path import TerrainPath
from parc.plan.future_tree import Branch
from parc.plan.least_effort_route import RouteSettings
from parc.plan.offline_retries import SearchResult, search_with_tries
from parc.plan.offline_search import SearchSettings
from parc.plan.open_loop import PlainSettings, run_plain
from parc.plan.rehearsal_stage import RehearsalStage
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain
from parc.track.follow.follower import Follower
from parc.track.learn.policy import TrainedActor, load_actor


@dataclass(frozen=True, eq=False)
class Models:
    """What crosses terrain: a generator that writes and a tracker that follows."""

    generator: Generator
    tracker: TrainedActor
    critic: Critic | None = None
    """None: candidates are judged without it"""
    get_ups: tuple[Clip, ...] = ()
    """motions to get up by, for reflexes that may"""

    @classmethod
    def load(
        cls,
        character: Character,
        device: torch.device | str = "cpu",
        generator: Path | None = None,
        tracker: Path | None = None,
        half: bool = True,
    ) -> "Models":
        """Those in the box where no file is named. The critic is the file of that name beside the tracker's.

        half: bfloat16 for the generator where the CPU computes with it (GPUs always do).
        """
        tracker = tracker or shipped_tracker(character.name)
        model = Generator.load(generator or shipped_generator(body=character.name), character, device)
        if half and torch.device(device).type == "cpu" and torch.cpu.get_capabilities().get("avx512_bf16"):
            model = model.in_precision(torch.bfloat16)
        trained = load_actor(tracker, character, device)
        beside = tracker.with_name("critic.safetensors")
        return cls(model, trained, Critic.load(beside, trained) if beside.is_file() else None)


@dataclass(frozen=True)
class TraverseSettings:
    """How a terrain is crossed."""

    tries: int = 5
    """a try ends where no candidate gets on; the next begins some metres back, the last from the start"""
    method: SearchSettings | PlainSettings = field(default_factory=SearchSettings)
    """search through simulations, or plan all and follow"""
    route: RouteSettings = field(default_factory=RouteSettings)
    """for other ways after a try has ended"""
    threads: int = 0
    """of the CPU engine; 0: all cores"""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise SettingsError(f"{self.tries} tries were asked for, expected at least 1")


@dataclass(frozen=True, eq=False)
class Traverse:
    """What came of it."""

    path: TerrainPath
    """the way that was asked for"""
    simulated: Clip | None
    """what the body did; None if no candidate survived its first steps"""
    plan: Clip | None
    """what it was asked to do at each of these frames; where it was planned anew there is a small jump"""
    qvel: Tensor | None
    """[T, nv] velocities of the simulated frames"""
    targets: Tensor | None
    """[T - 1, D] motor targets between them"""
    reached: bool
    progress: float
    """m of the path's length that were no longer left at the end"""
    tries: int
    rounds: int
    simulated_steps: int
    """control steps of all candidates together"""
    survival: float
    """mean share of its look that a candidate survived"""
    wall: float
    """s"""
    cpu: float
    """s, all threads"""
    seed: int = 0
    """of its random numbers, where it was begun with one"""

    @property
    def seconds(self) -> float:
        """Of simulated motion."""
        return 0.0 if self.simulated is None else self.simulated.motion.duration


def traverse(
    terrain: Terrain,
    path: TerrainPath,
    models: Models,
    settings: TraverseSettings = TraverseSettings(),
    random: torch.Generator | None = None,
    name: str = "traverse",
    on_round: Callable[[int, int, float], object] | None = None,
) -> Traverse:
    """Along a path in physics. `random` lives on the generator's device; without it, seed 0.

    `on_round(try, rounds so far, m left)` is called after each round.
    """
    if not bool(terrain.contains(path.nodes[:, :2]).all()):
        raise PathError("the path leaves the terrain: it was planned on another map")
    began, worked = time.monotonic(), time.process_time()
    random = random or torch.Generator(models.generator.device).manual_seed(0)
    method, generator = settings.method, models.generator
    worlds = 1 if isinstance(method, PlainSettings) else method.candidates
    follower = Follower(models.tracker, terrain, worlds, settings.threads)
    stage, tries = RehearsalStage(follower, models.critic, terrain), settings.tries
    if isinstance(method, PlainSettings):
        result = run_plain(generator, stage, terrain, path, method, random, tries, on_round)
    else:
        result = search_with_tries(generator, stage, terrain, path, method, random, tries, settings.route, on_round)
    return _outcome(result, terrain, path, models, name, time.monotonic() - began, time.process_time() - worked)


def _outcome(
    result: SearchResult, terrain: Terrain, path: TerrainPath, models: Models, name: str, wall: float, cpu: float
) -> Traverse:
    clips: tuple[Clip | None, Clip | None] = (None, None)
    qvel = targets = None
    if result.end is not None:
        lineage = result.end.lineage()
        simulated, planned = _motions(lineage, models.tracker)
        origin = Provenance(source="traverse", skill="generated")
        clip = Clip(name, simulated, terrain, path, models.tracker.character.fingerprint, origin)
        clips = clip, replace(clip, name=f"{name}_plan", motion=planned)
        qvel = _joined([branch.states.qvel[: branch.end + 1] for branch in lineage])
        targets = torch.cat([branch.targets[: branch.end] for branch in lineage]).cpu()
    return Traverse(
        path,
        clips[0],
        clips[1],
        qvel,
        targets,
        result.reached,
        path.length - min(result.remaining, path.length),
        result.tries,
        result.rounds,
        result.simulated,
        result.survival,
        wall,
        cpu,
    )


def _motions(lineage: list[Branch], tracker: TrainedActor) -> tuple[Motion, Motion]:
    fps = float(tracker.contract.control_hz)
    qpos, contacts = (
        _joined([part[: branch.end + 1] for part, branch in zip(parts, lineage, strict=True)])
        for parts in ([branch.states.qpos for branch in lineage], [branch.states.contacts for branch in lineage])
    )
    simulated = Motion(*qpos_to_frames(tracker.character, qpos), contacts, fps)
    plan = FrameState(*map(_joined, zip(*(branch.plan for branch in lineage), strict=True)))
    planned = Motion(
        plan.root_pos, rotation.from_matrix(plan.root_rot), rotation.from_matrix(plan.joint_rot), plan.contacts.clamp(0, 1), fps
    )
    return simulated, planned


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Stretches one after the other; the first state of each is the last of the one before."""
    return torch.cat([parts[0], *(part[1:] for part in parts[1:])]).cpu()
