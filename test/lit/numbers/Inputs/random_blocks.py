"""Random concatenations, splits, stacks, strided writes and reshapes against NumPy."""
import sys

import numpy as np

from tsrlib import Model, check

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)


def concat(shape, axis_first):
    parts = [int(v) for v in rng.integers(1, 5, int(rng.integers(2, 5)))]
    names = "abcd"[:len(parts)]
    rest = int(shape)
    arrays, program = [], ""
    for i, p in enumerate(parts):
        extents = (p, rest) if axis_first else (rest, p)
        arrays.append(rng.standard_normal(extents).astype(np.float32))
        program += "input x%d : [%d, %d]\n" % ((i,) + extents)
    one = "%s, r" if axis_first else "r, %s"
    spec = "; ".join(one % n for n in names) + " => " + one % "^".join(names)
    program += 'output y = concat("%s", %s)\n' % (spec, ", ".join("x%d" % i for i in range(len(parts))))
    return program, arrays, np.concatenate(arrays, 0 if axis_first else 1)


def split():
    a, b, r = (int(v) for v in rng.integers(1, 6, 3))
    x = rng.standard_normal((a + b, r)).astype(np.float32)
    program = "input x : [%d, %d]\n" % x.shape
    if rng.random() < 0.5:
        program += 'output y = sum("%d^a, r => a, r", x)\n' % b
        return program, [x], x[b:]
    program += 'output y = sum("a^%d, r => r, a", x)\n' % b
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
    program = "input x : [%d, %d]\n" % x.shape
    program += "input z : [%d, %d]\noutput y = reshape(x .* 2) + z\n" % (a, b * c)
    z = rng.standard_normal((a, b * c)).astype(np.float32)
    return program, [x, z], (x * 2).reshape(a, b * c) + z


def strided():
    s, n = int(rng.integers(2, 5)), int(rng.integers(1, 8))
    offset = int(rng.integers(0, s))
    x = rng.standard_normal(n).astype(np.float32)
    program = "input x : [%d]\n" % n
    program += 'output y = sum("i => %d*i%s", x)\n' % (s, " + %d" % offset if offset else "")
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
