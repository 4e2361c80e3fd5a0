"""Whole programs as users write them, against NumPy: sizes of 0 and 1 among others."""
import os
import sys

import numpy as np

from tsrlib import Model, check

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
F, random = np.float32, np.random.default_rng(3)


def model(name, *options):
    with open(os.path.join(FOLDER, name + ".tsr"), encoding="utf-8") as file:
        return Model(file.read(), ["-Wno-all", *options])


def normal(*shape):
    return random.standard_normal(shape).astype(F)


def kmeans(m):
    for n, k in ((40, 3), (5, 1), (1, 1), (0, 2)):
        points = normal(n, 2) + 6 * random.integers(0, 3, (n, 1)).astype(F)
        centres = first = normal(k, 2)
        nearest = lambda c: ((points[:, None] - c) ** 2).sum(2).argmin(1) if k else np.zeros(n, int)
        for steps in range(100):
            which, before = nearest(centres), centres
            centres = np.array([points[which == i].mean(0) if (which == i).any() else centres[i] for i in range(k)], F)
            again = nearest(centres)
            after = np.array([points[again == i].mean(0) if (again == i).any() else centres[i] for i in range(k)], F)
            if not k or np.abs(after - centres).max() < 1e-6:
                break
        got, _, place = m.forward([n, k], [points, first], [((k, 2), F), ((), np.int32), ((n,), np.int32)])
        check("centres %d %d" % (n, k), got, centres, 1e-4)
        check("places %d %d" % (n, k), place, nearest(got), 0)


def life(m):
    for h, w, steps in ((9, 12, 5), (1, 4, 3), (3, 3, 0), (1, 1, 2)):
        world = now = (random.random((h, w)) < 0.4).astype(F)
        for _ in range(steps):
            around = sum(np.roll(now, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
            now = ((around == 3) | ((around == 4) & (now > 0))).astype(F)
        check("life %d %d" % (h, w), m.forward([h, w, steps], [world], [((h, w), F)])[0], now, 0)


def kalman(m):
    for t in (7, 1, 0):
        z, x, p, states = normal(t), np.zeros(2), np.eye(2), np.zeros((t, 2))
        a = np.array([[1, 1], [0, 1]])
        for i in range(t):
            x, p = a @ x, a @ p @ a.T + 0.01
            gain = p[:, 0] / (p[0, 0] + 0.5)
            x, p = x + gain * (z[i] - x[0]), p - np.outer(gain, p[0])
            states[i] = x
        got = m.forward([t], [z], [((t, 2), F), ((2,), F), ((2, 2), F)])
        for name, one, want in zip(("states", "state", "covariance"), got, (states, x, p)):
            check("%s %d" % (name, t), one, want, 1e-4)


def bag(m):
    for n, bags in ((20, 4), (1, 3), (0, 2)):
        ids, into, state = random.integers(0, 1000, n), random.integers(0, bags, n).astype(np.int32), m.init()
        table, want = state[:64000].view(F).reshape(1000, 16), np.zeros((bags, 16), F)
        np.add.at(want, into, table[ids])
        check("bags %d" % n, m.forward([n, bags], [ids, into], [((bags, 16), F)], state)[0], want, 1e-6)


def masked(m):
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    for n, t in ((3, 6), (1, 1), (2, 0)):
        x, mask, state = normal(n, t, 8), (random.random((n, t)) < 0.6).astype(F), m.init(seed=3)
        w, r, h, c = state[:640].view(F).reshape(4, 5, 8), state[640:1040].view(F).reshape(4, 5, 5), np.zeros((n, 5)), np.zeros((n, 5))
        steps = np.zeros((t, n, 5))
        for s in range(t):
            i, f, o, g = np.einsum("gud,nd->gnu", w, x[:, s]) + np.einsum("guv,nv->gnu", r, h)
            cn = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            steps[s] = sigmoid(o) * np.tanh(cn)
            keep = mask[:, s, None] > 0
            h, c = np.where(keep, steps[s], h), np.where(keep, cn, c)
        got = m.forward([n, t], [x, mask], [((n, 5), F), ((t, n, 5), F)], state)
        check("the last state %d" % t, got[0], h, 1e-5)
        check("all states %d" % t, got[1], steps, 1e-5)


def beam(m):
    for beams, vocab in ((3, 11), (1, 4)):
        scores, logits = normal(beams), 2 * normal(beams, vocab)
        total = (scores[:, None] + logits - np.log(np.exp(logits).sum(1, keepdims=True))).ravel()
        places = np.argsort(-total, kind="stable")[:beams]
        got = m.forward([beams, vocab], [scores, logits], [((beams,), F), ((beams,), np.int32), ((beams,), np.int32)])
        for name, one, want in zip(("scores", "beams", "tokens"), got, (total[places], places // vocab, places % vocab)):
            check(name, one, want, 1e-5)


def experts(m):
    for n in (5, 1, 0):
        x, state = normal(n, 16), m.init(seed=1)
        at = lambda byte, *shape: state[byte:byte + 4 * int(np.prod(shape))].view(F).reshape(shape)
        router, up, down = at(128, 8, 16), at(640, 8, 32, 16), at(640 + 16384, 8, 16, 32)
        centred = x - x.mean(1, keepdims=True)
        h = centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + F(1e-5))
        gates = h @ router.T
        ids = np.argsort(-gates, 1, kind="stable")[:, :2]
        e = np.exp(np.take_along_axis(gates, ids, 1))
        hidden = np.maximum(np.einsum("nkoi,ni->nko", up[ids], h), 0)
        want = x + np.einsum("nkoi,nki,nk->no", down[ids], hidden, e / e.sum(1, keepdims=True))
        check("experts %d" % n, m.forward([n], [x], [((n, 16), F)], state)[0], want, 1e-4)


def pyramid(m):
    kernel = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256
    for h, w in ((16, 11), (24, 24)):
        image = now = normal(h, w)
        levels = []
        for _ in range(3):
            padded = np.pad(now, 2, mode="reflect")
            windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))[::2, ::2]
            now = np.einsum("ijab,ab->ij", windows, kernel)
            levels.append(now)
        for level, got in zip(levels, m.forward([h, w], [image], [(one.shape, F) for one in levels])):
            check("a level of %d" % h, got, level, 1e-5)


def rank(m):
    for n, e in ((6, 15), (1, 0), (4, 1)):
        start, end = random.integers(0, n, (2, e)).astype(np.int32)
        degree, now = np.maximum(np.bincount(start, minlength=n), 1), np.full(n, 1 / n)
        for _ in range(200):
            now = 0.15 / n + 0.85 * np.bincount(end, (now / degree)[start], n)
        check("ranks %d" % n, m.forward([n, e], [start, end], [((n,), F), ((), np.int32)])[0], now, 1e-4)


def cache(m):
    state, again, x = m.init(seed=2), m.init(seed=2), normal(6, 16)
    whole = m.forward([6, 0], [x], [((6, 2, 6), F)], again, "step")[0]
    for first, end in ((0, 4), (4, 5), (5, 6)):
        part = m.forward([end - first, first], [x[first:end]], [((end - first, 2, end), F)], state, "step")[0]
        check("rows from %d" % first, part, whole[first:end, :, :end], 1e-4)
    assert np.abs(whole).max() > 0.01


if __name__ == "__main__":
    for program in (kmeans, life, kalman, bag, masked, beam, experts, pyramid, rank, cache):
        for options in ([], ["--policy=none"]) if program in (life, kalman, masked) else ([],):
            program(model(program.__name__, *options))
    print("10 programs agree")
