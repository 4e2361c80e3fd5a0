"""i64, u32 and bool against NumPy, whose integers wrap alike: arithmetic, comparisons, choices, reductions, moves, casts
from and to every dtype, at the ends of the types, in lengths 0, 1 and others. whole_types.py OPTIONS..."""
import sys

import numpy as np

from tsrlib import DTYPES, Model

OPTIONS = sys.argv[1:]
RNG = np.random.default_rng(11)
ENDS = {"i64": [0, 1, -1, 7, -2 ** 63, 2 ** 63 - 1, 2 ** 32, -2 ** 31 - 1, 10 ** 12], "bool": [0, 1],
        "u32": [0, 1, 7, 2 ** 31, 2 ** 32 - 1, 2 ** 16]}


def numbers(kind, n):
    dtype = np.dtype(DTYPES[kind])
    if kind == "bool":
        return RNG.random(n) < 0.5
    if dtype.kind == "f":
        return np.resize(RNG.permutation(np.concatenate([RNG.normal(0, 1, n), RNG.normal(0, 1e12, n), [
            0, -0.0, np.nan, np.inf, -np.inf, 0.4, -0.6, 255.7, 2.0 ** 31, 2.0 ** 32, 2.0 ** 63, -1e30]])), n).astype(dtype)
    info = np.iinfo(dtype)
    some = RNG.choice(ENDS.get(kind, [info.min, info.max, 0, 1, 3]), n).astype(dtype)
    return np.where(RNG.random(n) < 0.5, some, RNG.integers(info.min, info.max, n, dtype, endpoint=True))


def quotient(a, b):
    """Of integers in f32; where they are divided as such the result is 0 for a divisor of 0."""
    return a.astype(np.float32) / b.astype(np.float32)


def rest(a, b):
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def power(a, b):
    out = np.ones_like(a)
    for bit in range(3):
        out = np.where(b >> bit & 1, out * a ** (1 << bit), out)
    return out.astype(a.dtype)


def cast(a, kind):
    """To integers floats are cut off and end at the type's ends; NaN is 0; to bool everything but 0 is 1."""
    dtype = np.dtype(DTYPES[kind])
    if kind == "bool":
        return a != 0
    if a.dtype.kind != "f" or dtype.kind == "f":
        return a.astype(dtype)
    info = np.iinfo(dtype)
    out = [0 if np.isnan(v) else info.min if v <= info.min else info.max if v >= info.max else int(v) for v in a.astype(float)]
    return np.array(out, dtype)


ONE = {"-a": np.negative, "abs(a)": np.abs, "relu(a)": lambda a: np.maximum(a, 0), "sign(a)": np.sign,
       "a ** 2": lambda a: a * a, "trunc(a)": lambda a: a, "a .* 3 + 1": lambda a: a * 3 + 1}
TWO = {"a + b": np.add, "a - b": np.subtract, "a .* b": np.multiply, "max(a, b)": np.maximum, "min(a, b)": np.minimum,
       "a / b": quotient, "a % b": rest, "a ** (b % 8)": lambda a, b: power(a, rest(b, b * 0 + 8)),
       "fma(a, b, a)": lambda a, b: a * b + a, "a < b": np.less, "a >= b": np.greater_equal, "a == b": np.equal,
       "a && b": np.logical_and, "bool(a != b)": np.not_equal, "where(bool(a), b, a)": lambda a, b: np.where(a != 0, b, a),
       "where(a < b, 1, b)": lambda a, b: np.where(a < b, 1, b).astype(a.dtype)}
ALL = {"sum(a)": np.sum, 'reduce(max, "n =>", a)': np.max, 'reduce(min, "n =>", a)': np.min,
       'reduce(prod, "n =>", a)': np.prod}
TRUTHS = ("<", ">=", "==", "&&")


def same(name, text, got, want):
    want = np.asarray(want)
    if got.dtype == np.float32 and want.dtype != np.float32:
        want = want.astype(np.float32)
    good = (got == want) | (got != got) & (want != want)
    if not good.all():
        at = int(np.argmin(good))
        sys.exit("%s, %s: %s, and it should be %s (%d of %d)" % (name, text, got.ravel()[at], want.ravel()[at], at, got.size))


def run(head, dims, lines, inputs, wants, name):
    """lines: (expression, dtype of the result)"""
    text = head + "".join("output o%d = %s\n" % (i, e) for i, (e, _) in enumerate(lines))
    outputs = [(np.shape(w), DTYPES[d]) for w, (_, d) in zip(wants, lines)]
    for got, want, (expression, _) in zip(Model(text, OPTIONS).forward(dims, inputs, outputs), wants, lines):
        same(name, expression, got, want)


def arithmetic(kind, n):
    a, b = numbers(kind, n), numbers(kind, n)
    head = "dim n\ninput a : %s [n]\ninput b : %s [n]\n" % (kind, kind)
    x, y = (v.astype(np.int32) if kind == "bool" else v for v in (a, b))
    own = "i32" if kind == "bool" else kind
    lines, wants = [], []
    for e, f in [*ONE.items(), *TWO.items()]:
        truth = any(s in e for s in TRUTHS) and not e.startswith("where")
        lines.append((e, "bool" if e.startswith("bool(") else "f32" if truth or "/" in e else own))
        wants.append(f(x) if e in ONE else f(x, y))
    run(head, [n], lines, [a, b], wants, "%s [%d]" % (kind, n))
    if n:
        lines = [*((e, own) for e in ALL), ('argmax("n =>", a)', "i32")]
        wants = [np.array(f(x, dtype=x.dtype) if f in (np.sum, np.prod) else f(x)) for f in (*ALL.values(), np.argmax)]
        run("dim n\ninput a : %s [n]\n" % kind, [n], lines, [a], wants, "%s [%d]" % (kind, n))


def casts(kind, n):
    """Small floats go by way of f32; those without a dtype of NumPy have tests of their own."""
    kinds = [k for k in DTYPES if k not in ("bf16", "f8e4m3", "f8e5m2", "i4", "u4")]
    head = "dim n\n" + "".join("input x%s : %s [n]\n" % (k, k) for k in kinds)
    inputs = [numbers(k, n) for k in kinds]
    lines = [("%s(x%s)" % (kind, k), kind) for k in kinds] + [("%s(x%s)" % (k, kind), k) for k in kinds]
    own = inputs[kinds.index(kind)]
    wants = [cast(v, kind) for v in inputs] + [cast(own.astype(np.float32) if k == "f16" else own, k) for k in kinds]
    run(head, [n], lines, inputs, wants, "casts of %s [%d]" % (kind, n))


def moves(kind, n, rows):
    """Rows of operands, broadcasting, products, what is read by indices."""
    a, w = numbers(kind, rows * n).reshape(rows, n), numbers(kind, n * 5).reshape(n, 5)
    ids = np.array([rows - 1, 0, 0], np.int64)
    own = "i32" if kind == "bool" else kind
    x, y = (v.astype(DTYPES[own]) for v in (a, w))
    head = "dim n, r >= 1\ninput a : %s [r | n]\ninput w : %s [n -> 5]\ninput ids : i64 [3 |]\ninput t : %s [r, n]\n" % ((kind,) * 3)
    lines = [("w * a", own), ("a.T", kind), ('sum("r | n => r |", a)', own),
             ("gather(t, ids)", kind), ("concat(\"r, n; s, n => r^s, n\", t, t)", kind)]
    wants = [x @ y, a, x.sum(1, dtype=x.dtype), a[ids], np.concatenate([a, a])]
    run(head, [n, rows], lines, [a, w.T.copy(), ids, a], wants, "moves of %s [%d, %d]" % (kind, rows, n))


with np.errstate(all="ignore"):
    for kind in ("i64", "u32", "bool"):
        for n in (0, 1, 37, 1000):
            arithmetic(kind, n)
            casts(kind, n)
        for n, rows in ((0, 1), (1, 1), (19, 3), (64, 40)):
            moves(kind, n, rows)
print("as NumPy")
