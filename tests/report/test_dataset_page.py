"""The page of a data set: every clip is there, small, and replays when clicked."""

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset import Clip, Dataset, DatasetWriter, Provenance
from parc.report.dataset_page import write_dataset_page


@pytest.fixture
def dataset(walk: Clip, tmp_path: Path) -> Dataset:
    folder = tmp_path / "walks"
    skills = ["walk", "stairs", "walk", "walk", "stairs"]
    with DatasetWriter(folder, humanoid()) as writer:
        writer.append(
            replace(
                walk,
                name=f"clip<{k}>",
                motion=walk.motion.slice(k, k + 30),
                provenance=Provenance(source=f"take {k}", skill=skill, losses={"mocap_feet": 1.25}),
            )
            for k, skill in enumerate(skills)
        )
    return Dataset.open(folder)


def payloads(html: str) -> list[dict]:
    return [json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', html, flags=re.S)]


def test_every_clip_is_on_the_page_with_its_numbers(dataset: Dataset, tmp_path: Path) -> None:
    html = write_dataset_page(dataset, humanoid(), tmp_path / "page.html").read_text()
    shown = {p["clips"][0]["name"]: p["clips"][0]["frames"] for p in payloads(html)}
    assert shown == dict.fromkeys(dataset.names, 30)
    assert html.count('class="replay lazy"') == html.count('loading="lazy"') == 5
    for words in ("walk (3)", "stairs (2)", "feet 1.2 cm", "take 4", "clip&lt;0&gt;"):
        assert words in html
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html


def test_pictures_keep_their_place_before_they_load(dataset: Dataset, tmp_path: Path) -> None:
    html = write_dataset_page(dataset, humanoid(), tmp_path / "page.html").read_text()
    tags = re.findall(r'<img loading="lazy"[^>]*>', html)
    assert len(tags) == 5
    for tag in tags:
        width, height, data = re.search(r'width="(\d+)" height="(\d+)" src="data:image/webp;base64,([^"]*)"', tag).groups()
        assert Image.open(io.BytesIO(base64.b64decode(data))).size == (int(width), int(height))
    (rule,) = re.findall(r"\.replay\.lazy > img \{(.*?)\}", html)
    assert "width: 100%" in rule and "height: auto" in rule, "else the attributes would stretch the picture"


def test_a_small_page_shows_fewer_frames_of_the_same_time(dataset: Dataset, tmp_path: Path) -> None:
    whole = write_dataset_page(dataset, humanoid(), tmp_path / "a.html").stat().st_size
    budget = 20 * 15 * dataset.frames / 1e6 / 2.5
    html = write_dataset_page(dataset, humanoid(), tmp_path / "b.html", megabytes=budget).read_text()
    assert len(html) < whole and "every 3. frame" in html
    clip = payloads(html)[0]["clips"][0]
    assert clip["frames"] == 10 and clip["fps"] == pytest.approx(10)


def test_the_command_writes_it(dataset: Dataset, tmp_path: Path, capsys) -> None:
    assert main(["dataset", "show", str(dataset.folder), "--page", str(tmp_path / "page.html"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["clips"] == 5 and (tmp_path / "page.html").stat().st_size / 1e6 == pytest.approx(result["megabytes"])
    assert main(["dataset", "show", str(dataset.folder), "--page", str(tmp_path / "page.html"), "--megabytes", "0"]) == 2


def test_a_click_replays_a_clip_and_few_stay_open(dataset: Dataset, tmp_path: Path, browser) -> None:
    file = write_dataset_page(dataset, humanoid(), tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 1100, "height": 800})
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    assert tab.locator("canvas").count() == 0, "nothing is unpacked before it is asked for"
    for k in range(5):
        tab.locator(".replay.lazy").nth(k).locator("img").click()
        state = tab.locator(".replay.lazy").nth(k).get_attribute("data-state")
        if state == "no-webgl":
            pytest.skip("this Chromium has no WebGL")
        assert state == "ready"
    states = tab.eval_on_selector_all(".replay", "all => all.map(r => r.dataset.state)")
    assert states == ["closed", "closed", "ready", "ready", "ready"] and tab.locator("canvas").count() == 3
    tab.wait_for_timeout(400)
    clock = tab.locator(".replay.lazy").nth(4).locator(".time").text_content()
    assert float(clock.split("/")[0]) > 0 and np.isclose(float(clock.split("/")[1].split()[0]), 29 / 30, atol=0.01)
    tab.locator(".replay.lazy").first.locator("img").click()
    assert tab.locator(".replay.lazy").first.get_attribute("data-state") == "ready", "a closed one opens again"
    assert not errors
    tab.close()
