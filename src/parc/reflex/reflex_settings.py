"""All that shapes closed-loop training: who plans when, where bodies start, what pays, what disturbs, on which ground.

The reward of a control step is

    imitation r_track [headway in the last `gate` s]  +  progress d  -  posture p      d: m of new worth that is paid for
    + arrival [arrived]  -  fall [fallen]  -  stuck [stuck]

r_track is the tracker's own reward (`parc.track.env.reward`). Survival alone teaches to stand before walls, much pay for progress
teaches to run and fall; so new worth (`parc.plan.path_progress`) is paid only as far as it could be had at `wanted_speed`: what
may be paid grows by `wanted_speed` m each second, is saved up for `saved` s at most, and is spent by progress.
"""

import math
from dataclasses import dataclass, field

from parc.errors import SettingsError
from parc.evaluate.terrain_families import FAMILIES, Family
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.track.env.disturbed_bodies import DisturbanceSettings
from parc.track.follow.outcome import FallSettings
from parc.track.tracker_settings import PPOSettings


@dataclass(frozen=True)
class ReflexReward:
    """What pays, in units of the tracker's reward, of which a well tracked step earns about 2."""

    imitation: float = 1.0
    """weight of the tracker's reward"""
    progress: float = 20.0
    """for each metre of new worth"""
    wanted_speed: float = 1.2
    """m/s of worth that is paid at most"""
    saved: float = 2.0
    """s of pay for progress that a slow body can save up, for a leap or for the top of a wall"""
    arrival: float = 20.0
    """once, at the goal; afterwards life goes on as well as it does on average"""
    fall: float = 30.0
    """price of a fall, on top of all that cannot be earned any more"""
    stuck: float = 0.0
    """price of being stuck, likewise"""
    gate: float = 2.0
    """s without headway after which imitation pays nothing"""
    posture: float = 0.0
    """price of each m that the pelvis is lower over the ground than in the plan, and of each 2 rad that a knee is bent more. Off:
    the plan decides the posture, imitation holds to it, and climbs bend knees"""

    def __post_init__(self) -> None:
        if not (self.wanted_speed > 0 and self.saved > 0 and self.gate > 0):
            raise SettingsError(
                f"a wanted speed of {self.wanted_speed} m/s, {self.saved} s saved up, a gate of {self.gate} s: expected more"
            )
        if min(self.imitation, self.progress, self.arrival, self.fall, self.stuck, self.posture) < 0:
            raise SettingsError("weights and prices of the closed loop's reward are expected to be at least 0")


@dataclass(frozen=True)
class ReflexStarts:
    """Where episodes begin; what neither of the shares takes begins at the start of a path."""

    hard: float = 0.35
    """share of starts from states a while before failures"""
    places: float = 0.25
    """share of starts at places along the paths"""
    each: int = 3
    """starts on a terrain: one at the path's beginning, the others at places along it"""
    kept: int = 8192
    """states before failures that are kept; the newest replace the oldest"""
    before: tuple[float, float] = (0.5, 2.5)
    """s before a failure, from which to which"""
    passed: float = 5.0
    """s without a failure after which a start has succeeded"""
    tries: int = 6
    """of a hard start before it may leave"""
    hopeless: float = 0.1
    """a hard start that succeeds less often leaves"""
    easy: float = 0.95
    """a hard start that succeeds more often leaves too"""

    def __post_init__(self) -> None:
        if self.hard < 0 or self.places < 0 or self.hard + self.places > 1:
            raise SettingsError(f"shares of starts are {self.hard} and {self.places}, expected at least 0 and together at most 1")
        if self.each < 1 or self.kept < 1 or self.tries < 1 or not 0 < self.before[0] <= self.before[1] < math.inf:
            raise SettingsError(
                "counts of starts are expected to be at least 1, and the s before a failure two rising numbers over 0"
            )
        if self.places > 0 and self.each < 2:
            raise SettingsError(
                f"{self.each} start on a terrain leaves no places along the path; give 2 or more, or no share to places"
            )


@dataclass(frozen=True)
class BankSettings:
    """The ground that is trained on, and how quickly it is exchanged."""

    terrains: int = 1024
    """at a time"""
    families: tuple[Family, ...] = tuple(FAMILIES)
    """kinds of terrain, in equal parts"""
    widest_gap: float = 1.2
    """m, of platforms"""
    room: int = 64
    """cells along each side that a terrain may have; larger ones are drawn again"""
    longest: float = 30.0
    """m of a path; longer ones are drawn again"""
    fresh: int = 16
    """terrains exchanged at a time; 0: never"""
    every: int = 4
    """iterations from one exchange to the next"""
    drawers: int = 0
    """processes that draw terrains beside the training, which then takes what is ready; 0: drawn here, the same in every run"""

    def __post_init__(self) -> None:
        if self.terrains < 1 or self.room < 8 or not self.longest > 2 or self.every < 1 or min(self.fresh, self.drawers) < 0:
            raise SettingsError(
                f"a bank of {self.terrains} terrains of {self.room} cells and paths of {self.longest} m is no bank"
            )
        if self.fresh > self.terrains:
            raise SettingsError(f"{self.fresh} of {self.terrains} terrains cannot be exchanged at a time")
        if not self.families or any(family not in FAMILIES for family in self.families):
            raise SettingsError(f"families of terrain are {self.families}, expected some of {', '.join(FAMILIES)}")


@dataclass(frozen=True)
class DevelopmentSettings:
    """The terrains on which milestones are measured; the best tracker is the one that does best there."""

    families: tuple[Family, ...] = tuple(FAMILIES)
    """of the development set"""
    terrains: int = 20
    """the first of each family"""
    runs: int = 4
    """on each terrain"""
    clips_lost: float = 0.02
    """share of the clips that may be lost before it counts"""
    price: float = 2.0
    """of each further share of the clips, in shares of development runs"""

    def __post_init__(self) -> None:
        if self.terrains < 1 or self.runs < 1 or not self.families or self.price < 0:
            raise SettingsError(
                f"{self.terrains} terrains of {len(self.families)} families and {self.runs} runs: expected 1 at least"
            )


def _closed_loop_ppo() -> PPOSettings:
    """Advantages clipped where a death is not cut, a slower critic, and a policy that stays near the one it comes from."""
    return PPOSettings(
        advantage_clip=15.0,
        critic_rate=1e-4,
        actor_rate=2e-5,
        warm_rate=2e-5,
        target_kl=0.005,
        rate_range=(4e-6, 5e-5),
        stop_kl=0.05,
    )


@dataclass(frozen=True)
class ReflexTrainingSettings:
    """Everything that shapes closed-loop training beside the tracker's own settings."""

    every: tuple[int, ...] = (3, 5, 9, 12)
    """control steps from one plan of a body to its next; each of these numbers gets as many plans as the others"""
    clip_share: float = 1 / 3
    """share of the worlds that follow clips, so that nothing is forgotten"""
    loop: ReflexSettings = field(default_factory=ReflexSettings)
    """plans, arrival, being stuck, time; its `every` is that of milestones, its `candidates` need a critic"""
    fall: FallSettings = field(default_factory=FallSettings.at_once)
    """who is down by this, for so long, has fallen; with patience stumbles can be caught"""
    lost: float = 2.0
    """times the tracker's limits that a body may be from its plan; 0: however far"""
    reward: ReflexReward = field(default_factory=ReflexReward)
    starts: ReflexStarts = field(default_factory=ReflexStarts)
    disturbance: DisturbanceSettings = field(default_factory=DisturbanceSettings)
    bank: BankSettings = field(default_factory=BankSettings)
    development: DevelopmentSettings = field(default_factory=DevelopmentSettings)
    ppo: PPOSettings = field(default_factory=_closed_loop_ppo)
    pull: float = 0.0
    """weight of the divergence from the tracker that training begins with"""
    shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    """of the trained tracker in averages with the one it comes from, which are measured at the end; none: no averages"""

    def __post_init__(self) -> None:
        if not self.every or min(self.every) < 1 or max(self.every) >= self.loop.length:
            raise SettingsError(
                f"plans of {self.loop.length} frames every {self.every} control steps: expected 1 to {self.loop.length - 1}"
            )
        if not 0 <= self.clip_share < 1:
            raise SettingsError(f"the share of worlds that follow clips is {self.clip_share}, expected 0 or more and less than 1")
        if self.lost < 0 or self.pull < 0 or any(not 0 < share < 1 for share in self.shares):
            raise SettingsError("limits, pull and shares of averages are expected to be at least 0, shares between 0 and 1")

    def worlds(self, total: int) -> tuple[int, int]:
        """How many of `total` worlds cross terrain, and how many follow clips.

        Of those that cross, k * m plan every k steps, so that in each step m bodies for each k of `every` do.
        """
        turns = max(1, round(total * (1 - self.clip_share) / sum(self.every)))
        crossing = turns * sum(self.every)
        clips = max(total - crossing, 1) if self.clip_share > 0 else 0
        if crossing > total:
            raise SettingsError(
                f"{total} worlds are too few for plans every {self.every} control steps, expected {sum(self.every)}"
            )
        return crossing, clips
