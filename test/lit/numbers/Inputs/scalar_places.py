"""scalar_places.py TSRC FOLDER: what scalars of a routine read and write places of, against NumPy, at many sizes and places; a
place that does not fit is found before anything is written."""
import os
import subprocess
import sys

import numpy as np

import tsr

TSRC, FOLDER = sys.argv[1:3]
TEXT = """dim n, s, b
param cache : [n, 8] = 0
param grid : [n -> 2] = 0
input k : [s, 8]
input add : [1 -> 2]
input x : [b | n -> 3]
fn behind(at)(y) = sum("b | at^i -> o => b | o", y)
routine step(pos : i32, far : i64) -> total, back, row, cut {
    cache =: k via "s, d => s + pos, d"
    grid =+ add via "i -> o => i + 2*far -> o"
    total =: sum("t^_, d => d", cache) with (t = pos + s)
    back =: behind(pos)(x) * pos
    row =: sum("t -> o => o", grid) + pos
    cut =: sum("b | i + far -> o => b, o", x)
}
"""


def check(model, random, n, s, b, pos, far):
    k, x = random.integers(-8, 9, (s, 8)) / 8, random.integers(-8, 9, (b, 3, n)) / 8
    cache, grid = model.params["cache"].copy(), model.params["grid"].copy()
    fits = 0 <= pos and pos + s <= n and 0 <= far and 2 * far < n and pos <= n and far <= n
    try:
        got = model.step(k=np.float32(k), add=np.float32([[1], [2]]), x=np.float32(x), pos=pos, far=far)
    except tsr.Error as error:
        same = np.array_equal(cache, model.params["cache"]) and np.array_equal(grid, model.params["grid"])
        return not fits and same and ("pos" in str(error) or "far" in str(error))
    if not fits:
        return False
    cache[pos:pos + s] = k
    grid[:, 2 * far] += [1, 2]
    want = [cache[:pos + s].sum(0), x[:, :, pos:].sum(2) * pos, grid.sum(1) + pos, x[:, :, far:].sum(2)]
    return all(np.allclose(a, b) for a, b in zip(got, want)) and np.array_equal(cache, model.params["cache"]) \
        and np.array_equal(grid, model.params["grid"])


def main():
    source, module = (os.path.join(FOLDER, "m" + suffix) for suffix in (".tsr", ".so"))
    with open(source, "w", encoding="utf8") as out:
        out.write(TEXT)
    subprocess.run([TSRC, source, "-O0", "-o", module], check=True)
    random, calls, wrong = np.random.default_rng(1), 0, 0
    for n in (0, 1, 2, 7, 30, 9000):
        model = tsr.load(module, dims={"n": n})
        for _ in range(12):
            s, b, far = (int(random.integers(0, most)) for most in (min(n + 2, 9), 4, n // 2 + 2))
            pos = int(random.choice([0, 1, n - s, n, n + 1, -1, random.integers(0, n + 1)]))
            right = check(model, random, n, s, b, pos, int(random.choice([far, -3, 2 ** 40], p=[0.9, 0.05, 0.05])))
            calls, wrong = calls + 1, wrong + (not right)
    print("%d calls, %d wrong" % (calls, wrong))


if __name__ == "__main__":
    main()
