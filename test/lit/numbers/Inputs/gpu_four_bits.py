"""Matrices of four bits times vectors on a GPU: scales and zero points of groups, or of none, sums in pairs, groups of several lengths, one to
nine vectors, rows that leave some over, numbers of groups that are dims and 0, against float64. SEED [few]."""
import sys

import numpy as np

from tsrlib import Model, schedule

rng = np.random.default_rng(int(sys.argv[1]))
few = "few" in sys.argv


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def packed(a):
    """Two elements a byte, the first in the lower half."""
    flat = np.append(a.reshape(-1) & 15, [0] * (a.size % 2)).astype(np.uint8)
    return flat[::2] | flat[1::2] << 4


FORMS = {
    "scaled": ("f32(w) .* %s", lambda w, d, z: w * d[..., None]),
    "less": ("(f32(w) - %s) .* %s", lambda w, d, z: (w - z[..., None]) * d[..., None]),
    "whole": ("f32(i32(w) - %s) .* %s", lambda w, d, z: (w - z[..., None]) * d[..., None]),
    "plain": ("f32(w)", lambda w, d, z: w),
}


def near(name, got, want):
    got = np.asarray(got).astype(np.float64)
    assert got.shape == want.shape, (name, got.shape, want.shape)
    assert np.abs(got - want).max(initial=0) <= 1e-4 * (1 + np.abs(want).max(initial=0)), (name, np.abs(got - want).max())


def rows(form, kind, n, groups, each, outputs, asked=None, dim=False):
    """A product with a function of weights; `dim`: the number of groups is one."""
    g = "g" if dim else str(groups)
    spread = 'sum("o, g => o, g, 0", %s)'
    text, of = FORMS[form]
    text = text % tuple(spread % f for f in ["%s(z)" % ("i32" if form == "whole" else "f32"), "f32(d)"][2 - text.count("%s"):])
    program = "%sinput w : %s [%d, %s, %d]\ninput d : f16 [%d, %s]\ninput z : u4 [%d, %s]\ninput x : [%d, %s, %d]\n" % (
        "dim g\n" if dim else "", kind, outputs, g, each, outputs, g, outputs, g, n, g, each)
    program += 'output y = einsum("o, g, k; n, g, k => n, o", %s, x) + 1\noutput more = sum("o, g => o", f32(d)) + sum("o, g => o", f32(z))\n' % text
    model = Model(program, schedule("y: %s\n" % asked) if asked else ())
    w = rng.integers(*((0, 16) if kind == "u4" else (-8, 8)), (outputs, groups, each))
    z, d, x = rng.integers(0, 16, (outputs, groups)), draw(outputs, groups).astype(np.float16), draw(n, groups, each)
    got = model.forward([groups] if dim else [], [packed(w), d, packed(z), x], [((n, outputs), np.float32), ((outputs,), np.float32)])[0]
    want = np.einsum("ogk,ngk->no", of(w.astype(np.float64), d.astype(np.float64), z), x) + 1
    near((form, kind, n, groups, each, outputs, asked), got, want)


def pairs(n, groups, each, outputs, kind="i4"):
    """Three factors, of which two are summed first; what they multiply is computed by another kernel."""
    model = Model("""input w : %s [%d, %d, %d]
input d : f16 [%d, %d]
input x : [%d, %d, %d]
let a = x / (1 + abs(reduce(max, "n, g, k => n, 0, 0", x)))
output y = relu(einsum("o, g, k; o, g; n, g, k => n, o", w, d, a))
""" % (kind, outputs, groups, each, outputs, groups, n, groups, each))
    w = rng.integers(*((0, 16) if kind == "u4" else (-8, 8)), (outputs, groups, each))
    d, x = draw(outputs, groups).astype(np.float16), draw(n, groups, each)
    got, = model.forward([], [packed(w), d, x], [((n, outputs), np.float32)])
    a = x / (1 + np.abs(x.max((1, 2), keepdims=True)))
    near(("pairs", n, groups, each, outputs), got, np.maximum(np.einsum("ogk,og,ngk->no", w, d.astype(np.float64), a), 0))


def around():
    """Another loop of the sum is around the groups, whose scales do not move along it."""
    model = Model("""input w : u4 [9, 6, 5, 64]
input d : f32 [9, 5]
output y = einsum("o, p, g, k; o, g => o", f32(w), d) + 1
""")
    w, d = rng.integers(0, 16, (9, 6, 5, 64)), draw(9, 5)
    got, = model.forward([], [packed(w), d], [((9,), np.float32)])
    near("around", got, np.einsum("opgk,og->o", w, d.astype(np.float64)) + 1)


around()
rows("scaled", "u4", 1, 8, 32, 40)
rows("less", "i4", 2, 40, 32, 33, "vector k 64; block o 2")
rows("plain", "i4", 1, 5, 32, 24)
pairs(1, 36, 32, 19)
if not few:
    for kind in "u4", "i4":
        for form in FORMS:
            rows(form, kind, 1, 9, 64, 17)
    rows("less", "u4", 8, 33, 32, 21)
    rows("less", "u4", 9, 3, 32, 21)
    rows("scaled", "i4", 1, 7, 16, 30)
    rows("scaled", "i4", 3, 70, 8, 13)
    rows("less", "u4", 1, 12, 20, 11)
    rows("less", "u4", 1, 2, 128, 300)
    for groups in 0, 1, 31, 65:
        rows("less", "u4", 2, groups, 32, 9, dim=True)
    pairs(4, 3, 32, 70, "u4")
    pairs(9, 5, 64, 10)
    pairs(2, 10, 24, 6)
print("matrices of four bits have their numbers")
