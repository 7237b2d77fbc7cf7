"""Laws of the camera: known points land where they must, rays and projection are inverse, framing shows everything."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parc.errors import SettingsError
from parc.render.camera import Camera

SIZE = (400, 300)


def test_known_points_of_a_perspective_view():
    camera = Camera((0, -10, 0), (0, 0, 0), field_of_view=math.degrees(2 * math.atan(0.5)))
    np.testing.assert_allclose(camera.project([0, 0, 0], SIZE), [200, 150, 10], atol=1e-9)
    # At depth 10 the picture is 10 m high: 30 px a metre; x is to the right, z up (and y of the picture down).
    np.testing.assert_allclose(camera.project([1, 0, 2], SIZE), [230, 90, 10], atol=1e-9)
    np.testing.assert_allclose(camera.project([1, 10, 2], SIZE), [215, 120, 20], atol=1e-9)


def test_known_points_of_an_orthographic_view():
    camera = Camera((0, 0, 50), (0, 0, 0), span=6.0)
    np.testing.assert_allclose(camera.project([[1, 0, 0], [0, 1, 3]], SIZE), [[250, 150, 50], [200, 100, 47]], atol=1e-9)


@given(
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    st.floats(-180, 180),
    st.floats(-60, 90),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_ray_of_a_pixel_meets_the_point_that_projects_there(point, azimuth, elevation, flat):
    camera = Camera.framing(np.array([[-6.0, -6, -6], [6, 6, 6]]), SIZE, azimuth, elevation, orthographic=flat)
    px, py, depth = camera.project(point, SIZE)
    origin, direction = (np.array([1, px, py]) @ table for table in camera.rays(SIZE))
    np.testing.assert_allclose(origin + depth * direction, point, atol=1e-7)


@given(st.integers(0, 10_000), st.floats(-180, 180), st.floats(-30, 90), st.booleans())
@settings(max_examples=40, deadline=None)
def test_framing_shows_every_point_and_touches_the_margin(seed, azimuth, elevation, flat):
    points = np.random.default_rng(seed).uniform(-3, 3, (20, 3)) * [2, 1, 0.5]
    camera = Camera.framing(points, SIZE, azimuth, elevation, orthographic=flat, margin=0.05)
    seen = camera.project(points, SIZE)
    share = seen[:, :2] / SIZE
    assert (share > 0.05 - 1e-6).all() and (share < 0.95 + 1e-6).all() and (seen[:, 2] > 0).all()
    spread = np.ptp(share, axis=0).max()
    assert spread > 0.9 - 1e-6 if flat else spread > 0.75


def test_impossible_cameras_are_refused():
    with pytest.raises(SettingsError, match="cannot look at"):
        Camera((1, 1, 1), (1, 1, 1))
    with pytest.raises(SettingsError, match="field of view"):
        Camera((1, 1, 1), (0, 0, 0), field_of_view=180)
    with pytest.raises(SettingsError, match="finite point"):
        Camera.framing(np.zeros((0, 3)), SIZE)


def test_a_turned_camera_looks_at_the_same_point_from_the_side_asked_for() -> None:
    camera = Camera.framing(np.random.default_rng(0).normal(size=(20, 3)), (320, 240), -60.0, 24.0)
    assert np.allclose(camera.side, (-60.0, 24.0))
    turned = camera.turned(130.0, 56.0)
    assert np.allclose(turned.side, (130.0, 56.0)) and turned.target == camera.target
    assert np.isclose(
        np.linalg.norm(np.subtract(turned.eye, turned.target)), np.linalg.norm(np.subtract(camera.eye, camera.target))
    )
    assert np.allclose(camera.turned(*camera.side).eye, camera.eye)
