"""The paper's measured numbers, as facts to stand beside ours.

Xu et al., SIGGRAPH 2025: Table 1 (generators, 100 test terrains x 32 motions, s = 0.65), Table 2 (trackers on the best
motion of each terrain), Table 3 (blending coefficients of the generator of iteration 4). Its test terrains, seeds and time
limit are not public, so the numbers tell of the same protocol, not of the same test.
"""

from typing import Any

NO_CORRECTION = "no physics correction"
"""what the paper calls the generator trained on generated motions as they are"""
KINEMATIC_ONLY = "kinematic correction only"
"""a generator trained on generated motions that were corrected, but not tracked: not the paper's"""

GENERATORS: dict[str, dict[str, float]] = {
    "iteration 1": {"fwd": 1.908, "tpl": 2093.0, "tcl": 114.1, "hjf": 10.70},
    "iteration 2": {"fwd": 1.586, "tpl": 705.5, "tcl": 9.761, "hjf": 4.387},
    "iteration 3": {"fwd": 0.747, "tpl": 448.2, "tcl": 8.070, "hjf": 3.238},
    "iteration 4": {"fwd": 0.596, "tpl": 179.6, "tcl": 9.763, "hjf": 2.730},
    NO_CORRECTION: {"fwd": 1.572, "tpl": 547.3, "tcl": 17.44, "hjf": 18.68},
}
"""Table 1: FWD m, TPL and TCL m summed, %HJF"""

TRACKERS: dict[str, dict[str, float]] = {
    "iteration 1": {"success": 27.0, "joint_error": 0.08294},
    "iteration 2": {"success": 44.0, "joint_error": 0.05851},
    "iteration 3": {"success": 60.0, "joint_error": 0.05321},
    "iteration 4": {"success": 68.0, "joint_error": 0.05167},
}
"""Table 2: success from the first frame in %, joint tracking error in m"""

BLENDING: dict[str, dict[str, float]] = {
    "s 0": {"fwd": 0.908, "tpl": 40796.0, "tcl": 185.3, "hjf": 1.479},
    "s 0.25": {"fwd": 0.776, "tpl": 7411.0, "tcl": 44.93, "hjf": 1.113},
    "s 0.5": {"fwd": 0.571, "tpl": 4872.0, "tcl": 32.58, "hjf": 1.017},
    "s 0.65": {"fwd": 0.596, "tpl": 179.6, "tcl": 9.763, "hjf": 2.730},
    "s 0.75": {"fwd": 0.574, "tpl": 132.2, "tcl": 7.718, "hjf": 8.434},
    "s 1": {"fwd": 0.537, "tpl": 129.8, "tcl": 6.751, "hjf": 54.82},
}
"""Table 3: the same metrics for each blending coefficient s"""


def paper_numbers() -> dict[str, Any]:
    """The paper's tables, as the report puts them beside ours."""
    return {"generators": GENERATORS, "trackers": TRACKERS, "blending": BLENDING}
