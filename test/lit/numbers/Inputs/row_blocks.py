"""Attention and its kin, in blocks of rows, against NumPy in f64: every number of rows around a block, the same
bits on any number of threads, uncut, for a row alone, and for rows as a number."""
import random
import sys

import numpy as np

from tsrlib import Model, check, pool_call

random.seed(7)
RNG = np.random.default_rng(7)
ROWS = [0, 1, 2, 15, 16, 63, 64, 65, 70, 127, 128, 131, 200]
NUMBERS = [1, 3, 8, 15, 16, 70]
KEYS = [1, 2, 7, 16, 31, 64, 97]
MARCHES = ["x86-64", "x86-64-v3", "native"]
SOFTMAX = """
fn soft(x) = let e = exp(x - reduce(max, "... | ..o.., v => ... | ..o.., 0", x))
    in e .* recip(sum("... | ..o.., v => ... | ..o.., 0", e))
"""


def soft(x):
    e = np.exp(x - x.max(-1, keepdims=True)) if x.shape[-1] else x
    return e / e.sum(-1, keepdims=True)


def causal(x):
    """[s, h, t], hiding t > s."""
    s, _, t = x.shape
    return np.where(np.arange(s)[:, None, None] >= np.arange(t), x, -np.inf)


def two_parts(q, k, v):
    """Past keys, then new ones (q itself) up to each position."""
    a, b = np.einsum("shd,thd->sht", q, k), causal(np.einsum("shd,thd->sht", q, q))
    return np.einsum("sht,thd->shd", soft(np.concatenate([a, b], 2)), np.concatenate([v, q]))


# name, statements over q, k, v, the operands' axes, what NumPy makes of them
PROGRAMS = [
    ("heads outside", """let p = soft(einsum("h, s | d; h, t | d => h, s | t", q, k) / 3)
output y = einsum("h, s | t; h, t | d => h, s | d", p, v)""", "[3, n | 12]", "[3, m | 12]", "[3, m | 20]",
     lambda q, k, v: np.einsum("hst,htd->hsd", soft(np.einsum("hsd,htd->hst", q, k) / 3), v)),
    ("heads inside, causal", """let a = einsum("s | h, d; t | h, d => s | h, t", q, k) / 3
let p = soft(where(sum("s => s | ", range(n)) >= range(m), a, -inf))
output y = einsum("s | h, t; t | h, d => s | h, d", p, v)""", "[n | 4, 8]", "[m | 4, 8]", "[m | 4, 8]",
     lambda q, k, v: np.einsum("sht,thd->shd", soft(causal(np.einsum("shd,thd->sht", q, k) / 3)), v)),
    ("keys are columns", """let p = soft(einsum("b, h, s | d; b, h, d | t => b, h, s | t", q, k))
output y = relu(einsum("b, h, s | t; b, h, t | d => b, h, s | d", p, v)) - 0.5""",
     "[2, 2, n | 5]", "[2, 2, 5 | m]", "[2, 2, m | 33]",
     lambda q, k, v: np.maximum(np.einsum("bhst,bhtd->bhsd", soft(np.einsum("bhsd,bhdt->bhst", q, k)), v), 0) - 0.5),
    ("whole lanes", """let p = soft(einsum("h, s | d; h, t | d => h, s | t", q, k) / 3)
output y = einsum("h, s | t; h, t | d => h, s | d", p, v)""", "[3, n | 32]", "[3, m | 32]", "[3, m | 20]",
     lambda q, k, v: np.einsum("hst,htd->hsd", soft(np.einsum("hsd,htd->hst", q, k) / 3), v)),
    ("one key for all heads", """let p = soft(einsum("h, s | d; t | d => h, s | t", q, k))
output y = einsum("h, s | t; t | d => h, s | d", p, v)""", "[5, n | 16]", "[m | 16]", "[m | 16]",
     lambda q, k, v: np.einsum("hst,td->hsd", soft(np.einsum("hsd,td->hst", q, k)), v)),
    ("one head", """let a = einsum("s | d; t | d => s | t", q, k)
let r = a .* rsqrt(sum("s | t => s | 0", a .* a) + 1)
output y = einsum("s | t; d, t => s | d", r, v)""", "[n | 24]", "[m | 24]", "[9, m]",
     lambda q, k, v: (lambda a: (a / np.sqrt((a * a).sum(-1, keepdims=True) + 1)) @ v.T)(q @ k.T)),
    ("past and new keys, causal", """let old = einsum("s | h, d; t | h, d => s | h, t", q, k)
let new = where(sum("s => s | ", range(n)) >= range(n), einsum("s | h, d; t | h, d => s | h, t", q, q), -inf)
let top = max(reduce(max, "s | h, t => s | h, 0", old), reduce(max, "s | h, t => s | h, 0", new))
let a = exp(old - top)
let b = exp(new - top)
let total = sum("s | h, t => s | h, 0", a) + sum("s | h, t => s | h, 0", b)
output y = (einsum("s | h, t; t | h, d => s | h, d", a, v) + einsum("s | h, t; t | h, d => s | h, d", b, q)) / total""",
     "[n | 4, 8]", "[m | 4, 8]", "[m | 4, 8]", two_parts),
    ("two sets of keys", """let first = einsum("s | h, d; t | h, d => s | h, t", q, k)
let second = einsum("s | h, d; t | h, d => s | h, t", q, v)
let top = max(reduce(max, "s | h, t => s | h, 0", first), reduce(max, "s | h, t => s | h, 0", second))
let a = exp(first - top)
let b = exp(second - top)
let total = sum("s | h, t => s | h, 0", a) + sum("s | h, t => s | h, 0", b)
output y = (einsum("s | h, t; t | h, d => s | h, d", a, v) + einsum("s | h, t; t | h, d => s | h, d", b, k)) / total""",
     "[n | 4, 16]", "[m | 4, 16]", "[m | 4, 16]",
     lambda q, k, v: np.einsum("sht,thd->shd", soft(np.einsum("shd,thd->sht", q, np.concatenate([k, v]))),
                               np.concatenate([v, k]))),
    ("no sums between", """let p = sigmoid(einsum("h, s | d; h, t | d => h, s | t", q, k))
output y = einsum("h, s | t; h, t | d => h, s | d", p, v)""", "[3, n | 12]", "[3, m | 12]", "[3, m | 20]",
     lambda q, k, v: np.einsum("hst,htd->hsd", 1 / (1 + np.exp(-np.einsum("hsd,htd->hst", q, k))), v)),
]


def sizes(text, n, m):
    return [{"n": n, "m": m}.get(a) or (0 if a in "nm" else int(a))
            for a in text.strip("[]").replace("|", ",").replace(" ", "").split(",")]


def model_of(program, dtype, n, m, *flags):
    name, body, q, k, v, _ = program
    head = "".join("dim %s%s\n" % (d, "" if size is None else " = %d" % size) for d, size in (("n", n), ("m", m)))
    inputs = "".join("input %s : %s %s\n" % (d, dtype, t) for d, t in (("q", q), ("k", k), ("v", v)))
    return Model(head + inputs + SOFTMAX + body + "\n", list(flags))


def operands(program, dtype, n, m):
    q, k, v = (RNG.standard_normal(sizes(t, n, m)).astype(dtype) for t in program[2:5])
    want = program[5](*(x.astype(np.float64) for x in (q, k, v)))
    return [q, k, v], want


def same_bits(program, models, n, m, inputs, want, dtype):
    """Of all models and numbers of threads."""
    seen = set()
    for model in models:
        for threads in (None, 2, 3):
            model.call = threads and CALLS[threads]
            y, = model.forward([n, m], inputs, [(want.shape, dtype)])
            seen.add(y.tobytes())
    if len(seen) > 1:
        sys.exit("%s [%d, %d]: other bits" % (program[0], n, m))
    return y


def row_alone(program, model, n, m, inputs, y, dtype):
    axis = sizes(program[2], -7, m).index(-7)
    row = random.randrange(n)
    alone = [np.ascontiguousarray(inputs[0].take([row], axis)), *inputs[1:]]
    one, = model.forward([1, m], alone, [(y.take([row], axis).shape, dtype)])
    if "causal" not in program[0] and one.tobytes() != y.take([row], axis).tobytes():
        sys.exit("%s [%d, %d]: row %d alone has other bits" % (program[0], n, m, row))


def known_rows(program, n, march, symbolic, dtype):
    """As a number: the bits that a dim gives, where keys are not as many."""
    m = random.choice([key for key in KEYS if key != n])
    numpy_type = {"f32": np.float32, "f64": np.float64}[dtype]
    inputs, want = operands(program, numpy_type, n, m)
    y, = symbolic.forward([n, m], inputs, [(want.shape, numpy_type)])
    one, = model_of(program, dtype, n, None, march, "-O0").forward([m], inputs, [(want.shape, numpy_type)])
    if one.tobytes() != y.tobytes():
        sys.exit("%s [%d, %d]: other bits than with a dim" % (program[0], n, m))


def run():
    compared = 0
    for number, program in enumerate(PROGRAMS):
        for dtype in ("f64",) if number % 3 == 2 else ("f32",):
            numpy_type = {"f32": np.float32, "f64": np.float64}[dtype]
            march = "-march=" + MARCHES[(number + number // 3) % 3]
            models = [model_of(program, dtype, None, None, march, *how) for how in (("--grain=0", "-O0"), ("--grain=1000",))]
            for n in ROWS:
                m = random.choice(KEYS)
                inputs, want = operands(program, numpy_type, n, m)
                y = same_bits(program, models, n, m, inputs, want, numpy_type)
                check("%s [%d, %d] %s" % (program[0], n, m, dtype), y, want, 3e-5)
                if n > 1:
                    row_alone(program, models[0], n, m, inputs, y, numpy_type)
                compared += 1
            if "past" not in program[0]:  # where rows are keys as well, sums are known
                known_rows(program, NUMBERS[5 * number % 6], march, models[0], dtype)
        if number % 2:
            continue
        n, m = random.choice(ROWS[4:]), random.choice(KEYS)
        inputs, want = operands(program, np.float32, n, m)
        y, = model_of(program, "f32", n, m, "-O0").forward([], inputs, [(want.shape, np.float32)])
        check("%s of %d, %d" % (program[0], n, m), y, want, 3e-5)
        compared += 1
    print("%d row blocks agree with NumPy" % compared)


CALLS = {threads: pool_call(threads) for threads in (2, 3)}
run()
