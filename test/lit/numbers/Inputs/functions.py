"""The functions of base/ops.def that math_ulp.py does not have, of f32 and f64, over all exponents: within the bounds of
that table of numbers in a wider type; infinities, NaN and signs of zeros as in the C library. functions.py OPTIONS..."""
import ctypes
import math
import os
import re
import sys

import numpy as np

from tsrlib import functions_of

OPTIONS = [o for o in sys.argv[1:] if o != "-v"]
MANY = int(os.environ.get("MANY", "1"))
RNG = np.random.default_rng(5)
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "base", "ops.def")
LIBM = ctypes.CDLL("libm.so.6")


def bounds():
    """By name: the error's bound in ulp, and that of f32 with --fp=fast."""
    with open(TABLE, encoding="ascii") as text:
        return {m[1]: (float(m[2]), float(m[3])) for m in
                re.finditer(r'^OP\(\w+,\s*"(\w+)",.*, +([\d.]+), +([\d.]+)\)$', text.read(), re.M)}


def of_double(name):
    """The C library's function of doubles, rounded once more at most: wide enough for f32 alone."""
    function = getattr(LIBM, name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    return lambda x: np.array([function(float(v)) for v in x])


def softplus(x):
    return np.where(x < 0, 0, x) + np.log1p(np.exp(-np.abs(x)))


UNARY = {"log1p": np.log1p, "expm1": np.expm1, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
         "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "softplus": softplus,
         "trunc": np.trunc, "isnan": np.isnan, "isinf": np.isinf, "erfc": of_double("erfc"), "lgamma": of_double("lgamma")}
BINARY = {"atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign}
NARROW = ("erfc", "lgamma")  # known in double alone


def arguments(dtype):
    info, whole = np.finfo(dtype), np.uint32 if dtype is np.float32 else np.uint64
    bits = RNG.integers(0, np.iinfo(whole).max, 20000 * MANY, dtype=whole, endpoint=True).view(dtype)
    near = [RNG.uniform(-r, r, 6000 * MANY) for r in (1, 1, 12, 100, 800)]
    near += [s * (c + RNG.uniform(-1, 1, 3000 * MANY) * w) for c in (0.5, 1, 2, 2.5) for s in (1, -1) for w in (0.1, 1e-4)]
    near += [RNG.choice([-1, 1], 4000 * MANY) * 2.0 ** RNG.uniform(-40, 4, 4000 * MANY)]
    ends = np.array([0, info.tiny, info.tiny / 4, info.smallest_subnormal, 0.5, 1, 1.5, 2, 2.5, 3, 10, info.max, np.inf,
                     np.nextafter(dtype(1), dtype(0)), np.nextafter(dtype(1), dtype(2)), 88.72, 88.73, 89.41, 89.42, 709.78,
                     709.79, 710.47, 710.48, 17.4, 37.5, 1e10, 1e19, 1e30], dtype)
    return np.concatenate([bits, *[v.astype(dtype) for v in near], ends, -ends, [dtype(np.nan)]]).astype(dtype)


def worst(got, exact, dtype):
    """The greatest error in units of the exact result's last place, and where."""
    rounded = exact.astype(dtype)
    finite = np.isfinite(rounded)
    edge = np.isinf(rounded) & np.isfinite(exact) & (np.abs(got) == np.finfo(dtype).max)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded)) | edge
    wrong = np.where(finite, ~np.isfinite(got), ~same)
    wrong |= finite & (exact == 0) & (got == 0) & (np.signbit(got) != np.signbit(rounded))
    if wrong.any():
        return np.inf, int(np.argmax(wrong))
    ulp = np.maximum(np.spacing(np.abs(np.where(finite, rounded, 1))), np.finfo(dtype).smallest_subnormal)
    with np.errstate(all="ignore"):
        error = np.where(finite, np.abs(got.astype(exact.dtype) - exact) / ulp, 0)
    return float(error.max()), int(error.argmax())


def check(name, made, dtype, operands, function, bound):
    """made: the compiled function"""
    kind = "f32" if dtype is np.float32 else "f64"
    got = made(*operands, result=np.float32 if name in ("isnan", "isinf") else dtype)
    wide = np.float64 if dtype is np.float32 or name in NARROW else np.longdouble
    exact = function(*(v.astype(wide) for v in operands)).astype(wide)
    error, at = worst(got.astype(dtype), exact, dtype)
    if error > bound or "-v" in sys.argv:
        print("%s of %s: %.4g ulp at %s, at most %g" % (name, kind, error, [repr(v[at]) for v in operands], bound))
    return error <= bound


def main():
    good, table = True, bounds()
    for dtype in (np.float32, np.float64):
        x = arguments(dtype)
        fast = "--fp=fast" in OPTIONS and dtype is np.float32
        kind = "f32" if dtype is np.float32 else "f64"
        made = functions_of([name + "(x)" for name in UNARY], "x", kind, OPTIONS)
        for name, function in UNARY.items():
            slack = 0.001 if dtype is np.float32 or name not in NARROW else 1
            good &= check(name, made[name + "(x)"], dtype, [x], function, table[name][fast] + slack)
        some = np.concatenate([x[-60:], np.array([0, -0.0, np.inf, -np.inf, 3, -3], dtype)])
        pairs = [np.concatenate([np.repeat(some, some.size), x, x]),
                 np.concatenate([np.tile(some, some.size), RNG.permutation(x), x * RNG.uniform(-2, 2, x.size).astype(dtype)])]
        made = functions_of([name + "(x, y)" for name in BINARY], "xy", kind, OPTIONS)
        for name, function in BINARY.items():
            good &= check(name, made[name + "(x, y)"], dtype, pairs, function, table[name][fast] + 0.001)
    return good


with np.errstate(all="ignore"):
    good = main()
print("within bounds" if good else "too far")
sys.exit(not good)
