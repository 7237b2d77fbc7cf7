"""All that another program needs to let a character cross terrain by reflex, as a folder.

    generator.onnx    two past frames, terrain, target -> the next 13 frames
    tracker.onnx      state, reference, terrain -> motor targets
    humanoid.xml      the character over a window of ground, with its motors and contact sensors, for MuJoCo 3 and 4
    facts.json        names, orders, sizes, rates, and the numbers of the loop

docs/onnx.md tells what each number is, and examples/06_onnx_reflex.py is the loop (`parc.plan.reflex`) in numpy.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mujoco

from parc import __version__
from parc.character.character import Character
from parc.character.posture import size_of
from parc.errors import SettingsError
from parc.generate.data.frame_table import FPS
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import START_AHEAD
from parc.motion.mujoco_qpos import joint_names, state_layout
from parc.path.goal_reached import REMAINING
from parc.physics.mjcf_export import NEWER, window_mjcf
from parc.physics.mujoco_model import HALF_HEIGHT, WINDOW, contact_sensor
from parc.physics.physical_contract import Contract
from parc.plan import path_progress
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.run.atomic_files import write_bytes_atomically
from parc.terrain.terrain import CELL
from parc.track.env.body_tables import BodyTables
from parc.track.export.generator_graph import GeneratorGraph
from parc.track.export.onnx_export import OPSET, Precision, export_graph
from parc.track.export.tracker_graph import TrackerGraph
from parc.track.learn.policy import TrainedActor

FORMAT = 1
"""of facts.json; it grows when a name changes its meaning or goes"""


def export_reflex(
    generator: Generator,
    tracker: TrainedActor,
    folder: Path | str,
    settings: ReflexSettings = ReflexSettings(),
    precision: Precision = "fp32",
    cell: float = CELL,
) -> dict[str, Path]:
    """Writes the four files; facts.json last, so that a folder that has it is complete."""
    character, contract = tracker.character, tracker.contract
    if contract.control_hz != FPS:
        raise SettingsError(f"the tracker steps {contract.control_hz} times a second, the generator writes {FPS:g} frames")
    if settings.rollout.keep != generator.settings.future:
        raise SettingsError(
            f"{settings.rollout.keep} frames of a window are kept, the exported generator gives all {generator.settings.future}"
        )
    writes, follows = GeneratorGraph(generator, settings.rollout, cell), TrackerGraph(tracker, cell)
    facts = reflex_facts(writes, follows, settings, precision)
    files = {}
    for name, graph in (("generator", writes), ("tracker", follows)):
        whom = {key: facts[key] for key in ("format", "parc", "character", "contract", "terrain", name)}
        files[name] = Path(folder) / facts[name]["file"]
        export_graph(graph, files[name], {"kind": name, **whom}, precision)
    files["model"] = Path(folder) / facts["mjcf"]["file"]
    write_bytes_atomically(files["model"], window_mjcf(character, contract, cell).encode())
    files["facts"] = Path(folder) / "facts.json"
    write_bytes_atomically(files["facts"], (json.dumps(facts, indent=1) + "\n").encode())
    return files


def reflex_facts(
    generator: GeneratorGraph, tracker: TrackerGraph, settings: ReflexSettings, precision: Precision
) -> dict[str, Any]:
    """What facts.json says."""
    trained, rollout = tracker.trained, settings.rollout
    size = size_of(trained.character)
    character, contract = trained.character, trained.contract
    return {
        "format": FORMAT,
        "parc": __version__,
        "character": _character_facts(character),
        "contract": asdict(contract) | {"timestep": contract.timestep},
        "motors": _motors(character, contract),
        "terrain": {"cell": generator.cell},
        "generator": {
            "file": "generator.onnx",
            "past_frames": 2,
            "frames": generator.frames,
            "fps": FPS,
            "steps": generator.steps,
            "repair": rollout.lock_feet,
            "lookahead": rollout.lookahead,
            **_interface(generator),
        },
        "tracker": {
            "file": "tracker.onnx",
            "control_hz": contract.control_hz,
            "reference_steps": list(tracker.reference_steps),
            **_interface(tracker),
        },
        "reflex": {
            "every": settings.every,
            "windows": settings.windows,
            "lookahead": rollout.lookahead,
            "start_height": [size * height for height in rollout.start_height],
            "start_ahead": START_AHEAD,
            "radius": settings.radius,
            "remaining": REMAINING,
            "stuck": settings.stuck,
            "headway": settings.headway,
            "seconds": settings.seconds,
            "slowest": settings.slowest,
            "standing": path_progress.STANDING * size,
            "standing_slack": path_progress.STANDING_SLACK * size,
            "least_height": path_progress.LEAST * size,
            "fall": asdict(settings.fall) | {"height": size * settings.fall.height},
        },
        "mjcf": {
            "file": "humanoid.xml",
            "written_by": mujoco.__version__,
            "stripped": list(NEWER),
            "ground": {"first_geom": 0, "side": WINDOW, "half_height": HALF_HEIGHT},
            "contact_sensors": [contact_sensor(name) for name in character.names],
        },
        "precision": precision,
        "opset": OPSET,
    }


def _character_facts(character: Character) -> dict[str, Any]:
    layout = state_layout(character)
    joints = [
        {
            "name": joint_names(body)[0],
            "body": index,
            "kind": "ball" if body.joint.is_ball else "hinge",
            "qpos": layout.qpos_start[index],
            "qvel": layout.qvel_start[index],
            "dof": character.dof_start[index],
            "size": body.joint.dof,
        }
        for index, body in enumerate(character.bodies)
        if index and body.joint.dof
    ]
    return {
        "name": character.name,
        "fingerprint": character.fingerprint,
        "bodies": list(character.names),
        "parents": list(character.parents),
        "feet": list(character.feet),
        "joints": joints,
        "nq": layout.nq,
        "nv": layout.nv,
        "dof": character.num_dof,
    }


def _motors(character: Character, contract: Contract) -> list[dict[str, Any]]:
    """One for each number of `targets`, in its order, which is that of the actuators in the MJCF."""
    anatomy = BodyTables(character, "cpu")
    return [
        {
            "joint": body.name,
            "coordinate": k,
            "axis": list(body.joint.axes[k]),
            "kp": body.joint.stiffness * contract.gain_scale,
            "kd": body.joint.damping * contract.gain_scale,
            "torque_limit": body.joint.torque_limit * contract.torque_scale,
            "range": [body.joint.lower[k], body.joint.upper[k]],
        }
        for body in (character.bodies[index] for index in anatomy.moving)
        for k in range(body.joint.dof)
    ]


def _interface(graph: GeneratorGraph | TrackerGraph) -> dict[str, list[str]]:
    return {"inputs": list(graph.inputs), "outputs": list(graph.outputs)}
