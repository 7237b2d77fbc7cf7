"""What may join: sound clips, and no copies."""

from dataclasses import replace

import pytest
import torch

from parc.author.procedural_walk import StrollSettings, stroll
from parc.character import humanoid
from parc.dataset.clip import Clip
from parc.dataset.clip_edits import cut, mirror, moved
from parc.errors import SettingsError
from parc.loop.admission_rules import GuardSettings, find_copies, judge_clips, signature
from parc.path.terrain_path import TerrainPath
from parc.quality.limit_profiles import AdmissionLimits
from parc.terrain.terrain import Terrain

BODY = humanoid()


def make_walk(name: str, speed: float = 1.0, turn: float = 0.0, heading: tuple[float, float] = (1.0, 0.0)) -> Clip:
    at = torch.tensor([[0.0, 0.0], [2.0, 0.0], [4.0, turn]])
    x, y = heading
    nodes = at @ torch.tensor([[x, y], [-y, x]]) + 6.0
    path = TerrainPath(torch.cat([nodes, torch.zeros(3, 1)], 1))
    return stroll(Terrain.flat((30, 30)), path, StrollSettings(speed=speed), name)


@pytest.fixture(scope="module")
def walk() -> Clip:
    return make_walk("walk")


def test_a_sound_clip_joins(walk: Clip) -> None:
    (verdict,) = judge_clips([walk], [], BODY)
    assert verdict.joins and verdict.metrics["pen_mm"] < 1


@pytest.mark.parametrize(
    ("fault", "limit"),
    [
        (lambda m: replace(m, root_pos=m.root_pos - torch.tensor([0.0, 0.0, 0.1])), "pen_mm"),
        (lambda m: replace(m, root_pos=m.root_pos + torch.tensor([0.0, 0.0, 0.5])), "floating"),
        (lambda m: replace(m, root_pos=m.root_pos * torch.tensor([1.5, 1.0, 1.0])), "foot_skate"),
        (lambda m: replace(m, root_pos=m.root_pos + 0.2 * (torch.arange(len(m)) % 2).view(-1, 1)), "hjf_paper"),
    ],
)
def test_a_bad_clip_is_refused_by_name_of_its_fault(walk: Clip, fault, limit: str) -> None:
    (verdict,) = judge_clips([replace(walk, motion=fault(walk.motion))], [], BODY)
    assert any(reason.startswith(f"{limit} is ") for reason in verdict.reasons), verdict.reasons
    (verdict,) = judge_clips([replace(walk, motion=fault(walk.motion))], [], BODY, GuardSettings(quality=None))
    assert verdict.joins


def test_a_recording_far_from_its_reference_is_refused(walk: Clip) -> None:
    far = replace(walk, provenance=replace(walk.provenance, losses={"tracking_error": 0.3}))
    (verdict,) = judge_clips([far], [], BODY, GuardSettings(AdmissionLimits(tracking_error=0.2)))
    assert verdict.reasons == ("tracking_error is 0.3 m, 0.2 is the limit",)


def test_a_short_clip_is_refused(walk: Clip) -> None:
    (verdict,) = judge_clips([cut(walk, 0, 20)], [], BODY)
    assert "seconds is 0.6667 s" in verdict.reasons[0]


def test_a_copy_is_a_copy_wherever_it_is(walk: Clip) -> None:
    elsewhere = replace(moved(walk, torch.tensor([1.2, -0.4, 0.0])), name="elsewhere")
    turned = make_walk("turned", heading=(0.0, 1.0))
    for copy in (replace(walk, name="same"), elsewhere, turned):
        (verdict,) = judge_clips([copy], [walk], BODY)
        assert "copy of 'walk'" in verdict.reasons[0], copy.name


def test_other_motions_are_no_copies(walk: Clip) -> None:
    others = [make_walk("fast", speed=1.3), make_walk("left", turn=1.5), make_walk("right", turn=-1.5)]
    verdicts = judge_clips(others, [walk], BODY)
    assert all(v.joins for v in verdicts), verdicts
    assert judge_clips([replace(mirror(others[1], BODY), name="m")], [others[1]], BODY)[0].joins


def test_of_copies_among_the_new_the_first_joins(walk: Clip) -> None:
    trembling = walk.motion.root_pos + 0.004 * torch.randn(len(walk.motion), 3, generator=torch.Generator().manual_seed(0))
    near = replace(walk, name="near", motion=replace(walk.motion, root_pos=trembling))
    found = find_copies([walk, replace(walk, name="b"), near], [], BODY, GuardSettings())
    assert found[0] is None
    assert found[1] == ("walk", pytest.approx(0.0, abs=1e-6))
    assert found[2] is not None and found[2][0] == "walk" and 0.001 < found[2][1] < 0.02


def test_distance_is_the_root_mean_square_over_bodies(walk: Clip) -> None:
    """Shifted by 3 cm after the first frame, every body is 3 cm off at 15 of 16 times."""
    shifted = walk.motion.root_pos.clone()
    shifted[1:, 1] += 0.03
    other = replace(walk, name="b", motion=replace(walk.motion, root_pos=shifted))
    apart = (signature(walk, BODY) - signature(other, BODY)).view(16, 15, 3).norm(dim=-1).square().mean().sqrt()
    assert apart == pytest.approx(0.03 * (15 / 16) ** 0.5, rel=1e-3)
    (found,) = find_copies([other], [walk], BODY, GuardSettings(nearest=0.05))
    assert found is not None and found[1] == pytest.approx(float(apart), rel=1e-4)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="nearest is -1"):
        GuardSettings(nearest=-1)
    with pytest.raises(SettingsError, match=r"least_diversity is 1\.5"):
        GuardSettings(least_diversity=1.5)
