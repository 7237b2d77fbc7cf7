"""Every number that the paper gives, once, beside its section; and those its released code adds where the paper is silent.

A number here is a fact of another's work. It changes when the paper does: never. What is otherwise by choice (the fast generator,
the tracker's defaults) has no row.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from parc.character import humanoid, surface_points
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.select_candidates import SelectSettings
from parc.evaluate.evaluation_job import EvaluationSettings
from parc.evaluate.generator_measurement import BLENDS, GeneratorTest
from parc.evaluate.terrain_sets import set_cases
from parc.generate.data.frame_table import FPS
from parc.generate.data.training_windows import WindowSettings
from parc.generate.model.motion_generator import GeneratorSettings
from parc.generate.model.noise_schedule import DdpmSchedule
from parc.generate.model.paper_encoder import EncoderSettings
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.training.generator_training import TrainSettings
from parc.generate.training.training_objective import PaperObjective
from parc.loop import preset
from parc.metrics.jerk import LIMIT
from parc.motion.motion_edits import HESITATION_DISTANCE, HESITATION_FRAMES
from parc.path.edge_cost import CostSettings
from parc.path.navigation_graph import GraphSettings
from parc.path.path_endpoints import EndpointSettings
from parc.physics.physical_contract import Contract
from parc.record.record_clips import RecordSettings
from parc.record.tracking_attempts import AttemptSettings
from parc.terrain import RandomBoxes, RandomWalks, Terrain
from parc.terrain.heightmap import HeightmapGrid, relative_heightmap
from parc.terrain.parkour_course import parkour_park
from parc.terrain.terrain import CELL
from parc.track.follow.outcome import TerminationSettings
from parc.track.tracker_settings import PPOSettings, TrackerSettings

Row = tuple[str, str, Callable[[], Any], Any]
TRAINING, TRACKER = TrainSettings.paper, TrackerSettings.paper


RECONSTRUCTED = ("root_pos", "root_rot", "joint_rot", "joint_pos", "contacts")
DERIVED = ("root_velocity", "root_turn", "joint_turn", "consistency")


def other_recordings() -> tuple[float, bool]:
    """Starts between the paper's (every so many s), and parts of clips whose end is not reached."""
    paper = RecordSettings.paper()
    return paper.attempt.every, paper.stretch.salvage


def sampler_steps() -> int:
    return len(GeneratorSettings.paper().schedule.plan(torch.device("cpu")))


def synthesis(of: Callable[[Any], Any]) -> list[Any]:
    """Of each iteration of the paper's preset."""
    paper = preset("paper")
    return [of(paper.plan(i).synthesis) for i in range(1, paper.iterations + 1)]


def constants() -> list[float]:
    """Of the sweep over s."""
    return [blend.start for name, blend in BLENDS.items() if name.startswith("s ")]


def fields(settings: Any, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(settings, name) for name in names)


def joint_weights() -> dict[str, float]:
    return {body.name.split("_", 1)[-1]: body.joint.weight for body in humanoid().bodies if body.joint.axes}


PAPER: list[Row] = [
    ("5.1", "frames of a window, half a second", lambda: (PAST_FRAMES, WindowSettings().future, FPS), (2, 13, 30.0)),
    ("5.1", "local heightmap", lambda: HeightmapGrid().shape, (31, 31)),
    ("5.3", "attention to the past is masked", lambda: TRAINING().step.past_dropout, 0.15),
    ("5.3", "the same by default", lambda: TrainSettings().step.past_dropout, 0.15),
    ("5.3", "items of random terrain", lambda: TRAINING().window.random_share, 0.1),
    ("5.3", "the same by default", lambda: TrainSettings().window.random_share, 0.1),
    ("5.3", "s of the sampler at every step", lambda: set(RolloutSettings.paper().blend.coefficients(201).tolist()), {0.65}),
    ("6.1", "policy, Hz", lambda: (TRACKER().contract.control_hz, Contract().control_hz), (30, 30)),
    ("6.1", "physics, Hz", lambda: (1 / TRACKER().contract.timestep, 1 / Contract().timestep), (120, 120)),
    ("6.2", "units of the layers", lambda: TRACKER().policy.hidden, (2048, 1024, 512)),
    ("6.2", "the same by default", lambda: TrackerSettings().policy.hidden, (2048, 1024, 512)),
    ("7", "iterations in the tables", lambda: preset("paper").iterations, 4),
    ("7", "motions of each", lambda: synthesis(lambda s: s.clips), [1000, 1000, 2000, 2000]),
    ("7", "on boxes, then on slices", lambda: synthesis(lambda s: s.settings.ground), ["boxes", "boxes", "course", "course"]),
    ("7", "their longest, s", lambda: synthesis(lambda s: s.settings.rollout.seconds), [10.0] * 4),
    ("7", "the same by default", lambda: RolloutSettings().seconds, 10.0),
    ("7.2", "test terrains", lambda: (EvaluationSettings().terrains, set_cases.__defaults__), (100, (100,))),
    ("7.2", "motions on each", lambda: GeneratorTest().candidates, 32),
    ("7.2", "DDIM stride", lambda: GeneratorSettings.paper().schedule.stride, 5),  # type: ignore[union-attr]
    ("7.2", "jerk of the mocap, m/s3", lambda: round(LIMIT), 11666),
    ("7.4", "blending coefficients", constants, [0, 0.25, 0.5, 0.65, 0.75, 1]),
    ("A.1", "cell, m", lambda: (CELL, Terrain.flat((1, 1)).cell, RandomBoxes().cell, RandomWalks().cell), (0.4,) * 4),
    ("A.2", "grid of random boxes", lambda: RandomBoxes().size, (16, 16)),
    ("A.2", "sides, cells", lambda: RandomBoxes().side, (5, 10)),
    ("A.2", "heights, m", lambda: RandomBoxes().height, (-2.0, 2.0)),
    ("A.2, figure", "boxes", lambda: RandomBoxes().boxes, 10),
    ("A.2", "grid of random walks", lambda: RandomWalks().size, (32, 32)),
    ("A.2", "paths", lambda: RandomWalks().walks, 10),
    ("A.2", "large terrain", lambda: parkour_park().size, (100, 100)),
    ("A.2", "its slices", lambda: synthesis(lambda s: s.settings.slice_size)[-1], (16, 16)),
    ("B.1", "largest step, m", lambda: GraphSettings().max_step, 2.1),
    ("B.2", "w_xy, w_z, c_min, c_max", lambda: tuple(vars(CostSettings()).values()), (1.0, 0.15, 0.0, 0.5)),
    ("E.1", "candidates", lambda: set(synthesis(lambda s: s.settings.candidates)), {64}),
    ("E.1", "price of an end not reached", lambda: SelectSettings().incomplete, 1000.0),
    ("E.2", "w_reg", lambda: OptimiseSettings().regularisation, 1.0),
    ("E.2", "w_pen", lambda: OptimiseSettings().penetration, 1000.0),
    ("E.2", "w_contact", lambda: OptimiseSettings().contact, 1000.0),
    ("E.2", "w_jerk", lambda: OptimiseSettings().jerk, 1000.0),
    ("E.2", "largest jerk, m/s3", lambda: OptimiseSettings().jerk_limit, 1000.0),
    ("E.2", "step size of Adam", lambda: OptimiseSettings().step_size, 0.001),
    ("E.2", "its iterations", lambda: OptimiseSettings().iterations, 3000),
    ("F.1", "pose termination, m", lambda: TRACKER().termination.body_distance, 0.7),
    ("F.1", "the same by default", lambda: TerminationSettings().body_distance, 0.7),
    ("F.1", "weights of the rewards", lambda: TRACKER().reward.weights[:6], (0.5, 0.1, 0.15, 0.1, 0.15, 1.0)),
    ("F.2", "failure rates are those of clips", lambda: TRACKER().restart.unit, "clip"),
    ("F.2", "least sampling weight", lambda: TRACKER().restart.floor, 0.01),
    ("F.2", "no greatest one", lambda: TRACKER().restart.ceiling, 1.0),
]  # fmt: skip

RELEASED: list[Row] = [
    ("5.1", "heightmap, m ahead and aside", lambda: (HeightmapGrid().x, HeightmapGrid().y), ((-2.0, 4.0), (-3.0, 3.0))),
    ("5.1", "its heights, m", lambda: relative_heightmap(torch.tensor([[-9.0, 9.0]]), torch.zeros(())).tolist(), [[-3.0, 3.0]]),
    ("5.1", "direction, s ahead", lambda: (WindowSettings().target_nearest, WindowSettings().target_farthest), (0.4, 1.5)),
    ("5.2", "K", lambda: (GeneratorSettings.paper().schedule, DdpmSchedule()), (DdpmSchedule(1001, 5),) * 2),
    ("5.2", "steps of the sampler", sampler_steps, 201),
    ("5.2", "width, layers, heads", lambda: GeneratorSettings.paper().network, EncoderSettings(1024, 6, 16, 1024, dropout=0.1)),
    ("5.2", "rotations are exponential maps", lambda: GeneratorSettings.paper().encoding, "exp"),
    ("D.1", "rate and decay of AdamW", lambda: (TRAINING().step.adam.rate, TRAINING().step.adam.decay), (1e-5, 0.01)),
    ("D.1", "windows of a step", lambda: (TRAINING().step.batch, TRAINING().step.levels), (64, 1)),
    ("D.1", "weight of L_pen", lambda: PaperObjective().penetration, 15.0),
    ("D.1", "of root, joints and labels", lambda: fields(PaperObjective(), *RECONSTRUCTED), (1.0, 1.0, 0.5, 0.5, 1.0)),
    ("D.1", "of velocities and joints", lambda: fields(PaperObjective(), *DERIVED), (0.5, 0.02, 0.01, 1.0)),
    ("D.1", "no noise on the past, no own rollouts", lambda: (TRAINING().step.past_noise, TRAINING().step.own_share), (0.0, 0.0)),
    ("D.1", "random terrain at every noise level", lambda: TRAINING().step.random_level, 0.0),
    ("A.2", "heights of random walks, m", lambda: (RandomWalks().height, RandomWalks().floor), ((-1.6, 2.0), -2.0)),
    ("B.1", "jumps, m", lambda: fields(GraphSettings(), "jump_distance", "jump_up", "jump_down"), (3.0, 0.5, 1.0)),
    ("B.3", "start and end apart, m", lambda: EndpointSettings().min_distance, 5.0),
    ("C.1", "points on the body", lambda: len(surface_points(humanoid()).points), 304),
    ("E.1", "valid below, m", lambda: (SelectSettings().largest_penetration, SelectSettings().largest_contact), (80.0, 30.0)),
    ("E.2", "hesitation, m and frames", lambda: (HESITATION_DISTANCE, HESITATION_FRAMES), (0.15, 4)),
    ("6.1", "targets about the joints' middle", lambda: TRACKER().action.residual, False),
    ("6.1", "a fixed spread of actions", lambda: (TRACKER().policy.learn_std, TRACKER().policy.std), (False, 0.05)),
    ("6.3", "starts, shares of a clip", lambda: RecordSettings.paper().attempt.starts, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    ("6.3", "the same by default", lambda: AttemptSettings().starts, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    ("6.3", "no other starts, no parts", other_recordings, (0.0, False)),
    ("F.1", "weights of the joints", joint_weights, {
        "torso": 1.0, "head": 0.6, "upper_arm": 0.6, "lower_arm": 0.4, "thigh": 1.0, "shin": 0.6, "foot": 0.4,
    }),
    ("F.1", "key bodies", lambda: sorted({b.name.split("_")[1] for b in humanoid().bodies if b.is_key}), ["foot", "hand"]),
]  # fmt: skip

USUAL: list[Row] = [
    ("6.2", "PPO's clip, lambda and discount", lambda: fields(PPOSettings(), "clip", "lam", "gamma"), (0.2, 0.95, 0.99)),
    ("6.2", "of the paper's set-up, too", lambda: fields(TRACKER().ppo, "clip", "lam", "gamma"), (0.2, 0.95, 0.99)),
]  # fmt: skip
"""what neither says and the papers of PPO and GAE recommend"""


@pytest.mark.parametrize(("found", "number"), [pytest.param(f, n, id=f"{s} {what}") for s, what, f, n in PAPER])
def test_a_number_of_the_paper(found: Callable[[], Any], number: Any) -> None:
    _same(found(), number)


@pytest.mark.parametrize(("found", "number"), [pytest.param(f, n, id=f"{s} {what}") for s, what, f, n in RELEASED + USUAL])
def test_a_number_that_the_paper_leaves_open(found: Callable[[], Any], number: Any) -> None:
    _same(found(), number)


def _same(found: Any, number: Any) -> None:
    if isinstance(number, set) and all(isinstance(n, float) for n in number):
        assert sorted(found) == pytest.approx(sorted(number))
    else:
        assert found == (pytest.approx(number) if isinstance(number, float) else number)
