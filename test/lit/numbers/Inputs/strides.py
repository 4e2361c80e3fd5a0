"""Strides that are sizes, read and written in all rows, against NumPy, in one program and at many sizes."""
import numpy as np

import tsrlib
from tsrlib import Model

TEXT = """
dim g
dim n
dim s
dim by
input x : [s | 2 -> g*n, 3]
fn every(stride)(x) = sum("... | ... -> stride*i, d => ... | ... -> i, d", x)
output a = exp(every(g)(x))
output b = sum("... | ... -> g*i + 1, d => ... | ... -> i, d", x)
output c = sum("b | k -> i, d => b | g*k + 1 -> i, d", x)
output d = einsum("b | k -> g*i, d; b | k -> g*i + 1, e => d, e", x, x)
output e = reduce(max, "b | k -> g*i, d => b | d", x)
output f = sum("b | k -> i, d => g*b, i | d, k", x)
input z : [s | 2 -> g*n + by + 1, 3]
input w : [2]
output h = sum("... | ... -> g*i <+ by*k, c => ... | ... -> i, c", z) with (k = 2)
output k = einsum("b | j -> g*i =+ k, c; k => b | j -> c, i", x, w, border = 1.5)
output l = reduce(max, "b | j -> g*i =+[by, 0] k, c => b, i | c", x) with (k = by)
output m = einsum("b | j -> 2*i <+? by*k, c; k => i | j -> b, c", z, w)
output o = einsum("b | j -> i =+ by*k, c; k => b | j -> i, c", x, w)
routine own() -> t { t =: id(x) via "b | k -> g*i, d => b, k, i, d" }
"""


def spread(x, axis, stride, place):
    shape = list(x.shape)
    shape[axis] *= stride
    y = np.zeros(shape, np.float32)
    y[(slice(None),) * axis + (slice(place, None, stride),)] = x
    return y


def windows(z, places, n, stride, w, fold=np.add):
    """Of axis 1: of each window the elements at these places, times a weight."""
    y = None
    for place, by in zip(places, w):
        part = by * z[:, place:place + (n - 1) * stride + 1 if n else place:stride]
        y = part if y is None else fold(y, part)
    return y


def padded(x, before, after, value=0):
    return np.pad(x, [(0, 0), (before, after), (0, 0), (0, 0)], constant_values=value)


def sized(x, z, w, g, n, d):
    """What windows with coefficients that are sizes read of x and z, [s, axis, 3, 2] in memory."""
    half = (d + 1) // 2
    h = windows(z, (0, d), n + 1, g, (1, 1))
    k = windows(padded(x, 1, 0, 1.5), (0, 1), n, g, w)
    l = windows(padded(x, d, 0, -np.inf), range(d), n + 1, g, [1] * d, np.maximum)
    m = windows(z, (0, d), g * n // 2 + 1, 2, w)
    o = windows(padded(x, half, d - half), (0, d), g * n, 1, w)
    return [h, k.transpose(0, 2, 1, 3), l.max(3), m.transpose(1, 0, 2, 3), o]


def expected(x, g):
    even, odd = x[:, ::g], x[:, 1::g]
    return [np.exp(even), odd, spread(x, 3, g, 1), np.einsum("bidk,biek->de", even, odd),
            even.max((1, 3), initial=-np.inf), spread(x.transpose(0, 1, 2, 3), 0, g, 0)]


def main():
    random = np.random.default_rng(1)
    sizes = [(2, 0, 1), (2, 1, 0), (3, 1, 1), (5, 4, 2), (2, 7, 3), (64, 3, 2)]
    wrong = 0
    for options in (["-O0"], ["--policy=none"]):
        model = Model(TEXT, options)
        for g, n, s in sizes:
            d = 1 + (g + n) % 3
            x, z = (random.integers(-8, 9, (s, length, 3, 2)).astype(np.float32) / 8 for length in (g * n, g * n + d + 1))
            w = random.integers(-8, 9, 2).astype(np.float32) / 8
            want = expected(x, g) + sized(x, z, w, g, n, d)
            got = model.forward([g, n, s, d], [x, z, w], [(value.shape, np.float32) for value in want])
            own = model.forward([g, n, s], [x], [((s, 2, n, 3), np.float32)], routine="own")
            for name, a, b in zip("abcdefhklmot", got + own, want + [x[:, ::g].transpose(0, 3, 1, 2)]):
                if a.shape != b.shape or not np.allclose(a, b, rtol=1e-5, atol=1e-5):
                    wrong += 1
                    print("%s, g %d, n %d, s %d, d %d: %s, not %s" % (name, g, n, s, d, a, b))
        try:
            x, z = np.zeros((2, 4, 3, 2), np.float32), np.zeros((2, 6, 3, 2), np.float32)
            model.forward([1, 4, 2, 1], [x, z, np.ones(2, np.float32)], [((2, 9, 9, 9), np.float32)] * 11)
            wrong += 1
            print("a place beyond its stride has no guard")
        except RuntimeError:
            pass
    print("%d calls, %d wrong" % (2 * len(sizes), wrong))


if __name__ == "__main__":
    main()
