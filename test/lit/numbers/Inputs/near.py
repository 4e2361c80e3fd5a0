"""Functions with a short form for near arguments: each number has the bits that it has beside far ones, remainders are
exact, in loops of any length and of every form that such a loop may have."""
import sys

import numpy as np

from tsrlib import Model

RNG = np.random.default_rng(5)
SIZES = [1, 15, 16, 17, 33, 511, 512, 513, 1023, 1024, 1100]
PROGRAMS = ["sin(x)", "cos(x)", "x % y", "x % 0.3", "sin(x) .* sin(x) + x", "sin(x % y) + cos(y)", "where(x < y, cos(x), y % x)",
            "sin(x + y) - sin(cos(x))", "bf16(sin(x)) + y"]
DOUBLE = ["sin(x)", "cos(x) + tan(y)", "tan(x)", "x % y"]


def numbers(n, most, dtype=np.float32):
    x = RNG.standard_normal(n) * 2.0 ** RNG.integers(-20, most, n)
    x[::7] = np.round(x[::7])
    x[::11] = 0 * np.sign(x[::11])
    return x.astype(dtype)


def model_of(text, options, dtype="f32"):
    return Model("dim n\ninput x : %s [n]\ninput y : %s [n]\noutput z = %s\n" % (dtype, dtype, text), options)


def forward(model, x, y):
    taken = [x, y] if " y," in model.header.replace("*", " ") else [x]  # a routine takes the inputs that it reads
    with np.errstate(all="ignore"):
        return model.forward([x.size], taken, [((x.size,), x.dtype.type)])[0]


def fail(text, what, at):
    print("%s: %s at %s" % (text, what, at))
    sys.exit(1)


def beside_far(text, model, n, dtype=np.float32):
    x, y = numbers(n, 18, dtype), numbers(n, 18, dtype)
    whole = np.int32 if dtype == np.float32 else np.int64
    alone = forward(model, x, y)
    for value in (np.inf, np.nan, 3e38, -2e7, 0):
        far = np.concatenate([x, np.full(1, value, dtype)]), np.concatenate([y, np.zeros(1, dtype)])
        together = forward(model, *far)[:n]
        same = (alone.view(whole) == together.view(whole)) | (np.isnan(alone) & np.isnan(together))
        if not same.all():
            fail(text, "other bits beside %g" % value, (x[~same][0], y[~same][0]))


def remainders(model, n):
    special = np.array([0, -0.0, 1, -1, 1e-45, -1e-45, 1.5, 3e38, -3e38, 2 ** 27, np.inf, -np.inf, np.nan], np.float32)
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    for x, y in ((numbers(n, 30), numbers(n, 12)), (numbers(n, 4), numbers(n, 30)), (a, b)):
        got = forward(model, x, y)
        with np.errstate(all="ignore"):
            want = np.fmod(x, y)
            want = np.where((want != 0) & ((want < 0) != (y < 0)), want + y, want).astype(np.float32)
        same = (got.view(np.int32) == want.view(np.int32)) | (np.isnan(got) & np.isnan(want))
        if not same.all():
            fail("x % y", "%r is not %r" % (got[~same][0], want[~same][0]), (x[~same][0], y[~same][0]))


OPTIONS = sys.argv[1:]
for program in PROGRAMS:
    made = model_of(program, OPTIONS)
    for size in SIZES:
        beside_far(program, made, size)
for program in DOUBLE:
    made = model_of(program, OPTIONS, "f64")
    for size in SIZES:
        beside_far(program, made, size, np.float64)
for size in SIZES:
    remainders(model_of("x % y", OPTIONS), size)
print("near and far agree")
