"""Arrays of i4 and u4, which NumPy lacks: two elements a byte in row-major order, the first in the lower half; behind an
odd number of elements the upper half of the last byte is 0."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

RANGES = {"i4": (-8, 7), "u4": (0, 15)}


def packed_bytes(shape: Sequence[int]) -> int:
    """How many bytes elements of that shape take."""
    return (math.prod(shape) + 1) // 2


class Packed:
    """Elements that lie two a byte, in `data`, and the shape that they have. `data` is not copied where it is a C array."""

    def __init__(self, data: Any, shape: Sequence[int]) -> None:
        self.data = np.require(data, np.uint8, ["C", "A"]).reshape(-1)
        self.shape = tuple(int(extent) for extent in shape)
        need = packed_bytes(self.shape)
        if self.data.size != need:
            raise ValueError(f"elements of shape {self.shape} take {need} bytes, and the data have {self.data.size}")
        self.ndim, self.nbytes, self.ctypes = len(self.shape), self.data.nbytes, self.data.ctypes

    def copy(self) -> Packed:
        """The same in memory of its own."""
        return Packed(self.data.copy(), self.shape)

    def unpacked(self, dtype: str) -> np.ndarray:
        """The elements a byte each: int8 of i4, uint8 of u4."""
        halves = np.stack([self.data & 15, self.data >> 4], 1).reshape(-1)[: math.prod(self.shape)].reshape(self.shape)
        return halves if dtype == "u4" else (halves ^ 8).view(np.int8) - np.int8(8)


def pack(values: Any) -> Packed:
    """Whole numbers from -8 to 7 or from 0 to 15 two a byte, for inputs and parameters of i4 or u4."""
    array = np.asarray(values)
    if not any(fits(array, dtype) for dtype in RANGES):
        raise ValueError("not all elements are whole numbers from -8 to 7, nor all from 0 to 15")
    halves = np.zeros(array.size + array.size % 2, np.uint8)
    halves[: array.size] = array.reshape(-1).astype(np.int64) & 15
    return Packed(halves[::2] | halves[1::2] << 4, array.shape)


def fits(array: np.ndarray, dtype: str) -> bool:
    """Is every element one of the dtype?"""
    least, greatest = RANGES[dtype]
    if array.dtype.kind not in "fiub":
        return False
    return bool(np.all((array >= least) & (array <= greatest) & (array == np.floor(array))))
