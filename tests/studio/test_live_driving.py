"""Driving, simulation and films without a page."""

import time

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.errors import FormatError, MotionError, ParcError, SettingsError
from parc.models import shipped_generator, shipped_tracker
from parc.plan.online_pilot import PilotSettings
from parc.plan.online_planner import PlannerSettings
from parc.studio.actions.film_files import film
from parc.studio.actions.live_driving import Driving
from parc.studio.actions.long_job import Stopped
from parc.studio.actions.terrain_brush import Brush
from parc.studio.clip_library import Library
from parc.studio.model_files import GeneratorFile, TrackerFile
from parc.studio.studio_session import Session
from parc.terrain import Terrain

BODY = humanoid()
QUICK = PilotSettings(planner=PlannerSettings(candidates=1, beam=1))


def wait_for(what, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def models() -> tuple[GeneratorFile, TrackerFile]:
    try:
        return GeneratorFile(shipped_generator(), BODY), TrackerFile(shipped_tracker(), BODY)
    except ParcError as error:
        pytest.skip(str(error))


@pytest.fixture
def session(clip_files, models) -> Session:
    return Session(BODY, Library(BODY, clip_files), Terrain.flat((16, 16)), models[0], tracker=models[1])


@pytest.fixture
def drive(session: Session):
    session.drive.start((1.6, 3.2), 0.0, QUICK)
    wait_for(lambda: session.drive.view is not None)
    yield session.drive
    session.drive.stop()
    assert not session.drive.is_running and session.drive.view is None


def test_it_goes_where_it_is_sent(session: Session, drive: Driving) -> None:
    first = drive.view
    assert first is not None and first.wish == "stay" and first.pos.shape == (BODY.num_bodies, 3)
    drive.go_to(3.4, 3.2)
    wait_for(lambda: drive.view is not None and drive.view.wish == "goal")
    np.testing.assert_allclose(drive.view.goal, [3.4, 3.2], atol=1e-6)
    wait_for(lambda: drive.view is not None and drive.view.arrivals == 1)
    assert drive.view.pos[0, 0] - first.pos[0, 0] > 0.8 and drive.view.wish == "stay"
    assert drive.answer_seconds and drive.view.plan_p95 >= drive.view.plan_p50 > 0
    clip = drive.keep()
    assert session.document.clip is clip and clip.terrain is session.document.terrain and len(clip.motion) > 20
    with pytest.raises(SettingsError, match="already"):
        drive.start()


def test_wishes_pushes_and_edits_while_it_runs(session: Session, drive: Driving) -> None:
    drive.go_to(90.0, 0.0)
    found: list[str] = []
    wait_for(lambda: found.extend(drive.messages()) or found)
    assert "off the terrain" in found[0] and drive.is_running
    drive.go_along([(1.6, 3.2), (3.0, 3.2)])
    wait_for(lambda: drive.view.wish == "line")
    session.ground.paint((14, 14), Brush("raise", 0.4))
    drive.push(0.0, 0.3)
    drive.hold_key(1.0, 0.0)
    wait_for(lambda: drive.view.wish == "direction")
    wait_for(lambda: drive.view.wish == "stay")
    assert drive.is_running and not drive.messages()


def test_ground_of_another_cell_size_ends_it_with_a_message(session: Session, drive: Driving) -> None:
    session.ground.put(Terrain.flat((20, 20), cell=0.2))
    wait_for(lambda: not drive.is_running)
    assert "cells of" in drive.messages()[0]
    session.undo()


def test_nobody_on_the_stage(session: Session, clip_files) -> None:
    with pytest.raises(SettingsError, match="no character is being driven"):
        session.drive.go_to(1.0, 1.0)
    with pytest.raises(MotionError, match="nothing was driven"):
        session.drive.keep()
    session.drive.start((90.0, 0.0))
    wait_for(lambda: not session.drive.is_running)
    assert "off the terrain" in session.drive.messages()[0]
    poor = Session(BODY, Library(BODY, clip_files))
    with pytest.raises(SettingsError, match="needs a generator and a tracker"):
        poor.drive.start()
    poor.open("stroll_flat")
    with pytest.raises(SettingsError, match="no tracker"):
        poor.make.track()


def test_a_clip_is_simulated_beside_itself(session: Session) -> None:
    reference = session.open("stroll_flat")
    job = session.make.track()
    assert job.wait(60) and job.state == "done", job.text
    simulated = session.document.active_clip()
    assert simulated.name == "stroll_flat_sim" and simulated.terrain is reference.terrain
    assert len(session.document.clips) == 2 and simulated.motion.fps == 30.0
    losses = simulated.provenance.losses
    assert 0 < losses["tracked"] <= 1 and 0 < losses["joint_error"] < 0.5
    assert losses["success"] == (losses["tracked"] > 0.95)
    frames = min(len(simulated.motion), 10)
    torch.testing.assert_close(simulated.motion.root_pos[:frames], reference.motion.root_pos[:frames], atol=0.2, rtol=0)
    session.undo()
    assert session.document.clip is reference


def test_replays_and_films(session: Session) -> None:
    with pytest.raises(MotionError, match="nothing to replay"):
        session.replay()
    session.open("walk_up")
    session.open("stroll_flat")
    name, content = session.replay()
    assert name == "stroll_flat_replay.html"
    text = content.decode()
    assert "walk_up" in text and '"clips":' in text and "http" not in text.split("<script")[0]
    clip = session.document.active_clip()
    session.edit.cut(0, 8)
    job = session.make.film(".gif")
    assert job.wait(60) and job.state == "done", job.text
    film_name, data = session.make.take_film()
    assert film_name.endswith(".gif") and data[:6] == b"GIF89a" and session.make.take_film() is None
    with pytest.raises(FormatError):
        film([clip], BODY, ".avi", lambda share: None)

    def stop(share: float) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        film([clip], BODY, ".webp", stop)


def test_the_cursor_is_a_spike_at_its_time() -> None:
    pytest.importorskip("viser", reason="viser is not installed")
    from parc.studio.panels.panel_measure import with_cursor

    time_, values = np.arange(5) / 10, np.array([3.0, 5.0, 1.0, 4.0, 2.0])
    for now, at in ((0.25, 0.25), (0.0, 0.0), (9.0, 0.4), (0.1, 0.1)):
        x, y, spike = with_cursor(time_, values, now)
        assert len(x) == len(y) == len(spike) == 8 and (np.diff(x) >= 0).all()
        assert spike.max() == 5.0 and x[spike.argmax()] == pytest.approx(at) and (spike == 5.0).sum() == 1
        np.testing.assert_allclose(np.interp(time_, x, y), values)
