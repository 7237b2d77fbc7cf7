"""Checkpoints: named tensors and a JSON description in one safetensors file, replaced in one step.

The description travels in the file's header under the key `parc`, so a checkpoint can be inspected without reading its
tensors and cannot be separated from them. With it goes a hash over itself and all tensors, names, types and shapes included,
which is compared whenever the tensors are read. Older files have none.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from parc.errors import FormatError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import check_plain_file, parse_json, reading
from parc.run.hashing import hash_parts

_KEY, _HASH = "parc", "sha256"


def save_checkpoint(path: Path | str, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Tensors may be on any device and may share memory; each is copied to the CPU."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(path, checkpoint_bytes(tensors, meta))


def checkpoint_bytes(tensors: dict[str, Tensor], meta: dict[str, Any]) -> bytes:
    """What the file of a checkpoint holds."""
    on_cpu = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    described = meta | {_HASH: content_hash(on_cpu, meta)}
    return save(on_cpu, metadata={_KEY: json.dumps(described)})


def load_checkpoint(path: Path | str, device: str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and description; refuses a file that does not have the hash it was written with."""
    with _opened(path, "cpu") as file:
        description = _description(path, file.metadata())
        # Copied at once: the system ends a process that touches a map beyond the end of a file that was cut.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        written = description.pop(_HASH, None)
        if written is not None and written != content_hash(tensors, description):
            raise FormatError(f"{path} is damaged or was changed: its content does not have the hash that it was written with")
        return {name: tensor.to(device) for name, tensor in tensors.items()}, description


def load_to_resume(path: Path | str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The same for a training that is to go on; of a file that cannot be read it says what to do with it."""
    try:
        return load_checkpoint(path)
    except FormatError as error:
        raise FormatError(f"{error}; move it away, and this training begins anew") from None


def read_description(path: Path | str) -> dict[str, Any]:
    """Only the description of a checkpoint."""
    with _opened(path, "cpu") as file:
        description = _description(path, file.metadata())
        description.pop(_HASH, None)
        return description


def has_hash(path: Path | str) -> bool:
    """Whether a checkpoint can be checked against itself."""
    with _opened(path, "cpu") as file:
        return _HASH in _description(path, file.metadata())


def content_hash(tensors: dict[str, Tensor], meta: dict[str, Any]) -> str:
    """Of tensors on the CPU and of their description, whatever the order of either."""

    def parts() -> Iterator[bytes | memoryview]:
        yield json.dumps(json.loads(json.dumps(meta)), sort_keys=True).encode()  # as it comes back from a file
        for name in sorted(tensors):
            tensor = tensors[name].contiguous()
            yield f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode()
            if tensor.numel():
                yield tensor.reshape(-1).view(torch.uint8).numpy().data

    return hash_parts(parts())


def check_room(path: Path | str, weights: float, tensors: dict[str, Tensor]) -> None:
    """Refuse a description of more weights than the file holds, before a network of that size is made."""
    held = sum(tensor.numel() for tensor in tensors.values())
    if not 0 <= weights <= held:
        raise FormatError(f"{path} describes a network of {weights:.4g} weights or more and holds {held}")


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
    if not Path(path).exists():
        raise FormatError(f"there is no checkpoint at {path}")
    check_plain_file(path)
    with reading(str(path), "checkpoint"):
        try:
            with safe_open(str(path), framework="pt", device=device) as file:
                yield file
        except SafetensorError as error:
            raise FormatError(f"{path} is not a safetensors file, or is damaged: {error}") from error


def _description(path: Path | str, header: dict[str, str] | None) -> dict[str, Any]:
    if not header or _KEY not in header:
        raise FormatError(f"{path} was not written by parc: its header has no '{_KEY}' entry")
    description = parse_json(header[_KEY], f"the '{_KEY}' entry in the header of {path}")
    if not isinstance(description, dict):
        raise FormatError(f"the '{_KEY}' entry in the header of {path} is no JSON object")
    return description
