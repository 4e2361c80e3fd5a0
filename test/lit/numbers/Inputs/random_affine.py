"""Random strided, dilated and padded accesses against a brute-force reference written over indices, in each row."""
import itertools
import sys

import numpy as np

from tsrlib import Model, check, draw_cuts, in_rows

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)


def reference(x, w, stride, dilation, offset, left, out, reduce):
    """x[n], w[k]: y[o] = reduce over k with stride*o + dilation*k + offset - left inside x."""
    neutral = {"sum": 0.0, "max": -np.inf, "min": np.inf}[reduce]
    fold = {"sum": lambda a, b: a + b, "max": max, "min": min}[reduce]
    y = np.full(out, neutral)
    for o, k in itertools.product(range(out), range(len(w))):
        i = stride * o + dilation * k + offset - left
        if 0 <= i < len(x):
            y[o] = fold(y[o], x[i] * w[k])
    return y


for trial in range(count):
    stride, dilation, kernel = (int(v) for v in rng.integers(1, [5, 4, 6]))
    offset = int(rng.integers(0, 3)) if rng.random() < 0.3 else 0
    mark = str(rng.choice(["<+", "<+?", "=+", "=+?"]))
    span = 1 + (kernel - 1) * dilation
    out = int(rng.integers(1, 9))
    left = 0
    if mark == "<+":
        n = stride * (out - 1) + span + offset
    elif mark == "<+?":
        n = stride * (out - 1) + span + offset + int(rng.integers(0, stride))
    elif mark == "=+":
        n, left, offset = stride * out, span // 2, 0
    else:
        n, left, offset = stride * out - int(rng.integers(0, stride)), span // 2, 0
        n = max(n, 1)
        out = -(-n // stride)
    reduce = str(rng.choice(["sum", "max", "min"]))
    symbolic = mark == "=+" and stride == 1 and rng.random() < 0.5
    affine = "%d*o %s %s%d*k" % (stride, mark, "%d + " % offset if offset else "", dilation)
    x = rng.standard_normal(n).astype(np.float32)
    w = rng.standard_normal(kernel).astype(np.float32)
    rows = [draw_cuts(rng.integers, 1) for _ in range(3)]
    program = ("dim n\n" if symbolic else "") + "input x : [%s]\ninput w : [%s]\n" % (
        in_rows(["n" if symbolic else n], rows[0]), in_rows([kernel], rows[1]))
    spec = [in_rows([a], cuts) for a, cuts in zip((affine, "k", "o"), rows)]
    program += 'output y = einsum("%s; %s => %s", x, w, reduce=%s)\n' % (*spec, reduce)
    want = reference(x.astype(float), w.astype(float), stride, dilation, offset, left, out, reduce)
    got, = Model(program).forward([n] if symbolic else [], [x, w], [(want.shape, np.float32)])
    check("seed %d trial %d\n%s" % (seed, trial, program), got, want, 1e-4)
print("%d affine accesses agree with the reference" % count)
