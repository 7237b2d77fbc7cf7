"""Getting up: a body that lies follows a motion that gets up, from where that is nearest to how it lies, until it stands.

A library holds the frames of some get-ups and of their mirror images. Frames are compared by where the bodies are: heights over
the ground, and places in the plane relative to the root after the turn about the vertical that fits best, which has a closed
form. With places p of the body and q of the frame as complex numbers, c = sum p conj(q):

    distance^2 = sum |p|^2 + sum |q|^2 - 2 |c| + sum (heights apart)^2,     turn = angle of c

Who is down begins at the nearest frame and goes on frame by frame; at each plan the rest of the get-up is laid onto where the
body is now. At its end, if the body does not stand, it begins again. It all happens in tensors; nothing waits for a GPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.posture import size_of
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.metrics.clip_batch import ClipBatch
from parc.motion.frame_state import FrameState
from parc.motion.motion_edits import mirror, resample
from parc.track.env.observation import ground_heights
from parc.track.follow.tracked_bodies import TrackedBodies

TOUCHING = 0.03
"""m from the ground within which a body of a clip without labels touches it"""


@dataclass(frozen=True)
class GetUpSettings:
    """When a body that is down counts as standing again, and how long it may take."""

    seconds: float = 8.0
    """s down, or on the way up, after which it has fallen for good"""
    height: float = 0.65
    """m of the pelvis over the ground under it, from which on a body may stand"""
    upright: float = 0.8
    """cosine of the pelvis's tilt from which on it may"""
    steady: int = 6
    """control steps in a row that it must"""

    def __post_init__(self) -> None:
        if not 0 < self.seconds < float("inf") or self.steady < 1:
            raise SettingsError(f"{self.seconds} s to get up and {self.steady} steps of standing, expected more than 0")


class GetUpLibrary:
    """Frames of get-ups, one clip after the other, on a device."""

    def __init__(self, clips: Sequence[Clip], character: Character, fps: float, device: torch.device | str) -> None:
        """Clips begin lying and end standing, on level ground; who touches it is found where a clip does not tell."""
        if not clips:
            raise SettingsError("there are no motions to get up by, expected at least one")
        own = [_labelled(replace(clip, motion=resample(clip.motion, fps)), character) for clip in clips]
        motions = [motion for clip in own for motion in (clip.motion, mirror(clip.motion, character))]
        grounds = [clip.terrain.height_at(clip.motion.root_pos[:1, :2])[0] for clip in own for _ in range(2)]
        parts = []
        for motion, ground in zip(motions, grounds, strict=True):
            frames = FrameState.of_motion(motion)
            parts.append(frames._replace(root_pos=frames.root_pos - ground * torch.tensor([0.0, 0.0, 1.0])))
        self.frames = FrameState.cat(parts, 0).to(torch.device(device))
        """[F, ...] over ground at height 0"""
        last = torch.tensor([len(motion) for motion in motions]).cumsum(0) - 1
        lengths = torch.tensor([len(motion) for motion in motions])
        self.last = last.repeat_interleave(lengths).to(device)
        """[F] the last frame of each one's clip"""
        self.seconds = float(lengths.max()) / fps
        """of the longest"""
        self._plane, self._height = _places(self.frames.body_pose(character).pos)

    def nearest(self, body_pos: Tensor, ground: Tensor) -> Tensor:
        """[M] frames nearest to bodies at [M, B, 3] over ground at heights [M]."""
        plane, height = _places(body_pos, ground)
        overlap = (plane @ self._plane.conj().T).abs()
        size = plane.abs().square().sum(1, keepdim=True) + self._plane.abs().square().sum(1)
        heights = (height.unsqueeze(1) - self._height).square().sum(-1)
        return (size - 2 * overlap + heights).argmin(1)

    def laid_onto(self, body_pos: Tensor, ground: Tensor, at: Tensor, count: int) -> FrameState:
        """[M, count, ...] the frames after `at` [M], the last one past the end, from where bodies at [M, B, 3] are."""
        plane, _ = _places(body_pos, ground)
        turn = (plane * self._plane.index_select(0, at).conj()).sum(1).angle()
        c, s, zero = turn.cos(), turn.sin(), torch.zeros_like(turn)
        matrix = torch.stack([c, -s, zero, s, c, zero, zero, zero, torch.ones_like(c)], -1).view(-1, 1, 3, 3)
        rows = at.unsqueeze(1) + 1 + torch.arange(count, device=at.device)
        rows = torch.minimum(rows, self.last.index_select(0, at).unsqueeze(1))
        some = FrameState(*(part[rows] for part in self.frames))
        begin = self.frames.root_pos.index_select(0, at).unsqueeze(1)
        flat = torch.tensor([1.0, 1.0, 0.0], device=at.device)
        moved = (matrix @ (some.root_pos - flat * begin).unsqueeze(-1)).squeeze(-1)
        place = torch.cat([body_pos[:, 0, :2], ground.unsqueeze(1)], -1)
        return some._replace(root_pos=moved + place.unsqueeze(1), root_rot=matrix @ some.root_rot)


class GettingUp:
    """Who of N bodies is down, and how far up."""

    def __init__(self, library: GetUpLibrary, bodies: TrackedBodies, settings: GetUpSettings = GetUpSettings()) -> None:
        n, device, fps = bodies.num_worlds, bodies.world.device, bodies.world.contract.control_hz
        self.library, self.bodies, self.settings = library, bodies, settings
        self._limit, self._size = round(settings.seconds * fps), size_of(bodies.world.character)

        def zeros(dtype: torch.dtype = torch.long) -> Tensor:
            return torch.zeros(n, dtype=dtype, device=device)

        self.rising = zeros(torch.bool)
        """[N] down or on the way up"""
        self.downs, self.ups = zeros(), zeros()
        """[N] how often each went down, and how often it got up again"""
        self._frame, self._last, self._steps, self._stood = zeros() - 1, zeros(), zeros(), zeros()

    def begin(self) -> None:
        """Everybody stands."""
        self.rising.zero_()
        for column in (self.downs, self.ups, self._steps, self._stood):
            column.zero_()
        self._frame.fill_(-1)

    def look(self, down: Tensor) -> Tensor:
        """[N] who has fallen for good, after a control step in which bodies were down [N]."""
        settings, world = self.settings, self.bodies.world
        self.downs.add_(down & ~self.rising)
        self.rising.logical_or_(down)
        height = world.body_pos[:, 0, 2] - self._ground()
        up = self.bodies.observer.algebra.matrix(world.body_rot[:, 0])[:, 2, 2]
        stands = (height / self._size >= settings.height) & (up >= settings.upright) & ~down
        self._stood.copy_(torch.where(stands, self._stood + 1, 0))
        self._steps.copy_(torch.where(self.rising, self._steps + 1, 0))
        # a get-up goes on from one plan to the next, to its end; who has not begun one is at frame -1
        self._frame.copy_(torch.where(self._frame >= 0, torch.minimum(self._frame + 1, self._last), self._frame))
        has_risen = self.rising & (self._stood >= settings.steady)
        self.ups.add_(has_risen)
        self.rising.logical_and_(~has_risen)
        self._steps.masked_fill_(has_risen, 0)
        self._frame.masked_fill_(~self.rising, -1)
        return self._steps >= self._limit

    def revise(self, world: Tensor, plans: FrameState) -> FrameState:
        """Plans [M, n, ...] of bodies in worlds [M], those who get up with the rest of their get-up behind frame 0."""
        library = self.library
        body_pos, ground = self.bodies.world.body_pos.index_select(0, world), self._ground().index_select(0, world)
        body_pos = torch.nan_to_num(body_pos)
        at = self._frame.index_select(0, world)
        nearest = library.nearest(body_pos, ground)
        known = at.clamp_min(0)
        at = torch.where((at < 0) | (at >= self._last.index_select(0, world)), nearest, known)
        rising = self.rising.index_select(0, world)
        self._frame.index_copy_(0, world, torch.where(rising, at, -1))
        self._last.index_copy_(0, world, library.last.index_select(0, at))
        rest = library.laid_onto(body_pos, ground, at, plans.root_pos.shape[1] - 1)
        return FrameState.cat([plans.narrow(0, 1), rest]).select(rising, plans)

    def _ground(self) -> Tensor:
        """[N] m, under the roots."""
        bodies = self.bodies
        return ground_heights(bodies.bank, bodies.bank_row, torch.nan_to_num(bodies.world.body_pos[:, :1, :2]))[:, 0]


def _labelled(clip: Clip, character: Character) -> Clip:
    """With labels of all bodies that are near the ground, where it has none."""
    if bool(clip.motion.contacts.any()):
        return clip
    near = ClipBatch.stack([clip], character).body_clearance[0] < TOUCHING
    return replace(clip, motion=replace(clip.motion, contacts=near.float()))


def _places(body_pos: Tensor, ground: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """Of bodies [M, B, 3]: places in the plane relative to the root as complex numbers [M, B], heights over the ground [M, B]."""
    aside = body_pos[..., :2] - body_pos[:, :1, :2]
    level = ground.unsqueeze(-1) if isinstance(ground, Tensor) else ground
    return torch.complex(aside[..., 0].contiguous(), aside[..., 1].contiguous()), body_pos[..., 2] - level
