"""Small graphs: how some torch operators are written in ONNX, and how what the exporter wrote is simplified.

torch's exporter takes 15 nodes for an attention and 8 for a linear interpolation. Its own simplification has a rule whose time
grows with the square of the nodes (two minutes for a generator), so the passes and the rules that serve us are listed here.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import onnx_ir
import torch
from onnx_ir.passes import common as passes
from onnxscript import opset20 as op
from onnxscript import optimizer
from onnxscript.rewriter import RewritePass
from onnxscript.rewriter.rules import common as rules

_RULES = [
    rules.mul_by_1_rule, rules.add_0_rule, rules.sub_0_rule, rules.div_by_1_rule,
    rules.no_op_cast_rule, rules.no_op_expand_rule, rules.no_op_transpose_rule, rules.no_op_static_scatter_nd_rule,
    rules.no_op_dynamic_scatter_nd_rule, rules.cast_cast_rule, rules.reshape_reshape_rule, rules.transpose_transpose_rule,
    rules.unsqueeze_unsqueeze_rule, rules.squeeze_reshape_1d_rule, rules.collapse_slice_rule, rules.collapse_slice2_rule,
    rules.materialize_reshape_shape_rule, rules.cast_constant_of_shape_rule, rules.cast_constant_of_shape_without_value_rule,
    rules.one_reshape_matmul_reshape_rule, rules.two_reshapes_matmul_reshape_rule, *rules.expand_before_binary_op_rules,
]  # fmt: skip

Value = Any
"""a value of the graph under construction"""


def translations() -> dict[Callable, Callable]:
    """For `torch.onnx.export(custom_translation_table=...)`."""
    return {torch.ops.aten.scaled_dot_product_attention.default: _attention, torch.ops.aten.lerp.Tensor: _lerp}


@contextmanager
def without_fast_paths() -> Iterator[None]:
    """Inside, torch's transformer layers are made of operators that have a translation."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def simplify(model: onnx_ir.Model) -> None:
    """Constants folded, what does nothing or is there twice removed; in place."""
    passes.InlinePass()(model)
    for _ in range(2):
        optimizer.fold_constants(model)
        RewritePass(_RULES)(model)
        passes.RemoveUnusedNodesPass()(model)
    for step in (
        passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
        passes.IdentityEliminationPass(),
        passes.DeduplicateInitializersPass(),
        passes.CommonSubexpressionEliminationPass(),
        passes.RemoveUnusedNodesPass(),
        passes.RemoveUnusedFunctionsPass(),
        passes.RemoveUnusedOpsetsPass(),
        passes.OutputFixPass(),
        passes.ClearMetadataAndDocStringPass(),
        passes.NameFixPass(),
    ):
        step(model)


def _attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(q k' / sqrt(d) + mask) v, of [B, H, T, d]; masks are added, none is boolean."""
    if is_causal or enable_gqa:
        raise NotImplementedError("attention with a causal mask or grouped heads has no translation here")
    scale = scale or 1 / math.sqrt(query.shape[-1])
    logits = op.MatMul(op.Mul(query, op.Constant(value_float=scale)), op.Transpose(key, perm=[0, 1, 3, 2]))
    return op.MatMul(op.Softmax(logits if attn_mask is None else op.Add(logits, attn_mask), axis=-1), value)


def _lerp(start: Value, end: Value, weight: Value) -> Value:
    """a + w (b - a)"""
    return op.Add(start, op.Mul(weight, op.Sub(end, start)))
