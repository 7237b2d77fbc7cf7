"""What the ONNX files give is what the library gives, from states of recorded motions on their own ground."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from parc.character import humanoid, rotation
from parc.dataset import Clip
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import frames_to_qpos, motion_to_qpos, motion_to_qvel
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan import Models
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.follow.follower import Follower
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot

EXACT = 1e-4
LABELS = (EXACT, 2e-3, 2e-3)
"""of contact labels in three windows in a row: a micrometre of a sole is 1e-3 of a label, by the repair's thresholds"""
Session = Callable[[Path], Callable[..., dict[str, torch.Tensor]]]


def qpos_of(state: FrameState) -> torch.Tensor:
    quaternions = rotation.from_matrix(state.root_rot), rotation.from_matrix(state.joint_rot)
    return frames_to_qpos(humanoid(), state.root_pos, *quaternions)


class Windows:
    """Windows of the library, each after the one before, and what the exported generator is given for the same."""

    def __init__(self, models: Models, clips: list[Clip], frames: list[int], rollout: RolloutSettings) -> None:
        pasts, paths = [], []
        for clip, frame in zip(clips, frames, strict=True):
            pasts.append(FrameState.of_motion(clip.motion.slice(frame - 2, frame)))
            root = clip.motion.root_pos[frame - 1 :: 10]
            ground = clip.terrain.height_at(root[:, :2]).unsqueeze(-1)
            paths.append(TerrainPath(torch.cat([root[:, :2], ground], -1)))
        self.past = FrameState.stack(pasts)
        self.terrain = TerrainBatch.stack([cut(clip.terrain, clips) for clip in clips])
        self.runner = PathRunner(models.generator, self.terrain, PathBatch.stack(paths), 1, rollout)
        self.random = torch.Generator().manual_seed(3)
        self.runner.reset(self.past, self.random)
        self.lookahead = rollout.lookahead

    def next(self) -> tuple[dict[str, torch.Tensor], FrameState]:
        """What the generator is given beside the past, and the library's frames."""
        target = self.runner.paths.target(self.runner.progress, self.lookahead)
        frames = self.runner.step(self.random).clone()
        ground = {"terrain": self.terrain.heights, "terrain_min": self.terrain.min_point}
        return {"target": target, "noise": self.runner.noise.clone(), "has_past": torch.ones(1), **ground}, frames


def cut(terrain: Terrain, clips: list[Clip]) -> Terrain:
    """As much of a terrain as all of the clips' have, so that a batch of them needs no padding."""
    x, y = (min(clip.terrain.size[axis] for clip in clips) for axis in (0, 1))
    return Terrain(terrain.heights[:x, :y], terrain.min_point, terrain.cell)


@pytest.mark.parametrize("batch", [1, 4])
def test_three_windows_in_a_row_are_the_librarys(
    models: Models, folder: Path, session: Session, clips: list[Clip], rollout: RolloutSettings, batch: int
) -> None:
    generator = session(folder / "generator.onnx")
    moved = []
    for first in range(0, 8, batch):
        chosen = clips[first : first + batch]
        windows = Windows(models, chosen, [20 + 4 * k for k in range(batch)], rollout)
        qpos, contacts = qpos_of(windows.past), windows.past.contacts
        for exact in LABELS:
            given, expected = windows.next()
            found = generator(qpos=qpos[:, -2:], contacts=contacts[:, -2:], **given)
            qpos, contacts = found["next_qpos"], found["next_contacts"]
            torch.testing.assert_close(qpos, qpos_of(expected), atol=EXACT, rtol=0)
            torch.testing.assert_close(contacts, expected.contacts, atol=exact, rtol=0)
        moved.append((qpos[:, -1, :2] - windows.past.root_pos[:, -1, :2]).norm(dim=-1))
    assert float(torch.cat(moved).median()) > 0.5, "the motions go somewhere"


def test_a_start_out_of_nothing_is_the_librarys(
    models: Models, folder: Path, session: Session, clips: list[Clip], rollout: RolloutSettings
) -> None:
    windows = Windows(models, clips[:1], [20], rollout)
    windows.runner.reset(None, windows.random)
    past = FrameState(*(part.clone() for part in windows.runner.past))
    # off the cells' edges, where the last bit decides between two heights
    for part in (windows.runner.past.root_pos, windows.runner.past_pose.pos, past.root_pos):
        part[..., :2] += 0.0137 if part.dim() == 3 else torch.tensor([0.0137, 0.0137])
    given, expected = windows.next()
    given["has_past"] = torch.zeros(1)
    found = session(folder / "generator.onnx")(qpos=qpos_of(past), contacts=past.contacts, **given)
    torch.testing.assert_close(found["next_qpos"], qpos_of(expected), atol=EXACT, rtol=0)
    given["has_past"] = torch.ones(1)
    other = session(folder / "generator.onnx")(qpos=qpos_of(past), contacts=past.contacts, **given)
    assert float((other["next_qpos"] - found["next_qpos"]).abs().max()) > 0.05, "the flag is read"


def test_motor_targets_are_the_librarys_step_after_step(
    models: Models, folder: Path, session: Session, clips: list[Clip], facts: dict[str, Any]
) -> None:
    tracker, steps = session(folder / "tracker.onnx"), torch.tensor(facts["tracker"]["reference_steps"])
    bodies = 3
    followers = Follower(models.tracker, [cut(clip.terrain, clips[:bodies]) for clip in clips[:bodies]], bodies)
    starts = [10, 17, 24]
    motions = [clip.motion.slice(s, s + 40) for clip, s in zip(clips[:bodies], starts, strict=True)]
    frames = FrameState.stack([FrameState.of_motion(motion) for motion in motions])
    reference = PlanReference.of(followers.anatomy, frames)
    qpos = torch.stack([motion_to_qpos(humanoid(), motion) for motion in motions])
    qvel = torch.stack([motion_to_qvel(humanoid(), motion) for motion in motions])
    still = torch.zeros(bodies, humanoid().num_dof)
    followers.follow(reference, 1)
    followers.put(Snapshot(qpos[:, 1], qvel[:, 1], frames.contacts[:, 1], qpos[:, 0], frames.contacts[:, 0], still))
    held = still
    for step in range(1, 30):
        state = followers.snapshots()
        looks = (step + steps).clamp_max(qpos.shape[1] - 1)
        given = {
            "qpos": state.qpos, "qvel": state.qvel, "contacts": state.contacts, "held": held,
            "reference_qpos": qpos[:, looks], "reference_contacts": frames.contacts[:, looks],
            "terrain": followers.tracked.bank.heights, "terrain_min": followers.tracked.bank.min_point,
        }  # fmt: skip
        found = tracker(**given)
        followers.step()
        torch.testing.assert_close(found["targets"], followers.targets, atol=EXACT, rtol=0)
        one = tracker(**{name: value[:1] for name, value in given.items()})
        torch.testing.assert_close(one["targets"], found["targets"][:1], atol=1e-5, rtol=0)
        held = found["next_held"]
    torch.testing.assert_close(held, followers.snapshots().offset, atol=EXACT, rtol=0)
    assert float(held.abs().max()) > 0.01, "the policy does something"


def test_half_weights_change_nothing_and_int8_little(
    models: Models, in_precision: Callable[[str], Path], session: Session, clips: list[Clip], rollout: RolloutSettings
) -> None:
    found = {}
    for precision in ("fp32", "fp16", "int8"):
        windows = Windows(models, clips[:4], [20, 24, 28, 32], rollout)
        given, _ = windows.next()
        generator = session(in_precision(precision) / "generator.onnx")
        found[precision] = generator(qpos=qpos_of(windows.past), contacts=windows.past.contacts, **given)
    exact = found["fp32"]["next_qpos"]
    # the weights in the box are float16 numbers
    torch.testing.assert_close(found["fp16"]["next_qpos"], exact, atol=1e-6, rtol=0)
    off = (found["int8"]["next_qpos"] - exact).abs()
    print(f"int8: root off by {off[..., :3].mean():.4f} m mean {off[..., :3].max():.4f} m, joints {off[..., 7:].mean():.4f}")
    assert 1e-5 < float(off[..., :3].mean()) < 0.03
    for name, half, quarter in (("generator.onnx", 0.56, 0.45), ("tracker.onnx", 0.52, 0.3)):
        whole, *fewer = ((in_precision(p) / name).stat().st_size for p in ("fp32", "fp16", "int8"))
        assert fewer[0] < half * whole and fewer[1] < quarter * whole
