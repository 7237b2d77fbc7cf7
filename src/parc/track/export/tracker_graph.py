"""The tracker as one function of plain arrays: the simulated state and the reference's frames in, motor targets out.

Inside are the observation (`parc.track.env.observation`), the symmetry, the normaliser, the network and what an action means
(`parc.track.env.motor_action`). What the policy carries from one control step to the next, the held offset of its targets, is an
input and an output.
"""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from parc.motion.mujoco_qpos import qpos_to_bodies, qpos_to_frames, standing_qpos, state_layout
from parc.terrain.terrain import CELL
from parc.track.env.body_tables import BodyTables
from parc.track.env.motor_action import motor_targets
from parc.track.env.observation import BodyState, Observer
from parc.track.env.observation_layout import ObservationLayout
from parc.track.export.generator_graph import as_batch
from parc.track.follow.reference_table import FrameRows
from parc.track.learn.policy import TrainedActor


class TrackerGraph(nn.Module):
    """A state and the S frames of a reference that the policy looks at, to motor targets."""

    inputs = ("qpos", "qvel", "contacts", "held", "reference_qpos", "reference_contacts", "terrain", "terrain_min")
    outputs = ("targets", "next_held")

    def __init__(self, trained: TrainedActor, cell: float = CELL) -> None:
        super().__init__()
        settings = trained.settings
        self.actor, self.trained, self.cell = trained.actor, trained, cell
        self._anatomy = BodyTables(trained.character, trained.actor.normalizer.mean.device)
        self._observer = Observer(self._anatomy, settings.observation)
        looks = settings.observation.target_steps
        lead = (settings.action.lead,) if settings.action.residual else ()
        self.reference_steps = tuple(dict.fromkeys((*looks, *lead)))
        """[S] control steps ahead of the frame where the body is now; the observation's first, in its order"""
        self._looks = len(looks)
        self._lead = self.reference_steps.index(lead[0]) if lead else 0

    def forward(
        self,
        qpos: Tensor,
        qvel: Tensor,
        contacts: Tensor,
        held: Tensor,
        reference_qpos: Tensor,
        reference_contacts: Tensor,
        terrain: Tensor,
        terrain_min: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """qpos [B, nq], qvel [B, nv], contacts [B, bodies], held [B, D], reference [B, S, ...], terrain [B, X, Y] to [B, D]."""
        character, layout = self.trained.character, self._observer.layout
        rows = FrameRows.of(self._anatomy, *qpos_to_frames(character, reference_qpos), reference_contacts)
        state = BodyState(qvel, *qpos_to_bodies(character, qpos), contacts, held)
        row = torch.arange(qpos.shape[0], device=qpos.device)
        seen = self._observer.numbers(state, rows.targets[:, : self._looks], as_batch(terrain, terrain_min, self.cell), row)
        action = self.actor(nn.functional.pad(seen, (0, layout.size - layout.width)))
        return motor_targets(action, held, rows.dof[:, self._lead], self._anatomy, self.trained.settings.action)

    def example(self, batch: int = 5) -> dict[str, Tensor]:
        """Inputs by name: standing on flat ground."""
        character, frames = self.trained.character, len(self.reference_steps)
        place = torch.tensor([0.1, 0.1, 0.9])
        values = (
            standing_qpos(character, place.expand(batch, 3)), torch.zeros(batch, state_layout(character).nv),
            torch.zeros(batch, character.num_bodies), torch.zeros(batch, character.num_dof),
            standing_qpos(character, place.expand(batch, frames, 3)), torch.zeros(batch, frames, character.num_bodies),
            torch.zeros(batch, 7, 11), torch.full((batch, 2), -1.0),
        )  # fmt: skip
        return dict(zip(self.inputs, values, strict=True))


class ActorGraph(nn.Module):
    """The actor alone, for who makes the observation himself: symmetry, normaliser and network."""

    inputs, outputs = ("observation",), ("action",)

    def __init__(self, trained: TrainedActor) -> None:
        super().__init__()
        self.actor, self.trained = trained.actor, trained
        self._layout = ObservationLayout(BodyTables(trained.character, "cpu"), trained.settings.observation)

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers in an observation and an action."""
        return {"observation": self._layout.size, "action": self.trained.character.num_dof}

    def forward(self, observation: Tensor) -> Tensor:
        """Observations [B, size] to mean actions [B, D]."""
        return self.actor(observation)

    def example(self, batch: int = 5) -> dict[str, Tensor]:
        """An input by name."""
        return {"observation": torch.zeros(batch, self._layout.size)}

    def description(self) -> dict[str, Any]:
        """What the file says of itself: for whom, under which contract, and where what stands in an observation."""
        trained = self.trained
        return {
            "kind": "actor",
            "character": trained.character.fingerprint,
            "character_name": trained.character.name,
            "contract": asdict(trained.contract),
            "settings": asdict(trained.settings),
            "observation": {name: [part.start, part.stop] for name, part in self._layout.slices.items()},
        }
