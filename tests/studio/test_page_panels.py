"""Panels of the real page that hold something of their own: sliders, the camera, the progress of a job, files of ground."""

import math
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from parc.character import humanoid
from parc.dataset import load_clip


def wait_for(what, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)


def corners(person, lane) -> list[tuple[float, float]]:
    """On the screen, of a ground."""
    low, high = (corner.double().numpy() for corner in lane.terrain.extent)
    return [person.place(np.array([x, y, 0.0]) + lane.shift) for x in (low[0], high[0]) for y in (low[1], high[1])]


def test_all_grounds_are_shown(person) -> None:
    person.open("walk_up")
    person.open("stroll_flat")
    box = person.tab.locator("canvas").first.bounding_box()

    def in_view() -> bool:
        places = np.array([place for lane in person.page.cast.lanes for place in corners(person, lane)])
        return bool((places >= 0).all() and (places <= (box["width"], box["height"])).all())

    assert len(person.page.cast.lanes) == 2
    assert not in_view()
    person.press("Show all")
    wait_for(in_view)


def test_the_figure_stands_where_the_slider_says(person) -> None:
    from parc.studio.document import Document

    person.open("walk_up")
    person.page.playback.seek(1.0)
    empty = Document(person.document.terrain)
    person.session.change("nobody", lambda document: empty)
    wait_for(lambda: not person.page.cast.roles)
    person.open("walk_up")
    wait_for(lambda: person.field("Frame").input_value() == "0")
    head = person.page.cast.active.actor.pos[0, humanoid().index("head")]
    hit = person.page.stage.body_under(head + [0.0, 0.0, 3.0], np.array([0.0, 0.0, -1.0]))
    assert hit is not None and hit[1] == "head"


def test_sliders_follow_the_history(person) -> None:
    person.open("walk_up")
    before = person.document.clip.motion
    person.go_to("Edit")
    person.unfold("Move the body", "z, m")
    person.unfold("Bend a joint", "Angle 1, deg")
    person.fill("z, m", 0.3)
    wait_for(lambda: person.document.clip.motion is not before)
    person.fill("Angle 1, deg", 20)
    wait_for(lambda: person.session.can_undo == "bend torso")
    person.fill("z, m", 0.1)
    wait_for(lambda: person.session.can_undo == "offset root")
    rise = person.document.clip.motion.root_pos - before.root_pos
    assert float(rise[30, 2]) == pytest.approx(0.4, abs=1e-5), "0.3, and 0.1 more"
    for _ in range(3):
        person.session.undo()
    wait_for(lambda: [person.field(label).input_value() for label in ("z, m", "Angle 1, deg")] == ["0", "0"])
    assert person.document.clip.motion is before
    person.fill("x, m", 0.2)
    wait_for(lambda: person.document.clip.motion is not before)
    assert float(person.document.clip.motion.root_pos[30, 2]) == float(before.root_pos[30, 2])


def test_what_waits_for_its_turn_is_not_lost(person) -> None:
    """The page is busy while root, joint, root, another body and the frame are set one after the other."""
    person.open("walk_up")
    before = person.document.clip.motion
    person.go_to("Edit")
    person.unfold("Move the body", "z, m")
    person.unfold("Bend a joint", "Angle 1, deg")
    edit, busy = person.page.edit, threading.Event()
    person.page.later(busy.wait)
    try:
        for slider, label, value in (
            (edit._root[2], "z, m", 0.3),
            (edit._angles[0], "Angle 1, deg", 20),
            (edit._root[2], "z, m", 0.1),
        ):
            person.fill(label, value)
            wait_for(lambda control=slider.control, value=value: control.value == value)
        person.choose("Body", "head")
        wait_for(lambda: edit._body.control.value == "head")
        person.fill("Frame", 12)
        assert person.document.clip.motion is before
    finally:
        busy.set()
    person.settle()
    assert person.page.frame() == 12
    made = person.document.clip
    rise = made.motion.root_pos - before.root_pos
    assert float(rise[30, 2]) == pytest.approx(0.4, abs=1e-5)
    torso = humanoid().index("torso") - 1
    turned = 2 * torch.arccos((made.motion.joint_rot[30, torso] * before.joint_rot[30, torso]).sum().abs().clamp(max=1))
    assert math.degrees(float(turned)) == pytest.approx(20.0, abs=0.1)
    others = [k for k in range(before.joint_rot.shape[1]) if k != torso]
    assert torch.equal(made.motion.joint_rot[:, others], before.joint_rot[:, others])
    assert edit._body.value == "head" and not any(slider.control.value for slider in (*edit._root, *edit._angles))


def test_a_job_is_in_sight_wherever_the_panel_is_scrolled_to(person) -> None:
    person.open("walk_up")
    person.go_to("Make")
    person.fill("Iterations", 5000)
    wait_for(lambda: person.page.correct.settings().iterations == 5000)
    person.press("Correct")
    stop = person.tab.get_by_role("button", name="Stop")
    stop.wait_for()
    box, window = stop.bounding_box(), person.tab.viewport_size
    assert box["y"] >= 0 and box["y"] + box["height"] <= window["height"]
    stop.click()
    wait_for(lambda: not person.session.make.is_busy, 40)


def test_ground_of_files_that_are_too_large_or_none(person, tmp_path: Path) -> None:
    person.go_to("Terrain")
    person.choose("Kind", "stairs")
    wait_for(lambda: not person.tab.get_by_role("button", name="Next seed").count())
    person.choose("Kind", "random boxes")
    person.tab.get_by_role("button", name="Next seed").wait_for()
    person.tab.get_by_text("Files", exact=True).first.click()
    before = person.document.terrain
    Image.new("L", (400, 300), 128).save(tmp_path / "huge.png")
    (tmp_path / "none.obj").write_text("nothing of the kind")
    Image.new("L", (12, 9), 255).save(tmp_path / "small.png")
    for file, message in (("huge.png", "120000 cells, the studio shows 62500 at most"), ("none.obj", "none.obj")):
        with person.tab.expect_file_chooser() as chooser:
            person.press("Load .terrain, image or mesh")
        chooser.value.set_files(tmp_path / file)
        person.tab.get_by_text(message).first.wait_for()
        assert person.document.terrain is before
    with person.tab.expect_file_chooser() as chooser:
        person.press("Load .terrain, image or mesh")
    chooser.value.set_files(tmp_path / "small.png")
    wait_for(lambda: sorted(person.document.terrain.size) == [9, 12])


def test_a_box_by_its_corners(person) -> None:
    person.go_to("Terrain")
    person.fill("Height, m", 0.6)
    person.unfold("Change the whole", "Cells")
    person.press("Box on these cells")
    wait_for(lambda: float(person.document.terrain.heights.max()) == pytest.approx(0.6))
    assert (person.document.terrain.heights > 0.3).nonzero().amax(0).tolist() == [7, 7]
    assert int((person.document.terrain.heights > 0.3).sum()) == 64


def test_a_model_for_other_programs(person, tmp_path: Path) -> None:
    person.open("walk_up")
    person.go_to("Save")
    for kind in (".glb", ".motion"):
        person.choose("As", kind)
        with person.tab.expect_download() as download:
            person.press("Download")
        download.value.save_as(tmp_path / f"clip{kind}")
    assert (tmp_path / "clip.glb").read_bytes()[:4] == b"glTF"
    assert len(load_clip(tmp_path / "clip.motion", humanoid()).motion) == len(person.document.clip.motion)
