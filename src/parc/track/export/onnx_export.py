"""A trained actor as an ONNX file: the same actions from any ONNX runtime, without torch or parc.

The graph is written by hand, node by node, because an actor is a dozen operations and torch's own exporter needs a second
compiler (onnxscript) to say so. Input `observation` [N, size], output `action` [N, D], N free, all float32:

    flip     = observation . side < 0                                        only for symmetric policies
    view     = flip ? sign * observation[source] : observation
    x        = clamp((view - mean) * scale, +-10)
    x        = activation(x W^T + b)  for each layer, the last without activation
    action   = flip ? action_sign * x[action_source] : x

The file's metadata has one entry `parc`: JSON with the character's fingerprint, the physical contract, the settings, and the
slices of the observation by name. What an action means is in `parc.track.tracker_settings.ActionSettings`.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parc.errors import ParcError
from parc.run.atomic_files import write_bytes_atomically
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation_layout import ObservationLayout
from parc.track.learn.policy import _VARIANCE_FLOOR, TrainedActor
from parc.track.learn.policy_symmetry import Symmetry

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ModuleNotFoundError as error:
    raise ParcError("exporting to ONNX needs the onnx package: pip install 'parc-motion[onnx]'") from error

OPSET = 17
_IR_VERSION = 8
"""of the file; old enough for runtimes of 2022"""
_ACTIVATIONS = {"relu": "Relu", "elu": "Elu"}


class _Graph:
    """Nodes and constants under construction; every method returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Tensor | float) -> str:
        name = f"constant_{len(self.constants)}"
        array = torch.as_tensor(value).detach().cpu().numpy()
        array = array if array.dtype == np.int64 else array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def add(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [output], **attributes))
        return output

    def permuted(self, rows: str, source: Tensor, sign: Tensor) -> str:
        taken = self.add("Gather", rows, self.constant(source.long()), axis=1)
        return self.add("Mul", taken, self.constant(sign))

    def layer(self, rows: str, layer: torch.nn.Linear) -> str:
        return self.add("Gemm", rows, self.constant(layer.weight), self.constant(layer.bias), transB=1)


def export_onnx(trained: TrainedActor, path: Path | str) -> None:
    """Writes the file whole or not at all."""
    model = build_onnx(trained)
    onnx.checker.check_model(model)
    write_bytes_atomically(path, model.SerializeToString())


def build_onnx(trained: TrainedActor) -> Any:
    """An `onnx.ModelProto`."""
    actor, graph = trained.actor, _Graph()
    rows, symmetry = "observation", actor.symmetry
    flip = ""
    if isinstance(symmetry, Symmetry):
        reading = graph.add("MatMul", rows, graph.constant(symmetry.side.unsqueeze(-1)))
        flip = graph.add("Less", reading, graph.constant(0.0))
        rows = graph.add("Where", flip, graph.permuted(rows, symmetry.source, symmetry.sign), rows)
    normalizer = actor.normalizer
    rows = graph.add("Sub", rows, graph.constant(normalizer.mean))
    rows = graph.add("Mul", rows, graph.constant(torch.rsqrt(normalizer.variance + _VARIANCE_FLOOR)))
    rows = graph.add("Clip", rows, graph.constant(-normalizer.clamp), graph.constant(normalizer.clamp))
    for layer in actor.network.layers():
        rows = _activated(graph, graph.layer(rows, layer), trained.settings.policy.activation)
    rows = graph.layer(rows, actor.network.last)
    if isinstance(symmetry, Symmetry):
        rows = graph.add("Where", flip, graph.permuted(rows, symmetry.action_source, symmetry.action_sign), rows)
    graph.add("Identity", rows, output="action")
    return _model(graph, trained)


def _activated(graph: _Graph, rows: str, activation: str) -> str:
    if activation == "silu":
        return graph.add("Mul", rows, graph.add("Sigmoid", rows))
    return graph.add(_ACTIVATIONS[activation], rows)


def _model(graph: _Graph, trained: TrainedActor) -> Any:
    layout = ObservationLayout(BodyTables(trained.character, "cpu"), trained.settings.observation)
    observation = helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["N", layout.size])
    action = helper.make_tensor_value_info("action", TensorProto.FLOAT, ["N", trained.character.num_dof])
    proto = helper.make_graph(graph.nodes, "parc_tracker", [observation], [action], graph.constants)
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="parc")
    model.ir_version = _IR_VERSION
    description = {
        "character": trained.character.fingerprint,
        "character_name": trained.character.name,
        "contract": asdict(trained.contract),
        "settings": asdict(trained.settings),
        "observation": {name: [part.start, part.stop] for name, part in layout.slices.items()},
    }
    helper.set_model_props(model, {"parc": json.dumps(description)})
    return model
