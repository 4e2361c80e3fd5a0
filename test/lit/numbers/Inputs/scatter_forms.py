"""Scatters of many steps into rows, against NumPy in the order of the operand, bit for bit: as a policy plans them, and in
parts with a target each; indices in no order and sorted. scatter_forms.py SEED [OPTION...]"""
import os
import sys
import tempfile

import numpy as np

from tsrlib import DTYPES, Model

rng = np.random.default_rng(int(sys.argv[1]))
options = sys.argv[2:]
FOLDS = {"sum": np.add.at, "max": np.maximum.at, "min": np.minimum.at, "prod": np.multiply.at}

# Dims n, nodes; a line: the operand's type, its axes, the axes of the indices in brackets, the result's, words
FORMS = [("f32", "n d", ["n"], "[v] d", fold) for fold in ("sum", "max", "min", "prod", "set")]
FORMS += [("f32", "n d", ["n"], "[v] d", "sum, mode = %s" % mode) for mode in ("skip", "wrap", "clamp")]
FORMS += [("f32", "n t d", ["n t"], "[v] d", "sum"), ("f64", "n t d", ["t"], "[v] d", "sum"),
          ("f32", "n d", ["n", "n"], "[v] [w] d", "sum"), ("f32", "n d", ["n"], "d [v]", "sum"),
          ("f32", "n", ["n d"], "[v] d", "set"), ("bf16", "n d", ["n"], "[v] d", "set")]
FORMS += [(dtype, "n", ["n"], "[w]", words) for dtype, words in (
    ("i32", "sum"), ("i64", "sum, mode = skip"), ("u32", "prod"), ("i32", "max, mode = wrap"), ("i64", "min"), ("i32", "set"))]
FORMS += [("i32", "n k", ["n"], "[w] k", "sum")]
FORMS += [(dtype, "n", ["n"], "[w]", words) for dtype, words in (("f32", "sum"), ("f64", "min"), ("bf16", "set"))]
FORMS += [("f32", "n", ["n", "n"], "[w] [t]", "sum"), ("f32", "n k d", ["n"], "[v] k d", "sum"),
          ("f64", "k n d", ["n"], "k [v] d", "sum")]
FORMS += [(dtype, "n d", ["n"], "[v] d", "sum") for dtype in ("i32", "i64", "u32")]
FIXED = {"d": 36, "t": 3, "k": 2, "w": 9}


def shown(axes, size):
    return "[%s]" % ", ".join(map(size, axes.split()))


def size_name(axis):
    return {"n": "n", "[v]": "nodes"}.get(axis) or str(FIXED[axis.strip("[]")])


def program():
    inputs, outputs = "dim n\ndim nodes\n", ""
    for number, (dtype, x, ids, y, words) in enumerate(FORMS):
        inputs += "input x%d : %s %s\n" % (number, dtype, shown(x, size_name))
        for k, axes in enumerate(ids):
            inputs += "input i%d_%d : i32 %s\n" % (number, k, shown(axes, size_name))
        spec = "; ".join(", ".join(axes.split()) for axes in [x, *ids]) + " => " + ", ".join(y.split())
        sizes = ", ".join("%s = %s" % (axis[1], size_name(axis)) for axis in y.split() if axis[0] == "[")
        outputs += 'output y%d = scatter("%s", x%d, %s, reduce = %s) with (%s)\n' % (
            number, spec, number, ", ".join("i%d_%d" % (number, k) for k in range(len(ids))), words, sizes)
    return inputs + outputs


def values(dtype, shape):
    if dtype in ("f32", "f64"):
        return rng.standard_normal(shape).astype(DTYPES[dtype])
    return rng.integers(0 if dtype[0] in "ub" else -1000, 1000, shape).astype(DTYPES[dtype])


def indices(words, shape, size, ordered):
    outside = size + 3 if "mode" in words else 0
    ids = rng.integers(-outside, size + outside, shape) if size else np.zeros(shape)
    ids[rng.random(shape) < 0.3] = 0  # many meet there
    return np.sort(ids.astype(np.int32), 0) if ordered else ids.astype(np.int32)


def taken(words, ids, size):
    """As the mode takes them, and which are taken."""
    if "wrap" in words:
        return ids % size, np.ones(ids.shape, bool)
    if "clamp" in words:
        return np.clip(ids, 0, size - 1), np.ones(ids.shape, bool)
    return ids, (ids >= 0) & (ids < size)


def expected(form, x, ids, sizes):
    dtype, xaxes, _, y, words = form
    fold = words.split(",")[0]
    limits = np.iinfo(DTYPES[dtype]) if dtype[0] in "iu" else None
    least, most = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    start = {"sum": 0, "set": 0, "prod": 1, "max": least, "min": most}[fold]
    brackets = [axis for axis in y.split() if axis[0] == "["]
    kept = [axis for axis in y.split() if axis[0] != "["]
    want = np.full([sizes[axis.strip("[]")] for axis in brackets + kept], start, DTYPES[dtype])
    steps = [axis for axis in dict.fromkeys(" ".join([xaxes, *form[2]]).split()) if axis not in kept]
    whole = [sizes[axis] for axis in steps + kept]

    def spread(array, axes):
        """Over the steps and what is kept, the others repeated."""
        order = [axis for axis in steps + kept if axis in axes.split()]
        array = array.transpose([axes.split().index(axis) for axis in order])
        return np.broadcast_to(array.reshape([sizes[axis] if axis in order else 1 for axis in steps + kept]), whole)

    at, good = [], np.ones(whole, bool)
    for k, axis in enumerate(brackets):
        one, inside = taken(words, spread(ids[k], form[2][k]), sizes[axis.strip("[]")])
        at.append(one)
        good &= inside
    at += list(np.meshgrid(*[np.arange(n) for n in whole], indexing="ij"))[len(steps):]
    at, new = tuple(a[good] for a in at), spread(x, xaxes)[good]
    if fold == "set":
        want[at] = new
    else:
        FOLDS[fold](want, at, new)
    return want.transpose([(brackets + kept).index(axis) for axis in y.split()])


def asked(text):
    """Each form that may be, in few parts."""
    lines = []
    for number, (dtype, x, ids, y, words) in enumerate(FORMS):
        if y[0] == "[" and len(ids[0].split()) < 2 or "t" in ids[0]:
            if dtype[0] in "iu" and "set" not in words and "[v]" not in y:
                lines.append("y%d: private n 3" % number)
    path = os.path.join(tempfile.mkdtemp(), "asked.sched")
    with open(path, "w", encoding="utf8") as out:
        out.write("\n".join(lines) + "\n")
    return "--schedule=" + path, len(lines)


def run(model, n, nodes, ordered):
    sizes = {"n": n, "v": nodes, **FIXED}
    arrays, results, want = [], [], []
    for form in FORMS:
        dtype, xaxes, ids, y, words = form
        x = values(dtype, [sizes[axis] for axis in xaxes.split()])
        brackets = [axis for axis in y.split() if axis[0] == "["]
        read = [indices(words, [sizes[axis] for axis in axes.split()], sizes[b.strip("[]")], ordered)
                for axes, b in zip(ids, brackets)]
        arrays += [x, *read]
        want.append(expected(form, x, read, sizes))
        results.append((want[-1].shape, DTYPES[dtype]))
    for form, got, expect in zip(FORMS, model.forward([n, nodes], arrays, results), want):
        if got.tobytes() != np.ascontiguousarray(expect).tobytes():
            sys.exit("n %d, nodes %d: %s\ngot %s\nwant %s" % (n, nodes, form, got, expect))


np.seterr(over="ignore")
text = program()
schedule, forms = asked(text)
for words in ([], [schedule]):
    model = Model(text, [*options, *words])
    for n, nodes, ordered in ((0, 1, 0), (1, 3, 0), (7, 2, 1), (1000, 1, 0), (2000, 300, 1), (5003, 129, 0)):
        run(model, n, nodes, ordered)
print("%d scatters agree, %d of them also as asked" % (len(FORMS), forms))
