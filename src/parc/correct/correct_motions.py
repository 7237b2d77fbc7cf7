"""Kinematic correction: many clips at once are pulled out of the ground, onto their contacts and smoothed.

    L = w_reg L_reg + w_pen L_pen + w_contact L_contact + w_jerk L_jerk  (+ terms of our own)        (paper, E.2)

`OptimiseSettings.paper` has the paper's terms alone; a term without weight is not computed. Bodies are kept a little apart,
since a physics in which they collide pushes what touches; those that are far from each other in the source are not compared.

Unknowns, terms and solver are those of every fit (`parc.fit`). One iteration is a fixed list of tensor operations without host
sync; on CUDA it is captured once as a graph and replayed, and can be compiled before (worth its wait for many thousands of
iterations). Clips that have converged stay in the batch (they cost nothing extra on a GPU) and the run stops when all have.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_surface import min_per_body, world_points
from parc.character.character import Character
from parc.character.joint_coordinates import beyond_limits
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.character.self_distance import NearPairs
from parc.correct.contact_anchors import find_anchors
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.fit import penalty_terms
from parc.fit.adam_solver import AdamSolver
from parc.fit.penalty_terms import JerkUnit
from parc.fit.unknowns import Unknowns
from parc.metrics.clip_batch import ClipBatch
from parc.run.compile_traced import TracedFunction
from parc.terrain.terrain_distance import signed_distance_local


@dataclass(frozen=True)
class OptimiseSettings:
    """Weights of the terms, and when to stop."""

    iterations: int = 3000
    """steps of Adam at most (paper)"""
    step_size: float = 0.001
    """of Adam (paper)"""
    regularisation: float = 1.0
    """w_reg (paper)"""
    penetration: float = 1000.0
    """w_pen (paper)"""
    contact: float = 1000.0
    """w_contact (paper)"""
    jerk: float = 1000.0
    """w_jerk (paper)"""
    jerk_limit: float = 1000.0
    """m/s3 (paper)"""
    jerk_unit: JerkUnit = "m"
    """of the jerk over the limit: m/s3 (paper), or that times dt^3 (`parc.fit.penalty_terms`)"""
    root_turn: float = 1.0
    """weight of the root's rotation within L_reg"""
    smoothness: float = 10.0
    """of the change"""
    sliding: float = 1000.0
    """of contact patches"""
    anchor: float = 1000.0
    """of contact points of end effectors"""
    self_penetration: float = 1000.0
    """of bodies in each other"""
    self_margin: float = 0.002
    """m between bodies that counts as none"""
    self_reach: float = 0.1
    """m between bodies of the source beyond which they are not watched"""
    limits: float = 300.0
    """of joint coordinates outside of their ranges"""
    patience: int = 100
    """iterations without gain after which the step is cut, and at the fourth time the run ends; 0 never"""
    gain: float = 1e-2
    """least relative improvement of the batch's loss that counts"""

    @classmethod
    def paper(cls) -> "OptimiseSettings":
        """The paper's four terms with jerk in m/s3, all 3000 iterations; the root's turn in L_reg weighs 10 (released code)."""
        plain = cls(jerk_unit="m/s3", root_turn=10.0, patience=0)
        return replace(plain, smoothness=0.0, sliding=0.0, anchor=0.0, self_penetration=0.0, limits=0.0)

    def __post_init__(self) -> None:
        if self.iterations < 0:
            raise SettingsError(f"{self.iterations} iterations were asked for, expected at least 0")
        if not 0 < self.step_size < math.inf:
            raise SettingsError(f"the step size is {self.step_size}, expected a positive number")


def optimise(
    clips: list[Clip],
    character: Character,
    settings: OptimiseSettings = OptimiseSettings(),
    device: torch.device | str = "cpu",
    on_progress: Callable[[int, float], None] | None = None,
    compiled: bool = False,
) -> list[Clip]:
    """Corrected copies of clips, in order; provenance records the losses before and after.

    `compiled` fuses an iteration's kernels with torch.compile first.
    """
    problem = Correction(ClipBatch.stack(clips, character, device), settings)
    if compiled:
        problem.fuse()
    with torch.no_grad():
        before = problem.terms()
    problem.solve(on_progress)
    return problem.corrected(clips, before)


class Correction:
    """One run of the optimiser over a batch: `solve` it, and read `pose` at any time."""

    def __init__(self, batch: ClipBatch, settings: OptimiseSettings) -> None:
        self.batch, self.settings = batch, settings
        t, dtype = batch.root_pos.shape[1], batch.root_pos.dtype
        self.valid = batch.valid.to(dtype)
        self.unknowns = Unknowns(batch.character, batch.root_pos, batch.root_rot, batch.joint_rot)
        self.change = self.unknowns.change

        # where hands and feet are held, and which of their points touch then
        keys = batch.character.key_bodies
        self.anchors = find_anchors(batch.terrains, batch.surface, batch.points, batch.contacts, batch.valid, keys)
        self.held = self.anchors.held[:, 1:] * self.anchors.held[:, :-1]
        self.key_rows = batch.surface.by_body[list(keys)]
        near = batch.point_clearance[..., self.key_rows.flatten()].unflatten(-1, tuple(self.key_rows.shape))
        self.patch = near <= near.amin(-1, keepdim=True) + 0.02

        # bodies that are near each other in the source
        self.near = NearPairs(batch.character, batch.pose, settings.self_reach, batch.valid)
        self.near_clip = self.near.frame // t

        self._loss: Callable[[Tensor], Tensor] = self.weighted
        groups = [([self.change], settings.step_size)]
        self.solver = AdamSolver(lambda: self._loss(self.change), groups, captured=True)

    @property
    def total(self) -> Tensor:
        """The objective before the last iteration, of all clips together."""
        return self.solver.total

    def fuse(self, backend: str = "inductor") -> None:
        """Compile the loss and its gradient at their next evaluation."""
        self._loss = TracedFunction(self.weighted, differentiable=True, backend=backend)

    def pose(self, change: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Root positions, root rotations and joint rotations at the given change or the current one."""
        return self.unknowns.poses(self.change if change is None else change)

    def terms(self, change: Tensor | None = None) -> dict[str, Tensor]:
        """Every term of every clip, [N], unweighted, at the given change or the current one."""
        return {name: term() for name, term in self._terms(self.change if change is None else change).items()}

    def weighted(self, change: Tensor) -> Tensor:
        """The objective, summed over clips; terms without a weight are not computed."""
        total = torch.zeros_like(self.total)
        for name, term in self._terms(change).items():
            if weight := getattr(self.settings, name):
                total = total + weight * term().sum()
        return total

    def _terms(self, change: Tensor) -> dict[str, Callable[[], Tensor]]:
        batch, settings, valid = self.batch, self.settings, self.valid
        parts = self.unknowns.parts(change)
        root_pos, root_rot, joint_rot = self.pose(change)
        bodies = forward_kinematics(batch.character, root_pos, root_rot, joint_rot)
        pose = BodyPose(bodies.pos, rotation.to_matrix(bodies.rot))
        points = world_points(batch.surface, pose)
        signed = signed_distance_local(batch.terrains, points.flatten(1, 2), reach=1, border="wall").view(points.shape[:-1])

        def sliding() -> Tensor:
            key_points = points.index_select(2, self.key_rows.flatten()).unflatten(2, tuple(self.key_rows.shape))
            return penalty_terms.sliding(key_points, self.patch, self.held)

        def anchor() -> Tensor:
            held_points = points.gather(2, self.anchors.point.unsqueeze(-1).expand(*self.anchors.point.shape, 3))
            return penalty_terms.held_apart(held_points, self.anchors.place, self.anchors.held).sum((1, 2))

        return {
            "regularisation": lambda: penalty_terms.regularisation(*parts, valid, settings.root_turn),
            "penetration": lambda: penalty_terms.penetration(signed, valid),
            "contact": lambda: penalty_terms.contact(min_per_body(batch.surface, signed.abs()), batch.contacts, valid),
            "jerk": lambda: penalty_terms.excess_jerk(pose.pos, valid, settings.jerk_limit, batch.fps, settings.jerk_unit),
            "smoothness": lambda: penalty_terms.smoothness(*parts, valid),
            "sliding": sliding,
            "anchor": anchor,
            "self_penetration": lambda: penalty_terms.self_penetration(
                self.near.depth(pose) + settings.self_margin, self.near_clip, len(batch)
            ),
            "limits": lambda: penalty_terms.frame_sum(beyond_limits(batch.character, joint_rot), valid),
        }

    def solve(self, on_progress: Callable[[int, float], None] | None) -> None:
        """All iterations, or as many as gain something."""
        settings = self.settings
        self.solver.until_still(settings.iterations, settings.patience, settings.gain, on_progress)

    def stepper(self) -> Callable[[], None]:
        """One iteration, captured where that is possible; those that warm up are iterations too."""
        return self.solver.stepper()

    @torch.no_grad()
    def corrected(self, clips: list[Clip], before: dict[str, Tensor], label: str = "correct") -> list[Clip]:
        """Copies of the batch's clips as they are now, with the terms `before` and now among their losses."""
        after = self.terms()
        root_pos, root_rot, joint_rot = (x.detach().cpu() for x in self.pose())
        copies = []
        for i, clip in enumerate(clips):
            t = len(clip.motion)
            motion = replace(clip.motion, root_pos=root_pos[i, :t], root_rot=root_rot[i, :t], joint_rot=joint_rot[i, :t])
            losses = {f"{key}_before": float(value[i]) for key, value in before.items()}
            losses |= {key: float(value[i]) for key, value in after.items()}
            copy = clip.derived(f"{clip.name}_corrected", label, motion=motion)
            copies.append(replace(copy, provenance=replace(copy.provenance, losses={**clip.provenance.losses, **losses})))
        return copies
