"""f8e4m3 and f8e5m2 as tables made from the formats' definition, in which numbers are looked up."""
import numpy as np


class Format:
    """Sign, exponent, fraction; NaN from the pattern `nan` on, infinity at `infinity` or nowhere."""

    def __init__(self, exponent, fraction, nan, infinity=None):
        bias = 2 ** (exponent - 1) - 1
        self.values = []
        for bits in range(128):
            e, m = bits >> fraction, bits % 2 ** fraction
            size = m * 2.0 ** (1 - bias - fraction) if e == 0 else (2 ** fraction + m) * 2.0 ** (e - bias - fraction)
            self.values.append(np.nan if bits >= nan else np.inf if bits == infinity else size)
        self.top = infinity if infinity is not None else nan - 1
        finite = np.array(self.values[:self.top + (infinity is None)])
        following = np.append(finite[1:], 2 * finite[-1] - finite[-2])
        self.middle = (finite + following) / 2  # exact
        if infinity is None:
            self.middle = self.middle[:-1]
        self.all = np.concatenate([self.values, np.negative(self.values)])

    def bits(self, x):
        """Of f64 numbers: the nearest one, of two as near the even one."""
        size = np.abs(x)
        at = np.searchsorted(self.middle, size, "left")
        tie = (at < len(self.middle)) & (self.middle[np.minimum(at, len(self.middle) - 1)] == size)
        at = np.where(tie, at + at % 2, at)
        return np.where(np.isnan(x), 127, np.minimum(at, self.top)).astype(np.uint8) | (np.signbit(x) << 7).astype(np.uint8)


E4M3, E5M2 = Format(4, 3, 127), Format(5, 2, 125, 124)
FORMATS = {"f8e4m3": E4M3, "f8e5m2": E5M2}


def from_f8(bits, dtype):
    return FORMATS[dtype].all[np.asarray(bits)].astype(np.float32)


def to_f8(values, dtype):
    """The bits, of f64 numbers or what f64 holds."""
    return FORMATS[dtype].bits(np.asarray(values, np.float64))
