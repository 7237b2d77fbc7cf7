"""A skeleton as nobody here would make it: other names, longer legs, an A-pose with bent elbows, every bone's frame turned at
random, under an armature in centimetres that lies on its back, facing the other way; with a skin and two animations of its
own."""

import numpy as np
from scipy.spatial.transform import Rotation
from tests.rig.gltf_oracle import Maker

SIDES = {"L": 1.0, "R": -1.0}
_TRUNK = {
    "Bip01": ("", (0, 0.0, 1.02)), "Bip01 Spine": ("Bip01", (0, 0.01, 1.12)), "Bip01 Spine1": ("Bip01 Spine", (0, 0.0, 1.30)),
    "Bip01 Neck": ("Bip01 Spine1", (0, -0.01, 1.52)), "Bip01 Head": ("Bip01 Neck", (0, 0.02, 1.60)),
}  # fmt: skip
_SIDE = {
    "Clavicle": ("Bip01 Spine1", (0.05, 0.0, 1.47)), "UpperArm": ("Clavicle", (0.17, -0.02, 1.46)),
    "UpperTwist": ("UpperArm", (0.25, -0.02, 1.37)), "Forearm": ("UpperArm", (0.36, -0.03, 1.26)),
    "Hand": ("Forearm", (0.52, 0.04, 1.09)), "Thigh": ("Bip01", (0.10, 0.0, 0.97)), "Calf": ("Thigh", (0.12, 0.02, 0.52)),
    "Foot": ("Calf", (0.14, -0.02, 0.10)), "Toe0": ("Foot", (0.16, 0.12, 0.03)),
}  # fmt: skip
PLACE = {
    "hip": "Thigh", "knee": "Calf", "ankle": "Foot", "toe": "Toe0", "shoulder": "UpperArm", "elbow": "Forearm", "wrist": "Hand",
}  # fmt: skip
"""to the side, forward, up: m, of the left"""


def bones() -> dict[str, tuple[str, np.ndarray]]:
    """{name: (parent, place)}, m: x to the left, y forward, z up."""
    found = {name: (parent, np.array(at, float)) for name, (parent, at) in _TRUNK.items()}
    for side, sign in SIDES.items():
        for name, (parent, at) in _SIDE.items():
            found[f"Bip01 {side} {name}"] = (
                parent if parent in _TRUNK else f"Bip01 {side} {parent}",
                np.array(at) * (sign, 1, 1),
            )
    return found


def foreign_glb(seed: int = 0) -> tuple[bytes, dict[str, np.ndarray]]:
    """The file, and {bone: [4, 4] in the file's world at rest}."""
    rng, make, table = np.random.default_rng(seed), Maker(), bones()
    names = list(table)
    to_file = np.array([[-1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # y up, facing -z, the left at -x
    armature = np.eye(4)
    armature[:3, :3] = 0.01 * Rotation.from_rotvec([-np.pi / 2, 0, 0]).as_matrix()
    world = {}
    for name, (_, at) in table.items():
        frame = np.eye(4)
        frame[:3, :3] = 0.01 * Rotation.random(random_state=rng).as_matrix()
        frame[:3, 3] = to_file @ at
        world[name] = frame
    nodes = [{"name": "Armature", "rotation": [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)], "scale": [0.01] * 3, "children": [1]}]
    for name, (parent, _) in table.items():
        local = np.linalg.inv(world[parent] if parent else armature) @ world[name]
        node = {
            "name": name,
            "translation": local[:3, 3].tolist(),
            "rotation": Rotation.from_matrix(local[:3, :3]).as_quat().tolist(),
        }
        children = [1 + names.index(other) for other, (above, _) in table.items() if above == name]
        nodes.append(node | ({"children": children} if children else {}))
    nodes.append({"name": "Skin", "mesh": 0, "skin": 0})

    # a cloud of triangles around each bone, a fifth of whose weight is its parent's; soles under the feet
    points, joints, weights = [], [], []
    for k, (name, (parent, at)) in enumerate(table.items()):
        cloud = at + rng.uniform(-0.02, 0.02, (9, 3))
        if name.endswith("Foot"):
            forward = np.array([0.02, 0.14, 0.0]) * np.sign(at[0]) ** np.array([1, 0, 0])
            cloud = np.array([at + u * forward - (0, 0, at[2]) + (v, 0, 0) for u in (-0.4, 0.5, 1.5) for v in (-0.03, 0.0, 0.03)])
        points.append(cloud @ to_file.T)
        joints += [[k, names.index(parent) if parent else k, 0, 0]] * 9
        weights += [[0.8, 0.2, 0, 0]] * 9
    attributes = {
        "POSITION": make.add(np.concatenate(points), "VEC3"),
        "JOINTS_0": make.add(joints, "VEC4", 5121),
        "WEIGHTS_0": make.add(weights, "VEC4"),
    }
    indices = make.add(np.arange(9 * len(names)), "SCALAR", 5123)
    binds = np.stack([np.linalg.inv(world[name]).T for name in names])
    times = make.add([0.0, 0.5, 1.0], "SCALAR")
    sway = make.add(Rotation.from_rotvec([[0, 0, 0], [0.3, 0, 0], [0, 0, 0]]).as_quat(), "VEC4")
    animation = {
        "samplers": [{"input": times, "output": sway}],
        "channels": [{"sampler": 0, "target": {"node": 4, "path": "rotation"}}],
    }
    rest = {
        "scene": 0,
        "scenes": [{"nodes": [0, len(nodes) - 1]}],
        "nodes": nodes,
        "meshes": [{"name": "Body", "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}],
        "materials": [{"name": "Leather", "pbrMetallicRoughness": {"baseColorFactor": [0.4, 0.2, 0.1, 1]}}],
        "skins": [{"joints": list(range(1, 1 + len(names))), "inverseBindMatrices": make.add(binds, "MAT4")}],
        "animations": [{"name": "Nod", **animation}, {"name": "Shake", **animation}],
    }
    return make.glb(rest), world
