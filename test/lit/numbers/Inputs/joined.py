"""Contractions whose columns are two loops (lower/tile_join.c) against NumPy: rounds of all lengths, operands as
they lie and copied, with what follows from both loops."""
import random
import sys

import numpy as np

from tsrlib import Model, check

random.seed(3)
RNG = np.random.default_rng(3)
LAYOUTS = ["kbd", "bdk", "bkd", "dbk", "kdb"]


def run(count):
    for number in range(count):
        right, left = random.choice(LAYOUTS), random.choice(["ack", "kac", "akc"])
        dtype = random.choice(["f32", "f32", "f64"])
        n = dict(a=random.choice([1, 2, 5]), b=random.randint(2, 9), c=random.choice([1, 4, 7, 13]),
                 d=random.choice([4, 6, 8, 10, 12, 17, 18, 20, 24, 33, 36, 40]), k=random.choice([20, 64, 70]))
        shapes = [[n[c] for c in left], [n[c] for c in right], [n["b"], 1, n["d"]]]
        x, w, v = (RNG.uniform(-1, 1, s).astype(dtype.replace("f", "float")) for s in shapes)
        text = "".join("input %s : %s %s\n" % (name, dtype, s) for name, s in zip("xwv", shapes))
        text += 'output y = relu(einsum("%s; %s => a, b, c, d", x, w) .* 2 - v)\n' % (", ".join(left), ", ".join(right))
        want = np.maximum(np.einsum("%s,%s->abcd" % (left, right), x.astype(float), w) * 2 - v, 0)
        [got] = Model(text).forward((), [x, w, v], [(want.shape, x.dtype)])
        check("%d: %s %s %s %s" % (number, left, right, dtype, n), got, want)
    print("%d contractions agree with NumPy" % count)


run(int(sys.argv[1]))
