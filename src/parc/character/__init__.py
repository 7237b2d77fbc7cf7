"""The body: what it is made of, how it turns, where its surface is."""

from parc.character.body_shape import Box, Capsule, Shape, Sphere
from parc.character.body_surface import Surface, min_per_body, surface_points, world_points
from parc.character.character import Body, Character, Joint
from parc.character.humanoid import humanoid
from parc.character.kinematics import BodyPose, forward_kinematics, forward_kinematics_matrix
from parc.character.named_character import find_character
from parc.character.self_distance import self_depth, self_pairs

__all__ = [
    "Body", "BodyPose", "Box", "Capsule", "Character", "Joint", "Shape", "Sphere", "Surface",
    "find_character", "forward_kinematics", "forward_kinematics_matrix", "humanoid", "min_per_body", "self_depth", "self_pairs",
    "surface_points", "world_points",
]  # fmt: skip
