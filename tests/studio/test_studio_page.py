"""The real page in a real browser: what a person does, and what the session then holds."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.correct.correct_motions import OptimiseSettings
from parc.dataset import Dataset, load_clip

PICTURES = os.environ.get("PARC_PICTURES")
"""folder to put screenshots into, to look at"""


def wait_for(what, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)


def snap(person, name: str) -> None:
    if PICTURES:
        person.tab.screenshot(path=Path(PICTURES) / f"{name}.png")


def test_without_the_token_there_is_no_page(browser, studio) -> None:
    context = browser.new_context()
    tab = context.new_page()
    answer = tab.goto(studio.url.split("?")[0])
    assert answer.status == 403
    assert "holds the token" in tab.content()
    context.close()


def test_open_play_and_scrub(person) -> None:
    person.open("walk_up")
    person.tab.get_by_text("66 frames").wait_for()
    person.press("Play")
    wait_for(lambda: person.page.playback.clock.time > 0.2)
    person.press("Pause")
    wait_for(lambda: not person.page.playback.clock.is_playing)
    person.settle()
    person.fill("Frame", 12)
    wait_for(lambda: person.page.frame() == 12)
    person.press("+1")
    wait_for(lambda: person.page.frame() == 13)
    snap(person, "play")


def test_raise_a_cell_by_clicking_and_undo(person) -> None:
    person.use_tool("raise ground")
    before = person.document.terrain
    person.click_cell((7, 6), lambda: person.document.terrain is not before)
    changed = (person.document.terrain.heights != before.heights).nonzero().tolist()
    assert changed == [[7, 6]]
    assert float(person.document.terrain.heights[7, 6]) == pytest.approx(0.2)
    snap(person, "raised")
    person.press("Undo: raise 7, 6")
    wait_for(lambda: person.document.terrain is before)
    person.press("Redo: raise 7, 6")
    wait_for(lambda: person.document.terrain is not before)
    person.tab.keyboard.press("Control+z")
    wait_for(lambda: person.document.terrain is before)
    person.tab.keyboard.press("Control+Shift+Z")
    wait_for(lambda: person.document.terrain is not before)
    person.tab.keyboard.press("k")
    wait_for(lambda: person.page.playback.clock.is_playing)


def test_drag_paints_one_stroke(person) -> None:
    person.use_tool("raise ground")
    before, camera = person.document.terrain, np.array(person.page.client.camera.position)
    person.drag([(5, 5), (5, 11)])
    wait_for(lambda: int((person.document.terrain.heights != before.heights).sum()) >= 4)
    person.settle()
    np.testing.assert_allclose(person.page.client.camera.position, camera, atol=1e-6)
    assert person.session.undo() is not None
    assert person.document.terrain is before


def test_plan_a_path_between_two_clicks(person) -> None:
    person.use_tool("path start")
    person.click_cell((3, 3), lambda: person.page.pointer.start == (3, 3))
    person.use_tool("path goal")
    person.click_cell((12, 11), lambda: person.document.path is not None)
    terrain, nodes = person.document.terrain, person.document.path.nodes
    torch.testing.assert_close(nodes[0, :2], terrain.centre_of(torch.tensor([3, 3])))
    torch.testing.assert_close(nodes[-1, :2], terrain.centre_of(torch.tensor([12, 11])))
    person.go_to("Path")
    snap(person, "path")


def test_waypoints_and_a_drawn_path(person) -> None:
    person.use_tool("add path point")
    person.click_cell((4, 4), lambda: person.document.path is not None)
    person.click_cell((9, 4), lambda: len(person.document.path) == 2)
    assert person.document.path.length == pytest.approx(5 * 0.4, abs=0.1)
    person.drag([(4, 8), (11, 8)])
    wait_for(lambda: len(person.document.path) > 5)
    person.settle()
    nodes = person.document.path.nodes
    assert float((nodes[:, 1] - 8 * 0.4).abs().max()) < 0.25
    assert person.document.path.length > 2.0


def test_contact_by_clicking_a_body(person) -> None:
    person.open("stroll_flat")
    person.use_tool("mark contact")
    head = humanoid().index("head")
    before = person.document.clip.motion.contacts
    person.click_until(
        lambda: person.place(person.page.cast.active.actor.pos[0, head] + [0, 0, 0.1]),
        lambda: person.document.clip.motion.contacts is not before,
    )
    changed = (person.document.clip.motion.contacts != before).any(0).nonzero().flatten().tolist()
    assert changed == [head]


def test_edit_cut_and_mirror(person) -> None:
    person.open("walk_up")
    frames = len(person.document.clip.motion)
    person.page.playback.seek(10 / 30)
    person.go_to("Edit")
    person.press("first")
    person.press("Cut to these frames")
    wait_for(lambda: len(person.document.clip.motion) == frames - 10)
    before = person.document.clip
    person.press("Mirror")
    wait_for(lambda: person.document.clip is not before)
    torch.testing.assert_close(person.document.clip.motion.root_pos[:, 1], -before.motion.root_pos[:, 1])
    snap(person, "edit")


def test_stitch_the_other_clip_to_this_one(person) -> None:
    person.open("stroll_flat")
    person.open("walk_up")
    first, second = person.document.clip, person.document.clips[0]
    person.go_to("Edit")
    wait_for(lambda: person.field("Followed by").input_value() == "1. stroll_flat")
    person.fill("Blend, frames", 8)
    person.press("Stitch")
    wait_for(lambda: person.document.clip is not first)
    made = person.document.clip
    frames = len(first.motion)
    assert made.name == "walk_up" and made.provenance.edits[-1] == "stitch stroll_flat"
    assert len(made.motion) == frames + len(second.motion) - 1 and len(person.document.clips) == 2
    torch.testing.assert_close(made.motion.root_pos[:frames], first.motion.root_pos)
    gone = second.motion.root_pos[-1] - second.motion.root_pos[8]
    torch.testing.assert_close(
        (made.motion.root_pos[-1] - made.motion.root_pos[frames + 7]).norm(), gone.norm(), atol=0.02, rtol=0
    )
    assert made.motion.root_pos[:, 0].max() > first.motion.root_pos[:, 0].max() + 1.0
    assert bool(made.terrain.contains(made.motion.root_pos[:, :2]).all())
    assert person.document.path is made.path and made.path.length > 4.0
    person.tab.get_by_text(f"{len(made.motion)} frames").wait_for()
    person.fill("Frame", len(made.motion) - 1)
    wait_for(lambda: person.page.frame() == len(made.motion) - 1)
    snap(person, "stitched")
    person.press("Undo: stitch stroll_flat")
    wait_for(lambda: person.document.clip is first)


def test_correct_with_progress_and_stop(person) -> None:
    person.open("walk_up")
    person.session.edit.offset_root((0.0, 0.0, -0.06))
    person.go_to("Make")
    person.fill("Iterations", 5000)
    wait_for(lambda: person.page.correct.settings().iterations == 5000)
    person.press("Correct")
    wait_for(lambda: person.session.make.preview is not None, 40)
    person.tab.get_by_role("button", name="Stop").wait_for()
    snap(person, "correct")
    person.press("Stop")
    wait_for(lambda: person.document.clip.name == "walk_up_corrected", 40)
    losses = person.document.clip.provenance.losses
    assert losses["penetration"] < losses["penetration_before"]


def test_generate_and_keep_a_candidate(person) -> None:
    person.session.route.plan((2, 2), (12, 12))
    person.go_to("Make")
    person.fill("Candidates", 3)
    person.fill("Time limit, s", 1)
    wait_for(lambda: person.page.generate.settings().batch == 3 and person.page.generate.settings().seconds == 1)
    person.press("Generate")
    wait_for(lambda: len(person.document.candidates) == 3, 40)
    second = person.document.candidates[1]
    wait_for(lambda: len(person.page.generate._pick.options) == 3)
    person.choose("Look at", f"2. {second.name}")
    wait_for(lambda: person.page.generate.picked == 1)
    person.press("Keep it")
    wait_for(lambda: person.document.clip is not None)
    assert person.document.clip.motion is second.motion
    assert person.document.candidates == ()


def test_export_and_save(person, tmp_path: Path) -> None:
    person.open("walk_up")
    person.go_to("Save")
    person.choose("As", ".bvh")
    with person.tab.expect_download() as download:
        person.press("Download")
    file = tmp_path / "clip.bvh"
    download.value.save_as(file)
    assert download.value.suggested_filename == "walk_up.bvh"
    loaded = load_clip(file, humanoid())
    torch.testing.assert_close(loaded.motion.root_pos, person.document.clip.motion.root_pos, atol=1e-4, rtol=0)
    person.press("Append")
    folder = Path(person.session.save_places.offered)
    wait_for(lambda: (folder / "index.json").exists() and len(Dataset.open(folder)) == 1)
    assert Dataset.open(folder, humanoid()).names == ["walk_up"]


def test_bad_input_is_a_message_and_the_server_lives(person, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pkl"
    broken.write_bytes(b"nothing of the kind")
    person.go_to("Clips")
    with person.tab.expect_file_chooser() as chooser:
        person.tab.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(broken)
    person.tab.get_by_text("broken.pkl").first.wait_for()
    snap(person, "message")
    person.go_to("Terrain")
    person.fill("Cells along x", "")
    person.fill("Cells along y", 250)
    person.press("Make")
    person.go_to("Path")
    person.press("Plan from start to goal")
    person.tab.get_by_text("click the two cells first").first.wait_for()
    person.open("walk_up")


def test_two_people_do_not_meet_and_a_reload_comes_back(person, browser, studio) -> None:
    person.open("walk_up")
    context = browser.new_context(viewport={"width": 620, "height": 420})
    other = type(person)(context.new_page(), studio)
    assert other.session is not person.session
    other.session.ground.flat((5, 5))
    assert person.document.clip is not None and person.document.terrain.size == (10, 8)
    second_tab = type(person)(context.new_page(), studio)
    assert second_tab.session is not other.session
    second_tab.tab.close()
    mine = other.session
    mine.open("walk_up")
    job = mine.make.correct(OptimiseSettings(iterations=100_000))
    wait_for(lambda: second_tab.page not in studio.pages.values())
    before = set(studio.pages)
    other.tab.reload(timeout=60_000)
    wait_for(lambda: set(studio.pages) - before)
    assert studio.pages[max(studio.pages)].session is mine
    assert job.is_running
    other.press("Stop")
    wait_for(lambda: mine.document.active_clip().name == "walk_up_corrected")
    context.close()
