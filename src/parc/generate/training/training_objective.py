"""What training minimises: the losses of `window_losses`, weighed.

`FastObjective` keeps the paper's terms (reconstruction, velocity, joint consistency, penetration) on the 6D features and adds
what the rollouts of a plain model lacked: feet that stand while they carry, seams without a jerk, labels that agree with the
ground, and free fall where nothing touches it. Terms about detail (velocities, contacts) weigh more at low noise, where the
sampler's last step lives, than at high noise, where only the mean can be known.

`PaperObjective` is the paper's loss with the released weights, sums over features and all.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.generate.data.body_sample_points import probe_points, sole_points
from parc.generate.data.training_windows import WindowBatch
from parc.generate.model.feature_layout import FeatureLayout, Statistics
from parc.generate.training import window_losses


@dataclass(frozen=True)
class FastObjective:
    """Weights of ours."""

    reconstruction: float = 1.0
    position: float = 50.0
    """1/m2"""
    consistency: float = 25.0
    """1/m2"""
    velocity: float = 800.0
    """1/(m/frame)2"""
    acceleration: float = 400.0
    """1/(m/frame2)2"""
    held: float = 1500.0
    """1/(m/frame)2, soles in recorded contact"""
    slide: float = 1500.0
    """1/(m/frame)2, soles in the model's own contact"""
    penetration: float = 1.0
    """1/m"""
    contact: float = 10.0
    """1/m"""
    own_contact: float = 4.0
    """1/m"""
    flight: float = 0.3
    detail_at_noise: float = 0.3
    """weight of the detail terms at pure noise against 1 at none"""
    ground_branches: int = 1
    """noise levels of each window that are held against the terrain"""

    NAMES = (
        "total", "reconstruction", "position", "consistency", "velocity", "acceleration",
        "held", "slide", "penetration", "contact", "own_contact", "flight",
    )  # fmt: skip

    def __call__(
        self, layout: FeatureLayout, stats: Statistics, window: WindowBatch, predicted: Tensor, level: Tensor, past_shown: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Standardised prediction [B, K, T, D] at levels [B, K] to the total and its parts, unweighted, in the order of NAMES."""
        probe = probe_points(layout.character, predicted.device)
        recorded_features = stats.standardise(window.future).unsqueeze(1)
        posed = window_losses.pose_of(layout, stats.restore(predicted))
        recorded = window_losses.pose_of(layout, window.future.unsqueeze(1))
        label = posed.state.contacts.clamp(0, 1)
        soles, recorded_soles = sole_points(probe, posed.pose), sole_points(probe, recorded.pose)
        foot_label = label.index_select(-1, probe.feet)
        recorded_foot_label = recorded.state.contacts.index_select(-1, probe.feet)

        real = (~window.is_random).float().unsqueeze(1)
        share = real.mean().clamp_min(1e-3)
        detail = 1 - (1 - self.detail_at_noise) * level

        def mean(term: Tensor) -> Tensor:
            return (term * real).mean() / share

        terms = {
            "reconstruction": mean(window_losses.reconstruction(predicted, recorded_features, layout.used)),
            "position": mean(window_losses.position_error(posed.pose.pos, recorded.pose.pos)),
            "consistency": window_losses.joint_consistency(posed).mean(),
            "velocity": mean(detail * window_losses.difference_error(posed.pose.pos, recorded.pose.pos, past_shown, 1)),
            "acceleration": mean(detail * window_losses.difference_error(posed.pose.pos, recorded.pose.pos, past_shown, 2)),
            "held": mean(detail * window_losses.held_point_error(soles, recorded_soles, recorded_foot_label)),
            "slide": (detail * window_losses.own_contact_slide(soles, foot_label)).mean(),
        }
        k = self.ground_branches
        ground = window_losses.ground_terms(
            posed.first(k), label[:, :k], recorded.state.contacts, window.patch, window.frame, probe
        )
        terms["penetration"] = ground.penetration.mean()
        terms["contact"] = mean(detail[:, :k] * ground.contact)
        terms["own_contact"] = (detail[:, :k] * ground.own_contact).mean()
        terms["flight"] = (detail[:, :k] * ground.flight).mean()
        total = torch.stack([getattr(self, name) * value for name, value in terms.items()]).sum()
        return total, torch.stack([total, *terms.values()]).detach()


@dataclass(frozen=True)
class PaperObjective:
    """L(G) = L_rec + L_velocity + L_joint + L_pen (paper, section 5.2 and appendix D.1), released weights."""

    root_pos: float = 1.0
    root_rot: float = 1.0
    joint_rot: float = 0.5
    contacts: float = 1.0
    joint_pos: float = 0.5
    consistency: float = 1.0
    root_velocity: float = 0.5
    root_turn: float = 0.02
    joint_turn: float = 0.01
    body_pos: float = 0.5
    body_rot: float = 0.1
    body_velocity: float = 0.03
    penetration: float = 15.0
    """1/m"""
    ground_branches: int = 1
    """noise levels of each window that are held against the terrain"""

    NAMES = (
        "total", "root_pos", "root_rot", "joint_rot", "contacts", "joint_pos", "consistency",
        "root_velocity", "root_turn", "joint_turn", "body_pos", "body_rot", "body_velocity", "penetration",
    )  # fmt: skip

    def __call__(
        self, layout: FeatureLayout, stats: Statistics, window: WindowBatch, predicted: Tensor, level: Tensor, past_shown: Tensor
    ) -> tuple[Tensor, Tensor]:
        probe = probe_points(layout.character, predicted.device)
        a = window_losses.pose_of(layout, stats.restore(predicted))
        b = window_losses.pose_of(layout, window.future.unsqueeze(1))
        real = (~window.is_random).float().unsqueeze(1)
        share = real.mean().clamp_min(1e-3)

        def mean(term: Tensor) -> Tensor:
            return (term * real).mean() / share

        def squares(x: Tensor, y: Tensor) -> Tensor:
            return (x - y).square().flatten(3).sum(-1).mean(-1)

        def steps(x: Tensor) -> Tensor:
            return (x[:, :, 1:] - x[:, :, :-1]) * window_losses.FPS

        turn = window_losses.FPS**2
        terms = {
            "root_pos": mean(squares(a.state.root_pos, b.state.root_pos)),
            "root_rot": mean(window_losses.rotation_error(a.state.root_rot.unsqueeze(-3), b.state.root_rot.unsqueeze(-3))),
            "joint_rot": mean(window_losses.rotation_error(a.state.joint_rot, b.state.joint_rot)),
            "contacts": mean(squares(a.state.contacts, b.state.contacts)),
            "joint_pos": mean(squares(a.joint_pos, b.joint_pos)),
            "consistency": mean(squares(a.joint_pos, a.pose.pos[..., 1:, :])),
            "root_velocity": mean(squares(steps(a.state.root_pos), steps(b.state.root_pos))),
            "root_turn": turn
            * mean(window_losses.angular_velocity_error(a.state.root_rot.unsqueeze(-3), b.state.root_rot.unsqueeze(-3))),
            "joint_turn": turn * mean(window_losses.angular_velocity_error(a.state.joint_rot, b.state.joint_rot)),
            "body_pos": mean(squares(a.pose.pos, b.pose.pos)),
            "body_rot": mean(window_losses.rotation_error(a.pose.rot, b.pose.rot)),
            "body_velocity": mean(squares(steps(a.pose.pos), steps(b.pose.pos))),
        }
        k = self.ground_branches
        label = a.state.contacts.clamp(0, 1)
        ground = window_losses.ground_terms(a.first(k), label[:, :k], b.state.contacts, window.patch, window.frame, probe)
        terms["penetration"] = ground.penetration.mean()
        total = torch.stack([getattr(self, name) * value for name, value in terms.items()]).sum()
        return total, torch.stack([total, *terms.values()]).detach()
