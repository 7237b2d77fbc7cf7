"""The page with the models in the box: physics beside a clip, and a character that is driven."""

import math
import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.errors import ParcError
from parc.models import shipped_generator, shipped_tracker
from parc.studio.scene.live3d import heading_of
from parc.terrain import Terrain

PICTURES = os.environ.get("PARC_PICTURES")
"""folder to put screenshots into, to look at"""


def wait_for(what, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)


def snap(someone, name: str) -> None:
    if PICTURES:
        someone.tab.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.fixture(scope="module")
def stage(clip_files):
    """A studio with trained models."""
    pytest.importorskip("viser", reason="viser is not installed")
    from parc.studio.clip_library import Library
    from parc.studio.studio_app import Studio, StudioSettings

    try:
        models = shipped_generator(), shipped_tracker()
    except ParcError as error:
        pytest.skip(str(error))
    character = humanoid()
    server = Studio(character, Library(character, clip_files), None, models[0], StudioSettings(port=0), models[1])
    yield server
    server.close()


@pytest.fixture(scope="module")
def driver(browser, stage, make_person):
    context = browser.new_context(viewport={"width": 960, "height": 620}, accept_downloads=True)
    yield make_person(context.new_page(), stage)
    context.close()


@pytest.fixture
def someone(driver):
    """In front of flat ground, with nobody driven."""
    from parc.studio.document import Document

    driver.session.drive.stop()
    driver.session.make.stop()
    wait_for(lambda: not driver.session.make.is_busy)
    driver.session.make.job = None
    if driver.page.live is not None:
        driver.page.live._follow.value = True
    driver.page.playback.pause()
    driver.page.playback.seek(0.0)
    driver.session.change("a new start", lambda document: Document(Terrain.flat((16, 16))))
    driver.page.later(lambda: driver.page.stage.look_at(driver.page.cast))
    driver.settle()
    yield driver
    driver.session.drive.stop()
    assert not driver.errors, driver.errors


def stand(someone):
    someone.go_to("Live")
    someone.unfold("Planning", "Plans tried")
    someone.fill("Plans tried", 1)
    wait_for(lambda: someone.page.live.settings().planner.candidates == 1)
    someone.press("Start driving")
    drive = someone.session.drive
    wait_for(lambda: drive.view is not None)
    return drive


def test_track_a_clip_beside_itself(someone) -> None:
    someone.open("walk_up")
    someone.go_to("Physics")
    someone.press("Simulate the clip")
    wait_for(lambda: someone.document.active_clip().name == "walk_up_sim")
    assert len(someone.page.cast.roles) == 2 or len(someone.document.clips) == 2
    someone.tab.get_by_text("This clip was simulated").wait_for()
    someone.page.playback.seek(0.5)
    someone.settle()
    snap(someone, "physics")


def stand_before_a_still_camera(someone):
    """The ground is in view whatever the character does, so its cells can be clicked."""
    drive = stand(someone)
    someone.page.live._follow.value = False
    someone.page.later(lambda: someone.page.stage.look_at(someone.page.cast))
    someone.settle()
    return drive


def test_drive_to_a_clicked_goal(someone) -> None:
    drive = stand_before_a_still_camera(someone)
    someone.use_tool("send character")
    someone.click_cell((12, 8), lambda: drive.view is not None and drive.view.wish == "goal")
    someone.tab.get_by_text("goes to its goal").wait_for()
    snap(someone, "live_goal")
    wait_for(lambda: drive.view.arrivals >= 1)
    someone.press("Keep this run as a clip")
    wait_for(lambda: someone.document.clip is not None)
    assert someone.document.active_clip().name.startswith("live_run")
    goal = np.array([12 * 0.4, 8 * 0.4])
    nearest = np.linalg.norm(someone.document.active_clip().motion.root_pos[:, :2].numpy() - goal, axis=-1).min()
    assert nearest < 0.9
    someone.press("Stop driving")
    wait_for(lambda: not drive.is_running)


def test_drive_along_a_drawn_line(someone) -> None:
    """Round a corner: who goes straight to the end of the line misses the corner by 1.13 m."""
    drive = stand_before_a_still_camera(someone)
    someone.use_tool("send character")
    someone.settle()
    cells = [(8, 8), (12, 8), (12, 12)]
    line = 0.4 * np.array(cells)
    track: list[np.ndarray] = []
    unlisten = someone.session.listen(
        lambda change: track.append(drive.view.pos[0, :2]) if change == "live" and drive.view is not None else None
    )
    for _ in range(4):
        someone.drag(cells)
        end = time.monotonic() + 6.0
        while drive.view.wish != "line" and time.monotonic() < end:
            time.sleep(0.02)
        if drive.view.wish == "line":
            break
    np.testing.assert_allclose(drive.view.goal, line[-1], atol=0.15)
    someone.tab.get_by_text("follows the line").wait_for()
    snap(someone, "live_line")
    wait_for(lambda: drive.view.wish == "stay")
    unlisten()
    went = np.array(track)
    misses = np.linalg.norm(went[:, None] - line, axis=-1).min(0)
    assert (misses < 0.85).all(), misses
    assert off_line(went, line).max() < 0.9


def off_line(points: np.ndarray, line: np.ndarray) -> np.ndarray:
    """m of points [N, 2] from a line through [K, 2]."""
    starts, ways = line[:-1], np.diff(line, axis=0)
    share = np.clip(((points[:, None] - starts) * ways).sum(-1) / (ways**2).sum(-1), 0, 1)
    return np.linalg.norm(starts + share[..., None] * ways - points[:, None], axis=-1).min(-1)


def test_pushes_keys_and_edits_while_it_runs(someone) -> None:
    drive = stand_before_a_still_camera(someone)
    someone.press("back")
    wait_for(lambda: drive.view.seconds > 0.1)
    someone.use_tool("raise ground")
    before = someone.document.terrain
    someone.click_cell((13, 12), lambda: someone.document.terrain is not before)
    someone.use_tool("look around")
    someone.tab.mouse.click(200, 60)
    someone.tab.keyboard.down("ArrowUp")
    wait_for(lambda: drive.view.wish == "direction")
    someone.tab.keyboard.up("ArrowUp")
    wait_for(lambda: drive.view.wish == "stay")
    assert drive.is_running
    snap(someone, "live_edit")


def test_keys_drive_and_the_camera_stays_behind(someone) -> None:
    """Ten seconds of keys: straight on, round to the left, back. The camera looks where the body faces, but for its lag.

    How large the lag is depends on how many pictures a second the machine draws; at rest there is none.
    """
    drive, camera = stand(someone), someone.page.client.camera
    heading = lambda: heading_of(drive.view.rot[0])  # noqa: E731
    off, behind, turned = [], [], [heading()]
    unlisten = someone.session.listen(lambda change: turned.append(heading()) if change == "live" and drive.view else None)
    someone.tab.mouse.move(200, 200)
    for keys, seconds in ((["w"], 3.0), (["ArrowUp", "a"], 4.0), (["s"], 3.0)):
        for key in keys:
            someone.tab.keyboard.down(key)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            someone.tab.wait_for_timeout(100)
            looks = np.asarray(camera.look_at) - np.asarray(camera.position)
            off.append(math.remainder(math.atan2(looks[1], looks[0]) - heading(), math.tau))
            away = drive.view.pos[0, :2] - np.asarray(camera.position)[:2]
            behind.append(float(away @ [math.cos(heading()), math.sin(heading())]))
            assert drive.view.wish in ("direction", "stay")
        for key in keys:
            someone.tab.keyboard.up(key)
    wait_for(lambda: drive.view.wish == "stay")
    unlisten()
    snap(someone, "live_keys")
    assert np.degrees(np.median(np.abs(off))) < 35 and np.mean(np.abs(off) < math.radians(90)) > 0.8, np.degrees(off).round()
    seen = lambda: np.asarray(camera.look_at) - np.asarray(camera.position)  # noqa: E731
    wait_for(lambda: abs(math.remainder(math.atan2(seen()[1], seen()[0]) - heading(), math.tau)) < math.radians(10))
    assert np.mean(np.array(behind) > 1.5) > 0.8, np.round(behind, 1)
    assert np.ptp(np.unwrap(turned)) > math.radians(40), "it turned"


def test_a_gamepad_drives_and_a_camera_that_is_left_alone_stays(someone) -> None:
    """No pad is at hand: the browser is told of one whose left stick points straight ahead."""
    drive, live = stand(someone), someone.page.live
    live._follow.value = False
    someone.settle()
    before = np.array(someone.page.client.camera.position)
    pad = "{connected: true, axes: [0, -1], buttons: []}"
    someone.tab.evaluate(f"() => {{ navigator.getGamepads = () => [null, {pad}] }}")
    wait_for(lambda: drive.view.wish == "direction")
    someone.tab.keyboard.press("w")
    someone.tab.evaluate("() => { navigator.getGamepads = () => [] }")
    wait_for(lambda: drive.view.wish == "stay")
    someone.settle()
    np.testing.assert_allclose(someone.page.client.camera.position, before, atol=1e-6)
    live._follow.value = True
    someone.press("Stop driving")
    wait_for(lambda: not drive.is_running)
    someone.settle()
    someone.tab.keyboard.press("w", delay=300)
    wait_for(lambda: np.abs(someone.page.client.camera.position - before).max() > 0.02)


def test_cross_this_terrain(someone) -> None:
    heights = someone.document.terrain.heights[:8, :6].clone()
    heights[5:] = 0.2
    ground = Terrain(heights, someone.document.terrain.min_point)
    someone.session.ground.put(ground)
    someone.page.later(lambda: someone.page.stage.look_at(someone.page.cast))
    someone.settle()
    someone.go_to("Cross")
    wait_for(lambda: someone.page.top.tool == "path goal")
    someone.click_cell((6, 4), lambda: someone.page.pointer.goal == (6, 4))
    someone.press("Cross this terrain")
    wait_for(lambda: someone.session.make.job is not None and someone.session.make.job.share > 0.2, 120)
    snap(someone, "cross")
    wait_for(lambda: not someone.session.make.is_busy, 120)
    assert someone.session.make.job.text.startswith("The character reached the goal"), someone.session.make.job.text
    clip = someone.document.active_clip()
    goal = ground.centre_of(torch.tensor([6, 4]))
    assert clip.name == "crossing" and float((clip.motion.root_pos[-1, :2] - goal).norm()) < 0.7
    wait_for(lambda: someone.page.playback.clock.is_playing and someone.page.cast.active is not None)
    someone.page.playback.pause()


def test_impossible_goals_are_messages(someone) -> None:
    drive = stand(someone)
    heights = someone.document.terrain.heights.clone()
    heights[11:13] = 4.0
    someone.session.change("wall", lambda d: d.with_ground_edited(d.terrain.with_heights(heights)))
    someone.session.drive.go_to(6.0, 3.2)
    someone.tab.get_by_text("That did not work").first.wait_for()
    assert drive.is_running


def test_closing_the_tab_ends_the_driving_and_nothing_else(someone, browser, stage, make_person) -> None:
    mine = stand(someone)
    context = browser.new_context(viewport={"width": 620, "height": 420})
    other = make_person(context.new_page(), stage)
    other.session.ground.flat((16, 16))
    theirs = other.session.drive
    theirs.start((1.6, 3.2))
    wait_for(lambda: theirs.view is not None)
    other.tab.close()
    wait_for(lambda: not theirs.is_running)
    assert mine.is_running
    context.close()


def test_replay_page_and_film(someone, tmp_path: Path) -> None:
    someone.open("stroll_flat")
    someone.session.edit.cut(0, 20)
    someone.settle()
    someone.go_to("Save")
    with someone.tab.expect_download() as download:
        someone.press("Replay page (.html)")
    file = tmp_path / "replay.html"
    download.value.save_as(file)
    assert "stroll_flat" in file.read_text()
    pytest.importorskip("av", reason="PyAV is not installed")
    with someone.tab.expect_download(timeout=60_000) as download:
        someone.press("Film")
    assert download.value.suggested_filename.endswith(".mp4")


def test_the_time_is_marked_in_the_plots(someone) -> None:
    someone.open("walk_up")
    someone.go_to("Measure")
    wait_for(lambda: someone.page.analyst.latest is not None)
    someone.settle()
    plot = someone.page.measure._plots[0]
    someone.page.playback.seek(1.0)
    x, _, spike = plot.data
    assert x[np.argmax(spike)] == pytest.approx(1.0)
    someone.settle()
    snap(someone, "cursor")
