"""Parts of the page as an artist meets it, without a browser."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.errors import PathError
from parc.studio.actions.key_steering import TURN, KeySteering
from parc.studio.actions.watched_crossing import corner_cells, crossing_route
from parc.studio.clip_library import Library
from parc.studio.document import Document, EditMark
from parc.studio.panels.timeline import contact_runs, timeline
from parc.studio.scene.contact_shade import ground_under, spot_radius
from parc.studio.scene.follow_camera import FollowCamera
from parc.studio.studio_session import Session
from parc.terrain import Terrain

BODY = humanoid()


def angle(way: tuple[float, float] | None) -> float:
    assert way is not None
    return math.atan2(way[1], way[0])


def test_straight_on_stays_straight_while_the_camera_swings() -> None:
    steering, rng = KeySteering(), np.random.default_rng(0)
    ways = [angle(steering.direction(1.0, 0.0, 0.1, 0.7 + rng.normal(0, 0.3) * (k > 0), True)) for k in range(50)]
    np.testing.assert_allclose(ways, 0.7)


def test_a_side_turns_the_way_evenly_and_back_turns_round_once() -> None:
    steering = KeySteering()
    ways = np.unwrap([angle(steering.direction(1.0, 1.0, 0.1, 0.0, True)) for _ in range(20)])
    np.testing.assert_allclose(np.diff(ways), 0.1 * TURN)
    before = ways[-1]
    backs = [angle(steering.direction(-1.0, 0.0, 0.1, 0.0, True)) for _ in range(5)]
    np.testing.assert_allclose(np.cos(np.array(backs) - before), -1.0)
    np.testing.assert_allclose(math.cos(angle(steering.direction(1.0, 0.0, 0.1, 0.0, True)) - before), -1.0)
    assert steering.direction(0.0, 0.0, 0.1, 0.0, True) is None
    assert angle(steering.direction(1.0, 0.0, 9.0, 1.1, True)) == pytest.approx(1.1), "begins anew as the camera looks"


def test_without_a_following_camera_keys_are_as_it_looks() -> None:
    for held, expected in (((1, 0), 0.4), ((0, 1), 0.4 + math.pi / 2), ((-1, 0), 0.4 + math.pi), ((0, -1), 0.4 - math.pi / 2)):
        assert math.remainder(angle(KeySteering().direction(*held, 0.1, 0.4, False)) - expected, math.tau) == pytest.approx(0)


def test_the_camera_comes_behind_and_stays_above_the_ground() -> None:
    heights = torch.zeros(20, 20)
    heights[:8] = 3.0
    terrain, camera, root = Terrain(heights, torch.zeros(2)), FollowCamera(), np.array([5.0, 4.0, 0.9])
    camera.move(root, 2.0, 0.0, 4.0, Terrain.flat((20, 20)))
    for _ in range(60):
        place = camera.move(root, 0.3, 0.1, 4.0, Terrain.flat((20, 20)))
    looks = place.target - place.eye
    assert math.atan2(looks[1], looks[0]) == pytest.approx(0.3, abs=1e-3)
    assert np.linalg.norm(looks[:2]) == pytest.approx(4.0)
    camera.forget()
    place = camera.move(root, 0.0, 0.1, 4.0, terrain)  # the wall is behind it
    line = place.target + np.linspace(0.15, 1, 7)[:, None] * (place.eye - place.target)
    assert (line[:, 2] > ground_under(terrain, line)).all()


def test_a_spot_shrinks_with_height_and_is_gone_at_its_limit() -> None:
    radius = spot_radius(np.array([-0.1, 0.0, 0.1, 0.2, 0.4, 2.0]), 0.4, 0.2)
    np.testing.assert_allclose(radius[:4], [0.2, 0.2, 0.15, 0.1])
    assert (radius[4:] < 1e-3).all()


def test_runs_of_contact() -> None:
    assert contact_runs(np.array([1, 1, 0, 0, 1, 0, 1], bool)) == [(0, 2), (4, 5), (6, 7)]
    assert contact_runs(np.zeros(4, bool)) == []


def test_no_name_becomes_markup_in_the_time_line(walk) -> None:
    document = Document(walk.terrain, clips=(walk,), active=0, edits=(EditMark("<script>x'\"</script>", 3, 9),))
    line = timeline(document, BODY, walk.motion.duration, (3, 9))
    assert "<script" not in line and "data-parc-edit" in line and "data-parc-range" in line
    assert timeline(Document(walk.terrain), BODY, 0.0, None).count("data-parc-contact") == 0


def test_edits_are_marked_until_frames_move(clip_files: list[Path]) -> None:
    session = Session(BODY, Library(BODY, clip_files))
    session.open("walk_up")
    session.edit.label_contacts(["left_foot"], 4, 9, True)
    for shift in (0.1, 0.2):
        session.edit.offset_root((0, 0, shift), start=10, stop=20, stroke="one")
    assert session.document.edits == (EditMark("contact left_foot", 4, 9), EditMark("offset root", 10, 20))
    session.edit.cut(5, 40)
    assert session.document.edits == ()
    session.undo()
    assert len(session.document.edits) == 2
    session.open("stroll_flat")
    assert session.document.edits == ()


def test_what_is_named_is_told_from_what_is_listed(clip_files: list[Path]) -> None:
    assert Library(BODY, clip_files).named == ("walk_up", "stroll_flat")
    listed = Library(BODY, [clip_files[0].parent])
    assert len(listed) == 2 and listed.named == ()
    session = Session(BODY, listed)
    session.begin_with(["stroll_flat", "walk_up"])
    assert session.document.active == 0 and session.can_undo is None and len(session.document.clips) == 2


def test_a_crossing_goes_from_corner_to_corner_where_nothing_is_clicked() -> None:
    heights = torch.zeros(12, 9)
    heights[9:, 6:] = 6.0  # the far corner cannot be reached
    terrain = Terrain(heights, torch.zeros(2))
    assert corner_cells(terrain) == [(1, 1), (1, 7), (10, 1), (10, 7)]
    route = crossing_route(Terrain.flat((12, 9)))
    np.testing.assert_allclose((route.nodes[-1] - route.nodes[0])[:2].abs(), [9 * 0.4, 6 * 0.4], atol=1e-5)
    ends = {tuple(np.round(node[:2].numpy() / 0.4).astype(int).tolist()) for node in crossing_route(terrain).nodes[[0, -1]]}
    assert (10, 7) not in ends
    last = crossing_route(terrain, goal=(5, 5)).nodes[-1, :2]
    np.testing.assert_allclose(last, terrain.centre_of(torch.tensor([5, 5])), atol=1e-5)
    with pytest.raises(PathError):
        crossing_route(terrain, (1, 1), (10, 7))


def test_messages_of_the_page_are_believed_only_if_they_are_plain() -> None:
    pytest.importorskip("viser", reason="viser is not installed")
    from parc.studio.scene.page_script import PageScript

    script = PageScript.__new__(PageScript)
    script._handlers, script._early, script._sent, heard = {}, {}, {}, []
    sent: list[object] = []
    script._queue = sent.append
    script.hear(json.dumps([1, "seek", 0.25]))
    script.on("seek", lambda *values: heard.append(values))
    for text in (
        "", "[", "7", "[]", '[1,"seek",[2]]', '[1,"seek",{"a":1}]', '[1,"seek",NaN]', '[1,"seek",true]', '[1,["seek"],2]',
        "[" * 500, '[1,"other",2]', json.dumps([1, "seek", "x" * 900]),
    ):  # fmt: skip
        script.hear(text)
    assert heard == [(0.25,)], "the one that came early, and none of the others"
    for value in ("alert(1)", float("nan"), [1.0]):
        with pytest.raises(TypeError):
            script.set(time=value)  # type: ignore[arg-type]
    assert not sent
    script.set(time=1.0, drives=True)
    script.set(time=1.0)
    assert len(sent) == 1
