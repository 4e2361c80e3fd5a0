"""Layers of the library nn against NumPy, with the weights that their initialisers give: layers.py SEED."""
import sys

import numpy as np

from tsrlib import Model, check

SEED = int(sys.argv[1])
random = np.random.default_rng(SEED)
F32, I32 = np.float32, np.int32
PROGRAM = """
import nn
dim n, h, w, s
input x : [n | h, w, 12]
input q : [n, s | 3, 8]
input p : i32 [s]
input e : [n | 16]
input logits : [n | 50]
input seed : i32 []
input temperature : []
input mass : []
dim steps
input sequence : [steps, n | 5]
input first : [n | 7]
let x_now = sum("t, n | i => n | i", sequence)
let lstm = nn.lstm(7)
let cell = nn.lstm_cell(7)
let gru = nn.gru(7)
let unit = nn.gru_cell(7)
let (lh, lc, la) = lstm(sequence, first, first)
let (gh, ga) = gru(sequence, first)
let (ch, cc) = cell(x_now, first, first)
let moe = nn.mixture(6, 24, k = 3, act = relu)
routine norm() -> normal { normal =: nn.group_norm(4)(x) }
routine rotate() -> turned { turned =: nn.rotary()(q, p) }
routine mix() -> y, gate, up, down { y =: moe(e); gate =: moe.gate; up =: moe.up; down =: moe.down }
routine long() -> state, c, a, wx, wh, b { state =: lh; c =: lc; a =: la; wx =: lstm.wx; wh =: lstm.wh; b =: lstm.b }
routine gated() -> state, a, wx, wh, bx, bh { state =: gh; a =: ga; wx =: gru.wx; wh =: gru.wh; bx =: gru.bx; bh =: gru.bh }
routine once() -> state, c, u, wx, wh, vx, vh {
  state =: ch; c =: cc; u =: unit(x_now, first); wx =: cell.wx; wh =: cell.wh; vx =: unit.wx; vh =: unit.wh
}
routine draw() -> ids { ids =: nn.sample(10)(logits, seed, temperature, mass) }
"""
MODEL = Model(PROGRAM)
STATE = MODEL.init(seed=SEED)


def run(routine, dims, inputs, outputs):
    return MODEL.forward(dims, inputs, outputs, state=STATE, routine=routine)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def group_norm(n, h, w):
    x = random.standard_normal((n, h, w, 12)).astype(F32) * 3 + 1
    groups = x.reshape(n, h, w, 4, 3).astype(np.float64)
    mean, variance = groups.mean((1, 2, 4), keepdims=True), groups.var((1, 2, 4), keepdims=True)
    want = ((groups - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape)
    check("group_norm", run("norm", [n, h, w], [x], [(x.shape, F32)])[0], want, 1e-4)


def rotary(n, s):
    q = random.standard_normal((n, s, 3, 8)).astype(F32)
    positions = random.integers(0, 500, s).astype(I32)
    angle = positions[:, None] / 10000.0 ** (np.arange(4) / 4)
    turned = (q[..., :4] + 1j * q[..., 4:]) * np.exp(1j * angle)[:, None, :]
    want = np.concatenate([turned.real, turned.imag], -1)
    check("rotary", run("rotate", [n, s], [q, positions], [(q.shape, F32)])[0], want, 1e-4)


def mixture(n):
    e = random.standard_normal((n, 16)).astype(F32)
    shapes = [(n, 16), (6, 16), (6, 24, 16), (6, 16, 24)]
    y, gate, up, down = run("mix", [n], [e], [(shape, F32) for shape in shapes])
    want = np.zeros((n, 16))
    for row in range(n):
        scores = gate @ e[row]
        chosen = np.argsort(-scores, kind="stable")[:3]
        for expert, share in zip(chosen, softmax(scores[chosen])):
            want[row] += share * (down[expert] @ np.maximum(up[expert] @ e[row], 0))
    check("mixture", y, want)


def sample(temperature, mass):
    """Often drawn: as often as their probabilities say, within five standard deviations, and no other."""
    n, row = 20000, random.standard_normal(50).astype(F32) * 2
    logits = np.broadcast_to(row, (n, 50)).copy()
    draw = lambda seed: run("draw", [n], [logits, I32(seed), F32(temperature), F32(mass)], [((n,), I32)])[0]
    ids = draw(1)
    best = np.argsort(-row)[:10]
    probability = softmax(row[best].astype(np.float64) / temperature)
    kept = np.cumsum(probability) - probability < mass
    want = np.zeros(50)
    want[best[kept]] = probability[kept] / probability[kept].sum()
    seen = np.bincount(ids, minlength=50) / n
    assert np.all(np.abs(seen - want) <= 5 * np.sqrt(want * (1 - want) / n)), (seen, want)
    assert np.array_equal(ids, draw(1)) and not np.array_equal(ids, draw(2)), "a seed draws the same ids, another others"
    assert len(np.unique(ids[:100])) > 1, "rows draw for themselves"


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(x, h, c, wx, wh, b=0):
    z = np.einsum("ni,gji->gnj", x, wx) + np.einsum("ni,gji->gnj", h, wh) + b
    c = sigmoid(z[1]) * c + sigmoid(z[0]) * np.tanh(z[2])
    return sigmoid(z[3]) * np.tanh(c), c


def gru_step(x, h, wx, wh, bx=0, bh=0):
    a, b = np.einsum("ni,gji->gnj", x, wx) + bx, np.einsum("ni,gji->gnj", h, wh) + bh
    r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
    return (1 - z) * np.tanh(a[2] + r * b[2]) + z * h


def recurrent(n, steps):
    """PyTorch's LSTM and GRU, step by step."""
    x, first = random.standard_normal((steps, n, 5)).astype(F32), random.standard_normal((n, 7)).astype(F32)
    state, every, w = (n, 7), (steps, n, 7), [(4, 7, 5), (4, 7, 7), (4, 7)]
    h, c, a, wx, wh, b = run("long", [n, steps], [x, first], [(shape, F32) for shape in [state, state, every, *w]])
    want = [(first, first)]
    for row in x:
        want.append(lstm_step(row, *want[-1], wx, wh, b[:, None]))
    for name, got, wanted in ("h", h, want[-1][0]), ("c", c, want[-1][1]), ("all", a, [s for s, _ in want[1:]]):
        check("lstm " + name, got, np.array(wanted).reshape(got.shape), 1e-4)
    w = [(3, 7, 5), (3, 7, 7), (3, 7), (3, 7)]
    h, a, wx, wh, bx, bh = run("gated", [n, steps], [x, first], [(shape, F32) for shape in [state, every, *w]])
    want = [first]
    for row in x:
        want.append(gru_step(row, want[-1], wx, wh, bx[:, None], bh[:, None]))
    check("gru", h, want[-1], 1e-4)
    check("gru all", a, np.array(want[1:]).reshape(a.shape), 1e-4)
    shapes = [state] * 3 + [(4, 7, 5), (4, 7, 7), (3, 7, 5), (3, 7, 7)]
    h, c, u, wx, wh, vx, vh = run("once", [n, steps], [x, first], [(shape, F32) for shape in shapes])
    for name, got, wanted in zip("hc", (h, c), lstm_step(x.sum(0), first, first, wx, wh)):
        check("lstm_cell " + name, got, wanted, 1e-4)
    check("gru_cell", u, gru_step(x.sum(0), first, vx, vh), 1e-4)


for sizes in [(2, 5, 4), (1, 1, 1), (0, 3, 2), (3, 2, 7)]:
    group_norm(*sizes)
for sizes in [(2, 5), (1, 1), (0, 3)]:
    rotary(*sizes)
for sizes in [(3, 6), (1, 1), (2, 0), (0, 3)]:
    recurrent(*sizes)
for n in (0, 1, 5, 9):
    mixture(n)
for settings in [(1, 1), (0.7, 0.8), (2, 0.5)]:
    sample(*settings)
print("layers agree with NumPy")
