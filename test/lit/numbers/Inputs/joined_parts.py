"""Steps that write joined axes into a part of a tensor, which keeps the rest, against NumPy."""
import numpy as np

import tsrlib
from tsrlib import Model

TEXT = """
dim past
dim s
input x : [s | 2, 3]
param rows : [40, 6] = 7
param planes : [2, 40 | 6] = 3
routine put() -> rows { rows =: id(x) via "s | h, d => s + past, (h d)" }
routine add() -> rows { rows =+ id(x) via "s | h, d => s + past, (d h)" }
routine one() -> planes { planes =: id(x) via "s | h, d => 1, s + past | (h d)" }
routine own() -> t { t =: x .* x via "s | h, d; s | h, d => 2, (h d)" }
routine most() -> rows { rows =max x .* x via "s | h, d; s | h, d => 3, (h d)" }
routine every() -> wide { wide =: id(x) via "s | h, d => (h d), 2*s + 1" }
"""


def expected(x, past):
    s = len(x)
    rows, planes, wide, own = (np.full(shape, fill, np.float32)
                               for shape, fill in (((40, 6), 7), ((2, 40, 6), 3), ((6, 2 * s), 0), ((3, 6), 0)))
    flat = x.reshape(s, 6)
    rows[past:past + s] = flat
    yield "put", rows.copy()
    rows[past:past + s] += x.transpose(0, 2, 1).reshape(s, 6)
    yield "add", rows.copy()
    planes[1, past:past + s] = flat
    yield "one", planes
    own[2] = (flat * flat).sum(0)
    yield "own", own
    rows[3] = np.maximum(rows[3], (flat * flat).max(0))
    yield "most", rows.copy()
    wide[:, 1::2] = flat.T
    yield "every", wide


def main():
    random = np.random.default_rng(1)
    wrong = calls = 0
    for options in (["-O0"], ["--policy=none"]):
        model = Model(TEXT, options)
        for past, s in ((0, 1), (39, 1), (3, 5), (0, 40)):
            x = random.integers(-8, 9, (s, 2, 3)).astype(np.float32) / 8
            state = model.init()
            for routine, want in expected(x, past):
                dims = [s] if routine in ("own", "most", "every") else [past, s]
                got = model.forward(dims, [x], [(want.shape, np.float32)], state, routine)[0]
                calls += 1
                if not np.allclose(got, want, rtol=1e-5, atol=1e-5):
                    wrong += 1
                    print("%s, past %d, s %d: %s, not %s" % (routine, past, s, got, want))
        try:
            model.forward([36, 5], [np.zeros((5, 2, 3), np.float32)], [((40, 6), np.float32)], state, "put")
            print("no guard")
        except RuntimeError:
            pass
    print("%d calls, %d wrong" % (calls, wrong))


if __name__ == "__main__":
    main()
