"""Conversions of bf16 and f16: every pattern of 16 bits, and f32 numbers of all exponents with those where rounding
changes, against NumPy's f16 and integer arithmetic. As vectors, one by one, and as C."""
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np

from tsrlib import DTYPES, SCRATCH, TSRC, Model, from_bf16, to_bf16

TEXT = """
dim n
input b : bf16 [65536]
input h : f16 [65536]
input x : f32 [n]
output fb = f32(b)
output fh = f32(h)
output bh = bf16(h)
output hb = f16(b)
output bx = bf16(x)
output hx = f16(x)
output ix = i8(x)
output ux = u8(x)
output db = b .* b + 1
"""


def numbers(step):
    every = np.arange(0, 1 << 32, step, dtype=np.uint64).astype(np.uint32)
    halves = np.arange(0, 1 << 16, dtype=np.uint32)
    ends = np.concatenate([halves << 16 | low for low in (0x7fff, 0x8000, 0x8001)])
    f16 = halves.astype(np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore"):
        middle = (f16[:-1].astype(np.float64) + f16[1:]) / 2
    middle = middle.astype(np.float32).view(np.uint32)
    return np.concatenate([every, ends, middle - 1, middle, middle + 1, np.arange(64, dtype=np.uint32)]).view(np.float32)


def same(name, got, want, is_nan):
    bad = (got != want) & ~(is_nan(got) & is_nan(want))
    if bad.any():
        at = int(np.argmax(bad))
        print("%s: element %d is %#x, expected %#x; %d wrong" % (name, at, got[at], want[at], bad.sum()))
        sys.exit(1)


NAN = {4: lambda u: (u & 0x7fffffff) > 0x7f800000, "bf16": lambda u: (u & 0x7fff) > 0x7f80,
       "f16": lambda u: (u & 0x7fff) > 0x7c00, "int": lambda u: np.zeros(u.shape, bool)}


def as_c(text):
    directory = tempfile.mkdtemp(dir=SCRATCH.name)
    source = os.path.join(directory, "m.tsr")
    with open(source, "w", encoding="utf8") as out:
        out.write(text)
    c, so = os.path.join(directory, "m.c"), os.path.join(directory, "m.so")
    subprocess.run([TSRC, source, "-o", c], check=True)
    subprocess.run(["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", c, "-o", so, "-lm"],
                   check=True)
    model = Model.__new__(Model)
    model.library, model.call = ctypes.CDLL(so), None
    return model


def main():
    step, options = int(sys.argv[1]), sys.argv[2:]
    model = as_c(TEXT) if options == ["c"] else Model(TEXT, options)
    bits = np.arange(1 << 16, dtype=np.uint16)
    h, x = bits.view(np.float16), numbers(step)
    n = len(x)
    outputs = [(65536, "f32"), (65536, "f32"), (65536, "bf16"), (65536, "f16"), (n, "bf16"), (n, "f16"), (n, "i8"),
               (n, "u8"), (65536, "f32")]
    results = model.forward([n], [bits, h, x], [(shape, DTYPES[dtype]) for shape, dtype in outputs])
    with np.errstate(all="ignore"):
        fb, fh = from_bf16(bits), h.astype(np.float32)
        wanted = [fb, fh, to_bf16(fh), fb.astype(np.float16), to_bf16(x), x.astype(np.float16),
                  np.nan_to_num(np.clip(np.trunc(x), -128, 127)).astype(np.int8),
                  np.nan_to_num(np.clip(np.trunc(x), 0, 255)).astype(np.uint8), fb * fb + np.float32(1)]
    for i, (got, want) in enumerate(zip(results, wanted)):
        dtype = outputs[i][1]
        kind = 4 if dtype == "f32" else dtype if dtype in NAN else "int"
        unsigned = np.uint32 if dtype == "f32" else np.uint16 if dtype in NAN else np.uint8
        same("output %d" % i, got.view(unsigned), np.asarray(want).view(unsigned), NAN[kind])
    print("%d conversions are right" % sum(len(r) for r in results))


if __name__ == "__main__":
    main()
