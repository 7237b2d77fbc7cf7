"""The built page in a real browser: it stands, goes where it is asked to, copes with walls and pushes, and can be shared."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from .conftest import Visitor

SIZE = 20
MIDDLE = (10, 10)
STEP = 0.4


def flat() -> np.ndarray:
    return np.zeros((SIZE, SIZE))


def centre(cell: tuple[int, int]) -> tuple[float, float]:
    return STEP * cell[0], STEP * cell[1]


def distance(result: dict, goal: tuple[float, float]) -> float:
    return float(np.hypot(*(np.array(result["state"]["qpos"][:2]) - goal)))


def test_it_stands(visitor) -> None:
    visitor.ground(flat(), MIDDLE)
    falls = visitor.run(1)["counts"]["falls"]
    result = visitor.run(240)
    roots = np.array(result["roots"])
    assert result["counts"]["falls"] == falls
    assert roots[:, 2].min() > 0.7 and np.hypot(*(roots[-1, :2] - centre(MIDDLE))) < 0.6
    assert visitor.ask("parc.state.status") == "stands"


@pytest.mark.parametrize("goal", [(16, 12), (9, 16)])
def test_a_clicked_goal_on_level_ground_is_reached(visitor, goal: tuple[int, int]) -> None:
    visitor.ground(flat(), MIDDLE)
    before = visitor.run(1)["counts"]
    visitor.click_ground(*centre(goal))
    result = visitor.run(450, until=True)
    assert (result["counts"]["arrivals"], result["counts"]["falls"]) == (before["arrivals"] + 1, before["falls"])
    assert distance(result, centre(goal)) < 0.8


def test_a_clicked_goal_on_a_box_is_reached(visitor) -> None:
    heights = flat()
    heights[13:18, 7:14] = 0.45
    visitor.ground(heights, (8, 10))
    before = visitor.run(1)["counts"]["arrivals"]
    visitor.click_ground(*centre((15, 10)))
    result = visitor.run(600, until=True)
    assert result["counts"]["arrivals"] == before + 1
    assert result["state"]["qpos"][2] > 0.45 + 0.45 and distance(result, centre((15, 10))) < 1.0


def test_a_brushed_wall_is_climbed_or_walked_around(visitor) -> None:
    """Drawn with the mouse, held where it starts until it stands high, then across."""
    visitor.ground(flat(), (7, 10))
    visitor.press("Raise")
    ends = [visitor.screen(*centre(cell)) for cell in ((12, 8), (12, 12))]
    visitor.tab.mouse.move(*ends[0])
    visitor.tab.mouse.down()
    for share in np.linspace(0, 1, 12):
        visitor.tab.mouse.move(*(ends[0] + share * (ends[1] - ends[0])))
        visitor.tab.wait_for_timeout(60)
    visitor.wait("parc.heights().filter((height) => height > 0.1).length >= 4 && Math.max(...parc.heights()) > 0.25")
    visitor.tab.mouse.up()
    visitor.tab.wait_for_timeout(100)  # until the worker has been told
    heights = np.reshape(visitor.ask("parc.heights()"), (SIZE, SIZE))
    assert heights.max() > 0.25 and (heights > 0.1).sum() >= 4
    visitor.press("Go")
    before = visitor.run(1)["counts"]["arrivals"]
    visitor.ask("parc.goTo(it[0], it[1])", centre((17, 10)))
    assert visitor.run(700)["counts"]["arrivals"] == before + 1


def test_a_push_is_survived(visitor) -> None:
    visitor.ground(flat(), MIDDLE)
    visitor.run(30)
    before = visitor.run(1)
    visitor.ask("parc.push([0.6, 0.3, 0])")
    pushed = visitor.run(1)
    assert np.linalg.norm(np.subtract(pushed["state"]["qvel"][:2], before["state"]["qvel"][:2])) > 0.2
    assert visitor.run(120)["counts"]["falls"] == before["counts"]["falls"]


def test_who_falls_is_put_back_on_its_feet(visitor) -> None:
    visitor.ground(flat(), MIDDLE)
    falls = visitor.run(10)["counts"]["falls"]
    visitor.ask("parc.push([6, 0, 0])")
    result = visitor.run(150)
    assert result["counts"]["falls"] > falls
    result = visitor.run(120)
    assert result["state"]["qpos"][2] > 0.7 and visitor.ask("parc.state.status") == "stands"


def test_keys_drive(visitor) -> None:
    visitor.ground(flat(), MIDDLE)
    visitor.run(1)
    visitor.tab.locator("#view").focus()
    ahead = np.array(visitor.ask("parc.page.view.ahead"))
    visitor.tab.keyboard.down("w")
    visitor.wait("parc.page.controls.driven")
    result = visitor.run(75)
    visitor.tab.keyboard.up("w")
    moved = np.array(result["state"]["qpos"][:2]) - centre(MIDDLE)
    assert moved @ ahead > 0.5, moved


def test_what_happened_is_saved_as_glb(visitor, tmp_path: Path) -> None:
    """Frame by frame the joints of the file are where the page says the bodies were."""
    visitor.ground(flat(), MIDDLE)
    visitor.run(20)
    with visitor.tab.expect_download() as download:
        visitor.press("Save GLB")
    file = tmp_path / "run.glb"
    download.value.save_as(file)
    data = file.read_bytes()
    assert data[:4] == b"glTF" and struct.unpack("<I", data[8:12])[0] == len(data)
    length = struct.unpack("<I", data[12:16])[0]
    gltf, binary = json.loads(data[20 : 20 + length]), data[28 + length :]

    def numbers(index: int, width: int) -> np.ndarray:
        accessor = gltf["accessors"][index]
        start = gltf["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(binary, "<f4", accessor["count"] * width, start).reshape(-1, width)

    animation = gltf["animations"][0]
    times = numbers(animation["samplers"][0]["input"], 1)[:, 0]
    assert len(times) >= 20 and np.allclose(np.diff(times), 1 / 30)
    root = numbers(animation["samplers"][0]["output"], 3)
    assert np.allclose(root[-1], visitor.ask("Array.from(parc.state.bodies.slice(0, 3))"), atol=1e-6)
    assert len(gltf["skins"][0]["joints"]) == 15 and {mesh["name"] for mesh in gltf["meshes"]} == {"ground", "mannequin"}
    import trimesh

    scene = trimesh.load(file, force="scene")
    assert {"ground", "mannequin"} <= {name.split(".")[0] for name in scene.geometry}


def test_the_other_buttons(visitor) -> None:
    """New ground of each kind, lowered cells, reset, speeds, and a camera that follows or does not."""
    for name in ("Platforms", "Boxes", "Walks", "Level"):
        visitor.press(name)
        kind = "flat" if name == "Level" else name.lower()
        visitor.wait("parc.page.ground.kind === it", kind)
        relief = visitor.ask("Math.max(...parc.heights()) - Math.min(...parc.heights())")
        assert (relief == 0) if kind == "flat" else relief > 0.2
    visitor.ground(flat(), MIDDLE)
    visitor.run(1)
    visitor.press("Lower")
    visitor.tab.mouse.move(*visitor.screen(*centre((12, 12))))
    visitor.tab.mouse.down()
    visitor.wait("Math.min(...parc.heights()) < -0.1")
    visitor.tab.mouse.up()
    visitor.press("Go")
    visitor.ask("parc.goTo(it[0], it[1])", centre((10, 14)))
    for follows in (False, True):
        visitor.ask("(document.querySelector('#follow').checked !== it) && document.querySelector('#follow').click()", follows)
        focus = visitor.ask("parc.page.view.focus.toArray()")
        start = visitor.ask("parc.state.place") if follows else [*centre(MIDDLE), 0]
        walked = np.hypot(*(np.array(visitor.run(45)["state"]["qpos"][:2]) - start[:2]))
        visitor.screen(0, 0)  # draws
        moved = np.linalg.norm(np.array(visitor.ask("parc.page.view.focus.toArray()")) - focus)
        assert walked > 0.3 and (moved > 0.2) == follows
    visitor.press("Reset")
    state = visitor.run(1)["state"]
    assert np.hypot(*(np.array(state["qpos"][:2]) - centre(MIDDLE))) < 0.1 and visitor.ask("parc.state.status") == "stands"
    assert visitor.ask("Math.min(...parc.heights())") < -0.1  # the ground stays as it was drawn
    for name, speed in (("¼", 0.25), ("½", 0.5), ("Pause", 0)):
        visitor.press(name)
        assert visitor.ask("parc.page.speed") == speed


def test_licences_of_what_is_bundled_are_in_the_page(visitor) -> None:
    visitor.press("Licences")
    text = visitor.tab.locator("#licence-list").inner_text()
    for name in (
        "@mujoco/mujoco 3.14.0",
        "Qhull, in @mujoco/mujoco",
        "onnxruntime-web",
        "Protocol Buffers, in onnx",
        "three",
        "parc",
    ):
        assert name in text
    visitor.tab.locator("#licence-list summary", has_text="@mujoco/mujoco 3.14.0").first.click()
    assert "Apache License" in visitor.tab.locator("#licence-list details[open] pre").inner_text()
    visitor.tab.keyboard.press("Escape")


def shown(visitor: Visitor, what: str) -> bool:
    """After the next frames; of the view's `what`."""
    visitor.screen(0, 0)
    return visitor.ask(f"new Promise((done) => setTimeout(() => done({what}), 100))")


def test_the_plan_is_a_ghost_ahead_while_it_goes(level: Visitor) -> None:
    ghost = "parc.page.view.ghost.group.visible"
    assert not shown(level, ghost)
    level.ask("parc.goTo(it[0], it[1])", centre((17, 10)))
    level.run(12)
    assert shown(level, ghost)
    ahead = level.ask("parc.page.view.ghost.bones[0].position.x - parc.state.place[0]")
    assert 0.2 < ahead < 4.0, ahead
    level.tab.locator("label", has_text="Plan").click()
    assert not shown(level, ghost)
    level.tab.locator("label", has_text="Plan").click()
    level.press("Stay")
    level.run(1)
    assert not shown(level, ghost)


def test_rates_are_told(level: Visitor) -> None:
    level.run(60)
    rates = r"/^\d+ frames\/s\n[\d.]+ × real time, could [\d.]+\n.*step [\d.]+ ms\n/"
    level.wait(rates + ".test(document.querySelector('#rates').innerText)")


def test_it_casts_a_shadow(level: Visitor) -> None:
    """The ground beside its feet, away from the sun, is darker than without."""

    def brightness() -> np.ndarray:
        script = """(() => { const { view } = parc.page; view.draw(0);
        const gl = view.renderer.getContext(), [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
        const data = new Uint8Array(4 * w * h), seen = [];
        gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, data);
        for (let k = 0; k < data.length; k += 40) seen.push(data[k] + data[k + 1] + data[k + 2]);
        return seen; })()"""
        return np.array(level.ask(script))

    level.screen(0, 0)
    lit = brightness()
    level.ask("void (parc.page.view.mannequin.mesh.castShadow = false)")
    bare = brightness()
    level.ask("void (parc.page.view.mannequin.mesh.castShadow = true)")
    darker = (bare - lit > 30).mean()
    assert 0.0005 < darker < 0.2 and (lit - bare > 30).mean() < darker / 10
