"""How far products by tensor cores, in one slice, are from float64, as docs/gpu-kernels.md states it: the square root of the mean square of the errors by
that of the products, of normal numbers; and the mean of the errors of positive ones, which are cut and not rounded. gpu_tensor_errors.py SEED"""
import sys

import numpy as np

from tsrlib import Model, from_bf16, schedule, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))
SUMS = (256, 1024, 4096)
# kind, options, by length of the sum: at least (what is cut and rounded shows), at most
CASES = [
    ("bf16", [], [(1e-7, 4e-7), (6e-7, 2e-6), (2e-6, 7e-6)]),
    ("bf16", ["--gpu-promote=64"], [(3e-8, 1.5e-7), (3e-8, 2e-7), (3e-8, 3e-7)]),
    ("f32", ["--f32-matmul=tf32"], [(2e-4, 4e-4)] * 3),
    ("f32", ["--f32-matmul=3xtf32"], [(1e-7, 7e-7)] * 3),
    ("f32", ["--f32-matmul=3xtf32", "--gpu-promote=0"], [(1e-6, 3e-6), (4e-6, 1e-5), (1e-5, 4e-5)]),
    ("f32", ["--f32-matmul=ieee"], [(1e-7, 5e-7), (2e-7, 9e-7), (5e-7, 2e-6)]),
]


def draw(kind, *shape):
    x = rng.standard_normal(shape).astype(np.float32)
    return (to_bf16(x), from_bf16(to_bf16(x))) if kind == "bf16" else (x, x)


for kind, options, bounds in CASES:
    model = Model("""dim k
input a : %s [16, k]
input b : %s [k, 64]
output y = einsum("i, k; k, j => i, j", a, b)
""" % (kind, kind), options + schedule("y: tile\n"))
    for k, (least, most) in zip(SUMS, bounds):
        (a, wide_a), (b, wide_b) = draw(kind, 16, k), draw(kind, k, 64)
        got, = model.forward([k], [a, b], [((16, 64), np.float32)])
        want = wide_a.astype(np.float64) @ wide_b.astype(np.float64)
        error = float(np.sqrt(np.mean((got - want) ** 2) / np.mean(want ** 2)))
        assert least <= error <= most, (kind, options, k, error)
print("products are as exact as is stated")
