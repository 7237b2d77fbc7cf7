"""The numbers of the repair at the end of a window: when a foot is in contact, how it is planted, how a body falls."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RepairSettings:
    """In metres and frames of 1/30 s; the paper has no such repair."""

    gravity: bool = True
    """bodies that touch nothing fall, and roots are put back beside walls"""
    walls_carry: bool = False
    """a body near the face of a wall counts as carried"""

    # contact of feet (`foot_contact`)
    near_gap: float = 0.02
    """m: soles lower than this are near the ground"""
    far_gap: float = 0.08
    """m: soles higher than this are not"""
    slow_step: float = 0.01
    """m a frame: a foot slower than this stands"""
    fast_step: float = 0.04
    """m a frame: a foot faster than this swings"""
    near_slow_hint: float = 0.4
    """what being near and slow adds to a label"""
    contact_sharpness: float = 20.0
    """per unit of label: how suddenly contact begins at one half"""
    floor_gap: float = 0.1
    """m: feet that are farther above or below are left alone, that is a wall and not a floor"""

    # how far feet are raised (`foot_contact`)
    swing_clearance: float = 0.04
    """m of a swinging foot above the ground in the middle of its swing, at least"""
    lift_step: float = 0.025
    """m a frame, largest change of a lift"""
    lead_frames: float = 2.0
    """frames, width of the kernel K by which feet are led to a contact"""
    lead_spare: float = 0.15
    """k0 beside the sum of K: how little a far contact leads"""

    # feet that stay where they stand (`plant_feet`)
    sole_patch: float = 0.02
    """m above the lowest sole point: the points that may be standing"""
    offset_kept: float = 0.7
    """share of a lifted foot's offset that is left a frame later"""
    held_step: float = 0.06
    """m a frame: a foot that slides farther is not held"""

    # what nothing carries (`apply_gravity`)
    flight_slack: float = 0.3
    """share of g: how far a flight may be from free fall"""
    carried_distance: float = 0.03
    """m: a body nearer to the ground than this is carried"""
    free_distance: float = 0.05
    """m: a body farther from the ground than this is free"""
    wall_depth: float = 0.1
    """m: a point deeper than this is in a wall, not in the floor"""
    push_step: float = 0.03
    """m a frame by which the ground raises a body that has fallen too deep"""
    deepest_fall: float = 10.0
    """m in one window"""
