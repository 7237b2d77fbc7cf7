"""Metrics of the golden clips a second time, from their formulas: plain numpy in float64, nothing of parc.

    python tests/metrics/golden_values.py            prints the values of every clip
    python tests/metrics/golden_values.py NAME ..    of the clips named
    python tests/metrics/golden_values.py --write    writes golden_values.json beside it

Everything is looked at by brute force: every surface point against every cell of the map. What is taken over from the paper's
released humanoid is the table of its bodies (offsets in m, shapes, densities in kg/m3) and where the points lie on a shape.

    TPL   sum over frames and points of the way to the nearest air; off the map there is only ground
    TCL   sum over frames and bodies of the label times the least max(0, sd) over the body's points; off the map there is nothing
    FWD   horizontal distance from the last frame's root to the last waypoint
    HJF   (frame, body) pairs, and frames with any body, whose |third difference| fps^3 is over 11666.3906 m/s3, by T - 3, in %
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CLIPS, VALUES = HERE / "golden_clips.npz", HERE / "golden_values.json"
LIMIT = 11666.3906
GRAVITY = 9.81
GOLDEN_RATIO = (1 + 5**0.5) / 2


def sphere(x, y, z, radius, density):
    return {"kind": "sphere", "centre": (x, y, z), "radius": radius, "density": density}


def capsule(start, end, radius, density):
    return {"kind": "capsule", "start": start, "end": end, "radius": radius, "density": density}


def sole(x, y, z, half, density):
    return {"kind": "sole", "centre": (x, y, z), "half": half, "density": density}


def bodies():
    """(name, index of the parent, offset in its frame, shapes) of the 15 bodies."""
    clavicles = [
        capsule((-0.0060125, s * 0.0457775, 0.2287955), (-0.016835, s * 0.128177, 0.2376182), 0.045, 1100) for s in (-1, 1)
    ]
    table = [
        ("pelvis", -1, (0, 0, 0), [sphere(0, 0, 0.07, 0.09, 2226), sphere(0, 0, 0.205, 0.07, 2226)]),
        ("torso", 0, (0, 0, 0.236151), [sphere(0, 0, 0.12, 0.11, 1794), *clavicles]),
        ("head", 1, (0, 0, 0.223894), [sphere(0, 0, 0.175, 0.095, 1081)]),
    ]
    for side, s in (("right", -1), ("left", 1)):
        first = len(table)
        table += [
            (f"{side}_upper_arm", 1, (-0.02405, s * 0.18311, 0.24350), [capsule((0, s * 0.03, 0), (0, s * 0.23, 0), 0.045, 982)]),
            (f"{side}_lower_arm", first, (0, s * 0.274788, 0), [capsule((0, s * 0.035, 0), (0, s * 0.1875, 0), 0.04, 1056)]),
            (f"{side}_hand", first + 1, (0, s * 0.258947, 0), [sphere(0, 0, 0, 0.04, 1865)]),
        ]
    for side, s in (("right", -1), ("left", 1)):
        first = len(table)
        table += [
            (f"{side}_thigh", 0, (0, s * 0.084887, 0), [capsule((0, 0, -0.04), (0, 0, -0.36), 0.055, 1269)]),
            (f"{side}_shin", first, (0, 0, -0.421546), [capsule((0, 0, -0.03), (0, 0, -0.355), 0.05, 1014)]),
            (f"{side}_foot", first + 1, (0, 0, -0.409870), [sole(0.045, 0, -0.0225, (0.0885, 0.045, 0.0275), 1141)]),
        ]
    return table


def points_of(shape):
    """[K, 3] 12 vertices of an icosahedron; 4 points around each of 4 places along a cylinder; 3 x 6 x 2 points of a foot."""
    if shape["kind"] == "sphere":
        corners = []
        for a in (-1, 1):
            for b in (-GOLDEN_RATIO, GOLDEN_RATIO):
                corners += [(0, a, b), (b, 0, a), (a, b, 0)]
        return np.array(shape["centre"]) + shape["radius"] * np.array(corners) / np.hypot(1, GOLDEN_RATIO)
    if shape["kind"] == "capsule":
        start, end = np.array(shape["start"], float), np.array(shape["end"], float)
        axis = (end - start) / np.linalg.norm(end - start)
        across = np.cross(axis, (1, 0, 0))
        across /= np.linalg.norm(across)
        around = [across, np.cross(axis, across), -across, -np.cross(axis, across)]
        return np.array([start + k / 3 * (end - start) + shape["radius"] * way for k in range(4) for way in around])
    x, y, z = (np.linspace(-h, h, n) for h, n in zip(shape["half"], (3, 6, 2), strict=True))
    return np.array(shape["centre"]) + np.array([(a, b, c) for a in x for b in y for c in z])


def mass_of(shape):
    """(kg, centre)"""
    if shape["kind"] == "sphere":
        return shape["density"] * 4 / 3 * np.pi * shape["radius"] ** 3, np.array(shape["centre"], float)
    if shape["kind"] == "capsule":
        start, end, r = np.array(shape["start"], float), np.array(shape["end"], float), shape["radius"]
        volume = np.pi * r**2 * np.linalg.norm(end - start) + 4 / 3 * np.pi * r**3
        return shape["density"] * volume, (start + end) / 2
    return shape["density"] * 8 * np.prod(shape["half"]), np.array(shape["centre"], float)


def rotation_matrix(q):
    """Of quaternions [..., 4], x y z w."""
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


class Posed:
    """Body positions [T, B, 3], surface points [T, P, 3] with the body of each [P], centre of mass [T, 3]."""

    def __init__(self, clip):
        table = bodies()
        root, joints = rotation_matrix(clip["root_rot"]), rotation_matrix(clip["joint_rot"])
        position, turn = [clip["root_pos"]], [root]
        for b, (_, parent, offset, _) in enumerate(table[1:], 1):
            position.append(position[parent] + turn[parent] @ np.array(offset, float))
            turn.append(turn[parent] @ joints[:, b - 1])
        self.position = np.stack(position, 1)
        local = [np.concatenate([points_of(shape) for shape in shapes]) for _, _, _, shapes in table]
        self.body = np.repeat(np.arange(len(table)), [len(part) for part in local])
        self.points = np.concatenate([p[:, None] + part @ r.mT for p, part, r in zip(position, local, turn, strict=True)], 1)
        parts = [(*mass_of(shape), p, r) for (_, _, _, s), p, r in zip(table, position, turn, strict=True) for shape in s]
        weights = [mass for mass, *_ in parts]
        self.centre = sum(mass * (p + r @ centre) for mass, centre, p, r in parts) / sum(weights)


class Ground:
    """Columns of side `cell`, each solid from below up to its height."""

    def __init__(self, clip):
        self.cell, self.heights = float(clip["cell"]), clip["heights"].astype(float).ravel()
        shape, first = clip["heights"].shape, clip["min_point"].astype(float)
        i, j = np.unravel_index(np.arange(self.heights.size), shape)
        self.centres = first + self.cell * np.stack([i, j], -1)
        self.low, self.high = first - self.cell / 2, first + self.cell * (np.array(shape) - 0.5)

    def _across(self, points):
        """Vectors [.., cells, 2] to the points from the nearest place of each column in the plane."""
        across = points[..., None, :2] - self.centres
        return across - np.clip(across, -self.cell / 2, self.cell / 2)

    def to_columns(self, points):
        """Vectors [.., 3] to the points from the nearest place of the ground; zero inside it."""
        xy, up = self._across(points), np.maximum(points[..., None, 2] - self.heights, 0)
        ways = np.concatenate([xy, up[..., None]], -1)
        nearest = np.argmin((ways**2).sum(-1), -1)
        return np.take_along_axis(ways, nearest[..., None, None], -2)[..., 0, :]

    def to_air(self, points, off_map_is_air):
        """Vectors [.., 3] from the points to the nearest place that is air; zero in the air above the map."""
        xy, up = -self._across(points), np.maximum(self.heights - points[..., None, 2], 0)
        ways = np.concatenate([xy, up[..., None]], -1)
        if off_map_is_air:
            inside = (points[..., :2] >= self.low).all(-1) & (points[..., :2] <= self.high).all(-1)
            for axis, edge in ((0, self.low), (0, self.high), (1, self.low), (1, self.high)):
                out = np.zeros(points.shape)
                out[..., axis] = np.where(inside, edge[axis] - points[..., axis], 0)
                ways = np.concatenate([ways, out[..., None, :]], -2)
        nearest = np.argmin((ways**2).sum(-1), -1)
        return np.take_along_axis(ways, nearest[..., None, None], -2)[..., 0, :]


def carried(above, out):
    """[T] whether a point is within 5 cm of ground that holds it up: the way out of the ground there points upwards."""
    way = np.where((above != 0).any(-1, keepdims=True), above, out)
    length = np.linalg.norm(way, axis=-1)
    upwards = way[..., 2] > 0.3 * np.maximum(length, 1e-12)
    near = np.linalg.norm(above, axis=-1) <= 0.05
    return (near & upwards).any(-1)


def floating(centre, free, fps):
    """% of frames; the parabola of each free frame goes through the unbroken free ones at most three before and after."""
    count = 0
    for t in np.flatnonzero(free):
        first = last = t
        while first > 0 and t - first < 3 and free[first - 1]:
            first -= 1
        while last < len(free) - 1 and last - t < 3 and free[last + 1]:
            last += 1
        if last - first + 1 >= 4:
            seconds = (np.arange(first, last + 1) - t) / fps
            acceleration = 2 * np.polyfit(seconds, centre[first : last + 1, 2], 2)[0]
            count += abs(acceleration + GRAVITY) > GRAVITY / 2
    return 100 * count / len(free)


def skate(posed, above, labels, chosen, fps):
    """% of contact frames in which even the slowest point within 2 cm of the body's nearest is faster than 0.2 m/s."""
    slow = fast = 0
    gap = np.linalg.norm(above, axis=-1)
    for b in chosen:
        mine = posed.body == b
        for t in range(1, len(labels)):
            if labels[t, b] > 0.5 and labels[t - 1, b] > 0.5:
                patch = gap[t, mine] <= gap[t, mine].min() + 0.02
                step = np.linalg.norm(posed.points[t, mine] - posed.points[t - 1, mine], axis=-1)[patch].min() * fps
                slow, fast = slow + (step <= 0.2), fast + (step > 0.2)
    return 100 * fast / (slow + fast)


def f1(gap, labels, chosen):
    label, touch = labels[:, chosen] > 0.5, gap[:, chosen] < 0.02
    true, missed, wrong = (label & touch).sum(), (touch & ~label).sum(), (label & ~touch).sum()
    return 2 * true / (2 * true + missed + wrong)


def values_of(clip):
    fps, frames, labels = float(clip["fps"]), len(clip["root_pos"]), clip["contacts"].astype(float)
    clip = clip | {k: clip[k].astype(float) for k in ("root_pos", "root_rot", "joint_rot")}
    posed, ground = Posed(clip), Ground(clip)
    above, wall, out = (
        np.stack([way(points) for points in posed.points])
        for way in (ground.to_columns, lambda p: ground.to_air(p, False), lambda p: ground.to_air(p, True))
    )
    depth, gap = np.linalg.norm(wall, axis=-1), np.linalg.norm(above, axis=-1)
    names = [name for name, *_ in bodies()]
    body_gap = np.stack([gap[:, posed.body == b].min(1) for b in range(len(names))], 1)
    feet, hands = ([b for b, name in enumerate(names) if name.endswith(end)] for end in ("foot", "hand"))
    jerk = np.linalg.norm(np.diff(posed.position, 3, axis=0), axis=-1) * fps**3
    return {
        "frames": frames,
        "tpl": depth.sum(),
        "tcl": (labels * body_gap).sum(),
        "fwd": np.linalg.norm(clip["root_pos"][-1, :2] - clip["path"][-1, :2]),
        "hjf_code": 100 * (jerk > LIMIT).sum() / (frames - 3),
        "hjf_paper": 100 * (jerk > LIMIT).any(1).sum() / (frames - 3),
        "max_jerk": jerk.max(),
        "pen_mm": 1000 * depth.max(1).mean(),
        "pen_frames": 100 * (depth.max(1) > 0.02).mean(),
        "foot_skate": skate(posed, above, labels, feet, fps),
        "foot_f1": f1(body_gap, labels, feet),
        "hand_f1": f1(body_gap, labels, hands) if (labels[:, hands] > 0.5).any() else None,
        "floating": floating(posed.centre, ~carried(above, out), fps),
    }


def read_clips():
    """The arrays of each clip, by its name."""
    clips = {}
    with np.load(CLIPS) as file:
        for key in file.files:
            name, _, part = key.partition("/")
            clips.setdefault(name, {})[part] = file[key]
    return clips


def main(words):
    clips = read_clips()
    names = [word for word in words if word != "--write"] or list(clips)
    found = {name: {k: v if v is None else float(v) for k, v in values_of(clips[name]).items()} for name in names}
    if "--write" in words:
        VALUES.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
