"""Random row programs (softmax and its kin) against NumPy in f64; a row alone has the bits of a row in a batch."""
import random
import sys

import numpy as np

from tsrlib import Model, check

random.seed(11)
RNG = np.random.default_rng(11)
SIZES = [0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 61, 64, 65, 100, 127, 128, 129, 257, 336, 383]
MARCHES = ["x86-64", "x86-64-v3", "native"]
OVER = '"... | v => ... | 0"'


def m(x):
    return x.max(-1, keepdims=True)


def s(x):
    return x.sum(-1, keepdims=True)


def variance(x):
    return s((x - s(x) / x.shape[-1]) ** 2) / x.shape[-1]


# name, statements of the program, what NumPy makes of x, f32 results with an axis v
PROGRAMS = [
    ("softmax", "let e = exp(x - reduce(max, OVER, x))\noutput y = e / sum(OVER, e)",
     lambda x: np.exp(x - m(x)) / s(np.exp(x - m(x)))),
    ("log softmax", "let t = x - reduce(max, OVER, x)\noutput y = t - log(sum(OVER, exp(t)))",
     lambda x: x - m(x) - np.log(s(np.exp(x - m(x))))),
    ("layer norm", "let d = x - sum(OVER, x) / n\noutput y = d .* rsqrt(sum(OVER, d .* d) / n + 0.01)",
     lambda x: (x - s(x) / x.shape[-1]) / np.sqrt(variance(x) + 0.01)),
    ("RMS norm", "output y = x .* rsqrt(sum(OVER, x .* x) / n + 0.01)",
     lambda x: x / np.sqrt(s(x * x) / x.shape[-1] + 0.01)),
    ("flat first", "let e = exp(x)\noutput y = e / sum(OVER, e)", lambda x: np.exp(x) / s(np.exp(x))),
    ("flat last", "let e = exp(x) + reduce(min, OVER, x)\nlet t = sum(OVER, e)\noutput y = e .* e - t",
     lambda x: (np.exp(x) - m(-x)) ** 2 - s(np.exp(x) - m(-x))),
    ("twice", "let e = exp(x - reduce(max, OVER, x))\nlet p = e / sum(OVER, e)\noutput y = p - sum(OVER, p .* x)",
     lambda x: (lambda p: p - s(p * x))(np.exp(x - m(x)) / s(np.exp(x - m(x))))),
    ("greatest, least", "output y = (reduce(max, OVER, x) - reduce(min, OVER, x .* x)) .* x",
     lambda x: (m(x) + m(-x * x)) * x),
    ("product", "output y = reduce(prod, OVER, abs(x) * 0.01 + 1) .* x",
     lambda x: np.prod(np.abs(x) * 0.01 + 1, -1, keepdims=True) * x),
    ("rows of another", "let w = sum(\"b | v => | v\", x)\noutput y = (x - w) .* sum(OVER, x .* w)",
     lambda x: (x - x.sum(0)) * s(x * x.sum(0))),
]


def model_of(program, rows, elements, symbolic, march):
    head = "dim r\ndim n\n" if symbolic else "dim r = %d\ndim n = %d\n" % (rows, elements)
    text = head + "input x : [r | n]\n" + program[1].replace("OVER", OVER) + "\n"
    return Model(text, ["-march=" + march])


def first_greatest(x):
    """The index of the first greatest element of each row, never of a NaN; 0 where nothing is above -inf."""
    known = np.where(np.isnan(x), -np.inf, x)
    return np.where(known.max(-1) == -np.inf, 0, known.argmax(-1)).astype(np.int32)


def run_argmax():
    text = "input x : [r | n]\noutput y = argmax(\"b | v => b |\", x)\noutput z = argmax(\"b | v => | v\", -x)\n" \
        "output u = argmin(\"b | v => b |\", x)\noutput v = argmin(\"b | v => | v\", -x)\n"
    for march in MARCHES:
        symbolic = Model("dim r\ndim n\n" + text, ["-march=" + march])
        for elements in SIZES[1:]:
            known = elements in (63, 64, 129, 257)
            model = Model("dim r = 9\ndim n = %d\n" % elements + text, ["-march=" + march]) if known else symbolic
            x = RNG.integers(-20, 4, (9, elements)).astype(np.float32)  # many equals
            x[RNG.random(x.shape) < 0.1] = np.nan
            x[RNG.random(x.shape) < 0.1] = -np.inf
            x[7], x[8] = np.nan, -np.inf
            y, z, u, v = model.forward([] if known else [9, elements], [x], 2 * [((9,), np.int32), ((elements,), np.int32)])
            check("argmax [9 | %d] %s" % (elements, march), y, first_greatest(x))
            check("argmax over rows [9 | %d] %s" % (elements, march), z, first_greatest(-x.T))
            check("argmin [9 | %d] %s" % (elements, march), u, first_greatest(-x))
            check("argmin over rows [9 | %d] %s" % (elements, march), v, first_greatest(x.T))


def run(count):
    for number in range(count):
        program = PROGRAMS[number % len(PROGRAMS)]
        rows, elements = random.choice(SIZES[:9]), random.choice(SIZES[1:])
        symbolic = random.random() < 0.5
        model = model_of(program, rows, elements, symbolic, MARCHES[number % 3])
        for _ in range(3 if symbolic else 1):
            x = (RNG.standard_normal((rows, elements)) * 3).astype(np.float32)
            dims = [rows, elements] if symbolic else []
            y, = model.forward(dims, [x], [(x.shape, np.float32)])
            want = program[2](x.astype(np.float64)) if x.size else x
            check("%s [%d | %d] %s" % (program[0], rows, elements, MARCHES[number % 3]), y, want, 2e-5)
            if symbolic and rows > 1 and program[0] != "rows of another":
                alone, = model.forward([1, elements], [x[1:2]], [((1, elements), np.float32)])
                if alone.tobytes() != y[1:2].tobytes():
                    print("%s: a row of %d alone has other bits" % (program[0], elements))
                    sys.exit(1)
            rows, elements = random.choice(SIZES), random.choice(SIZES[1:])
    print("%d row programs agree with NumPy" % count)


run_argmax()
run(int(sys.argv[1]))
