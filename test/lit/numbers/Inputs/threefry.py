"""Threefry-4x32-20 in NumPy, from the published description, and programs of random words against it."""
import ctypes
import random
import sys

import numpy as np

from tsrlib import Model, aligned, check

ROTATIONS = [[10, 11, 13, 23, 6, 17, 25, 18], [26, 21, 27, 5, 20, 11, 10, 20]]


def threefry(key, counter):
    """Words along the last axis; keys and counters broadcast."""
    key, counter = np.broadcast_arrays(np.asarray(key, np.uint32), np.asarray(counter, np.uint32))
    parity = np.uint32(0x1BD11BDA) ^ np.bitwise_xor.reduce(key, axis=-1)
    keys = [*np.moveaxis(key, -1, 0), parity]
    x = [c + k for c, k in zip(np.moveaxis(counter, -1, 0), keys)]
    for i in range(20):
        for (a, b), turns in zip([(0, 1), (2, 3)] if i % 2 == 0 else [(0, 3), (2, 1)], ROTATIONS):
            r = np.uint32(turns[i % 8])
            x[a] = x[a] + x[b]
            x[b] = (x[b] << r | x[b] >> (np.uint32(32) - r)) ^ x[a]
        if i % 4 == 3:
            s = i // 4 + 1
            x = [x[j] + keys[(s + j) % 5] + np.uint32(s if j == 3 else 0) for j in range(4)]
    return np.stack(x, axis=-1)


def words(*parts):
    """u4x32(...) of integers: one is its 64 bits, several are a word each."""
    parts = np.broadcast_arrays(*[np.asarray(p, np.int64) for p in parts])
    if len(parts) == 1:
        parts = [parts[0], parts[0] >> 32]
    parts = [*parts, *[np.zeros_like(parts[0])] * (4 - len(parts))]
    return np.stack([(p & 0xffffffff).astype(np.uint32) for p in parts], axis=-1)


def uniform(word):
    return (np.asarray(word, np.uint32) >> np.uint32(8)).astype(np.float32) * np.float32(2 ** -24)


KNOWN = [
    ([0] * 4, [0] * 4, [0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8]),
    ([~0] * 4, [~0] * 4, [0x2a881696, 0x57012287, 0xf6c7446e, 0xa16a6732]),
    ([0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89], [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
     [0x59cd1dbb, 0xb8879579, 0x86b5d00c, 0xac8b6d84]),
]

# inputs (letters), program, reference
PROGRAMS = [
    ("i", "output y = uint4x32_to_uniform(threefry4x32(7, a))", lambda a: uniform(threefry(words(7), words(a))[..., 0])),
    ("i", "output y = uint4x32_to_uniform(threefry4x32(a, -3))",
     lambda a: uniform(threefry(words(a), words(-3))[..., 0])),
    ("ij", "output y = uint4x32_to_uniform(threefry4x32(u4x32(a, 5, b), u4x32(b, a)))",
     lambda a, b: uniform(threefry(words(a, 5, b), words(b, a))[..., 0])),
    ("i", "let h = threefry4x32(1, a)\noutput y = uint4x32_to_uniform(h) + uint4x32_to_uniform(threefry4x32(h, 12345678901234))",
     lambda a: uniform(threefry(words(1), words(a))[..., 0])
     + uniform(threefry(threefry(words(1), words(a)), words(12345678901234))[..., 0])),
    ("i", "output y = uint4x32_to_uniform(permute(\"n | i => i | n\", threefry4x32(1, a)))",
     lambda a: uniform(threefry(words(1), words(a))[..., 0]).T),
    ("i", "output y = uint4x32_to_uniform(u4x32(a .* 1000))", lambda a: uniform(words(a.astype(np.int64) * 1000)[..., 0])),
    ("i", "output y = sum(\"n | i => n |\", uint4x32_to_uniform(threefry4x32(a, 9)) - 0.5)",
     lambda a: (uniform(threefry(words(a), words(9))[..., 0]) - 0.5).sum(axis=1)),
    ("i", "output y = sum(\"n | i => i\", uint4x32_to_uniform(threefry4x32(a, 9)) - 0.5)",
     lambda a: (uniform(threefry(words(a), words(9))[..., 0]) - 0.5).sum(axis=0)),
    ("ij", "output y = uint4x32_to_uniform(concat(\"n | i; n | j => n | i^j\", u4x32(a), threefry4x32(a, b)))",
     lambda a, b: uniform(np.concatenate([words(a), threefry(words(a), words(b))], axis=1)[..., 0])),
    ("i", "output y = uint4x32_to_uniform(stack(batch, threefry4x32(a, 1), threefry4x32(a, 2)))",
     lambda a: uniform(np.stack([threefry(words(a), words(c)) for c in (1, 2)])[..., 0])),
    ("i", "output y = gather(reshape(uint4x32_to_uniform(threefry4x32(a, 1))), [|0, 0|])"
     " + uint4x32_to_uniform(gather(reshape(threefry4x32(a, 1)), [|0, 0|]))",
     lambda a: np.full(2, 2 * uniform(threefry(words(a), words(1))[..., 0]).ravel()[0])),
]


# words, what is made of their numbers, and the shape: c words a row of n
VECTORS = [
    ("threefry4x32(7, a)", lambda a: threefry(words(7), words(a)), "u", "[n | %d]"),
    ("u4x32(a)", lambda a: words(a), "u", "[n | %d]"),
    ("threefry4x32(a, -3)", lambda a: threefry(words(a), words(-3)), "reshape(u) + 0 .* x", "[n | 2, %d, 2]"),
    ("permute(\"n | i => i | n\", threefry4x32(1, a))",
     lambda a: np.swapaxes(threefry(words(1), words(a)), 0, 1), "u", "[%d | n]"),
    ("threefry4x32(3, offsets())", None, "u + 0 .* x", "[n | 2, %d, 2]"),
    ("threefry4x32(u4x32(3, 1), u4x32(offsets(), 9))", None, "u + 0 .* x", "[n | %d, 4]"),
]


def four(number, march):
    """Four numbers an element of words, in storage order."""
    text, reference, use, shape = VECTORS[number % len(VECTORS)]
    columns = random.choice([1, 2, 5, 16, 33])
    shape = shape % columns
    whole = eval(shape.replace("|", ",").replace("n", "100"))
    per_row = int(np.prod(whole)) // 100
    if reference and "x" not in use:
        shape = "[n | %d]" % (4 * columns) if number % 2 else "[n, %d, 4]" % columns
        use += " + 0 .* x" if number % 4 < 2 else ""
        shape = "[%d, n | 4]" % columns if "permute" in text else shape
        per_row = 4 * columns
    source = "dim n\ninput a : i32 [n | %d]\ninput x : %s\n" % (columns, shape)
    source += "let u = uint4x32_to_uniforms(%s)\noutput y = %s\noutput z = sum(a)\noutput v = sum(x)\n" % (text, use)
    model = Model(source, ["-march=" + march])
    for n in (0, 1, 3, 4, 5, 100):
        a = RNG.integers(-2 ** 31, 2 ** 31, (n, columns)).astype(np.int32)
        x = np.zeros((n * per_row,), np.float32)
        if reference:
            want = uniform(reference(a)).ravel()
        else:
            key = words(3) if text.startswith("threefry4x32(3") else words(3, 1)
            at = np.arange(n * per_row // 4)
            want = uniform(threefry(key, words(at, 9) if "9" in text else words(at))).ravel()
        got, _, _ = model.forward([n], [a, x], [((n * per_row,), np.float32), ((), np.int32), ((), np.float32)])
        check("%s %s %s n = %d %s" % (text, use, shape, n, march), got, want, 0)


def xxh64(name):
    """Of fewer than 32 bytes, with seed 0."""
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                          0x27D4EB2F165667C5)
    mask = 2 ** 64 - 1

    def turn(x, r):
        return (x << r | x >> (64 - r)) & mask

    data = name.encode()
    h = p5 + len(data)
    while len(data) >= 8:
        k = turn(int.from_bytes(data[:8], "little") * p2 & mask, 31) * p1 & mask
        h, data = (turn(h ^ k, 27) * p1 + p4) & mask, data[8:]
    if len(data) >= 4:
        h, data = (turn(h ^ (int.from_bytes(data[:4], "little") * p1 & mask), 23) * p2 + p3) & mask, data[4:]
    for byte in data:
        h = turn(h ^ (byte * p5 & mask), 11) * p1 & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


def stream(place, seed, n):
    key = np.concatenate([words(seed)[:2], np.array([xxh64(place) & 0xffffffff, xxh64(place) >> 32], np.uint32)])
    return uniform(threefry(key, words(np.arange((n + 3) // 4))).ravel()[:n])


def normals(place, seed, n):
    u = stream(place, seed, 4 * ((n + 3) // 4)).reshape(-1, 2)
    r = np.sqrt(np.log(np.float32(1) - u[:, 0]) * np.float32(-2))
    a = u[:, 1] * np.float32(2 * np.pi)
    return np.stack([r * np.cos(a), r * np.sin(a)], axis=1).ravel()[:n]


STREAMS = """dim n
input x : [n | %s]
input seed : i32 []
fn noise(x) = x + uniform(seed)
fn layer()(x) = noise(x)
let u = uniform(seed)
output a = u + 0 .* x
output b = noise(0 .* x) + noise(x)
let block = layer()
output c = block(x)
output d = iterate(2, h = 0 .* x) { h + uniform(-5) }
output e = x + normal(seed)
output f = 0 .* x + self_id()
output g = uniform()
routine r(k : i32) -> t {
    t =: x
    t =+ uniform(k)
}
"""


def streams(shape, march):
    model = Model(STREAMS % shape, ["-march=" + march, "-O0"])
    columns = int(np.prod(eval("[%s]" % shape)))
    for n in (0, 1, 3, 4, 5, 64, 257, 1000):
        x = RNG.standard_normal(n * columns).astype(np.float32)
        seed = int(RNG.integers(-2 ** 31, 2 ** 31))
        size = n * columns
        outputs = [((size,), np.float32)] * 6 + [((1,), np.float32)]
        got = model.forward([n], [x, np.int32([seed])], outputs)
        want = [stream("u", seed, size), stream("b", seed, size) + (x + stream("b_2", seed, size)),
                x + stream("block.c", seed, size), stream("d.0", -5, size) + stream("d.1", -5, size),
                x + normals("e", seed, size),
                np.full(size, np.array([xxh64("f") & 0xffffffff], np.uint32).view(np.int32)[0], np.float32),
                stream("g", 0, 1)]
        for name, y, z in zip("abcdefg", got, want):
            check("stream %s [%s] n = %d %s" % (name, shape, n, march), y, z, 2e-6 if name == "e" else 1e-6)
    x = np.zeros(5 * columns, np.float32)
    t, = RoutineOf(model, 77).forward([5], [x], [((5 * columns,), np.float32)])
    check("stream of a routine", t, stream("r.t", 77, 5 * columns), 0)


class RoutineOf:
    """A routine with one i32 before its inputs."""

    def __init__(self, model, number):
        self.model, self.number = model, number

    def forward(self, dims, inputs, outputs):
        results = [np.zeros(shape, dtype) for shape, dtype in outputs]
        size = self.model.library.m_r_workspace
        size.restype = ctypes.c_size_t
        dims = [ctypes.c_int64(d) for d in dims]
        workspace = aligned(size(*dims))
        pointers = [self.model.pointer(a) for a in [*inputs, *results]]
        code = self.model.library.m_r(None, *dims, ctypes.c_int32(self.number), *pointers, None,
                                      self.model.pointer(workspace))
        assert code == 0, code
        return results


def statistics():
    """Mean, deviation and the counts of twenty bins of 10000 numbers; of normal numbers mean and variance."""
    model = Model("input z : [10000]\noutput u = 0 .* z + uniform(1)\noutput v = 0 .* z + normal(1)\n")
    u, v = model.forward([], [np.zeros(10000, np.float32)], [((10000,), np.float32)] * 2)
    counts = np.histogram(u, 20, (0, 1))[0]
    assert 0.49 < u.mean() < 0.51 and 0.25 < u.std() < 0.32 and u.min() >= 0 and u.max() < 1
    assert ((counts - 500) ** 2 / 500).sum() < 30.14, counts
    assert abs(v.mean()) < 0.03 and 0.96 < v.std() < 1.04 and abs((np.abs(v) < 1).mean() - 0.6827) < 0.015


def known():
    text = "input k : i32 [3 | 4]\ninput c : i32 [3 | 4]\n"
    for name in "kc":
        for word in range(4):
            text += "let %s%d = sum(\"n | %d => n |\", %s)\n" % (name, word, word, name)
    text += "let h = threefry4x32(u4x32(k0, k1, k2, k3), u4x32(c0, c1, c2, c3))\noutput y = uint4x32_to_uniform(h)\n"
    key, counter, want = [np.array([[w & 0xffffffff for w in row[i]] for row in KNOWN], np.uint32) for i in range(3)]
    assert (threefry(key, counter) == want).all()
    got, = Model(text).forward([], [key.view(np.int32), counter.view(np.int32)], [((3,), np.float32)])
    check("known answers", got, uniform(want[:, 0]), 0)
    got, = Model(text.replace("_uniform(", "_uniforms(")).forward([], [key.view(np.int32), counter.view(np.int32)],
                                                                   [((12,), np.float32)])
    check("known answers, all words", got, uniform(want).ravel(), 0)


def run(number, march):
    names, text, reference = PROGRAMS[number % len(PROGRAMS)]
    columns = random.choice([1, 2, 5, 16, 33])
    fixed = number % 3 == 0
    shape = "[n | %d]" % columns
    source = "dim n >= 1\n" + "".join("input %s : i32 %s\n" % (v, shape) for v in "ab"[:len(names)]) + text + "\n"
    sizes = [random.choice([1, 2, 3, 7, 16, 100])] if fixed else [1, 3, 4, 5, 100]
    model = Model(source, ["-march=" + march] + (["-Dn=%d" % sizes[0]] if fixed else []))
    for n in sizes:
        arrays = [RNG.integers(-2 ** 31, 2 ** 31, (n, columns)).astype(np.int32) for _ in names]
        if ".* 1000" in text:
            arrays = [a // 1000 for a in arrays]
        want = reference(*arrays)
        got, = model.forward([] if fixed else [n], arrays, [(want.shape, np.float32)])
        exact = "sum" not in text
        check("%s n = %d %s" % (text, n, march), got, want, 0 if exact else 1e-5)


random.seed(5)
RNG = np.random.default_rng(5)
np.seterr(over="ignore")
if __name__ == "__main__":
    known()
    statistics()
    for march in sorted(set(sys.argv[2:])):
        streams("5", march)
        streams("2, 8", march)
    for count in range(int(sys.argv[1])):
        run(count, sys.argv[2 + count % (len(sys.argv) - 2)])
        four(count, sys.argv[2 + count % (len(sys.argv) - 2)])
    print("%s programs of random words agree" % sys.argv[1])
