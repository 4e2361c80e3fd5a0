"""Functions of f64 that are inline, over all exponents, against 80-bit numbers: the greatest error in ulp, special values.

gelu's error is in units of its argument's last place, since 1 + erf loses digits of small results. `tan` of f32 is
here too, as it is computed in double. MANY=4 in the environment takes four times as many arguments.
"""
import os
import sys

import numpy as np

from tsrlib import Model, functions_of

OPTIONS = sys.argv[1:]
MANY = int(os.environ.get("MANY", "1"))
RNG = np.random.default_rng(3)
HUGE, TINY = np.finfo(np.float64).max, np.finfo(np.float64).tiny
one = np.longdouble(1)


def erf(x):
    """2/sqrt(pi) exp(-x^2) (x + 2 x^3/3 + 4 x^5/15 ...): terms of one sign."""
    size, result, root = np.abs(x), np.sign(x), np.sqrt(np.arctan(one) * 4)
    for low, high in ((0, 0.1), (0.1, 1), (1, 3), (3, 7)):  # which take ever more terms
        at = (size >= low) & (size < high)
        a = term = size[at]
        total, n = a * 0, 0
        while term.max(initial=0) > 1e-25:
            total, n = total + term, n + 1
            term = term * a * a * 2 / (2 * n + 1)
        result[at] = np.copysign(2 / root * np.exp(-a * a) * total, x[at])
    return result


def gelu(x):
    """Its limit at -infinity."""
    return np.where(x == -np.inf, -0.0, x / 2 * (1 + erf(x * np.sqrt(one / 2))))


FUNCTIONS = {
    "exp": (1, np.exp), "log": (1, np.log), "tanh": (2.5, np.tanh), "exp2": (1.5, np.exp2), "log2": (2.5, np.log2),
    "sigmoid": (2.5, lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), one) / (1 + np.exp(-np.abs(x)))),
    "sin": (2.5, np.sin), "cos": (2.5, np.cos), "tan": (2.5, np.tan), "erf": (1.5, erf), "gelu": (2, gelu),
    "sqrt": (0.5001, np.sqrt), "rsqrt": (1.5, lambda x: one / np.sqrt(x)), "x ** 3": (1.5, lambda x: x * x * x),
    "x ** 2": (0.5001, lambda x: x * x), "x ** -1": (0.5001, lambda x: one / x),
}


def arguments(f32=False):
    bits = RNG.integers(0, 1 << 64, 100000 * MANY, dtype=np.uint64).view(np.float64)
    if f32:
        bits = RNG.integers(0, 1 << 32, 100000 * MANY, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = [RNG.uniform(-r, r, 25000 * MANY) for r in (1, 6, 25, 750, 2.0 ** 20)] + [1 + RNG.uniform(-0.5, 0.5, 25000 * MANY)]
    turns = np.arange(-2000, 2000) * np.pi / 2
    ends = np.array([0, 5e-324, TINY, TINY / 4, 1, HUGE, np.inf, 709.7827, 709.79, 745.1, 745.2, 708.4, 19.06, 19.07, 0.5,
                     5.95, 5.9500001, 1023.99, 1024, 1074, 1075, 1076, 2.0 ** 20, np.nextafter(2.0 ** 20, 0)])
    return np.concatenate([bits, *near, turns, ends, -ends, [np.nan, np.nextafter(1, 0), np.nextafter(1, 2)]])


def worst(got, exact, unit, dtype=np.float64):
    rounded = exact.astype(dtype)
    finite = np.isfinite(rounded)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    same |= np.isinf(rounded) & np.isfinite(exact) & (np.abs(got) == np.finfo(dtype).max)
    if not same[~finite].all():
        return np.inf, int(np.argmax(~(finite | same)))
    if not np.isfinite(got[finite]).all():
        return np.inf, int(np.argmax(finite & ~np.isfinite(got)))
    zeros = finite & (exact == 0)
    if (np.signbit(got[zeros]) != np.signbit(rounded[zeros])).any():
        return np.inf, int(np.argmax(zeros & (np.signbit(got) != np.signbit(rounded))))
    usable = finite & np.isfinite(unit)
    ulp = np.maximum(np.spacing(np.abs(np.where(usable, unit, 1)).astype(dtype)), np.finfo(dtype).smallest_subnormal)
    error = np.where(usable, np.abs(np.where(usable, got, 0) - np.where(usable, exact, 0)) / ulp, 0)
    return float(error.max()), int(error.argmax())


def report(name, bound, found, *at):
    if found[0] > bound or "-v" in OPTIONS:
        print("%s: %.4g ulp at %s, at most %g" % (name, found[0], [repr(a[found[1]]) for a in at], bound))
    return found[0] <= bound


def model_of(inputs, text, dtype="f64"):
    lines = "".join("input %s : %s [n]\n" % (name, dtype) for name in inputs)
    return Model("dim n\n%soutput r = %s\n" % (lines, text), [o for o in OPTIONS if o != "-v"])


def unary(x):
    wide, good = x.astype(np.longdouble), True
    form = {name: name + "(x)" * name.isidentifier() for name in FUNCTIONS}
    made = functions_of(form.values(), "x", "f64", [o for o in OPTIONS if o != "-v"])
    for name, (bound, exact) in FUNCTIONS.items():
        got = made[form[name]](x)
        want = exact(wide)
        unit = np.where(np.isinf(x), 1, x) if name == "gelu" else want
        good &= report(name, bound, worst(got, want, unit), x)
    return good


def tan_single():
    x = arguments(True).astype(np.float32)
    got, = model_of("x", "tan(x)", "f32").forward([x.size], [x], [((x.size,), np.float32)])
    want = np.tan(x.astype(np.longdouble))
    return report("tan of f32", 1, worst(got, want, want, np.float32), x)


def power():
    some = np.array([0, 5e-324, TINY, 0.3, 0.5, 1 - 2.0 ** -53, 1, 1 + 2.0 ** -52, 1.5, 2, 3, 7, 1e10, 2.0 ** 51, 2.0 ** 51 + 0.5,
                     2.0 ** 51 + 1, 2.0 ** 52 + 1, 2.0 ** 53 - 1, 2.0 ** 53, 1e300, HUGE, np.inf, np.nan])
    some = np.concatenate([some, -some])
    n = 50000 * MANY
    base = np.abs(RNG.integers(0, 1 << 63, n, dtype=np.uint64).view(np.float64))
    limited = 1080 / np.maximum(np.abs(np.log2(base)), 1e-6) * RNG.uniform(-1, 1, n)
    near = np.exp(RNG.uniform(-1, 1, n) * 2.0 ** -RNG.integers(0, 40, n))
    far = 740 / np.maximum(np.abs(np.log(near)), 1e-300) * RNG.uniform(-1, 1, n)
    whole = RNG.integers(-30, 30, n).astype(np.float64)
    x = np.concatenate([np.repeat(some, some.size), base, near, RNG.uniform(0, 10, n), RNG.uniform(-10, 10, n)])
    y = np.concatenate([np.tile(some, some.size), limited, far, RNG.uniform(-300, 300, n), whole])
    got, = model_of("xy", "x ** y").forward([x.size], [x, y], [((x.size,), np.float64)])
    want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    return report("pow", 1, worst(got, want, want), x, y)


def remainder():
    n = 50000 * MANY
    bits = [RNG.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64) for _ in range(2)]
    y = RNG.standard_normal(n) * 2.0 ** RNG.integers(-1020, 1000, n)
    x = y * RNG.standard_normal(n) * 2.0 ** RNG.integers(-5, 27, n)
    multiple = y * RNG.integers(-1 << 22, 1 << 22, n)
    some = np.array([0, -0.0, 1, -1, 5e-324, -TINY, 1.5, HUGE, -HUGE, np.inf, -np.inf, np.nan])
    large = np.array([1, -1]) * (2.0 ** 1000 - 2.0 ** 947)  # whose multiples, rounded up, are infinite
    grids = np.meshgrid(some, some), np.meshgrid([np.nextafter(HUGE, 0), -np.nextafter(HUGE, 0)], large)
    pairs = [(bits[0], bits[1]), (x, y), (multiple, y)] + [tuple(v.ravel() for v in grid) for grid in grids]
    model, good = model_of("xy", "x % y"), True
    for a, b in pairs:
        got, = model.forward([a.size], [a, b], [((a.size,), np.float64)])
        want = np.fmod(a, b)
        want = np.where((want != 0) & ((want < 0) != (b < 0)), want + b, want)
        same = (got.view(np.int64) == want.view(np.int64)) | (np.isnan(got) & np.isnan(want))
        good &= report("%", 0, (float(np.count_nonzero(~same)), int(np.argmin(same))), a, b)
    return good


with np.errstate(all="ignore"):
    good = unary(arguments()) & tan_single() & power() & remainder()
print("within bounds" if good else "too far")
sys.exit(not good)
