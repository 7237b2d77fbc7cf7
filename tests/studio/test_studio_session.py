"""Everything the page does, done without a page."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.correct.correct_motions import OptimiseSettings, optimise
from parc.dataset import Dataset, DatasetWriter, load_clip
from parc.errors import DatasetError, FormatError, MotionError, ParcError, PathError, SettingsError, TerrainError
from parc.path import GraphSettings, PlanSettings, plan_path
from parc.studio.actions.long_job import StudioJob
from parc.studio.actions.terrain_brush import Brush
from parc.studio.actions.watched_generation import GenerateSettings
from parc.studio.clip_library import Library, Listed
from parc.studio.model_files import GeneratorFile
from parc.studio.save_places import SavePlaces
from parc.studio.studio_session import MOST_CLIPS, Session
from parc.terrain import RandomBoxes, Stairs, Terrain, load_terrain, save_terrain

BODY = humanoid()


@pytest.fixture
def session(clip_files) -> Session:
    return Session(BODY, Library(BODY, clip_files))


def test_one_clip_of_a_data_set_is_listed_as_a_file_is(clip_files, walk, tmp_path: Path) -> None:
    other = replace(walk, name="deep/stroll", provenance=replace(walk.provenance, skill="amble"))
    for folder in ("one", "two"):
        with DatasetWriter(tmp_path / folder, BODY) as writer:
            writer.append([walk, other])
    library = Library(BODY, [tmp_path / "one" / "deep" / "stroll", tmp_path / "one" / walk.name])
    assert [item.name for item in library.search()] == ["deep/stroll", walk.name]
    assert library.search("amble")[0].line == f"deep/stroll · amble · {other.motion.duration:.1f} s"
    assert torch.equal(library.load("deep/stroll").motion.root_pos, walk.motion.root_pos)
    assert library.add(tmp_path / "one" / walk.name) == [walk.name] and len(library) == 2
    (twin,) = library.add(tmp_path / "two" / walk.name)
    assert len(library) == 3 and library.load(twin).name == twin != walk.name
    library.add(tmp_path / "one")
    assert len(library) == 3 and library.load(walk.name).name == walk.name
    assert library.add(tmp_path / "one" / walk.name) == [walk.name] and len(library) == 3
    with pytest.raises(DatasetError, match=r"two has no clip 'deep/strol' among its 2; did you mean 'deep/stroll'\?"):
        Library(BODY, [tmp_path / "two" / "deep" / "strol"])


def test_the_library_lists_searches_and_reads_late(clip_files, walk, tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "set", BODY) as writer:
        writer.append([walk])
    broken = tmp_path / "broken_one.motion"
    broken.write_bytes(b"no")
    library = Library(BODY, [*clip_files, broken], tmp_path / "set")
    assert [item.name for item in library.search("one BRO")] == ["broken_one"]
    assert {item.name for item in library.search("flat")} == {"stroll_flat"}
    assert len(library.search("")) == len(library) >= 3
    alone = Listed("crossed", "crossed", None, broken)
    assert alone.line == "crossed", "its skill is its name"
    with pytest.raises(FormatError):
        library.load("broken_one")
    with pytest.raises(DatasetError, match="no clip 'nobody'"):
        library.load("nobody")
    with pytest.raises(DatasetError, match="there is no clip file"):
        Library(BODY, [tmp_path / "missing.pkl"])
    with pytest.raises(DatasetError, match="not a clip"):
        (tmp_path / "a.xyz").write_text("")
        Library(BODY, [tmp_path / "a.xyz"])


def test_open_choose_close_undo(session: Session) -> None:
    first = session.open("walk_up")
    session.open("stroll_flat")
    assert session.document.active == 1 and session.document.terrain is session.document.clips[1].terrain
    session.choose(0)
    assert session.document.clip is first and session.document.path is first.path
    session.open("stroll_flat")
    assert session.document.active == 1 and len(session.document.clips) == 2
    session.close(1)
    assert session.document.clip is first
    session.close(0)
    assert session.document.clip is None and session.document.terrain is first.terrain
    for _ in range(2):
        session.undo()
    assert len(session.document.clips) == 2
    with pytest.raises(MotionError, match="no clip 7"):
        session.choose(7)
    session.rename("other name")
    assert session.document.active_clip().name == "other name"


def test_no_more_clips_than_fit_on_the_table(session: Session, walk) -> None:
    for _ in range(MOST_CLIPS):
        session.add(walk, "add")
    assert len({clip.name for clip in session.document.clips}) == MOST_CLIPS
    with pytest.raises(MotionError, match="close one first"):
        session.add(walk, "add")


def test_an_action_that_fails_changes_nothing(session: Session) -> None:
    before = session.document
    failing = [
        lambda: session.edit.cut(0, 5),
        lambda: session.ground.flat((5000, 5000)),
        lambda: session.ground.crop((0, 0), (99, 99)),
        lambda: session.ground.pad(2000),
        lambda: session.ground.boxes(RandomBoxes(size=(0, 4))),
        lambda: session.route.add_waypoint(99.0, 0.0),
        lambda: session.route.plan((0, 0), (99, 0)),
        lambda: session.route.attach(),
        lambda: session.open_bytes("x.bvh", b"HIERARCHY nonsense"),
        lambda: session.ground.load_bytes("x.png", b"no image"),
        lambda: session.ground.load_bytes("x.doc", b""),
        lambda: session.route.load_bytes("x.json", b"[]"),
        lambda: session.make.generate(),
        lambda: session.make.correct(),
        lambda: session.make.keep(0),
        lambda: session.export(".motion"),
        lambda: session.save_to(""),
    ]
    for action in failing:
        with pytest.raises(ParcError):
            action()
    assert session.document is before and session.can_undo is None


def test_ground_edits_take_the_clip_along_and_new_ground_does_not(session: Session) -> None:
    session.open("walk_up")
    session.ground.paint((0, 0), Brush("raise", 0.3))
    clip = session.document.active_clip()
    assert float(clip.terrain.heights[0, 0]) == pytest.approx(0.3)
    session.ground.pad(2)
    assert session.document.active_clip().terrain.size == (14, 12)
    session.ground.stairs(Stairs(steps=3))
    assert session.document.clip is None and len(session.document.clips) == 1
    session.ground.park()
    assert session.document.terrain.size == (100, 100)
    session.ground.slice((12, 9), seed=3)
    assert session.document.terrain.size == (12, 9)
    session.ground.crop((1, 1), (5, 5))
    session.ground.max_pool(1)
    assert session.document.terrain.size == (4, 4)
    boxes = session.ground.boxes(RandomBoxes(size=(9, 9)), seed=5)
    session.undo()
    assert torch.equal(session.ground.boxes(RandomBoxes(size=(9, 9)), seed=5).heights, boxes.heights)


def test_ground_goes_to_a_file_and_back(session: Session, tmp_path: Path) -> None:
    session.ground.walks(seed=2)
    ground = session.document.terrain
    name, content = session.ground.export(".terrain")
    session.ground.flat((3, 3))
    session.ground.load_bytes(name, content)
    assert torch.equal(session.document.terrain.heights, ground.heights)
    save_terrain(ground, tmp_path / "g.png")
    session.ground.load_bytes("g.png", (tmp_path / "g.png").read_bytes())
    assert session.document.terrain.size == ground.size
    mesh_name, mesh = session.ground.export(".obj")
    (tmp_path / mesh_name).write_bytes(mesh)
    session.ground.load_bytes(mesh_name, mesh)
    assert session.document.terrain.size == load_terrain(tmp_path / mesh_name).size
    with pytest.raises(TerrainError, match="the studio shows"):
        session.ground.put(Terrain.flat((300, 300)))


def test_a_stroke_of_the_brush_is_one_step(session: Session) -> None:
    before = session.document
    for cell in ((1, 1), (1, 2), (1, 3)):
        session.ground.paint(cell, Brush("raise", 0.2), "stroke")
    assert int((session.document.terrain.heights > 0).sum()) == 3
    session.undo()
    assert session.document is before


def test_paths(session: Session) -> None:
    session.ground.boxes(seed=1)
    terrain = session.document.terrain
    settings = PlanSettings(graph=GraphSettings(jump_distance=0.0))
    path = session.route.plan((1, 1), (14, 13), settings, seed=4)
    torch.testing.assert_close(path.nodes, plan_path(terrain, (1, 1), (14, 13), 4, settings).nodes)
    name, content = session.route.export()
    session.route.clear()
    assert session.document.path is None
    session.route.load_bytes(name, content)
    torch.testing.assert_close(session.document.path.nodes, path.nodes)
    session.route.clear()
    session.route.add_waypoint(0.4, 0.4)
    session.route.add_waypoint(2.0, 0.4)
    nodes = session.document.path.nodes
    torch.testing.assert_close(nodes[:, 2], terrain.height_at(nodes[:, :2]))
    drawn = session.route.draw([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)])
    assert drawn.length == pytest.approx(4.0, abs=0.05)
    torch.testing.assert_close(drawn.nodes[:, 2], terrain.height_at(drawn.nodes[:, :2]))
    session.route.plan_random(seed=1)
    lonely = Terrain.flat((9, 9)).heights
    lonely[4:, :] = 5.0
    session.ground.put(Terrain(lonely, torch.zeros(2)))
    with pytest.raises(PathError, match="cannot be reached"):
        session.route.plan((0, 0), (8, 8))


def test_edits_and_their_provenance(session: Session) -> None:
    source = session.open("walk_up")
    session.edit.cut(5, 50)
    session.edit.mirror()
    session.edit.mirror()
    clip = session.document.active_clip()
    assert clip.name == "walk_up" and len(clip.motion) == 45
    torch.testing.assert_close(clip.motion.root_pos, source.motion.root_pos[5:50])
    torch.testing.assert_close(clip.terrain.heights, source.terrain.heights)
    assert clip.provenance.edits == ("cut 5..50", "mirror", "mirror")
    session.edit.bend_joint("head", (0.1, 0.0, 0.0), stroke="a")
    session.edit.bend_joint("head", (0.3, 0.0, 0.0), stroke="a")
    assert len(session.document.active_clip().provenance.edits) == 4
    session.undo()
    assert session.document.active_clip() is clip
    assert session.edit.toggle_contact("head", 3, 6) is True
    assert session.edit.toggle_contact("head", 3, 6) is False
    session.edit.label_by_geometry()
    session.edit.offset_root((0.0, 0.0, 0.1))
    with pytest.raises(MotionError):
        session.edit.cut(40, 400)


def test_hesitation_and_stitching(session: Session, walk) -> None:
    from dataclasses import replace

    from parc.motion.motion_edits import select

    waits = torch.cat([torch.arange(20), torch.full((12,), 20), torch.arange(20, len(walk.motion))])
    session.add(replace(walk, name="waits", motion=select(walk.motion, waits)), "open")
    assert session.edit.remove_hesitation() >= 11
    assert session.can_undo == "remove hesitation"
    session.undo()
    assert session.edit.remove_hesitation() >= 11
    brisk = session.document
    assert session.edit.remove_hesitation() == 0
    assert session.document is brisk, "nothing was done, so there is nothing to undo"
    session.open("stroll_flat")
    session.choose(0)
    frames = len(session.document.active_clip().motion)
    joined = session.edit.stitch(1)
    assert len(joined.motion) == frames + len(session.document.clips[1].motion) - 1
    assert session.document.path is joined.path and session.document.terrain is joined.terrain


@pytest.mark.parametrize("suffix", [".motion", ".pkl", ".bvh", ".glb"])
def test_export(session: Session, tmp_path: Path, suffix: str) -> None:
    clip = session.open("walk_up")
    name, content = session.export(suffix)
    (tmp_path / name).write_bytes(content)
    assert name == f"walk_up{suffix}" and len(content) > 1000
    if suffix != ".glb":
        torch.testing.assert_close(load_clip(tmp_path / name, BODY).motion.root_pos, clip.motion.root_pos, atol=1e-4, rtol=0)


def test_saved_clips_show_up_in_the_list(clip_files, tmp_path: Path, walk) -> None:
    folder = tmp_path / "set"
    with DatasetWriter(folder, BODY) as writer:
        writer.append([walk])
    session = Session(BODY, Library(BODY, clip_files, folder), save_places=SavePlaces([tmp_path], folder))
    session.open("stroll_flat")
    session.rename("brand new")
    assert session.save_to(folder) == ["brand new"]
    assert session.save_to(folder) == ["brand new_2"]
    assert {item.name for item in session.library.search("brand")} == {"brand new", "brand new_2"}
    assert len(Dataset.open(folder, BODY)) == 3
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="is a file"):
        session.save_to(tmp_path / "file")


def test_correction_equals_the_library_call_and_can_be_stopped(session: Session) -> None:
    source = session.open("walk_up")
    session.edit.offset_root((0.0, 0.0, -0.05))
    source = session.document.active_clip()
    settings = OptimiseSettings(iterations=60)
    seen: list[float] = []
    stop = session.listen(lambda change: seen.append(session.make.job.share) if change == "job" else None)
    job = session.make.correct(settings)
    with pytest.raises(SettingsError, match="still going on"):
        session.make.correct(settings)
    assert job.wait(60) and job.state == "done", job.text
    stop()
    (expected,) = optimise([source], BODY, settings)
    made = session.document.active_clip()
    torch.testing.assert_close(made.motion.root_pos, expected.motion.root_pos)
    assert made.name == "walk_up_corrected" and made.provenance == expected.provenance
    assert seen[-1] == 1.0 and session.make.preview is None
    session.choose(0)
    looks: list[bool] = []
    session.listen(lambda change: looks.append(session.make.preview is not None) if change == "preview" else None)
    job = session.make.correct(OptimiseSettings(iterations=100_000))
    while not any(looks):
        time.sleep(0.01)
    session.make.stop()
    assert job.wait(60) and job.state == "done"
    stopped = session.document.active_clip()
    assert stopped.name == "walk_up_corrected_2" and stopped.provenance.edits[-1].endswith(" iterations")
    assert stopped.provenance.losses["penetration"] < stopped.provenance.losses["penetration_before"]


def test_generation_ranks_candidates_and_one_is_kept(generator_file: Path) -> None:
    session = Session(BODY, generator=GeneratorFile(generator_file, BODY))
    session.route.draw([(1.0, 1.0), (5.0, 1.0)])
    job = session.make.generate(GenerateSettings(batch=3, seconds=1.0, seed=2))
    assert job.wait(60) and job.state == "done", job.text
    candidates = session.document.candidates
    assert len(candidates) == 3
    scores = [clip.provenance.losses["selection"] for clip in candidates]
    assert scores == sorted(scores) or any(clip.provenance.losses["reached"] for clip in candidates)
    kept = session.make.keep(2)
    assert kept.motion is candidates[2].motion and session.document.candidates == ()
    session.undo()
    assert session.document.candidates is candidates
    session.ground.paint((0, 0), Brush())
    assert session.document.candidates == ()
    with pytest.raises(SettingsError, match="0 candidates"):
        GenerateSettings(batch=0)
    session.route.draw([(1.0, 1.0)])
    short = session.make.generate()
    assert short.wait(60) and short.state == "failed" and "too short" in short.text


def test_generation_agrees_with_the_library_call(generator_file: Path) -> None:
    from parc.generate.model.motion_generator import Generator
    from parc.generate.rollout.path_rollout import roll_out
    from parc.path import TerrainPath
    from parc.studio.actions.watched_generation import generate_watched

    generator = Generator.load(generator_file, BODY)
    ground = Terrain.flat((16, 16))
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [5.0, 2.0, 0.0]]))
    settings = GenerateSettings(batch=2, seconds=1.0, seed=7)
    clips = generate_watched(generator, ground, path, settings, lambda share, text: True)
    expected = roll_out(generator, [ground], [path], 2, settings.rollout, 7, use_graph=False).motions()
    rows = {round(float(m.root_pos.sum()), 4) for m in expected}
    assert {round(float(c.motion.root_pos.sum()), 4) for c in clips} == rows


def test_a_job_that_breaks_says_so(capsys) -> None:
    def broken(job: StudioJob) -> None:
        raise ZeroDivisionError("oh")

    job = StudioJob("test", broken).start()
    assert job.wait(5) and job.state == "failed" and "fault of the program" in job.text
    assert "ZeroDivisionError" in capsys.readouterr().err

    def endless(job: StudioJob) -> None:
        while True:
            job.report(0.5, "still")

    job = StudioJob("test", endless).start()
    job.stop()
    assert job.wait(5) and job.state == "stopped"
    assert np.isfinite(job.seconds)
