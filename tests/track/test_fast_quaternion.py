import torch

from parc.character import rotation
from parc.track.env.fast_quaternion import QuaternionAlgebra, angle_between


def random_quaternions(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return rotation.normalize(torch.randn(*shape, 4, generator=generator))


def test_the_constant_tensors_say_what_the_rotation_module_says() -> None:
    algebra, q = QuaternionAlgebra("cpu"), random_quaternions(50, 2)
    a, b = q[:, 0], q[:, 1]
    torch.testing.assert_close(algebra.difference(a, b), rotation.difference(a, b), atol=1e-6, rtol=0)
    torch.testing.assert_close(algebra.matrix(a), rotation.to_matrix(a), atol=1e-6, rtol=0)


def test_angle_between_is_the_angle_of_the_difference_and_ignores_the_sign() -> None:
    q = random_quaternions(50, 2)
    a, b = q[:, 0], q[:, 1]
    torch.testing.assert_close(angle_between(a, b), rotation.angle(rotation.difference(a, b)), atol=1e-5, rtol=0)
    torch.testing.assert_close(angle_between(a, -b), angle_between(a, b))
    assert (angle_between(a, a) == 0).all() and (angle_between(a, -a) == 0).all()


def test_small_angles_are_exact_enough_for_a_reward() -> None:
    turn = rotation.from_exp(torch.tensor([[1e-3, 0.0, 0.0]]))
    angle = angle_between(rotation.identity((1,)), turn)
    torch.testing.assert_close(angle, torch.tensor([1e-3]), rtol=1e-3, atol=0)
