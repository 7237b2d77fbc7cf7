"""Each function on real parts, in small; the command gives the same bytes."""

import json
from pathlib import Path

import pytest
import torch

import parc
from parc.author.procedural_walk import stroll
from parc.cli.main import main
from parc.errors import FormatError, ParcError, PathError, SettingsError, TerrainError
from parc.models import shipped_generator, shipped_tracker
from parc.path import TerrainPath
from parc.plan import SearchSettings

CPU = ["--device", "cpu", "--json"]


class Told(list):
    """Keeps what work reports."""

    def __call__(self, done: float, total: float, note: str = "") -> None:
        self.append((done, total))


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict:
    """What a command says."""
    assert main([*words, *CPU]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture(scope="module")
def walk() -> parc.Clip:
    path = TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [5.2, 1.2, 0.0]]))
    return stroll(parc.Terrain.flat((16, 7)), path)


@pytest.fixture(scope="module")
def walk_file(walk: parc.Clip, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (file,) = parc.save(walk, tmp_path_factory.mktemp("clips") / "walk.motion")
    return file


def test_traverse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, search = Told(), SearchSettings(candidates=2, beam=1, longest=1.0)
    result = parc.traverse(
        "stairs", start=(1, 4), goal=(8, 4), method=search, tries=1, threads=1, device="cpu", name="run", on_progress=told
    )
    assert told and told[-1][1] == result.path.length and all(0 <= done <= total for done, total in told)
    files = parc.save(result, tmp_path / "api" / "run.motion")
    assert {file.suffix for file in files} == {".motion", ".html", ".json"}
    out = tmp_path / "command" / "run.motion"
    words = ["traverse", "stairs", "-o", str(out), "--start", "1,4", "--goal", "8,4", "--tries", "1", "--threads", "1"]
    facts = said([*words, "--method.candidates", "2", "--method.beam", "1", "--method.longest", "1"], capsys)
    assert out.read_bytes() == files[0].read_bytes()
    assert (facts["progress"], facts["survival"], facts["seed"]) == (result.progress, result.survival, 0)


def test_generate_and_correct(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from parc.generate.rollout.path_rollout import RolloutSettings

    parc.save(parc.Terrain.flat((16, 8)), tmp_path / "flat.terrain")
    told = Told()
    rollout = RolloutSettings(choices=1, seconds=1.0)
    made = parc.generate(
        tmp_path / "flat.terrain", candidates=2, rollout=rollout, seed=2, device="cpu", name="made", on_progress=told
    )
    parc.save(made, tmp_path / "api.motion")
    words = ["generate", str(tmp_path / "flat.terrain"), "-o", str(tmp_path / "made.motion"), "--seed", "2", "--candidates", "2"]
    words += ["--rollout.choices", "1", "--rollout.seconds", "1"]
    assert said(words, capsys)["sampler"] == made.sampler and told[-1][0] > 0
    assert (tmp_path / "made.motion").read_bytes() == (tmp_path / "api.motion").read_bytes()

    better = parc.correct(made.clip, iterations=3, device="cpu", on_progress=told)
    assert told[-1] == (3, 3)
    parc.save(better, tmp_path / "api_better.motion")
    said(["correct", str(tmp_path / "made.motion"), "-o", str(tmp_path / "better.motion"), "--iterations", "3"], capsys)
    assert (tmp_path / "better.motion").read_bytes() == (tmp_path / "api_better.motion").read_bytes()


def test_track_and_record(walk_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, threads = Told(), torch.get_num_threads()
    tracked = parc.track(walk_file, device="cpu", on_progress=told)
    steps = len(parc.load(walk_file).motion) - 1
    assert told[0] == (1, steps) and len(tracked.reference.motion) == len(tracked.clip.motion)
    assert torch.get_num_threads() == threads, "threads are put back"
    parc.save(tracked, tmp_path / "api.motion")
    result = said(["track", str(walk_file), "-o", str(tmp_path / "sim.motion")], capsys)
    assert (tmp_path / "sim.motion").read_bytes() == (tmp_path / "api.motion").read_bytes()
    assert result["joint_error"] == tracked.joint_error and result["success"] is tracked.success

    told.clear()
    report = parc.record(walk_file, tmp_path / "api", threads=1, device="cpu", on_progress=told)
    assert told == [(1, 1)]
    result = said(["record", str(walk_file), "-o", str(tmp_path / "command"), "--threads", "1"], capsys)
    assert report.to_dict()["recorded_whole"] == 1.0
    assert {name: result[name] for name in report.to_dict()} == json.loads(json.dumps(report.to_dict()))
    ours, theirs = (parc.load(tmp_path / name) for name in ("api", "command"))
    assert isinstance(ours, parc.Dataset) and ours.names == theirs.names and len(ours)
    assert all(torch.equal(a.motion.root_pos, b.motion.root_pos) for a, b in zip(ours, theirs, strict=True))


def test_work_ends_where_progress_raises(walk_file: Path) -> None:
    def enough(done: float, total: float, note: str = "") -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parc.track(walk_file, device="cpu", on_progress=enough)


def test_what_is_saved_is_loaded_as_what_it_is(walk: parc.Clip, tmp_path: Path) -> None:
    for thing, name in ((walk, "a.motion"), (walk.terrain, "a.terrain"), (walk.path, "a.json"), ([walk], "set")):
        assert parc.save(thing, tmp_path / name) == [tmp_path / name]
    assert isinstance(parc.load(tmp_path / "a.motion"), parc.Clip) and isinstance(parc.load(tmp_path / "set"), parc.Dataset)
    assert torch.equal(parc.load(tmp_path / "a.terrain").heights, walk.terrain.heights)
    assert torch.equal(parc.load(tmp_path / "a.json").nodes, walk.path.nodes)
    assert isinstance(parc.load(shipped_generator()), parc.Generator) and isinstance(parc.load(shipped_tracker()), parc.Tracker)
    assert isinstance(parc.load(Path(__file__).parents[1] / "character" / "robot_walker.xml"), parc.Character)
    parc.save(walk, tmp_path / "a.html")
    assert "replay" in (tmp_path / "a.html").read_text()
    with pytest.raises(FormatError, match="a dict cannot be saved"):
        parc.save({}, tmp_path / "a.motion")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: parc.traverse("boxes", trys=2), SettingsError, "no argument 'trys' .did you mean tries"),
        (lambda: parc.traverse("boxes", preset="fast"), SettingsError, "preset is 'fast'"),
        (lambda: parc.traverse("hills"), TerrainError, "neither a file nor a kind"),
        (lambda: parc.traverse("boxes", start=(1, 1)), PathError, "both start and goal"),
        (lambda: parc.traverse("boxes", start=(1, 1), goal=(1, 1)), PathError, "same cell, 1,1"),
        (lambda: parc.correct("nowhere.motion", preset="best"), SettingsError, "preset is 'best'"),
        (lambda: parc.track("nowhere.motion"), ParcError, "nowhere"),
        (lambda: parc.record("nowhere", "out", worlds=-1), SettingsError, "-1 worlds"),
    ],
)
def test_wrong_arguments_are_one_sentence(call, error: type[ParcError], told: str) -> None:
    with pytest.raises(error, match=told):
        call()
