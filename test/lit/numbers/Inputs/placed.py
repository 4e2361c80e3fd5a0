"""Reads and writes from places given by name, against NumPy, in one program and at many sizes."""
import numpy as np

import tsrlib
from tsrlib import Model

TEXT = """
dim past
dim n
dim s
input x : [n, 3]
input w : [4, 3]
fn from(k)(x) = sum("i + k, d => i, d", x)
fn every(g, r)(x) = sum("g*i + r, d => i, d", x)
fn windows(g, r)(x) = einsum("r + g*o <+? k, d; k, d => o", x, w)
output a = exp(from(past)(x))
output b = every(3, past)(x)
output c = windows(2, past)(x)
output d = sum("past^i^_, d => i, d", x) with (i = s)
output e = einsum("past + i, d; i + s, e => d, e", x, x) with (i = s)
output f = sum("i, d => past + i, d", x)
output g = concat("a, d; b, d => a^past^b, d", x, w)
output h = einsum("past + o =+ k, d; k, d => o", x, w)
output k = reduce(max, "i + past, d => d", x)
let square = einsum("i, d; j, d => i, j", x, x)
output l = scan(n, a = square, p) { min(a, einsum("i, 0 + p; 0 + p, j => i, j", a, a, op = add)) }
output q = einsum("i + past, d; 0 + past, d => i, d", x, x)
output m = grad(sum(einsum("i, 0 + past; 0 + past, j => i, j", square, square)), x)
"""


def expected(x, w, past, s):
    n = len(x)
    c = [(x[past + 2 * o : past + 2 * o + 4] * w).sum() for o in range((n - past - 4) // 2 + 1)]
    zeros = np.zeros((past, 3), np.float32)
    padded = np.concatenate([np.zeros((2, 3), np.float32), x, np.zeros((n + past + 4, 3), np.float32)])
    h = [(padded[past + o : past + o + 4] * w).sum() for o in range(n)]
    square = x @ x.T
    l = square
    for step in range(n):
        l = np.minimum(l, l[:, step, None] + l[step])
    whole, along = square[past].sum(), x[past][None] + 0 * x  # of (sum of row `past`) ** 2, as square is symmetric
    m = 2 * whole * along
    m[past] += 2 * whole * x.sum(0)
    return [np.exp(x[past:]), x[past::3], np.array(c, np.float32), x[past : past + s],
            x[past : past + s].T @ x[s : 2 * s], np.concatenate([zeros, x]), np.concatenate([x, zeros, w]),
            np.array(h, np.float32), x[past:].max(0, initial=-np.inf), l, x[past:] * x[past], m]


def main():
    random = np.random.default_rng(1)
    model = Model(TEXT, ["-O0"])
    sizes = [(0, 0, 4), (0, 0, 5), (1, 1, 5), (0, 1, 9), (2, 2, 30), (3, 3, 9), (5, 4, 40), (7, 0, 11), (9, 100, 300)]
    wrong = 0
    for past, s, n in sizes:
        x, w = (random.integers(-8, 9, (rows, 3)).astype(np.float32) / 8 for rows in (n, 4))
        want = expected(x, w, past, s)
        got = model.forward([past, n, s], [x, w], [(value.shape, np.float32) for value in want])
        for name, a, b in zip("abcdefghklqm", got, want):
            if not np.allclose(a, b, rtol=1e-5, atol=1e-4):
                wrong += 1
                print("%s, past %d, s %d, n %d: %s, not %s" % (name, past, s, n, a, b))
    print("%d sizes, %d wrong" % (len(sizes), wrong))


if __name__ == "__main__":
    main()
