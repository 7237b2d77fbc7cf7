"""The reader of foreign pickles: gives back what is data, runs nothing, survives everything."""

import contextlib
import io
import os
import pickle
import pickletools
import random
import time

import numpy as np
import pytest
import torch

from parc.dataset.convert.portable_pickle import portable_dumps
from parc.dataset.convert.safe_unpickle import PickledObject, safe_loads
from parc.errors import FormatError

VALUES = {
    "f4": np.arange(6, dtype=np.float32).reshape(2, 3),
    "big endian": np.arange(3, dtype=">f8"),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "bool": np.array([True, False]),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.float32(1.5),
    "int": np.int64(-7),
    "nested": [(1, 2.5, "x"), {"k": [None, True, b"bytes", bytearray(b"ab")]}, {1, 2}],
    "long": 1 << 80,
}


def equal(a, b) -> bool:
    if isinstance(b, (np.ndarray, np.generic)):
        return np.array_equal(a, b) and (not isinstance(b, np.ndarray) or a.shape == b.shape)
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in b)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


@pytest.mark.parametrize("protocol", range(6))
def test_reads_what_pickle_reads(protocol):
    assert equal(safe_loads(pickle.dumps(VALUES, protocol=protocol), "x.pkl"), VALUES)


def test_old_and_new_numpy_module_names():
    data = portable_dumps(VALUES["f4"])
    assert b"numpy.core.multiarray" in data and b"numpy._core" not in data
    assert np.array_equal(pickle.loads(data), VALUES["f4"])
    assert np.array_equal(safe_loads(data, "x.pkl"), VALUES["f4"])


def test_shared_objects_stay_shared_and_a_list_that_holds_itself_is_refused():
    array = np.arange(3.0)
    both = [array, array]
    read = safe_loads(pickle.dumps([both, both]), "x.pkl")
    assert np.array_equal(read[0][1], array) and read[0] is read[1]
    both.append(both)
    with pytest.raises(FormatError, match="holds itself"):
        safe_loads(pickle.dumps(both), "x.pkl")


def nested(make, depth):
    """The operations that make a value of two parts which are both the level below, so many levels deep."""
    value = make(1, 2)
    for _ in range(depth):
        value = make(value, value)
    return pickle.dumps(value, protocol=2)[2:-1]


PAIRS = nested(lambda a, b: (a, b), 45)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02}" + PAIRS + b"K\x01s.",
        b"\x80\x04\x8f(" + PAIRS + b"\x90.",
        b"\x80\x02" + nested(lambda a, b: [a, b], 60) + b".",
        b"\x80\x02" + nested(lambda a, b: {"a": a, "b": b}, 60) + b".",
        pickle.dumps([[0.0] * 100_000] * 100_000),
    ],
    ids=["key", "member", "laughs", "dicts", "table"],
)  # fmt: skip
def test_a_small_file_that_unfolds_without_end_is_refused_at_once(data):
    """Hashing the first would take 2^45 steps; so would walking through the third."""
    assert len(data) < 1_500_000
    began = time.monotonic()
    with pytest.raises(FormatError, match=r"as a key|unfolds to more than"):
        safe_loads(data, "x.pkl")
    assert time.monotonic() - began < 2


def test_a_long_text_may_not_be_copied_again_and_again():
    """A million calls on one text of a megabyte."""
    head = b"\x80\x02X" + (1_000_000).to_bytes(4, "little") + b"a" * 1_000_000 + b"q\x000"
    call = b"c_codecs\nencode\nh\x00\x85R0"
    began = time.monotonic()
    with pytest.raises(FormatError, match="more work than"):
        safe_loads(head + call * 20_000 + b"N.", "x.pkl")
    assert time.monotonic() - began < 5


def test_a_slot_of_any_number_costs_nothing():
    assert safe_loads(b"\x80\x04Nr\xff\xff\xff\xff.", "x.pkl") is None


class Hostile:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_a_hostile_pickle_is_named_and_not_run(tmp_path, protocol):
    witness = tmp_path / "ran"
    data = pickle.dumps({"motion_data": Hostile(os.system, f"touch {witness}")}, protocol=protocol)
    with pytest.raises(FormatError, match=r"(posix|os)\.system"):
        safe_loads(data, "evil.pkl")
    assert not witness.exists()
    pickle.loads(data)
    assert witness.exists(), "the attack itself must work, or this test shows nothing"


@pytest.mark.parametrize(
    "call",
    [
        (eval, "1"),
        (exec, "1"),
        (getattr, "", "upper"),
        (open, "x"),
        (np.load, "x"),
        (__import__, "os"),
        (type, "X", (), {}),
        (map, str, []),
    ],
    ids=lambda call: call[0].__name__,
)
def test_no_other_function_either(call):
    with pytest.raises(FormatError, match="would call"):
        safe_loads(pickle.dumps(Hostile(*call)), "evil.pkl")


def test_attributes_of_allowed_names_are_refused():
    data = b"\x80\x04\x8c\x05numpy\x8c\x13dtype.__class__.mro\x93."
    with pytest.raises(FormatError, match=r"numpy\.dtype\.__class__"):
        safe_loads(data, "evil.pkl")


def test_the_reader_cannot_be_changed():
    """BUILD with a pair sets attributes on whatever is on the stack, here one of the reader's own functions."""
    data = b"\x80\x04\x8c\x16numpy.core.multiarray\x8c\x0c_reconstruct\x93N}\x8c\x08__code__K\x01s\x86b."
    with pytest.raises(FormatError):
        safe_loads(data, "evil.pkl")
    assert equal(safe_loads(pickle.dumps(VALUES), "x.pkl"), VALUES)


def test_foreign_objects_become_inert_records():
    tensor = torch.arange(4.0)
    read = safe_loads(pickle.dumps({"mask": [tensor], "n": 3}), "x.pkl")
    assert isinstance(read["mask"][0], PickledObject) and read["n"] == 3


def test_every_truncation_is_one_sentence():
    data = pickle.dumps(VALUES)
    for stop in range(0, len(data) - 1, 7):
        with pytest.raises(FormatError, match=r"^x\.pkl"):
            safe_loads(data[:stop], "x.pkl")


def test_random_damage_never_escapes():
    rng = random.Random(0)
    data = pickle.dumps(VALUES)
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with contextlib.suppress(FormatError):
            safe_loads(bytes(damaged), "x.pkl")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.",
        b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b"x.",
        b"\x80\x04]" * 1 + b"]" * 200_000 + b"a" * 200_000 + b".",
    ],
    ids=["bytes", "bytearray", "depth"],
)
def test_huge_claims_are_refused_quickly(data):
    with pytest.raises(FormatError):
        safe_loads(data, "x.pkl")


def test_array_larger_than_its_bytes():
    array = np.zeros(4, np.float32)
    data = pickle.dumps(array, protocol=4)
    operations = [o.name for o, _, _ in pickletools.genops(data)]
    assert "TUPLE1" in operations
    claimed = data.replace(b"K\x01K\x04\x85", b"K\x01J\xff\xff\xff\x7f\x85")
    assert claimed != data
    with pytest.raises(FormatError, match="not a readable pickle"):
        safe_loads(claimed, "x.pkl")


def test_structured_and_object_arrays():
    with pytest.raises(FormatError, match="not numeric"):
        safe_loads(pickle.dumps(np.zeros(2, dtype=[("a", "f4")])), "x.pkl")
    assert safe_loads(pickle.dumps(np.array([1, "a", None], dtype=object)), "x.pkl") == [1, "a", None]


def test_persistent_references_are_refused():
    buffer = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return "x" if obj == "outside" else None

    Pickler(buffer).dump(["outside"])
    with pytest.raises(FormatError, match="outside the file"):
        safe_loads(buffer.getvalue(), "x.pkl")
