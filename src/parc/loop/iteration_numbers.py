"""What an evaluation of an iteration tells: the paper's Tables 1 and 2, and two ways to cross terrain."""

from typing import NamedTuple


class IterationNumber(NamedTuple):
    """One number of each iteration."""

    says: str
    unit: str
    larger_is_better: bool
    paper: tuple[str, str] | None = None
    """table and column of the paper's own numbers (`parc.evaluate.paper_results`)"""


NUMBERS = {
    "fwd": IterationNumber("distance from the goal", "m", False, ("generators", "fwd")),
    "tpl": IterationNumber("terrain penetration loss", "m", False, ("generators", "tpl")),
    "tcl": IterationNumber("terrain contact loss", "m", False, ("generators", "tcl")),
    "hjf": IterationNumber("frames with high jerk", "%", False, ("generators", "hjf")),
    "goal": IterationNumber("generated motions that arrive", "%", True),
    "success": IterationNumber("best motions tracked to their end", "%", True, ("trackers", "success")),
    "joint_error": IterationNumber("joint error of the tracker", "m", False, ("trackers", "joint_error")),
    "reflex": IterationNumber("terrains crossed without rehearsal", "%", True),
    "search": IterationNumber("terrains crossed by search", "%", True),
}
"""by their names in the result of the stage `evaluation`"""
