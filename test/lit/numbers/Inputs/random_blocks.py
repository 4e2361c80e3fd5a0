"""Random concatenations, splits, stacks, strided writes and reshapes against NumPy, with axes in all rows."""
import sys

import numpy as np

from tsrlib import Model, check, draw_cuts, in_rows

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)


def concat(shape, axis_first):
    parts = [int(v) for v in rng.integers(1, 5, int(rng.integers(2, 5)))]
    names, cuts = "abcd"[:len(parts)], draw_cuts(rng.integers, 2)
    rest = int(shape)
    arrays, program = [], ""
    for i, p in enumerate(parts):
        extents = (p, rest) if axis_first else (rest, p)
        arrays.append(rng.standard_normal(extents).astype(np.float32))
        program += "input x%d : [%s]\n" % (i, in_rows(extents, cuts))
    one = in_rows(("%s", "r") if axis_first else ("r", "%s"), cuts)
    spec = "; ".join(one % n for n in names) + " => " + one % "^".join(names)
    program += 'output y = concat("%s", %s)\n' % (spec, ", ".join("x%d" % i for i in range(len(parts))))
    return program, arrays, np.concatenate(arrays, 0 if axis_first else 1)


def split():
    a, b, r = (int(v) for v in rng.integers(1, 6, 3))
    x = rng.standard_normal((a + b, r)).astype(np.float32)
    cuts, to = draw_cuts(rng.integers, 2), draw_cuts(rng.integers, 2)
    program = "input x : [%s]\n" % in_rows(x.shape, cuts)
    if rng.random() < 0.5:
        program += 'output y = sum("%s => %s", x)\n' % (in_rows(("%d^a" % b, "r"), cuts), in_rows("ar", to))
        return program, [x], x[b:]
    program += 'output y = sum("%s => %s", x)\n' % (in_rows(("a^%d" % b, "r"), cuts), in_rows("ra", to))
    return program, [x], x[:a].T


def stack():
    n, r = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    arrays = [rng.standard_normal(r).astype(np.float32) for _ in range(n)]
    program = "".join("input x%d : [%d]\n" % (i, r) for i in range(n))
    program += "output y = stack(output, %s) .* 2\n" % ", ".join("x%d" % i for i in range(n))
    return program, arrays, np.stack(arrays) * 2


def reshape():
    a, b, c = (int(v) for v in rng.integers(1, 6, 3))
    x = rng.standard_normal((a * b, c)).astype(np.float32)
    program = "input x : [%s]\n" % in_rows(x.shape, draw_cuts(rng.integers, 2))
    program += "input z : [%s]\noutput y = reshape(x .* 2) + z\n" % in_rows((a, b * c), draw_cuts(rng.integers, 2))
    z = rng.standard_normal((a, b * c)).astype(np.float32)
    return program, [x, z], (x * 2).reshape(a, b * c) + z


def strided():
    s, n = int(rng.integers(2, 5)), int(rng.integers(1, 8))
    offset = int(rng.integers(0, s))
    x = rng.standard_normal(n).astype(np.float32)
    cuts, to = draw_cuts(rng.integers, 1), draw_cuts(rng.integers, 1)
    program = "input x : [%s]\n" % in_rows([n], cuts)
    index = "%d*i%s" % (s, " + %d" % offset if offset else "")
    program += 'output y = sum("%s => %s", x)\n' % (in_rows("i", cuts), in_rows([index], to))
    want = np.zeros(s * n, np.float32)
    want[offset::s] = x
    return program, [x], want


for trial in range(count):
    kind = int(rng.integers(6))
    if kind < 2:
        program, arrays, want = concat(rng.integers(1, 6), kind == 0)
    else:
        program, arrays, want = (split, stack, reshape, strided)[kind - 2]()
    got, = Model(program).forward([], arrays, [(want.shape, np.float32)])
    check("seed %d trial %d\n%s" % (seed, trial, program), got, want)
print("%d blocks agree with NumPy" % count)
