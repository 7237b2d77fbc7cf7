"""Training windows count by their gait: that of people more, a crouch hardly, and what is no level gait as before."""

from dataclasses import replace

import pytest
import torch

from parc.character import rotation
from parc.character.humanoid import humanoid
from parc.character.kinematics import forward_kinematics
from parc.character.limb_chains import limbs_of
from parc.dataset import Dataset
from parc.errors import SettingsError
from parc.generate.data.frame_table import FrameTable
from parc.generate.data.gait_odds import GaitOdds, gait_counts
from parc.models import shipped_motions

BODY = humanoid()


@pytest.fixture(scope="module")
def upright():
    """A person's level walk, recorded."""
    folder = shipped_motions()
    assert folder is not None
    return Dataset.open(folder)["walk_16_11_quick_sim"]


@pytest.fixture(scope="module")
def crouched(upright):
    """The same with both knees 50 degrees farther bent, hips and ankles with them: the soles stay level and come down again."""
    limbs, motion = limbs_of(BODY), upright.motion
    assert limbs is not None
    joints, turn = motion.joint_rot.clone(), torch.deg2rad(torch.tensor(50.0))
    before = limbs_height(motion)
    for bodies, share in ((limbs.hip, -0.5), (limbs.knee, 1.0), (limbs.ankle, -0.5)):
        for body in bodies:
            joints[:, body - 1] = rotation.multiply(joints[:, body - 1], about_y(share * turn))
    lower = replace(motion, joint_rot=joints)
    root = motion.root_pos + torch.tensor([0.0, 0.0, 1.0]) * (before - limbs_height(lower))[:, None]
    return replace(upright, motion=replace(lower, root_pos=root), name="crouched")


def about_y(angle):
    return torch.tensor([0.0, float(torch.sin(angle / 2)), 0.0, float(torch.cos(angle / 2))])


def limbs_height(motion):
    pose = forward_kinematics(BODY, motion.root_pos, motion.root_rot, motion.joint_rot)
    return pose.pos[:, list(limbs_of(BODY).ankle), 2].amin(1)


def test_a_crouch_counts_less_than_the_same_walk_upright(upright, crouched):
    odds = GaitOdds(like=4.0, unlike=0.01)
    straight, bent = gait_counts([upright, crouched], BODY, odds)
    assert straight.counts.shape == bent.counts.shape == (len(upright.motion),)
    assert float(bent.counts.max()) < 0.05 and float(bent.is_gait.max()) < 0.05
    assert float(straight.counts.mean()) > 5 * float(bent.counts.mean())


def test_without_wishes_the_odds_are_those_of_before(upright, crouched):
    plain, same = (FrameTable.build([upright, crouched], BODY, 15, "cpu", gait=g) for g in (GaitOdds(), GaitOdds(1.0, 1.0)))
    assert torch.equal(plain.odds, same.odds) and len(plain) == 4 * len(upright.motion)


def test_windows_are_drawn_by_what_they_count(upright, crouched):
    table = FrameTable.build([upright, crouched], BODY, 15, "cpu", mirrored=False, gait=GaitOdds(like=4.0, unlike=0.01))
    _, clip = table.draw(4000, torch.Generator().manual_seed(0))
    assert int((clip == 1).sum()) < 200


def test_copies_at_other_tempos_fill_the_paces_between(upright):
    odds = GaitOdds(like=2.0, unlike=0.5, tempos=(0.8, 1.25))
    plain, more = (FrameTable.build([upright], BODY, 15, "cpu", mirrored=False, gait=g) for g in (replace(odds, tempos=()), odds))
    length = len(upright.motion)
    slower, faster = more.pace[length : length + 30], more.pace[int(more.clip_start[2]) :][:30]
    middle = plain.pace[30]
    torch.testing.assert_close(slower[29], 0.8 * plain.pace[23], atol=0.08, rtol=0)
    torch.testing.assert_close(faster[20], 1.25 * plain.pace[25], atol=0.08, rtol=0)
    assert len(more.clip_start) == 3 and float(middle) > 0.5
    share = torch.diff(more.odds, prepend=torch.zeros(1, dtype=torch.float64))
    by_copy = [float(share[more.window_clip == k].sum()) for k in range(3)]
    assert max(by_copy) < 0.5  # together they count as the original did


def test_impossible_odds_are_refused():
    for wrong in ({"like": 0.0}, {"like": 1.0, "unlike": 2.0}, {"unlike": 0.0}, {"tempos": (3.0,)}, {"tempos": (1.0,)}):
        with pytest.raises(SettingsError, match="gait"):
            GaitOdds(**wrong)
