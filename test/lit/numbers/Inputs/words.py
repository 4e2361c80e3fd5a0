"""Products of bytes against NumPy's integers: signs, layouts and sizes around the widths of vectors, tiles and words."""
import random
import sys

import numpy as np

from prepack_state import new_state, pack, write
from tsrlib import Model

random.seed(3)
RNG = np.random.default_rng(3)
# operands and result as letters of rows m, columns n, steps k, l and a batch b
FORMS = ["mk,kn->mn", "mk,nk->mn", "km,kn->mn", "nk,mk->mn", "mkl,kln->mn", "bmk,kn->bmn", "bmk,bnk->bmn", "kn,mk->mn"]
COLUMNS = [15, 16, 17, 31, 32, 48, 64, 65, 100]
STEPS = [4, 8, 12, 13, 64, 68, 100]
ROWS = [1, 2, 5, 7, 8, 31, 50]


def operand(dtype, shape):
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max + 1, shape)
    return np.where(RNG.random(shape) < 0.2, RNG.choice([info.min, info.max], shape), x).astype(dtype)


def run(number, march):
    form = FORMS[number % len(FORMS)]
    source, result = form.split("->")
    sizes = {"m": random.choice(ROWS), "n": random.choice(COLUMNS), "k": random.choice(STEPS), "l": 4, "b": 3}
    symbolic = "b" not in form and number % 3 == 0
    dtypes = random.choice(["u8", "i8"]), random.choice(["u8", "i8"])
    text = "dim m\n" if symbolic else ""
    arrays = []
    for name, letters, dtype in zip("xw", source.split(","), dtypes):
        shape = ", ".join(c if symbolic and c == "m" else str(sizes[c]) for c in letters)
        text += "input %s : %s [%s]\n" % (name, dtype, shape)
        arrays.append(operand({"u8": np.uint8, "i8": np.int8}[dtype], [sizes[c] for c in letters]))
    spec = "%s => %s" % ("; ".join(", ".join(c) for c in source.split(",")), ", ".join(result))
    text += 'output y = einsum("%s", x, w) - 7\n' % spec
    shape = tuple(sizes[c] for c in result)
    got, = Model(text, ["-march=" + march]).forward([sizes["m"]] if symbolic else [], arrays, [(shape, np.int32)])
    want = np.einsum(form, *[a.astype(np.int64) for a in arrays]) - 7
    if not (got == want).all():
        print("%s %s %s %s: wrong" % (form, dtypes, sizes, march))
        sys.exit(1)


LAYER = """dim n
input x : %s [n | %d]
param w : %s [%d -> %d]
param b : i32 [%d]
output y = w * x + b
"""


def layer(x_type, w_type, march):
    """Weights of bytes in the state, packed once."""
    k, n = random.choice([65, 101, 128, 130]), random.choice([33, 64, 65, 100])
    model = Model(LAYER % (x_type, k, w_type, k, n, n), ["-march=" + march])
    types = {"u8": np.uint8, "i8": np.int8}
    w, b, state = operand(types[w_type], (n, k)), RNG.integers(-2 ** 31, 2 ** 31, n).astype(np.int32), new_state(model)
    write(model, state, "w", w)
    write(model, state, "b", b)
    assert "copies of parameters" in model.header and pack(model, state) == 0
    for rows in (1, 2, 7, 31):
        x = operand(types[x_type], (rows, k))
        got, = model.forward([rows], [x], [((rows, n), np.int32)], state)
        want = (x.astype(np.int64) @ w.T.astype(np.int64) + b).astype(np.int32)
        if not (got == want).all():
            print("layer %s %s %dx%d, %d rows, %s: wrong" % (x_type, w_type, k, n, rows, march))
            sys.exit(1)


for count in range(int(sys.argv[1])):
    run(count, sys.argv[2 + count % (len(sys.argv) - 2)])
for march in sorted(set(sys.argv[2:])):
    for types in ("u8", "i8"), ("i8", "i8"), ("u8", "u8"), ("i8", "u8"):
        layer(*types, march)
print("%s products of bytes agree" % sys.argv[1])
