"""Functions of f64 that are inline, over all exponents, against 80-bit numbers: the greatest error in ulp, special values."""
import sys

import numpy as np

from tsrlib import Model

OPTIONS = sys.argv[1:]
one = np.longdouble(1)
FUNCTIONS = {
    "exp": (1, np.exp), "log": (1, np.log), "tanh": (2.5, np.tanh),
    "sigmoid": (2.5, lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), one) / (1 + np.exp(-np.abs(x)))),
}


def arguments():
    random = np.random.default_rng(3)
    bits = random.integers(0, 1 << 64, 400000, dtype=np.uint64).view(np.float64)
    near = [random.uniform(-r, r, 100000) for r in (1, 25, 750)] + [1 + random.uniform(-0.5, 0.5, 100000)]
    tiny, huge = np.finfo(np.float64).tiny, np.finfo(np.float64).max
    ends = np.array([0, 5e-324, tiny, tiny / 4, 1, huge, np.inf, 709.7827, 709.79, 745.1, 745.2, 708.4, 19.06, 19.07, 0.5])
    return np.concatenate([bits, *near, ends, -ends, [np.nan, np.nextafter(1, 0), np.nextafter(1, 2)]])


def worst(got, exact):
    rounded = exact.astype(np.float64)
    finite = np.isfinite(rounded)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    same |= np.isinf(rounded) & np.isfinite(exact) & (got == np.finfo(np.float64).max)
    if not same[~finite].all() or not np.isfinite(got[finite]).all():
        return np.inf, int(np.argmax(np.where(finite, ~np.isfinite(got), ~same)))
    zeros = finite & (exact == 0)
    if (np.signbit(got[zeros]) != np.signbit(rounded[zeros])).any():
        return np.inf, 0
    ulp = np.maximum(np.spacing(np.abs(np.where(finite, rounded, 1))), 5e-324)
    error = np.where(finite, np.abs(np.where(finite, got, 0) - np.where(finite, exact, 0)) / ulp, 0)
    return float(error.max()), int(error.argmax())


x, good = arguments(), True
with np.errstate(all="ignore"):
    for name, (bound, exact) in FUNCTIONS.items():
        model = Model("dim n\ninput x : f64 [n]\noutput y = %s(x)\n" % name, [o for o in OPTIONS if o != "-v"])
        got, = model.forward([x.size], [x], [((x.size,), np.float64)])
        error, at = worst(got, exact(x.astype(np.longdouble)))
        good &= error <= bound
        if error > bound or "-v" in OPTIONS:
            print("%s: %.4g ulp at %r, at most %g" % (name, error, x[at], bound))
print("within bounds" if good else "too far")
sys.exit(not good)
