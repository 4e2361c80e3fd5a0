"""Arrays of other libraries as C sees them, and memory for results.

What has the right dtype and lies row by row is passed as it is; nothing else is without a copy.
Elements of bf16 are their bits, as uint16; those of f8e4m3 and f8e5m2 as uint8. Those of i4 and u4 are
numbers of any dtype that holds them, which are packed, or a Packed.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Sequence

import numpy as np

from tsr._errors import ArgumentError
from tsr._half_bytes import RANGES, Packed, fits, pack
from tsr._library import RANK_MAX, ArrayEntry
from tsr._small_floats import ELSEWHERE, FROM_BITS, TO_BITS

DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f8e4m3": np.dtype(np.uint8),
    "f8e5m2": np.dtype(np.uint8),
}
ALIGNMENT = 64


def empty(extents: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """An array whose memory is aligned to a cache line; its contents are undefined."""
    count = 1
    for extent in extents:
        count *= extent
    memory = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + count * dtype.itemsize].view(dtype).reshape(extents)


def _from_torch(value: Any) -> Any:
    """NumPy has no bf16 and no f8: a tensor of these is passed on as its bits."""
    torch = sys.modules.get("torch")
    kind = getattr(value, "dtype", None)
    if torch is None or str(kind) not in ["torch." + name for name in ELSEWHERE.values()]:
        return value
    return value.view(torch.int16 if kind is torch.bfloat16 else torch.uint8)


def _foreign(value: Any, name: str) -> np.ndarray:
    """An array of another library, by DLPack or as NumPy converts it; without a copy where it can be."""
    value = _from_torch(value)
    if not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError) as why:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        raise ArgumentError(f"'{name}': the array cannot be read here: {why}") from why


def _convert_exactly(array: np.ndarray, dtype: np.dtype, name: str, to: str) -> np.ndarray:
    """`array` in `dtype`, if every element is a number of it; another dtype is never rounded to."""
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"'{name}' is {to}, and this array holds {array.dtype}")
    with np.errstate(all="ignore"):
        converted = TO_BITS[to](array) if to in TO_BITS else array.astype(dtype)
        back = FROM_BITS[to](converted) if to in TO_BITS else converted
        same = np.array_equal(back.astype(array.dtype), array, equal_nan=array.dtype.kind == "f")
    if not same:
        how = f"tsr.f32_to_{to}(...)" if to in TO_BITS else f".astype(np.{dtype.name})"
        raise ArgumentError(f"'{name}' is {to}, and not every number of this {array.dtype} array is one: {how} rounds")
    return converted


def _is_number_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, int, float, bool))


def _list_array(value: Any, name: str) -> np.ndarray:
    try:
        return np.array(value)
    except ValueError as why:
        raise ArgumentError(f"'{name}': its lists are not all as long: {why}") from why


def _as_packed(value: Any, name: str, to: str) -> Packed:
    if isinstance(value, Packed):
        return value
    array = _list_array(value, name) if _is_number_list(value) else _foreign(value, name)
    if not fits(array, to):
        least, greatest = RANGES[to]
        raise ArgumentError(f"'{name}' is {to}, and not every element of this array is one of {least} to {greatest}")
    return pack(array)


def as_array(value: Any, name: str, to: str) -> np.ndarray | Packed:
    """`value` as a C array of dtype `to` (such as "f32"), without a copy where it is one.

    Lists and numbers of Python have no dtype and are converted; an array of another dtype is
    converted where that loses nothing, and else an ArgumentError.
    """
    if to in RANGES:
        return _as_packed(value, name, to)
    dtype = DTYPES.get(to)
    if dtype is None:
        raise ArgumentError(f"'{name}' is {to}, which NumPy has no dtype for")
    if _is_number_list(value):
        array = _list_array(value, name)
        if dtype.kind == "f" and array.dtype.kind in "iufb":
            array = array.astype(dtype)
        elif to in TO_BITS and array.dtype.kind in "iufb":
            array = TO_BITS[to](array.astype(np.float32))
    else:
        array = value if isinstance(value, np.ndarray) else _foreign(value, name)
    if to in TO_BITS and (array.dtype.name == ELSEWHERE[to] or (to == "bf16" and array.dtype == np.int16)):
        array = array.view(dtype)
    if array.dtype != dtype:
        array = _convert_exactly(array, dtype, name, to)
    return np.require(array, dtype, ["C", "A"])


def entry_of(array: Any, to: str) -> ArrayEntry:
    """What libtsr takes of an array of NumPy's, a Packed or a DeviceArray. The array's memory is borrowed: keep `array` as
    long as the entry is used."""
    if array.ndim > RANK_MAX:
        raise ArgumentError(f"an array has at most {RANK_MAX} axes")
    data = array.pointer if hasattr(array, "pointer") else array.ctypes.data
    entry = ArrayEntry(dtype=to.encode(), rank=array.ndim, bytes=array.nbytes, data=data)
    entry.extents[: array.ndim] = array.shape
    return entry


def view_of(entry: ArrayEntry, owner: object) -> np.ndarray | Packed:
    """The array at libtsr's memory, read-only; it keeps `owner` alive."""
    memory = (ctypes.c_char * entry.bytes).from_address(entry.data)
    memory.owner = owner
    extents, dtype = entry.extents[: entry.rank], entry.dtype.decode()
    if dtype in RANGES:
        return Packed(np.frombuffer(memory, np.uint8), extents)
    array = np.frombuffer(memory, DTYPES[dtype]).reshape(extents)
    array.flags.writeable = False
    return array
