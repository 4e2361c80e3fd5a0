"""The greatest and the least along a leading and a last axis whose length is a dim, of every dtype and on every processor that
code is made for: against NumPy where this one can run it."""
import sys

import numpy as np

from tsrlib import DTYPES, Model, compile_text, from_bf16, to_bf16

RNG = np.random.default_rng(6)
LEVELS = (("x86-64", "sse2"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512vl"))
COLUMNS = {"f32": 32, "f64": 24, "i32": 33, "bf16": 40, "f16": 32, "i8": 32, "u8": 7}
FOLDS = {"max": np.max, "min": np.min}


def operand(dtype, shape):
    """What is stored, and its value."""
    if dtype == "bf16":
        bits = to_bf16(RNG.standard_normal(shape).astype(np.float32))
        return bits, from_bf16(bits)
    kind = np.dtype(DTYPES[dtype])
    if kind.kind == "f":
        x = RNG.standard_normal(shape).astype(kind)
    else:
        x = RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, endpoint=True, dtype=kind)
    return x, x


def program():
    text = "dim n\n"
    for dtype, columns in COLUMNS.items():
        text += "input x_%s : %s [n, %d]\n" % (dtype, dtype, columns)
    for dtype in COLUMNS:
        for fold in FOLDS:
            text += 'output %s_%s = reduce(%s, "i, j => j", x_%s)\n' % (fold, dtype, fold, dtype)
            text += 'output row_%s_%s = reduce(%s, "i, j => i", x_%s)\n' % (fold, dtype, fold, dtype)
    return text


def wide(dtype):
    return {"f64": np.float64, "i32": np.int32, "i8": np.int32, "u8": np.int32}.get(dtype, np.float32)


with open("/proc/cpuinfo") as info:
    FLAGS = info.read().split()
for level, flag in LEVELS:
    if flag not in FLAGS:
        compile_text(program(), ["-march=" + level])
        continue
    model = Model(program(), ["-march=" + level])
    for n in 1, 2, 3, 64, 2100:
        arrays = {dtype: operand(dtype, (n, columns)) for dtype, columns in COLUMNS.items()}
        shapes = [(shape, wide(dtype)) for dtype, columns in COLUMNS.items() for _ in FOLDS for shape in ((columns,), (n,))]
        got = model.forward([n], [a[0] for a in arrays.values()], shapes)
        want = [fold(value, axis) for _, value in arrays.values() for fold in FOLDS.values() for axis in (0, 1)]
        if not all(np.array_equal(g, w) for g, w in zip(got, want)):
            print("%s, n = %d: wrong" % (level, n))
            sys.exit(1)
print("all agree")
