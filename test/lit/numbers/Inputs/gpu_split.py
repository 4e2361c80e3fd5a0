"""Products whose sum goes in slices, of another kernel or of a cluster's blocks: each tile, slices that are asked for, layouts, batches, sums over several loops, tensor cores.
Each element is what adding a slice's terms in turn, then the slices in turn, gives, bit for bit. What is planted in the
loops makes other numbers. SEED."""
import os
import sys

import numpy as np

import gpu_faults
from tsrlib import Model, from_bf16, schedule, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))


def in_turn(a, b):
    """Of [..., i, k] and [..., k, j], terms in turn, a product and its sum rounded once."""
    total = np.zeros(a.shape[:-1] + b.shape[-1:], np.float32)
    for k in range(a.shape[-1]):
        total = (total + a[..., k, None].astype(np.float64) * b[..., k, None, :]).astype(np.float32)
    return total


def in_slices(a, b, n):
    total, each = np.float32(0), a.shape[-1] // n
    for first in range(0, a.shape[-1], each):
        total = total + in_turn(a[..., first:first + each], b[..., first:first + each, :])
    return total


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def same(name, model, got, want, exact):
    got = np.asarray(got)
    if not exact:
        assert got.shape == want.shape and np.abs(got - want).max(initial=0) < 1e-4, name
    else:
        assert got.shape == want.shape and np.array_equal(got.view(np.uint32), want.view(np.uint32)), name


def clause(steps, k, slices, cluster):
    return "block %s %d; cluster %s %d" % (k, steps, k, slices) if cluster else "block %s %d %d" % (k, steps, slices)


def plain(tile, slices, layout, m, n, k, cluster=False, rows=None):
    """rows: a dim's name for m."""
    first, second = layout.split("; ")
    sizes = {"i": rows or str(m), "j": str(n), "k": str(k)}
    shapes = [", ".join(sizes[letter] for letter in row.split(", ")) for row in layout.split("; ")]
    model = Model((rows and "dim %s\n" % rows or "") + 'input a : [%s]\ninput b : [%s]\ninput c : [%d]\noutput y = relu(einsum("%s => i, j", a, b) + c)\n' % (*shapes, n, layout),
                  schedule("y: tile i %d %d, j %d %d; %s\n" % (*tile, clause(16, "k", slices, cluster))))
    a, b, c = draw(m, k), draw(k, n), draw(n)
    got, = model.forward([m] if rows else [], [a if first == "i, k" else a.T.copy(), b if second == "k, j" else b.T.copy(), c], [((m, n), np.float32)])
    same("%s %s %d" % (tile, layout, slices), model, got, np.maximum(in_slices(a, b, slices) + c, 0), True)


def batched(cluster):
    """Batches, several loops in the sum, of which the first is cut."""
    model = Model("""input x : [3 | 20, 8, 64]
input w : [3 | 70, 8, 64]
output y = einsum("t | i, p, k; t | j, p, k => t | i, j", x, w)
""", schedule("y: tile i 16 4, j 64 4; %s\n" % clause(16, "k", 4, cluster)))
    x, w = draw(3, 20, 8, 64), draw(3, 70, 8, 64)
    got, = model.forward([], [x, w], [((3, 20, 70), np.float32)])
    same("batches", model, got, in_slices(x.reshape(3, 20, 512), w.reshape(3, 70, 512).swapaxes(1, 2), 4), True)


def tensor(cluster):
    model = Model("""input a : bf16 [40, 1024]
input b : bf16 [72, 1024]
output y = einsum("i, k; j, k => i, j", f32(a), f32(b))
""", schedule("y: tile i 64 32, j 64 32; %s\n" % clause(32, "k", 4, cluster)))
    a, b = to_bf16(draw(40, 1024)), to_bf16(draw(72, 1024))
    got, = model.forward([], [a, b], [((40, 72), np.float32)])
    same("bf16", model, got, from_bf16(a).astype(np.float64) @ from_bf16(b).astype(np.float64).T, False)


def planted():
    """In the loops, where nothing but the numbers tells."""
    program = 'input a : [40, 256]\ninput b : [72, 256]\noutput y = einsum("i, k; j, k => i, j", a, b)\n'
    faults = [("a slice is not added", r"\n *acc1 \+= y_slices\[[^\n]* \+ 5760\]", ""), ("slices overlap", r"slice\*64", "slice*48"),
              ("steps are left out", r"for k1 in 0\.\.49", "for k1 in 0..33"),
              ("a slice is added twice", r"(acc1 \+= y_slices\[four\*4 \+ j1 \+ )5760", r"\g<1>2880")]
    a, b = draw(40, 256), draw(72, 256)
    gpu_faults.find_all(program, faults, [], [a, b], a @ b.T, schedule("y: tile i 64 8, j 64 4; block k 16 4\n"), "bind", "sm_80", 1e-3)


plain((64, 8, 64, 4), 4, "i, k; j, k", 70, 65, 256)
plain((64, 8, 128, 8), 2, "k, i; k, j", 9, 132, 128)
plain((32, 4, 64, 4), 8, "i, k; k, j", 33, 3, 512)
plain((16, 4, 64, 4), 3, "k, i; j, k", 17, 68, 240)
for kind in False, True:
    batched(kind)
    tensor(kind)
plain((64, 8, 64, 4), 4, "i, k; j, k", 70, 65, 256, True)
plain((64, 8, 128, 8), 2, "k, i; k, j", 9, 132, 128, True)
plain((32, 4, 64, 4), 8, "i, k; k, j", 33, 3, 512, True)
for m in 0, 1, 17, 40:
    plain((16, 4, 64, 4), 8, "i, k; k, j", m, 68, 512, True, "m")
if "DRIVER" not in os.environ:
    planted()
print("products in slices have their numbers")
