"""Long motions along paths: window after window, each conditioned on the last two frames of the one before.

One window for the whole batch is one function of static buffers (`PathRunner`): progress along the path, canonical frame,
heightmap, network, choice among candidates, kinematics, arrival. On CUDA it is captured once and replayed. The batch is
N terrains with one path each, C motions on each, rows in that order. A motion that has arrived, or has used up its time, is
carried along but no longer grows: `frames` says how much of each row counts.

    past (2 frames) --network--> 13 frames, 7 kept --> the last 2 of those are the next past
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.kinematics import BodyPose
from parc.character.posture import size_of
from parc.errors import PathError, SettingsError
from parc.generate.data.frame_table import FPS
from parc.generate.model.blended_denoising import PAPER_BLEND, Blend
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.motion_generator import Generator
from parc.generate.model.noise_schedule import spaced
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.model.wanted_pace import check_speed
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.rollout.path_arrival import SAME_HEIGHT, arrive
from parc.generate.rollout.rollout_batch import RolloutBatch
from parc.generate.rollout.window_score import ScoreWeights, departure, score_window
from parc.generate.rollout.window_step import PlannedFrames, WindowStart, WindowStep
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.run.compile_traced import TracedFunction
from parc.run.cuda_graph import CudaGraph
from parc.terrain.heightmap import heights_at
from parc.terrain.terrain import Terrain, TerrainBatch

START_AHEAD = 0.8
"""m along the path to the point that a start without past frames faces"""


@dataclass(frozen=True)
class RolloutSettings:
    """How motions are made along paths."""

    blend: Blend = field(default_factory=Blend)
    steps: int | None = None
    """sampler steps of a flow schedule; None: as trained, and so for a student"""
    keep: int = 7
    """frames of a window that are kept"""
    choices: int = 1
    """candidates sampled for each window, the best of which is kept"""
    score: ScoreWeights = field(default_factory=ScoreWeights)
    lock_feet: bool = True
    """repair sliding, sunk and floating feet, and their labels, at the end of each window"""
    fall: bool = True
    """in that repair, bodies that touch nothing fall"""
    walls_carry: bool = False
    """a body near the face of a wall counts as carried, in the repair and in the choice: it may be lifted there"""
    overlap: int = 3
    """frames over which a window leaves the plan of the one before"""
    lookahead: float = 1.4
    """m along the path to the point that gives the direction: about as far as training looks; more cuts corners into pits"""
    radius: float = 0.5
    """m in the plane: a mean foot position this near to the goal, at its height, has arrived"""
    seconds: float = 10.0
    """s, time limit"""
    slowest: float = 0.0
    """m/s: a path that takes longer than `seconds` at this speed gets that much time; 0: never"""
    pace: float | None = None
    """m/s in the plane asked for, of a generator that was trained to be asked; the pace of a path comes before it. None: as it
    likes"""
    half: bool = True
    """on GPUs the network computes in bfloat16"""
    start_height: tuple[float, float] = (0.7, 0.9)
    """m, root above the ground in a start without past frames"""

    @classmethod
    def paper(cls) -> "RolloutSettings":
        """The network alone, blended by s (paper); 7 kept frames and a target 7 cells ahead are the released code's."""
        return cls(blend=PAPER_BLEND, keep=7, lookahead=2.8, seconds=10.0).unrepaired()

    def unrepaired(self) -> "RolloutSettings":
        """Windows as the network gives them: no repair, no gravity, no overlap, no choice among candidates."""
        return replace(self, lock_feet=False, fall=False, overlap=0, choices=1)

    def __post_init__(self) -> None:
        if self.keep < PAST_FRAMES:
            raise SettingsError(f"{self.keep} frames of a window are kept, expected at least {PAST_FRAMES}")
        if not 0 < self.seconds < math.inf:
            raise SettingsError(f"the time limit is {self.seconds} s, expected a positive number")
        if self.pace is not None:
            check_speed(self.pace, f"{self.pace:g} m/s")
        if self.choices < 1:
            raise SettingsError(f"{self.choices} candidates for each window, expected at least 1")


class _Buffers(NamedTuple):
    """All that a window writes to."""

    past: FrameState
    past_pose: BodyPose
    progress: Tensor
    kept: FrameState
    planned: FrameState
    frames: Tensor
    reached: Tensor


class PathRunner:
    """Static buffers for C motions on each of N terrains and paths; `reset`, then `step` window by window."""

    def __init__(
        self,
        generator: Generator,
        terrain: TerrainBatch,
        paths: PathBatch,
        candidates: int,
        settings: RolloutSettings,
        use_graph: bool = True,
        compiled: bool = False,
    ) -> None:
        """`compiled` fuses the window with torch.compile, in pieces: a minute's wait, then a fraction of the time on a GPU."""
        if len(terrain) != len(paths):
            raise PathError(f"{len(terrain)} terrains and {len(paths)} paths, expected one path for each terrain")
        if settings.keep > generator.settings.future:
            raise SettingsError(f"{settings.keep} frames are kept of windows of {generator.settings.future}")
        device = generator.device
        if settings.half and device.type == "cuda" and generator.network.dtype == torch.float32:
            generator = generator.in_precision(torch.bfloat16)
        self.generator, self.settings, self.candidates = generator, settings, candidates

        # the terrain and the path of every row, and of every candidate of every row
        self.terrain = terrain.to(device)
        rows = torch.arange(len(paths), device=device).repeat_interleave(candidates)
        self.paths = paths.to(device).select(rows)
        self.batch = len(rows)
        self._candidate_paths = self.paths.select(torch.arange(self.batch, device=device).repeat_interleave(settings.choices))

        # how a window is sampled and what is done to it
        self._window = self._make_window()
        self._embeddings = generator.level_embeddings(self._window.plan)
        self._blend = generator.blend_of(settings.blend).coefficients(len(self._window.plan), device)
        self._make_buffers(device)
        self.pace = torch.empty(self.batch, device=device)
        """[B] m/s asked for where no path says otherwise, NaN: none"""
        self.ask(settings.pace)
        self.reset(None, torch.Generator(device).manual_seed(0))

        # compile, then capture; both run windows, so the buffers are set back
        self._ending: Callable[..., tuple[Tensor, ...]] = self._end
        if compiled:
            self.fuse()
        self._graph = CudaGraph(self.window_without_graph, device, every_run_counts=False, enabled=use_graph)
        if compiled or self.is_captured:
            self.reset(None, torch.Generator(device).manual_seed(0))

    def _make_window(self) -> WindowStep:
        generator, settings = self.generator, self.settings
        plan = generator.sampler_plan(settings.steps)
        return WindowStep(
            generator,
            plan,
            generator.blend_of(settings.blend),
            settings.keep,
            goal=lambda progress: self.paths.target(progress, settings.lookahead),
            repairs=RepairSettings(settings.fall, settings.walls_carry) if settings.lock_feet else None,
            overlap=max(0, min(settings.overlap, generator.settings.future - settings.keep, settings.keep)),
            candidates=settings.choices,
        )

    @torch.no_grad()
    def fuse(self, backend: str = "inductor") -> None:
        """Compile the network, and what comes before and after it in pieces: those that two settings share compile once."""
        self._window.fuse(backend)
        self._ending = TracedFunction(self._end, backend=backend)
        self.window_without_graph()

    @property
    def is_compiled(self) -> bool:
        """Whether every piece around the network could be compiled."""
        return self._window.is_compiled and isinstance(self._ending, TracedFunction) and self._ending.is_compiled

    def _make_buffers(self, device: torch.device) -> None:
        b, bodies, keep = self.batch, self.generator.character.num_bodies, self.settings.keep

        def state(frames: int) -> FrameState:
            return FrameState(
                torch.zeros(b, frames, 3, device=device),
                torch.eye(3, device=device).repeat(b, frames, 1, 1),
                torch.eye(3, device=device).repeat(b, frames, bodies - 1, 1, 1),
                torch.zeros(b, frames, bodies, device=device),
            )

        # what a window reads
        self.past, self.kept, self.planned = state(PAST_FRAMES), state(keep), state(self._window.overlap)
        self.past_pose = self.past.body_pose(self.generator.character)
        self.has_past, self.has_plan = torch.zeros((), device=device), torch.zeros((), device=device)
        self.noise = torch.zeros(self.generator.noise_shape(b * self.settings.choices), device=device)
        self.coefficients = spaced(torch.ones(len(self._window.plan), device=device))

        # how far the motions have come, and how long they may last
        self.progress = torch.zeros(b, device=device)
        self.frames = torch.zeros(b, dtype=torch.long, device=device)
        self.reached = torch.zeros(b, dtype=torch.bool, device=device)
        seconds = torch.full_like(self.paths.length, self.settings.seconds)
        if self.settings.slowest > 0:
            seconds = torch.maximum(seconds, self.paths.length / self.settings.slowest)
        self.limit = (seconds * FPS).round().long()
        feet = self.generator.character.feet
        self._feet, self._same_height = torch.tensor(feet or (0,), device=device), SAME_HEIGHT if feet else math.inf

    def reset(self, past: FrameState | None, random: torch.Generator) -> None:
        """Back to the start: after the given past [B, 2, ...] in the world, or at the paths' first points with none."""
        if past is not None:
            for buffer, value in zip(self.past, past, strict=True):
                buffer.copy_(value)
        else:
            self._stand_at_start(random)
        self._set_past(past is not None)
        for buffer, value in zip(self.past_pose, self.past.body_pose(self.generator.character), strict=True):
            buffer.copy_(value)
        self.progress.copy_(self.paths.advance(torch.zeros_like(self.progress), self.past.root_pos[:, -1, :2]))
        self.frames.zero_()
        self.reached.zero_()
        self.has_plan.zero_()
        self._goes_on = False

    def _stand_at_start(self, random: torch.Generator) -> None:
        """Past frames that only tell where a motion starts: at a random height, turned along the path."""
        size = size_of(self.generator.character)
        low, high = (size * height for height in self.settings.start_height)
        start = self.paths.points[:, 0]
        ground = heights_at(self.terrain, start[:, :2].unflatten(0, (len(self.terrain), -1))).flatten()
        height = ground + low + (high - low) * torch.rand(self.batch, generator=random, device=start.device)
        ahead = self.paths.position(torch.full_like(self.progress, START_AHEAD))[:, :2] - start[:, :2]
        frame = CanonicalFrame(torch.cat([start[:, :2], height[:, None]], -1), torch.atan2(ahead[:, 1], ahead[:, 0]))
        self.past.root_pos.copy_(frame.origin[:, None].expand_as(self.past.root_pos))
        self.past.root_rot.copy_(frame.matrix()[:, None].expand_as(self.past.root_rot))
        self.past.joint_rot.copy_(torch.eye(3, device=start.device).expand_as(self.past.joint_rot))
        self.past.contacts.zero_()

    def _set_past(self, known: bool) -> None:
        """Without a past there is nothing to blend: s is 1 at every step."""
        self.has_past.fill_(float(known))
        self.coefficients.copy_(self._blend if known else torch.ones_like(self._blend))

    @torch.no_grad()
    def step(self, random: torch.Generator | Callable[[Tensor], None]) -> FrameState:
        """The next `keep` frames of every row, [B, keep, ...] in a buffer that the next step overwrites.

        Noise comes from a generator, or from a function that fills a tensor with normal numbers.
        """
        if isinstance(random, torch.Generator):
            self.noise.normal_(generator=random)
        else:
            random(self.noise)
        self._graph()
        if not self._goes_on:
            self._goes_on = True
            self._set_past(True)
            self.has_plan.fill_(1.0)
        return self.kept

    @property
    def is_captured(self) -> bool:
        """Whether windows are replays of a CUDA graph."""
        return self._graph.is_captured

    @torch.no_grad()
    def window_without_graph(self) -> None:
        """One window from the buffers to the buffers."""
        start = WindowStart(self.past, self.past_pose, self.has_past, self.terrain, self.progress, self._wanted_pace())
        planned = PlannedFrames(self.planned, self.has_plan)
        frames = self._window(start, planned, self.noise, self.coefficients, self._embeddings)
        buffers = _Buffers(self.past, self.past_pose, self.progress, self.kept, self.planned, self.frames, self.reached)
        self._ending(*frames, buffers, self.has_past, start.pace)

    def ask(self, pace: float | None) -> None:
        """m/s from now on where no path says otherwise; None: as it likes."""
        self.pace.fill_(self.generator.asked_for(pace))

    def _wanted_pace(self) -> Tensor | None:
        """[B] m/s, NaN where none is wanted; None for a generator that cannot be asked."""
        if not self.generator.settings.pace:
            return None
        on_path = self.paths.pace_at(self.progress)
        return self.pace if on_path is None else torch.where(on_path.isnan(), self.pace, on_path)

    def _end(self, state: FrameState, pose: BodyPose, to: _Buffers, has_past: Tensor, pace: Tensor | None) -> tuple[Tensor, ...]:
        """The best candidate of each row, and how far it comes, into the buffers."""
        keep = self.settings.keep
        state, plan = state.narrow(0, keep), state.narrow(keep, self._window.overlap)
        pose = BodyPose(*(part[:, :keep] for part in pose))
        if self.settings.choices > 1:
            best = self._best(state, pose, to, has_past, pace)
            state = FrameState(*(part.index_select(0, best) for part in state))
            pose = BodyPose(*(part.index_select(0, best) for part in pose))
            plan = FrameState(*(part.index_select(0, best) for part in plan))

        # motions that have arrived, or have used up their time, no longer grow
        feet = pose.pos.index_select(-2, self._feet).mean(-2)
        arrival = arrive(self.paths, to.progress, state.root_pos, feet, self.settings.radius, self._same_height)
        room = (self.limit - to.frames).clamp(0, keep)
        to.frames.add_(torch.where(to.reached, 0, torch.minimum(arrival.end, room)))
        to.reached.logical_or_(arrival.frames <= room)
        to.progress.copy_(arrival.progress)

        # the last two kept frames are the next past
        for buffer, value in zip((*to.kept, *to.planned), (*state, *plan), strict=True):
            buffer.copy_(value)
        for buffer, value in zip((*to.past, *to.past_pose), (*state, *pose), strict=True):
            buffer.copy_(value[:, keep - PAST_FRAMES :])
        return (to.frames,)

    def _best(self, state: FrameState, pose: BodyPose, at: _Buffers, has_past: Tensor, pace: Tensor | None) -> Tensor:
        """Which candidate of each row has the least score, as an index into all of them."""
        settings, character, n = self.settings, self.generator.character, self.settings.choices
        goal = self.paths.target(at.progress, settings.lookahead)
        goal, origin = self._window.for_candidates(goal, at.past.root_pos[:, -1, :2])
        past_pos, progress = self._window.for_candidates(at.past_pose.pos, at.progress)
        towards = torch.nn.functional.normalize(goal - origin, dim=-1)
        wanted = None if pace is None else self._window.for_candidates(pace)[0] * ((settings.keep - 1) / FPS)
        scores = score_window(
            character, pose, state.contacts, past_pos, has_past, towards, self.terrain, settings.score, settings.walls_carry,
            wanted,
        )  # fmt: skip
        root, paths = state.root_pos[:, -1], self._candidate_paths
        arc = paths.advance(progress, root[:, :2])
        scores = scores + departure(root, paths.position(arc), settings.score, size_of(character))
        return scores.view(-1, n).argmin(1) + n * torch.arange(self.batch, device=scores.device)

    @property
    def windows(self) -> int:
        """Windows until the last row has used up its time."""
        return math.ceil(int(self.limit.max()) / self.settings.keep)

    @torch.no_grad()
    def run(self, seed: int, past: FrameState | None = None, go_on: Callable[[int], bool] | None = None) -> RolloutBatch:
        """Whole motions, until all have arrived or used up their time; `past` as for `reset`.

        `go_on` is called after each window with their number; where it says no, the motions are as long as they have become.
        """
        random = torch.Generator(self.progress.device).manual_seed(seed)
        self.reset(past, random)
        windows, keep = self.windows, self.settings.keep
        total = [torch.zeros(self.batch, windows * keep, *part.shape[2:], device=part.device) for part in self.kept]
        for w in range(windows):
            for buffer, part in zip(total, self.step(random), strict=True):
                buffer[:, w * keep : (w + 1) * keep] = part
            if go_on is not None and not go_on(w + 1):
                break
            looks = go_on is not None or (w + 1) % 8 == 0  # to look makes a GPU wait
            if looks and bool((self.reached | (self.frames >= self.limit)).all()):
                break

        # padded to the longest
        longest = max(1, int(self.frames.max()))
        root_pos, root_rot, joint_rot, contacts = (buffer[:, :longest] for buffer in total)
        rotations = (rotation.from_matrix(root_rot), rotation.from_matrix(joint_rot))
        return RolloutBatch(root_pos, *rotations, contacts, self.frames.clone(), self.reached.clone())


def roll_out(
    generator: Generator,
    terrains: Sequence[Terrain],
    paths: Sequence[TerrainPath],
    candidates: int = 1,
    settings: RolloutSettings | None = None,
    seed: int = 0,
    past: FrameState | None = None,
    use_graph: bool = True,
    compiled: bool = False,
) -> RolloutBatch:
    """`candidates` motions along each path, rows terrain by terrain; past [N * candidates, 2, ...] to start from, if any."""
    stacked = (TerrainBatch.stack(list(terrains)), PathBatch.stack(list(paths)))
    return PathRunner(generator, *stacked, candidates, settings or RolloutSettings(), use_graph, compiled).run(seed, past)
