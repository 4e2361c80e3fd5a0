"""Products in tiles of a GPU's blocks: every tile and layout, sizes below, at and beyond tiles, 0 and 1, bit for bit. Under
--fp=strict each element is what adding its terms in turn gives."""
import sys

import numpy as np

from tsrlib import DTYPES, Model, schedule

rng = np.random.default_rng(int(sys.argv[1]))
TILES = [(128, 8, 128, 8), (64, 8, 128, 8), (64, 8, 64, 4), (32, 4, 64, 4), (16, 4, 64, 4)]
LAYOUTS = ["i, k; k, j", "k, i; k, j", "i, k; j, k", "k, i; j, k"]
SIZES = [(0, 3, 5), (5, 0, 3), (5, 3, 0), (1, 1, 1), (3, 70, 16), (17, 65, 15), (130, 129, 35), (128, 128, 32)]


def strict(text):
    return schedule(text) + ["--fp=strict"]


def product(a, b):
    """Of [..., i, k] and [..., k, j], terms in turn."""
    total = np.zeros(a.shape[:-1] + b.shape[-1:], a.dtype)
    for k in range(a.shape[-1]):
        total = total + a[..., k, None] * b[..., k, None, :]
    return total


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def same(name, got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes(), name


def transposed(array, as_it_is):
    return array if as_it_is else np.ascontiguousarray(array.swapaxes(-1, -2))


def plain(tile, layout, dtype="f32"):
    """Symbolic sizes, and what is done with each element."""
    first, second = layout.split("; ")
    model = Model("""dim m
dim n
dim k
input a : %s [%s]
input b : %s [%s]
input c : %s [n]
output y = relu(einsum("%s => i, j", a, b) + c)
""" % (dtype, first.replace("i", "m"), dtype, second.replace("j", "n"), dtype, layout), strict("y: tile i %d %d, j %d %d\n" % tile))
    for m, n, k in SIZES:
        a, b, c = (x.astype(DTYPES[dtype]) for x in (draw(m, k), draw(k, n), draw(n)))
        got, = model.forward([m, n, k], [transposed(a, first == "i, k"), transposed(b, second == "k, j"), c], [((m, n), a.dtype)])
        same("%s %s %s" % (tile, layout, (m, n, k)), got, np.maximum(product(a, b) + c, 0))


def batched(tile, m, n, k):
    """Known sizes, batches of both operands, several loops as rows and in the sum."""
    model = Model("""dim t
input x : [t | 3, %d, 2, %d]
input w : [t | 2, %d -> %d]
output y = einsum("t | r, i, p, k; t | p, k -> j => t | r, i, j", x, w)
""" % (m, k, k, n), strict("y: tile i %d %d, j %d %d\n" % tile))
    for t in (0, 2):
        x, w = draw(t, 3, m, 2, k), draw(t, n, 2, k)
        got, = model.forward([t], [x, w], [((t, 3, m, n), np.float32)])
        rows, columns = x.reshape(t, 3 * m, 2 * k), w.reshape(t, n, 2 * k).swapaxes(-1, -2)
        same("batches", got.reshape(t, 3 * m, n), product(rows, columns))


def convolved(tile, channels, kernel, size):
    """Windows with margins: rows are all places of all pictures, the sum is over what a window has."""
    model = Model("""dim t
input x : f32 [t | %d, %d, %d]
input w : f32 [%d, %d, %d -> 20]
output y = einsum("t | p =+ a, q =+ b, c; a, b, c -> j => t | p, q, j", x, w)
""" % (size, size + 2, channels, kernel, kernel, channels), strict("y: tile q %d %d, j %d %d\n" % tile))
    for t in (0, 1, 3):
        x, w = draw(t, size, size + 2, channels), draw(20, kernel, kernel, channels)
        got, = model.forward([t], [x, w], [((t, size, size + 2, 20), np.float32)])
        near = kernel // 2
        wide = np.pad(x, ((0, 0), (near, near), (near, near), (0, 0)))
        windows = np.stack([wide[:, a:a + size, b:b + size + 2] for a in range(kernel) for b in range(kernel)], 3)
        rows = windows.reshape(t * size * (size + 2), kernel * kernel * channels)
        same("windows", got.reshape(-1, 20), product(rows, w.reshape(20, -1).T))


plain(TILES[0], LAYOUTS[0])
plain(TILES[1], LAYOUTS[1])
plain(TILES[2], LAYOUTS[2])
plain(TILES[3], LAYOUTS[3])
plain(TILES[4], LAYOUTS[0])
batched(TILES[2], 23, 68, 20)
convolved(TILES[4], 8, 3, 9)
convolved(TILES[1], 3, 5, 6)
for number, tile in enumerate([(64, 8, 64, 4), (32, 4, 64, 4), (16, 4, 64, 4)]):
    plain(tile, LAYOUTS[number], "f64")
print("products have their bits")
