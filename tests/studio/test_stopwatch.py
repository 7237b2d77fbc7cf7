"""The stopwatch of `benchmarks/run.py studio` in the real page: it starts with the press and stops with the picture."""

import time

import torch


def test_from_the_press_to_the_picture(browser, studio, make_person) -> None:
    from parc.studio.stopwatch import Stopwatch, place_on_screen

    context = browser.new_context(viewport={"width": 720, "height": 480})
    tab = context.new_page()
    watch = Stopwatch(tab)
    person = make_person(tab, studio)
    person.use_tool("raise ground")
    person.settle()
    terrain = person.document.terrain
    box = tab.locator("canvas[data-engine]").bounding_box()
    cell = [n // 2 for n in terrain.size]  # of the clip that is open
    x, y = (terrain.min_point + terrain.cell * torch.tensor(cell)).tolist()
    at = place_on_screen(person.page.client.camera, box, [x, y, float(terrain.heights[*cell])])
    tab.mouse.move(*at)
    tab.wait_for_timeout(200)
    watch.aim(*at, 40)
    tab.wait_for_timeout(400)
    assert tab.evaluate("() => window.__stopwatch.shown") is None, "nothing was pressed and nothing moved"
    began = time.monotonic()
    tab.mouse.click(*at)
    seconds = watch.read()
    assert seconds is not None and 0 < seconds <= time.monotonic() - began
    changed = (person.document.terrain.heights != terrain.heights).nonzero().tolist()
    assert changed == [cell]
    context.close()
