import math

import numpy as np
import pytest

from parc.character import Box, Capsule, Sphere
from parc.character.mjcf import read_mjcf

CUBE = " ".join(f"{x} {y} {z}" for x in (0, 0.2) for y in (0, 0.4) for z in (0, 0.6))


def read(tmp_path, geoms, body="", assets=""):
    path = tmp_path / "model.xml"
    path.write_text(
        f"<mujoco><asset>{assets}</asset><worldbody><body name='a' {body}><freejoint/>{geoms}</body></worldbody></mujoco>"
    )
    result = read_mjcf(path)
    return result.character.bodies[0].shapes, result.notes


def test_cylinder_is_the_capsule_inside(tmp_path):
    (shape,), notes = read(tmp_path, '<geom name="g" type="cylinder" size="0.1 0.3" pos="0 0 1" mass="2"/>')
    assert isinstance(shape, Capsule)
    assert np.allclose(sorted([shape.start, shape.end]), [[0, 0, 0.8], [0, 0, 1.2]]) and shape.radius == 0.1
    assert math.isclose(shape.mass, 2) and notes == ("geom 'g' of body 'a' is a cylinder, read as the capsule inside it",)


def test_flat_cylinder_is_the_box_inside(tmp_path):
    (shape,), _ = read(tmp_path, '<geom type="cylinder" size="0.2 0.05"/>')
    assert isinstance(shape, Box)
    assert math.isclose(math.hypot(*shape.half[:2]), 0.2, rel_tol=1e-8) and shape.half[2] == 0.05
    assert math.isclose(shape.mass, 1000 * math.pi * 0.2**2 * 0.1, rel_tol=1e-9)


def test_ellipsoid_is_a_capsule_along_its_longest_axis(tmp_path):
    (shape,), _ = read(tmp_path, '<geom type="ellipsoid" size="0.1 0.5 0.1"/>')
    assert isinstance(shape, Capsule) and math.isclose(shape.radius, 0.1)
    assert np.allclose(sorted([shape.start, shape.end]), [[0, -0.4, 0], [0, 0.4, 0]])
    (ball,), _ = read(tmp_path, '<geom type="ellipsoid" size="0.1 0.1 0.1"/>')
    assert isinstance(ball, Sphere) and math.isclose(ball.radius, 0.1)


def test_mesh_is_its_bounding_box(tmp_path):
    mesh = f'<mesh name="block" vertex="{CUBE}"/>'
    (shape,), notes = read(tmp_path, '<geom type="mesh" mesh="block" pos="1 0 0"/>', assets=mesh)
    assert isinstance(shape, Box)
    assert np.allclose(shape.bounds, [[1, 0, 0], [1.2, 0.4, 0.6]], atol=1e-6)
    assert math.isclose(shape.mass, 48, rel_tol=1e-5) and "is a mesh, read as its bounding box" in notes[0]


@pytest.mark.parametrize("turn", ["90 0 0", "0 90 0", "0 0 90", "90 90 0", "180 0 90"])
def test_boxes_along_the_axes_keep_no_rotation(tmp_path, turn):
    (turned,), _ = read(tmp_path, f'<geom type="box" size="0.1 0.2 0.3" euler="{turn}"/>', body='euler="0 0 0"')
    assert turned.rotation == (0, 0, 0, 1) and sorted(turned.half) == [0.1, 0.2, 0.3]
    (tilted,), _ = read(tmp_path, f'<geom type="box" size="0.1 0.2 0.3" euler="{turn}"/>', body='euler="0 0.1 0"')
    assert tilted.rotation != (0, 0, 0, 1)
    assert np.allclose(turned.bounds, tilted.bounds, atol=1e-3)


def test_bodies_share_an_inertial_mass_as_their_geoms_do(tmp_path):
    inertial = '<inertial pos="0 0 0" mass="12" diaginertia="1 1 1"/>'
    shapes, _ = read(tmp_path, inertial + '<geom size="0.1" mass="1"/><geom size="0.2" mass="2"/>')
    assert np.allclose([s.mass for s in shapes], [4, 8])
    shapes, _ = read(tmp_path, inertial + '<geom size="0.1" mass="0"/><geom size="0.2" mass="0"/>')
    assert np.allclose([s.mass for s in shapes], [12 / 9, 12 * 8 / 9]), "by volume where the geoms have none"


def test_drawings_are_left_out_only_beside_solids(tmp_path):
    drawing = '<geom type="box" size="1 1 1" contype="0" conaffinity="0" mass="3"/>'
    shapes, _ = read(tmp_path, drawing + '<geom size="0.1" mass="1"/>')
    assert len(shapes) == 1 and isinstance(shapes[0], Sphere) and math.isclose(shapes[0].mass, 4)
    shapes, _ = read(tmp_path, drawing)
    assert len(shapes) == 1 and isinstance(shapes[0], Box)
