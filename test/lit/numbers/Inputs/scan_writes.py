"""scan_writes.tsr, whose scans write what they carry, against NumPy, at several sizes."""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../../python"))
import tsr  # noqa: E402

F = np.float32


def bf16(x):
    bits = np.asarray(x, F).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) << 16).astype(np.uint32).view(F)


def growing(x, w):
    t, d = x.shape
    c, seen = np.zeros((t, d), F), np.zeros((t, d), F)
    for i in range(t):
        c[i] = np.tanh(w @ x[i])
        seen[i] = c.sum(0)
    return c, seen


def named(x):
    t, d = x.shape
    c, before = np.ones((t, d), F), np.zeros((t, t, d), F)
    for i in range(t):
        old = c.copy()
        c[i] += x[i]
        now = c.copy()
        c *= 2
        before[i] = old + 10 * now + 200 * old + 1000 * old
    return c, before


def changing(x):
    l, r = x.copy(), 2 * x
    for i in range(len(x)):
        l[i] = 3 * x[i]
        r = np.maximum(r, l)
        r[i] -= x[i]
        l, r = r, l
    return l, r


def going(x):
    g = x.copy()
    for i in range(len(x)):
        g[i] = 1 + x[i]
        g = F(0.5) * g
    return g


def narrow(x):
    h = np.full(x.shape, 0.5, F)
    for i in range(len(x)):
        h[i] = bf16(h[i] + x[i])
    return h


def distances(ids, a):
    e = np.zeros((len(ids) + 1, len(a) + 1), F)
    for i, here in enumerate(ids):
        e[i + 1, 0] = i + 1
        for j, there in enumerate(a):
            e[i + 1, j + 1] = min(e[i + 1, j] + 1, e[i, j + 1] + 1, e[i, j] + (here != there))
    return e


def nested(x):
    t, d = x.shape
    o, inner = np.zeros((t, d), F), np.zeros((t, 5), F)
    for i in range(t):
        q, k = np.zeros(5, F), 0
        for j in range(5):
            q[j] = i + j
            k += 1
            if q.sum() > 6:
                break
        o[i], inner[i] = q.sum() + k + x[i], q
    return o, inner


def woven(x):
    t, d = x.shape
    u = np.zeros((t, 2 * d), F)
    u[:, 1::2], u[:, ::2] = 2 * x, -x
    return u


def expected(x, ids, a, w):
    t, d = x.shape
    counts = np.zeros(8, np.int32)
    for i in range(t):
        counts[i] += 1
    names = "cache seen after before left right gone counts narrow table outer inner woven".split()
    values = (*growing(x, w), *named(x), *changing(x), going(x), counts, narrow(x),
              distances(ids, a), *nested(x), woven(x))
    return dict(zip(names, values))


def check(model, t, d, m):
    rng = np.random.default_rng(t * 100 + d * 10 + m)
    x = rng.standard_normal((t, d), dtype=F)
    ids, a = rng.integers(0, 3, t).astype(np.int32), rng.integers(0, 3, m).astype(np.int32)
    wrong = 0
    w = rng.standard_normal((d, d), dtype=F)
    results = model.forward(x=x, ids=ids, a=a, w=w)
    for name, want in expected(x, ids, a, w).items():
        got = getattr(results, name)
        if got.dtype == np.uint16:
            got = (got.astype(np.uint32) << 16).view(F)
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-5, atol=1e-6):
            print(f"t={t} d={d} m={m}: {name} is", got, "and not", want)
            wrong += 1
    return wrong


def check_routine(model):
    wrong, state = 0, np.ones(4, F)
    for most in (0, 1, 3):
        for i in range(most):
            state[i] += 1
            state = 2 * state
        wrong += not np.array_equal(model.put(most=most), state)
    return wrong


def main():
    model = tsr.compile(os.path.join(HERE, "scan_writes.tsr"))
    sizes = [(0, 1, 0), (1, 1, 1), (3, 2, 4), (7, 5, 0), (2, 33, 3)]
    wrong = sum(check(model, *s) for s in sizes) + check_routine(model)
    print(f"{len(sizes)} sizes, {wrong} wrong")


main()
