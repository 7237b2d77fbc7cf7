"""The report page: whole, self-contained, its numbers and motions come out as they went in."""

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from markupsafe import escape
from PIL import Image

from parc.character import humanoid
from parc.errors import FormatError, SettingsError
from parc.report import Report, bar_chart, line_chart, replay_payload
from parc.report.report_page import GalleryEntry
from parc.report.svg_axis import element, ticks


def array(text: str, kind: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)


def test_replay_payload_gives_back_the_motion(walk, other_walk):
    payload = json.loads(json.dumps(replay_payload([walk, other_walk], humanoid())))
    assert payload["bodies"] == list(humanoid().names)
    assert len(payload["shapes"]) == sum(len(b.shapes) for b in humanoid().bodies)
    for clip, entry in zip([walk, other_walk], payload["clips"], strict=True):
        frames = len(clip.motion)
        pose = clip.motion.body_poses(humanoid())
        pos = np.array(entry["low"]) + np.array(entry["step"]) * array(entry["pos"], "<u2", frames, 15, 3)
        np.testing.assert_allclose(pos, pose.pos.numpy(), atol=1e-4)
        np.testing.assert_allclose(array(entry["rot"], "<i2", frames, 15, 4) / 32767, pose.rot.numpy(), atol=2e-5)
        np.testing.assert_allclose(array(entry["contacts"], "u1", frames, 15) / 255, clip.motion.contacts.numpy(), atol=2e-3)
        assert entry["fps"] == 30 and entry["frames"] == frames and len(entry["path"]) == len(clip.path)
    first, second = payload["clips"]
    heights = array(first["terrain"]["heights"], "<f4", *first["terrain"]["size"])
    np.testing.assert_array_equal(heights, walk.terrain.heights.numpy())
    assert second["terrain"] == 0  # the same ground is stored once


def page(walk, other_walk) -> Report:
    x = np.arange(30)
    return (
        Report("Report <1>", "made in a test")
        .add_table({"success": "71 %", "FWD, m": 0.59631})
        .add_table([["stairs", 0.5], ["boxes", 2]], ["terrain", "value"], caption="by terrain")
        .add_section("Charts", "One.\n\nTwo.")
        .add_chart(line_chart({"loss & more": (x, np.exp(-x / 9))}, "Loss", "step", "loss"), bar_chart({"a": 1.0, "b": -2.0}))
        .add_chart(line_chart({"ours": (x, np.sin(x)), "data": (x, np.cos(x))}, "Jerk"))
        .add_image(Image.new("RGB", (8, 8), "red"), "a square")
        .add_replay([walk, other_walk], humanoid(), "walks")
        .add_details("settings", {"seed": 0})
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "action", "data"):
                self.links.append(value)
                if tag == "img":
                    self.images.append(value)
        if tag not in ("meta", "img", "br", "line", "rect", "circle", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in ("rect",):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_page_is_whole_and_fetches_nothing(walk, other_walk, tmp_path):
    file = page(walk, other_walk).write(tmp_path / "deep" / "report.html")
    html = file.read_text()
    assert not re.search(r"(https?:)?//[a-z0-9-]+\.[a-z]", re.sub(r'base64,[^"]*', "", html).replace("// ", ""))
    assert "@import" not in html and "url(" not in html
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert all(link.startswith("data:") for link in tags.links) and len(tags.images) == 1
    assert base64.b64decode(tags.images[0].partition("base64,")[2]).startswith(b"\x89PNG")
    for text in ("Report <1>", "0.5963", "by terrain", "loss", "settings", "Two."):
        assert text in tags.text
    assert html.count("<svg") == 3 and html.count('<div class="replay"><script') == 1
    assert "<script" not in Report("empty").html()


def test_wrong_tables_and_pictures_are_named(tmp_path):
    with pytest.raises(SettingsError, match="3 columns"):
        Report("r").add_table([[1, 2]], ["a", "b", "c"])
    with pytest.raises(FormatError, match=r"notes\.txt"):
        Report("r").add_image(tmp_path / "notes.txt")
    with pytest.raises(SettingsError, match="no finite point"):
        line_chart({"nothing": ([0, 1], [np.nan, np.nan])}, "empty")
    with pytest.raises(SettingsError, match="no bars"):
        bar_chart({}, "empty")


def test_hostile_names_stay_text(walk):
    """In a caption, a cell, a chart, a folded text, a card and the data of a replay."""
    bad = "</script><script>alert('x')</script>"
    clip = replace(walk, name=bad)
    entry = GalleryEntry(clip, Image.new("RGB", (4, 4)), bad)
    report = Report(bad, bad, is_evaluation=True).add_section(bad, bad).add_heading(bad).add_table({bad: bad}, caption=bad)
    report.add_table([[bad, 1]], [bad, "n"]).add_cards([(bad, bad, bad)]).add_details(bad, bad)
    report.add_image(Image.new("RGB", (4, 4)), bad).add_chart(bar_chart({bad: 1.0}, bad, bad), caption=bad)
    report.add_replay(clip, humanoid(), bad).add_gallery([entry], humanoid())
    report.add_together(bad, [([clip], bad, bad)], humanoid())
    html = report.html()
    assert html.count("alert(") > 20 and "<script>alert" not in html and "</script><script>alert" not in html
    assert html.count("<script") == html.count("</script>") == 5  # three motions, two scripts of ours
    assert element("text", bad, name='"<') == f'<text name="&#34;&lt;">{escape(bad)!s}</text>'


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 7.9), (0.001, 0.0042), (1200, 98000), (27, 68)])
def test_ticks_are_round_cover_the_range_and_are_few(low, high):
    found = ticks(low, high)
    steps = np.diff(found)
    assert found[0] <= low and found[-1] >= high and 3 <= len(found) <= 9
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert round(steps[0] / 10 ** np.floor(np.log10(steps[0]) + 1e-9), 6) in (1, 2, 5)


def test_a_browser_runs_the_replay(walk, other_walk, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to look at the page with")
    heights = walk.terrain.heights.clone()
    y = walk.terrain.min_point[1] + walk.terrain.cell * torch.arange(heights.shape[1])
    lowest = walk.motion.root_pos[:, 1].min()
    heights[:, (y > lowest - 1.5) & (y < lowest - 0.9)] += 3
    behind_a_wall = replace(walk, terrain=replace(walk.terrain, heights=heights))
    report = page(walk, other_walk).add_replay(behind_a_wall, humanoid(), "behind a wall")
    file = report.write(tmp_path / "report.html")
    flags = "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    flags += " --disable-sync --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --virtual-time-budget=2000"
    command = [
        browser,
        *flags.split(),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        "--dump-dom",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "Uncaught" in line]
    assert not errors
    state = re.search(r'class="replay"[^>]* data-state="([a-z-]+)"', done.stdout)
    assert state is not None
    if state.group(1) == "no-webgl":
        pytest.skip("this Chromium has no WebGL")
    assert "0.00 / 1.30 s" in done.stdout and "simulated" in done.stdout
    open_ground, wall = re.findall(r'data-view="(-?\d+) (-?\d+)"', done.stdout)
    assert open_ground == ("-60", "22") and 0 <= int(wall[0]) <= 180, "it is looked at from where no wall hides it"
