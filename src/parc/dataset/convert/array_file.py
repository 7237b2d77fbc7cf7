"""Arrays in `.npz` and `.npy` files, without unpickling anything and without believing what the file says of its size.

A few kilobytes may unpack to gigabytes, and a header may claim an array larger than the file. So sizes are added up before
anything is unpacked, and an array is made only of bytes that are there.
"""

import io
import math
import zipfile

import numpy as np
from numpy.typing import NDArray

from parc.dataset.convert.checked_field import check_frames
from parc.errors import FormatError
from parc.run.file_reading import reading

MOST_UNPACKED = 2**29
"""bytes, of all arrays together"""
_MOST_NUMBERS = 2**25
"""of one array"""
_MOST_ARRAYS = 1000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""what numpy writes; Python unpacks others whole, whatever size the file says"""
_MAGIC = b"\x93NUMPY"
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def parse_arrays(data: bytes, name: str) -> dict[str, NDArray]:
    """Arrays by name; the one of an .npy file is called `positions`. Arrays of objects are left out."""
    with reading(name, "array file"):
        if data.startswith(_MAGIC):
            array = _parse_array(data)
            return {} if array is None else {"positions": _checked(array, name)}
        if not data.startswith(b"PK"):
            raise FormatError(f"{name} is not a readable array file (.npz or .npy)")
        if data.count(b"PK\x01\x02") > _MOST_ARRAYS:
            raise FormatError(f"{name} holds more than {_MOST_ARRAYS} arrays")
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            members = packed.infolist()
            if odd := next((member.compress_type for member in members if member.compress_type not in _PACKINGS), None):
                raise FormatError(f"{name} is packed in a way that numpy does not write (method {odd})")
            unpacked = sum(member.file_size for member in members)
            if unpacked > MOST_UNPACKED:
                told = f"{unpacked / 2**20:.0f} MB unpacked, {MOST_UNPACKED / 2**20:.0f} MB are the most"
                raise FormatError(f"{name} holds {told}")
            arrays = {member.filename.removesuffix(".npy"): _parse_array(_unpacked(packed, member)) for member in members}
        return {key: _checked(array, name) for key, array in arrays.items() if array is not None}


def _checked(array: NDArray, name: str) -> NDArray:
    """Of a size that can be computed with: half floats become eight bytes each."""
    if array.size > _MOST_NUMBERS:
        raise FormatError(f"{name} holds an array of {array.size} numbers, {_MOST_NUMBERS} are the most")
    if array.ndim > 1:
        check_frames(len(array), name)
    return array


def _unpacked(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """As many bytes as the file says there are; asked for all of them, Python would unpack the rest too before it looks."""
    with packed.open(member) as file:
        return file.read(member.file_size)


def _parse_array(data: bytes) -> NDArray | None:
    """None for an array of objects, which only unpickling could read."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"an array of format {version[0]}.{version[1]}")
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        return None
    needed, have = math.prod(shape) * dtype.itemsize, len(data) - file.tell()
    if min(shape, default=0) < 0 or needed > have:
        raise ValueError(f"an array of {needed} bytes in {have}")
    flat = np.frombuffer(data, dtype, math.prod(shape), file.tell()) if needed else np.zeros(math.prod(shape), dtype)
    return flat.reshape(shape, order="F" if is_fortran else "C").copy()
