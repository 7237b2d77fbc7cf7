"""A module of tensors as an ONNX file, by torch's own exporter: opset 20, standard operators, any batch size.

    fp32    float32 weights
    fp16    the network's weights as float16, widened when the file is loaded: half the size, and the same numbers where the
            weights were float16 already, as those of files of parc are; everything is computed in float32
    int8    the network's matrices as int8, one scale a column; their products are computed with int8 activations

Inputs and outputs are float32 in all three. What is no network (kinematics, features, repair) stays float32.
The file's metadata has one entry `parc`: JSON that says what it is, for whom, and the shapes of all inputs and outputs.
"""

import json
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from parc.errors import ParcError
from parc.run.atomic_files import write_bytes_atomically

try:
    import onnx
    import onnxscript  # noqa: F401  torch's exporter needs it
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ModuleNotFoundError as error:
    raise ParcError("exporting to ONNX needs onnx and onnxscript: pip install 'parc-motion[onnx]'") from error

from parc.track.export.onnx_operators import simplify, translations, without_fast_paths

Precision = Literal["fp32", "fp16", "int8"]
OPSET = 20
_LEAST_WEIGHTS = 1024
"""numbers of a tensor that is worth fewer bits"""
_VIEWS = ("Transpose", "Slice", "Reshape", "Squeeze", "Unsqueeze")
AXES = {"terrain": {0: "batch", 1: "columns", 2: "rows"}, "has_past": {}}
"""names of the axes whose length is free; of other tensors it is the first alone"""


def export_graph(module: nn.Module, path: Path | str, description: Mapping[str, Any], precision: Precision = "fp32") -> None:
    """Write a module that has `inputs`, `outputs` and `example`, whole or not at all; `description` goes into the metadata."""
    model = with_precision(build_graph(module), module, precision)
    shapes = {"inputs": _shapes(model.graph.input), "outputs": _shapes(model.graph.output)}
    told = {**description, **shapes, "opset": OPSET, "precision": precision}
    helper.set_model_props(model, {"parc": json.dumps(told)})
    model.producer_name, model.producer_version = "parc", ""
    onnx.checker.check_model(model)
    write_bytes_atomically(path, model.SerializeToString())


@torch.no_grad()
def build_graph(module: Any) -> Any:
    """An `onnx.ModelProto` of the module in float32; weights keep the names of the module's parameters."""
    module = module.eval()
    example: dict[str, Tensor] = module.example()
    module(**example)  # constants that are made at the first call must not be made inside of the trace
    free = {name: torch.export.Dim(name) for name in ("batch", "columns", "rows")}
    shapes = {name: {axis: free[which] for axis, which in _axes(name).items()} for name in example}
    with _quietly(), without_fast_paths():
        traced = torch.export.export(module, (), kwargs=example, dynamic_shapes=shapes, strict=False)
        program = torch.onnx.export(
            traced, (), kwargs=example, dynamo=True, opset_version=OPSET, verbose=False, optimize=False,
            custom_translation_table=translations(),
            input_names=list(module.inputs), output_names=list(module.outputs),
        )  # fmt: skip
        assert program is not None
        simplify(program.model)
    model = program.model_proto
    for value in (*model.graph.input, *model.graph.output):
        for axis, name in _axes(value.name).items():
            value.type.tensor_type.shape.dim[axis].dim_param = name
    del model.graph.value_info[:]
    return model


def with_precision(model: Any, module: nn.Module, precision: Precision) -> Any:
    """The model of a module with the network's weights, which are the module's parameters, in fewer bits."""
    if precision == "fp32":
        return model
    network = _fold_views(model.graph, {name for name, _ in module.named_parameters()})
    return _with_half_weights(model, network) if precision == "fp16" else _with_int8_products(model, network)


def _fold_views(graph: Any, network: set[str]) -> set[str]:
    """Weights that the graph transposes or cuts become initializers as they are used; returns the names of all weights then."""
    known = {value.name: value for value in graph.initializer}
    network, kept = network & set(known), []
    for node in graph.node:
        if node.op_type in _VIEWS and node.input[0] in network and all(name in known for name in node.input):
            given = {name: numpy_helper.to_array(known[name]) for name in node.input}
            (array,) = ReferenceEvaluator(node).run(None, given)
            known[node.output[0]] = numpy_helper.from_array(np.ascontiguousarray(array), node.output[0])
            graph.initializer.append(known[node.output[0]])
            network.add(node.output[0])
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    left = [value for value in graph.initializer if value.name in used]
    del graph.initializer[:]
    graph.initializer.extend(left)
    return network & used


def _with_half_weights(model: Any, network: set[str]) -> Any:
    graph, casts = model.graph, []
    for weights in graph.initializer:
        if weights.name in network and np.prod(weights.dims) >= _LEAST_WEIGHTS:
            name, half = weights.name, f"{weights.name}_half"
            weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights).astype(np.float16), half))
            casts.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def _with_int8_products(model: Any, network: set[str]) -> Any:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    products = ("MatMul", "Gemm")
    nodes = [node.name for node in model.graph.node if node.op_type in products and network & set(node.input)]
    chosen = [*nodes, *(f"{name}_MatMul" for name in nodes)]  # the second is what onnxruntime makes of a Gemm
    with tempfile.TemporaryDirectory() as folder, _quietly():
        given, made = Path(folder) / "given.onnx", Path(folder) / "made.onnx"
        onnx.save(model, given)
        quantize_dynamic(given, made, list(products), True, weight_type=QuantType.QInt8, nodes_to_quantize=chosen)
        return onnx.load(made)


def _axes(name: str) -> dict[int, str]:
    return AXES.get(name, {0: "batch"})


def _shapes(values: Any) -> dict[str, list[int | str]]:
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}


@contextmanager
def _quietly() -> Iterator[None]:
    """The exporters' remarks on themselves are for their own developers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)
