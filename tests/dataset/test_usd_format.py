"""USD: Pixar's own skinning of the written file puts the body where kinematics does; without the package, one sentence."""

import sys

import numpy as np
import pytest
import torch

from parc.character import rotation
from parc.dataset import save_clip
from parc.dataset.convert.body_mesh import body_mesh
from parc.errors import FormatError
from parc.terrain import terrain_mesh

torch.set_num_threads(1)


@pytest.fixture
def usd():
    return pytest.importorskip("pxr.Usd", reason="the package usd-core, extra [usd], is not installed")


def test_without_the_package_the_extra_is_named(tmp_path, make_clip, character, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(FormatError, match=r"writing \.usda needs the package usd-core: pip install 'parc-motion\[usd\]'"):
        save_clip(make_clip("x"), tmp_path / "x.usda", character)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".usd", ".usda", ".usdc"])
def test_skinning_is_kinematics(suffix, usd, tmp_path, make_clip, character):
    from pxr import UsdSkel

    clip = make_clip("x", 4, frames=6)
    save_clip(clip, tmp_path / f"x{suffix}", character)
    stage = usd.Stage.Open(str(tmp_path / f"x{suffix}"))
    cache = UsdSkel.Cache()
    root = UsdSkel.Root(stage.GetPrimAtPath("/clip/body"))
    cache.Populate(root, usd.PrimDefaultPredicate)
    (binding,) = cache.ComputeSkelBindings(root, usd.PrimDefaultPredicate)
    skeleton = cache.GetSkelQuery(binding.GetSkeleton())
    (skin,) = binding.GetSkinningTargets()
    rest = stage.GetPrimAtPath("/clip/body/mesh").GetAttribute("points").Get()
    mesh, poses = body_mesh(character), clip.motion.body_poses(character)
    for frame in (0, 3, 5):
        points = type(rest)(rest)
        assert skin.ComputeSkinnedPoints(skeleton.ComputeSkinningTransforms(frame), points, frame)
        turn, place = poses.rot[frame].double()[mesh.body], poses.pos[frame].double()[mesh.body]
        expected = place + rotation.rotate(turn, torch.from_numpy(mesh.points))
        assert np.abs(np.array(points) - expected.numpy()).max() < 1e-4
    low, high = np.array(root.GetExtentAttr().Get())
    assert (np.array(points) >= low).all() and (np.array(points) <= high).all()


def test_stage_says_units_axes_and_rate(usd, tmp_path, make_clip, character):
    from pxr import UsdGeom

    clip = make_clip("x", frames=5)
    save_clip(clip, tmp_path / "x.usda", character)
    stage = usd.Stage.Open(str(tmp_path / "x.usda"))
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1
    assert (stage.GetTimeCodesPerSecond(), stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (30, 0, 4)
    vertices, faces = terrain_mesh(clip.terrain)
    ground = UsdGeom.Mesh(stage.GetPrimAtPath("/clip/terrain"))
    assert np.allclose(np.array(ground.GetPointsAttr().Get()), vertices)
    assert np.array_equal(np.array(ground.GetFaceVertexIndicesAttr().Get()), faces.ravel())
    assert stage.GetDefaultPrim().GetPath() == "/clip"


def test_pixars_checks_find_nothing(usd, tmp_path, make_clip, character):
    validation = pytest.importorskip("pxr.UsdValidation", reason="this usd-core has no UsdValidation")
    save_clip(make_clip("x", frames=3), tmp_path / "x.usda", character)
    stage = usd.Stage.Open(str(tmp_path / "x.usda"))
    registry = validation.ValidationRegistry()
    checks = registry.GetOrLoadAllValidators()
    assert checks
    errors = validation.ValidationContext(checks).Validate(stage)
    assert not errors, [e.GetErrorAsString() for e in errors]
