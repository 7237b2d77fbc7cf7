"""All clips as one table of frames on the device, with mirrored copies, and the odds of each window.

Kinematics is done once, here: a training step only gathers rows. Windows are drawn by skill and length: a skill with n frames in
all gets a share proportional to n^balance (0.5: a skill with four times the data is drawn twice as often), divided over its
clips by length. A window in which the root hardly moves counts as little as `STILL_COUNTS`: a model that has seen people wait
waits too. One of level gait counts what `parc.generate.data.gait_odds` says. With balance 1 and windows that all count 1 every
window of the data set has the same chance, as in the paper.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.generate.data.gait_odds import GaitOdds, gait_counts
from parc.generate.model.canonical_frame import FPS
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.motion.frame_state import FrameState
from parc.motion.motion_edits import mirror, sample
from parc.terrain.terrain import Terrain, TerrainBatch

MADE = "generated"
"""skill of motions that a generator made"""
STILL_COUNTS = 0.03
"""of a window that moves, what one counts whose root stands still"""
STILL, MOVING = 0.1, 0.5
"""m/s over the next second, up and down included: slower counts as little, faster as much as can be"""


@dataclass(frozen=True, eq=False)
class FrameTable:
    """Every frame of every clip, and where windows may start."""

    character: Character
    frames: FrameState
    """[N, ...] every frame of every clip, in the world"""
    bodies: BodyPose
    """[N, B, 3] and [N, B, 3, 3]"""
    terrain: TerrainBatch
    """one for each clip"""
    clip_start: Tensor
    """[C] first frame of each clip"""
    clip_end: Tensor
    """[C] one past the last"""
    window_start: Tensor
    """[W] first frame of every window that fits into its clip"""
    window_clip: Tensor
    """[W]"""
    odds: Tensor
    """[W] float64, cumulative"""
    pace: Tensor
    """[N] m/s in the plane over the next second (`pace_of_frames`)"""

    @classmethod
    def build(
        cls,
        clips: Sequence[Clip],
        character: Character,
        window: int,
        device: torch.device | str,
        mirrored: bool = True,
        balance: float = 0.5,
        made_share: float | None = None,
        still_counts: float = STILL_COUNTS,
        gait: GaitOdds = GaitOdds(),
    ) -> "FrameTable":
        """Clips shorter than `window` frames are left out; an error if none is left.

        `made_share`: of windows, those of generated motions; None: by `balance`, as one skill among the others. `still_counts`:
        of a window that moves, what one counts whose root stands still. `gait`: what seconds of level gait count.
        """
        usable = [c for c in clips if len(c.motion) >= window]
        if not usable:
            raise DatasetError(f"none of the {len(clips)} clips has the {window} frames that a training window needs")
        for clip in usable:
            clip.check_fits(character)
            if clip.motion.fps != FPS:
                raise DatasetError(
                    f"clip '{clip.name}' has {clip.motion.fps} frames a second, the generator needs {FPS:g}: resample it"
                )
        skills = [skill_of(c) for c in usable]
        motions, terrains = [c.motion for c in usable], [c.terrain for c in usable]

        # what windows count by their gait; people's is also played faster and slower: nothing else of those copies counts, and
        # what it is worth is shared among them and the original
        by_gait: list[Tensor] = []
        if gait.says_something:
            found = gait_counts(usable, character, gait)
            part = 1 / (1 + len(gait.tempos))
            by_gait = [of.counts * (1 - (1 - part) * of.is_gait) for of in found]
            for i, tempo in ((i, tempo) for i, of in enumerate(found) for tempo in gait.tempos if bool((of.is_gait > 0).any())):
                at = torch.arange(0, len(motions[i]) - 1, tempo, dtype=torch.float64)
                if len(at) >= window:
                    motions.append(sample(motions[i], at))
                    terrains.append(terrains[i])
                    skills.append(skills[i])
                    by_gait.append((part * found[i].counts * found[i].is_gait)[at.round().long()])
        if mirrored and character.mirror_of is not None:
            motions += [mirror(m, character) for m in motions]
            terrains += [mirror_terrain(t) for t in terrains]
            skills = skills * 2
            by_gait = by_gait * 2

        lengths = torch.tensor([len(m) for m in motions])
        ends = lengths.cumsum(0)
        starts = ends - lengths
        states = [FrameState.of_motion(m) for m in motions]
        frames = FrameState(*(torch.cat(parts).float() for parts in zip(*states, strict=True)))
        counts = lengths - window + 1
        window_clip = torch.repeat_interleave(torch.arange(len(motions)), counts)
        first_window = counts.cumsum(0) - counts
        window_start = starts[window_clip] + torch.arange(int(counts.sum())) - first_window[window_clip]
        moves = how_much_it_moves(frames.root_pos, window_start, ends[window_clip], still_counts)
        moving = torch.zeros(len(motions), dtype=torch.float64).index_add_(0, window_clip, moves)
        odds = _skill_factor(moving, skills, balance, made_share)[window_clip] * moves
        if by_gait:
            odds = odds * torch.cat(by_gait).double()[window_start + window // 2]
        odds = odds.cumsum(0)

        frames = FrameState(*(part.to(device) for part in frames))
        return cls(
            character=character,
            frames=frames,
            bodies=frames.body_pose(character),
            terrain=TerrainBatch.stack([replace(t, bounds=None) for t in terrains]).to(device),
            clip_start=starts.to(device),
            clip_end=ends.to(device),
            window_start=window_start.to(device),
            window_clip=window_clip.to(device),
            odds=(odds / odds[-1]).to(device),
            pace=pace_of_frames(frames.root_pos, torch.repeat_interleave(ends, lengths).to(device)),
        )

    def __len__(self) -> int:
        return self.frames.root_pos.shape[0]

    def draw(self, count: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """First frames and clips [count] of windows drawn at random."""
        u = torch.rand(count, dtype=torch.float64, generator=generator, device=self.odds.device)
        row = torch.searchsorted(self.odds, u, right=True).clamp_max(len(self.odds) - 1)
        return self.window_start[row], self.window_clip[row]

    def at(self, index: Tensor) -> FrameState:
        """Frames of given rows, of any shape."""
        return FrameState(*(part[index] for part in self.frames))


def skill_of(clip: Clip) -> str:
    """The clip's skill, or the words of its name before the first number."""
    if clip.provenance.skill:
        return clip.provenance.skill
    return re.split(r"[_\-. ]*\d", clip.name, maxsplit=1)[0]


def mirror_terrain(terrain: Terrain) -> Terrain:
    """Reflected in y = 0: the last column becomes the first."""
    last = terrain.min_point[1] + (terrain.size[1] - 1) * terrain.cell
    bounds = None if terrain.bounds is None else terrain.bounds.flip(1)
    return replace(terrain, heights=terrain.heights.flip(1), min_point=torch.stack([terrain.min_point[0], -last]), bounds=bounds)


def pace_of_frames(root_pos: Tensor, end: Tensor) -> Tensor:
    """[N] m/s in the plane over the next second of frames [N, 3] in clips that end before a frame [N]: a stride or so.

    Three chords of a third of a second each, so that curves count by their length and the sway of hips hardly does.
    """
    now = torch.arange(len(end), device=end.device)
    at = [torch.minimum(now + round(FPS * k / 3), end - 1) for k in range(4)]
    way = sum((root_pos[b, :2] - root_pos[a, :2]).norm(dim=-1) for a, b in pairwise(at))
    return way * FPS / (at[-1] - now).clamp_min(1)


def how_much_it_moves(root_pos: Tensor, start: Tensor, end: Tensor, still_counts: float = STILL_COUNTS) -> Tensor:
    """[W] float64, `still_counts` to 1, of windows that start at a frame [W] of clips that end before a frame [W]."""
    now = start + PAST_FRAMES - 1
    later = torch.minimum(now + round(FPS), end - 1)
    speed = (root_pos[later] - root_pos[now]).norm(dim=-1).double() * FPS / (later - now)
    return ((speed - STILL) / (MOVING - STILL)).clamp(still_counts, 1.0)


def _skill_factor(moving: Tensor, skills: list[str], balance: float, made_share: float | None) -> Tensor:
    """[C] float64: what brings each clip's windows to the share of its skill."""
    total: dict[str, float] = defaultdict(float)
    for skill, n in zip(skills, moving.tolist(), strict=True):
        total[skill] += n
    weight = {skill: n**balance for skill, n in total.items()}
    others = sum(weight.values()) - weight.get(MADE, 0.0)
    if made_share is not None and MADE in weight and others > 0:
        weight[MADE] = others * made_share / (1 - made_share)
    return torch.tensor([weight[s] / total[s] for s in skills], dtype=torch.float64)
