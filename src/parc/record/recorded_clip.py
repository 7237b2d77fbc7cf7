"""A recorded stretch as a clip of its own: simulated frames, the ground it needs, the path it walked, and where it came from."""

from dataclasses import replace

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset import clip_edits
from parc.dataset.clip import Clip
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.record.choose_segments import RecordedStretch

_SPACING = 0.05
"""m between the points on which progress along a path is measured"""


def recorded_clip(
    reference: Clip,
    stretch: RecordedStretch,
    losses: dict[str, float],
    iteration: int,
    tracker: str,
    margin: float,
    progress: Tensor | None,
) -> Clip:
    """Cropped to `margin` metres around the motion and centred.

    tracker: hash of the policy; progress [T]: arc length of the path walked by each frame of the reference (see `path_progress`).
    """
    attempt = stretch.attempt
    motion = attempt.motion.slice(stretch.begin - attempt.start, stretch.stop - attempt.start)
    path = reference.path
    if path is not None and progress is not None:
        to_the_end = attempt.reached_end and stretch.stop == attempt.stop
        path = cut_path(path, float(progress[stretch.begin]), None if to_the_end else float(progress[stretch.stop - 1]))
    raw = replace(reference, motion=motion, path=path, provenance=replace(reference.provenance, edits=()))
    placed = clip_edits.recentre(clip_edits.crop_terrain(raw, margin))
    provenance = replace(
        reference.provenance,
        source="simulation",
        parent=reference.name,
        iteration=iteration,
        edits=(*reference.provenance.edits, f"record {stretch.begin}..{stretch.stop}", *placed.provenance.edits),
        losses=reference.provenance.losses | losses,
        models=reference.provenance.models | {"tracker": tracker},
    )
    return replace(placed, name=recorded_name(reference, stretch), provenance=provenance)


def recorded_name(reference: Clip, stretch: RecordedStretch) -> str:
    """The reference's with `_sim`, and the frames unless it is the whole clip but for the first settling ones."""
    is_whole = stretch.complete and stretch.attempt.start == 0
    return f"{reference.name}_sim" if is_whole else f"{reference.name}_sim{stretch.begin}-{stretch.stop}"


def mirrored_clip(clip: Clip, character: Character) -> Clip:
    """The mirror image, with its name and history."""
    return replace(clip_edits.mirror(clip, character), name=f"{clip.name}_m")


def path_progress(clips: list[Clip]) -> list[Tensor | None]:
    """Arc length [T] of its path that each clip has walked by each frame, never falling; None without a path."""
    result: list[Tensor | None] = [None] * len(clips)
    walking = [(c, clip.path) for c, clip in enumerate(clips) if clip.path is not None]
    if not walking:
        return result
    batch = PathBatch.stack([path for _, path in walking], _SPACING)
    roots = [clips[c].motion.root_pos[:, :2] for c, _ in walking]
    longest = max(len(root) for root in roots)
    at = torch.arange(longest)
    track = torch.stack([root[at.clamp_max(len(root) - 1)] for root in roots], 1)
    progress, rows = batch.start(), []
    for xy in track:
        progress = batch.advance(progress, xy)
        rows.append(progress)
    walked = torch.stack(rows, 1)
    for row, (c, _) in enumerate(walking):
        result[c] = walked[row, : len(clips[c].motion)]
    return result


def cut_path(path: TerrainPath, begin: float, stop: float | None) -> TerrainPath:
    """The part between two arc lengths, m; to its goal if `stop` is None. Waypoints in between are kept."""
    arc = path.arc_length
    stop = float(arc[-1]) if stop is None else min(stop, float(arc[-1]))
    inside = (arc > begin + 1e-4) & (arc < stop - 1e-4)
    ends = [_at(path, arc, a) for a in (begin, max(begin, stop))]
    return TerrainPath(torch.cat([ends[0], path.nodes[inside], ends[1]]))


def _at(path: TerrainPath, arc: Tensor, where: float) -> Tensor:
    """[1, 3] the point at an arc length."""
    if len(path) == 1:
        return path.nodes
    right = int(torch.searchsorted(arc, torch.tensor(where, dtype=arc.dtype)).clamp(1, len(arc) - 1))
    share = ((where - arc[right - 1]) / (arc[right] - arc[right - 1]).clamp_min(1e-9)).clamp(0, 1)
    return torch.lerp(path.nodes[right - 1], path.nodes[right], share).unsqueeze(0)
