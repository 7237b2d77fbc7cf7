"""What rollouts along paths come to: motions side by side, each as long as it became."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip, Provenance
from parc.generate.data.frame_table import FPS
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


@dataclass(frozen=True, eq=False)
class RolloutBatch:
    """Motions of B rows, padded to the longest."""

    root_pos: Tensor
    """[B, T, 3]"""
    root_rot: Tensor
    """[B, T, 4] xyzw"""
    joint_rot: Tensor
    """[B, T, bodies - 1, 4] xyzw"""
    contacts: Tensor
    """[B, T, bodies]"""
    frames: Tensor
    """[B] frames that count"""
    reached: Tensor
    """[B] bool, arrived at the goal in time"""

    def __len__(self) -> int:
        return self.frames.shape[0]

    def motions(self, rows: Tensor | None = None) -> list[Motion]:
        """Of all rows, or of those named [K]."""
        parts = (self.root_pos, self.root_rot, self.joint_rot, self.contacts, self.frames)
        each = zip(*((t if rows is None else t[rows]).cpu() for t in parts), strict=True)
        return [Motion(p[:n].clone(), r[:n].clone(), j[:n].clone(), c[:n].clone(), FPS) for p, r, j, c, n in each]

    def clips(
        self, terrains: Sequence[Terrain], paths: Sequence[TerrainPath], name: str, provenance: Provenance, character: Character
    ) -> list[Clip]:
        """The motions of a character with the terrains and paths they were made for, named `name`_row."""
        each = len(self) // len(terrains)
        rows = enumerate(self.motions())
        return [
            Clip(f"{name}_{i:04d}", m, terrains[i // each], paths[i // each], character.fingerprint, provenance) for i, m in rows
        ]
