"""Products of bf16 against NumPy in double precision: layouts, sizes around pairs, vectors and tiles, parameters, an
epilogue; a row has the bits that it has alone, and bf16 keeps those of the sum in f32 rounded."""
import random
import sys

import numpy as np

from prepack_state import new_state, pack, write
from tsrlib import TILES, Model, from_bf16, to_bf16

random.seed(7)
RNG = np.random.default_rng(7)
# operands and result as letters of rows m, columns n, steps k, l and a batch b
FORMS = ["mk,kn->mn", "mk,nk->mn", "km,kn->mn", "mkl,kln->mn", "bmk,bkn->bmn", "bmk,kn->bmn", "kn,mk->mn"]
COLUMNS = [15, 16, 17, 31, 32, 48, 63, 64, 65, 100, 129]
STEPS = [1, 2, 3, 4, 13, 64, 101]
ROWS = [1, 2, 5, 7, 13, 48, 50, 61]


def operand(shape):
    bits = to_bf16(RNG.standard_normal(shape).astype(np.float32))
    return bits, from_bf16(bits).astype(np.float64)


def wrong(what, got, want, scale):
    if np.all(np.abs(got - want) <= 2e-6 * (scale + 1)):
        return False
    print("%s: wrong\ngot %s\nwant %s" % (what, got, want))
    return True


def einsum(number, march):
    form = FORMS[number % len(FORMS)]
    source, result = form.split("->")
    sizes = {"m": random.choice(ROWS), "n": random.choice(COLUMNS), "k": random.choice(STEPS), "l": 4, "b": 3}
    symbolic = "b" not in form and number % 3 == 0
    text, arrays = "dim m\n" if symbolic else "", []
    for name, letters in zip("xw", source.split(",")):
        shape = ", ".join(c if symbolic and c == "m" else str(sizes[c]) for c in letters)
        text += "input %s : bf16 [%s]\n" % (name, shape)
        arrays.append(operand([sizes[c] for c in letters]))
    spec = "%s => %s" % ("; ".join(", ".join(c) for c in source.split(",")), ", ".join(result))
    text += 'output y = einsum("%s", x, w) - 0.5\n' % spec
    shape = tuple(sizes[c] for c in result)
    got, = Model(text, ["-march=" + march]).forward([sizes["m"]] if symbolic else [], [a[0] for a in arrays],
                                                   [(shape, np.float32)])
    values = [a[1] for a in arrays]
    return wrong("%s %s %s" % (form, sizes, march), got, np.einsum(form, *values) - 0.5,
                 np.einsum(form, *[np.abs(v) for v in values]))


LAYER = """dim n
input x : bf16 [n | %(k)d]
param w : bf16 [%(k)d -> %(n)d]
param b : [%(n)d]
output y = relu(w * x + b)
output z = bf16(w * x)
"""


def layer(march):
    k, n = random.choice([17, 64, 101, 128]), random.choice([33, 64, 65, 130])
    model = Model(LAYER % {"k": k, "n": n}, ["-march=" + march])
    (bits, w), b = operand((n, k)), RNG.standard_normal(n).astype(np.float32)
    state = new_state(model)
    write(model, state, "w", bits)
    write(model, state, "b", b)
    assert pack(model, state) == 0
    bad = False
    for rows in (1, 2, 7, 48, 61):
        xbits, x = operand((rows, k))
        run = lambda part: model.forward([len(part)], [part], [((len(part), n), np.float32), ((len(part), n), np.uint16)],
                                         state)
        y, z = run(xbits)
        bad |= wrong("layer %dx%d %s" % (k, n, march), y, np.maximum(x @ w.T + b, 0), np.abs(x) @ np.abs(w.T))
        bad |= bool(np.any(np.abs(from_bf16(z) - x @ w.T) > 2.0 ** -7 * (1 + np.abs(x @ w.T))))
        for i in range(0, rows, 5):
            alone = run(xbits[i:i + 1])
            if not (np.array_equal(alone[0][0], y[i]) and np.array_equal(alone[1][0], z[i])):
                print("layer %dx%d %s: row %d of %d has other bits alone" % (k, n, march, i, rows))
                bad = True
    return bad


FLAGS = open("/proc/cpuinfo").read().split()
marches = ["native", "x86-64"] + ["znver4"] * ("avx512_bf16" in FLAGS)  # whatever processor of them this is
if TILES:
    marches = ["znver4+amx-tile+amx-bf16+amx-int8"]
total = int(sys.argv[1])
count = sum(einsum(i, marches[i % len(marches)]) for i in range(total)) + sum(layer(m) for m in marches for _ in range(2))
print("%d wrong products of bf16" % count)
