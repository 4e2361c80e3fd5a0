"""Loops of functions as explicit vectors: every number has the bits that the compiler's own vectors and single elements
give it (-march=x86-64-v3), whatever the length, and nothing behind the end of a tensor is written."""
import sys

import numpy as np

from tsrlib import Model

RNG = np.random.default_rng(9)
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 88.7, 88.8, -87.4, -103.9, -104, 200, -200, 3e38, -3e38, 1,
                    127.9, 128, -149, -150, -126.5, 5, -5, 9.2], np.float32)
LENGTHS = [1, 3, 4, 7, 15, 16, 17, 48, 63, 64, 65, 80, 127, 130, 1000]
FUNCTIONS = ["exp", "exp2", "log", "log2", "tanh", "sigmoid", "erf", "gelu", "log1p", "expm1", "softplus", "sinh",
             "cosh", "asinh", "acosh", "atanh", "atan", "asin", "acos"]
PROGRAMS = ["%s(x)" % f for f in FUNCTIONS] + [
    "gelu(x .* y + x) .* y + 1",
    "where(x < y, exp(x), tanh(y) / x)",
    "max(exp(x), y) - abs(log(x)) + sqrt(y)",
    "sin(x) + exp(y)",
    "bf16(exp(x)) + y",
    "log(1 + exp(x)) + y .* sigmoid(y)",
]


def numbers(n):
    x = (RNG.standard_normal(n) * 2.0 ** RNG.integers(-20, 8, n)).astype(np.float32)
    some = RNG.random(n) < 0.3
    x[some] = RNG.choice(SPECIAL, some.sum())
    return x


def same_bits(a, b):
    return (a.view(np.int32) == b.view(np.int32)) | (np.isnan(a) & np.isnan(b))


def compare(name, models, dims, x, y, outputs):
    n = x.size
    got = [m.forward(dims, [x, y], [((n + 16,), np.float32)] * outputs) for m in models]
    for a, b in zip(*got):
        if not same_bits(a[:n], b[:n]).all():
            at = np.flatnonzero(~same_bits(a[:n], b[:n]))[0]
            print("%s: %r and %r of %r, %r (%d of %d)" % (name, a[at], b[at], x[at], y[at], at, n))
            sys.exit(1)
        if not (a[n:] == 77).all():
            print("%s: elements behind the %d that there are have been written" % (name, n))
            sys.exit(1)


def models_of(text):
    return [Model(text, [*sys.argv[1:], *march]) for march in ((), ("-march=x86-64-v3",))]


HEAD = "import nn\ndim n\ninput x : [n]\ninput y : [n]\n"
for program in PROGRAMS:
    models = models_of(HEAD + "output z = %s\n" % program)
    for length in LENGTHS:
        compare(program, models, [length], numbers(length), numbers(length), 1)
models = models_of(HEAD + "let e = exp(x)\noutput u = e / (1 + e) + log(e + y)\noutput v = tanh(e)\n")
for length in LENGTHS:
    compare("two outputs", models, [length], numbers(length), numbers(length), 2)
for rows, length in ((5, 4), (3, 10), (2, 64), (2, 100), (1, 240)):
    text = "import nn\ninput x : [%d | %d]\ninput y : [%d | %d]\n" % (rows, length, rows, length)
    models = models_of(text + "output z = nn.softmax(x .* 0.1) + exp(x) .* sigmoid(y .* sum(\"r | c => r | 0\", x))\n")
    compare("rows of %d" % length, models, [], numbers(rows * length), numbers(rows * length), 1)
print("wide and narrow agree")
