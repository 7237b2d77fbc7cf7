"""The page as an artist meets it: what was named is open, the gallery, the time line, tools, shadows, bodies, films."""

import io
import os
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from parc.character import humanoid
from parc.studio.document import Document
from parc.studio.panels.timeline import contact_runs
from parc.terrain import Terrain

PICTURES = os.environ.get("PARC_PICTURES")
"""folder to put screenshots into, to look at"""


def wait_for(what, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)


def snap(person, name: str) -> None:
    if PICTURES:
        person.tab.screenshot(path=Path(PICTURES) / f"{name}.png")


def nodes(person) -> list[str]:
    """Names in the scene that the browser has."""
    return person.tab.evaluate("() => Object.keys(window.__viserSceneTree.getState())")


def test_what_was_named_is_open_in_view_and_chosen(browser, studio, make_person) -> None:
    context = browser.new_context(viewport={"width": 800, "height": 520})
    someone = make_person(context.new_page(), studio)
    document = someone.document
    assert [clip.name for clip in document.clips] == ["walk_up", "stroll_flat"] and document.active == 0
    assert someone.session.can_undo is None
    someone.tab.get_by_text("66 frames").wait_for()
    someone.settle()
    box = someone.tab.locator("canvas").first.bounding_box()
    body = document.clip.motion.root_pos.double().numpy()
    places = np.array([someone.place(point) for point in (body[0], body[-1])])
    assert ((places > [box["x"], box["y"]]) & (places < [box["x"] + box["width"], box["y"] + box["height"]])).all(), places
    assert not someone.errors
    context.close()


def test_the_gallery_shows_pictures_and_opens_what_is_pressed(person) -> None:
    person.go_to("Clips")
    person.press("Show the gallery")
    cards = person.tab.locator("[data-parc-do=open]")
    wait_for(lambda: person.tab.locator("[data-parc-do=open] img").count() == 2)
    assert person.tab.evaluate("() => [...document.querySelectorAll('[data-parc-do=open] img')].every(i => i.naturalWidth > 100)")
    snap(person, "gallery")
    box = person.tab.get_by_label("Find")
    box.fill("flat")
    box.press("Enter")
    wait_for(lambda: cards.count() == 1)
    cards.first.click()
    wait_for(lambda: person.document.clip is not None and person.document.clip.name == "stroll_flat")
    wait_for(lambda: not cards.count() and not person.page.gallery.is_shown)


def test_the_time_line_has_the_contacts_and_edits_and_can_be_pressed(person) -> None:
    person.open("walk_up")
    clip, body = person.document.clip, humanoid()
    line = person.tab.locator("[data-parc-line]")
    wide = line.bounding_box()["width"]

    def bars(kind: str) -> np.ndarray:
        """[N, 2] first and last share of the line that bars cover, in order."""
        left = line.bounding_box()["x"]
        boxes = [bar.bounding_box() for bar in line.locator(f"[data-parc-{kind}]").all()]
        return np.array(sorted(((b["x"] - left) / wide, (b["x"] + b["width"] - left) / wide) for b in boxes))

    runs = [run for k in body.key_bodies for run in contact_runs(clip.motion.contacts[:, k].numpy() > 0.5)]
    last = len(clip.motion) - 1
    expected = np.array(sorted((start / last, min(stop / last, 1.0)) for start, stop in runs))
    np.testing.assert_allclose(bars("contact"), expected, atol=2 / wide)
    person.session.edit.label_contacts(["left_foot"], 20, 40, False)
    wait_for(lambda: line.locator("[data-parc-edit]").count() == 1)
    np.testing.assert_allclose(bars("edit"), [(20 / last, 40 / last)], atol=2 / wide)
    box = line.bounding_box()
    person.tab.mouse.move(box["x"] + 0.5 * wide, box["y"] + 20)
    person.tab.mouse.down()
    wait_for(lambda: abs(person.page.frame() - 0.5 * last) <= 1)
    person.tab.mouse.move(box["x"] + 0.8 * wide, box["y"] + 20)
    person.tab.mouse.up()
    wait_for(lambda: abs(person.page.frame() - 0.8 * last) <= 1)
    person.settle()
    head = line.locator("[data-parc-head]").bounding_box()
    assert (head["x"] + head["width"] / 2 - box["x"]) / wide == pytest.approx(0.8, abs=0.02)
    snap(person, "timeline")
    person.session.undo()
    wait_for(lambda: not line.locator("[data-parc-edit]").count())


def test_a_click_does_what_fits_the_tab(person) -> None:
    person.go_to("Terrain")
    wait_for(lambda: person.page.top.tool == "raise ground")
    person.use_tool("lower ground")
    person.go_to("Path")
    wait_for(lambda: person.page.top.tool == "path goal")
    person.go_to("Clips")
    wait_for(lambda: person.page.top.tool == "look around")
    person.go_to("Terrain")
    wait_for(lambda: person.page.top.tool == "lower ground")
    person.use_tool("raise ground")
    person.go_to("Clips")
    wait_for(lambda: person.page.top.tool == "look around")


def test_nothing_of_the_last_clip_is_left_over(person) -> None:
    """Clips that go and come while the page is busy: what it had of them must go with them."""
    person.open("walk_up")
    person.open("stroll_flat")
    both, none = person.document, Document(Terrain.flat((16, 16)))
    for document in (none, both, none, both, none):
        person.session.change("to and fro", lambda _, document=document: document)
        person.page.stage.show(person.page._casting.cast(document), None, person.page.clips.look, 0.0)
    person.page.refresh()
    person.settle()
    wait_for(lambda: not [name for name in nodes(person) if name.startswith("/figure/")])
    assert len([name for name in nodes(person) if name.startswith("/ground/") and name.count("/") == 2]) == 1
    person.page.pointer.set_end("goal", (3, 3))
    person.open("walk_up")
    wait_for(lambda: any(name.endswith("/contacts") for name in nodes(person)))
    figures = {name.split("/")[2] for name in nodes(person) if name.startswith("/figure/")}
    assert len(figures) == 1 and "/mark/goal" not in nodes(person)


def test_shadows_and_shade_darken_the_ground(person) -> None:
    """Brightness of the ground where the sun's ray through the chest ends, and under a foot; elsewhere it stays."""
    from parc.studio.scene.stage3d import SUN

    person.open("stroll_flat")
    clips, role = person.page.clips, person.page.cast.active
    chest, foot = (role.actor.pos[0, humanoid().index(name)] for name in ("torso", "right_foot"))
    toward_sun = np.array(SUN)
    spots = [chest - toward_sun * chest[2] / toward_sun[2], [foot[0], foot[1] - 0.11, 0.0], [0.5, 0.3, 0.0]]

    def brightness() -> np.ndarray:
        person.settle()
        person.tab.wait_for_timeout(400)
        picture = np.asarray(Image.open(io.BytesIO(person.tab.screenshot(timeout=60_000))).convert("L"), float)
        places = [person.place(point) for point in spots]
        return np.array([picture[round(y) - 1 : round(y) + 2, round(x) - 1 : round(x) + 2].mean() for x, y in places])

    assert clips.look.shadows is False, "a browser that draws in software has none by itself"
    before = brightness()
    clips._shadows.value = True
    person.page.refresh()
    after = brightness()
    snap(person, "shadow")
    clips._shadows.value = False
    person.page.refresh()
    assert before[0] - after[0] > 25, (before, after)
    assert before[2] - before[1] > 12, "shade under the foot, with and without the sun's shadow"
    assert abs(before[2] - after[2]) < 3


def test_the_mannequin_and_the_capsules_are_exchanged_while_it_plays(person) -> None:
    person.open("walk_up")
    clips = person.page.clips
    person.press("Play")
    for style, part in (("capsules", "/torso"), ("mannequin", "/skin_0"), ("capsules", "/torso"), ("mannequin", "/skin_0")):
        clips._body.value = style
        person.page.refresh()
        wait_for(lambda part=part: any(name.endswith(part) for name in nodes(person)))
        kinds = [name.rsplit("/", 1)[1] for name in nodes(person) if name.startswith("/figure/")]
        assert ("torso" in kinds) == (style == "capsules")
    person.press("Pause")
    person.tab.get_by_role("tab", name="Clips").wait_for()


def test_a_film_as_mp4(person, tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="PyAV is not installed")
    person.open("stroll_flat")
    person.session.edit.cut(0, 13)
    person.settle()
    person.go_to("Save")
    with person.tab.expect_download(timeout=60_000) as download:
        person.press("Film")
    assert download.value.suggested_filename == "stroll_flat.mp4"
    download.value.save_as(tmp_path / "film.mp4")
    with av.open(tmp_path / "film.mp4") as film:
        stream = film.streams.video[0]
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert stream.codec_context.name == "h264" and len(pictures) == 6, "0, 67 .. 335 of 400 ms"
    assert pictures[0].std() > 10 and np.abs(pictures[0].astype(int) - pictures[-1]).mean() > 0.5


def test_each_control_has_a_sentence(person) -> None:
    assert person.page.without_hint == []
