"""Attention and its gradients where a mask hides tiles, against NumPy: products by what the mask makes 0 are left out, passes over
rows end with the mask, and all the same 0 times what is infinite is NaN, as is a row that sees no key; sums that are multiplied by 0 are left out
unless they may be infinite. Masks are causal, with a window, and with rows that see
no key; the sums are of one order, so that threads have the same bits."""
import random

import numpy as np

from tsrlib import Model, pool_call

random.seed(7)
RNG = np.random.default_rng(7)
D = 12
MASKS = [  # what is seen, what stands where nothing is, so many keys, and the instructions
    ("row >= key", lambda s, t: s >= t, -np.inf, 100, "native"),
    ("row >= key && key + 20 > row", lambda s, t: (s >= t) & (t + 20 > s), -np.inf, 64, "x86-64-v3"),
    ("row >= key + 3", lambda s, t: s >= t + 3, -np.inf, 70, "x86-64"),
    ("key > row + 40", lambda s, t: t > s + 40, -1e9, 150, "native"),
]
PROGRAM = """import nn
dim n
dim s = %d
input q : [n, s | 2, %d]
input k : [n, s | 2, %d]
input v : [n, s | 2, %d]
input c : [n, s | 2, %d]
let row = to_batch(range(s)), key = range(s)
fn attend(q, k, v) = einsum("n, s | h, t; n, t | h, d => n, s | h, d",
    nn.softmax(where(%s, einsum("n, s | h, d; n, t | h, d => n, s | h, t", q, k) / 4, %s)), v)
let y = attend(q, k, v)
output y, dq = vjp(y, q, c), dk = vjp(y, k, c), dv = vjp(y, v, c)
"""


def wanted(seen, hidden, dtype, q, k, v, c):
    q, k, v, c = (np.moveaxis(a.astype(dtype), 2, 1) for a in (q, k, v, c))
    scores = np.where(seen, np.einsum("nhsd,nhtd->nhst", q, k) / 4, dtype(hidden))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    share = 1 / e.sum(-1, keepdims=True)
    p = e * share
    dp = np.einsum("nhsd,nhtd->nhst", c, v)
    total = (dp * e).sum(-1, keepdims=True) * share * share
    ds = np.where(seen, (dp * share - total) * e, 0) / 4
    results = (np.einsum("nhst,nhtd->nhsd", p, v), np.einsum("nhst,nhtd->nhsd", ds, k),
               np.einsum("nhst,nhsd->nhtd", ds, q), np.einsum("nhst,nhsd->nhtd", p, c))
    return [np.moveaxis(r, 1, 2) for r in results]


def spoil(arrays, which):
    """Makes one number of one of the tensors infinite or none, or a product of two behind the mask too large."""
    if which is None:
        return
    if which == LARGE:
        h, d = random.randrange(2), random.randrange(D)
        arrays[2][0, -1, h, d] = arrays[3][0, 1, h, d] = 1e30
        return
    a = arrays[which]
    a[tuple(random.randrange(size) for size in a.shape)] = random.choice([np.nan, np.inf, -np.inf])


def compare(mask, model, s, which):
    n = random.choice([1, 3])
    arrays = [RNG.standard_normal((n, s, 2, D)).astype(np.float32) for _ in range(4)]
    spoil(arrays, which)
    at = np.arange(s)
    with np.errstate(all="ignore"):
        want = wanted(mask[1](at[:, None], at[None, :]), mask[2], np.float32 if which == LARGE else np.float64, *arrays)
    results = set()
    for call in CALLS:
        model.call = call
        made = model.forward([n], arrays, [((n, s, 2, D), np.float32)] * 4)
        results.add(b"".join(y.tobytes() for y in made))
    assert len(results) == 1, "other bits on threads"
    for y, w, name in zip(made, want, ["y", "dq", "dk", "dv"]):
        same = np.isclose(y, w, rtol=2e-4, atol=2e-4, equal_nan=True) if which != LARGE else np.isnan(y) == np.isnan(w)
        assert same.all(), (mask[0], s, which, name, np.argwhere(~same)[:3])


LARGE = 4  # as `which`
CALLS = [None, pool_call(2)]
compared = 0
for mask in MASKS:
    s = mask[3]
    model = Model(PROGRAM % (s, D, D, D, D, mask[0], mask[2]), ["-march=" + mask[4], "--grain=1"])
    for which in [None, 0, 1, 2, 3, LARGE] * 3:
        compare(mask, model, s, which)
        compared += 1

# What reads a sum behind a mask, of which 0 / 0, or what is infinite times 0, would tell that it is not computed.
READERS = """import nn
dim n
dim s
input q : [n, s | 2, %d]
input k : [n, s | 2, %d]
input v : [n, s | 2, %d]
input c : [n, s | 2, %d]
let row = to_batch(range(s))
let p = nn.softmax(where(row >= range(s), einsum("n, s | h, d; n, t | h, d => n, s | h, t", q, k) / 4, -inf))
let g = einsum("n, s | h, d; n, t | h, d => n, s | h, t", c, v)
let total = einsum("n, s | h, t; n, s | h, t => n, s | h", g, p)
let read = %s
let behind = where(row >= range(s), einsum("n, s | h, t; n, s | h => n, s | h, t", read, total), 0)
output y = einsum("n, s | h, t; n, t | h, d => n, s | h, d", p, v), dk = einsum("n, s | h, t; n, s | h, d => n, t | h, d", read, c)
output dv = einsum("n, s | h, t; n, s | h, d => n, t | h, d", p, q), dq = einsum("n, s | h, t; n, t | h, d => n, s | h, d", behind, k)
"""
READS = [("p / g", lambda p, g: p / g), ("p .* (g * 1e30)", lambda p, g: p * (g * np.float32(1e30))),
         ("where(g > 5, p .* g, p)", lambda p, g: np.where(g > 5, p * g, p))]


def compare_reader(source, read):
    arrays = [RNG.standard_normal((1, 100, 2, D)).astype(np.float32) for _ in range(4)]
    arrays[2][0, -1, :, 0] = arrays[3][0, 1, :, 0] = 1e9  # the key is behind the mask of the row
    q, k, v, c = (np.moveaxis(a, 2, 1) for a in arrays)
    scores = np.where(np.tril(np.ones((100, 100), bool)), np.einsum("nhsd,nhtd->nhst", q, k) / 4, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    with np.errstate(all="ignore"):
        want = np.einsum("nhst,nhsd->nthd", read(e / e.sum(-1, keepdims=True), np.einsum("nhsd,nhtd->nhst", c, v)), c)
    made = Model(READERS % (D, D, D, D, source), ["-march=native"]).forward([1, 100], arrays, [((1, 100, 2, D), np.float32)] * 4)
    assert np.array_equal(np.isnan(made[1]), np.isnan(want)), source


for source, read in READS:
    compare_reader(source, read)
    compared += 1
print("%d attentions with gradients agree with NumPy" % compared)
