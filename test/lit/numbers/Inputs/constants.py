"""Products with constants of random sizes, whose panels are made while compiling, against numpy.einsum. Shared panels,
batches of constants, windows, constants that something else reads too."""
import os
import random
import sys
import tempfile

import numpy as np

from tsrlib import DTYPES, Model, check, from_bf16, to_bf16

SIZES = (1, 3, 4, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 67, 100, 130)
FORMS = [("i, k; k, j => i, j", "ik,kj->ij"), ("i, k; j, k => i, j", "ik,jk->ij"),
         ("b, i, k; b, k, j => b, i, j", "bik,bkj->bij"), ("i, k, l; k, j, l => i, j", "ikl,kjl->ij"),
         ("i, k; b, j, k => b, i, j", "ik,bjk->bij"), ("i, k, l; l, j, k => i, j", "ikl,ljk->ij"), ("k; j, k => j", "k,jk->j")]
PAIRS = [("f32", "f32"), ("u8", "i8"), ("i8", "i8"), ("bf16", "bf16"), ("f32", "i8"), ("f64", "f64"), ("f32", "f16"),
         ("u8", "u8")]
draw = random.Random(5)
numbers = np.random.default_rng(5)


def array(dtype, shape):
    """What is stored, and its values."""
    if dtype in ("i8", "u8"):
        stored = numbers.integers(0 if dtype == "u8" else -128, 256 if dtype == "u8" else 128, shape)
        return stored.astype(DTYPES[dtype]), stored
    x = numbers.standard_normal(shape).astype(np.float32)
    if dtype == "bf16":
        return to_bf16(x), from_bf16(to_bf16(x)).astype(np.float64)
    x = x.astype(DTYPES[dtype])
    return x, x.astype(np.float64)


def written(directory, stored, dtype):
    """The constant as a declaration's end."""
    np.save(os.path.join(directory, "w.npy"), from_bf16(stored) if dtype == "bf16" else stored)
    return 'file("%s/w.npy")' % directory


def one(number):
    (form, einsum), pair = FORMS[number % len(FORMS)], PAIRS[number % len(PAIRS)]
    operands, result = einsum.split("->")
    sizes = {a: draw.choice(SIZES) if a not in "bl" else draw.choice((1, 2, 3, 7)) for a in sorted(set(operands) - {","})}
    x_axes, w_axes = operands.split(",")
    (x, vx), (w, vw) = [array(d, [sizes[a] for a in axes]) for d, axes in zip(pair, (x_axes, w_axes))]
    wide = "i32" if pair[0] in ("u8", "i8") else "f64" if pair[0] == "f64" else "f32"
    more = "output z = w\n" if number % 3 == 0 and pair[1] != "bf16" else ""
    rows = 'output y2 = einsum("%s", x2, w)\n' % form if number % 2 else ""
    with tempfile.TemporaryDirectory() as directory:
        shape = ", ".join(str(sizes[a]) for a in w_axes)
        source = "".join("input %s : %s [%s]\n" % (name, pair[0], ", ".join(str(sizes[a]) for a in x_axes))
                         for name in (["x", "x2"] if rows else ["x"]))
        source += "const w : %s [%s] = %s\n" % (pair[1], shape, written(directory, w, pair[1]))
        text = source + 'output y = einsum("%s", x, w)\n' % form + rows + more
        model = Model(text, ["-march=" + draw.choice(("native", "x86-64-v3", "x86-64"))])
    want = np.einsum(einsum, vx, vw)
    outputs = [(want.shape, DTYPES[wide])] * (2 if rows else 1) + ([(w.shape, w.dtype)] if more else [])
    got = model.forward([], [x, x] if rows else [x], outputs)
    for y in got[:2 if rows else 1]:
        check("%s %s %s" % (form, pair, sizes), y, want, 2e-5 * (1 + len(str(want.size))))
    if more:
        check("the constant", got[-1], w)


def panels_alone():
    """The module holds panels, and the constant where it is read as it is."""
    with tempfile.TemporaryDirectory() as directory:
        np.save(directory + "/w.npy", np.ones((512, 512), np.float32))
        text = 'input x : [8, 512]\nconst w : [512, 512] = file("%s/w.npy")\noutput y = einsum("ik; jk => ij", x, w)\n'
        sizes = [os.path.getsize(Model((text + more) % directory).library._name) for more in ("", "output z = w\n")]
    return sizes[0] < 1.5 * 2 ** 20 < 2 ** 21 < sizes[1]


for number in range(int(sys.argv[1])):
    one(number)
print("numbers agree")
print("panels alone" if panels_alone() else "more than panels")
