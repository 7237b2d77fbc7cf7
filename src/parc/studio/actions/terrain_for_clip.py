"""Ground for a motion that has none, or the wrong one: from its contact labels, by the reconstruction that motion capture uses.

Every unbroken stretch of a foot's label is one stance of heel and toe, of a hand's label one hold;
`parc.mocap.contact.support_levels` clusters their heights, `parc.mocap.terrain.reconstruct_terrain` finds the grid and its cells.
The grid is aligned with the world, so the motion may be turned.
"""

import numpy as np
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.mocap.contact.find_contacts import Contacts, Event, Part
from parc.mocap.contact.support_levels import find_levels
from parc.mocap.read.joint_naming import SIDES
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.terrain.reconstruct_terrain import ReconstructSettings, reconstruct
from parc.path.terrain_path import TerrainPath


def fit_terrain(clip: Clip, character: Character, settings: ReconstructSettings = ReconstructSettings()) -> Clip:
    """The clip on ground made from its contacts, motion and path turned about the vertical as the ground's grid needs."""
    events = _events(clip, character)
    if not events:
        raise MotionError(
            f"'{clip.name}' has no contact labels of feet or hands, and the ground is made from those; label them first"
        )
    supports = find_levels(Contacts(len(clip.motion), tuple(sorted(events, key=lambda e: e.start))), clip.motion.fps)
    if not supports.levels:
        raise MotionError(f"the contacts of '{clip.name}' agree on no height to put the ground at")
    ground = reconstruct(supports, clip.motion, character, settings)
    turn = torch.tensor(ground.yaw, dtype=clip.motion.root_pos.dtype)
    path = None if clip.path is None else TerrainPath(rotation.rotate(rotation.from_yaw(turn), clip.path.nodes))
    return clip.derived(clip.name, "fit terrain", motion=clip.motion.moved(turn=turn), terrain=ground.terrain, path=path)


def _events(clip: Clip, character: Character) -> list[Event]:
    anatomy = Anatomy.of(character)
    pose = clip.motion.body_poses(character)
    pos, turns = pose.pos.double().numpy(), rotation.to_matrix(pose.rot).double().numpy()
    labels = clip.motion.contacts.numpy() > 0.5
    events: list[Event] = []
    for side in SIDES:
        foot, hand = anatomy.body[f"{side}_ankle"], anatomy.body[f"{side}_wrist"]
        corners = pos[:, None, foot] + np.einsum("tij,cj->tci", turns[:, foot], anatomy.sole)
        underside = pos[:, None, hand] - np.array([0.0, 0.0, _half_height(character, hand)])
        parts: tuple[tuple[int, Part, np.ndarray], ...] = (
            (foot, "heel", corners[:, :2]),
            (foot, "toe", corners[:, 2:]),
            (hand, "hand", underside),
        )
        for body, part, points in parts:
            events += [Event(side, part, start, stop, points[start:stop]) for start, stop in _runs(labels[:, body])]
    return events


def _half_height(character: Character, body: int) -> float:
    shapes = character.bodies[body].shapes
    return max((0.5 * (shape.bounds[1][2] - shape.bounds[0][2]) for shape in shapes), default=0.0)


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
