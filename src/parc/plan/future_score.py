"""What a simulated future is worth, in metres of progress: one measure for the search and for live driving.

    score =   worth(where it came along the path, how high)        `parc.plan.path_progress`
            - pace x seconds it took
            + caution x (survival x share of the rehearsal that the reference was followed + value x the tracker's value)
            - what it costs to be beside the path, in a pit under it, on the ground, or off the map
            - drift x distance between body and reference - crouch x bent knees - idle, for a pause

It is taken where the future was still good, not where it went wrong.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.path.path_batch import PathBatch
from parc.plan.path_progress import CROUCH, STANDING, lowest_near, worth
from parc.terrain.terrain import Terrain


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """Prices, in metres of progress along the path."""

    pace: float = 0.4
    """m that a second is worth"""
    climb: float = 1.5
    """m that a metre up is worth"""
    survival: float = 1.5
    """m that a reference followed to the end of the rehearsal outweighs one lost at once"""
    value: float = 0.3
    """m that a unit of the tracker's value function is worth; 0 does without the critic"""
    content: float = float("inf")
    """of that value, beyond which more is no better: who stands still is worth most"""
    boldness: float = 0.1
    """share of what survival and value are worth that is left for a character without caution"""
    drift: float = 0.5
    """m that a metre between the roots of body and reference costs at the end"""
    off_path: float = 1.0
    """m that a metre beside the path costs, beyond `corridor`"""
    corridor: float = 0.5
    """m beside the path, and below standing height over it, that are free"""
    pit: float = 0.0
    """m that a metre below all of the path nearby costs, beyond `corridor`: from down there no way leads on"""
    low: float = 0.0
    """m that a metre nearer to the ground than a crouch costs: who lies may be safe but does not get up"""
    off_map: float = 0.0
    """m that a metre beyond the edge of the terrain costs"""
    crouch: float = 0.0
    """m that a rad costs by which the straighter knee is bent beyond `crouch_allowed` while only feet touch, on average"""
    crouch_allowed: float = 0.35
    """rad: what people do on level ground"""
    idle: float = 0.0
    """m that a pause costs: it is there for want of anything safer"""


@dataclass(frozen=True, eq=False)
class FutureEnds:
    """Where N futures were still good, and how they came there."""

    progress: Tensor
    """[N] m along the path"""
    root: Tensor
    """[N, 3]"""
    seconds: Tensor
    """[N] since the beginning of what is compared"""
    survived: Tensor
    """[N] share of the rehearsal"""
    drift: Tensor
    """[N] m between the roots of body and reference"""
    value: Tensor | None = None
    """[N] of the tracker's value function; None: unknown"""
    pauses: Tensor | None = None
    """[N] 1 for a future that stands still, 0 for others; None: no such"""
    crouch: Tensor | None = None
    """[N] rad of bent knees (`parc.character.posture.crouch`), mean over the rehearsal; None: not looked at"""


def score_futures(
    ends: FutureEnds, paths: PathBatch, terrain: Terrain | None, settings: ScoreSettings, caution: float = 1.0, size: float = 1.0
) -> Tensor:
    """[N] m of progress, higher is better, with `paths` [N] and a caution of 1 to 0; `size` of the body.

    Without a terrain it costs nothing to lie or to leave the map.
    """
    root = ends.root
    aside = (root - paths.position(ends.progress))[:, :2].norm(dim=-1)
    off = settings.off_path * (aside - settings.corridor).clamp_min(0)
    if settings.pit:
        deep = lowest_near(paths, ends.progress) + STANDING * size - root[:, 2] - settings.corridor
        off = off + settings.pit * deep.clamp_min(0)
    if terrain is not None:
        height = root[:, 2] - terrain.height_at(root[:, :2])
        off = off + settings.low * ((STANDING - CROUCH) * size - height).clamp_min(0)
        low, high = terrain.extent
        off = off + settings.off_map * torch.maximum(low - root[:, :2], root[:, :2] - high).clamp_min(0).norm(dim=-1)
    trust = settings.survival * ends.survived
    if ends.value is not None:
        trust = trust + settings.value * ends.value.clamp_max(settings.content)
    score = worth(paths, ends.progress, root[:, 2], settings.climb, size) - settings.pace * ends.seconds
    score = score + max(caution, settings.boldness) * trust - off - settings.drift * ends.drift
    if ends.crouch is not None:
        score = score - settings.crouch * ends.crouch
    return score if ends.pauses is None else score - settings.idle * ends.pauses
