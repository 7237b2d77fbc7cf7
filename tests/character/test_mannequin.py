"""The skin of the mannequin: closed, around the collision shapes, and moved smoothly by the bodies."""

import math

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.character.body_shape import Box, Capsule, Sphere
from parc.character.character import Body, Character
from parc.character.kinematics import forward_kinematics
from parc.character.mannequin import Mannequin, MannequinSettings, mannequin
from parc.errors import CharacterError
from parc.render.ray_cast_bodies import matrix

BODY = humanoid()


@pytest.fixture(scope="module")
def skin() -> Mannequin:
    return mannequin(BODY)


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def edges_of(faces: np.ndarray) -> np.ndarray:
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def bent(skin: Mannequin, body: str, angle: float) -> np.ndarray:
    """The skin with one joint turned about y, root at the origin."""
    joints = torch.tensor([0.0, 0, 0, 1]).repeat(1, len(BODY) - 1, 1)
    joints[0, BODY.index(body) - 1] = torch.tensor([0, math.sin(angle / 2), 0, math.cos(angle / 2)])
    pose = forward_kinematics(BODY, torch.zeros(1, 3), torch.tensor([[0.0, 0, 0, 1]]), joints)
    return skin.posed(pose.pos[0].double().numpy(), matrix(pose.rot[0].double().numpy()))


def test_it_is_one_closed_surface_that_looks_outwards(skin: Mannequin) -> None:
    edges = edges_of(skin.faces)
    there, back = (sorted(map(tuple, e)) for e in (edges, edges[:, ::-1]))
    assert there == back and len(set(there)) == len(there)  # each edge once in each direction
    assert len(skin.vertices) - len(edges) // 2 + len(skin.faces) == 2  # Euler: a sphere, no holes, one part
    mass = sum(s.mass for b in BODY.bodies for s in b.shapes)
    assert 0.8 * mass / 1000 < volume(skin.vertices, skin.faces) < 1.6 * mass / 1000
    face = np.cross(*(skin.vertices[skin.faces[:, k]] - skin.vertices[skin.faces[:, 0]] for k in (1, 2)))
    along = (face * skin.normals[skin.faces[:, 0]]).sum(-1) / np.linalg.norm(face, axis=-1)
    assert np.quantile(along, 0.002) > 0.5


def test_it_lies_close_around_the_collision_shapes(skin: Mannequin) -> None:
    """What touches the terrain in physics touches it in the picture, too."""
    distances = np.full(len(skin.vertices), np.inf)
    for body, origin in zip(BODY.bodies, skin.origins, strict=True):
        p = skin.vertices - origin
        for s in body.shapes:
            if isinstance(s, Box):
                over = np.abs(p - s.centre) - s.half
                away = np.linalg.norm(np.maximum(over, 0), axis=-1) + np.minimum(over.max(-1), 0)
            elif isinstance(s, Sphere):
                away = np.linalg.norm(p - s.centre, axis=-1) - s.radius
            else:
                a, b = np.array(s.start), np.array(s.end)
                at = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
                away = np.linalg.norm(p - a - at[:, None] * (b - a), axis=-1) - s.radius
            distances = np.minimum(distances, away)
    assert distances.max() < 0.075 and distances.min() > -0.05
    sole = min(
        skin.origins[k][2] + s.centre[2] - s.half[2] for k in BODY.feet for s in BODY.bodies[k].shapes if isinstance(s, Box)
    )
    assert abs(skin.vertices[:, 2].min() - sole) < 0.004


def test_left_is_the_reflection_of_right(skin: Mannequin) -> None:
    from scipy.spatial import cKDTree

    near, _ = cKDTree(skin.vertices).query(skin.vertices * [1, -1, 1])
    assert near.max() < 1e-6


def test_weights_are_shares_and_the_zero_pose_is_itself(skin: Mannequin) -> None:
    assert skin.joints.shape == skin.weights.shape == (len(skin.vertices), 4)
    assert (skin.weights >= 0).all() and (np.diff(skin.weights, axis=1) <= 1e-12).all()
    np.testing.assert_allclose(skin.weights.sum(-1), 1, atol=1e-12)
    still = skin.posed(skin.origins, np.tile(np.eye(3), (len(skin.origins), 1, 1)))
    np.testing.assert_allclose(still, skin.vertices, atol=1e-12)
    dense = skin.dense_weights()
    jumps = np.abs(dense[skin.faces[:, 0]] - dense[skin.faces[:, 1]]).max(-1)
    assert jumps.max() < 0.35  # from one vertex to the next
    assert (dense.max(0) > 0.95).all()  # every body has skin of its own


def test_a_bent_knee_moves_the_shin_alone_and_keeps_its_volume(skin: Mannequin) -> None:
    knelt = bent(skin, "right_shin", 1.6)
    moved = np.linalg.norm(knelt - skin.vertices, axis=-1)
    knee = skin.origins[BODY.index("right_shin")]
    below = (skin.vertices[:, 1] < 0) & (skin.vertices[:, 2] < knee[2] - 0.08)
    assert moved[below].min() > 0.05
    elsewhere = (skin.vertices[:, 2] > knee[2] + 0.16) | (skin.vertices[:, 1] > 0.01)
    assert moved[elsewhere].max() < 1e-6
    assert volume(knelt, skin.faces) == pytest.approx(volume(skin.vertices, skin.faces), rel=0.03)
    lengths = [np.linalg.norm(v[skin.faces[:, 0]] - v[skin.faces[:, 1]], axis=-1) for v in (skin.vertices, knelt)]
    assert (lengths[1] / lengths[0]).max() < 6


def test_other_characters_have_a_skin_of_their_shapes(tmp_path) -> None:
    ball = Body("base", -1, (0, 0, 0), shapes=(Sphere((0, 0, 0), 0.2, 1000),))
    arm = Body("arm", 0, (0.3, 0, 0), shapes=(Capsule((0.1, 0, 0), (0.4, 0, 0), 0.06, 1000),))
    box = Body("hand", 1, (0.5, 0, 0), shapes=(Box((0.1, 0, 0), (0.1, 0.05, 0.05), 1000),))
    skin = mannequin(Character("lamp", (ball, arm, box)), MannequinSettings(cell=0.03))
    edges = edges_of(skin.faces)
    assert len(skin.vertices) - len(edges) // 2 + len(skin.faces) == 2
    assert skin.vertices[:, 0].max() == pytest.approx(1.0, abs=0.02) and skin.vertices[:, 0].min() == pytest.approx(
        -0.2, abs=0.02
    )
    with pytest.raises(CharacterError, match="no skin"):
        mannequin(Character("ghost", (Body("base", -1, (0, 0, 0)),)))
    with pytest.raises(CharacterError, match=r"expected 0\.004"):
        MannequinSettings(cell=0)
