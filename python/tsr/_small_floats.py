"""bf16, f8e4m3 and f8e5m2, which NumPy lacks: from f32 to their bits, and back.

Rounding is to the nearest, ties to even. f8e4m3 has no infinities: what is greater than 448 becomes 448 (as in PyTorch,
infinities too); f8e5m2 becomes infinite. NaN stays NaN.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np


def bf16_to_f32(bits: Any) -> np.ndarray:
    """The numbers that elements of bf16 are, in float32."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values: Any) -> np.ndarray:
    """Rounded to the nearest bf16, ties to even; the bits, as uint16. NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def _sizes(fraction: int, bias: int) -> np.ndarray:
    """The number of each pattern without a sign, as if there were no infinities and no NaN."""
    bits = np.arange(128)
    exponent, rest = bits >> fraction, bits & ((1 << fraction) - 1)
    whole = np.where(exponent == 0, 0, 1 << fraction) + rest
    return np.ldexp(whole.astype(np.float64), np.maximum(exponent, 1) - bias - fraction)


def _rounded(values: Any, sizes: np.ndarray, most: int) -> np.ndarray:
    """The patterns of the nearest sizes up to the one numbered `most`."""
    x = np.asarray(values, np.float32).astype(np.float64)
    middles = (sizes[:most] + sizes[1 : most + 1]) / 2
    below, above = np.searchsorted(middles, abs(x), "left"), np.searchsorted(middles, abs(x), "right")
    nearest = np.where(below < above, below + below % 2, below)
    return (np.where(np.isnan(x), 0x7F, nearest) | np.signbit(x) << 7).astype(np.uint8)


_E4M3, _E5M2 = _sizes(3, 7), _sizes(2, 15)
_E4M3_VALUES, _E5M2_VALUES = _E4M3.copy(), _E5M2.copy()
_E4M3_VALUES[127:] = np.nan
_E5M2_VALUES[124:] = [np.inf, np.nan, np.nan, np.nan]


def _values(bits: Any, sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([sizes, -sizes]).astype(np.float32)[np.asarray(bits, np.uint8)]


def f8e4m3_to_f32(bits: Any) -> np.ndarray:
    """The numbers that elements of f8e4m3 are, in float32."""
    return _values(bits, _E4M3_VALUES)


def f8e5m2_to_f32(bits: Any) -> np.ndarray:
    """The numbers that elements of f8e5m2 are, in float32."""
    return _values(bits, _E5M2_VALUES)


def f32_to_f8e4m3(values: Any) -> np.ndarray:
    """Rounded to the nearest f8e4m3, ties to even, at most 448; the bits, as uint8."""
    return _rounded(values, _E4M3, 126)


def f32_to_f8e5m2(values: Any) -> np.ndarray:
    """Rounded to the nearest f8e5m2, ties to even; the bits, as uint8."""
    return _rounded(values, _E5M2, 124)


# to the bits, back, and what PyTorch and ml_dtypes call them
TO_BITS: dict[str, Callable[[Any], np.ndarray]] = {
    "bf16": f32_to_bf16,
    "f8e4m3": f32_to_f8e4m3,
    "f8e5m2": f32_to_f8e5m2,
}
FROM_BITS: dict[str, Callable[[Any], np.ndarray]] = {
    "bf16": bf16_to_f32,
    "f8e4m3": f8e4m3_to_f32,
    "f8e5m2": f8e5m2_to_f32,
}
ELSEWHERE = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
