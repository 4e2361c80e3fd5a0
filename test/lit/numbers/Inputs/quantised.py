"""A linear layer in int8: activations quantised in the program, weights with a scale for each output, bias and
relu behind the sum, against the same arithmetic in NumPy and near the layer in f32."""
import sys

import numpy as np

from tsrlib import Model

TEXT = """
dim n
input x : [n | 300]
input weight : i8 [300 -> 65]     # round(w / scale)
input scale : [65]
input bias : [65]

let zero = 3                      # of the activations
let step = 0.03125
let q = u8(round(x / step) + zero)
let offset = zero .* sum("i -> o => o", weight)
output y = relu((weight * q - offset) .* (scale .* step) + bias)
output again = i8(round(y .* 4))
"""

RNG = np.random.default_rng(5)
x = np.abs(RNG.standard_normal((17, 300))).astype(np.float32)
w = RNG.standard_normal((65, 300)).astype(np.float32)
scale = (np.abs(w).max(1) / 127).astype(np.float32)
weight = np.rint(w / scale[:, None]).astype(np.int8)
bias = RNG.standard_normal(65).astype(np.float32)

q = np.clip(np.rint(x / np.float32(0.03125)) + 3, 0, 255).astype(np.int64)
total = q @ weight.T.astype(np.int64) - 3 * weight.sum(1, dtype=np.int64)
want = np.maximum(total.astype(np.float32) * (scale * np.float32(0.03125)) + bias, 0)

for march in sys.argv[1:]:
    y, again = Model(TEXT, ["-march=" + march]).forward([17], [x, weight, scale, bias],
                                                       [((17, 65), np.float32), ((17, 65), np.int8)])
    near = np.abs(y - want) <= 1e-6 * (1 + np.abs(want))  # the products with scales may be one rounding apart
    whole = np.abs(again - np.clip(np.rint(want * 4), -128, 127)) <= 1
    exact = np.maximum(x @ w.T + bias, 0)
    print("%s: %d wrong, %d far from f32" % (march, (~near).sum() + (~whole).sum(),
                                             (np.abs(y - exact) > 0.02 * np.abs(exact).max()).sum()))
