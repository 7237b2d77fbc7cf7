"""Checkpoints: named tensors and a JSON description in one safetensors file, replaced in one step.

The description travels in the file's header under the key `parc`, so a checkpoint can be inspected without reading its
tensors and cannot be separated from them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from parc.errors import FormatError
from parc.run.atomic import write_bytes_atomically

_KEY = "parc"


def save_checkpoint(path: Path | str, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Tensors may be on any device and may share memory; each is copied to the CPU."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    on_cpu = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    write_bytes_atomically(path, save(on_cpu, metadata={_KEY: json.dumps(meta)}))


def load_checkpoint(path: Path | str, device: str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    with _opened(path, device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, _description(path, file.metadata())  # noqa: SIM118


def read_description(path: Path | str) -> dict[str, Any]:
    """Only the description of a checkpoint."""
    with _opened(path, "cpu") as file:
        return _description(path, file.metadata())


def fill(module: nn.Module, weights: dict[str, Tensor], path: Path | str) -> None:
    """Put a checkpoint's weights into a module made as its description says."""
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        first, *more = [line.strip().rstrip(".") for line in str(error).splitlines()[1:]]  # behind torch's own heading
        rest = f", and {len(more)} more" if more else ""
        raise FormatError(f"{path} does not hold the weights its header describes: {first[:200]}{rest}") from None
    if broken := next((name for name, tensor in weights.items() if not tensor.isfinite().all()), None):
        raise FormatError(f"{path} holds weights that are not finite ('{broken}'): its training diverged, or it is damaged")


@contextmanager
def _opened(path: Path | str, device: str) -> Iterator[Any]:
    if Path(path).is_dir():
        raise FormatError(f"{path} is a folder; name the .safetensors file in it")
    if not Path(path).is_file():
        raise FormatError(f"there is no checkpoint at {path}")
    try:
        with safe_open(str(path), framework="pt", device=device) as file:
            yield file
    except SafetensorError as error:
        raise FormatError(f"{path} is not a safetensors file, or is damaged: {error}") from error


def _description(path: Path | str, header: dict[str, str] | None) -> dict[str, Any]:
    if not header or _KEY not in header:
        raise FormatError(f"{path} was not written by parc: its header has no '{_KEY}' entry")
    try:
        description = json.loads(header[_KEY])
    except ValueError as error:
        raise FormatError(f"the '{_KEY}' entry in the header of {path} is no JSON: {error}") from None
    if not isinstance(description, dict):
        raise FormatError(f"the '{_KEY}' entry in the header of {path} is no JSON object")
    return description
