"""The table of measures: name, unit, meaning. A profile of limits (`parc.quality.limit_profiles`) names rows of it.

It begins with the metrics of a clip (`parc.metrics.clip_measures`); the rows below are those that only a judge asks for.
They are computed in `parc.quality.measure_clip`, those of a recording in `parc.quality.measure_tracking`.
"""

from typing import NamedTuple

from parc.metrics.clip_measures import UNITS


class Measure(NamedTuple):
    """A row of the table."""

    unit: str
    says: str
    """what is measured, and what is taken over frames and bodies"""
    is_least: bool = False
    """a limit is the least value allowed, not the largest"""

    @classmethod
    def of(cls, text: str) -> "Measure":
        """From "unit, meaning", as metrics have it."""
        unit, _, says = text.partition(", ")
        return cls(unit, says)


MEASURES: dict[str, Measure] = {
    **{name: Measure.of(text) for name, text in UNITS.items()},
    "frames": Measure("frames", "length", is_least=True),
    "seconds": Measure("s", "length", is_least=True),
    # a clip against the take it was made from
    "foot_error": Measure("cm", "distance of the ankles to the landmarks, mean over frames and sides"),
    "hand_error": Measure("cm", "distance of the palms to the landmarks, mean over frames and sides"),
    "level_conflict": Measure("m", "contacts that no cell of the terrain could serve"),
    "unplaced_contacts": Measure("%", "contact frames without terrain of their level"),
    # contacts
    "contact_gap": Measure("mm", "distance of hands and feet in contact to the terrain, median over contact frames"),
    "max_contact_gap": Measure("mm", "farthest that a body labelled in contact is from the terrain"),
    "contact_slide": Measure("cm/s", "speed of the slowest point of a sole in contact, mean over frames"),
    "key_body_slide": Measure("cm/s", "speed of the slowest point of a hand or foot in contact, mean over frames"),
    "sole_speed": Measure("cm/s", "speed of the corners of a sole in contact, the lowest counting most, median over frames"),
    # in the terrain and in itself
    "max_depth": Measure("mm", "deepest point in the terrain or off the map"),
    "terrain_depth": Measure("m", "deepest surface point in the terrain"),
    "self_depth": Measure("m", "deepest pair of bodies in each other"),
    # how fast
    "jerk_99": Measure("m/s3", "jerk, 99th percentile over frames and bodies"),
    "root_step": Measure("m", "way of the root between two frames"),
    "body_step": Measure("m", "way of any body between two frames"),
    "axis_speed": Measure("rad/s", "turn of any joint about any axis"),
    "coordinate_speed": Measure("rad/s", "speed of any joint coordinate"),
    # mechanics
    "max_ballistic": Measure("m/s2", "|a_z + 9.81| of the centre of mass where nothing is touched, largest; 0 without flight"),
    "max_wall_lift": Measure("m/s2", "|a_z + 9.81| of the centre of mass where only a wall is touched, largest"),
    "limit_excess": Measure("rad", "a joint coordinate beyond its range, largest"),
    "missing_force": Measure("weights", "force that contacts would have to give and cannot, root mean square over frames"),
    "torque_share": Measure("of the limits", "torque of any motor, largest"),
    # a recording against its reference
    "tracking_error": Measure("m", "root-relative distance of the bodies from the reference's, mean over frames"),
    "tracking_error_max": Measure("m", "root-relative distance of the bodies from the reference's, in the worst frame"),
    "root_lean_max": Measure("rad", "angle between the roots of recording and reference, in the worst frame"),
    "contact_agreement": Measure("", "agreement of simulated with meant contacts of hands and feet", is_least=True),
    "trunk_contact": Measure("of the frames", "the trunk touches the terrain unmeant"),
    "strange_contact": Measure("of the frames", "another body than hands, feet and trunk touches the terrain unmeant"),
}
