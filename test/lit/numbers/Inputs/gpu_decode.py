"""Attention of a few rows on a GPU, in slices of keys: numbers of keys at and around slices, 0 and 1, a cache and new keys behind it,
of f32, bf16 and f16, heads that share keys, masks, hidden rows and what is read nowhere, against float64. SEED [few] [cluster]: slices are blocks of
a cluster."""
import sys

import numpy as np

from attended import attention, near
from tsrlib import Model, from_bf16, schedule, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))
few = "few" in sys.argv
cluster = "cluster" in sys.argv
KEYS = (0, 1, 65, 1100) if few else (0, 1, 2, 63, 64, 65, 130, 1024, 1100)
GIVEN = {"f32": lambda a: a, "bf16": to_bf16, "f16": lambda a: a.astype(np.float16)}
REAL = {"f32": lambda a: a, "bf16": from_bf16, "f16": lambda a: a.astype(np.float32)}


def asks(text, blocks=8):
    return schedule(text.strip() + ("; cluster t %d\n" % blocks if cluster else "\n"))


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def plain(rows, depth, columns, kind="f32", asked="y: row_block s %d; block t 64\n", blocks=8):
    """A softmax of all keys; the total divides, and something follows."""
    model = Model("""dim b
dim keys
input q : [b | %d, %d]
input k : %s [b, keys | %d]
input v : %s [b, keys | %d]
let scores = einsum("b | s, d; b, t | d => b | s, t", q, f32(k)) / 3
let e = exp(scores - reduce(max, "b | s, t => b | s, 0", scores))
output y = 2 * einsum("b | s, t; b, t | e => b | s, e", e / sum("b | s, t => b | s, 0", e), f32(v)) + 1
""" % (rows, depth, kind, depth, kind, columns), asks(asked % rows if "%" in asked else asked, blocks))
    for keys in KEYS:
        q, k, v = draw(2, rows, depth), GIVEN[kind](draw(2, keys, depth)), GIVEN[kind](draw(2, keys, columns))
        got, = model.forward([2, keys], [q, k, v], [((2, rows, columns), np.float32)])
        scores = np.einsum("bsd,btd->bst", q.astype(np.float64), REAL[kind](k).astype(np.float64)) / 3
        near("plain %s" % ((rows, depth, columns, kind, keys),), got, 2 * attention(scores, REAL[kind](v)) + 1)


def rounded():
    """Weights are rounded to the type of the values."""
    model = Model("""dim keys
input q : bf16 [2, 64]
input k : bf16 [keys | 64]
input v : bf16 [keys | 64]
let scores = einsum("h, d; t | d => h, t", f32(q), f32(k)) / 8
let e = exp(scores - reduce(max, "h, t => h, 0", scores))
let p = bf16(e / sum("h, t => h, 0", e))
output y = einsum("h, t; t | d => h, d", f32(p), f32(v))
""", asks("y: row_block h 2"))
    for keys in KEYS[1:]:
        q, k, v = to_bf16(draw(2, 64)), to_bf16(draw(keys, 64)), to_bf16(draw(keys, 64))
        got, = model.forward([keys], [q, k, v], [((2, 64), np.float32)])
        scores = from_bf16(q).astype(np.float64) @ from_bf16(k).T / 8
        worst = np.abs(np.asarray(got) - attention(scores, from_bf16(v))).max()
        assert 1e-6 < worst < 1e-2 or keys < 3, (keys, worst)


def cached(rows, heads, width, asked):
    """Old keys and values lie in a cache, of which the rest is no number; new ones are causal."""
    model = Model("""dim longest
dim past
input q : [%(s)d | %(h)d, %(w)d]
input k : [%(s)d | %(h)d, %(w)d]
input v : [%(s)d | %(h)d, %(w)d]
input keys : [longest | %(h)d, %(w)d]
input values : [longest | %(h)d, %(w)d]
let old = einsum("s | h, d; t^_ | h, d => s | h, t", q, keys) with (t = past)
let new = where(to_batch(range(%(s)d)) >= range(%(s)d), einsum("s | h, d; t | h, d => s | h, t", q, k), -inf)
let top = max(reduce(max, "s | h, t => s | h, 0", old), reduce(max, "s | h, t => s | h, 0", new))
let a = exp(old - top)
let b = exp(new - top)
let total = sum("s | h, t => s | h, 0", a) + sum("s | h, t => s | h, 0", b)
output y = (einsum("s | h, t; t^_ | h, d => s | h, d", a, values) + einsum("s | h, t; t | h, d => s | h, d", b, v)) / total
""" % {"s": rows, "h": heads, "w": width}, asks(asked))
    for past in KEYS:
        longest = past + 3
        q, k, v = (draw(rows, heads, width) for _ in range(3))
        keys, values = draw(longest, heads, width), draw(longest, heads, width)
        keys[past:] = values[past:] = np.nan
        got, = model.forward([longest, past], [q, k, v, keys, values], [((rows, heads, width), np.float32)])
        all_keys, all_values = np.concatenate((keys[:past], k)), np.concatenate((values[:past], v))
        scores = np.einsum("shd,thd->hst", q.astype(np.float64), all_keys.astype(np.float64))
        seen = np.arange(past + rows) <= past + np.arange(rows)[:, None]
        want = attention(np.where(seen, scores, -np.inf), all_values.transpose(1, 0, 2)).transpose(1, 0, 2)
        near("cached %s" % ((rows, heads, width, past),), got, want)


def grouped():
    """Queries of a group share keys, a given mask hides some or all, a hidden key may be no number; the reciprocal of the total
    multiplies."""
    model = Model("""dim keys
input q : [2, 3 | 32]
input k : [2, keys | 32]
input v : [2, keys | 64]
input hidden : [3 | keys]
let scores = where(to_output(hidden), -inf, einsum("h, g | d; h, t | d => h, g | t", q, k))
let e = exp(scores - reduce(max, "h, g | t => h, g | 0", scores))
output y = einsum("h, g | t; h, t | d => h, g | d", e .* recip(sum("h, g | t => h, g | 0", e)), v)
""".replace("to_output(hidden)", "sum(\"g | t => 0, g | t\", hidden)"), asks("y: row_block g 3; block t 32", 4))
    for keys in KEYS[1:]:
        q, k, v = draw(2, 3, 32), draw(2, keys, 32), draw(2, keys, 64)
        hidden = (rng.random((3, keys)) < 0.5).astype(np.float32)
        hidden[0] = 1
        hidden[1:, keys - 1] = 0
        if keys > 1:
            hidden[:, 0] = 1
            k[:, 0] = np.nan
        got, = model.forward([keys], [q, k, v, hidden], [((2, 3, 64), np.float32)])
        scores = np.einsum("hgd,htd->hgt", q.astype(np.float64), k.astype(np.float64))
        near("grouped %d" % keys, got, attention(np.where(hidden != 0, -np.inf, scores), v))


def same_bits():
    """A slice a block is added up as slices of another kernel are."""
    text = """dim keys
input q : [3, 16]
input k : [3, keys | 16]
input v : [3, keys | 32]
let scores = einsum("h, d; h, t | d => h, t", q, k)
let e = exp(scores - reduce(max, "h, t => h, 0", scores))
output y = einsum("h, t; h, t | e => h, e", e / sum("h, t => h, 0", e), v)
"""
    models = [Model(text, schedule("y: row_block h 1; block t 32%s\n" % word)) for word in ("", "; cluster t 8")]
    for keys in (0, 1, 33, 250, 256):
        arrays = [draw(3, 16), draw(3, keys, 16), draw(3, keys, 32)]
        one, other = (np.asarray(m.forward([keys], arrays, [((3, 32), np.float32)])[0]).view(np.uint32) for m in models)
        assert np.array_equal(one, other), keys


plain(1, 64, 64, asked="y: block t 64; row_block b1 1\n")
plain(3, 64, 64, "bf16")
plain(8, 128, 20, "f16", "y: row_block s %d; block t 32\n", 2)
cached(1, 3, 64, "y: row_block h 1; block t 64\n")
cached(4, 2, 16, "y: row_block s 4\n")
grouped()
rounded()
if cluster:
    same_bits()
    plain(2, 16, 20, asked="y: row_block s %d; block t 16\n")
if not few:
    plain(2, 20, 36)
    plain(5, 128, 128)
    plain(8, 64, 128, "bf16")
    cached(2, 2, 128, "y: row_block s 2\n")
print("attention of few rows is near that of float64")
