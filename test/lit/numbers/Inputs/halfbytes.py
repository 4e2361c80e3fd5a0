"""Conversions of i4 and u4, from and to every dtype, whatever lies behind an odd number of elements, against NumPy; as
vectors, one by one, and as C. Every program has its arrays end where memory does."""
import sys

import numpy as np

from halves import as_c
from nibbles import packed
from tsrlib import Model

TEXT = """
dim n
input a : i4 [n]
input b : u4 [n]
input x : f32 [n]
input y : f64 [n]
input j : i32 [n]
input l : i64 [n]
input k : u32 [n]
output fa = f32(a)
output fb = f32(b)
output da = f64(a)
output hb = f16(b)
output ia = i8(a)
output ib = u8(b)
output la = i64(a)
output ta = bool(a)
output ab = i8(i4(b))
output ba = u8(u4(a))
output ax = i8(i4(x))
output bx = u8(u4(x))
output ay = i8(i4(y))
output by = u8(u4(y))
output aj = i8(i4(j))
output bj = u8(u4(j))
output al = i8(i4(l))
output bk = u8(u4(k))
output sum_ = a .* b + a
output px = i4(x)
output pb = b
output pj = u4(j)
output pt = i4(einsum("i; k => k -> i", a, range(3)))
"""


def clipped(x, low, high):
    return np.nan_to_num(np.clip(np.trunc(x), low, high))


def wrapped(x, low):
    return (x.astype(np.int64) - low) % 16 + low


def main():
    options = sys.argv[1:]
    model = as_c(TEXT) if options == ["c"] else Model(TEXT, options)
    rng = np.random.default_rng(5)
    count = 0
    for n in [0, 1, 2, 3, 7, 16, 17, 31, 64, 65, 255, 1000]:
        a, b = rng.integers(-8, 8, n), rng.integers(0, 16, n)
        x = (rng.standard_normal(n) * 12).astype(np.float32)
        special = np.array([np.nan, np.inf, -np.inf, 7.99, -8.99, 15.5, -0.5, 3e9], np.float32)[:n]
        x[:len(special)] = special
        y = x.astype(np.float64) * 1.25
        j, l, k = rng.integers(-2**31, 2**31, n), rng.integers(-2**63, 2**63, n), rng.integers(0, 2**32, n)
        wanted = [a.astype(np.float32), b.astype(np.float32), a.astype(float), b.astype(np.float16), a.astype(np.int8),
                  b.astype(np.uint8), a, a != 0, wrapped(b, -8).astype(np.int8), wrapped(a, 0).astype(np.uint8),
                  clipped(x, -8, 7).astype(np.int8), clipped(x, 0, 15).astype(np.uint8), clipped(y, -8, 7).astype(np.int8),
                  clipped(y, 0, 15).astype(np.uint8), wrapped(j, -8).astype(np.int8), wrapped(j, 0).astype(np.uint8),
                  wrapped(l, -8).astype(np.int8), wrapped(k, 0).astype(np.uint8), (a * b + a).astype(np.int32),
                  packed(clipped(x, -8, 7)), packed(b), packed(wrapped(j, 0)), packed(wrapped(np.outer(a, [0, 1, 2]), -8))]
        inputs = [packed(a), packed(b), x, y, j.astype(np.int32), l, k.astype(np.uint32)]
        results = model.forward([n], inputs, [(w.shape, w.dtype) for w in wanted])
        for i, (got, want) in enumerate(zip(results, wanted)):
            assert np.array_equal(got, want), "output %d of %d: %s, expected %s" % (i, n, got, want)
            count += n
    print("%d conversions are right" % count)


if __name__ == "__main__":
    main()
