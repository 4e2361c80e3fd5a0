"""Long sums of one element and of few neighbours against NumPy in f64, around the widths of lanes and of parts; the
same bits on any number of threads, and of a member of a batch alone."""
import random
import sys

import numpy as np

from tsrlib import Model, check, draw_cuts, in_rows, pool_call

random.seed(5)
RNG = np.random.default_rng(5)
ELEMENTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 20, 24, 32, 48, 63, 64, 100, 128, 130]
ROWS = [0, 1, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000, 4097]
MARCHES = ["x86-64", "x86-64-v3", "native"]

# the expression over x and t, where t has a value a column, and what NumPy makes of it
SUMS = [
    ("sum(OVER, x)", lambda x, t: x.sum(0)),
    ("sum(OVER, (x - t) ** 2) / 3", lambda x, t: ((x - t) ** 2).sum(0) / 3),
    ("reduce(max, OVER, x)", lambda x, t: x.max(0, initial=-np.inf)),
    ("reduce(min, OVER, abs(x - t))", lambda x, t: abs(x - t).min(0, initial=np.inf)),
    ("sum(OVER, exp(x))", lambda x, t: np.exp(x).sum(0)),
    ("sqrt(sum(OVER, x .* x))", lambda x, t: np.sqrt((x * x).sum(0))),
]


def program(text, dtype, elements):
    axes, letters = (["n", elements], "ij") if elements else (["n"], "i")
    cuts = draw_cuts(random.randrange, len(axes))
    over = '"%s => %s"' % (in_rows(letters, cuts), letters[1:])
    t = "input t : %s [%s]\n" % (dtype, in_rows(axes[1:], [max(c - 1, 0) for c in cuts])) if "t)" in text else ""
    return "input x : %s [%s]\n%soutput y = %s\n" % (dtype, in_rows(axes, cuts), t, text.replace("OVER", over))


def run(count):
    calls = [None, pool_call(2), pool_call(3)]
    for number in range(count):
        text, want = SUMS[number % len(SUMS)]
        elements, dtype = random.choice([0, *ELEMENTS]), random.choice(["f32", "f32", "f64"])
        many = 300000 // max(elements, 1) + random.randrange(70)
        rows, symbolic = random.choice([*ROWS, many, many]), random.random() < 0.5
        head = "dim n\n" if symbolic else "dim n = %d\n" % rows
        march = MARCHES[number % 3]
        model = Model(head + program(text, dtype, elements), ["-march=" + march])
        for rows in (rows, random.choice(ROWS)) if symbolic else (rows,):
            kind = np.float64 if dtype == "f64" else np.float32
            x = RNG.standard_normal((rows, max(elements, 1))).astype(kind)
            t = RNG.standard_normal(max(elements, 1)).astype(kind)
            arrays = [x, t] if "t)" in text else [x]
            bits = set()
            for model.call in calls:
                y, = model.forward([rows] if symbolic else [], arrays, [((elements,) if elements else (), kind)])
                bits.add(y.tobytes())
            name = "%s of %s [%d, %d] %s" % (text, dtype, rows, elements, march)
            check(name, y.reshape(-1), want(x.astype(np.float64), t.astype(np.float64)), 1e-5)
            if len(bits) != 1:
                print("%s: threads change bits" % name)
                sys.exit(1)
    members(calls, (1 << 19) + 33, "x .* x", lambda x: (x * x).sum(-1))
    members(calls, 1 << 19, "x", lambda x: x.sum(-1))
    print("%d long sums agree with NumPy" % count)


def members(calls, length, value, want):
    text = 'input x : [n, 2 | %d]\noutput y = sum("n, b | k => n, b |", %s)\n' % (length, value)
    x = RNG.standard_normal((3, 2, length)).astype(np.float32)
    bits = set()
    for n in (None, 3, 1):
        model = Model("dim n\n" + text if n is None else "dim n = %d\n" % n + text)
        for model.call in calls:
            y, = model.forward([3] if n is None else [], [x[:n]], [((n or 3, 2), np.float32)])
            bits.add(y[:1].tobytes())
        check("members, %s" % value, y, want(x[:n].astype(np.float64)))
    if len(bits) != 1:
        print("%s: a batch or threads change the bits of a member" % value)
        sys.exit(1)


# Elements that have lanes of their own: the expression over x, y and t, where t has a value a row, and NumPy's.
OUTER = [
    ("einsum(\"n, i; n, j => i, j\", x, x)", "ni,nj->ij", "xx"),
    ("einsum(\"n, i; n, j => j, i\", x, y)", "ni,nj->ji", "xy"),
    ("einsum(\"n; n, i; n, j => i, j\", t, x, y)", "n,ni,nj->ij", "txy"),
    ("1 + 2 * einsum(\"n, i; n, j; n, k => i, j, k\", x, y, x)", "ni,nj,nk->ijk", "xyx"),
]


def outer(count, calls):
    for number in range(count):
        text, spec, names = OUTER[number % len(OUTER)]
        rows = random.choice([*ROWS, random.randrange(7000, 60000)])
        symbolic, march = random.random() < 0.5, MARCHES[number % 3]
        kind, dtype = random.choice([(np.float32, "f32"), (np.float32, "f32"), (np.float64, "f64")])
        wide, narrow = random.randrange(2, 9), random.randrange(2, 4)
        shapes = {"x": [narrow], "y": [wide], "t": []}
        arrays = {name: RNG.standard_normal((rows, *shapes[name])).astype(kind) for name in dict.fromkeys(names)}
        head = "dim n\n" if symbolic else "dim n = %d\n" % rows
        inputs = "".join("input %s : %s [%s]\n" % (name, dtype, ", ".join(["n"] + [str(s) for s in shapes[name]]))
                         for name in arrays)
        model = Model(head + inputs + "output z = %s\n" % text, ["-march=" + march])
        want = np.einsum(spec, *[arrays[name].astype(np.float64) for name in names])
        want = 1 + 2 * want if text[0] == "1" else want
        bits = set()
        for model.call in calls:
            z, = model.forward([rows] if symbolic else [], list(arrays.values()), [(want.shape, kind)])
            bits.add(z.tobytes())
        name = "%s of %s [%d, %d, %d] %s" % (text, dtype, rows, narrow, wide, march)
        scale = np.sqrt(rows) + 1
        check(name, z.astype(np.float64) / scale, want / scale, 1e-5)
        if len(bits) != 1:
            print("%s: threads change bits" % name)
            sys.exit(1)


run(int(sys.argv[1]))
outer(int(sys.argv[1]) // 2, [None, pool_call(2), pool_call(3)])
