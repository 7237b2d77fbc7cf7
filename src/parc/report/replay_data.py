"""Motions packed for the page's own viewer (`replay.js`): small, exact to a fraction of a millimetre.

Positions are stored as 16-bit steps inside the clip's bounding box, rotations as 16-bit components, labels as bytes, all in
base64 inside one JSON object:

    {"shapes": [{"body": 0, "kind": "capsule", "start": [..], "end": [..], "radius": r} | {"kind": "box", "centre", "half",
                "rotation"}], "bodies": [names],
     "clips": [{"name", "fps", "frames", "colour", "low": [3], "step": [3], "pos": b64 uint16 [T, B, 3],
                "rot": b64 int16 [T, B, 4] xyzw / 32767, "contacts": b64 uint8 [T, B] / 255,
                "terrain": {"size": [X, Y], "cell", "min_point": [2], "heights": b64 float32 [X, Y]}, "path": [[x, y, z], ..]}]}

Clips that share a terrain share its entry: "terrain" is then the index of the clip that holds it.
"""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parc.character.body_shape import Box, Sphere
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.render import palette
from parc.render.drawn_motion import DrawnMotion, actors_of

_STEPS = 65535
_UNIT = 32767


def replay_payload(clips: Clip | Sequence[Clip], character: Character) -> dict[str, Any]:
    """Motions as the page's viewer wants them: see the module's docstring."""
    given = [clips] if isinstance(clips, Clip) else list(clips)
    actors = actors_of(given, character)
    packed: list[dict[str, Any]] = []
    for clip, actor in zip(given, actors, strict=True):
        entry = _pack_motion(actor)
        same = next((k for k, other in enumerate(given[: len(packed)]) if _same_ground(other, clip)), None)
        entry["terrain"] = _pack_terrain(clip) if same is None else packed[same].get("terrain_of", same)
        if same is not None:
            entry["terrain_of"] = entry["terrain"]
        entry["path"] = [] if clip.path is None else np.round(clip.path.nodes.detach().cpu().double().numpy(), 3).tolist()
        packed.append(entry)
    for entry in packed:
        entry.pop("terrain_of", None)
    return {"bodies": list(character.names), "shapes": _shapes(character), "clips": packed}


def _pack_motion(actor: DrawnMotion) -> dict[str, Any]:
    low = actor.pos.min((0, 1))
    step = np.maximum(np.ptp(actor.pos, axis=(0, 1)), 1e-6) / _STEPS
    pos = np.round((actor.pos - low) / step)
    return {
        "name": actor.name,
        "fps": actor.fps,
        "frames": len(actor),
        "colour": palette.code(actor.colour),
        "low": low.tolist(),
        "step": step.tolist(),
        "pos": _text(pos.clip(0, _STEPS).astype("<u2")),
        "rot": _text(np.round(actor.rot.clip(-1, 1) * _UNIT).astype("<i2")),
        "contacts": _text(np.round(actor.contacts * 255).astype("u1")),
    }


def _pack_terrain(clip: Clip) -> dict[str, Any]:
    terrain = clip.terrain
    return {
        "size": list(terrain.size),
        "cell": terrain.cell,
        "min_point": terrain.min_point.detach().cpu().double().tolist(),
        "heights": _text(terrain.heights.detach().cpu().numpy().astype("<f4")),
    }


def _same_ground(a: Clip, b: Clip) -> bool:
    if a.terrain is b.terrain:
        return True
    same_grid = a.terrain.size == b.terrain.size and a.terrain.cell == b.terrain.cell
    return same_grid and bool(
        (a.terrain.heights == b.terrain.heights).all() and (a.terrain.min_point == b.terrain.min_point).all()
    )


def _shapes(character: Character) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for index, body in enumerate(character.bodies):
        for shape in body.shapes:
            entry: dict[str, Any] = {"body": index}
            if isinstance(shape, Box):
                entry |= {"kind": "box", "centre": list(shape.centre), "half": list(shape.half), "rotation": list(shape.rotation)}
            elif isinstance(shape, Sphere):
                entry |= {"kind": "capsule", "start": list(shape.centre), "end": list(shape.centre), "radius": shape.radius}
            else:
                entry |= {"kind": "capsule", "start": list(shape.start), "end": list(shape.end), "radius": shape.radius}
            found.append(entry)
    return found


def _text(values: NDArray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
