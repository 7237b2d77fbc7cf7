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


class Way:
    """A way over the ground: points [N, 3] joined by straight lines, followed by arc length in the plane (m)."""

    spacing = 0.1
    """m between the points at which the way is kept"""

    def __init__(self, nodes: np.ndarray) -> None:
        arcs = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(nodes[:, :2], axis=0), axis=1))])
        self.length, self.goal = float(arcs[-1]), nodes[-1]
        self.arcs = np.minimum(self.spacing * np.arange(int(np.ceil(self.length / self.spacing)) + 1), self.length)
        self.points = np.stack([np.interp(self.arcs, arcs, nodes[:, k]) for k in range(3)], -1)

    def position(self, arc: float) -> np.ndarray:
        """The point [3] at an arc length, the ends beyond."""
        return np.array([np.interp(arc, self.arcs, self.points[:, k]) for k in range(3)])

    def advance(self, progress: float, xy: np.ndarray, window: float = 1.5) -> float:
        """How far somebody at a point [2] has come: the nearest point of the next `window` m of the way, never back."""
        first = int(progress / self.spacing)
        index = np.minimum(first + np.arange(int(np.ceil(window / self.spacing)) + 2), len(self.arcs) - 1)
        points, arcs = self.points[index, :2], self.arcs[index]
        edge, span = np.diff(points, axis=0), np.diff(arcs)
        along = ((xy - points[:-1]) * edge).sum(-1) / np.maximum((edge**2).sum(-1), 1e-12)
        candidate = np.clip(arcs[:-1] + np.clip(along, 0, 1) * span, progress, progress + window)
        part = np.clip((candidate - arcs[:-1]) / np.maximum(span, 1e-9), 0, 1)
        distance2 = ((points[:-1] + part[:, None] * edge - xy) ** 2).sum(-1)
        best = candidate[(distance2 + 1e-4 * (candidate - progress)).argmin()]  # of two as near the earlier one
        return min(max(float(best), progress), self.length)

    def walk(self, progress: float, root: np.ndarray, least: float) -> float:
        """The same of a body whose root is at a point [3]: not past a wall whose top is less than `least` m below the root."""
        ahead = self.arcs[(self.points[:, 2] > root[2] - least) & (self.arcs > progress)]
        wall = ahead.min() - self.spacing if len(ahead) else np.inf
        return max(progress, min(self.advance(progress, root[:2]), wall))


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

    def plan(self, body: Body, path: Way, progress: float) -> tuple[np.ndarray, np.ndarray]:
        """What the body does next: the present frame, then windows, each after the one before."""
        reflex = self.facts["reflex"]
        qpos, contacts = [body.qpos], [body.contacts]
        for _ in range(reflex["windows"]):
            target = path.position(progress + reflex["lookahead"])[:2]
            frames, labels = self.window(qpos[-1][-2:], contacts[-1][-2:], target, body.ground)
            progress = path.advance(progress, frames[-1, :2])
            qpos.append(frames)
            contacts.append(labels)
        return np.concatenate(qpos)[1:], np.concatenate(contacts)[1:]

    def start(self, body: Body, path: Way) -> None:
        """Put a body at the beginning of a path, by a motion out of nothing."""
        reflex, character = self.facts["reflex"], self.facts["character"]
        place, towards = path.points[0, :2], path.position(reflex["start_ahead"])[:2]
        height = body.ground.height(body.ground.cells(place)) + np.mean(reflex["start_height"])
        yaw = np.arctan2(*(towards - place)[::-1])
        rest = np.zeros(character["nq"], np.float32)
        rest[:7] = *place, height, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)
        for joint in character["joints"]:
            if joint["kind"] == "ball":
                rest[joint["qpos"]] = 1
        still = np.zeros((2, len(character["bodies"])), np.float32)
        target = path.position(reflex["lookahead"])[:2]
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


def has_fallen(body: Body) -> bool:
    """Low and tilted, or on the head."""
    fall, bodies = body.facts["reflex"]["fall"], body.facts["character"]["bodies"]
    height = body.root[2] - body.ground.height(body.ground.cells(body.root[:2]))
    x, y = body.data.qpos[4:6]
    upright = 1 - 2 * (x * x + y * y)
    on_head = "head" in bodies and body.contacts[1, bodies.index("head")] > 0
    return bool((height < fall["height"] and upright < fall["upright"]) or on_head)


def has_arrived(body: Body, path: Way, progress: float) -> bool:
    """The root near the goal, about as high over it as when standing, and hardly any path left."""
    reflex, offset = body.facts["reflex"], body.root - path.goal
    near = np.linalg.norm(offset[:2]) <= reflex["radius"] and abs(offset[2] - reflex["standing"]) <= reflex["standing_slack"]
    return bool(near and path.length - progress <= reflex["remaining"])


def cross(networks: Networks, body: Body, path: Way) -> dict:
    """From the path's first point to its last; what became of it."""
    facts, reflex = networks.facts, networks.facts["reflex"]
    networks.start(body, path)
    progress = path.walk(0.0, body.root, reflex["least_height"])
    held = np.zeros(facts["character"]["dof"], np.float32)
    result, steps = "late", round(max(reflex["seconds"], path.length / reflex["slowest"]) * facts["tracker"]["control_hz"])
    for step in range(steps):
        if step % reflex["every"] == 0:
            plan, frame = networks.plan(body, path, progress), 0
        targets, held = networks.targets(body, held, *plan, frame)
        body.step(targets)
        frame += 1
        progress = path.walk(progress, body.root, reflex["least_height"])
        if has_fallen(body) or has_arrived(body, path, progress):
            result = "fallen" if has_fallen(body) else "arrived"
            break
    return {"result": result, "seconds": round(float(body.data.time), 2), "root": body.root.round(3).tolist()}


def main(folder: Path) -> None:
    """Level ground, then a step up to 0.4 m and down again."""
    networks = Networks(folder)
    for top in (0.0, 0.4):
        heights = np.zeros((22, 10))
        heights[9:14] = top
        ground = Ground(heights, (0.0, 0.0), networks.facts["terrain"]["cell"])
        xy = np.stack([np.arange(0.8, 7.3, 0.4), np.full(17, 1.8)], -1)
        path = Way(np.concatenate([xy, ground.height(ground.cells(xy))[:, None]], -1))
        print(f"over {top} m:", cross(networks, Body(folder, networks.facts, ground), path))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/onnx"))
