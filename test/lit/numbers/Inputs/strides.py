"""Strides that are sizes, read and written in all rows, against NumPy, in one program and at many sizes."""
import numpy as np

import tsrlib
from tsrlib import Model

TEXT = """
dim g
dim n
dim s
input x : [s | 2 -> g*n, 3]
fn every(stride)(x) = sum("... | ... -> stride*i, d => ... | ... -> i, d", x)
output a = exp(every(g)(x))
output b = sum("... | ... -> g*i + 1, d => ... | ... -> i, d", x)
output c = sum("b | k -> i, d => b | g*k + 1 -> i, d", x)
output d = einsum("b | k -> g*i, d; b | k -> g*i + 1, e => d, e", x, x)
output e = reduce(max, "b | k -> g*i, d => b | d", x)
output f = sum("b | k -> i, d => g*b, i | d, k", x)
routine own() -> t { t =: id(x) via "b | k -> g*i, d => b, k, i, d" }
"""


def spread(x, axis, stride, place):
    shape = list(x.shape)
    shape[axis] *= stride
    y = np.zeros(shape, np.float32)
    y[(slice(None),) * axis + (slice(place, None, stride),)] = x
    return y


def expected(x, g):
    even, odd = x[:, ::g], x[:, 1::g]
    return [np.exp(even), odd, spread(x, 3, g, 1), np.einsum("bidk,biek->de", even, odd),
            even.max((1, 3), initial=-np.inf), spread(x.transpose(0, 1, 2, 3), 0, g, 0)]


def main():
    random = np.random.default_rng(1)
    sizes = [(2, 0, 1), (2, 1, 0), (3, 1, 1), (5, 4, 2), (2, 7, 3), (64, 3, 2)]
    wrong = 0
    for options in (["-O1"], ["--policy=none"]):
        model = Model(TEXT, options)
        for g, n, s in sizes:
            x = random.integers(-8, 9, (s, g * n, 3, 2)).astype(np.float32) / 8
            want = expected(x, g)
            got = model.forward([g, n, s], [x], [(value.shape, np.float32) for value in want])
            own = model.forward([g, n, s], [x], [((s, 2, n, 3), np.float32)], routine="own")
            for name, a, b in zip("abcdeft", got + own, want + [x[:, ::g].transpose(0, 3, 1, 2)]):
                if not np.allclose(a, b, rtol=1e-5, atol=1e-5):
                    wrong += 1
                    print("%s, g %d, n %d, s %d: %s, not %s" % (name, g, n, s, a, b))
        try:
            model.forward([1, 4, 2], [np.zeros((2, 4, 3, 2), np.float32)], [((2, 9, 9, 9), np.float32)] * 6)
            wrong += 1
            print("a place beyond its stride has no guard")
        except RuntimeError:
            pass
    print("%d calls, %d wrong" % (2 * len(sizes), wrong))


if __name__ == "__main__":
    main()
