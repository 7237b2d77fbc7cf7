"""A recording as a clip: simulated frames, cropped ground, the path it walked, its history."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip, Provenance
from parc.dataset.clip_edits import mirror
from parc.path.terrain_path import TerrainPath
from parc.record.choose_segments import RecordedStretch
from parc.record.recorded_clip import cut_path, mirrored_clip, path_progress, recorded_clip
from parc.record.tracking_attempts import Attempt


@pytest.fixture
def walk(rests: Callable[..., Clip]) -> Clip:
    """The root follows the path 0 .. 4 m in 100 frames."""
    clip = rests(frames=101)
    arc = torch.linspace(0.0, 4.0, 101)
    root = clip.motion.root_pos.clone()
    root[:, 0] = 0.5 + (arc - 2.0).clamp_min(0.0)
    root[:, 1] = arc.clamp_max(2.0)
    provenance = Provenance(skill="crawl", edits=("optimise",), losses={"tpl": 1.0}, models={"generator": "g"}, seed=4)
    return replace(clip, motion=replace(clip.motion, root_pos=root), provenance=provenance)


def stretch_of(clip: Clip, begin: int, stop: int) -> RecordedStretch:
    frames = len(clip.motion)
    return RecordedStretch(Attempt(0, 0, clip.motion, torch.zeros(frames), True, False), begin, stop, stop == frames)


def test_the_frames_stay_on_their_ground(walk: Clip) -> None:
    heights = torch.rand(30, 30, generator=torch.Generator().manual_seed(1))
    clip = replace(walk, terrain=walk.terrain.with_heights(heights))
    made = recorded_clip(clip, stretch_of(clip, 20, 81), {"tracking_error": 0.1}, 2, "hash", 1.0, path_progress([clip])[0])
    shift = clip.motion.root_pos[20] - made.motion.root_pos[0]
    torch.testing.assert_close(made.motion.root_pos + shift, clip.motion.root_pos[20:81], atol=1e-6, rtol=0)
    torch.testing.assert_close(made.motion.joint_rot, clip.motion.joint_rot[20:81], atol=0, rtol=0)
    for offset in ((0.013, 0.017), (0.81, 0.317), (-0.89, -0.883)):  # no frame comes to lie on the edge of a cell
        xy = made.motion.root_pos[:, :2] + torch.tensor(offset)
        torch.testing.assert_close(made.terrain.height_at(xy), clip.terrain.height_at(xy + shift[:2]))
    low, high = made.terrain.extent
    torch.testing.assert_close(low, -high, atol=1e-5, rtol=0)
    assert made.terrain.heights.numel() < clip.terrain.heights.numel()


def test_the_history_is_told(walk: Clip) -> None:
    made = recorded_clip(walk, stretch_of(walk, 20, 81), {"tracking_error": 0.1}, 2, "hash", 1.0, path_progress([walk])[0])
    origin = made.provenance
    assert (origin.parent, origin.iteration, origin.skill, origin.seed) == (walk.name, 2, "crawl", 4)
    assert origin.edits[:2] == ("optimise", "record 20..81")
    assert origin.losses == {"tpl": 1.0, "tracking_error": 0.1}
    assert origin.models == {"generator": "g", "tracker": "hash"}
    assert made.name == f"{walk.name}_sim20-81"


def test_the_path_is_cut_to_the_part_walked(walk: Clip) -> None:
    progress = path_progress([walk, replace(walk, path=None)])
    assert progress[1] is None and progress[0] is not None
    torch.testing.assert_close(progress[0], torch.linspace(0.0, 4.0, 101), atol=0.02, rtol=0)
    middle = recorded_clip(walk, stretch_of(walk, 25, 76), {}, 1, "", 1.0, progress[0])
    shift = walk.motion.root_pos[25] - middle.motion.root_pos[0]
    assert middle.path is not None and len(middle.path) == 3, "both ends and the corner"
    torch.testing.assert_close(middle.path.nodes + torch.tensor([*shift[:2].tolist(), 0.0]),
                               torch.tensor([[0.5, 1.0, 0.0], [0.5, 2.0, 0.0], [1.5, 2.0, 0.0]]), atol=0.03, rtol=0)  # fmt: skip
    assert middle.path.length == pytest.approx(2.0, abs=0.05)
    early_end = replace(walk, motion=walk.motion.slice(0, 90))
    to_the_end = recorded_clip(early_end, stretch_of(early_end, 25, 90), {}, 1, "", 1.0, progress[0])
    assert to_the_end.path is not None
    assert to_the_end.path.length == pytest.approx(3.0, abs=0.05), "who reaches the end of the clip keeps its goal"


def test_a_path_that_is_not_walked_is_a_point() -> None:
    path = TerrainPath(torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    assert cut_path(path, 0.5, 0.5).nodes[:, 0].tolist() == [0.5, 0.5]
    assert cut_path(path, 0.0, None).nodes.tolist() == path.nodes.tolist()


def test_the_mirrored_copy_is_the_mirror(walk: Clip, character: Character) -> None:
    made = recorded_clip(walk, stretch_of(walk, 20, 81), {}, 2, "hash", 1.0, path_progress([walk])[0])
    twin, image = mirrored_clip(made, character), mirror(made, character)
    assert (twin.name, twin.provenance.parent) == (f"{made.name}_m", made.name)
    torch.testing.assert_close(twin.motion.joint_rot, image.motion.joint_rot)
    torch.testing.assert_close(twin.motion.contacts, image.motion.contacts)
    torch.testing.assert_close(twin.motion.root_pos[:, 1], -made.motion.root_pos[:, 1])
    torch.testing.assert_close(twin.terrain.heights, made.terrain.heights.flip(1))
