"""Random elementwise programs with broadcasting in all rows, against NumPy in double precision."""
import sys

import numpy as np

from tsrlib import Model, check, draw_cuts, in_rows

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)

try:
    from math import erf
    verf = np.vectorize(erf, otypes=[float])
except ImportError:
    verf = None

UNARY = {
    "relu": lambda a: np.maximum(a, 0), "sat01": lambda a: np.clip(a, 0, 1), "exp": np.exp,
    "tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "erf": verf, "sin": np.sin, "cos": np.cos,
    "gelu": lambda a: 0.5 * a * (1 + verf(a / np.sqrt(2))), "abs": np.abs, "sign": np.sign,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "neg": np.negative, "exp2": np.exp2,
    "sqrt": lambda a: np.sqrt(np.abs(a)), "log": lambda a: np.log(np.abs(a) + 1),
    "atan": np.arctan, "asinh": np.arcsinh, "softplus": lambda a: np.logaddexp(a, 0), "expm1": np.expm1, "trunc": np.trunc,
    "log1p": lambda a: np.log1p(np.abs(a)),
}
WRAP = {"sqrt": "sqrt(abs(%s))", "log": "log(abs(%s) + 1)", "log1p": "log1p(abs(%s))"}
BINARY = {
    "+": np.add, "-": np.subtract, ".*": np.multiply, "<": lambda a, b: (a < b) * 1.0,
    ">=": lambda a, b: (a >= b) * 1.0, "max": np.maximum, "min": np.minimum,
    "/": lambda a, b: a / (np.abs(b) + 1), "hypot": np.hypot,
}


def build(depth, leaves):
    """Returns (text, values)."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.2:
            number = round(float(rng.uniform(-2, 2)), 3)
            return "(%r)" % number, np.float64(np.float32(number))
        i = int(rng.integers(len(leaves)))
        return "x%d" % i, leaves[i].astype(float)
    if rng.random() < 0.5:
        name = str(rng.choice(list(UNARY)))
        text, value = build(depth - 1, leaves)
        return WRAP.get(name, name + "(%s)") % text, UNARY[name](np.clip(value, -20, 20)) if name in (
            "exp", "exp2") else UNARY[name](value)
    name = str(rng.choice(list(BINARY)))
    a, va = build(depth - 1, leaves)
    b, vb = build(depth - 1, leaves)
    if name.isalpha():
        return "%s(%s, %s)" % (name, a, b), BINARY[name](va, vb)
    if name == "/":
        return "(%s / (abs(%s) + 1))" % (a, b), BINARY[name](va, vb)
    return "(%s %s %s)" % (a, name, b), BINARY[name](va, vb)


for trial in range(count):
    rank = int(rng.integers(0, 4))
    full = [int(v) for v in rng.integers(1, 20, rank)]
    leaves, program, cuts = [], "", draw_cuts(rng.integers, rank)
    symbolic = rank > 0 and rng.random() < 0.4
    if symbolic:
        program += "dim n\n"
    for i in range(3):
        shape = list(full[int(rng.integers(0, rank + 1)):]) if i else list(full)
        texts = [str(s) for s in shape]
        for axis in range(len(shape)):
            if i and rng.random() < 0.3:
                shape[axis], texts[axis] = 1, "1"
        if symbolic and len(shape) == rank and (i == 0 or shape[0] == full[0]):
            texts[0] = "n"
        if symbolic and len(shape) == rank and texts[0] == "1" and i == 0:
            texts[0] = "n"
        leaves.append(rng.standard_normal(shape).astype(np.float32))
        program += "input x%d : [%s]\n" % (i, in_rows(texts, [max(c - rank + len(texts), 0) for c in cuts]))
    with np.errstate(all="ignore"):
        text, value = build(4, leaves)
        want = value + leaves[0] + leaves[1] * 0 + leaves[2] * 0
    if not np.all(np.isfinite(want)) or np.abs(want).max(initial=0) > 1e4 or "exp" in text:
        text, want = "x0 .* x1 + x2", leaves[0].astype(float) * leaves[1] + leaves[2]
    else:
        text = "%s + x0 + x1 .* 0 + x2 .* 0" % text
    # Comparisons and steps of nearly equal values differ between precisions: nudge by recomputing in f32 elsewhere.
    steps = any(s in text for s in ("<", ">=", "floor", "ceil", "round", "trunc", "sign"))
    if steps:
        text, want = "max(x0, x1) - min(x1, x2) .* sigmoid(x2)", np.maximum(
            leaves[0], leaves[1]) - np.minimum(leaves[1], leaves[2]) / (1 + np.exp(-leaves[2].astype(float)))
    program += "output y = %s\n" % text
    model = Model(program, ["-O%d" % rng.integers(0, 4)])
    got, = model.forward([full[0]] if symbolic else [], leaves, [(np.shape(want), np.float32)])
    check("seed %d trial %d\n%s" % (seed, trial, program), got, want, 1e-4)
print("%d elementwise programs agree with NumPy" % count)
