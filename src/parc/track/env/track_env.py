"""The reinforcement-learning environment: bodies that follow clips, rewarded, and put on a new start where an episode has ended.

What a control step is, `parc.track.follow.tracked_bodies` says; here the second half also rewards, counts failures and draws new
starts. Random numbers are drawn outside of the recorded graphs. Nothing waits for the device.

A world whose episode has ended starts a new one within the same step, so `observation` already belongs to the new
episode, while `reward`, `failed`, `timed_out`, `at_end` and `error` tell of the step that was taken.
"""

import torch
from torch import Tensor

from parc.physics.simulated_world import World
from parc.terrain.terrain import TerrainBatch
from parc.track.env.disturbed_bodies import push
from parc.track.env.episode_restart import Restart
from parc.track.env.reference_library import ReferenceLibrary
from parc.track.env.rewarded_bodies import RewardedBodies
from parc.track.tracker_settings import TrackerSettings

_NEVER = 1 << 40


class TrackEnv(RewardedBodies):
    """Worlds that follow the clips of a library; strips are clips here."""

    def __init__(
        self, world: World, library: ReferenceLibrary, settings: TrackerSettings, generator: torch.Generator, graphs: bool = True
    ) -> None:
        """`generator` lives on the world's device."""
        super().__init__(world, library, library.bank, settings, generator, graphs)
        n, device = world.num_worlds, world.device
        self.library, self.clip, self.generator = library, self.strip, generator
        self._may_look = device.type == "cpu"
        """on a GPU to look whether there is anything to do takes longer than to do it for nobody"""
        self.restart = Restart(library, settings.restart, world.contract.control_hz)
        self._longest = round(settings.termination.longest * world.contract.control_hz)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.timed_out = zeros(n, dtype=torch.bool)
        """[N] stopped without fault"""
        self.broken_count = zeros(dtype=torch.long)
        """[] worlds whose simulation broke since the start"""
        self._push_draws = zeros(n, 3)
        self._counts = True
        self._counting, self._age_limit = zeros() + 1.0, zeros(dtype=torch.long) + self._longest

    def judge(self) -> None:
        self._draw_disturbances()
        super().judge()

    def set_terrains(self, bank: TerrainBatch) -> None:
        super().set_terrains(bank)
        if self.settings.disturbance.height_noise > 0:  # every body believes something else of the ground
            n, device = self.world.num_worlds, self.world.device
            self.true_bank = bank
            self.bank, self.bank_row = (
                bank.select(torch.zeros(n, dtype=torch.long, device=device)),
                torch.arange(n, device=device),
            )
            self._height_draws = torch.zeros_like(self.bank.heights)

    def _draw_disturbances(self) -> None:
        """Random numbers of bodies, beliefs and pushes, where they are asked for; outside of the graphs."""
        what = self.settings.disturbance
        if self._drawn_bodies is not None:
            self._drawn_bodies.draw(self._generator)
        if what.pushes > 0:
            self._push_draws.uniform_(generator=self._generator)
        if what.height_noise > 0:
            self._height_draws.normal_(generator=self._generator)

    def _start(self, mask: Tensor, row: Tensor, noise: Tensor | float) -> None:
        super()._start(mask, row, noise)
        if self._drawn_bodies is not None:
            self._drawn_bodies.give(mask, self._counting)
        if self.settings.disturbance.height_noise > 0:
            true, bank = self.true_bank.select(self.strip), self.bank
            believed = true.heights + self.settings.disturbance.height_noise * self._counting * self._height_draws
            parts = ((bank.heights, believed), (bank.min_point, true.min_point), (bank.size, true.size))
            for own, now in parts:
                own.copy_(torch.where(mask.view(-1, *[1] * (own.dim() - 1)), now, own))

    def restart_all(self) -> None:
        """New episodes everywhere, drawn like any other start; statistics are kept."""
        self._set_counting(True)
        self.world.idle.zero_()
        self._draw_disturbances()
        self._uniform.uniform_(generator=self._generator)
        self._start(torch.ones_like(self.failed), self.restart.draw(self._uniform[:, :2]), 1.0)
        self._observe()

    def begin(self, strip: Tensor, frame: Tensor, noisy: Tensor) -> None:
        """Episodes for evaluation: given clips and frames [N], start noise where noisy [N]; nothing is counted, no time-out."""
        self._set_counting(False)
        super().begin(strip, frame, noisy)

    def _set_counting(self, counts: bool) -> None:
        self._counts = counts
        self._counting.fill_(float(counts))
        self._age_limit.fill_(self._longest if counts else _NEVER)

    def _restart_finished(self, row: Tensor) -> None:
        self.timed_out.copy_((self.at_end | (self.age >= self._age_limit)) & ~self.failed)
        self.broken_count.add_(self.broken.sum())
        finished = self.failed | self.timed_out
        if self._counts or not self._may_look:
            self.restart.count(row, self.failed, finished, self._counting)
        if not self._may_look or bool(finished.any()):
            self._start(finished, self.restart.draw(self._uniform[:, :2]), 1.0)
        push(self.world, ~finished & (self._counting > 0), self._push_draws, self.settings.disturbance)
