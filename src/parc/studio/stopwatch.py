"""From the press of a button to the first picture that shows what came of it, taken inside the browser.

After every frame the page draws, a few pixels of the canvas are read back and compared with those before the press. The time
of the press is the one the browser gave the event, so that waiting behind a slow frame counts. A browser that draws in software
draws about ten frames a second; the time includes two or three of those.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parc.errors import ParcError

_PROBE = """() => {
  const watch = window.__stopwatch = {box: null, before: null, same: 0, pressed: null, shown: null};
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (...asked) { return this.__context = getContext.apply(this, asked); };
  const drawn = () => window.__viserTestpoints ? window.__viserTestpoints.rendererInfo.render.frame : 0;
  const look = () => {
    const canvas = document.querySelector("canvas[data-engine]"), gl = canvas.__context;
    const s = canvas.width / canvas.clientWidth, [x, y, w, h] = watch.box.map(v => Math.round(v * s));
    const pixels = new Uint8Array(4 * w * h);
    gl.readPixels(x, canvas.height - y - h, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    const differs = watch.before !== null && pixels.some((v, k) => Math.abs(v - watch.before[k]) > 8);
    if (watch.pressed === null) { watch.same = differs ? 0 : watch.same + 1; watch.before = pixels; }
    else if (differs) { watch.shown = performance.now(); watch.box = null; }
  };
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = work => request(now => {
    const before = drawn();
    work(now);
    if (watch.box !== null && drawn() !== before) look();
  });
  window.addEventListener("pointerdown", e => { if (watch.box && watch.pressed === null) watch.pressed = e.timeStamp; }, true);
}"""
_PATIENCE = 8.0
"""s to wait for a picture"""


class Stopwatch:
    """Of one tab of Playwright; made before the page is loaded."""

    def __init__(self, tab: Any) -> None:
        self._tab = tab
        tab.add_init_script(f"({_PROBE})()")

    def aim(self, x: float, y: float, size: float) -> None:
        """Look at the pixels around a place of the screen, until they stand still."""
        box = [x - size / 2, y - size / 2, size, size]
        self._tab.evaluate(
            "box => Object.assign(window.__stopwatch, {box, before: null, same: 0, pressed: null, shown: null})", box
        )
        end = time.monotonic() + _PATIENCE
        while self._tab.evaluate("() => (window.__viserMutable.requestRender(), window.__stopwatch.same)") < 2:
            if time.monotonic() > end:
                raise ParcError(f"the picture around {x:.0f}, {y:.0f} did not come to rest in {_PATIENCE:g} s")
            self._tab.wait_for_timeout(60)

    def read(self) -> float | None:
        """s from the press since `aim` to the picture that shows something new; None where none came in time."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            pressed, shown = self._tab.evaluate("() => [window.__stopwatch.pressed, window.__stopwatch.shown]")
            if shown is not None:
                return (shown - pressed) / 1000
            self._tab.wait_for_timeout(15)
        return None

    def frames(self, seconds: float) -> float:
        """Frames a second that the browser draws."""
        count = "() => [window.__viserTestpoints.rendererInfo.render.frame, performance.now()]"
        first, began = self._tab.evaluate(count)
        self._tab.wait_for_timeout(1000 * seconds)
        last, ended = self._tab.evaluate(count)
        return 1000 * (last - first) / (ended - began)


def place_on_screen(camera: Any, box: dict[str, float], point: NDArray) -> tuple[float, float]:
    """Where a point of the world [3] is in a canvas that lies at `box` on the screen, by viser's camera of it."""
    w, x, y, z = camera.wxyz
    axes = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    right, down, ahead = axes.T @ (np.asarray(point, float) - camera.position)
    scale = 0.5 * box["height"] / np.tan(camera.fov / 2)
    return box["x"] + box["width"] / 2 + scale * right / ahead, box["y"] + box["height"] / 2 + scale * down / ahead
