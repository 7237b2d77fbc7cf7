"""Rollouts: repeatable, along the path, each motion ending for itself."""

import dataclasses
import math

import pytest
import torch

from parc.character import humanoid
from parc.dataset.clip import Provenance
from parc.errors import PathError, SettingsError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import DdpmSchedule, FlowSchedule
from parc.generate.model.paper_encoder import EncoderSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_arrival import arrive
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings, roll_out
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain, TerrainBatch

FLAT = Terrain.flat((25, 25))
STRAIGHT = TerrainPath(torch.tensor([[1.0, 4.0, 0.0], [7.0, 4.0, 0.0]]))


class Marcher(Generator):
    """In place of a trained network: stands upright and moves ahead at `speed`, whatever the noise says."""

    speeds: torch.Tensor

    def denoise_window(self, past, heightmap, target, noise, coefficients, plan, embeddings, mixed=None):
        batch = heightmap.shape[0]
        state = FrameState(
            torch.zeros(batch, 13, 3),
            torch.eye(3).expand(batch, 13, 3, 3),
            torch.eye(3).expand(batch, 13, 14, 3, 3),
            torch.zeros(batch, 13, 15),
        )
        steps = torch.arange(1, 14) / 30
        ahead = self.speeds.repeat(batch // len(self.speeds))[:, None] * steps
        root = torch.stack([ahead * target[:, :1], ahead * target[:, 1:], torch.zeros_like(ahead)], -1)
        return self.layout.encode(state._replace(root_pos=root))


def marcher(speeds: list[float]) -> Marcher:
    made = Marcher(humanoid(), GeneratorSettings(network=PrefixSettings(32, 1, 2, 32)))
    made.speeds = torch.tensor(speeds)
    return made


def test_same_seed_same_motion(tiny_generator):
    settings = RolloutSettings(seconds=1.0, choices=2)
    runs = [roll_out(tiny_generator, [FLAT], [STRAIGHT], 3, settings, seed=s) for s in (5, 5, 6)]
    assert torch.equal(runs[0].root_pos, runs[1].root_pos) and torch.equal(runs[0].joint_rot, runs[1].joint_rot)
    assert not torch.equal(runs[0].root_pos, runs[2].root_pos)


def test_a_runner_forgets_the_run_before(tiny_generator):
    terrain, paths = TerrainBatch.stack([FLAT]), PathBatch.stack([STRAIGHT])
    runner = PathRunner(tiny_generator, terrain, paths, 2, RolloutSettings(seconds=1.0))
    first = runner.run(1)
    runner.run(2)
    assert torch.equal(runner.run(1).root_pos, first.root_pos)


def test_every_candidate_ends_for_itself():
    """6 m at 2, 1 and 0.5 m/s, 8 s: two arrive, each at its own frame; the third uses up its time."""
    result = roll_out(marcher([2.0, 1.0, 0.5]), [FLAT], [STRAIGHT], 3, RolloutSettings(seconds=8.0))
    assert result.reached.tolist() == [True, True, False]
    frames = result.frames.tolist()
    first = [round(5.5 / speed * 30) for speed in (2.0, 1.0)]
    assert all(-2 <= count - least <= 6 + 2 for count, least in zip(frames, first, strict=False)) and frames[0] % 7 == 0
    assert frames[2] == 240
    motions = result.motions()
    assert [len(m) for m in motions] == frames
    for motion in motions[:2]:
        feet = motion.body_poses(humanoid()).pos[-1, list(humanoid().feet), :2].mean(0)
        assert float((feet - torch.tensor([7.0, 4.0])).norm()) <= 0.5


def test_who_stands_at_the_foot_of_the_wall_with_the_goal_has_not_arrived():
    """The marcher keeps to the ground it began on: 1 m below the first goal, 2 m above the second, on the third."""
    step = torch.zeros(25, 25)
    step[17:] = 1.0
    up = TerrainPath(torch.tensor([[1.0, 4.0, 0.0], [6.5, 4.0, 0.0], [6.9, 4.0, 1.0]]))
    down = TerrainPath(torch.tensor([[1.0, 4.0, 0.0], [6.5, 4.0, 0.0], [6.9, 4.0, -2.0]]))
    low = TerrainPath(torch.tensor([[1.0, 4.0, 0.0], [6.9, 4.0, 0.2]]))
    settings = RolloutSettings(seconds=5.0, fall=False, lock_feet=False)
    result = roll_out(marcher([2.0]), [Terrain(step, torch.zeros(2), 0.4), FLAT, FLAT], [up, down, low], 1, settings)
    assert result.reached.tolist() == [False, False, True]


def test_with_the_papers_sampler_a_body_stays_where_the_network_puts_it():
    """The marcher keeps to the height it began at: over a void it hovers, unless what nothing carries falls."""
    void = torch.zeros(25, 25)
    void[5:] = -3.0
    paper = dataclasses.replace(RolloutSettings.paper(), seconds=3.0)
    hovering, falling = (
        roll_out(marcher([2.0]), [Terrain(void, torch.zeros(2), 0.4)], [STRAIGHT], 1, settings)
        for settings in (paper, RolloutSettings(seconds=3.0))
    )
    torch.testing.assert_close(hovering.root_pos[0, :80, 2], hovering.root_pos[0, :1, 2].expand(80))
    assert falling.root_pos[0, 80, 2] < hovering.root_pos[0, 80, 2] - 1.0


def test_the_papers_sampler_asks_the_network_k_over_stride_times_a_window_and_blends_by_one_s():
    """Counted on the network itself; what it says with and without the past is mixed by .65 at every step."""
    body, settings = humanoid(), dataclasses.replace(RolloutSettings.paper(), seconds=1.0)
    for steps, stride in ((21, 5), (20, 5), (21, 21)):
        torch.manual_seed(0)
        model = Generator(body, GeneratorSettings(EncoderSettings(32, 1, 2, 32), DdpmSchedule(steps, stride), "exp")).eval()
        runner = PathRunner(model, TerrainBatch.stack([FLAT]), PathBatch.stack([STRAIGHT]), 1, settings)
        asked = []
        model.network.encoder.register_forward_hook(lambda part, given, made, asked=asked: asked.append(made.shape[0]))
        runner.step(torch.Generator().manual_seed(0))
        runner.step(torch.Generator().manual_seed(1))
        count = math.ceil(steps / stride)
        assert asked == [2] * (2 * count), "both branches of one motion, in each step of two windows"
        assert runner.coefficients.tolist() == pytest.approx([0.65] * count)
    assert len(DdpmSchedule().plan(torch.device("cpu"))) == math.ceil(1001 / 5) == 201
    assert DdpmSchedule().describe() == "DDIM with stride 5 over K = 1001, 201 steps"
    assert FlowSchedule().describe() == "few-step flow, 5 steps" and FlowSchedule().describe(3) == "few-step flow, 3 steps"


def test_the_last_window_goes_on_while_it_comes_nearer():
    paths = PathBatch.stack([TerrainPath(torch.tensor([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))] * 3)
    x = torch.tensor([[3.3, 3.4, 3.6, 3.8, 3.9], [3.6, 3.8, 4.05, 4.4, 4.6], [3.0, 3.1, 3.2, 3.3, 3.4]])
    root = torch.stack([x, 0 * x, 0 * x + 0.9], -1)
    found = arrive(paths, torch.full((3,), 3.0), root, root * torch.tensor([1.0, 1.0, 0.1]), 0.5)
    assert found.frames.tolist() == [3, 1, 6]
    assert found.end.tolist() == [5, 3, 5]


def test_speed_limit_gives_long_paths_more_time():
    slow = roll_out(marcher([0.9]), [FLAT], [STRAIGHT], 1, RolloutSettings(seconds=3.0))
    patient = roll_out(marcher([0.9]), [FLAT], [STRAIGHT], 1, RolloutSettings(seconds=3.0, slowest=0.8))
    assert not slow.reached.any() and slow.frames.tolist() == [90]
    assert patient.reached.all()


def test_a_path_that_returns_to_its_start_is_walked_to_the_end():
    loop = TerrainPath(torch.tensor([[1.0, 1.0, 0], [5.0, 1.0, 0], [5.0, 5.0, 0], [1.0, 5.0, 0], [1.0, 1.2, 0]]))
    result = roll_out(marcher([1.5]), [FLAT], [loop], 1, RolloutSettings(seconds=20.0, lookahead=1.0))
    assert result.reached.all()
    assert int(result.frames[0]) / 30 * 1.5 > 11.0


def test_rows_are_terrain_by_terrain_and_start_on_their_ground():
    high = Terrain.flat((25, 25), height=1.5)
    result = roll_out(marcher([1.0]), [FLAT, high], [STRAIGHT, STRAIGHT], 2, RolloutSettings(seconds=0.5))
    height = result.root_pos[:, 0, 2]
    assert (height[:2] >= 0.7).all() and (height[:2] <= 0.9).all()
    torch.testing.assert_close(height[2:] - 1.5, height[2:].clamp(2.2, 2.4) - 1.5)


def test_continues_the_past_it_is_given(walk, tiny_generator):
    """The first window is seen from the given frames, not from the path's start."""
    state = FrameState.of_motion(walk.motion)
    past = FrameState(*(part[40:42].unsqueeze(0) for part in state))
    result = roll_out(marcher([1.0]), [walk.terrain], [walk.path], 1, RolloutSettings(seconds=0.5, lock_feet=False), past=past)
    step = (result.root_pos[0, 0] - past.root_pos[0, 1]).norm()
    assert float(step) == pytest.approx(1 / 30, abs=1e-4)


def test_best_of_many_is_chosen_by_the_score():
    """Candidates in turn march at 0.2 and 1 m/s over open ground: progress decides for the fast one at every window."""
    settings = RolloutSettings(seconds=2.0, choices=2, lock_feet=False)
    settings = dataclasses.replace(settings, score=dataclasses.replace(settings.score, flight=0.0, jerk=0.0))
    result = roll_out(marcher([0.2, 1.0]), [FLAT], [STRAIGHT], 1, settings)
    travelled = result.root_pos[0, -1, 0] - result.root_pos[0, 0, 0]
    assert float(travelled) == pytest.approx(59 / 30, abs=0.1)


def test_clips_carry_their_own_ground():
    high = Terrain.flat((25, 25), height=1.5)
    result = roll_out(marcher([1.0]), [FLAT, high], [STRAIGHT, STRAIGHT], 2, RolloutSettings(seconds=0.5))
    clips = result.clips([FLAT, high], [STRAIGHT, STRAIGHT], "run", Provenance(seed=3), humanoid())
    assert [c.terrain is high for c in clips] == [False, False, True, True]
    assert [c.name for c in clips] == ["run_0000", "run_0001", "run_0002", "run_0003"] and clips[0].provenance.seed == 3


def test_contacts_are_labels(tiny_generator):
    result = roll_out(tiny_generator, [FLAT], [STRAIGHT], 2, RolloutSettings(seconds=0.5))
    assert result.contacts.min() >= 0 and result.contacts.max() <= 1


def test_wrong_counts_are_named(tiny_generator):
    with pytest.raises(PathError, match="1 terrains and 2 paths"):
        roll_out(tiny_generator, [FLAT], [STRAIGHT, STRAIGHT])
    with pytest.raises(SettingsError, match="at least 2"):
        RolloutSettings(keep=1)
    with pytest.raises(SettingsError, match="20 frames"):
        roll_out(tiny_generator, [FLAT], [STRAIGHT], settings=RolloutSettings(keep=20))


def test_a_window_in_compiled_pieces_is_the_window(tiny_generator):
    """Recorded, functionalised and differentiated as for any backend, but run without code generation."""
    terrain, paths = TerrainBatch.stack([FLAT]), PathBatch.stack([STRAIGHT])
    runs = []
    for compiled in (False, True):
        runner = PathRunner(tiny_generator, terrain, paths, 2, RolloutSettings(seconds=1.0, choices=2), use_graph=False)
        if compiled:
            runner.fuse(backend="aot_eager")
        assert runner.is_compiled == compiled
        runs.append(runner.run(1))
    torch.testing.assert_close(runs[1].root_pos, runs[0].root_pos)
    torch.testing.assert_close(runs[1].joint_rot, runs[0].joint_rot)
    assert torch.equal(runs[1].frames, runs[0].frames)
