"""All that shapes a tracker. The defaults are chosen to learn fast; `TrackerSettings.paper()` is the paper's set-up."""

from dataclasses import dataclass, field, replace
from typing import Literal

from parc.errors import SettingsError
from parc.physics.physical_contract import Contract
from parc.quality.limit_profiles import TrackerInputLimits
from parc.track.env.disturbed_bodies import DisturbanceSettings
from parc.track.env.episode_restart import RestartSettings
from parc.track.env.motor_action import ActionSettings
from parc.track.env.observation_layout import ObservationSettings
from parc.track.env.reference_library import ReferenceSettings
from parc.track.env.reward import RewardSettings
from parc.track.follow.outcome import TerminationSettings


@dataclass(frozen=True)
class PolicySettings:
    """Networks of actor and critic, and the noise of actions."""

    hidden: tuple[int, ...] = (2048, 1024, 512)
    """units of each layer, of actor and critic"""
    activation: Literal["relu", "elu", "silu"] = "relu"
    std: float = 0.08
    """of the actions, at the start"""
    learn_std: bool = True
    std_range: tuple[float, float] = (0.02, 0.3)
    """bounds of a learned std"""
    final_std: float = 0.025
    """its upper bound at the end of the budget, falling from `std` over the last 40 %: what shakes cannot learn to stand"""
    symmetry: Literal["canonical", "augment", "none"] = "canonical"
    """canonical: the policy is symmetric by construction; augment: half of each minibatch is mirrored; none: neither"""


@dataclass(frozen=True)
class PPOSettings:
    """How much is simulated for an update, and how it learns from that."""

    steps: int = 16
    """control steps of each world between updates"""
    epochs: int = 4
    """passes over them"""
    minibatch: int = 16384
    """samples"""
    gamma: float = 0.99
    """discount"""
    lam: float = 0.95
    """lambda of GAE and TD"""
    clip: float = 0.2
    """bound of the probability ratio's distance from 1"""
    advantage_clip: float = 4.0
    """standard deviations"""
    reward_scale: float = 0.1
    """factor of rewards before anything else"""
    actor_rate: float = 1.5e-4
    """learning rate at the start"""
    critic_rate: float = 3e-4
    """learning rate"""
    target_kl: float = 0.03
    """the actor's rate is raised below half of this divergence an update and lowered above twice; 0 keeps it fixed"""
    rate_range: tuple[float, float] = (1e-5, 2e-4)
    """bounds of the actor's rate; as the std falls the same step goes farther, and a floor of 1e-4 ended in a divergence of 0.27
    an update and a policy that grew rougher and worse"""
    stop_kl: float = 0.15
    """an epoch that has gone this far from the policy that acted is the actor's last of its update; 0: never"""
    critic_first: int = 20
    """updates of a warm start in which only the critic learns"""
    warm_rate: float = 5e-5
    """the actor's rate at a warm start"""
    warm_std: float = 0.05
    """least std of the actions at a warm start"""
    final_rate: float = 0.2
    """factor of both rates at the end of the budget; they fall linearly over its last 40 %"""
    gradient_norm: float = 1.0
    """longer gradients are shortened, actor and critic apart; 0: never"""
    optimiser: Literal["adam", "sgd"] = "adam"
    momentum: float = 0.9
    """of sgd"""
    bound: float = 1.0
    """means beyond this size are pulled back"""
    bound_weight: float = 1.0
    """of that pull in the loss"""
    calm: float = 2.0
    """weight in the loss of how far a mean is from those of the steps before and after it"""
    average: float = 0.998
    """decay of the actor's average, each minibatch; 0: the last weights are used"""

    @classmethod
    def paper(cls) -> "PPOSettings":
        """PPO as the released code has it, for the paper tells no numbers: SGD at 5e-5, 32 steps, 5 epochs, bound 10.

        The momentum, the size of minibatches, gamma, lambda, clip and the clipped advantages are ours.
        """
        return cls(
            steps=32, epochs=5, optimiser="sgd", actor_rate=5e-5, critic_rate=5e-5, reward_scale=1.0, bound_weight=10.0,
            target_kl=0.0, stop_kl=0.0, final_rate=1.0, critic_first=0, warm_rate=5e-5, gradient_norm=0.0, calm=0.0, average=0.0,
        )  # fmt: skip

    def __post_init__(self) -> None:
        if self.optimiser not in ("adam", "sgd") or not 0 <= self.momentum < 1 or self.gradient_norm < 0:
            raise SettingsError(
                f"optimiser is '{self.optimiser}' with momentum {self.momentum} and gradient_norm {self.gradient_norm}, expected "
                "adam or sgd, a momentum from 0 to under 1, a norm of 0 or more"
            )


@dataclass(frozen=True)
class TrackerSettings:
    """Everything that shapes a tracker."""

    observation: ObservationSettings = field(default_factory=ObservationSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    termination: TerminationSettings = field(default_factory=TerminationSettings)
    restart: RestartSettings = field(default_factory=RestartSettings)
    reference: ReferenceSettings = field(default_factory=lambda: ReferenceSettings(near=0.03))
    action: ActionSettings = field(default_factory=ActionSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    ppo: PPOSettings = field(default_factory=PPOSettings)
    contract: Contract = field(default_factory=Contract)
    disturbance: DisturbanceSettings = field(default_factory=DisturbanceSettings)
    """in training alone"""

    @classmethod
    def paper(cls) -> "TrackerSettings":
        """Absolute targets, the paper's six rewards, failure rates by clip, every reference trained on, no symmetry (paper).

        Where the paper tells nothing it is the released code's: std .05, start noise of 7.5 cm, limits of the root, the
        character's own torque limits, PPO's numbers. Episodes may last as long as the paper's longest motions.
        """
        return cls(
            observation=ObservationSettings(held=False),
            reward=RewardSettings(key_velocity=0.0, smooth=0.0),
            termination=TerminationSettings(longest=10.0),
            reference=ReferenceSettings(TrackerInputLimits(enabled=False)),
            restart=RestartSettings(unit="clip", floor=0.01, ceiling=1.0, root_noise=0.075, velocity_noise=0.0),
            action=ActionSettings(residual=False, lead=0, hold=0.0),
            policy=PolicySettings(std=0.05, learn_std=False, symmetry="none"),
            ppo=PPOSettings.paper(),
            contract=replace(Contract(), torque_scale=1.0),
        )

    @classmethod
    def small(cls) -> "TrackerSettings":
        """For a CPU and a clip or two: the same method with small networks and small batches."""
        fast = cls()
        ppo = replace(fast.ppo, minibatch=512, gamma=0.97, average=0.98)
        ppo = replace(ppo, actor_rate=3e-4, critic_rate=1e-3, rate_range=(1e-4, 1e-3))
        return replace(fast, policy=replace(fast.policy, hidden=(256, 128), std=0.05), ppo=ppo)
