"""A clip as USD: a UsdSkel skeleton with its animation, the skinned body and the terrain. Needs `usd-core`, the extra [usd].

    /clip                     Xform, the default prim; z up and metres: USD says so itself, our coordinates stay as they are
      body                    SkelRoot
        skeleton              joints = bodies, bind and rest pose = the zero pose (T-pose), root where the first frame has it
          motion              SkelAnimation, a sample at each frame; time codes are frame numbers, fps of them a second
        mesh                  every vertex rigid with one body
      terrain                 Mesh
      materials

Contacts, path and provenance are not written.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character.body_surface import surface_points, world_points
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.body_mesh import body_mesh, one_sign, rest_positions
from parc.dataset.convert.glb_format import BODY_COLOUR, TERRAIN_COLOUR, flat_normals
from parc.errors import FormatError
from parc.terrain.triangle_mesh import terrain_mesh

SUFFIXES = (".usd", ".usda", ".usdc")
""".usda is text; .usdc and .usd are binary"""


def write_usd(clip: Clip, character: Character, suffix: str = ".usd") -> bytes:
    """A clip as the bytes of a USD file."""
    try:
        from pxr import Usd, UsdGeom
    except ImportError:
        raise FormatError(f"writing {suffix} needs the package usd-core: pip install 'parc-motion[usd]'") from None
    clip.check_fits(character)
    clip = clip.to("cpu")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"clip{suffix}"
        stage = Usd.Stage.CreateNew(str(file))
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(clip.motion.fps)
        stage.SetFramesPerSecond(clip.motion.fps)
        stage.SetStartTimeCode(0)
        stage.SetEndTimeCode(len(clip.motion) - 1)
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/clip").GetPrim())
        _add_body(stage, clip, character)
        _add_terrain(stage, clip)
        stage.GetRootLayer().Save()
        return file.read_bytes()


def joint_paths(character: Character) -> list[str]:
    """A joint's name in UsdSkel is its path from the root."""
    from pxr import Tf

    paths: list[str] = []
    for body in character.bodies:
        name = Tf.MakeValidIdentifier(body.name)
        paths.append(name if body.parent < 0 else f"{paths[body.parent]}/{name}")
    return paths


def _add_body(stage: Any, clip: Clip, character: Character) -> None:
    from pxr import Gf, UsdGeom, UsdSkel, Vt

    motion = clip.motion
    places = motion.root_pos[0].double().numpy() + rest_positions(character)
    local = np.array([places[0], *(b.offset for b in character.bodies[1:])], float)
    root = UsdSkel.Root.Define(stage, "/clip/body")
    root.CreateExtentAttr(_reach(clip, character))
    skeleton = UsdSkel.Skeleton.Define(stage, "/clip/body/skeleton")
    skeleton.CreateJointsAttr(joint_paths(character))

    def shifts(values: NDArray) -> Any:
        return Vt.Matrix4dArray([Gf.Matrix4d().SetTranslate(Gf.Vec3d(*v.tolist())) for v in values])

    skeleton.CreateBindTransformsAttr(shifts(places))
    skeleton.CreateRestTransformsAttr(shifts(local))
    animation = UsdSkel.Animation.Define(stage, "/clip/body/skeleton/motion")
    animation.CreateJointsAttr(joint_paths(character))
    animation.CreateScalesAttr(Vt.Vec3hArray(len(character), Gf.Vec3h(1)))
    translations, rotations = animation.CreateTranslationsAttr(), animation.CreateRotationsAttr()
    turns = one_sign(torch.cat([motion.root_rot.unsqueeze(1), motion.joint_rot], 1).double().numpy())
    moved = np.tile(local, (len(motion), 1, 1))
    moved[:, 0] = motion.root_pos.numpy()
    for frame in range(len(motion)):
        translations.Set(Vt.Vec3fArray.FromNumpy(moved[frame].astype(np.float32)), frame)
        rotations.Set(Vt.QuatfArray([Gf.Quatf(w, x, y, z) for x, y, z, w in turns[frame].tolist()]), frame)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])

    mesh = body_mesh(character)
    drawn = _mesh(stage, "/clip/body/mesh", places[mesh.body] + mesh.points, mesh.normals, mesh.triangles, BODY_COLOUR, 0.5)
    binding = UsdSkel.BindingAPI.Apply(drawn.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1))
    indices = binding.CreateJointIndicesPrimvar(constant=False, elementSize=1)
    indices.Set(Vt.IntArray.FromNumpy(mesh.body.astype(np.int32)))
    weights = binding.CreateJointWeightsPrimvar(constant=False, elementSize=1)
    weights.Set(Vt.FloatArray(len(mesh.body), 1.0))
    assert indices.GetInterpolation() == UsdGeom.Tokens.vertex


def _reach(clip: Clip, character: Character) -> Any:
    """The box that holds the body at every frame."""
    from pxr import Vt

    points = world_points(surface_points(character), clip.motion.body_poses(character)).flatten(0, 1)
    thickest = max((0.5 * float(np.ptp(s.bounds, axis=0).max()) for b in character.bodies for s in b.shapes), default=0.0)
    low, high = points.amin(0) - thickest, points.amax(0) + thickest
    return Vt.Vec3fArray.FromNumpy(torch.stack([low, high]).numpy())


def _add_terrain(stage: Any, clip: Clip) -> None:
    vertices, faces = terrain_mesh(clip.terrain)
    _mesh(stage, "/clip/terrain", vertices, flat_normals(vertices, faces), faces, TERRAIN_COLOUR, 0.95)


def _mesh(stage: Any, path: str, points: NDArray, normals: NDArray, triangles: NDArray, colour: tuple, roughness: float) -> Any:
    from pxr import Gf, Sdf, UsdGeom, UsdShade, Vt

    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
    mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(normals.astype(np.float32)))
    mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(triangles), 3))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(triangles.ravel().astype(np.int32)))
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(np.stack([points.min(0), points.max(0)]).astype(np.float32)))
    mesh.CreateDisplayColorAttr([Gf.Vec3f(*colour)])

    material = UsdShade.Material.Define(stage, f"/clip/materials/{Path(path).name}")
    shader = UsdShade.Shader.Define(stage, material.GetPath().AppendChild("surface"))
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*colour))
    shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(roughness)
    material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)
    return mesh
