"""Kinematic correction: many clips at once are pulled out of the ground, onto their contacts and smoothed.

    L = w_reg L_reg + w_pen L_pen + w_contact L_contact + w_jerk L_jerk  (+ terms of our own)

`OptimiseSettings.paper` has the paper's terms alone; a term without weight is not computed. Bodies are kept a little apart,
since a physics in which they collide pushes what touches; those that are far from each other in the source are not compared.

Unknowns are the change against the source: a shift and a turn of the root and one coordinate for each degree of freedom, so
hinges stay hinges. One iteration is a fixed list of tensor operations without host sync; on CUDA it is captured once as a
graph and replayed, and can be compiled before (worth its wait for many thousands of iterations). Clips that have converged stay
in the batch (they cost nothing extra on a GPU) and the run stops when all have.
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
from parc.correct import correction_terms
from parc.correct.contact_anchors import find_anchors
from parc.correct.correction_terms import JerkUnit
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.metrics.clip_batch import ClipBatch
from parc.run.compile_traced import TracedFunction
from parc.run.cuda_graph import CudaGraph
from parc.terrain.terrain_distance import signed_distance_local


@dataclass(frozen=True)
class OptimiseSettings:
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
    """of the jerk over the limit: m/s3 (paper), or that times dt^3 (`parc.correct.correction_terms`)"""
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
    batch = ClipBatch.stack(clips, character, device)
    problem = Correction(batch, settings)
    if compiled:
        problem.fuse()
    with torch.no_grad():
        before = problem.terms()
    problem.solve(on_progress)
    with torch.no_grad():
        after = problem.terms()
    root_pos, root_rot, joint_rot = (x.detach().cpu() for x in problem.pose())
    corrected = []
    for i, clip in enumerate(clips):
        t = len(clip.motion)
        motion = replace(clip.motion, root_pos=root_pos[i, :t], root_rot=root_rot[i, :t], joint_rot=joint_rot[i, :t])
        losses = {f"{key}_before": float(value[i]) for key, value in before.items()}
        losses |= {key: float(value[i]) for key, value in after.items()}
        copy = clip.derived(f"{clip.name}_corrected", "correct", motion=motion)
        corrected.append(replace(copy, provenance=replace(copy.provenance, losses={**clip.provenance.losses, **losses})))
    return corrected


class Correction:
    """One run of the optimiser over a batch: `solve` it, and read `pose` at any time."""

    def __init__(self, batch: ClipBatch, settings: OptimiseSettings) -> None:
        self.batch, self.settings = batch, settings
        device, dtype = batch.root_pos.device, batch.root_pos.dtype
        n, t = batch.root_pos.shape[:2]
        self.valid = batch.valid.to(dtype)
        self.spread = _dof_to_turns(batch.character, device, dtype)
        self.change = torch.zeros(n, t, 6 + batch.character.num_dof, device=device, dtype=dtype, requires_grad=True)
        keys = batch.character.key_bodies
        self.anchors = find_anchors(batch.terrains, batch.surface, batch.points, batch.contacts, batch.valid, keys)
        self.key_rows = batch.surface.by_body[list(keys)]
        near = batch.point_clearance[..., self.key_rows.flatten()].unflatten(-1, tuple(self.key_rows.shape))
        self.patch = near <= near.amin(-1, keepdim=True) + 0.02
        self.held = self.anchors.held[:, 1:] * self.anchors.held[:, :-1]
        self.near = NearPairs(batch.character, batch.pose, settings.self_reach, batch.valid)
        self.near_clip = self.near.frame // t
        self.total = torch.zeros((), device=device, dtype=dtype)
        self.rate = torch.full((), settings.step_size, device=device)
        self._loss: Callable[[Tensor], Tensor] = self.weighted

    def fuse(self, backend: str = "inductor") -> None:
        """Compile the loss and its gradient at their next evaluation."""
        self._loss = TracedFunction(self.weighted, differentiable=True, backend=backend)

    def pose(self, change: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        batch = self.batch
        shift, root_turn, joint_turn = (self.change if change is None else change).split([3, 3, batch.character.num_dof], -1)
        turns = (joint_turn @ self.spread).unflatten(-1, (batch.character.num_joints, 3))
        return (
            batch.root_pos + shift,
            correction_terms.turned(batch.root_rot, root_turn),
            correction_terms.turned(batch.joint_rot, turns),
        )

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
        shift, root_turn, joint_turn = change.split([3, 3, batch.character.num_dof], -1)
        root_pos, root_rot, joint_rot = self.pose(change)
        bodies = forward_kinematics(batch.character, root_pos, root_rot, joint_rot)
        pose = BodyPose(bodies.pos, rotation.to_matrix(bodies.rot))
        points = world_points(batch.surface, pose)
        signed = signed_distance_local(batch.terrains, points.flatten(1, 2), reach=1, border="wall").view(points.shape[:-1])

        def sliding() -> Tensor:
            key_points = points.index_select(2, self.key_rows.flatten()).unflatten(2, tuple(self.key_rows.shape))
            return correction_terms.sliding(key_points, self.patch, self.held)

        def anchoring() -> Tensor:
            held_points = points.gather(2, self.anchors.point.unsqueeze(-1).expand(*self.anchors.point.shape, 3))
            return correction_terms.anchoring(held_points, self.anchors.place, self.anchors.held)

        return {
            "regularisation": lambda: correction_terms.regularisation(shift, root_turn, joint_turn, valid, settings.root_turn),
            "penetration": lambda: correction_terms.penetration(signed, valid),
            "contact": lambda: correction_terms.contact(min_per_body(batch.surface, signed.abs()), batch.contacts, valid),
            "jerk": lambda: correction_terms.excess_jerk(pose.pos, valid, settings.jerk_limit, batch.fps, settings.jerk_unit),
            "smoothness": lambda: correction_terms.smoothness(shift, root_turn, joint_turn, valid),
            "sliding": sliding,
            "anchor": anchoring,
            "self_penetration": lambda: correction_terms.self_penetration(
                self.near.depth(pose) + settings.self_margin, self.near_clip, len(batch)
            ),
            "limits": lambda: correction_terms.straining(beyond_limits(batch.character, joint_rot), valid),
        }

    def solve(self, on_progress: Callable[[int, float], None] | None) -> None:
        """Adam with a step that is cut to a third whenever the loss stands still, three times, then the end."""
        settings = self.settings
        step = self.stepper()
        best, since, cuts = float("inf"), 0, 0
        check = max(1, min(50, settings.patience or 50))
        for i in range(settings.iterations):
            step()
            if (i + 1) % check:
                continue
            now = float(self.total)
            if on_progress:
                on_progress(i + 1, now)
            best, since = (now, 0) if now < best * (1 - settings.gain) else (best, since + check)
            if settings.patience and since >= settings.patience:
                if cuts == 3:
                    return
                self.rate.mul_(1 / 3)
                cuts, since = cuts + 1, 0

    def stepper(self) -> Callable[[], None]:
        """One iteration, captured where that is possible; those that warm up are iterations too."""
        optimiser = torch.optim.Adam([self.change], lr=self.rate, capturable=self.change.is_cuda, fused=self.change.is_cuda)

        def iterate() -> None:
            optimiser.zero_grad(set_to_none=False)
            value = self._loss(self.change)
            value.backward()
            optimiser.step()
            self.total.copy_(value.detach())

        self.change.grad = torch.zeros_like(self.change)
        return CudaGraph(iterate, self.change.device, every_run_counts=False)


def _dof_to_turns(character: Character, device: torch.device, dtype: torch.dtype) -> Tensor:
    """[D, 3 (B-1)]: changes of the coordinates to exponential maps of the joints."""
    matrix = torch.zeros(character.num_dof, character.num_joints, 3, device=device, dtype=dtype)
    for joint, (body, start) in enumerate(zip(character.bodies[1:], character.dof_start[1:], strict=True)):
        for k, axis in enumerate(body.joint.axes):
            matrix[start + k, joint] = torch.tensor(axis, device=device, dtype=dtype)
    return matrix.flatten(1)
