import itertools
from dataclasses import replace

import mujoco
import numpy as np
import torch

from parc.character import BodyPose, Box, Sphere, forward_kinematics, humanoid, rotation
from parc.character.character import Body, Character
from parc.character.joint_coordinates import dof_to_joints
from parc.character.mirror_pose import mirror_joint_rotations, mirror_positions
from parc.character.self_distance import NearPairs, self_depth, self_pairs
from parc.motion.mujoco_qpos import frames_to_qpos, state_layout
from parc.physics.mujoco_model import add_character, compile_spec, new_spec
from parc.physics.physical_contract import Contract


def random_pose(character, frames, seed=0, wild=1.5):
    """Root position, root rotation and joint rotations with coordinates from well beyond the joints' ranges."""
    generator = torch.Generator().manual_seed(seed)
    kind = {"generator": generator, "dtype": torch.float64}
    root_pos = torch.randn(frames, 3, **kind)
    root_rot = rotation.normalize(torch.randn(frames, 4, **kind))
    return root_pos, root_rot, dof_to_joints(character, wild * torch.randn(frames, character.num_dof, **kind))


def model_without_ground(character):
    spec = new_spec(Contract(), character.name)
    add_character(spec, character, Contract())
    spec.option.disableflags = 0  # distances of deep shapes need the native algorithm
    return compile_spec(spec, character)


def depths_of_mujoco(character, frames):
    """[T, P], positive inside, of mj_geomDistance."""
    model = model_without_ground(character)
    data, order = mujoco.MjData(model), state_layout(character).order
    geoms = [np.flatnonzero(model.geom_bodyid == order.index(b) + 1) for b in range(len(character))]
    found = []
    for qpos in frames_to_qpos(character, *frames):
        data.qpos[:] = qpos.numpy()
        mujoco.mj_kinematics(model, data)
        found.append(
            [
                max(-mujoco.mj_geomDistance(model, data, a, b, 10.0, None) for a in geoms[i] for b in geoms[j])
                for i, j in self_pairs(character)
            ]
        )
    return torch.tensor(found, dtype=torch.float64)


def kinds_of(character):
    """For each pair which kinds of shapes meet: 0 without a box, 1 with one, 2 with two."""
    boxes = [any(isinstance(s, Box) for s in b.shapes) for b in character.bodies]
    return torch.tensor([boxes[i] + boxes[j] for i, j in self_pairs(character)])


def depth_of(character, frames):
    return self_depth(character, forward_kinematics(character, *frames))


def test_depth_is_mujocos(character):
    frames = random_pose(character, 60)
    ours, theirs = depth_of(character, frames), depths_of_mujoco(character, frames)
    error, kind = (ours - theirs).abs(), kinds_of(character)
    assert (theirs > 0.01).any(0).sum() > 0.3 * len(kind)
    assert error[:, kind == 0].max() < 1e-6
    thinnest = min(s.radius for b in character.bodies for s in b.shapes if not isinstance(s, Box))
    outside = ours < thinnest  # the axis is outside of the box: deeper ones are beyond MuJoCo's own functions
    assert torch.where(outside, error, 0.0)[:, kind == 1].max() < 1e-5
    assert (ours > theirs - 0.05)[:, kind == 1].all()
    assert ((ours > 0) == (theirs > 0)).all()
    assert torch.where(ours > 0, error, 0.0)[:, kind == 2].max() < 1e-4
    assert (ours > theirs - 1e-6)[:, kind == 2].all()


def test_boxes_overlap_as_deep_as_mujoco_says():
    """Two bodies with turned boxes, one moved through the other."""
    boxes = [
        Box((0.01, 0.02, 0.0), (0.09, 0.045, 0.03), 1000, (0.1, 0.2, 0.3, 0.927362)),
        Box((0, 0, 0), (0.08, 0.05, 0.02), 1000),
    ]
    bodies = (
        Body("root", -1, (0, 0, 0), shapes=(boxes[0],)),
        Body("link", 0, (0, 0.5, 0), joint=humanoid().bodies[1].joint, shapes=(Sphere((0, 0, 0), 0.01, 1000),)),
        Body("end", 1, (0, 0.5, 0), joint=humanoid().bodies[1].joint, shapes=(boxes[1],)),
    )
    pair = Character("pair", bodies)
    assert self_pairs(pair) == ((0, 2),)
    generator = torch.Generator().manual_seed(3)
    turns = rotation.normalize(torch.randn(300, 3, 4, generator=generator, dtype=torch.float64))
    apart = 0.06 * torch.randn(300, 3, generator=generator, dtype=torch.float64)
    pose = BodyPose(torch.stack([torch.zeros_like(apart), apart + 9, apart], 1), turns)
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody>"
        + "".join(
            f'<body mocap="true"><geom type="box" size="{" ".join(map(str, b.half))}" pos="{" ".join(map(str, b.centre))}" '
            f'quat="{b.rotation[3]} {b.rotation[0]} {b.rotation[1]} {b.rotation[2]}"/></body>'
            for b in boxes
        )
        + "</worldbody></mujoco>"
    )
    data, theirs = mujoco.MjData(model), []
    for pos, rot in zip(pose.pos[:, ::2], pose.rot[:, ::2], strict=True):
        data.mocap_pos[:], data.mocap_quat[:] = pos.numpy(), rot[:, [3, 0, 1, 2]].numpy()
        mujoco.mj_kinematics(model, data)
        theirs.append(-mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None))
    expected, ours = torch.tensor(theirs), self_depth(pair, pose)[:, 0]
    inside = expected > 0
    assert 50 < inside.sum() < 250
    assert (ours - expected).abs()[inside].max() < 1e-4
    assert (ours >= expected - 1e-5).all() and (ours < 0)[~inside].all()


def filtered_by_mujoco(character):
    """Pairs that MuJoCo does not let collide, whatever their masks."""
    model, order = model_without_ground(character), state_layout(character).order
    assert not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    weld, parent = model.body_weldid, model.body_weldid[model.body_parentid[model.body_weldid]]
    return {
        tuple(sorted((order[a - 1], order[b - 1])))
        for a, b in itertools.combinations(range(1, model.nbody), 2)
        if weld[a] == weld[b] or weld[a] == parent[b] or weld[b] == parent[a]
    }


def test_zero_pose_and_mujocos_rules_choose_the_pairs(character):
    assert depth_of(character, random_pose(character, 1, wild=0)).max() <= 0
    pairs = self_pairs(character)
    assert pairs == tuple(sorted(pairs)) and all(i < j for i, j in pairs)
    assert not filtered_by_mujoco(character) & set(pairs)
    if character.name == "humanoid":
        every = set(itertools.combinations(range(15), 2))
        assert set(pairs) == every - filtered_by_mujoco(character) and len(pairs) == 89


def test_bodies_joined_without_a_joint_are_one():
    """A tail fixed to the pelvis, and listed last, never meets the thighs."""
    tail = Body("tail", 0, (-0.4, 0, 0), shapes=(Sphere((0, 0, 0), 0.05, 1000),))
    tailed = Character("tailed", (*humanoid().bodies, tail))
    every = set(itertools.combinations(range(16), 2))
    assert set(self_pairs(tailed)) == every - filtered_by_mujoco(tailed)
    assert (0, 15) not in self_pairs(tailed) and (tailed.index("left_thigh"), 15) not in self_pairs(tailed)
    assert (tailed.index("left_shin"), 15) in self_pairs(tailed)


def test_a_pair_that_overlaps_in_the_zero_pose_is_left_out():
    body = humanoid()
    hand, thigh = body.index("left_hand"), body.index("left_thigh")
    assert (hand, thigh) in self_pairs(body)
    long = replace(body.bodies[hand], shapes=(Sphere((0, 0, 0), 0.9, 1000),))
    assert (hand, thigh) not in self_pairs(
        replace(body, name="big hand", bodies=tuple(long if b.name == long.name else b for b in body.bodies))
    )


def test_mirrored_poses_are_as_deep(symmetric):
    root_pos, root_rot, joint_rot = random_pose(symmetric, 20, seed=1)
    image = mirror_positions(root_pos), rotation.reflect(root_rot), mirror_joint_rotations(symmetric, joint_rot)
    place = {pair: k for k, pair in enumerate(self_pairs(symmetric))}
    other = [place[tuple(sorted((symmetric.mirror_of[i], symmetric.mirror_of[j])))] for i, j in place]
    assert torch.allclose(depth_of(symmetric, image)[:, other], depth_of(symmetric, (root_pos, root_rot, joint_rot)), atol=2e-6)


def test_gradient_moves_joints_as_the_depth_does(character):
    """Of what is computed exactly: axes of capsules inside of boxes are left out."""
    root_pos, root_rot, joint_rot = random_pose(character, 3, seed=5)
    kept = depth_of(character, (root_pos, root_rot, joint_rot)) < 0.03
    dof = torch.zeros(3, character.num_dof, dtype=torch.float64, requires_grad=True)

    def depth(change):
        turned = rotation.multiply(dof_to_joints(character, change), joint_rot)
        return depth_of(character, (root_pos, root_rot, turned))[kept]

    assert torch.autograd.gradcheck(depth, (dof,), atol=2e-5)


def test_kinds_of_poses_agree(character):
    frames = random_pose(character, 6)
    pose, depth = forward_kinematics(character, *frames), depth_of(character, frames)
    matrices = BodyPose(pose.pos, rotation.to_matrix(pose.rot))
    assert torch.allclose(self_depth(character, matrices), depth, atol=1e-12)
    single = depth_of(character, tuple(x.float() for x in frames))
    assert single.dtype == torch.float32 and (single - depth).abs().max() < 2e-4
    assert torch.allclose(
        self_depth(character, BodyPose(pose.pos.unflatten(0, (2, 3)), pose.rot.unflatten(0, (2, 3)))), depth.unflatten(0, (2, 3))
    )


def test_near_pairs_are_those_that_were_near(character):
    """Moved a little, their depths are those of all; a pair that was far is not among them."""
    root_pos, root_rot, joint_rot = (x.unflatten(0, (3, 4)) for x in random_pose(character, 12))
    pose = forward_kinematics(character, root_pos, root_rot, joint_rot)
    among = torch.ones(3, 4, dtype=torch.bool)
    among[1, 2] = False
    near = NearPairs(character, pose, 0.05, among)
    assert set(near.frame.tolist()) <= set(range(12)) - {6}
    assert len(near.frame) < 0.5 * 12 * len(self_pairs(character))
    turn = rotation.from_exp(0.01 * torch.ones(3, dtype=torch.float64))
    moved = forward_kinematics(character, root_pos + 1.0, root_rot, rotation.multiply(turn, joint_rot))
    depth = self_depth(character, moved).amax(-1).clamp_min(0).flatten()
    depth[6] = 0.0
    found = torch.zeros(12, dtype=torch.float64).scatter_reduce(0, near.frame, near.depth(moved), "amax")
    assert (depth > 0.01).sum() > 3
    assert torch.allclose(found, depth, atol=1e-9)
    kinds = BodyPose(moved.pos, rotation.to_matrix(moved.rot))
    assert torch.allclose(near.depth(kinds), near.depth(moved), atol=1e-12)


def test_nothing_near_is_no_depth():
    pose = forward_kinematics(humanoid(), torch.zeros(2, 3), rotation.identity((2,)), rotation.identity((2, 14)))
    assert NearPairs(humanoid(), pose, 0.0).depth(pose).shape == (0,)


def test_coinciding_centres_have_a_finite_gradient():
    pose = BodyPose(torch.zeros(1, 15, 3, requires_grad=True), rotation.identity((1, 15)).requires_grad_())
    self_depth(humanoid(), pose).sum().backward()
    assert pose.pos.grad.isfinite().all() and pose.rot.grad.isfinite().all()
