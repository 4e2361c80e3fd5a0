"""Linear layers of random sizes on a symbolic batch, with parameters written into the state by hand."""
import random
import sys

import numpy as np

from prepack_state import new_state, pack, write
from tsrlib import Model, check, from_bf16, to_bf16

NOT_PACKED = 5
PROGRAM = """dim n
input x : %(wide)s [n | %(k)d]
param w : %(dtype)s [%(k)d -> %(n)d]
param b : %(wide)s [%(n)d]
output y = w * x + b
"""
SIZES = (1, 2, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 130)
draw = random.Random(int(sys.argv[1]))
numbers = np.random.default_rng(int(sys.argv[1]))


def refused(model, x, n, state):
    try:
        model.forward([len(x)], [x], [((len(x), n), x.dtype)], state)
    except RuntimeError as error:
        return str(error) == "code %d" % NOT_PACKED
    return False


def one(k, n, dtype):
    wide = np.float64 if dtype == "f64" else np.float32
    model = Model(PROGRAM % {"k": k, "n": n, "dtype": dtype, "wide": "f64" if dtype == "f64" else "f32"}, sys.argv[2:])
    w, b = numbers.standard_normal((n, k)).astype(wide), numbers.standard_normal(n).astype(wide)
    stored = to_bf16(w) if dtype == "bf16" else w
    w = from_bf16(stored) if dtype == "bf16" else w
    state = new_state(model)
    write(model, state, "w", stored)
    write(model, state, "b", b)
    copies = "copies of parameters" in model.header
    x = numbers.standard_normal((9, k)).astype(wide)
    assert refused(model, x, n, state) == copies, "a state that is not packed"
    for rows in (0, 1, 2, 5, 6, 9):
        assert pack(model, state) == 0
        got = model.forward([rows], [x[:rows]], [((rows, n), wide)], state)[0]
        check("%dx%d %s, %d rows" % (k, n, dtype, rows), got, x[:rows] @ w.T + b)
        for i in range(rows):
            alone = model.forward([1], [x[i:i + 1]], [((1, n), wide)], state)[0]
            assert np.array_equal(alone[0], got[i]), "a row alone"
    write(model, state, "w", 0 * stored)
    assert pack(model, state) == 0
    check("written again", model.forward([9], [x], [((9, n), wide)], state)[0], np.broadcast_to(b, (9, n)))
    return copies


copied = [one(draw.choice(SIZES), draw.choice(SIZES), draw.choice(("f32", "f32", "f64", "bf16"))) for _ in range(20)]
copied.append(one(65, 100, "f32"))
assert any(copied)
print("copies are right")
