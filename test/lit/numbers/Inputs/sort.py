"""sort, argsort and topk against NumPy's stable sort, bit for bit: random shapes with axes of 0 and 1, any position of the
axis, all rows of operand and result, dims and numbers, each dtype, ties, NaN, infinities and zeros of both signs. LONG is
a length, or `short`: then there are many lines of a few elements, of numbers."""
import sys

import numpy as np

from floats8 import FORMATS, from_f8, to_f8
from tsrlib import DTYPES, Model, draw_cuts, from_bf16, in_rows, to_bf16

SEED, COUNT = int(sys.argv[1]), int(sys.argv[2])
SHORT, LONG = sys.argv[3] == "short", int(sys.argv[3]) if sys.argv[3] != "short" else 0
random = np.random.default_rng(SEED)
FLOATS = ("f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2")


def widened(x, dtype):
    return from_bf16(x) if dtype == "bf16" else from_f8(x, dtype) if dtype in FORMATS else x


def differing_nan(x, dtype):
    """Each NaN with bits of its own, so that their order is seen."""
    value = bits(x)
    if dtype == "f8e4m3":  # which has one of each sign
        return x
    nan = np.isnan(widened(x, dtype))
    return np.where(nan, value ^ random.integers(0, 3 if dtype == "f8e5m2" else 32, x.shape).astype(value.dtype), value).view(x.dtype)


def numbers(dtype, shape):
    """Often equal, and all of the odd ones."""
    if dtype in FLOATS:
        x = random.integers(-9, 10, shape) / 4 if random.random() < 0.5 else random.standard_normal(shape)
        odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 3e38])
        x = np.where(random.random(shape) < 0.3, odd[random.integers(0, len(odd), shape)], x)
        with np.errstate(over="ignore"):
            x = to_bf16(x) if dtype == "bf16" else to_f8(x, dtype) if dtype in FORMATS else x.astype(DTYPES[dtype])
        return differing_nan(x, dtype)
    if dtype == "bool":
        return random.random(shape) < 0.5
    info = np.iinfo(DTYPES[dtype])
    x = random.integers(info.min, info.max, shape, endpoint=True)
    x = np.where(random.random(shape) < 0.5, random.integers(info.min, info.min + 3, shape), x)
    return np.where(random.random(shape) < 0.1, info.max, x).astype(DTYPES[dtype])


def order(x, dtype, descending):
    """Of the last axis: places in order, equals as they are, NaN last."""
    keys = widened(x, dtype)
    nan = np.isnan(keys) if dtype in FLOATS else np.zeros(x.shape, bool)
    keys = keys.astype(np.float64 if dtype in FLOATS else np.int64)
    keys = np.where(nan, 0, (-keys if dtype in FLOATS else ~keys) if descending else keys)
    first = np.argsort(keys, -1, kind="stable")
    last = np.argsort(np.take_along_axis(nan, first, -1), -1, kind="stable")
    return np.take_along_axis(first, last, -1)


def bits(x):
    return np.ascontiguousarray(x).view("u%d" % x.dtype.itemsize)


def one(dtype):
    naxes = int(random.integers(1, 4))
    letters, at = list("abc")[:naxes], int(random.integers(naxes))
    descending, chosen = random.random() < 0.5, random.random() < 0.4
    cuts, to_cuts = draw_cuts(random.integers, naxes), draw_cuts(random.integers, naxes)
    perm = [int(i) for i in random.permutation(naxes)]
    marked = [f"[{c}]" if i == at and not chosen else c for i, c in enumerate(letters)]
    made = ["k" if i == at and chosen else c for i, c in enumerate(letters)]
    spec = in_rows(marked, cuts) + " => " + in_rows([made[i] for i in perm], to_cuts)
    if chosen:
        calls = f'let (v, i) = topk(%s, "{spec}", x, {"descending" if descending else "ascending"})\n'
    else:
        word = ", descending" if descending else random.choice(["", ", ascending"])
        calls = f'let v = sort("{spec}", x{word})\nlet i = argsort("{spec}", x{word})\n'
    calls += "output v\noutput i\n"
    tries = [[int(random.choice([0, 1, 2, 5, 6])) for _ in letters] for _ in range(4)]
    for sizes in tries[1:]:
        sizes[at] = int(random.choice([0, 1, 2, 48, 49, 130, LONG]))
    if SHORT:
        tries = [[int(random.choice([1, 3, 17, 33])) for _ in letters]]
        tries[0][at] = int(random.choice([2, 3, 5, 9, 16, 22, 40]))
    few = int(random.choice([1, 1, 16]))  # of long lines these are selected
    kept = [int(random.integers(0, sizes[at] // few + 1)) if chosen else sizes[at] for sizes in tries]
    dims = "".join(f"dim d{c}\n" for c in letters) + "dim k\n" * chosen
    symbolic = None if SHORT else Model(f"{dims}input x : {dtype} [{in_rows(['d' + c for c in letters], cuts)}]\n" +
                     (calls % "k" if chosen else calls))
    fixed = Model(f"input x : {dtype} [{in_rows(tries[-1], cuts)}]\n" + (calls % kept[-1] if chosen else calls))
    for sizes, k in zip(tries, kept):
        x = numbers(dtype, sizes)
        line = np.moveaxis(x, at, -1)
        places = order(line, dtype, descending)[..., :k]
        ids = np.moveaxis(places, -1, at).transpose(perm)
        values = np.moveaxis(np.take_along_axis(line, places, -1), -1, at).transpose(perm)
        outs = [(values.shape, x.dtype), (ids.shape, np.int32)]
        for model, given in [(symbolic, sizes + [k] * chosen)] * (not SHORT) + [(fixed, [])] * (sizes is tries[-1]):
            got = model.forward(given, [x], outs)
            same = np.array_equal(bits(got[0]), bits(values)) and np.array_equal(got[1], ids)
            assert same, (calls, dtype, sizes, k, x, got, values, ids)


kinds = ["f32", "i32", "i64", "bf16", "f64", "u8", "f16", "i8", "f8e4m3", "u32", "bool", "f8e5m2"]
for i in range(COUNT):
    one(kinds[i % len(kinds)])
print("%d programs agree with NumPy" % COUNT)
