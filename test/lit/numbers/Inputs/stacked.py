"""Weights that the step of a loop, or a dim, chooses, against NumPy: large enough for copies in the state."""
import numpy as np

from tsrlib import Model, check

PROGRAM = """
dim t, m
input x : [t | 64]
param ws : [3 | 64 -> 64]
let every = ws .* 1
routine run() -> y, z, v, u, chosen, weights {
  y =: scan(3, h = x, i) { tanh(0.1 * (exp(ws @ i) * h)) }
  z =: scan(3, h = x, i) { tanh((ws @ i).T * h) }
  v =: scan(3, h = x, i) { tanh(einsum("t | a; a -> b => t | b", h, (ws @ i) * (ws @ i))) }
  u =: scan(3, h = x, i) { tanh((ws @ i) * h) }
  chosen =: exp(0.1 * (ws @ m)) * x + (ws @ m) * x
  weights =: every
}
"""
MODEL = Model(PROGRAM)
STATE = MODEL.init(seed=3)
random = np.random.default_rng(1)


def steps(x, weights, step):
    for w in weights:
        x = np.tanh(step(w.astype(np.float64), x))
    return x


for t, m in (5, 1), (1, 2), (0, 0), (17, 0):
    x = random.standard_normal((t, 64)).astype(np.float32)
    shapes = [x.shape] * 5 + [(3, 64, 64)]
    y, z, v, u, chosen, w = MODEL.forward([t, m], [x], [(shape, np.float32) for shape in shapes], state=STATE, routine="run")
    check("function of weights", y, steps(x, w, lambda w, h: 0.1 * h @ np.exp(w).T), 1e-4)
    check("turned", z, steps(x, w, lambda w, h: h @ w), 1e-4)
    check("product of weights", v, steps(x, w, lambda w, h: h @ (w @ w).T), 1e-4)
    check("weights", u, steps(x, w, lambda w, h: h @ w.T), 1e-4)
    check("chosen by a dim", chosen, x @ np.exp(0.1 * w[m]).T + x @ w[m].T, 1e-4)
print("stacked weights agree with NumPy")
