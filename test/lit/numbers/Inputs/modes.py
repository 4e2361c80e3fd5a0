"""modes.py: one instance in two modes, by dropout, which is held against what it is to be."""
import os

import numpy as np

import tsr

OPTIONS = os.environ.get("OPTIONS", "").split()

DROPS = """
import nn
input x : [400 | 50]
param seed : i32 [] = 0
fn layers()(x) = let first = nn.dropout(0.25), second = nn.dropout(0.25) in (first(x), second(x))
let net = layers()
let (a, b) = net(x; training = 1, seed = seed)
let (c, _d) = net(x; training = 1, seed = 3)
output (p, q) = net(x)
routine train() -> a, b, c, g {
    forward a forward b forward c
    backward sum(a)
    g =: x.grad
    seed =+ 1
}
"""


def drops():
    """What is wrong with dropout"""
    model = tsr.compile(DROPS, options=OPTIONS)
    x = np.random.default_rng(1).standard_normal((400, 50)).astype(np.float32) + 9
    first, second = model.train(x=x), model.train(x=x)
    plain = model.forward(x=x)
    again = tsr.compile(DROPS, options=OPTIONS).train(x=x)
    kept = [np.asarray(one) != 0 for one in (first.a, first.b, first.c, second.a)]
    facts = {"in the other mode it is the operand": (plain.p == x).all() and (plain.q == x).all(),
             "what is kept is divided": np.allclose(first.a[kept[0]], x[kept[0]] / 0.75, rtol=1e-6),
             "a quarter is 0": all(abs(one.mean() - 0.75) < 0.01 for one in kept),
             "draws differ": all(0.55 < (kept[0] == other).mean() < 0.7 for other in kept[1:]),
             "a seed draws the same": (again.a == first.a).all() and (second.c == first.c).all(),
             "gradients are 0 where it is": np.allclose(first.g, kept[0] / 0.75)}
    return [name for name, holds in facts.items() if not holds]


print("dropout: %s" % (drops() or "as it is to be"))
