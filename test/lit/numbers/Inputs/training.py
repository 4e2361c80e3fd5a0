"""training.py TSRC LIBRARY...: steps that train, against NumPy in f64 whose gradients are written by hand. Each optimiser of the
library trains a net of two layers for some steps, compiled with OPTIONS; optimisers of the LIBRARY's text without a case below are
told."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import tsr

TSRC, TEXT = sys.argv[1], open(sys.argv[2], encoding="utf8").read()
OPTIONS = os.environ.get("OPTIONS", "-O0").split()
STEPS, RATE = 7, 0.05
NET = """
import nn
import optim
dim n
input x : [n | 3]
input ids : i32 [n |]
param step : i32 [] = 0
let hidden = nn.linear(4)
let out = nn.linear(5)
let loss = nn.mean(nn.cross_entropy(out(tanh(hidden(x))), ids))
routine train(rate : f32) -> loss, square {
    step =+ 1
    backward loss
    square =: 0
    for p in params(loss) { square =+ sum(p.grad ** 2) }
    %s
}
routine read() -> %s { forward step }
"""


def gradients(w, x, ids):
    """The loss, and its gradients by name"""
    h = np.tanh(x @ w["hidden.w"].T + w["hidden.b"])
    z = h @ w["out.w"].T + w["out.b"]
    e = np.exp(z - z.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    loss = -np.log(p[np.arange(len(ids)), ids]).mean()
    dz = (p - np.eye(z.shape[1])[ids]) / len(ids)
    dh = dz @ w["out.w"] * (1 - h * h)
    return loss, {"hidden.w": dh.T @ x, "hidden.b": dh.sum(0), "out.w": dz.T @ h, "out.b": dz.sum(0)}


def momentum(p, g, s, t, nesterov=False, decay=0):
    g = g + decay * p
    s["velocity"] = 0.9 * s.get("velocity", 0) + g
    return p - RATE * (g + 0.9 * s["velocity"] if nesterov else s["velocity"])


def adam(p, g, s, t):
    s["mean"] = 0.9 * s.get("mean", 0) + 0.1 * g
    s["square"] = 0.999 * s.get("square", 0) + 0.001 * g * g
    return p - RATE * s["mean"] / (1 - 0.9 ** t) / (np.sqrt(s["square"] / (1 - 0.999 ** t)) + 1e-8)


def adagrad(p, g, s, t):
    s["square"] = s.get("square", 0) + g * g
    return p - RATE * g / (np.sqrt(s["square"]) + 1e-10)


def rmsprop(p, g, s, t):
    s["square"] = 0.99 * s.get("square", 0) + 0.01 * g * g
    return p - RATE * g / (np.sqrt(s["square"]) + 1e-8)


def lion(p, g, s, t):
    change = np.sign(0.9 * s.get("mean", 0) + 0.1 * g) + 0.2 * p
    s["mean"] = 0.99 * s.get("mean", 0) + 0.01 * g
    return p - RATE * change


def average(p, g, s, t):
    p = p - RATE * g
    s["average"] = 0.9 * s.get("average", 0) + 0.1 * p
    return p


# steps, what they do to a parameter, and its slots
CASES = {
    "sgd": ("optim.sgd(rate)(p)", lambda p, g, s, t: p - RATE * g),
    "sgd with decay": ("optim.sgd(rate, decay = 0.1, scale = 0.5)(p)", lambda p, g, s, t: p - RATE * (0.5 * g + 0.1 * p)),
    "momentum": ("optim.momentum(rate)(p)", momentum, "velocity"),
    "nesterov": ("optim.momentum(rate, nesterov = 1, decay = 0.1, scale = 2)(p)",
                 lambda p, g, s, t: momentum(p, 2 * g, s, t, True, 0.1), "velocity"),
    "adagrad": ("optim.adagrad(rate, scale = 0.5)(p)", lambda p, g, s, t: adagrad(p, g / 2, s, t), "square"),
    "rmsprop": ("optim.rmsprop(rate, scale = 0.5)(p)", lambda p, g, s, t: rmsprop(p, g / 2, s, t), "square"),
    "adam": ("optim.adam(rate, step)(p)", adam, "mean", "square"),
    "adamw": ("optim.adamw(rate, step, decay = 0.1)(p)", lambda p, g, s, t: adam(p * (1 - RATE * 0.1), g, s, t), "mean", "square"),
    "lion": ("optim.lion(rate, decay = 0.2, scale = 0.5)(p)", lambda p, g, s, t: lion(p, g / 2, s, t), "mean"),
    "average": ("optim.sgd(rate)(p)\noptim.average(0.9)(p)", average, "average"),
    "clip": ("optim.adamw(rate, step, decay = 0.1, scale = optim.clip(square, 0.3))(p)",
             lambda p, g, s, t: adam(p * (1 - RATE * 0.1), min(1, 0.3 / (np.sqrt(s["square of all"]) + 1e-6)) * g, s, t), "mean", "square"),
    "warmup": ("optim.sgd(rate .* optim.warmup(5)(step))(p)", lambda p, g, s, t: p - RATE * min(1, t / 5) * g),
    "cosine": ("optim.sgd(rate .* optim.cosine(5, 0.1)(step))(p)",
               lambda p, g, s, t: p - RATE * (0.1 + 0.9 / 2 * (1 + np.cos(np.pi * min(1, t / 5)))) * g),
    "linear": ("optim.sgd(rate .* optim.linear(5, 0.1)(step))(p)", lambda p, g, s, t: p - RATE * (1 - 0.9 * min(1, t / 5)) * g),
    "inverse_sqrt": ("optim.sgd(rate .* optim.inverse_sqrt(3)(step))(p)",
                     lambda p, g, s, t: p - RATE * min(t / 3, np.sqrt(3 / t)) * g),
}


def wrong(name, got, wanted):
    good = np.allclose(got, wanted, rtol=2e-4, atol=2e-5)
    if not good:
        print(name, got, wanted, sep="\n")
    return not good


def check(name, steps, rule, *slots):
    rng = np.random.default_rng(3)
    x, ids = rng.standard_normal((6, 3)), rng.integers(0, 5, 6)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/net.tsr"
        with open(path, "w", encoding="utf8") as out:
            out.write(NET % ("for p in params(loss) {\n%s\n}" % steps, "step"))
        if name in ("adamw", "nesterov"):  # every back end
            subprocess.run([TSRC, "--verify=run", *OPTIONS, path], check=True, stdout=subprocess.DEVNULL)
        model = tsr.compile(path, options=OPTIONS)
    w = {key: np.array(model.params[key], float) for key in ("hidden.w", "hidden.b", "out.w", "out.b")}
    kept, bad = {key: {} for key in w}, 0
    for t in range(1, STEPS + 1):
        loss, g = gradients(w, x, ids)
        square = sum((one ** 2).sum() for one in g.values())
        got = model.train(x=x.astype(np.float32), ids=ids.astype(np.int32), rate=RATE)
        bad += wrong(name + " loss", got.loss, loss) + wrong(name + " square", got.square, square)
        for key in w:
            kept[key]["square of all"] = square
            w[key] = rule(w[key], g[key], kept[key], t)
    for key in w:
        bad += wrong(name + " " + key, model.params[key], w[key])
        for slot in slots:
            bad += wrong("%s %s.%s" % (name, key, slot), model.params["%s.%s" % (key, slot)], kept[key][slot])
    return bad


def equal_gradients():
    """Adam moves by the rate a step where gradients stay as they are, which 1 - keep ** step in f32 would not tell."""
    model = tsr.compile("import optim\nparam step : i32 [] = 0\nparam w : [3] = 0\nlet y = sum(w)\n"
                        "routine train() -> w {\nstep =+ 1\nbackward y\nfor p in params(y) { optim.adam(1, step)(p) }\n}",
                        options=OPTIONS)
    return max(abs(model.train() + t).max() / t for t in range(1, 6)) > 1e-6


results = {name: check(name, *case) for name, case in CASES.items()}
print("%d optimisers, %d wrong" % (len(results), sum(map(bool, results.values()))))
named = [name for name in re.findall(r"^(?:routine|fn) (\w+)\(", TEXT, re.M) if TEXT.count(name + "(") == 1]  # else in another
print("equal gradients:", "wrong" if equal_gradients() else "steps of the rate")
print("without a test:", [name for name in named if not any("optim.%s(" % name in case[0] for case in CASES.values())] or "none")
