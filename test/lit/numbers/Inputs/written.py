"""written.py TSRC SEED COUNT: gradients by written rules. In COUNT random programs functions with right rules, in calls of calls, in steps of
`scan`, in what is computed again, on either side of `where`, give the gradients, and the gradients of gradients, that the same
functions give without; in f64, all in one module. What rules say that no derivative is stands in `wanted`, computed by hand; so does a
routine that trains through one."""
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import tsr

TSRC, SEED, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

# tensors, the body, the rule: tensors of the shape [n | 3], and w : [3 -> 3]
FUNCTIONS = {
    "square": ("x", "x .* x", "adjoint (c) = 2 * c .* x"),
    "hyperbolic": ("x", "tanh(x)", "adjoint (c) = let y = tanh(x) in c .* (1 - y .* y)"),
    "product": ("x, y", "x .* y", "adjoint (c) = (c .* y, c .* x)"),
    "both": ("x, y", "(x + y .* y, x .* y)", "adjoint (c, d) = (c + d .* y, 2 * c .* y + d .* x)"),
    "layer": ("x, w", "w * x", "adjoint (c) = (w.T * c, einsum(\"b.. | i; b.. | j => j -> i\", c, x))".replace("b..", "..b..")),
    "soft": ("x", "let e = exp(x) in e / sum(\"... | i => ... | \", e)",
             "adjoint (c) = let e = exp(x), y = e / sum(\"... | i => ... | \", e) in y .* (c - sum(\"... | i => ... | \", c .* y))"),
    "looped": ("x", "scan(2, h = x) { h .* x }", "adjoint (c) = 3 * c .* x .* x"),
    "cube": ("x", "x ** 3", "adjoint (c) = scan(2, h = 3 * c, i) { h .* x + 0 * i }"),
    "derived": ("x", "sin(x)", "adjoint (c) = vjp(sin(x), x, c)"),
    "inner": ("x", "x .* hyperbolic(x)", "adjoint (c) = c .* hyperbolic(x) + c .* x .* (1 - square(hyperbolic(x)))"),
    "ended": ("x", "let (h, k) = scan(9, h = x) until (reduce(min, h) < 9) { 0.5 * h } in h", "adjoint (c) = 0.5 * c"),
    "chosen": ("x, k", "where(k > 0, x, 2 * x)", "adjoint (c) = (where(k > 0, c, 2 * c), 0)"),
}
UNARY = ["derived", "square", "hyperbolic", "soft", "looped", "cube", "inner", "ended"]  # the first: not within a step of `scan` (E0913)


def declarations(ruled):
    for name, (tensors, body, rule) in FUNCTIONS.items():
        plain = body if ruled or name != "ended" else "0.5 * x"
        yield "fn %s(%s) = %s%s" % (name, tensors, plain, " " + rule if ruled else "")


class Draw:
    def __init__(self, number):
        self.random, self.lines, self.number = random.Random(SEED * 100003 + number), [], number

    def name(self):
        return "t%d_%d" % (self.number, len(self.lines))

    def let(self, value):
        name = self.name()
        self.lines.append("let %s = %s" % (name, value))
        return name

    def value(self, names, depth, top=True):
        """Of the shape [n | 3]; in a step of a loop, names of the loop are at hand and nothing is declared."""
        pick = self.random.choice
        if depth == 0:
            return pick(names)
        form = pick(["unary"] * 4 + ["product", "layer", "sum", "scan", "where", "chosen", "recompute", "stop"] + ["both", "let"] * top)
        one = self.value(names, depth - 1, top)
        if form == "unary":
            return "%s(%s)" % (pick(UNARY[not top:]), one)
        if form == "product":
            return "product(%s, %s)" % (one, self.value(names, depth - 1, top))
        if form == "layer":
            return "layer(%s, w)" % one
        if form == "sum":
            return "(%s + 0.5 * %s)" % (one, self.value(names, depth - 1, top))
        if form == "scan":
            return "scan(%d, h = %s) { 0.5 * %s }" % (pick([1, 2, 3]), one, self.value(["h"] + names, depth - 1, False))
        if form == "where":
            return "where(x > 0.6, %s, %s)" % (one, self.value(names, depth - 1, top))
        if form in ("recompute", "stop"):
            return "%s(%s)" % (form, one) + " + x" * (form == "stop")
        if form == "chosen":
            return "chosen(%s, k)" % one
        if form == "let":
            return self.let(one)
        other = self.value(names, depth - 1, top)
        a = self.name()
        self.lines.append("let (%s, %sb) = both(%s, %s)" % (a, a, one, other))
        return pick(["%s .* %sb" % (a, a), a, a + "b"])


def program(number):
    d = Draw(number)
    loss = "l%d" % number
    d.lines.append("let %s = sum(%s .* z)" % (loss, d.value(["x", "z"], d.random.choice([1, 2, 3, 3]))))
    d.lines += ["output g%d_%s = grad(%s, %s) + 0 * %s" % (number, x, loss, x, x) for x in ("x", "z", "w")]
    if d.random.random() < 0.5:
        d.lines.append("let again%d = sum(sin(grad(%s, x)))" % (number, loss))
        d.lines += ["output s%d_%s = grad(again%d, %s)" % (number, x, number, x) for x in ("z", "w")]
    return d.lines


def module(folder, name, lines):
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w", encoding="utf8") as out:
        out.write("\n".join(lines) + "\n")
    subprocess.run([TSRC, "-Wno-all", "-O0", path, "-o", path[:-3] + "so"], check=True)
    return tsr.load(path[:-3] + "so")


def compared(folder):
    """How many results are the same, of how many."""
    head = ["dim n", "input x : f64 [n | 3]", "input z : f64 [n | 3]", "input w : f64 [3 -> 3]", "input k : i32 [n | 3]"]
    text = [line for number in range(COUNT) for line in program(number)]
    rng = np.random.default_rng(SEED)
    given = {"x": rng.uniform(0.2, 1, (4, 3)), "z": rng.uniform(0.2, 1, (4, 3)), "w": rng.uniform(-0.6, 0.6, (3, 3)),
             "k": rng.integers(0, 2, (4, 3)).astype(np.int32)}
    want, got = [module(folder, name, head + list(declarations(name == "ruled")) + text).forward(**given) for name in ("plain", "ruled")]
    same = 0
    for name in want.keys():
        if np.allclose(got[name], want[name], rtol=1e-9, atol=1e-11, equal_nan=True):
            same += 1
        else:
            print(name, np.abs(got[name] - want[name]).max())
    return same, len(want.keys())


BY_HAND = """
fn clipped(x) = x adjoint (c) = min(max(c, -1), 1)
fn reversed(x) = x adjoint (c) = -0.5 * c
fn rounded(x) = round(x) adjoint (c) = c
fn entropy(x, ids) = let m = reduce(max, "... | i => ... |", x) in log(sum("... | i => ... |", exp(x - m))) + m - sum("... | i => ... |", where(ids == range(3), x, 0))
    adjoint (c) = let e = exp(x - reduce(max, "... | i => ... |", x)) in (c .* (e / sum("... | i => ... |", e) - where(ids == range(3), 1, 0)), 0)
dim n
input x : f64 [n | 3]
input ids : i32 [n |]
input half : bf16 [n | 3]
param w : f64 [3] = 0.75
output c = grad(sum(clipped(x) ** 3), x)
output r = grad(sum(reversed(x) ** 2), x)
output q = grad(sum(rounded(4 * x) ** 2), x)
output e = grad(sum(entropy(x, ids)), x)
output b = grad(sum(rounded(half) .* rounded(half)), half)
let loss = sum((rounded(w .* x) - x) ** 2)
routine train(rate : f64) -> loss, gradient {
    forward loss
    backward loss
    let gradient = w.grad
    w =- rate * w.grad
}
param v : f64 [3] = 0.5
let twice = sum((x .* v) ** 2 + clipped(3 * rounded(v)))
routine again() -> first, second {
    backward twice
    let first = v.grad
    v =+ 1
    backward twice
    let second = v.grad - first
}
"""


def wrong_by_hand(folder):
    rng = np.random.default_rng(SEED)
    m = module(folder, "hand", BY_HAND.split("\n"))
    x, ids, half = rng.uniform(-2, 2, (5, 3)), np.array([0, 2, 1, 1, 0], np.int32), np.array([[0.25, 0.75, 1.5], [-2.5, 3, 0]], np.float32)
    half5 = np.tile(half, (3, 1))[:5]
    soft = np.exp(x - x.max(1, keepdims=True))
    soft /= soft.sum(1, keepdims=True)
    w = np.full(3, 0.75)
    wanted = {"c": np.clip(3 * x ** 2, -1, 1), "r": -0.5 * 2 * x, "q": 4 * 2 * np.round(4 * x), "e": soft - np.eye(3)[ids],
              "b": 2 * np.round(half5)}
    got = m.forward(x=x, ids=ids, half=half5)
    wrong = [name for name in wanted if not np.allclose(got[name], wanted[name], rtol=1e-6)]
    gradient = m.train(x=x, rate=0.1).gradient
    if not np.allclose(gradient, (2 * (np.round(w * x) - x) * x).sum(0)):
        wrong.append("train")
    again = m.again(x=x)
    for got, v in ((again.first, 0.5), (again.second, 1.5)):
        if not np.allclose(got, (2 * x ** 2 * v).sum(0) + 3):
            wrong.append("again")
    return wrong


INDICES = """
input t : [5]
input k : i32 [1 |]
input x : [3]
fn once(x) = x .* x adjoint (c) = c .* x .* sum(gather(t, k))
fn steps(x) = x .* x adjoint (c) = scan(2, h = c .* x, i) { h .* sum(gather(t, k + i)) }
fn step(x, i) = x .* x adjoint (c) = (c .* x .* sum(gather(t, k + i)), 0)
output d = grad(sum(FUNCTION), x)
"""


def unchecked(folder):
    """What a rule reads at an index is nowhere but in gradients, so these look whether there is such an element."""
    wrong, t = [], np.arange(1, 6, dtype=np.float32)
    cases = {"once(x)": lambda k: t[k], "steps(x)": lambda k: t[k] * t[k + 1],
             "scan(2, h = x, i) { step(h, i) }": lambda k: t[k] * t[k + 1]}
    for number, (function, of) in enumerate(cases.items()):
        m = module(folder, "indices%d" % number, INDICES.replace("FUNCTION", function).split("\n"))
        for k in (-1, 0, 3, 4, 5):
            there = 0 <= k < 5 - (number > 0)
            try:
                d = m(t=t, k=np.array([k], np.int32), x=np.ones(3, np.float32))
                if not there or not np.allclose(d, of(k)):
                    wrong.append((function, k))
            except tsr.CheckError:
                wrong += [(function, k)] * there
    return wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        same, count = compared(folder)
        wrong = wrong_by_hand(folder) + unchecked(folder)
    print("%d of %d gradients by right rules are those without, wrong by hand: %s" % (same, count, wrong or "none"))


main()
