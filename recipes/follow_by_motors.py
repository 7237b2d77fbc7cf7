"""Does a body hold together at its real limits? Motors alone follow clips in native MuJoCo, without a policy.

    python recipes/follow_by_motors.py CLIPS [--character g1] [--gain-scale 1] [--lead 3]

CLIPS is a motion file or a data set. The targets are the clip's own poses, so a body that walks falls before long; what counts is
that nothing blows up: no world diverges, speeds stay those of motors, limits bound the torques. Printed for each clip: seconds
until a body but the feet and hands of the clip's labels touches the ground, the fastest joint (and that against its motor's
limit), the largest kinetic energy, the share of motors at their torque limit, and how often which bodies touch each other.
"""

import argparse
from collections import Counter
from pathlib import Path

import mujoco
import numpy as np
import torch

from parc.api.whose_files import character_of
from parc.character import Character
from parc.character.joint_coordinates import joints_to_dof
from parc.character.robot.joint_ranges import speed_limits
from parc.dataset import Clip
from parc.dataset.clip_reading import read_clips
from parc.motion.motion_edits import resample
from parc.motion.mujoco_qpos import motion_to_qpos, motion_to_qvel
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract
from parc.terrain.terrain import TerrainBatch


def follow(clip: Clip, character: Character, contract: Contract, lead: int) -> dict[str, float | str]:
    """One clip, from its first frame to its end."""
    motion = resample(clip.motion, contract.control_hz)
    world = NativeWorld(character, contract, 1, threads=1)
    world.set_terrains(TerrainBatch.stack([clip.terrain]))
    world.reset(torch.ones(1, dtype=torch.bool), motion_to_qpos(character, motion)[:1], motion_to_qvel(character, motion)[:1])
    targets = joints_to_dof(character, motion.joint_rot)
    allowed = (motion.contacts > 0.5).any(0) | torch.tensor([b.is_foot for b in character.bodies])
    limits = speed_limits(character)
    stands, fastest, against, energy, full, pairs = None, 0.0, 0.0, 0.0, [], Counter[str]()
    for t in range(len(motion)):
        world.step(targets[min(t + lead, len(motion) - 1)][None])
        model, data = world.data_of(0)
        speed = torch.from_numpy(np.abs(data.qvel[6:]))
        fastest = max(fastest, float(speed.max()))
        if limits is not None:
            against = max(against, float((speed / limits).max()))
        mujoco.mj_energyVel(model, data)
        energy = max(energy, float(data.energy[1]))
        ranges = model.actuator_forcerange[: character.num_dof, 1]
        full.append(float((np.abs(data.actuator_force[: character.num_dof]) > 0.999 * ranges).mean()))
        bodies = {tuple(sorted(model.body(model.geom_bodyid[g]).name for g in c.geom)) for c in data.contact if c.dist < 0}
        pairs.update("/".join(pair) for pair in bodies if "world" not in pair)
        if stands is None and bool((world.contacts[0] > 0)[~allowed].any()):
            stands = t / contract.control_hz
    own = ", ".join(f"{pair} {100 * n / len(motion):.0f} %" for pair, n in pairs.most_common(4))
    seconds = len(motion) / contract.control_hz
    return {
        "clip": clip.name, "s": seconds, "stands s": seconds if stands is None else stands,
        "fastest rad/s": fastest, "of its limit": against, "energy J": energy, "motors at limit %": 100 * float(np.mean(full)),
        "diverged": str(bool(world.diverged.any())), "in itself": own or "never",
    }  # fmt: skip


def main() -> None:
    """Print a line for each clip."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path, help="a motion file, or a data set")
    parser.add_argument("--character", default=None, help="humanoid, g1 or an MJCF file; that of the clips if not given")
    parser.add_argument("--gain-scale", type=float, default=1.0, help="times the character's gains")
    parser.add_argument("--torque-scale", type=float, default=1.0, help="times the character's torque limits")
    parser.add_argument("--control-hz", type=int, default=30, help="new targets a second")
    parser.add_argument("--lead", type=int, default=3, help="frames that targets are ahead")
    args = parser.parse_args()
    character = character_of(args.character, args.clips)
    contract = Contract(control_hz=args.control_hz, gain_scale=args.gain_scale, torque_scale=args.torque_scale)
    for clip in read_clips(args.clips, character):
        row = follow(clip, character, contract, args.lead)
        print("; ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)


if __name__ == "__main__":
    main()
