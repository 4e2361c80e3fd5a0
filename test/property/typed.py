"""Arrays of the language's dtypes with what is known of their error, and its operations on them.

Floats are held as float64 and rounded to their dtype after each operation, integers as int64 and wrapped. `err` bounds,
element by element, how far a compiled program may be off: 0 where every result is exact, infinite where nothing can be said,
as behind floor of a number that is not exact.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "numbers", "Inputs"))
from tsrlib import from_bf16, to_bf16  # noqa: E402

WIDE = {"f64": "f64", "f32": "f32", "i32": "i32", "bf16": "f32", "f16": "f32", "i8": "i32", "u8": "i32"}
EPS = {"f64": 2.0 ** -52, "f32": 2.0 ** -22, "bf16": 2.0 ** -8, "f16": 2.0 ** -10}
ENDS = {"i32": (-2 ** 31, 2 ** 31 - 1), "i8": (-128, 127), "u8": (0, 255)}
FRACTIONAL = ("/", "exp", "sqrt", "sigmoid", "recip")
TRUTHS = ("<", ">", "==", "&&", "||", "not")


def is_float(dtype):
    return dtype in EPS


def join(*dtypes):
    """The dtype of an operation on them."""
    wide = [WIDE[d] for d in dtypes]
    return next((d for d in ("f64", "f32") if d in wide), "i32")


def dtype_of(op, *dtypes):
    """The dtype of what an operation makes."""
    joined = join(*(dtypes[1:] if op == "where" else dtypes))
    if op in TRUTHS or (op in FRACTIONAL and joined == "i32"):
        return "f32"
    return joined


class Array:
    def __init__(self, values, dtype, err=0.0):
        self.dtype = dtype
        self.values = np.array(values, np.float64 if is_float(dtype) else np.int64)
        self.err = np.broadcast_to(np.asarray(err, float), self.values.shape).copy()
        self.err[~np.isfinite(self.err)] = np.inf

    def broadcast(self, shape):
        return Array(np.broadcast_to(self.values, shape), self.dtype, np.broadcast_to(self.err, shape))

    def at(self, places):
        return Array(self.values[places], self.dtype, self.err[places])


def rounded(values, dtype):
    """The nearest values of the dtype; integers wrap."""
    with np.errstate(all="ignore"):
        if dtype == "f32":
            return values.astype(np.float32).astype(np.float64)
        if dtype == "f16":
            return values.astype(np.float32).astype(np.float16).astype(np.float64)
        if dtype == "bf16":
            return from_bf16(to_bf16(values.astype(np.float32))).astype(np.float64).reshape(values.shape)
    if dtype == "f64":
        return values
    least, greatest = ENDS[dtype]
    return (values - least) % (greatest - least + 1) + least


def settle(values, dtype, err):
    """What a computation gives that is exact in float64 or int64 but for `err`."""
    values = np.asarray(values)
    near = rounded(values, dtype)
    if not is_float(dtype):
        return Array(near, dtype, np.where(np.asarray(err) > 0, np.inf, 0))
    with np.errstate(all="ignore"):
        same = (near == values) | (np.isnan(near) & np.isnan(values))
        if dtype == "f64":  # nothing is told by rounding
            same = same & (rounded(values, "f32") == values)
        err = err + np.where(same, 0, EPS[dtype] * np.abs(near) + 1e-38)
        return Array(near, dtype, np.where((err > 0) & ~np.isfinite(near), np.inf, err))


def cast(a, dtype):
    if a.dtype == dtype:
        return a
    if is_float(a.dtype) and not is_float(dtype):
        least, greatest = ENDS[dtype]
        whole = np.trunc(np.nan_to_num(a.values, nan=0, posinf=1e300, neginf=-1e300))
        return Array(np.clip(whole, least, greatest), dtype, np.where(a.err > 0, np.inf, 0))
    return settle(a.values, dtype, a.err)


def derivative(op, x):
    """Of a function of one number, its greatest near x."""
    known = {"exp": lambda: np.exp(x), "sqrt": lambda: 1 / np.sqrt(x), "recip": lambda: 1 / x ** 2}
    return known.get(op, lambda: 1.0)()


UNARY = {"id": lambda x: x, "-": np.negative, "abs": np.abs, "relu": lambda x: np.where(x < 0, 0, x), "exp": np.exp,
         "sqrt": np.sqrt, "recip": lambda x: 1 / x, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor,
         "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)), "not": lambda x: x == 0}
STEPS = ("floor", "sign", "not", "<", ">", "==", "&&", "||")  # a small error may change all
BINARY = {"+": np.add, "-": np.subtract, ".*": np.multiply, "/": np.divide, "max": np.maximum, "min": np.minimum,
          "<": np.less, ">": np.greater, "==": np.equal, "&&": np.logical_and, "||": np.logical_or}


def power(x, y):
    """Of integers, modulo 2^32; where y < 0, what is left of the true value without its fraction."""
    out = np.empty(np.broadcast(x, y).shape, np.int64)
    for place, (a, b) in enumerate(np.broadcast(x, y)):
        a, b = int(a), int(b)
        out.flat[place] = pow(a, b, 2 ** 32) if b >= 0 else a ** (b % 2) if a in (1, -1) else 0
    return out


def quotient(x, y):
    """Of integers, towards zero; by 0 it is 0."""
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, 0, np.sign(x) * np.sign(safe) * (np.abs(x) // np.abs(safe)))


def error_of(op, args, value):
    """What the operands' errors make of the result."""
    (x, ex), (y, ey) = ((a.values, a.err) for a in (args[0], args[-1]))
    if op in STEPS:
        return np.where(sum(a.err for a in args) > 0, np.inf, 0)
    if op == "**":
        return np.where((ex > 0) | (ey > 0), np.inf, 0)
    if len(args) == 1:
        return ex * np.abs(derivative(op, x)) * 2 if op in UNARY else ex
    if op == ".*":
        return np.where(ey > 0, np.abs(x) * ey, 0) + np.where(ex > 0, (np.abs(y) + ey) * ex, 0)
    if op == "/":
        return np.where(ex + ey > 0, 2 * (ex + np.abs(value) * ey) / np.maximum(np.abs(y) - ey, 0), 0)
    return ex + ey


def inexact(op, value, args):
    """How far a function that is not computed exactly may be off; x / 0 has the sign of the 0, which is any behind a
    sum."""
    if op not in ("exp", "sigmoid", "/", "sqrt", "recip", "**"):
        return 0.0
    unknown = np.where(np.isinf(value) & (op in ("/", "recip", "**")), np.inf, 0)
    if op in ("exp", "sigmoid", "**"):
        return unknown + np.where(np.isfinite(value), np.abs(value), 0) * 2.0 ** -20
    return unknown + np.where(np.isfinite(value) & (args[0].dtype == "f64"), np.abs(value) * 2.0 ** -50, 0)


def apply(op, *args, dtype=None):
    """The operation in the dtype that joins the operands', or in `dtype`, for what accumulates."""
    compute = dtype or join(*(a.dtype for a in (args[1:] if op == "where" else args)))
    if op in FRACTIONAL and compute == "i32" and not dtype:
        compute = "f32"
    if op == "where":
        yes = args[0].values != 0
        a, b = (cast(x, compute) for x in args[1:])
        wild = np.where((args[0].err > 0), np.inf, 0)
        return Array(np.where(yes, a.values, b.values), compute, np.where(yes, a.err, b.err) + wild)
    if op == "fma":
        return apply("+", apply(".*", *args[:2]), args[2])
    args = [cast(a, compute) for a in args]
    x = [a.values for a in args]
    with np.errstate(all="ignore"):
        if compute == "i32" and op in ("/", "**"):
            return settle((quotient if op == "/" else power)(*x), "i32", sum(a.err for a in args))
        value = UNARY[op](*x) if len(x) == 1 else np.power(*x) if op == "**" else BINARY[op](*x)
        err = error_of(op, args, value)
        if is_float(compute):
            err = err + inexact(op, value, args)
        err = np.where(np.isnan(err), np.inf, err)  # 0 times what may be anything
        result = "f32" if op in TRUTHS and not dtype else compute
        value = np.asarray(value, float if is_float(result) else np.int64)
        return settle(value, result, np.broadcast_to(err, value.shape))


# ---- folds: the values that meet in one element ----

FOLD = {":": "+", "+": "+", "-": "+", "*": "*", "/": "*", "**": "*", "max": "max", "min": "min", "&&": "&&", "||": "||"}


def neutral(op, dtype):
    """What clearing fills in."""
    if op in ("max", "min"):
        ends = (-np.inf, np.inf) if is_float(dtype) else ENDS[dtype]
        return ends[op == "min"]
    return 0 if op in (":", "+", "-", "||") else 1


def short(values):
    """Are all multiples of 1/64, so that sums below 2^17 are exact in f32?"""
    return bool(np.all(np.isfinite(values)) and np.all(values * 64 == np.round(values * 64)))


def bits(values):
    """Digits of each number's significand; 60 where it has none."""
    with np.errstate(all="ignore"):
        odd = np.abs(np.frexp(values)[0]) * 2.0 ** 53
    whole = np.where(np.isfinite(odd), odd, 2.0 ** 60 - 1).astype(np.int64)
    low = np.where(whole == 0, 1, whole & -whole)
    return np.ceil(np.log2(whole / low + 1))


class Fold:
    """Elements that values are folded into, as `acc` does before it meets the target."""

    def __init__(self, acc, dtype, shape):
        self.op, self.dtype = FOLD[acc], dtype
        self.values = np.full(shape, neutral(self.op, dtype), np.float64 if is_float(dtype) else np.int64)
        self.spread = np.zeros(shape)   # sums of magnitudes; of products, digits
        self.orders = np.zeros(shape)   # of products, how far they may leave 1, in powers of 2
        self.err = np.zeros(shape)
        self.times = np.zeros(shape, np.int64)
        self.short = True

    def add(self, places, a):
        """a's elements, in a row, meet the elements at `places`, an array of indices an axis; () of one element."""
        a = cast(a, self.dtype)
        self.short = self.short and short(a.values)
        function = {"+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum, "&&": np.minimum,
                    "||": np.maximum}[self.op]
        truths = self.op in ("&&", "||")
        with np.errstate(all="ignore"):
            self.at(function, self.values, places, (a.values != 0).astype(self.values.dtype) if truths else a.values)
            self.at(np.add, self.spread, places, bits(a.values) if self.op == "*" else np.abs(a.values).astype(float))
            self.at(np.add, self.orders, places, np.abs(np.log2(np.abs(a.values), where=a.values != 0,
                                                                out=np.zeros(a.values.shape))))
            self.at(np.add, self.err, places, a.err)
            self.at(np.add, self.times, places, np.ones(a.values.shape, np.int64))
            if not is_float(self.dtype):
                self.values = rounded(self.values, self.dtype)

    @staticmethod
    def at(function, out, places, values):
        if places:
            function.at(out, places, values)
        else:
            for value in values:
                out[...] = function(out, value)

    def result(self):
        if not is_float(self.dtype):
            return settle(self.values, self.dtype, self.err)
        if self.op in ("&&", "||"):
            return Array(self.values, self.dtype, np.where(self.err > 0, np.inf, 0))
        if self.op in ("max", "min"):
            return settle(self.values, self.dtype, self.err)
        with np.errstate(all="ignore"):
            if self.op == "*":
                exact = self.spread <= 24
                err = np.where(exact, 0, self.times * np.abs(self.values) * EPS[self.dtype])
                err = np.where((self.err > 0) | (self.orders > 120), np.inf, err)
            else:
                exact = self.short & (self.spread < 2 ** 17)
                err = np.where(exact, 0, self.times * self.spread * EPS[self.dtype]) + self.err
            return settle(self.values, self.dtype, err)
