"""Attention in one kernel of a GPU: sizes below, at and beyond blocks, 0 and 1, depths and columns of all kinds, masks that are
computed and that are given, hidden rows, infinite scores, and what is done with each element, against float64. SEED [FEW]."""
import sys

import numpy as np

import attended
from tsrlib import Model, from_bf16, schedule, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))
few = len(sys.argv) > 2
SIZES = [(2, 0, 3), (1, 3, 0), (0, 2, 2), (2, 1, 1), (1, 64, 64), (1, 33, 70), (2, 65, 63), (1, 130, 129)]
SIZES = SIZES[1:2] + SIZES[5:7] if few else SIZES


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def near(name, got, scores, v, finish=lambda y: y):
    attended.near(name, got, finish(attended.attention(scores, v)))


def scores_of(q, k):
    return np.einsum("bsd,btd->bst", q.astype(np.float64), k.astype(np.float64))


def plain(depth, columns, asked, q="s, d", k="t, d", v="t, e"):
    """Layouts of operands; the total divides, and something follows."""
    def size(spec):
        return ", ".join({"s": "rows", "t": "keys", "d": str(depth), "e": str(columns)}.get(a, a) for a in spec.split(", "))
    model = Model("""dim b
dim rows
dim keys
input q : [b | %s]
input k : [b | %s]
input v : [b | %s]
let scores = einsum("b | %s; b | %s => b | s, t", q, k) / 3
let e = exp(scores - reduce(max, "b | s, t => b | s, 0", scores))
output y = 2 * einsum("b | s, t; b | %s => b | s, e", e / sum("b | s, t => b | s, 0", e), v) + 1
""" % (size(q), size(k), size(v), q, k, v), schedule(asked))
    for b, s, t in SIZES:
        arrays = [draw(b, s, depth), draw(b, t, depth), draw(b, t, columns)]
        given = [a if spec[0] in "st" else np.ascontiguousarray(a.swapaxes(1, 2)) for a, spec in zip(arrays, (q, k, v))]
        got, = model.forward([b, s, t], given, [((b, s, columns), np.float32)])
        near("%s %s %s %s" % (depth, columns, asked, (b, s, t)), got, scores_of(*arrays[:2]) / 3, arrays[2], lambda y: 2 * y + 1)


def masked(asked, heads, mask, hides, dims=""):
    """Heads of a width of 16 inside a row; the reciprocal of the total multiplies."""
    model = Model("""dim b
dim rows
dim keys
%s
input q : [b, rows | %d, 16]
input k : [b, keys | %d, 16]
input v : [b, keys | %d, 16]
let scores = where(%s, einsum("b, s | h, d; b, t | h, d => b, s | h, t", q, k), -inf)
let e = exp(scores - reduce(max, "b, s | h, t => b, s | h, 0", scores))
let p = e .* recip(sum("b, s | h, t => b, s | h, 0", e))
output y = einsum("b, s | h, t; b, t | h, d => b, s | h, d", p, v)
""" % (dims, heads, heads, heads, mask), schedule(asked))
    for b, s, t in SIZES:
        for past in (0, 1, 40) if dims else (0,):
            q, k, v = draw(b, s, heads, 16), draw(b, t, heads, 16), draw(b, t, heads, 16)
            seen = hides(past + np.arange(s)[:, None], np.arange(t)[None, :])
            got, = model.forward([b, s, t] + ([past] if dims else []), [q, k, v], [((b, s, heads, 16), np.float32)])
            scores = np.where(seen, np.einsum("bshd,bthd->bhst", q.astype(np.float64), k.astype(np.float64)), -np.inf)
            near("%s %s %s" % (mask, (b, s, t), past), got.transpose(0, 2, 1, 3), scores, v.transpose(0, 2, 1, 3))


def given():
    """A mask that is an input hides whole rows too; scores may be infinite, and a hidden key may be no number."""
    model = Model("""dim rows
dim keys
input q : [rows | 20]
input k : [keys | 20]
input v : [keys | 36]
input hidden : [rows | keys]
let scores = where(hidden, -inf, einsum("s | d; t | d => s | t", q, k))
let e = exp(scores - reduce(max, "s | t => s | 0", scores))
output y = einsum("s | t; t | e => s | e", e / sum("s | t => s | 0", e), v)
""", schedule("y: row_block s 32; block t 32\n"))
    for s, t in ((70, 40),) if few else ((70, 40), (5, 200), (64, 1)):
        q, k, v = draw(s, 20), draw(t, 20), draw(t, 36)
        hidden = (rng.random((s, t)) < 0.5).astype(np.float32)
        hidden[0] = 1
        hidden[:, t - 1] = 0
        hidden[0, t - 1] = 1
        k[0] = np.nan
        hidden[:, 0] = 1
        if s > 5:
            q[5] = 1e30
        got, = model.forward([s, t], [q, k, v, hidden], [((s, 36), np.float32)])
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.where(hidden != 0, -np.inf, (q @ k.T).astype(np.float64))
        rows = [i for i in range(s) if i != 5]
        near("given %s" % ((s, t),), np.asarray(got)[rows], scores[rows], v)


def tensor(kind, depth, columns):
    """By tensor cores; weights are rounded to the type of the values. A past that is a dim, heads that share keys."""
    model = Model("""dim rows
dim keys
dim past
input q : %s [4, rows | %d]
input k : %s [keys | %d]
input v : %s [4, keys | %d]
let scores = where(range(keys) <= to_batch(range(rows)) + past, einsum("h, s | d; t | d => h, s | t", f32(q), f32(k)) / 4, -inf)
let e = exp(scores - reduce(max, "h, s | t => h, s | 0", scores))
let p = %s(e / sum("h, s | t => h, s | 0", e))
output y = einsum("h, s | t; h, t | d => h, s | d", f32(p), f32(v))
""" % (kind, depth, kind, depth, kind, columns, kind), schedule("y: row_block s 64\n"))
    given = to_bf16 if kind == "bf16" else lambda a: a.astype(np.float16)
    real = from_bf16 if kind == "bf16" else lambda a: a.astype(np.float32)
    for s, t, past in ((70, 130, 3),) if few else ((0, 3, 0), (1, 1, 0), (65, 64, 0), (70, 130, 3), (3, 200, 150)):
        q, k, v = (given(draw(*shape)) for shape in ((4, s, depth), (t, depth), (4, t, columns)))
        got, = model.forward([s, t, past], [q, k, v], [((4, s, columns), np.float32)])
        seen = np.arange(t) <= np.arange(s)[:, None] + past
        scores = np.where(seen, np.einsum("hsd,td->hst", real(q).astype(np.float64), real(k).astype(np.float64)) / 4, -np.inf)
        want = attended.attention(scores, real(v))
        worst = np.abs(np.asarray(got) - want).max(initial=0)
        assert worst < (1e-2 if kind == "bf16" else 2e-3), (kind, depth, columns, (s, t, past), worst)


BLOCKS = ["y: row_block s 64; block t 64\n", "y: row_block s 32; block t 32\n"]
plain(64, 64, BLOCKS[0])
plain(20, 36, BLOCKS[1])
if not few:
    plain(8, 4, BLOCKS[0], k="d, t")
    plain(3, 2, BLOCKS[1], q="d, s", v="e, t")
    plain(33, 60, BLOCKS[0], q="d, s", k="d, t", v="e, t")
    plain(128, 128, BLOCKS[1])
    plain(64, 100, BLOCKS[1], q="d, s", k="d, t")
masked(BLOCKS[0], 2, "to_batch(range(rows)) >= range(keys)", lambda row, key: row >= key)
masked(BLOCKS[1], 3, "range(keys) <= to_batch(range(rows)) + past", lambda row, key: key <= row, "dim past")
masked(BLOCKS[1], 1, "range(keys) > to_batch(range(rows))", lambda row, key: key > row)
given()
tensor("bf16", 64, 64)
tensor("f16", 40, 20)
if not few:
    tensor("bf16", 128, 128)
    tensor("f16", 16, 72)
print("attention is near that of float64")
