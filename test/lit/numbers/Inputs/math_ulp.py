"""Functions of f32 over all exponents, against double precision: the greatest error in ulp, and special values.

An error is measured in units of the exact result's last place (2^-149 at least); gelu's in units of its argument's,
since 1 + erf loses digits of small results.
"""
import math
import sys

import numpy as np

from tsrlib import Model, functions_of

STEP = int(sys.argv[1])  # every STEP-th number
OPTIONS = sys.argv[2:]
FAST_CLASS = "--fp=fast" in OPTIONS

erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    "exp": (1, np.exp), "log": (1, np.log), "exp2": (1.5, np.exp2), "log2": (2.5, np.log2), "tanh": (2.5, np.tanh),
    "sin": (2.75, np.sin), "cos": (2.75, np.cos),
    "sigmoid": (2.5, lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))),
    "erf": (1.5, erf), "sqrt": (0.5001, np.sqrt), "rsqrt": (1.5, lambda x: 1 / np.sqrt(x)),
    "gelu": (2, lambda x: x / 2 * (1 + erf(x * math.sqrt(0.5)))),
    "x ** 3": (1.5, lambda x: x * x * x), "x ** 2": (0.5001, lambda x: x * x), "x ** -1": (0.5001, lambda x: 1 / x),
}


# --fp=fast: (bound in ulp, least result told from 0, greatest from infinity); subnormal arguments of log do not count.
FAST = {"exp": (3, 2.0 ** -126, 2.0 ** 127.5), "exp2": (3, 2.0 ** -126, 2.0 ** 127.4), "log": (4, 0, math.inf),
        "log2": (6, 0, math.inf), "tanh": (6, 0, math.inf), "sigmoid": (4, 2.0 ** -126, math.inf),
        "erf": (6, 0, math.inf)}


def every_number(step):
    """Every step-th number, and some beside the multiples of pi/2, where sin and cos are near 1 or 0."""
    bits = np.arange(0, 1 << 32, step, dtype=np.uint64).astype(np.uint32)
    near = np.arange(-100, 100)[:, None] * (np.pi / 2) + np.arange(1, 500) * 2.0 ** -20
    return np.concatenate([bits.view(np.float32), near.astype(np.float32).ravel()])


def special_numbers():
    least, tiny = np.float32(1e-45), np.finfo(np.float32).tiny
    ends = [0, least, tiny, np.nextafter(tiny, 0, dtype=np.float32), 1, np.finfo(np.float32).max, np.inf, 0.5, 2,
            87.33655, 88.72283, 88.72284, 103.27893, 103.97208, 104, 126, 127, 128, 149, 150, 151, 3, 9.01, 4]
    near = [np.nextafter(np.float32(1), np.float32(to), dtype=np.float32) for to in (0, 2)]
    one_sign = np.array(ends + near, np.float32)
    return np.concatenate([one_sign, -one_sign, np.array([np.nan], np.float32)])


def worst(got, exact, unit):
    """The greatest error in ulp of `unit`, and where; infinities, NaN and signs of zeros must be the same."""
    rounded = exact.astype(np.float32)
    beyond = ~np.isfinite(rounded)
    overflow = beyond & np.isfinite(exact)  # rounds to infinity: the greatest number is within an ulp
    bad = beyond & ~overflow & ~((got == rounded) | (np.isnan(got) & np.isnan(rounded)))
    bad |= overflow & ~((got == rounded) | (np.abs(got) == np.finfo(np.float32).max))
    bad |= ~beyond & np.isnan(got)
    bad |= (rounded == 0) & (got == 0) & (exact == 0) & (np.signbit(got) != np.signbit(exact))
    if bad.any():
        return math.inf, int(np.argmax(bad))
    ulp = np.maximum(np.spacing(np.abs(unit.astype(np.float32))).astype(np.float64), 2.0 ** -149)
    good = np.isfinite(exact) & ~overflow & np.isfinite(got)
    error = np.where(good, np.abs(got.astype(np.float64) - exact) / np.where(good, ulp, 1), 0)
    error = np.where(~beyond & np.isinf(got), np.inf, error)
    return float(error.max()), int(error.argmax())


def report(name, bound, found, arguments):
    error, at = found
    if error > bound or "-v" in OPTIONS:
        print("%s: %.4g ulp at %s, at most %g" % (name, error, [repr(a[at]) for a in arguments], bound))
    return error <= bound


def unary(names):
    good = True
    form = {name: name + "(x)" * name.isidentifier() for name in names}
    made = functions_of(form.values(), "x", "f32", [o for o in OPTIONS if o != "-v"])
    for name in names:
        x = np.concatenate([every_number(STEP), special_numbers()])
        bound, exact = FUNCTIONS[name]
        got = made[form[name]](x)
        want = exact(x.astype(np.float64))
        if FAST_CLASS and name in FAST:
            bound, least, most = FAST[name]
            edge = (np.abs(want) < least) | (np.abs(want) > most)
            ended = (np.abs(got - want) <= least) | np.isinf(got) & (want > 1)
            if not ended[edge & np.isfinite(want)].all():
                bound = -1
            inside = ~(edge & np.isfinite(want) | name.startswith("log") & (x > 0) & (x < 2.0 ** -126))
            x, got, want = x[inside], got[inside], want[inside]
        if name == "gelu":  # the limit, where the formula is -inf times 0
            want = np.where(x == -np.inf, -0.0, want)
        at_end = np.where(np.isinf(x), want, x) if name == "gelu" else want
        good = report(name, bound, worst(got, want, at_end), [x]) and good
    return good


def power():
    random = np.random.default_rng(7)
    some = special_numbers()
    pairs = [np.repeat(some, some.size), np.tile(some, some.size)]
    n = (1 << 32) // STEP // 8
    x = np.abs(every_number(STEP * 8)[:n])
    y = (random.uniform(-1, 1, n) * 160).astype(np.float32)
    with np.errstate(all="ignore"):
        limited = np.float32(150) / np.maximum(np.abs(np.log2(np.where(x > 0, x, 1))), np.float32(1e-6))
    y = np.where(np.arange(n) % 2, y, (random.uniform(-1, 1, n) * limited)).astype(np.float32)
    whole = random.integers(-20, 20, n).astype(np.float32)
    x = np.concatenate([pairs[0], x, -x, random.uniform(-4, 4, n).astype(np.float32)])
    y = np.concatenate([pairs[1], y, whole, whole])
    model = Model("dim n\ninput x : [n]\ninput y : [n]\noutput z = x ** y\n", [o for o in OPTIONS if o != "-v"])
    got, = model.forward([x.size], [x, y], [((x.size,), np.float32)])
    want = np.power(x.astype(np.float64), y.astype(np.float64))
    return report("pow", 1, worst(got, want, want), [x, y])


with np.errstate(all="ignore"):
    if not (unary(list(FUNCTIONS)) & power()):
        sys.exit(1)
print("within bounds")
