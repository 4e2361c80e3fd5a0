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
let moe = nn.mixture(6, 24, k = 3, act = relu)
routine norm() -> normal { normal =: nn.group_norm(4)(x) }
routine rotate() -> turned { turned =: nn.rotary()(q, p) }
routine mix() -> y, gate, up, down { y =: moe(e); gate =: moe.gate; up =: moe.up; down =: moe.down }
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


for sizes in [(2, 5, 4), (1, 1, 1), (0, 3, 2), (3, 2, 7)]:
    group_norm(*sizes)
for sizes in [(2, 5), (1, 1), (0, 3)]:
    rotary(*sizes)
for n in (0, 1, 5, 9):
    mixture(n)
for settings in [(1, 1), (0.7, 0.8), (2, 0.5)]:
    sample(*settings)
print("layers agree with NumPy")
