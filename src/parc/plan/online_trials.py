"""How good live driving is: seeded terrains, a goal some metres away on each, and what became of the character.

Item i draws terrain, start and goal from SeedSequence([seed, 0, i]), so it is the same whatever else is tried. Reached means
reached without a fall. A character that falls is put back and goes on until its time is up: that share is told apart.

How soon a key changes the plan is measured apart (`answers_to_keys`): on flat ground, in real time, with a new direction every
second or so.
"""

import math
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import PathError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.metrics.naturalness import naturalness_of
from parc.motion.motion import Motion
from parc.path.path_endpoints import EndpointSettings, random_endpoints
from parc.path.path_planning import plan_path
from parc.path.terrain_path import TerrainPath
from parc.plan.online_pilot import Pilot, PilotSettings
from parc.plan.tracker_critic import Critic
from parc.terrain.procedural_terrain import RandomBoxes, random_boxes
from parc.terrain.terrain import Terrain
from parc.track.learn.policy import TrainedActor


@dataclass(frozen=True)
class TrialSettings:
    """How far the goal is, and how much time there is."""

    distance: float = 5.0
    """m, least distance of the goal from the start in the plane"""
    seconds: float = 20.0
    """s of simulated time to get there"""
    boxes: RandomBoxes = field(default_factory=RandomBoxes)
    pilot: PilotSettings = field(default_factory=PilotSettings)

    def __post_init__(self) -> None:
        if not 0 < self.seconds < float("inf"):
            raise SettingsError(f"the time limit is {self.seconds} s, expected a positive number")


Trouble = Literal["none", "slow", "climb", "drop", "level"]
"""no fall and the goal reached, no fall but time was up, a fall at a step up, at a step down, or elsewhere"""
STEP = 0.3
"""m between waypoints, up or down, that make a fall near them one at a step"""
NEAR = 1.0
"""m around a fall in which a step of the path counts"""


class TrialGround(NamedTuple):
    """Where a trial takes place."""

    terrain: Terrain
    start: Tensor
    """[2]"""
    goal: Tensor
    """[2]"""
    heading: float
    """rad, of the way's beginning"""


@dataclass(frozen=True)
class TrialResult:
    """What became of the character."""

    index: int
    reached: bool
    """without a fall"""
    reached_after_resets: bool
    seconds: float
    """simulated, until the goal was reached or time was up"""
    first_fall: float | None
    """s"""
    nearest: float
    """m from the goal at the nearest, before any fall"""
    falls: int
    resets: int
    plans: int
    safe_plans: int
    continued_plans: int
    stalls: int
    joint_error: float
    """m, mean distance from the plan"""
    wall: float
    """s of real time for each simulated second"""
    cpu: float
    """s of all threads for each simulated second"""
    climb: float
    """m, highest step up on the way that was planned first"""
    drop: float
    """m, highest step down on it"""
    trouble: Trouble
    """where the first fall was, or that there was none"""
    plan_seconds: tuple[float, ...]
    walk_r: float = math.nan
    """R of walking, see `parc.metrics.naturalness`; 1 is a person"""
    human_n: float = math.nan
    """%, seconds that are nearer than 95 % of people's"""


def trial_ground(index: int, seed: int = 0, settings: TrialSettings = TrialSettings()) -> TrialGround:
    """Terrains on which start and goal cannot be joined are drawn again from the same stream."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0, index]))
    while True:
        terrain = random_boxes(settings.boxes, rng)
        start, goal = random_endpoints(terrain, rng, EndpointSettings(settings.distance))
        try:
            path = plan_path(terrain, start, goal)
        except PathError:
            continue
        ahead = path.nodes[min(2, len(path) - 1)] - path.nodes[0]
        heading = float(torch.atan2(ahead[1], ahead[0]))
        return TrialGround(terrain, path.nodes[0, :2], path.nodes[-1, :2], heading)


def run_trial(
    generator: Generator,
    trained: TrainedActor,
    index: int,
    seed: int = 0,
    settings: TrialSettings = TrialSettings(),
    threaded: bool = True,
    critic: Critic | None = None,
) -> tuple[TrialResult, Motion]:
    """One terrain, and what the character did on it."""
    ground = trial_ground(index, seed, settings)
    with Pilot(generator, trained, ground.terrain, settings.pilot, seed * 1000 + index, threaded, critic) as pilot:
        pilot.stand(ground.start, ground.heading)
        path = pilot.go_to(ground.goal)
        hz = trained.contract.control_hz
        first_fall: float | None = None
        nearest = float((ground.goal - pilot.xy).norm())
        began, worked = time.perf_counter(), time.process_time()
        moment = None
        trouble: Trouble = "slow"
        for k in range(round(settings.seconds * hz)):
            moment = pilot.step()
            if first_fall is None:
                nearest = min(nearest, float((ground.goal - moment.root_pos[:2]).norm()))
                if moment.fell:
                    first_fall, trouble = (k + 1) / hz, trouble_at(pilot.steering.path or path, moment.root_pos[:2])
            if moment.arrived:
                break
        wall, cpu = time.perf_counter() - began, time.process_time() - worked
        steps = path.nodes[:, 2].diff()
        statistics = pilot.statistics
        arrived = moment is not None and moment.arrived
        result = TrialResult(
            index=index,
            reached=arrived and first_fall is None,
            reached_after_resets=arrived,
            seconds=statistics.steps / hz,
            first_fall=first_fall,
            nearest=nearest,
            falls=statistics.falls,
            resets=statistics.resets,
            plans=statistics.plans,
            safe_plans=statistics.safe_plans,
            continued_plans=statistics.continued_plans,
            stalls=statistics.stalls,
            joint_error=statistics.error / max(statistics.steps, 1),
            wall=wall / (statistics.steps / hz),
            cpu=cpu / (statistics.steps / hz),
            climb=float(steps.clamp_min(0).max()),
            drop=float((-steps).clamp_min(0).max()),
            trouble="none" if arrived and first_fall is None else trouble,
            plan_seconds=tuple(statistics.plan_seconds),
        )
        motion = pilot.motion()
        human = naturalness_of(Clip("live", motion, ground.terrain, path), trained.character)
        return replace(result, walk_r=human["walk_r"], human_n=human["human_n"]), motion


def answers_to_keys(
    generator: Generator,
    trained: TrainedActor,
    changes: int,
    seed: int = 0,
    settings: TrialSettings = TrialSettings(),
    threaded: bool = True,
    critic: Critic | None = None,
    paced: bool = True,
) -> dict[str, float]:
    """What becomes of so many changes of a held key; `paced`: not faster than the clock."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    with Pilot(generator, trained, Terrain.flat((60, 60)), settings.pilot, seed, threaded, critic) as pilot:
        pilot.stand(torch.tensor([12.0, 12.0]))
        hz, due = trained.contract.control_hz, time.perf_counter()
        for _ in range(changes):
            angle = float(rng.uniform(-math.pi, math.pi))
            pilot.go_towards(torch.tensor([math.cos(angle), math.sin(angle)]))
            for _ in range(int(rng.integers(20, 41))):
                pilot.step()
                due += 1.0 / hz
                wait = due - time.perf_counter()
                due -= min(wait, 0.0)
                if paced and wait > 0:
                    time.sleep(wait)
        statistics = pilot.statistics
        steps, seconds = np.array(statistics.answer_steps), np.array(statistics.answer_seconds)
    return {
        "keys": changes,
        "answer_steps_p50": float(np.quantile(steps, 0.5)),
        "answer_steps_p95": float(np.quantile(steps, 0.95)),
        "answer_p50": float(np.quantile(seconds, 0.5)),
        "answer_p95": float(np.quantile(seconds, 0.95)),
        "key_falls": statistics.falls,
    }


def trouble_at(path: TerrainPath, xy: Tensor) -> Trouble:
    """What the path is like where a character fell at xy [2]."""
    middle = (path.nodes[1:, :2] + path.nodes[:-1, :2]) / 2
    steps = path.nodes[:, 2].diff()[(middle - xy).norm(dim=-1) <= NEAR]
    up, down = float(steps.clamp_min(0).max()) if len(steps) else 0.0, float((-steps).clamp_min(0).max()) if len(steps) else 0.0
    if max(up, down) < STEP:
        return "level"
    return "climb" if up >= down else "drop"


def summary(results: list[TrialResult]) -> dict[str, Any]:
    """Shares and means over the terrains, and each of them under `trials`."""
    latency = np.array([s for r in results for s in r.plan_seconds])
    simulated = sum(r.seconds for r in results)
    plans = sum(r.plans for r in results)
    trials = [{k: v for k, v in asdict(r).items() if k != "plan_seconds"} for r in results]
    return {
        "terrains": len(results),
        "reached": sum(r.reached for r in results) / len(results),
        "reached_after_resets": sum(r.reached_after_resets for r in results) / len(results),
        "falls": sum(r.falls for r in results),
        "trouble": dict(Counter(r.trouble for r in results)),
        "resets": sum(r.resets for r in results),
        "nearest": float(np.mean([r.nearest for r in results])),
        "simulated_seconds": simulated,
        "wall_per_simulated_second": sum(r.wall * r.seconds for r in results) / max(simulated, 1e-9),
        "simulated_seconds_per_cpu_second": simulated / max(sum(r.cpu * r.seconds for r in results), 1e-9),
        "cpu_per_simulated_second": sum(r.cpu * r.seconds for r in results) / max(simulated, 1e-9),
        "plan_p50": float(np.quantile(latency, 0.5)),
        "plan_p95": float(np.quantile(latency, 0.95)),
        "plans": plans,
        "safe_plans": sum(r.safe_plans for r in results) / max(plans, 1),
        "continued_plans": sum(r.continued_plans for r in results) / max(plans, 1),
        "stalls": sum(r.stalls for r in results),
        "joint_error": sum(r.joint_error * r.seconds for r in results) / max(simulated, 1e-9),
        **{name: _known_mean([getattr(r, name) for r in results]) for name in ("walk_r", "human_n")},
        "trials": trials,
    }


def _known_mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
