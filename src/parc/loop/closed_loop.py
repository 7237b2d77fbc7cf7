"""What the loop asks of closed-loop training, which lives after it on the road (`parc.reflex.loop_stage`)."""

from pathlib import Path
from typing import Any, Protocol

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.track.learn.training_plan import TrainingPlan


class ClosedLoop(Protocol):
    """How an iteration's tracker is trained on with its generator in the loop (`parc.reflex.loop_stage`); a frozen dataclass."""

    @property
    def plan(self) -> TrainingPlan:
        """How long; its seed does not count."""
        ...

    @property
    def expected(self) -> float:
        """s that it takes on the machine the preset is meant for."""
        ...

    def train(
        self, out: Path, generator: Path, tracker: Path, clips: list[Clip], seed: int, character: Character, device: str
    ) -> dict[str, Any]:
        """Train in `out`, going on with what lies there; leaves an actor as a tracker's training does."""
        ...
