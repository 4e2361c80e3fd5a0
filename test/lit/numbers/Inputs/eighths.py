"""Conversions of f8e4m3 and f8e5m2: all 256 patterns, and f32 numbers of all exponents with those where rounding
changes, against floats8.py. As vectors, one by one, and as C."""
import sys

import numpy as np

from floats8 import E4M3, E5M2
from halves import as_c, numbers, same
from tsrlib import Model

TEXT = """
dim n
input a : f8e4m3 [256]
input b : f8e5m2 [256]
input x : f32 [n]
input y : f64 [n]
output fa = f32(a)
output fb = f32(b)
output ax = f8e4m3(x)
output bx = f8e5m2(x)
output ab = f8e4m3(b)
output ba = f8e5m2(a)
output ha = f16(a)
output bb = bf16(b)
output da = f64(a)
output ay = f8e4m3(y)
output ia = i8(a)
output ai = f8e4m3(i8(range(256)))
output ta = bool(b)
output two = a .* a + b
output strided = sum("2*i => i", a .* a)
"""


def near_middles():
    sizes = np.concatenate([f.middle for f in (E4M3, E5M2)] + [np.array(f.values[:f.top]) for f in (E4M3, E5M2)])
    bits = sizes.astype(np.float32).view(np.uint32)
    bits = np.concatenate([bits - 1, bits, bits + 1])
    return np.concatenate([bits, bits | 0x80000000]).astype(np.uint32).view(np.float32)


def main():
    step, options = int(sys.argv[1]), sys.argv[2:]
    model = as_c(TEXT) if options == ["c"] else Model(TEXT, options)
    bits = np.arange(256, dtype=np.uint8)
    with np.errstate(all="ignore"):
        x = np.concatenate([near_middles(), numbers(step)])
        n = len(x)
        y = x.astype(np.float64)
        a, b = E4M3.all.astype(np.float32), E5M2.all.astype(np.float32)
        f32, f64, u8 = np.uint32, np.uint64, np.uint8
        i8 = np.arange(256).astype(np.uint8).view(np.int8)
        wanted = [a, b, E4M3.bits(y), E5M2.bits(y), E4M3.bits(E5M2.all), E5M2.bits(E4M3.all), a.astype(np.float16),
                  (b.view(np.uint32) >> 16).astype(np.uint16), a.astype(np.float64), E4M3.bits(y),
                  np.nan_to_num(np.clip(np.trunc(a), -128, 127)).astype(np.int8), E4M3.bits(np.arange(256).astype(np.uint8).view(np.int8).astype(float)),
                  (b != 0).astype(np.uint8), a * a + b, (a * a)[::2]]
    results = model.forward([n], [bits, bits, x, y], [(w.shape[0], w.dtype) for w in wanted])
    for i, (got, want) in enumerate(zip(results, wanted)):
        unsigned = {1: u8, 2: np.uint16, 4: f32, 8: f64}[want.itemsize]
        if want.dtype.kind == "f":
            nan = np.isnan(want)
            assert (np.isnan(got) == nan).all(), "output %d: NaN" % i
            got, want = np.where(nan, 0, got), np.where(nan, 0, want)
        got, want = got.view(unsigned), want.view(unsigned)
        same("output %d" % i, got, want, NAN.get(i, lambda u: np.zeros(u.shape, bool)))
    print("%d conversions are right" % sum(len(r) for r in results))


NAN = {2: lambda u: u & 0x7f == 0x7f, 3: lambda u: u & 0x7f > 0x7c, 4: lambda u: u & 0x7f == 0x7f, 5: lambda u: u & 0x7f > 0x7c,
       7: lambda u: u & 0x7fff > 0x7f80, 9: lambda u: u & 0x7f == 0x7f}

if __name__ == "__main__":
    main()
