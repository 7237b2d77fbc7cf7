"""R and N against arithmetic, and against damages that everybody sees."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset import save_clip
from parc.dataset.clip import Clip, Provenance
from parc.dataset.clip_edits import mirror
from parc.errors import DatasetError, FormatError
from parc.metrics import ClipBatch, measure_clips
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_subject import NOBODY, subject_of
from parc.metrics.gait_windows import FEATURES, LABELS, RUN, WALK, gait_windows
from parc.metrics.naturalness import UNITS, by_activity, measure_naturalness, score_windows
from parc.metrics.people_from_clips import people_from_clips
from parc.metrics.people_statistics import FARTHEST, SHRINKAGE, People, people
from parc.metrics.pooled_gait import Pool

from .conftest import at_double_speed, backwards, bent, changed, crouched, with_stiff_arms

BODY = humanoid()
F = len(FEATURES)


def walk_r(clips: list[Clip]) -> float:
    return by_activity([score_windows(ClipBatch.stack(clips, BODY))])["walk"]["r"]


# ---- damages -------------------------------------------------------------------------------------------------------


def test_recorded_walks_of_people_look_like_people(walks: list[Clip]) -> None:
    table = by_activity([score_windows(ClipBatch.stack(walks, BODY))])
    assert table["walk"]["r"] < 1.45
    assert table["walk"]["n"] > 80


def test_a_walk_played_backwards_is_no_walk(walks: list[Clip]) -> None:
    """Speeds, angles and heights keep their ranges: what strikes and what lifts off has changed places."""
    table = by_activity([score_windows(ClipBatch.stack([backwards(c) for c in walks], BODY))])
    assert table["walk"]["r"] > 1.3 * walk_r(walks)
    assert table["walk"]["n"] < 20
    assert {"foot at strike", "foot at lift-off"} <= set(table["walk"]["off"])


def test_knees_bent_by_30_degrees_are_a_crouch(walks: list[Clip]) -> None:
    table = by_activity([score_windows(ClipBatch.stack([crouched(c, 30.0) for c in walks], BODY))])
    assert table["walk"]["r"] > 1.5 * walk_r(walks)
    assert table["walk"]["n"] < 20
    more = walk_r([crouched(c, 15.0) for c in walks])
    assert walk_r(walks) < more < table["walk"]["r"]


def test_stiff_arms_are_seen(walks: list[Clip]) -> None:
    table = by_activity([score_windows(ClipBatch.stack([with_stiff_arms(c) for c in walks], BODY))])
    assert table["walk"]["r"] > 1.15 * walk_r(walks)
    assert "arms with opposite legs" in table["walk"]["off"]


def test_double_speed_is_a_shuffle_where_it_is_still_walking_speed(walks: list[Clip]) -> None:
    """Twice as fast most walks run by their label; what is still labelled a walk is none."""
    assert walk_r([at_double_speed(c) for c in walks]) > 1.3 * walk_r(walks)


def test_a_walk_by_rule_is_not_taken_for_a_person(strolling) -> None:
    table = by_activity([score_windows(ClipBatch.stack([strolling()], BODY))])
    assert table["walk"]["r"] > 2
    assert table["walk"]["n"] == 0


def test_a_mirrored_person_is_as_human(walks: list[Clip]) -> None:
    for clip in walks[:2]:
        a, b = (gait_windows(signals_of(ClipBatch.stack([c], BODY))) for c in (clip, mirror(clip, BODY)))
        np.testing.assert_allclose(b.features, a.features, rtol=1e-3, atol=5e-3)
        first, second = measure_clips([clip, mirror(clip, BODY)], BODY)
        for name in UNITS:
            assert second[name] == pytest.approx(first[name], rel=1e-2, nan_ok=True), name


# ---- windows -------------------------------------------------------------------------------------------------------


def labels(clip: Clip) -> set[str]:
    return {LABELS[k] for k in gait_windows(signals_of(ClipBatch.stack([clip], BODY))).label.tolist()}


def test_windows_are_labelled_by_what_the_body_does(strolling) -> None:
    assert labels(strolling(0.6, 0.4)) == {"slow"}
    clip = strolling(1.2, 0.5)
    assert labels(clip) == {"walk"}
    assert labels(strolling(2.2, 0.6)) == {"run"}
    still = changed(
        clip,
        **{k: getattr(clip.motion, k)[:1].repeat_interleave(40, 0) for k in ("root_pos", "root_rot", "joint_rot", "contacts")},
    )
    assert labels(still) == {"stand"}
    up = changed(clip, root_pos=clip.motion.root_pos + torch.tensor([0.0, 0.0, 0.4]))
    assert labels(up) == {"air"}
    hands = clip.motion.contacts.clone()
    hands[:, BODY.index("left_hand")] = 1
    assert labels(changed(clip, contacts=hands)) == {"climb"}
    rise = 0.3 * (clip.motion.root_pos[:, 0] - 0.4)
    slope = clip.terrain.with_heights(clip.terrain.heights + 0.12 * torch.arange(30).unsqueeze(1))
    climbs = changed(clip, root_pos=clip.motion.root_pos + torch.stack([0 * rise, 0 * rise, rise], -1))
    assert "step" in labels(replace(climbs, terrain=slope))


def test_windows_of_a_walk_by_rule_hold_its_numbers(strolling) -> None:
    found = gait_windows(signals_of(ClipBatch.stack([strolling(1.2, 0.5)], BODY)))
    value = {name: float(found.features[:, k].median()) for k, name in enumerate(FEATURES)}
    assert value["speed"] == pytest.approx(1.2, rel=0.02)
    assert value["strikes"] == pytest.approx(1.2 / 0.5, abs=0.6)
    assert value["step width"] == pytest.approx(2 * 0.084887, abs=0.01)
    assert value["foot at strike"] == pytest.approx(0, abs=1)
    assert value["drag"] < 0.2
    assert value["gain of speed"] == pytest.approx(0, abs=0.05)


def test_windows_are_whole_seconds_inside_their_motion(walks: list[Clip]) -> None:
    batch = ClipBatch.stack(walks, BODY)
    found = gait_windows(signals_of(batch))
    assert bool((found.start + 30 <= batch.frames[found.clip]).all())
    expected = [len(range(0, len(c.motion) - 30 + 1, 5)) for c in walks]
    assert torch.bincount(found.clip).tolist() == expected
    short = changed(walks[0], **{k: getattr(walks[0].motion, k)[:29] for k in ("root_pos", "root_rot", "joint_rot", "contacts")})
    assert all(v.isnan().all() for v in measure_naturalness(ClipBatch.stack([short], BODY)).values())


def test_a_motion_scores_the_same_beside_a_longer_one(walks: list[Clip], strolling) -> None:
    clips = [*walks[:2], strolling()]
    together = score_windows(ClipBatch.stack(clips, BODY))
    for k, clip in enumerate(clips):
        alone = score_windows(ClipBatch.stack([clip], BODY))
        np.testing.assert_allclose(together.ratio[together.clip == k], alone.ratio, rtol=1e-3)


def test_a_clip_is_told_by_the_medians_of_its_windows(walks: list[Clip], strolling) -> None:
    clips = [strolling(), *walks]
    batch = ClipBatch.stack(clips, BODY)
    told, windows = measure_naturalness(batch), score_windows(batch)
    mixed = 0
    for k in range(len(clips)):
        mine = windows.clip == k
        walking = mine & (windows.label == WALK)
        mixed += int(mine.sum() > walking.sum())
        assert float(told["walk_r"][k]) == pytest.approx(float(np.median(windows.ratio[walking])), rel=1e-5)
        assert float(told["human_r"][k]) == pytest.approx(float(np.median(windows.ratio[mine])), rel=1e-5)
        assert float(told["human_n"][k]) == pytest.approx(100 * float(windows.inside[mine].float().mean()), rel=1e-5)
    assert mixed > 0


# ---- people --------------------------------------------------------------------------------------------------------


def made_up(subjects: int = 5, windows: int = 40, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, list[str]]:
    """Features of several people who walk, each a little different, correlated."""
    random = torch.Generator().manual_seed(seed)
    mix = torch.eye(F) + 0.3 * torch.randn(F, F, generator=random)
    own = 0.5 * torch.randn(subjects, 1, F, generator=random)
    x = (torch.randn(subjects, windows, F, generator=random) + own) @ mix * 3 + 7
    return x.flatten(0, 1), torch.full((subjects * windows,), WALK), [f"s{k}" for k in range(subjects) for _ in range(windows)]


def by_hand(x: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """Distance of windows x from the people of `groups`, every one weighing the same, in double precision."""
    weights = np.concatenate([np.full(len(g), 1 / len(g) / len(groups)) for g in groups])
    rows = np.concatenate(groups)
    mean = weights @ rows
    covariance = (rows - mean).T @ ((rows - mean) * weights[:, None])
    deviation = np.sqrt(np.diag(covariance))
    shrunk = (1 - SHRINKAGE) * covariance / np.outer(deviation, deviation) + SHRINKAGE * np.eye(len(mean))
    z = np.clip((x - mean) / deviation, -FARTHEST, FARTHEST)
    return np.sqrt(np.einsum("ij,jk,ik->i", z, np.linalg.inv(shrunk), z) / len(mean))


def test_r_is_the_distance_from_other_people_over_theirs_from_each_other() -> None:
    x, label, who = made_up()
    made = People.of(x, label, who, "c")
    groups = list(x.double().numpy().reshape(5, 40, F))
    own = [by_hand(groups[k], groups[:k] + groups[k + 1 :]) for k in range(5)]
    unit = np.median(np.concatenate(own))
    others = made.score(x, label, made.row_of(who)).ratio
    np.testing.assert_allclose(others, np.concatenate(own) / unit, rtol=0.02)
    assert float(others.median()) == pytest.approx(1, abs=0.02)
    stranger = x[:10] + 2
    np.testing.assert_allclose(
        made.score(stranger, label[:10]).ratio, by_hand(stranger.double().numpy(), groups) / unit, rtol=0.02
    )
    inside = made.score(x, label, made.row_of(who)).inside
    assert float(inside.float().mean()) == pytest.approx(0.95, abs=0.02)
    assert float(made.score(x, label).ratio.median()) < 1  # beside themselves people are nearer


def test_every_subject_counts_the_same_however_long_it_was_recorded() -> None:
    x, label, who = made_up()
    more = torch.cat([x, x[:40].repeat(9, 1)])
    a = People.of(x, label, who, "c")
    b = People.of(more, torch.full((len(more),), WALK), who + ["s0"] * 360, "c")
    np.testing.assert_allclose(b.score(x, label).ratio, a.score(x, label).ratio, rtol=5e-3)


def test_a_missing_value_counts_as_average_and_an_unknown_activity_as_nothing() -> None:
    x, label, who = made_up()
    made = People.of(x, label, who, "c")
    lacks = x[:3].clone()
    lacks[:, 4] = torch.nan
    scored = made.score(lacks, label[:3])
    assert bool(scored.ratio.isfinite().all()) and bool((scored.deviation[:, 4] == 0).all())
    assert bool(made.score(x[:3], torch.full((3,), RUN)).ratio.isnan().all())
    assert not bool(made.score(x[:3], torch.full((3,), RUN)).inside.any())


def test_people_are_the_same_from_their_file(tmp_path: Path) -> None:
    x, label, who = made_up()
    made = People.of(x, label, who, "c")
    made.save(tmp_path / "p.safetensors", {"clips": 5})
    again = People.load(tmp_path / "p.safetensors")
    assert again.subjects == made.subjects and again.character == "c"
    a, b = (p.score(x, label, p.row_of(who)) for p in (made, again))
    np.testing.assert_allclose(b.ratio, a.ratio, rtol=1e-5)
    from parc.models import shipped_generator

    with pytest.raises(FormatError, match="no statistics of people"):
        People.load(shipped_generator())


def test_the_people_in_the_box_are_small_and_hold_no_motion() -> None:
    box = people()
    assert box.character == BODY.fingerprint
    file = Path(measure_naturalness.__code__.co_filename).with_name("reference_gait.safetensors")
    assert file.stat().st_size < 300_000
    named = box.row_of(["cmu/16", "nobody/1"])
    assert int(named[0]) > 0 and int(named[1]) == 0


@pytest.mark.parametrize(
    ("source", "subject"),
    [
        ("cmu/16_11.bvh", "cmu/16"),
        ("cmu/08_01_2.bvh", "cmu/08"),
        ("holosoma_climb/mocap_climb_seq_1", "holosoma_climb"),
        ("simulation", NOBODY),
        ("stroll", NOBODY),
        ("", NOBODY),
    ],
)
def test_a_subject_is_named_by_its_source(walks: list[Clip], source: str, subject: str) -> None:
    assert subject_of(replace(walks[0], provenance=Provenance(source=source))) == subject


def counted_of(clip: Clip) -> int:
    """Windows of walking."""
    return int((gait_windows(signals_of(ClipBatch.stack([clip], BODY))).label == WALK).sum())


def test_people_come_out_of_clips_and_those_who_show_nothing_are_refused(walks: list[Clip]) -> None:
    named = [replace(c, provenance=Provenance(source=f"lab/{k % 3}_{k}.bvh", skill="walk")) for k, c in enumerate(walks)]
    made, counted = people_from_clips(named, BODY)
    assert made.subjects == ("lab/0", "lab/1", "lab/2")
    assert sum(counted["walk"].values()) > 60
    low = changed(named[0], root_pos=named[0].motion.root_pos * torch.tensor([1.0, 1.0, 0.0]) + torch.tensor([0.0, 0.0, 0.1]))
    lying = bent(low, "thigh", -85.0)
    _, without = people_from_clips([*named[1:], lying], BODY)
    assert sum(without["walk"].values()) == sum(counted["walk"].values()) - counted_of(named[0])
    one = score_windows(ClipBatch.stack(named, BODY), among=made)
    beside_all = score_windows(ClipBatch.stack(walks, BODY), among=made)
    assert float(one.ratio.nanmedian()) > float(beside_all.ratio.nanmedian())
    with pytest.raises(DatasetError, match="2 persons"):
        people_from_clips(walks, BODY)


def test_another_character_has_no_people(strolling) -> None:
    other = replace(BODY, bodies=tuple(replace(b, offset=tuple(1.1 * x for x in b.offset)) for b in BODY.bodies))
    batch = ClipBatch.stack([replace(strolling(), character="")], other)
    assert score_windows(batch) is None
    assert all(v.isnan().all() for v in measure_naturalness(batch).values())


def test_a_pool_of_clips_is_the_same_in_one_part_or_two(walks: list[Clip]) -> None:
    whole, parts = Pool(BODY).add(walks), Pool(BODY).add(walks[:3]).add(walks[3:])
    assert whole.gait() == parts.gait()
    for name, row in whole.human().items():
        other = parts.human()[name]
        assert (row["seconds"], row["n"]) == (other["seconds"], other["n"])
        assert row["r"] == pytest.approx(other["r"], rel=1e-4)
    assert Pool(BODY).gait() == Pool(BODY).human() == {}


def test_the_command_tells_gait_and_people(walks: list[Clip], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for clip in walks[:2]:
        save_clip(clip, tmp_path / f"{clip.name}.motion", BODY)
    assert main(["metrics", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    pool = Pool(BODY).add(walks[:2])
    assert told["gait"]["walking"]["cadence"] == pytest.approx(pool.gait()["walking"]["cadence"])
    assert told["human"]["walk"]["r"] == pytest.approx(pool.human()["walk"]["r"], rel=1e-4)
    assert told["mean"]["walk_r"] == pytest.approx(np.mean([row["walk_r"] for row in told["each"]]))
    assert main(["metrics", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "level strides" in printed and "beside people" in printed and "stance_knee" in printed
