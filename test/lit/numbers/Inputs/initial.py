"""Parameters that start with an expression, against NumPy's Threefry: every dtype, sizes around four, fixed and
symbolic, with copies in the state and without."""
import ctypes
import random
import sys

import numpy as np

from threefry import normals, stream, threefry, uniform, words
from tsrlib import Model, check, from_bf16, to_bf16

SEEDS = [0, 1, 77, 2 ** 63 + 12345678901]


def named(name, seed, n):
    """The numbers of uniform() and normal() in the initialiser of a parameter."""
    seed = seed - 2 ** 64 if seed >= 2 ** 63 else seed
    return stream(name, seed, n), normals(name, seed, n)


def rows(shape):
    """[input -> output] is stored output first."""
    return shape[1], shape[0]


F = np.float32
# expression, reference of (uniform, normal, their second streams, storage shape (o, i), dims i and o)
FORMS = [
    ("normal()", lambda u, z, u2, z2, o, i: z, 2e-6),
    ("uniform()", lambda u, z, u2, z2, o, i: u, 0),
    ("2 * uniform() - 1", lambda u, z, u2, z2, o, i: F(2) * u - F(1), 1e-7),
    ("sqrt(2 / i) * normal()", lambda u, z, u2, z2, o, i: np.sqrt(F(2) / F(i)) * z, 2e-6),
    ("normal() / sqrt(i + out)", lambda u, z, u2, z2, o, i: z / np.sqrt(F(i) + F(o)), 2e-6),
    ("uniform() + normal()", lambda u, z, u2, z2, o, i: u + z2, 2e-6),
    ("where(uniform() < 0.25, normal(), 0.5)", lambda u, z, u2, z2, o, i: np.where(u < F(0.25), z2, F(0.5)), 2e-6),
    ("let z = uniform() in z .* z - z", lambda u, z, u2, z2, o, i: u * u - u, 1e-6),
    ("sin(offsets())", lambda u, z, u2, z2, o, i: np.sin(np.arange(o * i)), 1e-5),
    ("0.5 * range(out)", lambda u, z, u2, z2, o, i: np.repeat(F(0.5) * np.arange(o), i), 0),
    ("uniform() + range(out)", lambda u, z, u2, z2, o, i: u + np.repeat(np.arange(o), i).astype(F), 1e-6),
    ("where(offsets() % 3 == 0, uniform(), -1)", lambda u, z, u2, z2, o, i: np.where(np.arange(o * i) % 3 == 0, u, F(-1)), 0),
    ("uint4x32_to_uniform(threefry4x32(5, offsets()))",
     lambda u, z, u2, z2, o, i: uniform(threefry(words(5), words(np.arange(o * i)))[..., 0]), 0),
    ("einsum(\"a; b => b -> a\", range(out), 1.5 + range(i))",
     lambda u, z, u2, z2, o, i: np.outer(np.arange(o), 1.5 + np.arange(i)), 1e-6),
    ("half(normal()) - 1", lambda u, z, u2, z2, o, i: F(0.5) * z - F(1), 2e-6),
    ("0.02", lambda u, z, u2, z2, o, i: np.full(o * i, 0.02), 1e-7),
]

SOURCE = """dim n
%sfn half(x) = 0.5 * x
input x : [n | %s]
fn layer(out)(x) = {w : %s[..i.. -> out] = %s} * x
let here = layer(%s)
output y = here(x)
"""
STORED = {"f32": F, "f64": np.float64, "bf16": np.uint16, "f16": np.float16}


def run(number, march):
    text, reference, tolerance = FORMS[number % len(FORMS)]
    dtype = random.choice(["f32", "f32", "f64", "bf16", "f16"])
    columns, out = random.choice([1, 2, 3, 5, 64]), random.choice([1, 2, 3, 4, 5, 33])
    symbolic = number % 3 == 0
    dims = "dim i\ndim o\n" if symbolic else ""
    source = SOURCE % (dims, "i" if symbolic else columns, dtype + " ", text, "o" if symbolic else out)
    if symbolic:
        source = source.replace("..i..", "i")
    options = ["-march=" + march] + random.choice([[], ["--no-prepack"], ["--fp=strict"], ["--shuffle=3"]])
    model = Model(source, options)
    for seed in SEEDS:
        state = model.init([columns, out] if symbolic else [], seed)
        size = columns * out
        u, z = named("here.w", seed, size)
        u2, z2 = named("here.w_2", seed, size)
        want = np.asarray(reference(u, z, u2, z2, out, columns)).ravel().astype(np.float64)
        got = state[:size * np.dtype(STORED[dtype]).itemsize].view(STORED[dtype])
        near = max(tolerance, {"f32": 0, "f64": 0, "bf16": 2 ** -8, "f16": 2 ** -10}[dtype])
        got = (from_bf16(got) if dtype == "bf16" else got).astype(np.float64)
        check("%s %s %dx%d %s" % (text, dtype, columns, out, options), got, want, near)


def integers():
    model = Model("input x : i32 [5]\nparam a : i32 [5] = range(5)\nparam b : u8 [5] = 250 + range(5)\n"
                  "param c : i8 [5] = i8(-2 * range(5))\nparam d : i32 [5] = i32(100 * uniform())\n"
                  "param e : i32 [5] = [7, 0, -1, 2, 3]\noutput y = a + b + c + d + e + x\n")
    state = model.init([], 9)
    place = [np.arange(5), 250 + np.arange(5), -2 * np.arange(5), np.trunc(F(100) * stream("d", 9, 5)), [7, 0, -1, 2, 3]]
    for at, (want, dtype) in enumerate(zip(place, "iBbii")):
        got = state[64 * at:64 * at + 5 * np.dtype(dtype).itemsize].view(dtype)
        check("integers %s" % "abcde"[at], got.astype(np.int64), np.asarray(want).astype(np.int64))
    y, = model.forward([], [np.zeros(5, np.int32)], [((5,), np.int32)], state)
    check("their sum", y.astype(np.int64), sum(np.asarray(p).astype(np.int64) for p in place))


def like_a_let():
    """A `let` of the parameter's name draws the same numbers; so does the initialiser that is not written."""
    seed = 31
    model = Model("input s : i32 []\ninput x : [3 | 7]\nlet w = uniform(s)\noutput y = 0 .* x + w\n")
    y, = model.forward([], [np.int32([seed]), np.zeros((3, 7), F)], [((3, 7), F)])
    state = Model("input x : [3 | 7]\noutput y = {w : [7 -> 3] = uniform()} * x\n").init([], seed)
    check("a let", state[:84].view(F), y.ravel(), 0)
    old = Model("input x : [3 | 7]\noutput y = {w : [7 -> 3]} * x\n").init([], seed)
    bound = F(1 / np.sqrt(7.0))
    check("the default", old[:84].view(F), (F(2) * y.ravel() - F(1)) * bound, 1e-7)
    fixed = [Model("input x : [4]\noutput y = x + {p = normal(5)}\n").init([], s)[:16].view(F) for s in (1, 2)]
    check("a seed of its own", fixed[0], fixed[1], 0)
    check("a seed of its own", fixed[0], normals("p", 5, 4), 2e-6)


def turned():
    """A stream that is read along other axes than it is stored in has the same numbers."""
    state = Model("input x : [5]\noutput y = {w : [5 -> 5] = let z = uniform() in z + 2 * z.T} * x\n").init([], 3)
    u = stream("w", 3, 25).reshape(5, 5)
    check("turned", state[:100].view(F), (u + F(2) * u.T).ravel(), 1e-6)
    state = Model("input x : [6]\noutput y = {w : [6 -> 5] = einsum(\"a; b => b -> a\", uniform(), uniform())} * x\n").init([], 3)
    check("an outer product", state[:120].view(F), np.outer(stream("w", 3, 5), stream("w_2", 3, 6)).ravel(), 1e-7)


def dims_of_values():
    """A dim that only an initialiser uses is an argument of init; a relation that does not hold is a code."""
    model = Model("dim n\ninput x : [n | 4]\noutput y = x .* {g : [4] = n * uniform()}\n")
    check("a dim", model.init([10], 1)[:16].view(F), F(10) * stream("g", 1, 4), 1e-7)
    model = Model("dim n\nconst c = [1, 2, 3]\ninput x : [n]\noutput y = x .* {g : [n] = c .* uniform()}\n")
    check("a constant", model.init([3], 1)[:12].view(F), F([1, 2, 3]) * stream("g", 1, 3), 1e-7)
    try:
        model.init([4], 1)
        sys.exit("4 is not 3")
    except RuntimeError as error:
        assert str(error) == "code 16", error


random.seed(11)
np.seterr(over="ignore")
if __name__ == "__main__":
    integers()
    like_a_let()
    turned()
    dims_of_values()
    for count in range(int(sys.argv[1])):
        run(count, sys.argv[2 + count % (len(sys.argv) - 2)])
    print("%s initialisers agree" % sys.argv[1])
