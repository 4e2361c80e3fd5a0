"""Products with parameters of f8e4m3 and f8e5m2, of every pattern, against NumPy in f64, along either axis of the
weights, for every number of rows, known or not: each row has the bits that it has alone."""
import sys

import numpy as np

from floats8 import FORMATS, from_f8
from prepack_state import new_state, pack, write
from tsrlib import Model

ROWS = (1, 3, 6, 24, 50)
FORMS = ("k, o", "o, k")


def weights(rng, dtype, form, steps, columns):
    """Bits, in the first column all patterns, in the others those of finite numbers alone."""
    finite = np.flatnonzero(np.isfinite(FORMATS[dtype].all)).astype(np.uint8)
    bits = rng.choice(finite, (steps, columns))
    bits[np.arange(256), 0] = np.arange(256)
    return bits if form == FORMS[0] else np.ascontiguousarray(bits.T)


def product(dtype, form, bits, rows, symbolic, options):
    """Of some rows, whose number the program knows or not"""
    text = "input x : f32 [%s, %d]\nparam w : %s [%d, %d]\noutput y = einsum(\"i, k; %s => i, o\", x, w)\n" % (
        "n" if symbolic else len(rows), rows.shape[1], dtype, *bits.shape, form)
    model = Model("dim n\n" * symbolic + text, options)
    state = new_state(model)
    write(model, state, "w", bits)
    assert pack(model, state) == 0
    columns = bits.size // rows.shape[1]
    return model.forward([len(rows)] * symbolic, [rows], [((len(rows), columns), np.float32)], state)[0]


def main():
    rng = np.random.default_rng(5)
    for dtype, form, columns in [(d, f, c) for d in FORMATS for f, c in zip(FORMS, (96, 70))]:
        steps, options = 320, sys.argv[1:]
        bits = weights(rng, dtype, form, steps, columns)
        values = from_f8(bits if form == FORMS[0] else bits.T, dtype).astype(np.float64)
        x = rng.standard_normal((max(ROWS), steps)).astype(np.float32)
        with np.errstate(invalid="ignore"):
            want, far = x.astype(np.float64) @ values, np.abs(x).astype(np.float64) @ np.abs(values) * 4e-6
        alone = product(dtype, form, bits, x, True, options)
        assert np.isnan(alone[:, 0]).all() and (np.abs(alone - want) <= far)[:, 1:].all(), (dtype, form)
        for n in ROWS:
            y = product(dtype, form, bits, x[:n], False, options)
            assert np.array_equal(y, alone[:n], equal_nan=True), "%s %s: %d rows have other bits" % (dtype, form, n)
    print("right")


if __name__ == "__main__":
    main()
