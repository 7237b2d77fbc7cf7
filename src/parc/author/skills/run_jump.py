"""A running jump at a ledge, over a gap if there is one: hands catch the edge, feet meet the wall, and up."""

from dataclasses import dataclass

import numpy as np

from parc.author import skill_terrain
from parc.author.skill_script import BACK, SIGN, Key, Script, Step, Via, shifted
from parc.author.skills.mantle import mantle
from parc.author.walking_footholds import Pace, other, trunk_keys, walk_up
from parc.errors import SettingsError
from parc.fit.held_parts import Side
from parc.metrics.free_flight import GRAVITY
from parc.terrain.terrain import CELL


@dataclass(frozen=True)
class RunJump:
    """One running jump at a ledge."""

    height: float = 1.4
    """m of the ledge over the ground of the take-off"""
    gap: int = 2
    """cells between the two; 0: a wall on the floor"""
    depth: float = 1.2
    """m, of the gap"""
    speed: float = 2.6
    """m/s of the run"""
    leave: float = 1.2
    """m/s of the walk on top"""
    approach: float = 1.2
    """s of running before"""
    heading: float = 0.0
    """rad of the run against the wall's normal"""
    turn: float = 0.0
    """rad, heading of the walk on top"""
    side: Side = "right"
    """whose foot is put on top first"""
    tempo: float = 1.0
    """factor of the time from the catch on"""

    def __post_init__(self) -> None:
        if not 0.6 <= self.height <= 2.0 or not 0 <= self.gap <= 3:
            raise SettingsError(f"a jump at {self.height} m over {self.gap} cells is not within 0.6 to 2 m and 0 to 3 cells")


def run_jump(name: str, make: RunJump = RunJump()) -> Script:
    """Of skill `run_jump_climb`."""
    h, q, lead, trail = make.height, make.tempo, make.side, other(make.side)
    pace = Pace(make.speed)
    plant = -max(0.95, make.gap * CELL + 0.20)
    stance = 0.24
    catch_x, catch_z = -0.34, max(h - 0.60, 0.72)
    way = catch_x - (plant + 0.22)
    flight = max(way / (0.92 * make.speed), 0.5 * (2 * max(catch_z - 0.95, 0) / GRAVITY) ** 0.5 + 0.1)
    grip = flight
    last = Step(lead, -stance, 0.0, (plant, SIGN[lead] * 0.06, 0.0), 0.0, -stance + 0.02, -0.13)
    before = walk_up(trail, last.start - pace.time, plant - pace.length, make.approach, pace, yaw=make.heading)
    low, high = catch_z - 0.50, h - 0.80
    steps = [
        last,
        Step(trail, grip - 0.02, grip + 0.46 * q, (0.0, SIGN[trail] * 0.11, low), toe_only=True, pitch=-0.7, normal=BACK),
        Step(lead, grip + 0.06, grip + 0.36 * q, (0.0, SIGN[lead] * 0.11, low - 0.12), toe_only=True, pitch=-0.7, normal=BACK),
    ]
    press = 0.62 + 0.30 * max(h + 0.1 - catch_z - 0.5, 0.0)
    support = grip + (0.30 + press) * q
    keys = [
        Key(last.start + 0.05, plant - 0.20, 0.0, 0.80, 0.08, 0.18, 0.0),
        Key(0.0, plant + 0.22, 0.0, 0.94, 0.05, 0.12, 0.0),
        Key(grip, catch_x, 0.0, catch_z, -0.05, 0.10),
        Key(grip + 0.28 * q, catch_x + 0.02, 0.0, catch_z + 0.02, 0.05, 0.20),
        Key(support - 0.3 * q, -0.27, 0.0, h - 0.14, 0.25, 0.50),
    ]
    vias = [
        Via(f"{lead}_foot", 0.55 * grip, (plant + 0.5 * way, SIGN[lead] * 0.10, 0.40 + 0.5 * max(low, 0.0)), 0.5),
    ]
    if high > low + 0.15:
        place = (0.0, SIGN[trail] * 0.12, high)
        steps.append(Step(trail, grip + 0.62 * q, support - 0.1 * q, place, toe_only=True, pitch=-0.6, normal=BACK))
    over = mantle(h, grip, support, lead, q, make.leave, make.turn)
    begin = -make.approach - 0.4
    far = make.speed * (make.approach + 1.0) + 2.5
    script = Script(
        name=name,
        skill="run_jump_climb",
        terrain=skill_terrain.gap(h, make.gap, make.depth, far, over.reach + 1.0, 2.2 + abs(np.sin(make.heading)) * far),
        duration=over.end - begin,
        steps=[*before, *steps, *over.steps],
        grips=over.grips,
        keys=[*trunk_keys(before, pace, 0.0, make.heading), *keys, *over.keys],
        vias=[*vias, *over.vias],
        brisk=pace.brisk,
        parameters={"height": h, "speed": make.speed, "gap": make.gap * CELL, "heading": make.heading, "tempo": q},
    )
    return shifted(script, -begin)
