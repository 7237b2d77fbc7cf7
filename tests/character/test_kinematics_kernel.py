"""The kernels against the plain walk and its gradient: on the GPU where there is one, else in Triton's interpreter."""

import pytest
import torch

from parc.character import Character, Sphere, humanoid, rotation
from parc.character.character import BALL_AXES, Body, Joint
from parc.character.kinematics import _tree, forward_kinematics_matrix, walk_matrices

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")


def twig() -> Character:
    """A chain with a side branch that leaves it high up, listed last."""
    ball = Joint(axes=BALL_AXES, lower=(-1.0,) * 3, upper=(1.0,) * 3)
    shape = (Sphere((0, 0, 0), 0.1, 1000),)
    at = ((-1, (0, 0, 0)), (0, (0.1, 0.2, 0.3)), (1, (0, -0.4, 0)), (2, (0.5, 0, 0.1)), (0, (-0.3, 0, 0)), (4, (0, 0, 1)))
    bodies = [Body(f"b{k}", p, offset, ball if k else Joint(), shape) for k, (p, offset) in enumerate(at)]
    return Character("twig", tuple(bodies))


def pose(character: Character, frames: int) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(frames)
    turns = torch.randn(frames, character.num_bodies, 3, generator=random)
    matrices = rotation.to_matrix(rotation.from_exp(turns))
    given = torch.randn(frames, 3, generator=random), matrices[:, 0].contiguous(), matrices[:, 1:].contiguous()
    return tuple(t.to(DEVICE).requires_grad_() for t in given)


@pytest.fixture(scope="module")
def kernels(triton_module):
    return triton_module("parc.character.kinematics_kernel")


@pytest.mark.parametrize("character", [humanoid(), twig()], ids=lambda c: c.name)
@pytest.mark.parametrize("frames", [1, 131])
def test_kernels_are_the_walk_and_its_gradient(kernels, character, frames):
    given, tree = pose(character, frames), _tree(character, DEVICE)
    doubles = [t.detach().double().cpu().requires_grad_() for t in given]
    expected = forward_kinematics_matrix(character, *doubles)
    weights = [torch.randn(e.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) for e in expected]
    expected_grads = torch.autograd.grad(expected, doubles, weights)

    plain = [t.detach() for t in given]
    pos, rot = kernels.walk_on_gpu(*plain, *tree)
    torch.testing.assert_close(pos.cpu().double(), expected.pos.detach(), atol=2e-6, rtol=0)
    torch.testing.assert_close(rot.cpu().double(), expected.rot.detach(), atol=2e-6, rtol=0)
    grads = kernels.walk_back_on_gpu(*(w.float().to(DEVICE) for w in weights), plain[2], rot, *tree)
    for got, wanted in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(got.cpu().double(), wanted, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("character", [humanoid(), twig()], ids=lambda c: c.name)
def test_the_operator_is_the_walk(character):
    """On a CPU its plain version; gradients of one of the two results alone, too."""
    given, tree = pose(character, 3), _tree(character, DEVICE)
    expected = forward_kinematics_matrix(character, *[t.detach().cpu().double() for t in given])
    got = walk_matrices(*given, *tree)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.detach().cpu().double(), b, atol=2e-6, rtol=0)
    for k in (0, 1):
        through_operator = torch.autograd.grad(walk_matrices(*given, *tree)[k].square().sum(), given, allow_unused=True)
        doubles = [t.detach().cpu().double().requires_grad_() for t in given]
        plain = torch.autograd.grad(forward_kinematics_matrix(character, *doubles)[k].square().sum(), doubles, allow_unused=True)
        for a, b in zip(through_operator, plain, strict=True):
            torch.testing.assert_close(
                a.cpu().double(), torch.zeros_like(a.cpu().double()) if b is None else b, atol=5e-5, rtol=1e-5
            )


def test_the_operator_keeps_the_rules_of_operators():
    given, tree = pose(humanoid(), 2), _tree(humanoid(), DEVICE)
    torch.library.opcheck(walk_matrices, (*given, *tree))
