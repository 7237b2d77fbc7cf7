"""A mirrored body sees the mirrored observation; exact symmetry of a policy follows."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character.character import Body, Character, Joint
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.character.mirror_pose import mirror_joint_rotations
from parc.dataset import clip_edits
from parc.dataset.clip import Clip
from parc.errors import CharacterError
from parc.quality.limit_profiles import TrackerInputLimits
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation import BodyState, Observer
from parc.track.env.observation_layout import ObservationLayout, ObservationSettings
from parc.track.env.reference_library import ReferenceSettings, build_library
from parc.track.learn.policy_symmetry import Symmetry


@pytest.fixture(scope="module")
def symmetry(character: Character) -> Symmetry:
    anatomy, settings = BodyTables(character, "cpu"), ObservationSettings()
    return Symmetry(anatomy, ObservationLayout(anatomy, settings), settings)


def observe(character: Character, clip: Clip, frame: int) -> torch.Tensor:
    library = build_library(character, [clip], ReferenceSettings(TrackerInputLimits(enabled=False)))
    observer = Observer(BodyTables(character, "cpu"), ObservationSettings())
    part = slice(frame, frame + 1)
    rot = clip.motion.body_poses(character).rot[part]
    state = BodyState(library.qvel[part], library.body_pos[part], rot, library.contacts[part], 0.3 * library.dof[part])
    rows = library.row(torch.zeros(1, 6, dtype=torch.long), frame + observer.steps.unsqueeze(0))
    zero = torch.zeros(1, dtype=torch.long)
    return observer.observe(state, library.targets[rows], library.bank, zero, torch.zeros(1, observer.layout.size))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_observing_the_mirrored_state_is_mirroring_the_observation(
    character: Character, crooked: Callable[[int], Clip], symmetry: Symmetry, seed: int
) -> None:
    clip = crooked(seed)
    row = observe(character, clip, 7)
    mirrored = observe(character, clip_edits.mirror(clip, character), 7)
    torch.testing.assert_close(mirrored, symmetry.observation(row), atol=1e-4, rtol=0)
    assert (mirrored - row).abs().max() > 0.1


def test_mirrored_actions_move_the_mirrored_joints(character: Character, symmetry: Symmetry) -> None:
    dof = torch.randn(10, character.num_dof, generator=torch.Generator().manual_seed(1)) * 0.5
    joints = mirror_joint_rotations(character, dof_to_joints(character, dof))
    torch.testing.assert_close(symmetry.action(dof), joints_to_dof(character, joints), atol=1e-5, rtol=0)


def test_ranges_of_actions_are_their_own_mirror_image(character: Character, symmetry: Symmetry) -> None:
    anatomy = BodyTables(character, "cpu")
    torch.testing.assert_close(anatomy.action_reach[symmetry.action_source], anatomy.action_reach)
    torch.testing.assert_close(symmetry.action(anatomy.action_centre), anatomy.action_centre)


def test_mirroring_twice_is_doing_nothing(symmetry: Symmetry) -> None:
    row, action = torch.randn(3, 1024), torch.randn(3, 28)
    assert torch.equal(symmetry.observation(symmetry.observation(row)), row)
    assert torch.equal(symmetry.action(symmetry.action(action)), action)


def test_the_side_reading_changes_sign_so_both_images_have_one_canonical_view(
    character: Character, crooked: Callable[[int], Clip], symmetry: Symmetry
) -> None:
    row = torch.cat([observe(character, crooked(seed), 7) for seed in range(6)])
    image = symmetry.observation(row)
    torch.testing.assert_close(image @ symmetry.side, -(row @ symmetry.side))
    assert (row @ symmetry.side).abs().min() > 1e-3
    view, flip = symmetry.canonical(row)
    view_of_image, flip_of_image = symmetry.canonical(image)
    assert torch.equal(view, view_of_image) and torch.equal(flip, ~flip_of_image)
    assert flip.any() and not flip.all()


def test_a_character_without_symmetry_is_refused(character: Character) -> None:
    anatomy = BodyTables(replace(character, mirror_of=None), "cpu")
    settings = ObservationSettings()
    with pytest.raises(CharacterError, match="no left-right symmetry"):
        Symmetry(anatomy, ObservationLayout(anatomy, settings), settings)


def test_twins_with_unlike_axes_are_refused() -> None:
    def arm(name: str, y: float, axis: tuple[float, float, float]) -> Body:
        return Body(name, 0, (0, y, 0), Joint((axis,), (-1.0,), (1.0,)), is_key=True)

    odd = Character("odd", (Body("root", -1, (0, 0, 0)), arm("left", 1, (1, 0, 0)), arm("right", -1, (0, 0, 1))), (0, 2, 1))
    anatomy, settings = BodyTables(odd, "cpu"), ObservationSettings()
    with pytest.raises(CharacterError, match="mirror image"):
        Symmetry(anatomy, ObservationLayout(anatomy, settings), settings)
