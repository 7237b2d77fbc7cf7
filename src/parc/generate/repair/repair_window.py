"""What is put right at the end of a window: bodies that hover fall, feet that slide or sink are planted, walls stop."""

from torch import Tensor
from torch.nn.functional import pad

from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.generate.repair.apply_gravity import apply_gravity
from parc.generate.repair.plant_feet import plant_feet
from parc.generate.repair.push_out_of_walls import push_out_of_walls
from parc.generate.repair.repair_settings import RepairSettings
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import TerrainBatch


def repair(
    character: Character,
    state: FrameState,
    pose: BodyPose,
    past: FrameState,
    past_pose: BodyPose,
    has_past: Tensor,
    terrain: TerrainBatch,
    settings: RepairSettings,
) -> tuple[FrameState, BodyPose]:
    """Frames [B, T, ...] and their pose, which continue the past [B, 2, ...] if `has_past` (0-d) is 1, and have none if it is 0.

    B / N rows in turn are on each of N terrains.
    """
    if settings.gravity:
        rise = pad(apply_gravity(character, pose, past_pose, has_past, terrain, settings).unsqueeze(-1), (2, 0))
        state = state._replace(root_pos=state.root_pos + rise)
        pose = BodyPose(pose.pos + rise.unsqueeze(-2), pose.rot)
    last, last_pose = FrameState(*(part[:, -1:] for part in past)), BodyPose(*(part[:, -1:] for part in past_pose))
    state = plant_feet(character, state, pose, last, last_pose, has_past, terrain, settings)
    if settings.gravity:
        state = state._replace(root_pos=state.root_pos + push_out_of_walls(state.root_pos, terrain))
    return state, state.body_pose(character)
