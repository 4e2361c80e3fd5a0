#!/usr/bin/python3
"""Prints codegen/math_poly.h: the polynomials of codegen/math*.c.

Each is the minimax fit of a function on an interval under a weight, by Lawson's iteration (least squares,
reweighted by the error, on Chebyshev nodes). Coefficients are rounded to the type one by one from the lowest, the
others fitted again each time, so that the error printed is that of the numbers printed.

    /usr/bin/python3 tools/math_poly.py > codegen/math_poly.h
"""
import mpmath as mp
import numpy as np

mp.mp.prec = 400
NODES, ROUNDS = 1200, 60


def nodes(low, high):
    at = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    return [mp.mpf((low + high) / 2 + (high - low) / 2 * a) for a in at]


def fit(x, values, weight, degrees):
    """Coefficients of x**d for d in degrees, least greatest |weight * (p - values)|."""
    scale = np.abs(x).max()
    basis = np.stack([(x / scale) ** d for d in degrees], 1) * weight[:, None]
    target = values * weight
    w = np.full(len(x), 1.0 / len(x))
    best, least = None, np.inf
    for _ in range(ROUNDS):
        root = np.sqrt(w)
        found = np.linalg.lstsq(basis * root[:, None], target * root, rcond=None)[0]
        error = np.abs(basis @ found - target)
        if error.max() < least:
            best, least = found, error.max()
        w = w * (error + 1e-300)
        w /= w.sum()
    return best / scale ** np.array(degrees, float)


def polynomial(name, text, function, weight, low, high, degree, dtype):
    points = nodes(low, high)
    x = np.array([float(p) for p in points])
    exact = [function(p) for p in points]
    values = np.array([float(v) for v in exact])
    weights = np.array([float(weight(p)) for p in points])
    kept = []
    for d in range(degree + 1):
        rest = values - sum(c * x ** i for i, c in enumerate(kept))
        kept.append(float(dtype(fit(x, rest, weights, list(range(d, degree + 1)))[0])))
    worst = max(abs(weight(p) * (sum(mp.mpf(c) * p ** i for i, c in enumerate(kept)) - v))
                for p, v in zip(points, exact))
    print("\n/* %s, on [%.6g, %.6g]; error 2^%.1f */" % (text, low, high, float(mp.log(worst, 2))))
    print("static const double %s[] = {" % name)
    for c in kept:
        print("\t%s," % c.hex())
    print("};")


def exchange(points, values, weights, n):
    """n coefficients, least greatest |weight * (p - value)| over the points, by Remez' exchange in many digits."""
    at = [k * (len(points) - 1) // n for k in range(n + 1)]
    for _ in range(12):
        rows = mp.matrix(n + 1, n + 1)
        for r, i in enumerate(at):
            for d in range(n):
                rows[r, d] = points[i] ** d
            rows[r, n] = (-1) ** r / weights[i]
        found = mp.lu_solve(rows, mp.matrix([values[i] for i in at]))
        coefs = [found[d] for d in range(n)]
        error = [w * (mp.polyval(coefs[::-1], p) - v) for p, v, w in zip(points, values, weights)]
        ends = []  # the greatest error of each run of one sign
        for i, e in enumerate(error):
            if not ends or (e > 0) != (error[ends[-1]] > 0):
                ends.append(i)
            elif abs(e) > abs(error[ends[-1]]):
                ends[-1] = i
        while len(ends) > n + 1:
            ends.pop(0 if abs(error[ends[0]]) < abs(error[ends[-1]]) else -1)
        if ends == at or len(ends) <= n:
            break
        at = ends
    return coefs


def double(name, text, function, weight, low, high, n):
    """As `polynomial`, where double precision is too little for the fit; all n coefficients are rounded at once."""
    points = nodes(low, high)[::-1]
    values, weights = [function(p) for p in points], [weight(p) for p in points]
    kept = [float(c) for c in exchange(points, values, weights, n)]
    worst = max(abs(w * (mp.polyval([mp.mpf(c) for c in kept[::-1]], p) - v))
                for p, v, w in zip(points, values, weights))
    print("\n/* %s, on [%.6g, %.6g]; error 2^%.1f */" % (text, low, high, float(mp.log(worst, 2))))
    print("static const double %s[] = {" % name)
    for c in kept:
        print("\t%s," % c.hex())
    print("};")


def rational(name, text, function, low, high, top, bottom):
    """P/Q with Q(0) = 1 of degrees top and bottom, least greatest relative error; linearised by the Q before."""
    points = nodes(low, high)
    x = np.array([float(p) for p in points])
    exact = [function(p) for p in points]
    f = np.array([float(v) for v in exact])
    powers = (x / high)[:, None] ** np.arange(max(top, bottom) + 1)
    w, under = np.full(len(x), 1.0 / len(x)), np.ones(len(x))
    best, least = None, np.inf
    for _ in range(400):
        basis = np.concatenate([powers[:, :top + 1] / f[:, None], -powers[:, 1:bottom + 1]], 1)
        root = np.sqrt(w) / np.abs(under)
        found = np.linalg.lstsq(basis * root[:, None], root, rcond=None)[0]
        under = 1 + powers[:, 1:bottom + 1] @ found[top + 1:]
        error = np.abs(powers[:, :top + 1] @ found[:top + 1] / under / f - 1)
        if error.max() < least:
            best, least = found, error.max()
        w = w * (error + 1e-300) ** 0.5
        w /= w.sum()
    scale = 1 / high ** np.arange(max(top, bottom) + 1.0)
    upper = [float(np.float32(c)) for c in best[:top + 1] * scale[:top + 1]]
    lower = [1.0] + [float(np.float32(c)) for c in best[top + 1:] * scale[1:bottom + 1]]
    value = lambda cs, p: sum(mp.mpf(c) * p ** i for i, c in enumerate(cs))
    worst = max(abs(value(upper, p) / value(lower, p) / v - 1) for p, v in zip(points, exact))
    print("\n/* %s, on [%.6g, %.6g]; error 2^%.1f */" % (text, low, high, float(mp.log(worst, 2))))
    for part, cs in (("over", upper), ("under", lower)):
        print("static const double %s_%s[] = {" % (name, part))
        for c in cs:
            print("\t%s," % c.hex())
        print("};")


LN2_2 = float(mp.log(2) / 2)
ROOT = float(mp.sqrt(0.5))
print("""/* Minimax polynomials, lowest coefficient first. Printed by tools/math_poly.py.
 * The error is that of the function which the polynomial is for, relative. */
#ifndef TSR_CODEGEN_MATH_POLY_H
#define TSR_CODEGEN_MATH_POLY_H""")
polynomial("poly_exp", "(exp(r) - 1 - r) / r^2, for exp",
           lambda r: (mp.exp(r) - 1 - r) / r ** 2, lambda r: r ** 2 * mp.exp(-r),
           -LN2_2 * 1.01, LN2_2 * 1.01, 4, np.float32)
polynomial("poly_expm1", "(exp(r) - 1 - r) / r^2, for exp(r) - 1",
           lambda r: (mp.exp(r) - 1 - r) / r ** 2, lambda r: r ** 2 / mp.expm1(r),
           -LN2_2 * 1.01, LN2_2 * 1.01, 5, np.float32)
polynomial("poly_exp2", "(2^r - 1) / r, for exp2",
           lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r * 2 ** -r, -0.505, 0.505, 5, np.float32)
polynomial("poly_log", "(log(1 + f) - f + f^2/2) / f^3, for log(1 + f)",
           lambda f: (mp.log1p(f) - f + f ** 2 / 2) / f ** 3, lambda f: f ** 3 / mp.log1p(f),
           -1 / 3, 1 / 3, 8, np.float32)
polynomial("poly_erf", "erf(sqrt(s)) / sqrt(s) - 1, for erf",
           lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s) - 1, lambda s: mp.sqrt(s) / mp.erf(mp.sqrt(s)),
           0.0, 1.0, 7, np.float32)
polynomial("poly_erfc", "log(erfc(x)), for erf(x) = 1 - erfc(x)",
           lambda x: mp.log(mp.erfc(x)), lambda x: mp.erfc(x), 1.0, 4.0, 7, np.float32)
polynomial("poly_gelu", "log2(erfc(a/sqrt(2))) / a, for gelu",
           lambda a: mp.log(mp.erfc(a * mp.sqrt(0.5)), 2) / a,
           lambda a: mp.erfc(a * mp.sqrt(0.5)) / 2 * mp.log(2) * a, 1e-9, 5.6, 6, np.float32)
polynomial("poly_log2", "log2(1 + f) / f, in double for pow",
           lambda f: mp.log1p(f) / mp.log(2) / f, lambda f: f / (mp.log1p(f) / mp.log(2)),
           ROOT - 1, 2 * ROOT - 1, 13, np.float64)
polynomial("poly_exp2_double", "(2^r - 1) / r, in double for pow",
           lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r * 2 ** -r, -0.505, 0.505, 6, np.float64)
polynomial("poly_sin", "sin(r) / r - 1 over s = r^2, for sin", lambda s: (mp.sin(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
           lambda s: s * mp.sqrt(s) / mp.sin(mp.sqrt(s)), 1e-9, float((mp.pi / 4) ** 2) * 1.01, 3, np.float32)
polynomial("fast_sin", "sin(r) / r - 1 over s = r^2, for sin and cos near 0", lambda s: (mp.sin(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
           lambda s: s * mp.sqrt(s) / mp.sin(mp.sqrt(s)), 1e-9, 1.5709 ** 2, 4, np.float32)
polynomial("poly_cos", "(cos(r) - 1 + r^2/2) / r^4 over s = r^2, for cos",
           lambda s: (mp.cos(mp.sqrt(s)) - 1 + s / 2) / s ** 2,
           lambda s: s ** 2 / mp.cos(mp.sqrt(s)), 1e-9, float((mp.pi / 4) ** 2) * 1.01, 2, np.float32)
print("""
/* 1/k! from k = 2, for exp and tanh of f64, on [-0.350039, 0.350039]; error 2^-56 */
static const double double_exp[] = {""")
for k in range(2, 14):
    print("\t%s," % float(1 / mp.factorial(k)).hex())
print("};")
polynomial("double_log", "(2 atanh(s) / s - 2) / z over z = s^2, for log of f64",
           lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, lambda z: z, 1e-9, 0.0295, 6, np.float64)
double("double_exp2", "(2^r - 1) / r, for exp2 of f64", lambda r: mp.expm1(r * mp.log(2)) / r,
       lambda r: r * 2 ** -r, -0.5, 0.5, 12)
double("double_erf", "erf(sqrt(s)) / sqrt(s) - 1, for erf of f64", lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s) - 1,
       lambda s: mp.sqrt(s) / mp.erf(mp.sqrt(s)), 0.0, 1.0, 13)
double("double_erfc", "log(erfc(1 + t)), for erf(x) = 1 - erfc(x) of f64", lambda t: mp.log(mp.erfc(1 + t)),
       lambda t: mp.erfc(1 + t), 0.0, 4.95, 18)
double("double_pow", "(3 atanh(s) / s - 3 - z) / z^2 over z = s^2, for log2 of f64 in pow",
       lambda z: (3 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 3 - z) / z ** 2, lambda z: z ** 2 / 3, 1e-9, 0.02945, 7)
double("double_sin", "(sin(r) / r - 1) / s over s = r^2, for sin of f64", lambda s: (mp.sin(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
       lambda s: s * mp.sqrt(s) / mp.sin(mp.sqrt(s)), 1e-9, 1.5709 ** 2, 9)
double("double_cos", "(cos(r) - 1 + s / 2) / s^2 over s = r^2, for tan of f64",
       lambda s: (mp.cos(mp.sqrt(s)) - 1 + s / 2) / s ** 2, lambda s: s ** 2, 1e-9, 0.617, 7)
double("double_tan", "(tan(r) / r - 1) / s over s = r^2, for tan of f32", lambda s: (mp.tan(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
       lambda s: s * mp.sqrt(s) / mp.tan(mp.sqrt(s)), 1e-9, 0.617, 8)
polynomial("poly_sinh", "(sinh(sqrt(s)) / sqrt(s) - 1) / s, for sinh", lambda s: (mp.sinh(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
           lambda s: s * mp.sqrt(s) / mp.sinh(mp.sqrt(s)), 1e-9, 1.0, 3, np.float32)
polynomial("poly_atan", "(atan(sqrt(s)) / sqrt(s) - 1) / s, for atan", lambda s: (mp.atan(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
           lambda s: s * mp.sqrt(s) / mp.atan(mp.sqrt(s)), 1e-9, 0.1716, 4, np.float32)
polynomial("poly_asin", "(asin(sqrt(s)) / sqrt(s) - 1) / s, for asin", lambda s: (mp.asin(mp.sqrt(s)) / mp.sqrt(s) - 1) / s,
           lambda s: s * mp.sqrt(s) / mp.asin(mp.sqrt(s)), 1e-9, 0.25, 5, np.float32)
double("double_sinh", "(sinh(sqrt(s)) / sqrt(s) - 1) / s, for sinh of f64",
       lambda s: (mp.sinh(mp.sqrt(s)) / mp.sqrt(s) - 1) / s, lambda s: s * mp.sqrt(s) / mp.sinh(mp.sqrt(s)), 1e-9, 1.0, 8)
double("double_atan", "(atan(sqrt(s)) / sqrt(s) - 1) / s, for atan of f64",
       lambda s: (mp.atan(mp.sqrt(s)) / mp.sqrt(s) - 1) / s, lambda s: s * mp.sqrt(s) / mp.atan(mp.sqrt(s)), 1e-9, 0.17158, 13)
double("double_asin", "(asin(sqrt(s)) / sqrt(s) - 1) / s, for asin of f64",
       lambda s: (mp.asin(mp.sqrt(s)) / mp.sqrt(s) - 1) / s, lambda s: s * mp.sqrt(s) / mp.asin(mp.sqrt(s)), 1e-9, 0.25, 14)
polynomial("fast_exp", "(exp(r) - 1 - r) / r^2, for the fast exp",
           lambda r: (mp.exp(r) - 1 - r) / r ** 2, lambda r: r ** 2 * mp.exp(-r),
           -LN2_2 * 1.01, LN2_2 * 1.01, 3, np.float32)
polynomial("fast_exp2", "(2^r - 1) / r, for the fast exp2",
           lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r * 2 ** -r, -0.505, 0.505, 4, np.float32)
polynomial("fast_log", "(log(1 + f) - f + f^2/2) / f^3, for the fast log",
           lambda f: (mp.log1p(f) - f + f ** 2 / 2) / f ** 3, lambda f: f ** 3 / mp.log1p(f),
           -1 / 3, 1 / 3, 5, np.float32)
rational("fast_tanh", "tanh(sqrt(s)) / sqrt(s), for the fast tanh", lambda s: mp.tanh(mp.sqrt(s)) / mp.sqrt(s),
         1e-9, 81.0, 6, 3)
rational("fast_erf", "erf(sqrt(s)) / sqrt(s), for the fast erf", lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s),
         1e-9, 15.4, 6, 4)
print("\n#endif")
