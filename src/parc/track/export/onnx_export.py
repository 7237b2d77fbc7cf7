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
from collections.abc import Iterator, Mapping, Sequence
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
except ModuleNotFoundError as error:
    raise ParcError("exporting to ONNX needs onnx and onnxscript: pip install 'parc-motion[onnx]'") from error

from parc.track.export.onnx_operators import simplify, translations, without_fast_paths

Precision = Literal["fp32", "fp16", "int8"]
OPSET = 20
_LEAST_WEIGHTS = 1024
"""numbers of a tensor that is worth fewer bits"""
AXES = {"terrain": {0: "batch", 1: "columns", 2: "rows"}, "has_past": {}}
"""names of the axes whose length is free; of other tensors it is the first alone"""


def export_graph(module: nn.Module, path: Path | str, description: Mapping[str, Any], precision: Precision = "fp32") -> None:
    """Write a module that has `inputs`, `outputs` and `example`, whole or not at all; `description` goes into the metadata."""
    model = build_graph(module)
    network = [name for name, _ in module.named_parameters()]
    model = with_precision(model, network, precision)
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


def with_precision(model: Any, network: Sequence[str], precision: Precision) -> Any:
    """The model with the named weights in fewer bits."""
    if precision == "fp16":
        return _with_half_weights(model, set(network))
    if precision == "int8":
        return _with_int8_products(model, set(network))
    return model


def _with_half_weights(model: Any, network: set[str]) -> Any:
    graph, casts = model.graph, []
    for weights in graph.initializer:
        if weights.name in network and weights.data_type == TensorProto.FLOAT and np.prod(weights.dims) >= _LEAST_WEIGHTS:
            name = weights.name
            weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights).astype(np.float16), f"{name}_half"))
            casts.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def _with_int8_products(model: Any, network: set[str]) -> Any:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    products = ("MatMul", "Gemm")
    chosen = [node.name for node in model.graph.node if node.op_type in products and network & set(node.input)]
    with tempfile.TemporaryDirectory() as folder, _quietly():
        given, made = Path(folder) / "given.onnx", Path(folder) / "made.onnx"
        onnx.save(model, given)
        quantize_dynamic(
            given, made, op_types_to_quantize=list(products), nodes_to_quantize=chosen, per_channel=True, weight_type=QuantType.QInt8
        )
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
