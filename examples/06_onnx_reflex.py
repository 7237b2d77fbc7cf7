"""A character crosses terrain by reflex with nothing but numpy, onnxruntime and MuJoCo: no torch, no parc.

parc export onnx -o out/onnx
python examples/06_onnx_reflex.py out/onnx

The loop of `parc.plan.reflex`: plan, follow, look, plan again. docs/onnx.md tells what each array is. Programs in other languages
can be held against this one.
"""

import json
import sys
from pathlib import Path

import mujoco
import numpy as np
import onnxruntime


class Ground:
    """Columns of equal size: heights [X, Y] m, the centre of cell (0, 0), the side of a cell."""

    def __init__(self, heights: np.ndarray, low: tuple[float, float], cell: float) -> None:
        self.heights, self.low, self.cell = heights.astype(np.float32), np.array(low, np.float32), cell

    def cells(self, xy: np.ndarray) -> np.ndarray:
        """Cells [..., 2] under points [..., 2]; may lie off the map."""
        return np.floor((xy - self.low) / self.cell + 0.5).astype(int)

    def height(self, cells: np.ndarray) -> np.ndarray:
        """Heights of cells [..., 2]; off the map the nearest cell's."""
        i, j = (np.clip(cells[..., k], 0, self.heights.shape[k] - 1) for k in (0, 1))
        return self.heights[i, j]

    def inputs(self) -> dict[str, np.ndarray]:
        """As both networks take it."""
        return {"terrain": self.heights[None], "terrain_min": self.low[None]}


class Body:
    """The simulated character, its ground and its last two states."""

    def __init__(self, folder: Path, facts: dict, ground: Ground) -> None:
        self.facts, self.ground = facts, ground
        self.model = mujoco.MjModel.from_xml_path(str(folder / facts["mjcf"]["file"]))
        self.model.opt.timestep = facts["contract"]["timestep"]  # the XML has six digits of it
        self.data = mujoco.MjData(self.model)
        side = facts["mjcf"]["ground"]["side"]
        steps = np.arange(side) - side // 2
        self.window = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
        self.motors = facts["character"]["dof"]
        sensors = [self.model.sensor(name).adr[0] for name in facts["mjcf"]["contact_sensors"]]
        self.sensors = np.array(sensors)

    def put(self, before: np.ndarray, now: np.ndarray, contacts: np.ndarray) -> None:
        """On a frame [nq], moving as from the one before; contacts [2, bodies]."""
        self.data.qpos[:] = now
        mujoco.mj_differentiatePos(self.model, self.data.qvel, 1 / self.facts["generator"]["fps"], before, now)
        self.qpos, self.contacts = np.stack([before, now]).astype(np.float32), contacts.astype(np.float32)

    def step(self, targets: np.ndarray) -> None:
        """One control step."""
        # The ground under the body is a window of boxes that goes with it.
        cells = self.ground.cells(self.data.qpos[:2]) + self.window
        centres = self.ground.low + self.ground.cell * cells
        tops = self.ground.height(cells) - self.facts["mjcf"]["ground"]["half_height"]
        first = self.facts["mjcf"]["ground"]["first_geom"]
        self.model.geom_pos[first : first + len(cells)] = np.concatenate([centres, tops[:, None]], 1)

        self.data.ctrl[: self.motors] = targets
        for _ in range(self.facts["contract"]["substeps"]):
            mujoco.mj_step(self.model, self.data)
        self.qpos = np.stack([self.qpos[1], self.data.qpos.astype(np.float32)])
        touches = (self.data.sensordata[self.sensors] > 0).astype(np.float32)
        self.contacts = np.stack([self.contacts[1], touches])

    @property
    def root(self) -> np.ndarray:
        """[3]"""
        return self.data.qpos[:3]


class Networks:
    """The two files, on one thread, for one character."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.facts = json.loads((folder / "facts.json").read_text())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.generator, self.tracker = (
            onnxruntime.InferenceSession(str(folder / self.facts[name]["file"]), options) for name in ("generator", "tracker")
        )
        self.random = np.random.default_rng(seed)
        shape = next(i.shape for i in self.generator.get_inputs() if i.name == "noise")
        self.noise_shape = (1, *shape[1:])

    def window(
        self, qpos: np.ndarray, contacts: np.ndarray, target: np.ndarray, ground: Ground, has_past: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The frames [T, nq] and labels [T, bodies] that follow frames [2, nq]."""
        noise = self.random.standard_normal(self.noise_shape, np.float32)
        given = {"qpos": qpos[None], "contacts": contacts[None], "target": target[None].astype(np.float32), "noise": noise}
        past = {"has_past": np.array([has_past], np.float32)}
        frames, labels = self.generator.run(None, {**given, **past, **ground.inputs()})
        return frames[0], labels[0]

    def plan(self, body: Body, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the body does next: the present frame, then windows, each after the one before."""
        qpos, contacts = [body.qpos], [body.contacts]
        for _ in range(self.facts["reflex"]["windows"]):
            frames, labels = self.window(qpos[-1][-2:], contacts[-1][-2:], target, body.ground)
            qpos.append(frames)
            contacts.append(labels)
        return np.concatenate(qpos)[1:], np.concatenate(contacts)[1:]

    def start(self, body: Body, place: np.ndarray, target: np.ndarray) -> None:
        """Put a body at a place [2], beginning to move towards the target [2]."""
        root_z = body.ground.height(body.ground.cells(place)) + np.mean(self.facts["reflex"]["start_height"])
        yaw = np.arctan2(*(target - place)[::-1])
        rest = np.zeros(self.facts["character"]["nq"], np.float32)
        rest[:7] = *place, root_z, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)
        for joint in self.facts["character"]["joints"]:
            if joint["kind"] == "ball":
                rest[joint["qpos"]] = 1
        still = np.zeros((2, len(self.facts["character"]["bodies"])), np.float32)
        frames, labels = self.window(np.stack([rest, rest]), still, target, body.ground, has_past=False)
        body.put(frames[0], frames[1], labels[:2].round())

    def targets(self, body: Body, held: np.ndarray, qpos: np.ndarray, contacts: np.ndarray, frame: int) -> tuple:
        """Motor targets [dof] and what to hold, of a body at a frame of its plan [T, nq], [T, bodies]."""
        looks = np.minimum(frame + np.array(self.facts["tracker"]["reference_steps"]), len(qpos) - 1)
        given = {
            "qpos": body.qpos[1][None], "qvel": body.data.qvel[None].astype(np.float32), "contacts": body.contacts[1][None],
            "held": held[None], "reference_qpos": qpos[looks][None], "reference_contacts": contacts[looks][None],
        }  # fmt: skip
        targets, held = self.tracker.run(None, {**given, **body.ground.inputs()})
        return targets[0], held[0]


def point_ahead(path: np.ndarray, progress: float, ahead: float) -> np.ndarray:
    """The point [2] so far along a path [N, 2] of straight pieces."""
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    arcs = np.concatenate([[0], np.cumsum(steps)])
    return np.array([np.interp(progress + ahead, arcs, path[:, k]) for k in (0, 1)])


def nearest_ahead(path: np.ndarray, progress: float, xy: np.ndarray, window: float = 1.5) -> float:
    """How far along the path [N, 2] somebody at a point [2] has come, m: never back, and at most the window on."""
    length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    arcs = np.append(np.arange(progress, min(progress + window, length), 0.02), min(progress + window, length))
    points = np.stack([point_ahead(path, arc, 0) for arc in arcs])
    return float(arcs[((points - xy) ** 2).sum(1).argmin()])


def cross(networks: Networks, body: Body, path: np.ndarray, seconds: float = 20.0) -> dict:
    """From the path's first point to its last; what became of it."""
    reflex = networks.facts["reflex"]
    progress, held = 0.0, np.zeros(networks.facts["character"]["dof"], np.float32)
    networks.start(body, path[0], point_ahead(path, 0, reflex["lookahead"]))
    result = "late"
    for step in range(round(seconds * networks.facts["tracker"]["control_hz"])):
        progress = nearest_ahead(path, progress, body.root[:2])
        if step % reflex["every"] == 0:
            plan, frame = networks.plan(body, point_ahead(path, progress, reflex["lookahead"])), 0
        targets, held = networks.targets(body, held, *plan, frame)
        body.step(targets)
        frame += 1
        above = body.root[2] - body.ground.height(body.ground.cells(body.root[:2]))
        if above < 0.45:
            result = "fallen"
            break
        if np.linalg.norm(body.root[:2] - path[-1]) < reflex["radius"] and above > reflex["standing"] - reflex["standing_slack"]:
            result = "arrived"
            break
    return {"result": result, "seconds": round(float(body.data.time), 2), "root": body.root.round(3).tolist()}


def main(folder: Path) -> None:
    networks = Networks(folder)
    heights = np.zeros((20, 10))
    if "boxes" in sys.argv:
        heights[8:11, :] = 0.3
        heights[11:14, :] = 0.6
    ground = Ground(heights, (0.0, 0.0), networks.facts["terrain"]["cell"])
    path = np.array([[0.8, 1.8], [6.8, 1.8]])
    print(cross(networks, Body(folder, networks.facts, ground), path))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/onnx"))
