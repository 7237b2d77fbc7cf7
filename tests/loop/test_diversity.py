"""A set must not shrink to one motion: of clips that are too much alike only so many join that they are diverse enough."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.author.procedural_walk import StrollSettings, stroll
from parc.character import humanoid
from parc.dataset import Dataset, DatasetWriter
from parc.dataset.clip import Clip
from parc.loop.admission_rules import GuardSettings, Verdict, refuse_surplus
from parc.loop.admit_clips import admit
from parc.loop.diversity import diversity_of, features_of, find_surplus
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

BODY = humanoid()
SETTINGS = GuardSettings(quality=None, nearest=0.0, judged_from=10)


def make_walk(name: str, speed: float = 1.0, turn: float = 0.0) -> Clip:
    nodes = torch.tensor([[6.0, 6.0, 0.0], [8.0, 6.0, 0.0], [10.0, 6.0 + turn, 0.0]])
    return stroll(Terrain.flat((30, 30)), TerrainPath(nodes), StrollSettings(speed=speed), name)


def standing(clip: Clip, name: str, frame: int) -> Clip:
    """The pose of one frame, held: whatever happens, this generator stands."""
    parts = ("root_pos", "root_rot", "joint_rot", "contacts")
    held = {part: getattr(clip.motion, part)[frame : frame + 1].expand_as(getattr(clip.motion, part)).clone() for part in parts}
    return replace(clip, name=name, motion=replace(clip.motion, **held))


@pytest.fixture(scope="module")
def start() -> list[Clip]:
    return [make_walk(f"w{k}", speed=0.7 + 0.2 * k, turn=1.5 * (k - 1.5)) for k in range(4)]


@pytest.fixture(scope="module")
def stands(start: list[Clip]) -> list[Clip]:
    return [standing(start[0], f"s{k}", 20) for k in range(12)]


def judged(new: list[Clip], start: list[Clip], settings: GuardSettings = SETTINGS):
    return refuse_surplus([Verdict(clip.name, (), {}) for clip in new], new, start, start, BODY, settings)


def test_a_healthy_set_joins_whole(start: list[Clip]) -> None:
    new = [replace(start[k % 4], name=f"n{k}") for k in range(12)]
    verdicts, diversity, warning = judged(new, start)
    assert all(v.joins for v in verdicts) and warning is None
    assert diversity.new == diversity.joined and diversity.new == pytest.approx(diversity.start, rel=0.1)


def test_of_many_that_stand_and_some_that_walk_the_surplus_of_the_standing_is_refused(start, stands) -> None:
    walking = [replace(clip, name=f"walks_{clip.name}") for clip in start]
    verdicts, diversity, warning = judged([*stands, *walking], start, replace(SETTINGS, least_diversity=0.8))
    joined, refused = {v.clip for v in verdicts if v.joins}, {v.clip for v in verdicts if v.is_surplus}
    assert {clip.name for clip in walking} <= joined, "no walk is surplus"
    assert refused and all(name.startswith("s") for name in refused)
    assert joined & {clip.name for clip in stands}, "not more than needed are refused"
    assert diversity.new < 0.8 * diversity.start <= 1.05 * diversity.joined
    assert f"the {len(refused)} most alike were refused, {len(joined)} joined" in warning
    assert "as diverse as the starting set (80 % is the least)" in next(v for v in verdicts if v.is_surplus).reasons[0]


def test_what_cannot_be_made_diverse_does_not_join(start, stands) -> None:
    verdicts, diversity, warning = judged(stands, start)
    assert not any(v.joins for v in verdicts)
    assert diversity.new < 0.1 * diversity.start and math.isnan(diversity.joined)
    assert diversity.all == pytest.approx(diversity.start)
    assert "none of the 12 joined, and the data set stays as it is" in warning


def test_few_clips_say_nothing_and_without_the_rule_it_is_only_said(start, stands) -> None:
    verdicts, _, warning = judged(stands[:9], start)
    assert all(v.joins for v in verdicts) and warning is None
    verdicts, _, warning = judged(stands, start, replace(SETTINGS, refuse_surplus=False))
    assert all(v.joins for v in verdicts) and "as diverse as the starting set" in warning


def test_clips_refused_before_stay_refused_for_their_own_reason(start, stands) -> None:
    sunk = [Verdict(clip.name, ("pen_mm is 99, 20 is the limit",), {}) for clip in stands]
    verdicts, _, warning = refuse_surplus(sunk, stands, start, start, BODY, SETTINGS)
    assert verdicts == sunk and warning is None


def test_the_rest_is_as_diverse_as_asked_and_one_more_would_be_too_much(start, stands) -> None:
    """Against the plain definition, every window of every clip with every other."""
    new = [*stands, *start]
    ground = features_of(start, BODY)
    assert ground is not None
    least = 0.8 * diversity_of(start, ground, BODY)
    surplus = find_surplus(new, ground, least, BODY)

    def plain(clips: list[Clip]) -> float:
        deviation = ground.std(0)
        points = features_of(clips, BODY) / torch.maximum(deviation, deviation.square().mean().sqrt())
        return float((points[:, None] - points[None]).norm(dim=-1).mean())

    rest = [clip for i, clip in enumerate(new) if i not in surplus]
    assert plain(rest) > 0.95 * least
    assert plain([*rest, new[surplus[-1]]]) < 1.05 * least


def test_the_data_set_and_its_admission_say_so(start, stands, tmp_path: Path) -> None:
    for name, clips in (("start", start), ("made", stands)):
        with DatasetWriter(tmp_path / name, BODY) as writer:
            writer.append(clips)
    made = tmp_path / "made"
    admission = admit(tmp_path / "out", tmp_path / "start", tmp_path / "start", made, made, BODY, SETTINGS, "cpu")
    assert admission["joined"] == [] and admission["surplus"] == 12 and admission["clips"] == 4
    assert Dataset.open(tmp_path / "out" / "dataset").names == [clip.name for clip in start]
    assert json.loads((tmp_path / "out" / "admission.json").read_text()) == admission
