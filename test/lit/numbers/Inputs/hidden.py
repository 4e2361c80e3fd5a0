"""Sums behind masks that compare indices, against NumPy and themselves uncut: what a mask hides may be NaN or
infinite, limits go along rows or columns, with a past that is a dim, windows, and neither strict nor from one side."""
import random

import numpy as np

from tsrlib import Model, pool_call

random.seed(5)
RNG = np.random.default_rng(5)
SIZES = [1, 2, 15, 16, 17, 47, 64, 65, 70, 130]
ROW, KEY = 'sum("s => s | ", range(n))', "range(m)"
# masks as a program and NumPy write them, over rows s and keys t; p is a dim
MASKS = [
    ("where(%s >= %s, a, -inf)" % (ROW, KEY), lambda s, t, p: s >= t),
    ("where(%s + p >= %s, a, -inf)" % (ROW, KEY), lambda s, t, p: s + p >= t),
    ("where(%s > %s, 0.5, 2 .* a)" % (KEY, ROW), lambda s, t, p: t <= s),
    ("where(%s < %s - 3, a, -inf)" % (KEY, ROW), lambda s, t, p: t < s - 3),
    ("where(%s >= %s && %s + 20 > %s, a, 0)" % (ROW, KEY, KEY, ROW), lambda s, t, p: (s >= t) & (t + 20 > s)),
    ("where(!(%s <= %s), -inf, where(%s + 40 >= %s, tanh(a), 7))" % (KEY, ROW, KEY, ROW),
     lambda s, t, p: (t <= s) & (t + 40 >= s)),
    ("where(%s < p || %s <= %s, a, -inf)" % (KEY, KEY, ROW), lambda s, t, p: (t < p) | (t <= s)),
    ("where(%s + p >= %s && %s + 20 > %s + p, a, -inf)" % (ROW, KEY, KEY, ROW),
     lambda s, t, p: (s + p >= t) & (t + 20 > s + p)),
]
OTHERWISE = [-np.inf, -np.inf, 0.5, -np.inf, 0, None, -np.inf, -np.inf]
FORMS = [
    ("[n | 3, 12]", "[m | 3, 12]", "s | h, d; t | h, d => s | h, t", "shd,thd->sht", (0, 2)),
    ("[3, n | 12]", "[3, m | 12]", "h, s | d; h, t | d => h, s | t", "hsd,htd->hst", (1, 2)),
    ("[n | 24]", "[24 | m]", "s | d; d | t => s | t", "sd,dt->st", (0, 1)),
]


def wanted(number, a, s, t, p):
    seen = MASKS[number][1](s, t, p)
    if number == 2:
        return np.where(seen, 2 * a, 0.5)
    if number == 5:
        return np.where(t <= s, np.where(t + 40 >= s, np.tanh(a), 7), -np.inf)
    return np.where(seen, a, OTHERWISE[number])


def uses_past(number):
    return MASKS[number][0].count(" p") > 0


def model_of(form, number, n, m, dtype, *flags):
    q, k, spec, _, _ = form
    mask = MASKS[number][0]
    head = "".join("dim %s%s\n" % (d, "" if size is None else " = %d" % size) for d, size in (("n", n), ("m", m)))
    return Model(head + "dim p\n" * uses_past(number) + "input q : %s %s\ninput k : %s %s\nlet a = einsum(\"%s\", q, k)\noutput y = %s\n" %
                 (dtype, q, dtype, k, spec, mask), list(flags))


def shape(text, n, m):
    return [{"n": n, "m": m}.get(a) or int(a) for a in text.strip("[]").replace("|", ",").replace(" ", "").split(",")]


def compare(form, number, model, n, m, dims, dtype):
    p = random.choice([0, 1, 7, 50])
    q, k = (RNG.standard_normal(shape(t, n, m)).astype(dtype) for t in form[:2])
    late = k if "24 | m" not in form[1] else k.T
    keys = [i for i in range(m) if random.random() < 0.1]
    for key in keys:
        index = (key,) if form[1] != "[3, m | 12]" else (slice(None), key)
        late[index] = random.choice([np.nan, np.inf, -np.inf])
    with np.errstate(invalid="ignore"):
        a = np.einsum(form[3], q.astype(np.float64), k.astype(np.float64))
        places = [np.arange(size).reshape([-1 if axis == at else 1 for axis in range(a.ndim)])
                  for size, at in ((n, form[4][0]), (m, form[4][1]))]
        want = wanted(number, a, *places, p)
    results = set()
    for threads in (None, 2):
        model.call = threads and CALLS[threads]
        y, = model.forward(dims + [p] * uses_past(number), [q, k], [(want.shape, dtype)])
        results.add(y.tobytes())
    assert len(results) == 1, "other bits on threads"
    same = np.isclose(y, want, rtol=3e-5, atol=3e-5, equal_nan=True)
    assert same.all(), (form, MASKS[number][0], n, m, p, np.argwhere(~same)[:3])


def run():
    compared = 0
    for number, form in [(i, FORMS[(i + j) % 3]) for i in range(len(MASKS)) for j in range(2)]:
        dtype = random.choice([np.float32, np.float32, np.float64])
        name = "f32" if dtype == np.float32 else "f64"
        march = "-march=" + random.choice(["x86-64", "x86-64-v3", "native"])
        symbolic = model_of(form, number, None, None, name, march, "--grain=1000")
        for _ in range(4):
            n, m = random.choice(SIZES), random.choice(SIZES)
            compare(form, number, symbolic, n, m, [n, m], dtype)
        n, m = random.choice(SIZES), random.choice(SIZES)
        compare(form, number, model_of(form, number, n, m, name, march, "--grain=1000"), n, m, [], dtype)
        compared += 5
    print("%d sums behind masks agree with NumPy" % compared)


def wraps():
    """A limit of 2^62 is none of i32's numbers: the routine refuses it, and masks nothing by what is left of it."""
    q, k = (np.random.default_rng(5).standard_normal(size).astype(np.float32) for size in ((64, 16), (16, 64)))
    model = Model("dim p\ninput q : [64 | 16]\ninput k : [16 | 64]\n"
                  "output y = where(range(64) + 8 > sum(\"s => s | \", range(64)) + p*p, "
                  "einsum(\"s | d; d | t => s | t\", q, k), -1)\n")
    model.forward([0], [q, k], [((64, 64), np.float32)])
    try:
        model.forward([1 << 31], [q, k], [((64, 64), np.float32)])
    except RuntimeError as refused:
        assert str(refused) == "code 16", refused
    else:
        raise AssertionError("a limit that wraps")


CALLS = {2: pool_call(2)}
run()
wraps()
