"""The whole evaluation: the same numbers twice, nothing measured again after a stop, a page that is whole, and plain errors."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.dataset import save_clip
from parc.evaluate.evaluation_job import EvaluationSettings
from parc.evaluate.evaluation_result import EvaluationResult, without
from parc.evaluate.generator_measurement import GeneratorTest, evaluate_generator
from parc.generate.rollout.path_rollout import RolloutSettings

from .conftest import make_run

SMALL = ["--terrains", "2", "--generator.candidates", "2", "--generator.limits", "0.6", "1"]
SMALL += ["--tracker.trials", "2", "--tracker.episodes", "1"]
SMALL += ["--device", "cpu", "--threads", "1"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [make_run(folder / "run", 2), make_run(folder / "ablation", 2, corrected=False)]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory, walk) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    save_clip(walk, folder / "walk_1.motion")
    return folder


@pytest.fixture(scope="module")
def evaluated(runs, clips, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("first")
    assert main(["evaluate", *map(str, runs), *SMALL, "--dataset", str(clips), "-o", str(out)]) == 0
    return out


def numbers(out: Path) -> dict:
    return json.loads((out / "evaluation.json").read_bytes())


def test_the_tables_are_there(evaluated: Path) -> None:
    found = numbers(evaluated)
    labels = ["iteration 1", "iteration 2", "no physics correction"]
    assert [row["label"] for row in found["generators"]] == labels
    assert [row["label"] for row in found["trackers"]] == labels[:2], "nothing is tracked in the ablation"
    for row in found["generators"]:
        assert row["motions"] == 4 and set(row["limits"]) == {"0.6", "1"}
        assert {"fwd", "tpl", "tcl", "hjf_code", "hjf_paper", "goal", "foot_skate", "foot_f1", "seam_jerk"} <= set(
            row["limits"]["1"]["mean"]
        )
    assert found["generators"][0]["limits"]["1"]["mean"]["tpl"] > found["generators"][0]["limits"]["0.6"]["mean"]["tpl"]
    assert [row["label"] for row in found["blending"]["rows"]][:6] == list(found["paper"]["blending"])
    assert found["blending"]["label"] == "iteration 2"
    assert found["on_dataset"]["rows"][0]["by_skill"]["walk"]["clips"] == 1
    assert found["trackers"][0]["clips"] == 2 and len(found["trackers"][0]["success_noisy"]) == 1
    default = next(row for row in found["blending"]["rows"] if row["label"] == "the same, 0 on level ground")
    assert default["limits"] == found["generators"][1]["limits"], "the default blend is the row of Table 1"


def test_the_numbers_can_be_read_again(evaluated: Path) -> None:
    found = numbers(evaluated)
    result = EvaluationResult.from_json(found)
    assert result.to_json() == found and list(result.to_json()) == list(found)
    assert result.generators[0]["label"] == "iteration 1" and result.blending is not None
    assert "blending" not in replace(result, blending=None).to_json()


def test_twice_gives_the_same_bytes(evaluated: Path, runs, clips, tmp_path: Path) -> None:
    assert main(["evaluate", *map(str, runs), *SMALL, "--dataset", str(clips), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "evaluation.json").read_bytes() == (evaluated / "evaluation.json").read_bytes()


def test_a_stopped_evaluation_goes_on(evaluated: Path, runs, clips, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    shutil.copytree(evaluated / "parts", out / "parts")
    removed = sorted((out / "parts").glob("*.json"))[::4]
    for file in removed:
        file.unlink()
    before = {f.name: f.stat().st_mtime_ns for f in (out / "parts").glob("*.json")}
    capsys.readouterr()
    assert main(["evaluate", *map(str, runs), *SMALL, "--dataset", str(clips), "-o", str(out)]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if re.match(r"\d\d:\d\d:\d\d ", line)]
    assert len(told) == len(removed)
    assert {f.name: f.stat().st_mtime_ns for f in (out / "parts").glob("*.json")}.items() >= before.items()
    assert (out / "evaluation.json").read_bytes() == (evaluated / "evaluation.json").read_bytes()


def test_parts_of_the_whole_print_json(evaluated: Path, runs, clips, capsys) -> None:
    """The single commands find what the whole has measured."""
    out = ["-o", str(evaluated), "--json"]
    whole = numbers(evaluated)
    capsys.readouterr()
    for words, key in (("generator", "generators"), ("tracker", "trackers"), ("blending", "rows")):
        assert main(["evaluate", words, *map(str, runs), *SMALL, *out]) == 0
        captured = capsys.readouterr()
        assert not captured.err, "nothing is measured again"
        row = json.loads(captured.out.splitlines()[-1])[key][-1]
        assert "took" not in row, "what is printed is the same when measured again"
        same = whole["blending"]["rows"][-1] if words == "blending" else whole[key][-1]
        if words == "tracker":
            assert row["joint_error"] == pytest.approx(same["joint_error"], rel=1e-6)
        else:
            assert row["limits"]["1"]["mean"]["fwd"] == pytest.approx(same["limits"]["1"]["mean"]["fwd"], rel=1e-6)
    assert main(["evaluate", "tracker", str(runs[0]), *SMALL, "--dataset", str(clips), *out]) == 0
    assert json.loads(capsys.readouterr().out)["trackers"][0]["by_skill"]["walk"]["clips"] == 1


def test_the_papers_sampler_is_what_is_measured(models: Path, generator, cases, tmp_path: Path, capsys) -> None:
    words = ["evaluate", "generator", str(models / "a.safetensors"), "-o", str(tmp_path), "--json", *SMALL]
    found = {}
    for sampler in ("paper", "default"):
        assert main([*words, "--preset", sampler]) == 0
        found[sampler] = json.loads(capsys.readouterr().out.splitlines()[-1])["generators"][0]["limits"]["1"]["mean"]["tpl"]
    for sampler, rollout in (("paper", RolloutSettings.paper()), ("default", RolloutSettings())):
        test = GeneratorTest(candidates=2, rollout=replace(rollout, seconds=1.0))
        assert found[sampler] == pytest.approx(evaluate_generator(generator, cases[:2], test)["tpl"], rel=1e-5)
    assert found["paper"] != pytest.approx(found["default"], rel=1e-2)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in ("meta", "img", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_is_whole_and_fetches_nothing(evaluated: Path) -> None:
    html = (evaluated / "report.html").read_text()
    page = Page()
    page.feed(html)
    assert page.open == [] and page.links == []
    assert "url(" not in html and "@import" not in html and "prefers-color-scheme: dark" in html
    for words in (
        "Table 1",
        "Table 2",
        "Table 3",
        "1.908",
        "no physics correction",
        "0.05167",
        "40796",
        "Where motions go",
        "Terrain walks_00",
        "development set",
    ):
        assert words.lower() in page.text.lower(), words
    assert html.count('class="replay"') in (3 * 2 + 1, 3 * 2 + 2)
    assert "nan" not in re.sub(r"<script.*?</script>", "", html, flags=re.S).lower().replace("dominant", "")


def test_a_page_of_several_families_tells_them_apart(models: Path, tmp_path: Path, capsys) -> None:
    words = [str(models / "a.safetensors"), str(models / "s.safetensors"), *SMALL, "--no-blending", "-o", str(tmp_path)]
    assert main(["evaluate", *words, "--families", "walks", "platforms"]) == 0
    html, told = (tmp_path / "report.html").read_text(), capsys.readouterr().out
    for words in ("development set, version 1: 2 each of walks, platforms", "By family of terrain", "a, platforms"):
        assert words in html, words
    assert "development set, version 1: 2 each of walks, platforms" in told and told.count("\n  platforms ") == 3
    cases = numbers(tmp_path)["cases"]
    assert [case["name"] for case in cases] == ["walks_000", "walks_001", "platforms_000", "platforms_001"]
    assert min(case["gap"] for case in cases[2:]) >= 0.4 and {"climb", "drop"} <= set(cases[0])


def test_a_browser_shows_the_page_and_views_move_together(evaluated: Path, browser) -> None:
    tab = browser.new_page(color_scheme="dark", viewport={"width": 1200, "height": 900})
    tab.set_default_timeout(120_000)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto((evaluated / "report.html").as_uri())
    states = tab.eval_on_selector_all(".replay", "all => all.map(r => r.dataset.state)")
    if "no-webgl" in states:
        pytest.skip("this Chromium has no WebGL")
    assert set(states) == {"ready"} and not errors
    group = tab.locator(".group").first
    group.locator(".master input").evaluate("s => { s.value = 0.3; s.dispatchEvent(new Event('input')); }")
    times = group.locator(".replay .time")
    assert times.count() > 1
    for k in range(times.count()):
        times.nth(k).filter(has_text=re.compile(r"^0\.30 /")).wait_for(state="attached")
    background = tab.eval_on_selector("main", "m => getComputedStyle(m).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background)[:3])) < 60, "dark where the reader's system is"
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out at the side"
    tab.close()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "there is no 'nowhere'"),
        (["--terrains", "0"], "0 terrains of each family"),
        (["--generator.candidates", "0"], "0 motions on each terrain"),
        (["--generator.limits", "-1"], "time limits"),
        (["--tracker.trials", "0"], "0 trials"),
        (["--generator.rollout.blend.start", "2"], "blending coefficient"),
        (["--dataset", "nowhere"], "there is no 'nowhere'"),
    ],
)
def test_what_is_wrong_is_one_sentence(words: list[str], sentence: str, tmp_path: Path, capsys) -> None:
    assert main(["evaluate", *words, "-o", str(tmp_path / "out"), "--device", "cpu"]) == 2
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1 and sentence in error
    assert not (tmp_path / "out").exists(), "nothing half written"


def test_a_wrong_model_is_refused_before_anything_is_measured(models: Path, tmp_path: Path, capsys) -> None:
    assert main(["evaluate", "tracker", str(models / "a.safetensors"), "-o", str(tmp_path / "out")]) == 2
    assert "no tracker among the models" in capsys.readouterr().err
    for table in ("generator", "blending"):
        assert main(["evaluate", table, str(models / "s.safetensors"), "-o", str(tmp_path / "out")]) == 2
        assert "no generator among the models" in capsys.readouterr().err
    critic = tmp_path / "critic.safetensors"
    critic.write_bytes((Path(__file__).parents[2] / "src/parc/models/critic.safetensors").read_bytes())
    assert main(["evaluate", str(critic), "-o", str(tmp_path / "out")]) == 2
    assert "expected a generator or a tracker" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["evaluate", str(models / "a.safetensors"), "-o", str(tmp_path / "file")]) == 2
    assert "is a file, expected a folder" in capsys.readouterr().err
    assert main(["evaluate", str(models / "a.safetensors"), "-o", str(tmp_path / "out"), "--threads", "-1"]) == 2
    assert "-1 threads were asked for, expected 0" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_told_at_once(models: Path, tmp_path: Path, capsys) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        assert main(["evaluate", str(models / "a.safetensors"), "-o", str(disk / "new" / "out")]) == 2
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "disk' cannot be written to" in line


def test_quick_is_smaller_than_the_whole() -> None:
    quick, whole = EvaluationSettings.quick(), EvaluationSettings()
    assert (whole.terrains, whole.generator.candidates, whole.generator.limits) == (100, 32, (10.0, 20.0))
    assert quick.terrains * quick.generator.candidates == 40 and quick.generator.limits == (10.0,)


def test_times_are_left_out_of_the_numbers() -> None:
    assert without({"rows": [{"fwd": 1.0, "seconds": 2.0, "took": 3.2}]}, "took") == {"rows": [{"fwd": 1.0, "seconds": 2.0}]}
