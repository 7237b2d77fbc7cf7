"""Whether somebody is at the end of a path: the one meaning of *arrived*.

A point of the body is near the goal in the plane, at the height that it has when the body stands there, and hardly any path is
left. Who stands at the foot of the wall that the goal is on, or has fallen off its ledge and passes under it, has not arrived;
nor has who passes a path's end early, on a path that comes back to it.

What the point is differs. A generated motion is planned to its feet (`parc.generate.rollout.path_arrival`), and so is a live
character's, whose wish names a place on the ground. A simulated body that crosses a terrain may arrive in a jump or on bent
knees: there it is the root, `above` the goal by its standing height, give or take half a metre.
"""

from torch import Tensor

SAME_HEIGHT = 0.4
"""m between the feet and a goal that they stand on: more is the foot of a wall, or a ledge above"""
REMAINING = 1.0
"""m of path that may be left"""


def has_arrived(
    point: Tensor, goal: Tensor, left: Tensor | float, radius: float, height: float = SAME_HEIGHT, above: float = 0.0
) -> Tensor:
    """[...] for points [..., 3] with goals [..., 3] and `left` [...] m of path.

    Within `radius` m of the goal in the plane, and within `height` m of the level `above` it.
    """
    offset = point - goal
    near = (offset[..., :2].norm(dim=-1) <= radius) & ((offset[..., 2] - above).abs() <= height)
    return near & (left <= REMAINING)
