"""strided_places.py TSRC FOLDER: windows with coefficients that are scalars or sizes, read and written, against loops in
NumPy, at many sizes; what does not fit is found before anything is written."""
import os
import subprocess
import sys

import numpy as np

import tsr

TSRC, FOLDER = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
SIZED = """dim n, m, g, d, p, b
input x : [b | n -> 2]
input z : [b | m, 3]
output rounded = sum("b | g*s <+? d*k -> o => b | s -> o", x) with (s = m, k = 2)
output placed = sum("b | g*s + p -> o => b | s -> o", x) with (s = m)
output apart = sum("b | m, k => b | g*m <+ d*k", z)
output most = reduce(max, "b | m, k => g*m + 1 <+ k | b", z)
output centred = sum("b | m, k => b | -> g*m =+ k", z)
output margins = sum("b | m, k => b | 2*m =+[p, 1] k", z)
output named = sum("b | m, k => b | g*m + p, k", z)
"""


def compiled(name, text):
    source, module = (os.path.join(FOLDER, name + suffix) for suffix in (".tsr", ".so"))
    with open(source, "w", encoding="utf8") as out:
        out.write(text)
    subprocess.run([TSRC, source, "-O0", "-o", module], check=True)
    return module


def windows(x, axis, starts, step, k, fold):
    """Of each window the elements at start, start + step, ..., folded."""
    parts = [fold([x.take(start + step * j, axis) for j in range(k)]) for start in starts]
    shape = x.shape[:axis] + x.shape[axis + 1:]
    return np.array(parts).reshape((len(starts),) + shape)


def written(old, values, starts, step, fold):
    """values [windows, k, ...] added to a copy of old [axis, ...], what is outside left out."""
    new = old.copy()
    for i, start in enumerate(starts):
        for j in range(values.shape[1]):
            place = start + step * j
            if 0 <= place < len(new):
                new[place] = fold(new[place], values[i, j])
    return new


def spread(shape, values, starts, step):
    return written(np.zeros(shape, np.float32), values, starts, step, np.add)


def check_read(model, random, n, m, b):
    x, w = np.float32(random.integers(-8, 9, (b, 2, n))), np.float32(random.integers(-8, 9, 3))
    g, d, p = (int(i) for i in random.integers(0, 5, 3))
    fits = g >= 1 and d >= 1 and n >= g * (m - 1) + 2 * d + 1 + p and n >= g * (m - 1) + 1 + p
    fits = fits and n >= 1  # a border of another routine has an element
    try:
        f, h, k = model.read(x=x, w=w, m=m, g=g, d=d, p=p)
    except tsr.Error as error:
        return not fits and "must be" in str(error)
    starts = g * np.arange(m)
    want = windows(x, 2, starts, d, 3, lambda parts: np.sum(parts, 0))
    picked = windows(x, 2, starts + p, 1, 1, lambda parts: parts[0])
    sums = windows(x, 2, starts + p, d, 3, lambda parts: sum(v * a for v, a in zip(w, parts)))
    return fits and np.array_equal(f, want.transpose(1, 2, 0)) and np.array_equal(h, picked.transpose(1, 2, 0)) \
        and np.array_equal(k, sums)


def bordered(x, starts, step, k, border):
    """Of each window along the last axis the elements at start, start + step, ..., [window][k] of [b, 2]."""
    n, found = x.shape[2], []
    for start in starts:
        places = [start + step * j for j in range(k)]
        if border == "edge":
            places = [min(max(p, 0), n - 1) for p in places]
        elif border == "wrap":
            places = [p % n for p in places]
        elif border == "reflect":
            places = [n - 1 - abs(n - 1 - abs(p)) for p in places]
        found.append([x[:, :, p] if 0 <= p < n else np.full(x.shape[:2], border, np.float32) for p in places])
    return found


def folded(x, windows_of, fold):
    return np.array([fold(window) for window in windows_of], np.float32).reshape((len(windows_of),) + x.shape[:2]).transpose(1, 2, 0)


def check_around(model, random, n, m, b):
    x, w = np.float32(random.integers(-8, 9, (b, 2, n))), np.float32(random.integers(-8, 9, 3))
    d, p = (int(i) for i in random.integers(0, 4, 2))
    fits = d >= 1 and n > d and n + p + 1 >= m + d
    try:
        results = model.around(x=x, w=w, m=m, d=d, p=p)
    except tsr.Error as error:
        return not fits and "must be" in str(error)
    starts = np.arange(n) - d
    weighted = lambda window: sum(a * v for a, v in zip(w, window))
    wants = [folded(x, bordered(x, 2 * np.arange((n + 1) // 2) - d, d, 3, 0), weighted)]
    wants += [folded(x, bordered(x, starts, d, 3, border), weighted) for border in ("edge", "reflect", "wrap")]
    wants.append(folded(x, bordered(x, starts, d, 3, -np.inf), lambda window: np.max(window, 0)))
    wants.append(folded(x, bordered(x, np.arange(m) - p, d, 2, 5), sum))
    return fits and all(np.array_equal(result, want) for result, want in zip(results, wants))


def check_combine(model, random, n, m, b):
    y = np.float32(random.integers(0, 2, (b, m, 3)) * random.integers(1, 9, (b, m, 3)))
    old = np.array(model.params["v"], np.float32)
    g = int(random.integers(0, 4))
    try:
        results = model.combine(y=y, g=g)
    except tsr.Error as error:
        return (g == 0 or n < g * (m - 1) + 3) and "must be" in str(error)
    meets = lambda old, word: written(old.T, y.transpose(1, 2, 0), g * np.arange(m), 1,
                                      np.logical_and if word == "&&" else np.logical_or).T
    wants = [meets(old, "&&"), meets(np.int32(old) - 2, "||"), meets(np.ones_like(old), "&&"),
             meets(np.zeros_like(old), "||")]
    return all(np.array_equal(result, want) for result, want in zip(results, wants))


def check_write(model, random, n, m, b):
    old = {name: np.array(model.params[name], np.float32) for name in "uvqc"}
    y, w = np.float32(random.integers(-3, 4, (b, m, 3))), np.float32(random.integers(-8, 9, 3))
    g, p = int(random.integers(0, 5)), int(random.integers(-1, 4))
    last = g * (m - 1)
    fits = g >= 1 and p >= 0 and n >= last + p + 3 and n >= 2 * g + 2 and n >= last + 3
    try:
        u, v, q, c, t = model.write(y=y, w=w, g=g, p=p)
    except tsr.Error as error:
        same = all(np.array_equal(old[name], np.float32(model.params[name])) for name in "uvqc")
        return not fits and same and "must be" in str(error)
    starts, y = g * np.arange(m), y.transpose(1, 2, 0)  # [m, k, b]
    want = old["u"].copy()
    want[starts + p] = y.transpose(0, 2, 1)
    good = fits and np.array_equal(u, want)
    good &= np.array_equal(v.T, written(old["v"].T, y, starts, 1, np.multiply))
    want = old["q"].copy()
    want[1:1 + 3 * g:g] = w
    good &= np.array_equal(q, want)
    sums = written(np.full((n, b), -np.inf), y, starts + p, 1, np.maximum)
    good &= np.array_equal(np.float32(c), np.maximum(old["c"].reshape(b, n).T, sums).T.reshape(old["c"].shape))
    sums = spread((n, b), y, starts - 1, 1)
    return good and np.array_equal(t.T, -sums)


def check_sized(model, random, n, m, g, d, p, b):
    x, z = np.float32(random.integers(-8, 9, (b, 2, n))), np.float32(random.integers(-8, 9, (b, m, 3)))
    least = g * (m - 1) + d + 1
    fits = g >= 1 and d >= 1 and least <= n < least + g and n >= g * (m - 1) + 1 + p and m >= 1 and 2 * m + 1 > p + 1
    try:
        rounded, placed, apart, most, centred, margins, named = model.forward(x=x, z=z, g=g, d=d, p=p)
    except tsr.Error as error:
        return not fits and "must be" in str(error)
    starts, z = g * np.arange(m), z.transpose(1, 2, 0)
    want = windows(x, 2, starts, d, 2, lambda parts: np.sum(parts, 0))
    good = fits and np.array_equal(rounded, want.transpose(1, 2, 0))
    good &= np.array_equal(placed, x[:, :, p:][:, :, :g * m:g][:, :, :m])
    good &= np.array_equal(apart.T, spread((g * (m - 1) + 1 + 2 * d, b), z, starts, d))
    sums = written(np.full((g * (m - 1) + 4, b), -np.inf, np.float32), z, starts + 1, 1, np.maximum)
    good &= np.array_equal(most, sums)
    good &= np.array_equal(centred.T, spread((g * m, b), z, starts - 1, 1))
    good &= np.array_equal(margins.T, spread((2 * m - p, b), z, 2 * np.arange(m) - p, 1))
    sums = np.zeros((b, g * (m - 1) + p + 1, 3), np.float32)
    sums[:, starts + p] = z.transpose(2, 0, 1)
    return good and np.array_equal(named, sums)


def main():
    with open(os.path.join(HERE, "strided-places.tsr"), encoding="utf8") as text:
        scalars = compiled("scalars", text.read())
    sized = compiled("sized", SIZED)
    random, other = np.random.default_rng(1), np.random.default_rng(2)
    results = []
    for n, b in ((0, 1), (1, 1), (3, 0), (9, 2), (30, 3), (700, 1)):
        model = tsr.load(scalars, dims={"n": n, "b": b})
        for _ in range(12):
            m = int(random.choice([0, 1, 2, 3, 7]))
            results.append(check_read(model, random, n, m, b))
            results.append(n == 0 or check_combine(model, other, n, m, b))
            results.append(check_around(model, other, n, m, b))
            results.append(check_write(model, random, n, m, b))
    model = tsr.load(sized)
    for _ in range(60):
        m, g, d, p, b = (int(random.integers(0, most)) for most in (5, 4, 3, 3, 3))
        n = g * (m - 1) + d + 1 + int(random.integers(-1, 3))
        results.append(check_sized(model, random, max(n, 0), m, g, d, p, b))
    print("%d calls, %d wrong" % (len(results), results.count(False)))


if __name__ == "__main__":
    main()
