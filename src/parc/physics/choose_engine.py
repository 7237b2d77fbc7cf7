"""Which engine simulates: MuJoCo's threads on the CPU, MuJoCo Warp on a GPU."""

import torch

from parc.character.character import Character
from parc.errors import SettingsError
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import World
from parc.terrain.terrain import CELL


def make_world(
    character: Character,
    contract: Contract,
    num_worlds: int,
    device: torch.device | str = "cpu",
    threads: int = 0,
    cell: float = CELL,
) -> World:
    """A world on `device`; `threads` is for the CPU, 0 takes all cores."""
    device = torch.device(device)
    if device.type == "cpu":
        return NativeWorld(character, contract, num_worlds, threads, cell)
    if device.type != "cuda":
        raise SettingsError(f"physics cannot run on device '{device}', expected cpu or cuda")
    if not torch.cuda.is_available():
        raise SettingsError(f"physics was asked to run on '{device}', but torch sees no CUDA device; use the device cpu")
    from parc.physics.warp_world import WarpWorld

    return WarpWorld(character, contract, num_worlds, device, cell)
