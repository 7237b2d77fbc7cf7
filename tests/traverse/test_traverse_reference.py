"""References in a batch say what the tracker's own tables say."""

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.generate.frame import FrameState
from parc.track.anatomy import Anatomy
from parc.track.reference import ReferenceSettings, build_library
from parc.track.screen import ScreenSettings
from parc.traverse.reference import References


def two_rows(walk: Clip) -> FrameState:
    whole = FrameState.of_motion(walk.motion)
    return FrameState(*(torch.stack([part[:30], part[20:50]]) for part in whole))


def test_tables_are_those_of_the_tracker(character: Character, walk: Clip) -> None:
    references = References.of(Anatomy(character, "cpu"), two_rows(walk))
    library = build_library(character, [walk], ReferenceSettings(ScreenSettings(enabled=False)))
    for name in ("body_pos", "root_rot", "dof", "targets", "qpos", "contacts"):
        table, own = getattr(library, name), getattr(references, name)
        expected = torch.stack([table[:30], table[20:50]])
        if name == "root_rot":
            own = own * torch.sign((own * expected).sum(-1, keepdim=True))
        torch.testing.assert_close(own, expected, atol=2e-5, rtol=0, msg=name)


def test_the_start_moves_as_the_first_two_frames_do(character: Character, walk: Clip) -> None:
    anatomy = Anatomy(character, "cpu")
    frames = two_rows(walk)
    velocity = References.of(anatomy, frames).start_velocity(anatomy, 30.0)
    torch.testing.assert_close(velocity[:, :3], 30.0 * (frames.root_pos[:, 1] - frames.root_pos[:, 0]), atol=1e-4, rtol=0)


def test_past_the_end_the_last_frame_stays(character: Character, walk: Clip) -> None:
    references = References.of(Anatomy(character, "cpu"), two_rows(walk))
    ahead = references.ahead(references.dof, torch.tensor([0, 29, 30, 500]))
    assert torch.equal(ahead[:, 1], ahead[:, 2]) and torch.equal(ahead[:, 1], ahead[:, 3])
    assert torch.equal(ahead[:, 0], references.dof[:, 0])
