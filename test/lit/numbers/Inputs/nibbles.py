"""i4 and u4 in memory: two elements a byte in row-major order, the first in the lower half; behind an odd number of
elements the upper half is 0."""
import numpy as np

RANGES = {"i4": (-8, 8), "u4": (0, 16)}


def packed(values):
    """Bytes of whole numbers of either range."""
    flat = np.asarray(values).reshape(-1).astype(np.int64) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.int64))
    return (flat[::2] | flat[1::2] << 4).astype(np.uint8)


def unpacked(data, dtype, shape):
    n = int(np.prod(shape))
    flat = np.stack([data & 15, data >> 4], 1).reshape(-1)[:n].astype(np.int64)
    return np.where(flat > 7, flat - 16, flat).reshape(shape) if dtype == "i4" else flat.reshape(shape)
