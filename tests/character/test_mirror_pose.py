import pytest
import torch

from parc.character import forward_kinematics, rotation
from parc.character.mirror_pose import mirror_bodies, mirror_contacts, mirror_joint_rotations, mirror_positions
from parc.character.mjcf import character_from_mjcf
from parc.errors import CharacterError


def test_twice_is_the_identity(symmetric, random_rotations):
    joints, points = random_rotations(7, symmetric.num_joints), torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    contacts = torch.rand(7, symmetric.num_bodies, generator=torch.Generator().manual_seed(1))
    assert torch.equal(mirror_joint_rotations(symmetric, mirror_joint_rotations(symmetric, joints)), joints)
    assert torch.equal(mirror_positions(mirror_positions(points)), points)
    assert torch.equal(mirror_contacts(symmetric, mirror_contacts(symmetric, contacts)), contacts)


def test_mirror_of_the_bodies_is_the_bodies_of_the_mirror(symmetric, random_rotations):
    root_pos = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    root_rot, joints = random_rotations(20), random_rotations(20, symmetric.num_joints)
    pose = forward_kinematics(symmetric, root_pos, root_rot, joints)
    mirrored = forward_kinematics(
        symmetric, mirror_positions(root_pos), rotation.reflect(root_rot), mirror_joint_rotations(symmetric, joints)
    )
    swap = list(symmetric.mirror_of)
    assert swap != list(range(symmetric.num_bodies))
    assert torch.allclose(mirrored.pos[:, swap], mirror_positions(pose.pos), atol=1e-8)
    assert torch.allclose(mirrored.rot[:, swap], rotation.reflect(pose.rot), atol=1e-12)


def test_contacts_change_sides(symmetric):
    left, right = symmetric.feet
    contacts = torch.zeros(symmetric.num_bodies)
    contacts[left] = 1
    assert mirror_contacts(symmetric, contacts).nonzero().flatten().tolist() == [right]


def test_a_character_without_symmetry_is_refused(walker_path):
    walker = character_from_mjcf(walker_path)
    with pytest.raises(CharacterError, match="character 'walker' has no left-right symmetry"):
        mirror_bodies(walker)
