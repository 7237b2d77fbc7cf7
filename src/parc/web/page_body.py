"""What the page must know of the body: the numbers that the MJCF's six digits cut off, a standing state, its skin.

The skin is the mannequin (`parc.character.mannequin`), packed as `page/src/mannequin.js` reads it.
"""

from typing import Any

import numpy as np
import torch

from parc.character.character import Character
from parc.character.mannequin import MannequinSettings, mannequin
from parc.errors import ParcError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path import TerrainPath
from parc.physics.mujoco_model import build_model, native_copy, root_height
from parc.physics.physical_contract import Contract
from parc.plan.reflex import Reflex, ReflexSettings
from parc.terrain.terrain import Terrain
from parc.track.learn.policy import TrainedActor

_ARRAYS = (
    "body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_subtreemass", "body_inertia", "body_invweight0",
    "jnt_pos", "jnt_axis", "jnt_range", "dof_armature", "dof_damping", "dof_invweight0", "geom_pos", "geom_quat", "geom_size",
    "geom_rbound", "geom_margin", "geom_solref", "geom_solimp", "geom_friction", "actuator_gainprm", "actuator_biasprm",
    "actuator_forcerange",
)  # fmt: skip
"""of the compiled model, written over what 3.14 read from the file"""
SETTLE = 4.0
"""s that the standing state is looked for"""


PAGE_REFLEX = ReflexSettings(every=10, windows=3, rollout=RolloutSettings(keep=13, overlap=0, steps=3))
"""chosen for one thread of a browser: of the settings tried, the best share of goals among those that plan in real time"""


def describe_body(generator: Generator, tracker: TrainedActor, facts: dict[str, Any]) -> dict[str, Any]:
    """What `body.json` holds; `facts`: of the exported networks (`parc.plan.reflex_export`)."""
    return {
        **describe_model(tracker.character, tracker.contract),
        "frames": generator.settings.future,
        "noise": list(generator.noise_shape(1))[1:],
        "looks": facts["tracker"]["reference_steps"],
        "every": facts["reflex"]["every"],
        "windows": facts["reflex"]["windows"],
        "lookahead": facts["reflex"]["lookahead"],
        "stand": standing_state(generator, tracker),
    }


def describe_model(character: Character, contract: Contract) -> dict[str, Any]:
    """The part of `body.json` that `page/src/simulation.js` reads, for the physics of any contract."""
    model = native_copy(build_model(character, contract))
    return {
        "names": list(character.names),
        "feet": list(character.feet),
        "nq": model.nq,
        "nv": model.nv,
        "motors": character.num_dof,
        "control_hz": contract.control_hz,
        "substeps": contract.substeps,
        "disableflags": int(model.opt.disableflags),
        "model": {name: np.asarray(getattr(model, name)).ravel().tolist() for name in _ARRAYS},
    }


def standing_state(generator: Generator, tracker: TrainedActor) -> dict[str, list[float]]:
    """The calmest state of a body that stands for a while at the origin of level ground, facing along x."""
    terrain = Terrain.flat((31, 31))
    middle = terrain.centre_of(torch.tensor([15, 15]))
    path = TerrainPath(torch.stack([torch.tensor([*middle, 0.0]), torch.tensor([*middle + torch.tensor([0.05, 0.0]), 0.0])]))
    bodies = Reflex(generator, tracker, [terrain], [path], [0], ReflexSettings(radius=1e-6), graphs=False)
    bodies.begin()
    best, least = None, float("inf")
    high = 0.9 * root_height(tracker.character)
    for step in range(round(SETTLE * bodies.fps)):
        bodies.step()
        state = bodies.bodies.snapshots().row(0)
        upright = float(_upright(state.qpos[3:7]))
        motion = float(state.qvel.square().mean().sqrt()) + 4.0 * (1.0 - upright)
        feet = bool(state.contacts[list(tracker.character.feet)].all())
        if feet and step > bodies.fps and float(state.qpos[2]) > high and motion < least:
            best, least = state, motion
    if best is None:
        raise ParcError("the tracker does not stand on level ground, so the page has no pose to begin with; use a trained one")
    return {
        "qpos": _centred(best.qpos, best.qpos),
        "qpos_before": _centred(best.qpos_before, best.qpos),
        "qvel": _turned_velocity(best.qvel, best.qpos),
        "contacts": best.contacts.tolist(),
        "contacts_before": best.contacts_before.tolist(),
        "held": best.offset.tolist(),
    }


def _upright(quaternion: torch.Tensor) -> torch.Tensor:
    """Cosine of the tilt of a rotation (wxyz)."""
    return 1 - 2 * (quaternion[1].square() + quaternion[2].square())


def _yaw(qpos: torch.Tensor) -> float:
    w, x, y, z = qpos[3:7].double().tolist()
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def _centred(qpos: torch.Tensor, now: torch.Tensor) -> list[float]:
    """A state moved so that the one of `now` is at the origin and faces along x."""
    yaw = -_yaw(now)
    state = qpos.double().numpy().copy()
    state[:2] = _turn(state[:2] - now[:2].double().numpy(), yaw)
    c, s = np.cos(yaw / 2), np.sin(yaw / 2)
    w, x, y, z = state[3:7]
    state[3:7] = c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w
    return state.tolist()


def _turned_velocity(qvel: torch.Tensor, now: torch.Tensor) -> list[float]:
    velocity = qvel.double().numpy().copy()
    velocity[:2] = _turn(velocity[:2], -_yaw(now))
    return velocity.tolist()


def _turn(xy: np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * xy[0] - s * xy[1], s * xy[0] + c * xy[1]])


def skin_bytes(character: Character, settings: MannequinSettings = MannequinSettings()) -> bytes:
    """The mannequin as `page/src/mannequin.js` reads it."""
    skin = mannequin(character, settings)
    counts = np.array([len(skin.vertices), len(skin.faces), len(skin.origins)], "<u4")
    floats = (skin.vertices, skin.normals, skin.weights, skin.origins)
    parts = [counts, *(np.ascontiguousarray(part, "<f4") for part in floats)]
    return b"".join(p.tobytes() for p in (*parts, skin.faces.astype("<u4"), skin.joints.astype("u1")))
