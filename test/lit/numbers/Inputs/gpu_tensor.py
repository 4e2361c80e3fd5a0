"""Products by tensor cores: every tile and layout, sizes below, at and beyond tiles, 0 and 1, batches, windows and what is done
with each element, against float64; PTX has the bits that a host has. gpu_tensor.py SEED [KIND]: bf16, f16, tf32, 3xtf32; all."""
import functools
import os
import sys

import numpy as np

from tsrlib import Model, draw_kind, schedule

rng = np.random.default_rng(int(sys.argv[1]))
draw = functools.partial(draw_kind, rng)
parts = sys.argv[2:] or ["bf16", "f16", "tf32", "3xtf32"]
LAYOUTS = ["i, k; k, j", "k, i; k, j", "i, k; j, k", "k, i; j, k"][::3 if "DRIVER" in os.environ else 1]
SIZES = [(0, 3, 5), (5, 0, 3), (5, 3, 0), (1, 1, 1), (3, 70, 16), (17, 65, 15), (130, 129, 35), (128, 136, 96)]
NARROW = [(128, 64, 128, 64), (64, 32, 64, 32), (32, 16, 64, 32), (16, 16, 64, 16)]
WIDE = [(64, 32, 128, 64), (64, 32, 64, 32), (16, 16, 64, 16)]
# of the error of an element, in units of its terms' absolute sum: operands rounded to so many bits, and sums cut
ERRORS = {"bf16": 2e-6, "f16": 2e-6, "tf32": 1.1e-3, "3xtf32": 2e-6}


def tile(t):
    return "y: tile %%s %d %d, %%s %d %d\n" % t


def options(text, kind):
    return schedule(text) + (["--f32-matmul=" + kind] if "tf32" in kind else [])


def near(name, kind, got, a, b, finish=lambda y: y):
    want, size = a @ b, np.abs(a) @ np.abs(b)
    got, want = got.astype(np.float64), finish(want)
    assert got.shape == want.shape, (name, got.shape, want.shape)
    assert np.all(np.isfinite(got)), name
    worst = float((np.abs(got - want) / (size + 1)).max(initial=0))
    assert worst <= ERRORS[kind], (name, kind, worst)


def transposed(array, as_it_is):
    return array if as_it_is else np.ascontiguousarray(array.swapaxes(-1, -2))


def dtype_of(kind):
    return "f32" if "tf32" in kind else kind


def wide(kind, name):
    return name if "tf32" in kind else "f32(%s)" % name


def plain(kind, t, layout):
    """Symbolic sizes, and what is done with each element."""
    first, second = layout.split("; ")
    model = Model("""dim m
dim n
dim k
input a : %s [%s]
input b : %s [%s]
input c : [n]
output y = relu(einsum("%s => i, j", %s, %s) + c)
""" % (dtype_of(kind), first.replace("i", "m"), dtype_of(kind), second.replace("j", "n"), layout, wide(kind, "a"), wide(kind, "b")),
                  options(tile(t) % ("i", "j"), kind))
    for m, n, k in SIZES:
        (a, a64), (b, b64), c = draw(kind, m, k), draw(kind, k, n), rng.standard_normal(n).astype(np.float32)
        got = model.forward_as_on_host([m, n, k], [transposed(a, first == "i, k"), transposed(b, second == "k, j"), c], (m, n))
        near("%s %s %s" % (t, layout, (m, n, k)), kind, got, a64, b64, lambda y: np.maximum(y + c, 0))


def known(kind, t, layout, n, k):
    """Sizes that show where elements begin: operands are copied while others are added up."""
    first, second = layout.split("; ")
    rows = "m" if first == "i, k" else "40"
    model = Model("""%sinput a : %s [%s]
input b : %s [%s]
output y = einsum("%s => i, j", %s, %s)
""" % ("dim m\n" if rows == "m" else "", dtype_of(kind), first.replace("i", rows).replace("k", str(k)), dtype_of(kind), second.replace("j", str(n)).replace("k", str(k)),
       layout, wide(kind, "a"), wide(kind, "b")), options(tile(t) % ("i", "j"), kind))
    for m in (0, 1, 40, 70) if rows == "m" else (40,):
        (a, a64), (b, b64) = draw(kind, m, k), draw(kind, k, n)
        got = model.forward_as_on_host([m] if rows == "m" else [], [transposed(a, first == "i, k"), transposed(b, second == "k, j")], (m, n))
        near("%s %s %s" % (t, layout, (m, n, k)), kind, got, a64, b64)


def batched(kind, t, m, n, k):
    """Known sizes, batches of both operands, several loops as rows and in the sum."""
    model = Model("""dim t
input x : %s [t | 3, %d, 2, %d]
input w : %s [t | 2, %d -> %d]
output y = einsum("t | r, i, p, k; t | p, k -> j => t | r, i, j", %s, %s)
""" % (dtype_of(kind), m, k, dtype_of(kind), k, n, wide(kind, "x"), wide(kind, "w")), options(tile(t) % ("i", "j"), kind))
    for count in (0, 2):
        (x, x64), (w, w64) = draw(kind, count, 3, m, 2, k), draw(kind, count, n, 2, k)
        got = model.forward_as_on_host([count], [x, w], (count, 3, m, n))
        rows, columns = x64.reshape(count, 3 * m, 2 * k), w64.reshape(count, n, 2 * k).swapaxes(-1, -2)
        near("batches %s" % (t,), kind, got.reshape(count, 3 * m, n), rows, columns)


def convolved(kind, t, channels, kernel, size):
    """Windows with margins: rows are all places of all pictures, the sum is over what a window has."""
    model = Model("""dim t
input x : %s [t | %d, %d, %d]
input w : %s [%d, %d, %d -> 20]
output y = einsum("t | p =+ a, q =+ b, c; a, b, c -> j => t | p, q, j", %s, %s)
""" % (dtype_of(kind), size, size + 2, channels, dtype_of(kind), kernel, kernel, channels, wide(kind, "x"), wide(kind, "w")),
                  options(tile(t) % ("q", "j"), kind))
    for count in (0, 3):
        (x, x64), (w, w64) = draw(kind, count, size, size + 2, channels), draw(kind, 20, kernel, kernel, channels)
        got = model.forward_as_on_host([count], [x, w], (count, size, size + 2, 20))
        margin = kernel // 2
        padded = np.pad(x64, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
        windows = np.stack([padded[:, a:a + size, b:b + size + 2] for a in range(kernel) for b in range(kernel)], 3)
        near("windows %s" % (t,), kind, got.reshape(-1, 20), windows.reshape(count * size * (size + 2), kernel * kernel * channels), w64.reshape(20, -1).T)


for kind in parts:
    tiles = WIDE if "tf32" in kind else NARROW
    for number, layout in enumerate(LAYOUTS):
        plain(kind, tiles[number % len(tiles)], layout)
        known(kind, tiles[(number + 1) % len(tiles)], layout, 72, (104, 128, 32, 320)[number])
    batched(kind, tiles[1], 23, 68, 24)
    convolved(kind, tiles[-1], 8, 3, 9)
    convolved(kind, tiles[0], 3, 5, 6)
print("products are near those of float64")
