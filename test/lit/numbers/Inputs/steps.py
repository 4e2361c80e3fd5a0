"""Reductions over axes between others, the last ones short, against NumPy: sums, greatest, least, products; floats and
integers; sizes 0 and 1, dims; axes in all three rows; of what is computed. A member of a batch has the bits that it has
alone."""
import sys

import numpy as np

from tsrlib import Model, check, in_rows

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


def pick(*choices):
    return choices[rng.integers(len(choices))]


def spec(axes, cut, inputs, kept):
    """What is kept stays in its row, or inputs become outputs."""
    result = [a for a in axes if a in kept]
    before = lambda i: sum(a in kept for a in axes[:i])
    return "%s => %s" % (in_rows(axes, (cut, inputs)),
                         in_rows(result, (before(cut), before(pick(inputs, len(axes))))))


def program():
    """Axes of the operand in storage order with their sizes, a batch first; which are kept; the text."""
    naxes = int(rng.integers(3, 6))
    letters = "abcde"[:naxes]
    size = {a: int(pick(1, 2, 3, 5, 8, 9, 17, 40)) for a in letters}
    size[letters[-1]] = int(pick(1, 2, 3, 4, 5, 7, 8, 15, 16))
    if rng.random() < 0.1:
        size[pick(*letters)] = 0
    cut = int(rng.integers(0, naxes))
    inputs = int(pick(naxes, naxes - 1, rng.integers(cut, naxes + 1)))
    kept = {letters[-2]} | {a for a in letters[:-2] if rng.random() < 0.4}
    symbolic = {a for a in letters[:-1] if rng.random() < 0.4}
    dtype, fold, inner = pick("f32", "f32", "f64", "i32"), pick("sum", "sum", "max", "min", "prod"), pick("x", "x .* x")
    shape = ["n" + a if a in symbolic else str(size[a]) for a in letters]
    text = "".join("dim n%s\n" % a for a in sorted(symbolic))
    text += "input x : %s [%s]\n" % (dtype, in_rows(shape, (cut, inputs)))
    what = "sum(" if fold == "sum" else "reduce(%s, " % fold
    text += 'output y = %s"%s", %s)\n' % (what, spec(letters, cut, inputs, kept), inner)
    return letters, cut, size, kept, symbolic, dtype, fold, inner, text


def data(shape, dtype, fold):
    if dtype == np.int32:
        return rng.integers(-9, 9, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (np.sign(x) * np.exp(0.05 * x) if fold == "prod" else x).astype(dtype)


def expected(x, fold, inner, axes):
    wide = x if x.dtype == np.int32 else x.astype(np.float64)
    wide = wide * wide if inner != "x" else wide
    first = {"max": -np.inf, "min": np.inf}.get(fold)
    if first is None:
        return FOLDS[fold].reduce(wide, axes, dtype=wide.dtype)
    if x.dtype == np.int32:
        first = np.iinfo(np.int32).min if fold == "max" else np.iinfo(np.int32).max
    return FOLDS[fold].reduce(wide, axes, initial=first)


def run():
    compared = alone = 0
    while compared < count:
        letters, cut, size, kept, symbolic, dtype, fold, inner, text = program()
        model, numpy_type = Model(text, ["-march=" + pick("x86-64", "x86-64-v3", "native")]), DTYPES[dtype]
        dims = [size[a] for a in sorted(symbolic)]
        x = data([size[a] for a in letters], numpy_type, fold)
        with np.errstate(over="ignore"):
            want = expected(x, fold, inner, tuple(i for i, a in enumerate(letters) if a not in kept))
        y, = model.forward(dims, [x], [(want.shape, numpy_type)])
        check(text, y, want, 1e-4 if dtype == "f32" else 1e-10)
        compared += 1
        batch = [a for a in letters[:cut] if a in kept and a in symbolic and size[a] > 1]
        if batch and want.size:
            axis, out = letters.index(batch[0]), [a for a in letters if a in kept].index(batch[0])
            dims = [1 if a == batch[0] else size[a] for a in sorted(symbolic)]
            member = int(rng.integers(size[batch[0]]))
            one, = model.forward(dims, [x.take([member], axis)], [(want.take([member], out).shape, numpy_type)])
            if one.tobytes() != y.take([member], out).tobytes():
                sys.exit("member %d alone has other bits\n%s" % (member, text))
            alone += 1
    print("%d reductions agree with NumPy, %s" % (compared, "some members alone" if alone else "no member alone"))


run()
