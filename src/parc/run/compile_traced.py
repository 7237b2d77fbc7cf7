"""Trace a function of tensors and compile the trace, where torch.compile alone cannot.

Kinematics and features look their index tensors up in caches keyed by the character, which the compiler would trace into. Here
the function is first run once and its tensor operations recorded (shapes are fixed, nothing depends on the data); tensors that
it does not get as arguments become further arguments of the trace, and the trace is what gets compiled. If that fails, the
function itself is used, and the log says why.

Random numbers would be drawn by the compiler's own generator. So every draw from a `torch.Generator` is noted in the first run;
it is then made before each call, from the same generator in the same order, and handed to the trace as an argument: a compiled
function uses the numbers that the plain one would.

Compiled code also expects the strides that it was compiled for, while callers may well pass a slice today and a fresh tensor
tomorrow. So tensors are handed over contiguous, and copied where they are not; those that the function writes to must be.

Code for a trace that has been compiled before, in any process, is found in TORCHINDUCTOR_CACHE_DIR (by default a temporary
folder): constants are arguments, so a trace is the same for all terrains, paths and weights of the same shapes.
"""

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx
from torch._dynamo.backends.registry import lookup_backend
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

_log = logging.getLogger(__name__)


class TracedFunction:
    """`function` of trees of tensors, compiled at the first call with arguments of a kind: structure, shapes and types.

    Compilation itself changes no argument and draws no number. `differentiable` allows gradients with respect to the arguments,
    which then must not be written to by the function; parts under `torch.no_grad` would get gradients, and must use `detach`.
    """

    def __init__(self, function: Callable[..., Any], differentiable: bool = False, backend: str = "inductor") -> None:
        self.function, self.differentiable, self.backend = function, differentiable, backend
        self._runs: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        leaves, shape = pytree.tree_flatten(arguments)
        kind = (str(shape), *((leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else leaf for leaf in leaves))
        if kind not in self._runs:
            try:
                self._runs[kind] = self._compile(arguments, leaves, shape)
            except Exception as error:  # whatever the compiler stumbles over, the plain function still works
                _log.warning("compilation failed, going on without it: %s: %s", type(error).__name__, str(error)[:500])
                self._runs[kind] = self.function
        return self._runs[kind](*arguments)

    @property
    def is_compiled(self) -> bool:
        """Whether everything asked for so far could be compiled."""
        return bool(self._runs) and all(run is not self.function for run in self._runs.values())

    def _compile(self, arguments: tuple[Any, ...], leaves: list[Any], shape: pytree.TreeSpec) -> Callable[..., Any]:
        is_tensor = [isinstance(leaf, Tensor) for leaf in leaves]
        examples = [_copy(leaf) for leaf in leaves if isinstance(leaf, Tensor)]
        result_shape: list[pytree.TreeSpec] = []

        def of_tensors(*tensors: Tensor) -> list[Tensor]:
            given = iter(tensors)
            filled = [next(given) if tensor else leaf for tensor, leaf in zip(is_tensor, leaves, strict=True)]
            with _Handed(list(given)):
                result = self.function(*pytree.tree_unflatten(filled, shape))
            flat, spec = pytree.tree_flatten(result)
            result_shape[:] = [spec]
            return flat

        with torch.set_grad_enabled(self.differentiable):
            draws = _Noted()
            with draws:
                _refuse_scattered_results(self.function, arguments)
            draws.rewind()
            numbers = draws.again()
            draws.rewind()
            traced = make_fx(of_tensors)(*examples, *numbers)
            constants = _constants_as_arguments(traced)
            shapes = FakeTensorMode(shape_env=ShapeEnv())
            fixed: list[Tensor] = [shapes.from_tensor(tensor, static_shapes=True) for tensor in (*examples, *numbers, *constants)]
            with tracing(TracingContext(shapes)):  # without a context the compiled code would not be kept for the next process
                compiled = lookup_backend(self.backend)(traced, fixed)

        def run(*arguments: Any) -> Any:
            inputs = [leaf.contiguous() for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, Tensor)]
            with torch.set_grad_enabled(self.differentiable):
                return pytree.tree_unflatten(list(compiled(*inputs, *draws.again(), *constants)), result_shape[0])

        return run


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format).requires_grad_(tensor.requires_grad)


def _refuse_scattered_results(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run the function on copies, and raise if it writes to an argument that is not contiguous."""
    given = [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, Tensor)]
    copies = pytree.tree_map_only(Tensor, _copy, arguments)
    tensors = [leaf for leaf in pytree.tree_leaves(copies) if isinstance(leaf, Tensor)]
    before = [tensor._version for tensor in tensors]
    function(*copies)
    for original, tensor, version in zip(given, tensors, before, strict=True):
        if tensor._version != version and not original.is_contiguous():
            raise ValueError(f"an argument [{', '.join(map(str, original.shape))}] is written to but not contiguous")


def _constants_as_arguments(traced: fx.GraphModule) -> list[Tensor]:
    """Turn tensors that belong to the trace into arguments after the others; returns them."""
    constants: list[Tensor] = []
    placed: dict[str, fx.Node] = {}
    after = [node for node in traced.graph.nodes if node.op == "placeholder"][-1]
    for node in [node for node in traced.graph.nodes if node.op == "get_attr"]:
        name = str(node.target)
        if name not in placed:
            with traced.graph.inserting_after(after):
                after = placed[name] = traced.graph.placeholder(f"constant_{len(constants)}")
            placed[name].meta = dict(node.meta)
            constants.append(getattr(traced, name))
        node.replace_all_uses_with(placed[name])
        traced.graph.erase_node(node)
    traced.recompile()
    return constants


class _Noted(TorchFunctionMode):
    """Notes every draw from a generator."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple[Callable[..., Tensor], tuple, dict]] = []
        self._before: list[tuple[torch.Generator, Tensor]] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        generator = kwargs.get("generator")
        if generator is not None:
            if not any(known is generator for known, _ in self._before):
                self._before.append((generator, generator.get_state()))
            self._calls.append((func, args, kwargs))
        return func(*args, **kwargs)

    def again(self) -> list[Tensor]:
        """The same draws, made anew."""
        return [func(*args, **kwargs) for func, args, kwargs in self._calls]

    def rewind(self) -> None:
        """Put the generators back to where they were before the first draw."""
        for generator, state in self._before:
            generator.set_state(state)


class _Handed(TorchFunctionMode):
    """Hands out tensors in place of draws."""

    def __init__(self, numbers: list[Tensor]) -> None:
        super().__init__()
        self._numbers = iter(numbers)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        return next(self._numbers) if kwargs.get("generator") is not None else func(*args, **kwargs)
