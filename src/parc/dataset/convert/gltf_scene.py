"""The skeleton in a glTF file: its nodes as a tree, which of them are joints, and the animations that move them.

A node's transform is translation, rotation and scale, or a matrix that is taken apart into these. A sampler has keys at times t_k
and, between two of them, with u = (t - t_k) / d and d = t_k+1 - t_k,

    STEP           v_k
    LINEAR         (1 - u) v_k + u v_k+1; rotations on the great circle
    CUBICSPLINE    h00(u) v_k + d h10(u) b_k + h01(u) v_k+1 + d h11(u) a_k+1      (Hermite; b leaves a key, a arrives at it)

Before the first key and after the last the value stands still (glTF 2.0, 3.11 and appendix C).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from parc.dataset.convert.gltf_document import GltfDocument
from parc.errors import FormatError

Array = NDArray[np.float64]
MOST_NODES = 20_000
_DEEPEST = 500
MOST_VALUES = 50_000_000
"""frames times nodes of an animation"""
_LONGEST = 3600.0
"""s"""
_PATHS = {"translation": 3, "rotation": 4, "scale": 3}


class Local(NamedTuple):
    """Transforms against the parents."""

    translation: Array
    """[..., N, 3]"""
    rotation: Array
    """[..., N, 4] xyzw"""
    scale: Array
    """[..., N, 3]"""


def world_matrices(local: Local, parents: Sequence[int], order: Sequence[int]) -> Array:
    """Of all nodes [..., N, 4, 4], parents before children in `order`."""
    own = np.zeros((*local.translation.shape[:-1], 4, 4))
    turns = Rotation.from_quat(local.rotation.reshape(-1, 4)).as_matrix().reshape(*local.rotation.shape[:-1], 3, 3)
    own[..., :3, :3] = turns * local.scale[..., None, :]
    own[..., :3, 3] = local.translation
    own[..., 3, 3] = 1.0
    for node in order:
        if parents[node] >= 0:
            own[..., node, :, :] = own[..., parents[node], :, :] @ own[..., node, :, :]
    return own


@dataclass(frozen=True, eq=False)
class GltfScene:
    """All nodes of a file."""

    document: GltfDocument
    names: tuple[str, ...]
    """unique; nodes without a name are called by their number"""
    parents: tuple[int, ...]
    order: tuple[int, ...]
    """parents before children"""
    rest: Local
    joints: tuple[int, ...]
    """nodes of all skins"""
    humanoid: Mapping[str, str]
    """{VRM's name of a bone: name of the node}, empty where the file says nothing of it"""

    def world(self, local: Local) -> Array:
        """Matrices [..., N, 4, 4] of all nodes."""
        return world_matrices(local, self.parents, self.order)

    @property
    def animations(self) -> list[str]:
        """Their names; those without one are called by their number."""
        return [_text(a.get("name")) or f"animation_{i}" for i, a in enumerate(self.document.entries("animations"))]

    def animated(self, index: int, fps: float | None = None) -> tuple[Local, float]:
        """Transforms at every frame of an animation, and its rate: the one given, or that of its keys (30 where they are few)."""
        document = self.document
        tracks = self._tracks(document.entry("animations", index))
        times = np.unique(np.round(np.concatenate([track.times for track in tracks.values()]), 5))
        start, length = float(times[0]), float(times[-1] - times[0])
        if length > _LONGEST:
            raise FormatError(f"{document.name}: an animation of {length:.0f} s, at most {_LONGEST:.0f} s are read")
        fps = fps or _key_rate(times)
        frames = int(np.floor(length * fps + 1e-3)) + 1
        if frames * len(self.names) > MOST_VALUES:
            raise FormatError(f"{document.name}: an animation of {frames} frames of {len(self.names)} nodes is too long")
        at = np.minimum(start + np.arange(frames) / fps, times[-1])
        moved = Local(*(np.repeat(values[None], frames, axis=0) for values in self.rest))
        for (node, path), track in tracks.items():
            getattr(moved, path)[:, node] = track.at(at, path)
        return moved, fps

    def moved_nodes(self, index: int) -> set[int]:
        """Nodes that an animation has a track for."""
        return {node for node, _ in self._tracks(self.document.entry("animations", index))}

    def _tracks(self, animation: Mapping[str, Any]) -> dict[tuple[int, str], "_Track"]:
        document = self.document
        samplers, channels = animation.get("samplers"), animation.get("channels")
        if not isinstance(samplers, list) or not isinstance(channels, list):
            raise FormatError(f"{document.name}: an animation without samplers or channels")
        tracks: dict[tuple[int, str], _Track] = {}
        for channel in channels:
            target = channel.get("target") if isinstance(channel, dict) else None
            if not isinstance(target, dict) or target.get("path") not in list(_PATHS) or "node" not in target:
                continue  # weights of morph targets, and what extensions move
            node, path, number = document.index("nodes", target["node"]), target["path"], channel.get("sampler")
            if type(number) is not int or not 0 <= number < len(samplers):
                raise FormatError(f"{document.name}: an animation's channel has no sampler")
            tracks[node, path] = _track(document, samplers[number], _PATHS[path])
        if not tracks:
            raise FormatError(f"{document.name}: the animation moves no node")
        return tracks


class _Track(NamedTuple):
    times: Array
    values: Array
    """[K, C], or [K, 3, C] of a spline: arriving slope, value, leaving slope"""
    kind: str

    def at(self, times: Array, path: str) -> Array:
        """[T, C]"""
        keys, last = self.times, len(self.times) - 1
        t = np.clip(times, keys[0], keys[-1])
        k = np.clip(np.searchsorted(keys, t, side="right") - 1, 0, max(last - 1, 0))
        after = np.minimum(k + 1, last)
        d = keys[after] - keys[k]
        u = np.where(d > 0, (t - keys[k]) / np.maximum(d, 1e-12), 0.0)[:, None]
        if self.kind == "CUBICSPLINE":
            v0, out, v1, into = self.values[k, 1], self.values[k, 2], self.values[after, 1], self.values[after, 0]
            u2, u3, d = u * u, u * u * u, d[:, None]
            value = (2 * u3 - 3 * u2 + 1) * v0 + d * (u3 - 2 * u2 + u) * out + (3 * u2 - 2 * u3) * v1 + d * (u3 - u2) * into
        elif self.kind == "STEP":
            value = np.where((u >= 1) & (after > k)[:, None], self.values[after], self.values[k])
        elif path == "rotation" and last > 0:
            return Slerp(keys, Rotation.from_quat(self.values))(t).as_quat()
        else:
            value = (1 - u) * self.values[k] + u * self.values[after]
        return value / np.maximum(np.linalg.norm(value, axis=-1, keepdims=True), 1e-9) if path == "rotation" else value


def _track(document: GltfDocument, sampler: Any, width: int) -> _Track:
    name = document.name
    if not isinstance(sampler, dict):
        raise FormatError(f"{name}: an animation's sampler is not an object")
    kind = sampler.get("interpolation", "LINEAR")
    if kind not in ("LINEAR", "STEP", "CUBICSPLINE"):
        raise FormatError(f"{name}: an interpolation '{str(kind)[:20]}', expected LINEAR, STEP or CUBICSPLINE")
    times, values = (document.array(sampler.get(key)).astype(np.float64) for key in ("input", "output"))
    per_key = 3 if kind == "CUBICSPLINE" else 1
    if times.ndim != 1 or values.shape != (per_key * len(times), width):
        raise FormatError(f"{name}: an animation has {len(values)} values for {len(times)} times")
    if (np.diff(times) <= 0).any():
        raise FormatError(f"{name}: the times of an animation do not rise")
    values = values.reshape(len(times), 3, width) if per_key == 3 else values
    if width == 4 and (np.linalg.norm(values[:, 1] if per_key == 3 else values, axis=-1) < 1e-6).any():
        raise FormatError(f"{name}: an animation holds a rotation of length 0")
    return _Track(times, values, kind)


def _key_rate(times: Array) -> float:
    """Frames a second of keys at these times: a whole number where they say so, 10 to 120."""
    if len(times) < 4:
        return 30.0
    rate = 1.0 / float(np.median(np.diff(times)))
    if not 9.5 <= rate <= 121:
        return 30.0
    return float(round(rate)) if abs(rate - round(rate)) < 0.02 * rate else rate


def read_scene(document: GltfDocument) -> GltfScene:
    """The nodes of a document."""
    name, nodes = document.name, document.entries("nodes")
    if not 0 < len(nodes) <= MOST_NODES:
        raise FormatError(f"{name} has {len(nodes)} nodes, expected 1 to {MOST_NODES}")
    parents = [-1] * len(nodes)
    for i, node in enumerate(nodes):
        children = node.get("children", [])
        if not isinstance(children, list):
            raise FormatError(f"{name}: the children of node {i} are not a list")
        for child in children:
            if parents[document.index("nodes", child)] >= 0 or child == i:
                raise FormatError(f"{name}: node {child} has two parents")
            parents[child] = i
    order = _parents_first(parents, name)
    rest = [_rest(document, node, i) for i, node in enumerate(nodes)]
    names = _unique([_text(node.get("name")) or f"node_{i}" for i, node in enumerate(nodes)])
    joints: dict[int, None] = {}
    for skin in document.entries("skins"):
        if not isinstance(skin.get("joints"), list):
            raise FormatError(f"{name}: a skin without joints")
        joints |= {document.index("nodes", j): None for j in skin["joints"]}
    local = Local(*(np.array([r[k] for r in rest]) for k in range(3)))
    return GltfScene(document, names, tuple(parents), order, local, tuple(joints), _humanoid(document, names))


def _parents_first(parents: Sequence[int], name: str) -> tuple[int, ...]:
    depth = np.zeros(len(parents), int)
    at = np.array(parents)
    for _ in range(_DEEPEST):
        if (at < 0).all():
            return tuple(np.argsort(depth, kind="stable").tolist())
        depth += at >= 0
        at = np.where(at >= 0, np.array(parents)[np.maximum(at, 0)], -1)
    raise FormatError(f"{name}: its nodes form a ring, or stand more than {_DEEPEST} deep")


def _rest(document: GltfDocument, node: Mapping[str, Any], index: int) -> tuple[Array, Array, Array]:
    what = f"of node {index}"
    if "matrix" in node:
        matrix = document.numbers(node["matrix"], 16, f"the matrix {what}").reshape(4, 4).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        if scale.min() < 1e-9:
            raise FormatError(f"{document.name}: the matrix {what} has no size")
        if np.linalg.det(matrix[:3, :3]) < 0:
            scale[0] *= -1
        return matrix[:3, 3], Rotation.from_matrix(matrix[:3, :3] / scale).as_quat(), scale
    translation = document.numbers(node.get("translation", [0, 0, 0]), 3, f"the translation {what}")
    quaternion = document.numbers(node.get("rotation", [0, 0, 0, 1]), 4, f"the rotation {what}")
    scale = document.numbers(node.get("scale", [1, 1, 1]), 3, f"the scale {what}")
    if np.linalg.norm(quaternion) < 1e-6:
        raise FormatError(f"{document.name}: the rotation {what} has no length")
    return translation, quaternion / np.linalg.norm(quaternion), scale


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    seen: set[str] = set()
    result = []
    for i, name in enumerate(names):
        name = name if name not in seen else f"{name}_{i}"
        while name in seen:
            name += "_"
        seen.add(name)
        result.append(name)
    return tuple(result)


def _text(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""


def _humanoid(document: GltfDocument, names: Sequence[str]) -> dict[str, str]:
    """The bones of a VRM avatar: an object of objects in VRM 1, a list of them in VRM 0."""
    extensions = document.json.get("extensions")
    if not isinstance(extensions, dict):
        return {}
    for extension in ("VRMC_vrm", "VRM"):
        avatar = extensions.get(extension)
        human = avatar.get("humanoid") if isinstance(avatar, dict) else None
        bones = human.get("humanBones") if isinstance(human, dict) else None
        if isinstance(bones, dict):
            pairs = [(bone, value.get("node")) for bone, value in bones.items() if isinstance(value, dict)]
        elif isinstance(bones, list):
            pairs = [(value.get("bone"), value.get("node")) for value in bones if isinstance(value, dict)]
        else:
            continue
        return {bone: names[document.index("nodes", node)] for bone, node in pairs if isinstance(bone, str)}
    return {}
