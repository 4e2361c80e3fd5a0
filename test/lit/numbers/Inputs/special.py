"""Choices and extremes in vectors at NaN, infinities and zeros of both signs: bit for bit what language.md says."""
import itertools

import numpy as np

from tsrlib import Model

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 6.0, 0.5, 1e-40]
ZERO, ONE, C = np.float64(0), np.float64(1), np.where
OPS = {
    "max(m, b)": lambda m, b: C((m > b) | np.isnan(m), m, b),
    "min(m, b)": lambda m, b: C((m < b) | np.isnan(m), m, b),
    "max(m, 0)": lambda m, b: C((m > 0) | np.isnan(m), m, ZERO),
    "max(0, m)": lambda m, b: C(0 > m, ZERO, m),
    "min(m, 6)": lambda m, b: C((m < 6) | np.isnan(m), m, 6),
    "min(relu(m), 6)": lambda m, b: C(C(m < 0, ZERO, m) >= 6, 6, C(m < 0, ZERO, m)),
    "relu(m)": lambda m, b: C(m < 0, ZERO, m),
    "relu_gate(m, b)": lambda m, b: C(m > 0, b, ZERO),
    "sat01(m)": lambda m, b: C(m < 0, ZERO, C(m > 1, ONE, m)),
    "sat01_gate(m, b)": lambda m, b: C((m > 0) & (m < 1), b, ZERO),
    "where(m, b, 2)": lambda m, b: C(m != 0, b, 2),
    "sign(m)": lambda m, b: C(m > 0, ONE, C(m < 0, -ONE, ZERO)),
    "abs(m) - b": lambda m, b: np.abs(m) - b,
    "!m + (m == b) + 2 .* (m != b)": lambda m, b: ONE * (m == 0) + (m == b) + 2.0 * (m != b),
    "(m < b) + 2 .* (m <= b) + 4 .* (m > b) + 8 .* (m >= b)":
        lambda m, b: ONE * (m < b) + 2 * (m <= b) + 4 * (m > b) + 8 * (m >= b),
    "(m && b) + 2 .* (m || b)": lambda m, b: ONE * ((m != 0) & (b != 0)) + 2.0 * ((m != 0) | (b != 0)),
    "sqrt(m)": lambda m, b: np.sqrt(m),
}

pairs = np.array(list(itertools.product(SPECIAL, repeat=2)))
wrong = total = 0
np.seterr(all="ignore")
for march, (dtype, kind) in itertools.product(["x86-64", "x86-64-v3", "native"],
                                              [("f32", np.float32), ("f64", np.float64)]):
    n = len(pairs)
    source = "input x : %s [4 | 8]\ninput w : %s [8, %d]\ninput m : %s [4 | %d]\ninput b : %s [4 | %d]\n" % (
        dtype, dtype, n, dtype, n, dtype, n) + 'let s = einsum("... | k; k, o => ... | o", x, w)\n'
    for number, op in enumerate(OPS):
        source += "output r%d = where(s == 0, %s, s)\n" % (number, op)
    m, b = (np.tile(pairs[:, i].astype(kind), (4, 1)) for i in (0, 1))
    results = Model(source, ["-march=" + march]).forward(
        [], [np.zeros((4, 8), kind), np.zeros((8, n), kind), m, b], [((4, n), kind)] * len(OPS))
    for (op, meaning), got in zip(OPS.items(), results):
        want = meaning(m, b).astype(kind)
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
        total += 1
        if not same.all():
            wrong += 1
            at = tuple(np.argwhere(~same)[0])
            print("wrong: %s %s %s at %r, %r: %r" % (march, dtype, op, m[at], b[at], got[at]))
print("%d results, %d wrong" % (total, wrong))
