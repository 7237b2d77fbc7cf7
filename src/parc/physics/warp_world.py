"""The world on a GPU: MuJoCo Warp, one control step of all worlds recorded once as a CUDA graph.

A graph replays fixed launches on fixed addresses: writing *into* an array is seen by the next replay, replacing an array is
not. So every tensor here lives as long as the world, `step` copies the targets into a buffer and launches the graph, and
only `set_terrains`, which brings arrays of another size, makes the next step record a new graph (that step itself runs
launch by launch).

Torch and Warp have streams of their own. Work on another torch stream is ordered against Warp's by events, which is correct
and costs a few microseconds a step; to save them, and to capture torch code of your own before and after `step`, run on Warp's
stream:

    with world.on_stream():
        observe_and_act()                      # may be torch.cuda.graph(g, stream=world.stream) captures and replays
        world.step(targets)                    # never inside a capture: it launches a graph itself
        reward_and_reset()                     # world.reset makes no host sync, so it may be captured

The ground's boxes are static geoms, whose world positions Warp computes once: the window writes `geom_xpos` directly.
Contact sensors run in the last substep only, through a second view of the model with sensors off.
"""

import contextlib
import copy
import dataclasses
import gc

import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.errors import SettingsError
from parc.motion.mujoco_qpos import qpos_to_bodies, state_layout
from parc.physics.mujoco_model import HALF_HEIGHT, WINDOW, build_model, sealed_contract
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import MAX_SPEED, World, out_of_bounds
from parc.physics.varied_model import VARIED, BodyVariation, VariedModel
from parc.terrain.terrain import CELL, Terrain, TerrainBatch

try:
    import mujoco_warp as mjw
    import warp as wp

    from parc.physics import warp_kernels
except ImportError as error:
    raise SettingsError(
        f"physics on the GPU needs MuJoCo Warp ({error}); install it with: pip install 'parc-motion[gpu]', or use the device cpu"
    ) from error

CONSTRAINTS_PER_WORLD = 192
"""rows of the solver a world may use; parkour training needs up to 116 for the ground, a body that lies on itself some more"""
CONTACTS_PER_WORLD = 12
"""of the buffer that all worlds share; the average is 4.5"""
SPARE_CONTACTS = 256
"""on top, for few worlds, where averages do not help"""


class WarpWorld(World):
    """N worlds in MuJoCo Warp, a control step recorded as one CUDA graph."""

    def __init__(
        self,
        character: Character,
        contract: Contract,
        num_worlds: int,
        device: torch.device | str,
        cell: float = CELL,
        capture: bool | None = None,
        constraints: int = CONSTRAINTS_PER_WORLD,
        contacts: int = CONTACTS_PER_WORLD,
    ) -> None:
        """capture: record a graph (None: on CUDA only; Warp can also replay on the CPU, which tests use).

        constraints, contacts: space for each world, contacts on average; `overflow_count` says whether it was enough.
        """
        if num_worlds < 1:
            raise SettingsError(f"{num_worlds} worlds asked for, expected at least 1")
        wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
        wp.init()
        self.character, self.contract = character, sealed_contract(character, contract)
        self.num_worlds, self.device, self.cell = num_worlds, _with_index(torch.device(device)), cell
        self._wp_device = wp.device_from_torch(self.device)
        self._capture = self.device.type == "cuda" if capture is None else capture
        self.model = build_model(character, contract, cell)
        with wp.ScopedDevice(self._wp_device):
            self._model = mjw.put_model(self.model)
            self._model.opt.warn_overflow = False
            self._data = mjw.make_data(
                self.model,
                nworld=num_worlds,
                naconmax=contacts * num_worlds + SPARE_CONTACTS,
                njmax=constraints,
            )
        self._model_without_sensors = copy.copy(self._model)
        self._model_without_sensors.opt = dataclasses.replace(
            self._model.opt, disableflags=self._model.opt.disableflags | mjw.DisableBit.SENSOR
        )
        self.stream = (
            torch.cuda.ExternalStream(self._wp_device.stream.cuda_stream, device=self.device)
            if self.device.type == "cuda"
            else None
        )
        """Warp's stream as torch sees it; None on the CPU"""
        self._graph: wp.Graph | None = None
        self._varied: VariedModel | None = None
        self._synchronize()
        self._make_tensors()
        self.set_terrains(TerrainBatch.stack([Terrain.flat((1, 1), cell=cell)]))

    def _make_tensors(self) -> None:
        n, bodies, data = self.num_worlds, self.character.num_bodies, self._data
        layout = state_layout(self.character)
        assert (layout.nq, layout.nv) == (self.model.nq, self.model.nv)
        device = self.device
        self.qpos, self.qvel = wp.to_torch(data.qpos), wp.to_torch(data.qvel)
        self._warmstart, self._overflow = wp.to_torch(data.qacc_warmstart), wp.to_torch(data.overflow)
        self._good_qpos, self._good_qvel = torch.zeros_like(self.qpos), torch.zeros_like(self.qvel)
        self._targets = torch.zeros(n, self.character.num_dof, device=device)
        self.body_pos, self.body_rot = torch.zeros(n, bodies, 3, device=device), torch.zeros(n, bodies, 4, device=device)
        self.contacts = torch.zeros(n, bodies, device=device)
        self.diverged = torch.zeros(n, dtype=torch.bool, device=device)
        self.idle = torch.zeros(n, dtype=torch.bool, device=device)
        self.terrain_row = torch.zeros(n, dtype=torch.long, device=device)
        parked = torch.tensor(self.model.qpos0, dtype=torch.float32)
        parked[2] = warp_kernels.PARKED_HEIGHT
        self._parked_qpos = parked.to(self.device)
        mujoco_body = {body: i + 1 for i, body in enumerate(layout.order)}
        self._body_id = torch.tensor([mujoco_body[b] for b in range(bodies)], dtype=torch.int32, device=device)
        self._publish_from_qpos(torch.ones(n, dtype=torch.bool, device=device))

    def set_terrains(self, bank: TerrainBatch) -> None:
        self.check_bank(bank)
        self._synchronize()
        self._graph = None
        self._heights = bank.heights.to(self.device, torch.float32).contiguous()
        self._low = bank.min_point.to(self.device, torch.float32).contiguous()
        self._size = bank.size.to(self.device, torch.int32).contiguous()
        self.terrain_row.zero_()
        self._synchronize()

    def replace_terrains(self, rows: Tensor, terrains: TerrainBatch) -> None:
        for own, part in ((self._heights, terrains.heights), (self._low, terrains.min_point), (self._size, terrains.size)):
            own.index_copy_(0, rows, part.to(own.dtype))

    @torch.no_grad()
    def reset(self, mask: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        bad = out_of_bounds(qpos, qvel)
        taken = mask & ~bad
        self.qpos.copy_(torch.where(taken.unsqueeze(-1), qpos, self.qpos))
        self.qvel.copy_(torch.where(taken.unsqueeze(-1), qvel, self.qvel))
        self._warmstart.masked_fill_(mask.unsqueeze(-1), 0.0)
        self.contacts.masked_fill_(mask.unsqueeze(-1), 0.0)
        self.diverged.copy_(torch.where(mask, bad, self.diverged))
        self._publish_from_qpos(taken)

    def prepare_variation(self) -> None:
        if self._varied is not None:
            return
        self._synchronize()
        self._graph, n, fields = None, self.num_worlds, {}
        for name in VARIED:
            values = getattr(self.model, name)
            kind = {2: wp.vec2, 3: wp.vec3}[values.shape[-1]] if values.ndim == 2 else wp.float32
            with wp.ScopedDevice(self._wp_device):
                array: wp.array = wp.array(np.repeat(values[None].astype(np.float32), n, 0), dtype=kind)
            for model in (self._model, self._model_without_sensors):
                setattr(model, name, array)
            fields[name] = wp.to_torch(array)
        self._varied = VariedModel(self.model, self.character, fields)
        self._late = torch.zeros(n, dtype=torch.int32, device=self.device)
        self._fresh = torch.ones(n, dtype=torch.bool, device=self.device)
        self._last_targets = torch.zeros_like(self._targets)
        self._synchronize()

    @torch.no_grad()
    def vary(self, mask: Tensor, variation: BodyVariation) -> None:
        self.prepare_variation()
        assert self._varied is not None
        self._varied.write(mask, variation)
        self._late.copy_(torch.where(mask, self.substeps_late(variation.delay).int(), self._late))
        self._fresh.logical_or_(mask)

    @torch.no_grad()
    def step(self, targets: Tensor) -> None:
        self.check_targets(targets)
        self._targets.copy_(targets)
        with self._ordered():
            if self._graph is not None:
                wp.capture_launch(self._graph)
                return
            self._control_step()
        if self._capture:
            self._record()

    def on_stream(self) -> contextlib.AbstractContextManager:
        """Run torch on Warp's stream; does nothing on the CPU."""
        return contextlib.nullcontext() if self.stream is None else torch.cuda.stream(self.stream)

    def overflow_count(self) -> Tensor:
        """How many worlds ever ran out of space for contacts or constraints, a tensor [] on the device.

        Reaching the solver's iteration limit is normal and not counted.
        """
        ignored = mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS | mjw.OverflowType.CONTACT_MATCH
        return ((self._overflow & int(mjw.OverflowType.ALL & ~ignored)) != 0).sum()

    def _control_step(self) -> None:
        """Every launch of one control step, in order; what the graph holds."""
        n, data = self.num_worlds, self._data
        view = self._view
        good_qpos, good_qvel, diverged = view(self._good_qpos), view(self._good_qvel), view(self.diverged)
        with wp.ScopedDevice(self._wp_device):
            wp.copy(good_qpos, data.qpos)
            wp.copy(good_qvel, data.qvel)
            wp.launch(warp_kernels.take_targets, dim=n, inputs=[view(self._targets), data.ctrl, diverged])
            ground = [view(self.terrain_row), view(self._heights), view(self._low), view(self._size)]
            wp.launch(
                warp_kernels.move_window,
                dim=(n, WINDOW * WINDOW),
                inputs=[data.qpos, *ground, self.cell, HALF_HEIGHT, WINDOW, data.geom_xpos],
            )
            self._park(diverged)
            for substep in range(self.contract.substeps):
                if self._varied is not None:
                    late = [view(self._late), view(self._fresh), substep, diverged]
                    both = [view(self._last_targets), view(self._targets)]
                    wp.launch(warp_kernels.wait_for_targets, dim=n, inputs=[*both, *late, data.ctrl])
                is_last = substep == self.contract.substeps - 1
                mjw.step(self._model if is_last else self._model_without_sensors, data)
            if self._varied is not None:
                wp.copy(view(self._last_targets), view(self._targets))
                view(self._fresh).zero_()
            self._park(diverged)
            wp.launch(
                warp_kernels.bring_back,
                dim=n,
                inputs=[good_qpos, good_qvel, diverged, data.qpos, data.qvel, data.qacc_warmstart],
            )
            mjw.kinematics(self._model, data)
            wp.launch(
                warp_kernels.publish,
                dim=(n, self.character.num_bodies),
                inputs=[view(self._body_id), data.xpos, data.xquat, data.sensordata, diverged]
                + [view(self.body_pos), view(self.body_rot), view(self.contacts)],
            )

    @staticmethod
    def _view(tensor: Tensor) -> "wp.array":
        """A Warp array over the tensor's own memory."""
        array = wp.from_torch(tensor)
        assert isinstance(array, wp.array)
        return array

    def _park(self, diverged: "wp.array") -> None:
        data = self._data
        state = [data.qpos, data.qvel, data.qacc_warmstart, diverged]
        wp.launch(warp_kernels.park, dim=self.num_worlds, inputs=[self._view(self._parked_qpos), MAX_SPEED, *state])

    def _record(self) -> None:
        """Records without running: the state stays. Freeing an array inside a capture would break it, hence no collection."""
        self._synchronize()
        gc.collect()
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            with wp.ScopedCapture(device=self._wp_device) as capture:
                self._control_step()
        finally:
            if was_enabled:
                gc.enable()
        self._graph = capture.graph
        self._synchronize()

    @contextlib.contextmanager
    def _ordered(self):
        """Inside, Warp's stream runs after what torch has queued; what torch queues later runs after it."""
        if self.stream is None:
            yield
            return
        current = torch.cuda.current_stream(self.device)
        is_other = current.cuda_stream != self.stream.cuda_stream
        if is_other:
            self.stream.wait_stream(current)
        yield
        if is_other:
            current.wait_stream(self.stream)

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            wp.synchronize_device(self._wp_device)

    def _publish_from_qpos(self, mask: Tensor) -> None:
        pose = qpos_to_bodies(self.character, self.qpos)
        rows = mask.view(-1, 1, 1)
        self.body_pos.copy_(torch.where(rows, pose.pos, self.body_pos))
        self.body_rot.copy_(torch.where(rows, pose.rot, self.body_rot))


def _with_index(device: torch.device) -> torch.device:
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device
