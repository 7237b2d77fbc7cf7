"""Mouse, keys, fingers and a gamepad. Touches are Chromium's own (DevTools), as a screen would send them; of the gamepad only
the device is simulated, at `navigator.getGamepads`.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from .conftest import Visitor
from .test_page_live import MIDDLE, SIZE, centre, flat

PADLESS = "delete navigator.getGamepads"
PAD = """(() => { const buttons = Array.from({ length: 17 }, () => ({ pressed: false }));
window.pad = { connected: true, axes: [0, 0, 0, 0], buttons };
navigator.getGamepads = () => [null, window.pad]; })()"""


class Fingers:
    """On the screen of a visitor with touch."""

    def __init__(self, visitor: Visitor) -> None:
        self.session = visitor.tab.context.new_cdp_session(visitor.tab)
        self.down = 0

    def put(self, kind: str, *places: np.ndarray) -> None:
        """kind: Start, Move or End; of each finger its place in pixels."""
        self.down = len(places)
        points = [{"x": float(x), "y": float(y), "id": n} for n, (x, y) in enumerate(places)]
        self.session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    def tap(self, place: np.ndarray) -> None:
        self.put("Start", place)
        self.put("End")

    def drag(self, start: np.ndarray, end: np.ndarray, lifts: bool = True) -> None:
        self.put("Start", start)
        for share in (0.3, 0.6, 1.0):
            self.put("Move", start + share * (end - start))
        if lifts:
            self.put("End")


@pytest.fixture(scope="module")
def phone(open_page: Callable[..., Visitor]) -> Iterator[Visitor]:
    visitor = open_page("?ground=flat&seed=3&theme=light&paused=1", size=(390, 780), touch=True).wait_until_there()
    yield visitor
    visitor.close()


@pytest.fixture
def fingers(phone: Visitor) -> Iterator[Fingers]:
    """On level ground, with the tool that goes; the panel stays folded."""
    phone.ask("parc.page.controls.setTool('go')")
    phone.ground(flat(), MIDDLE)
    phone.run(1)
    made = Fingers(phone)
    yield made
    if made.down:
        made.put("End")


def goal_of(visitor: Visitor) -> np.ndarray:
    return np.array(visitor.ask("parc.page.view.goal.position.toArray().slice(0, 2)"))


def heights(visitor: Visitor) -> np.ndarray:
    return np.reshape(visitor.ask("parc.heights()"), (SIZE, SIZE))


def test_on_a_phone_nothing_is_cut_off(phone: Visitor) -> None:
    assert phone.ask("document.documentElement.scrollWidth") == 390
    phone.tab.locator("#fold").tap()
    for name in ("Go", "Push", "Platforms", "Save GLB"):
        box = phone.tab.locator("#panel button", has_text=name).first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 32
    assert phone.ask("document.documentElement.dataset.theme") == "light"
    phone.tab.locator("#fold").tap()
    assert phone.tab.locator("#stick").is_visible()


def test_a_tap_is_a_goal(phone: Visitor, fingers: Fingers) -> None:
    fingers.tap(phone.screen(*centre((12, 12))))
    phone.wait("parc.page.view.goal.visible")
    assert np.abs(goal_of(phone) - centre((12, 12))).max() < 0.4
    phone.run(1)
    assert phone.ask("parc.state.status") == "goes"


def test_one_finger_turns_the_camera(phone: Visitor, fingers: Fingers) -> None:
    before = phone.ask("({...parc.page.view.orbit})")
    fingers.drag(np.array([200.0, 400.0]), np.array([300.0, 420.0]))
    phone.wait("parc.page.view.orbit.azimuth < it - 0.3", before["azimuth"])
    phone.run(1)
    assert phone.ask("parc.state.status") == "stands" and not phone.ask("parc.page.view.goal.visible")


def test_two_fingers_come_nearer(phone: Visitor, fingers: Fingers) -> None:
    """Twice as far apart, half as far away; and no goal where they were lifted."""
    before = phone.ask("parc.page.view.orbit.distance")
    middle, apart = np.array([195.0, 400.0]), np.array([50.0, 0.0])
    fingers.put("Start", middle - apart)
    fingers.put("Start", middle - apart, middle + apart)
    for factor in (1.25, 1.5, 1.75, 2.0):
        fingers.put("Move", middle - factor * apart, middle + factor * apart)
    fingers.put("End", middle - 2 * apart)
    fingers.put("End")
    phone.wait("parc.page.controls.pointers.size === 0")
    assert phone.ask("parc.page.view.orbit.distance") == pytest.approx(before / 2, rel=0.05)
    phone.run(1)
    assert phone.ask("parc.state.status") == "stands"


def test_a_finger_draws(phone: Visitor, fingers: Fingers) -> None:
    phone.ask("parc.page.controls.setTool('raise')")
    azimuth = phone.ask("parc.page.view.orbit.azimuth")
    place = phone.screen(*centre((11, 10)))
    fingers.drag(place, place + (12.0, 0.0), lifts=False)
    phone.wait("Math.max(...parc.heights()) > 0.1")
    # A second finger ends the drawing and turns instead.
    other = np.array([195.0, 300.0])
    fingers.put("Start", place + (12.0, 0.0), other)
    phone.wait("parc.page.controls.gesture === 'turn'")
    drawn = heights(phone)
    fingers.put("End")
    assert phone.ask("parc.page.view.orbit.azimuth") == azimuth
    phone.tab.wait_for_timeout(200)
    assert (heights(phone) == drawn).all() and (drawn > 0).sum() < 40
    assert np.hypot(*(np.array(np.unravel_index(drawn.argmax(), drawn.shape)) - (11, 10))) < 2.5


def test_the_ring_drives(phone: Visitor, fingers: Fingers) -> None:
    ahead = np.array(phone.ask("parc.page.view.ahead"))
    box = phone.tab.locator("#stick").bounding_box()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    fingers.drag(middle, middle - (0.0, 45.0), lifts=False)
    phone.wait("parc.page.controls.driven")
    result = phone.run(75)
    assert phone.ask("parc.state.status") == "driven"
    fingers.put("End")
    phone.wait("!parc.page.controls.driven")
    moved = np.array(result["state"]["qpos"][:2]) - centre(MIDDLE)
    assert moved @ ahead > 0.5, moved
    phone.run(1)
    assert phone.ask("parc.state.status") == "stands"


@pytest.fixture
def pad(visitor: Visitor) -> Iterator[Callable[..., None]]:
    """What hands do with a gamepad: axes and the buttons that are held."""
    visitor.ground(flat(), MIDDLE)
    visitor.run(1)
    visitor.ask(PAD)

    def hold(axes: tuple[float, ...] = (0, 0, 0, 0), buttons: tuple[int, ...] = ()) -> None:
        visitor.ask("(pad.axes = it[0], pad.buttons.forEach((b, n) => (b.pressed = it[1].includes(n))))", [axes, buttons])
        visitor.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    yield hold
    hold()
    visitor.ask(PADLESS)


def test_a_gamepad_drives(visitor: Visitor, pad: Callable[..., None]) -> None:
    ahead = np.array(visitor.ask("parc.page.view.ahead"))
    pad((0.05, -0.9, 0, 0))  # a stick at rest is never quite at zero
    result = visitor.run(75)
    assert visitor.ask("parc.state.status") == "driven"
    moved = np.array(result["state"]["qpos"][:2]) - centre(MIDDLE)
    assert moved @ ahead > 0.5, moved
    pad((0.1, -0.1, 0, 0))
    visitor.run(1)
    assert visitor.ask("parc.state.status") == "stands"
    azimuth = visitor.ask("parc.page.view.orbit.azimuth")
    pad((0, 0, 1, 0))
    visitor.wait("parc.page.view.orbit.azimuth < it - 0.05", azimuth)


def test_the_buttons_of_a_gamepad(visitor: Visitor, pad: Callable[..., None]) -> None:
    """Each acts once, however long it is held."""
    pushes = visitor.run(1)["counts"]["pushes"]
    pad(buttons=(0,))
    pad(buttons=(0,))
    assert visitor.run(1)["counts"]["pushes"] == pushes + 1
    visitor.ask("parc.goTo(it[0], it[1])", centre((15, 10)))
    visitor.run(1)
    assert visitor.ask("parc.state.status") == "goes"
    pad(buttons=(1,))
    visitor.run(1)
    assert visitor.ask("parc.state.status") == "stands"
    for speed in (1, 0.25):
        pad(buttons=(2,))
        pad()
        assert visitor.ask("parc.page.speed") == speed
    visitor.press("Pause")
    pad(buttons=(3,))
    pad(buttons=(3,))
    ground = visitor.ask("parc.page.ground")
    assert ground["kind"] == "boxes" and visitor.ask("Math.max(...parc.heights())") > 0
    pad()
    assert visitor.ask("parc.page.ground.seed") == ground["seed"]


def test_the_push_tool_pushes_towards_the_click(level: Visitor) -> None:
    before = np.array(level.run(1)["state"]["qvel"][:2])
    level.press("Push")
    level.tab.mouse.click(*level.screen(*centre((13, 10))))
    level.wait("document.querySelector('#status').textContent === 'Pushed'")
    assert level.run(1)["state"]["qvel"][0] - before[0] > 0.5
    assert level.ask("parc.state.status") == "stands"  # and it is no goal


def test_a_brush_that_is_held_raises_where_it_was_put(level: Visitor) -> None:
    """What rises does not come between pointer and place, so only the cells of the brush change."""
    level.press("Raise")
    level.tab.mouse.move(*level.screen(*centre((13, 11))))
    level.tab.mouse.down()
    level.wait("Math.max(...parc.heights()) > 1")
    level.tab.mouse.up()
    heights = np.reshape(level.ask("parc.heights()"), flat().shape)
    assert {tuple(cell) for cell in np.argwhere(heights > 0)} == {(i, j) for i in (12, 13, 14) for j in (10, 11, 12)}


def test_slow_motion_is_slow(level: Visitor) -> None:
    """Asked for a quarter, no more than that is simulated, whatever the machine can."""
    level.tab.keyboard.press("Escape")
    level.ask("document.activeElement.blur()")
    level.press("1×")
    level.tab.locator("#view").press("t")
    assert level.ask("parc.page.speed") == 0.25
    level.tab.wait_for_timeout(300)  # what was ahead at full speed is over
    first, began = level.ask("[parc.state.step, performance.now()]")
    level.tab.wait_for_timeout(1500)
    last, ended = level.ask("[parc.state.step, performance.now()]")
    level.tab.locator("#view").press("Space")
    assert level.ask("parc.page.speed") == 0
    assert 1 <= last - first <= 0.25 * 30 * (ended - began) / 1000 + 4


def test_the_keys_of_the_help(level: Visitor) -> None:
    view = level.tab.locator("#view")
    for key, tool in (("2", "raise"), ("3", "lower"), ("4", "push"), ("1", "go")):
        view.press(key)
        assert level.ask("parc.page.controls.tool") == tool
    view.press("h")
    assert level.ask("document.querySelector('#panel').classList.contains('folded')")
    view.press("h")
    pushes = level.run(1)["counts"]["pushes"]
    view.press("p")
    assert level.run(1)["counts"]["pushes"] == pushes + 1
    level.ask("parc.goTo(it[0], it[1])", centre((15, 10)))
    level.run(1)
    assert level.ask("parc.state.status") == "goes"
    view.press("x")
    level.run(1)
    assert level.ask("parc.state.status") == "stands"
    level.ask("parc.goTo(it[0], it[1])", centre((15, 10)))
    level.run(40)
    view.press("r")
    place = level.run(1)["state"]["qpos"][:2]
    assert np.hypot(*(np.array(place) - centre(MIDDLE))) < 0.1
    view.press("n")
    level.wait("parc.page.ground.kind === 'boxes'")
