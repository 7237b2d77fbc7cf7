"""An exported GLB played by three.js in a browser: the body is where the motion says.

The viewer is the page of viser, which loads GLB with three's own loader and plays its animation. The body slides along x and
rises as it goes, one height for each place, so a picture taken at any time can be judged.
"""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import humanoid, rotation, surface_points, world_points
from parc.dataset.clip import Clip
from parc.dataset.convert.glb_format import write_glb
from parc.dataset.convert.y_up_axes import to_y_up
from parc.motion.motion import Motion

WIDTH, HEIGHT, FOV, AWAY = 400, 300, 0.7, 7.0
FRAMES, WAY, RISE = 60, 2.4, 0.6


def sliding(walk: Clip) -> Clip:
    share = torch.linspace(0, 1, FRAMES)
    root = torch.stack([WAY * share, torch.zeros(FRAMES), 1.2 + RISE * share], -1)
    joints = rotation.identity((FRAMES, humanoid().num_joints))
    motion = Motion(root, rotation.identity((FRAMES,)), joints, torch.zeros(FRAMES, len(humanoid())), fps=15.0)
    return replace(walk, motion=motion, terrain=replace(walk.terrain, heights=torch.full_like(walk.terrain.heights, -3.0)))


def blue(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    colour = picture[..., :3].astype(int)
    return np.nonzero(colour[..., 2] > colour[..., 0] + 40)


def seen(picture: np.ndarray) -> tuple[float, float, float]:
    """Middle along x, and top and bottom, of what is blue, in m of the plane through the body."""
    rows, columns = blue(picture)
    metre = 0.5 * HEIGHT / np.tan(0.5 * FOV) / AWAY
    x = (np.median(columns) + 0.5 - WIDTH / 2) / metre
    top, bottom = ((HEIGHT / 2 - row) / metre for row in (rows.min(), rows.max() + 1))
    return x + 0.5 * WAY, top + 1.2, bottom + 1.2


def test_the_pelvis_of_a_played_glb_is_where_the_motion_says(walk: Clip, browser) -> None:
    viser = pytest.importorskip("viser")
    clip, character = sliding(walk), humanoid()
    surface = world_points(surface_points(character), clip.motion.frame(0).body_poses(character))[0] - clip.motion.root_pos[0]
    up = torch.tensor(np.linalg.inv(to_y_up(np.eye(3)).T))
    upright = rotation.from_matrix(up)[[3, 0, 1, 2]].numpy()
    look = rotation.from_matrix(torch.tensor([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]))[[3, 0, 1, 2]].numpy()
    server = viser.ViserServer(port=0, verbose=False)
    places: list[float] = []
    try:
        server.scene.add_glb("/clip", write_glb(clip, character, "capsules"), wxyz=upright)
        tab = browser.new_page(viewport={"width": 420, "height": 320})
        tab.goto(f"http://127.0.0.1:{server.get_port()}")
        deadline = time.monotonic() + 60
        while not server.get_clients():
            assert time.monotonic() < deadline, "the page does not connect"
            tab.wait_for_timeout(100)
        client = next(iter(server.get_clients().values()))
        while len(blue(_rendered(client, tab, look))[0]) < 400:  # lights come after shapes
            assert time.monotonic() < deadline, "no body in the picture"
            tab.wait_for_timeout(200)
        for _ in range(4):
            picture = _rendered(client, tab, look)
            x, top, bottom = seen(picture)
            expected = clip.motion.root_pos[0, 2] + RISE * x / WAY
            assert -0.08 < x < WAY + 0.08
            assert abs(top - float(expected + surface[:, 2].max())) < 0.06
            assert abs(bottom - float(expected + surface[:, 2].min())) < 0.06
            places.append(x)
        tab.close()
    finally:
        server.stop()
    assert np.ptp(places) > 0.3, f"it does not play: the body stays at {places}"


def _rendered(client, tab, look: np.ndarray) -> np.ndarray:
    """Asked for in another thread, as the page must go on meanwhile."""
    import threading

    found: list[np.ndarray] = []
    camera = {"position": np.array([0.5 * WAY, -AWAY, 1.2]), "wxyz": look, "fov": FOV}
    thread = threading.Thread(target=lambda: found.append(client.get_render(HEIGHT, WIDTH, **camera)), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while thread.is_alive():
        assert time.monotonic() < deadline, "the page draws nothing"
        tab.wait_for_timeout(50)
    return found[0]
