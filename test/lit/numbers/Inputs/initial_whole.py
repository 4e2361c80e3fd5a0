"""Initialisers that add up and read parameters, against NumPy: random shapes in all three rows, sizes 0 and 1, fixed and
symbolic, with copies in the state and without."""
import random
import sys

import numpy as np

from threefry import normals, stream
from tsrlib import Model, check

# The axes of a tensor in memory: batch b, output o, input i.
SOURCE = """dim rows
%sinput x : [rows | %s]
param base : [%s | %s -> %s] = normal()
param half : [%s | %s -> %s] = 0.5 * base
param same : [%s | %s -> %s] = half
param unit : [%s | %s -> %s] = let r = normal() in r / sqrt(1e-9 + sum(r ** 2))
param drawn : [%s | %s -> %s]
param centred : [%s | %s -> %s] = drawn - sum("b | i -> o => b | i -> 0", drawn) / %s
param soft : [%s | %s -> %s] = let e = exp(base) in e / sum("b | i -> o => b | 0 -> o", e)
param flat : [%s] = sum("b | i -> o => b", base ** 2)
param ranked : [%s | %s -> %s] = sort("b | i -> [o] => b | i -> o", base)
param grown : [%s | %s -> %s] = cumulate(sum, "b | [i] -> o => b | i -> o", base)
param gram : [%s | %s -> %s] = einsum("b | i -> o; b | i -> u => b | o -> u", base, same)
param low : [%s | %s -> %s] = einsum("b | k -> o; b | i -> k; b => b | i -> o", uniform(), uniform(), flat) with (k = 3)
param first : [%s -> %s] = base @ 0
param steps : [%s | %s -> %s] = scan(3, h = base, i) { 0.5 * h + i .* sum("b | i -> o => b | i -> 0", same) }
param rooted : [] = let (h, k) = scan(9, h = 2.0 * sum(flat) + 1) until (h > 1e6) { 10 * h } in h + k
fn gate()(x) = x .* {g : [] = sum(base)}
let l = gate()
param after : [] = 2 * l.g
output y = x
output base_ = base, half_ = half, same_ = same, unit_ = unit, drawn_ = drawn, centred_ = centred, soft_ = soft
output steps_ = steps, rooted_ = rooted
output flat_ = flat, ranked_ = ranked, grown_ = grown, gram_ = gram, low_ = low
%soutput g_ = l(1), after_ = after
"""
F = np.float32


def expected(b, i, o, seed):
    def drawn(name, *shape):
        n = int(np.prod(shape))
        return stream(name, seed, n).reshape(shape), normals(name, seed, n).reshape(shape)
    base = drawn("base", b, o, i)[1]
    r = drawn("unit", b, o, i)[1]
    uniform = (F(2) * drawn("drawn", b, o, i)[0] - F(1)) * F(1 / np.sqrt(max(i, 1)))
    e = np.exp(base)
    flat = (base ** 2).sum((1, 2))
    gram = F(0.5) * np.einsum("boi,bui->buo", base, base)
    low = np.einsum("bok,bki,b->boi", drawn("low", b, o, 3)[0], drawn("low_2", b, 3, i)[0], flat)
    steps, rooted = base, F(2) * flat.sum() + F(1)
    for k in range(3):
        steps = F(0.5) * steps + F(0.5) * F(k) * base.sum(1, keepdims=True)
    count = next(k for k in range(1, 10) if k == 9 or rooted * F(10) ** k > 1e6)
    rooted = rooted * F(10) ** count + count
    results = [base, base / F(2), base / F(2), r / np.sqrt(F(1e-9) + (r ** 2).sum()), uniform,
               uniform - uniform.sum(1, keepdims=True) / F(max(o, 1)), e / e.sum(2, keepdims=True), steps, rooted, flat,
               np.sort(base, 1), base.cumsum(2), gram, low]
    return results + ([base[0]] if b else []) + [base.sum(), 2 * base.sum()]


def run(number):
    b, i, o = random.choice([0, 1, 2, 3]), random.choice([0, 1, 2, 5, 33]), random.choice([0, 1, 3, 4, 40])
    symbolic = number % 3 == 0
    names = ["b", "i", "o"] if symbolic else [b, i, o]
    shape, gram = [*names], [names[0], names[2], names[2]]
    first = "param first : [%s -> %s] = base @ 0\n" % tuple(names[1:])
    source = SOURCE.replace("param first : [%s -> %s] = base @ 0\n", first if b and not symbolic else "")
    fields = ["dim b, i, o\n" if symbolic else "", 2, *(6 * shape), max(o, 1), *shape, names[0], *(2 * shape), *gram, *shape, *shape,
              "output first_ = first\n" if b and not symbolic else ""]
    options = random.choice([[], ["--no-prepack"], ["--policy=none"], ["--fp=strict"], ["--shuffle=3"], ["-march=x86-64-v3"]])
    model = Model(source % tuple(fields), ["-Wno-all", *options])
    dims = [b, i, o] if symbolic else []
    seed = random.choice([0, 5, 2 ** 40 + 1])
    want = expected(b, i, o, seed)
    if symbolic and b:
        del want[-3]
    results = model.forward([1, *dims], [np.ones((1, 2), F)], [((1, 2), F), *[(np.shape(w), F) for w in want]],
                            model.init(dims, seed))
    for k, (got, reference) in enumerate(zip(results[1:], want)):
        check("%d of %s %s" % (k, (b, i, o), options), got, reference, 2e-5)


def orthogonal():
    """Newton and Schulz: rows of length 1 that meet at right angles."""
    model = Model("input x : [40]\nparam w : [40 -> 12] = let g = normal() in let s = g / sqrt(sum(g ** 2)) in\n"
                  "    iterate(24, q = s) { 1.5 * q - 0.5 * (q * (q.T * q)) }\noutput y = w * x\noutput z = w\n")
    _, w = model.forward([], [np.zeros(40, F)], [((12,), F), ((12, 40), F)], model.init([], 4))
    check("orthogonal", w @ w.T, np.eye(12), 1e-5)
    assert np.abs(w).max() > 0.2


random.seed(5)
if __name__ == "__main__":
    orthogonal()
    for count in range(int(sys.argv[1])):
        run(count)
    print("%s programs agree" % sys.argv[1])
