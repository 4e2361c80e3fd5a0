"""gpt2_state.py FOLDER: pieces.so, whose cache is in its state, against whole.so on the same random weights."""
import sys

import numpy as np

import tsr

CACHE = ("keys", "values")


def main():
    whole, pieces = (tsr.load(f"{sys.argv[1]}/{name}.so") for name in ("whole", "pieces"))
    random = np.random.default_rng(1)
    weights = {name: random.standard_normal(value.shape).astype("f4") / 2 for name, value in whole.params.items()}
    whole.params.update(weights)
    pieces.params.update(weights)
    ids = random.integers(0, 50, 17).astype("i4")
    nothing = np.zeros((2, 0, 2, 8), "f4")
    want = whole.forward(ids=ids[:12], keys=nothing, values=nothing, past=0)
    done = 0
    for count in (9, 1, 2, 5):
        before = {name: np.array(value) for name, value in pieces.params.items()}
        what = f"{count} positions after {done}"
        try:
            got = pieces.decode(ids=ids[done : done + count], past=done)
        except tsr.Error as error:
            print(what + ": refused" if "at most 16" in str(error) else error)
            continue
        near = np.allclose(got, want.logits[done : done + count], rtol=1e-4, atol=1e-5)
        changed = {name for name, value in pieces.params.items() if not np.array_equal(value, before[name])}
        rows = {row for name in CACHE for row in np.nonzero((pieces.params[name] != before[name]).any((0, 2, 3)))[0]}
        same = all(np.allclose(pieces.params[name][:, done : done + count], want["new_" + name][:, done : done + count],
                               rtol=1e-4, atol=1e-5) for name in CACHE)
        if near and same and changed == set(CACHE):
            print(f"{what}: as the whole text has them, rows {min(rows)} to {max(rows) + 1} written")
        done += count


if __name__ == "__main__":
    main()
