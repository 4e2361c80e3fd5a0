"""Random nets that train, against a tape in NumPy: training.py TSRC SEED COUNT [--keep=DIR] [--target=cuda..]

A program is a chain of layers inside a function with the mode `training`, or as definitions of the file: products, windows,
attention, loops, tables that are read and written at integers, what is put in another order, dropout whose elements follow from
the documented stream, means that `update` keeps. A routine takes its gradients and lets one optimiser or two loose on the
parameters. All is in f64, and so is the oracle: losses of some steps, the loss in the other mode, and each parameter and slot
behind them are held against it, and their bits on one thread and on several against each other."""
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import tape
import tsr
from net_layers import ONE, TWO, Net, ids, leaf, numbers, reduced, text, turned
from tape import Value, einsum

PROCESSORS = ["native", "native", "x86-64-v3", "x86-64-v4", "x86-64"]
OPTIONS = [[], [], ["--grain=0"], ["--grain=0"], ["--grain=0", "--fp=strict"], ["--policy=none"], ["-O3"], ["--no-prepack"]]
TARGET = [a for a in sys.argv if a.startswith("--target=")]  # another than this processor
RATE = 0.05


# ---- optimisers: what they say, and what they do to a parameter ----

def sgd(p, g, s, t):
    return p - RATE * g


def decayed(p, g, s, t):
    return p - RATE * (g + 0.1 * p)


def momentum(p, g, s, t):
    s["velocity"] = 0.9 * s.get("velocity", 0) + g
    return p - RATE * (g + 0.9 * s["velocity"])


def adam(p, g, s, t):
    s["mean"] = 0.9 * s.get("mean", 0) + 0.1 * g
    s["square"] = 0.999 * s.get("square", 0) + 0.001 * g * g
    return p - RATE * s["mean"] / (1 - 0.9 ** t) / (np.sqrt(s["square"] / (1 - 0.999 ** t)) + 1e-3)


def adamw(p, g, s, t):
    return adam(p * (1 - RATE * 0.1), g, s, t)


def rmsprop(p, g, s, t):
    s["square"] = 0.99 * s.get("square", 0) + 0.01 * g * g
    return p - RATE * g / (np.sqrt(s["square"]) + 1e-2)


def averaged(p, g, s, t):
    p = p - RATE * g
    s["average"] = 0.9 * s.get("average", 0) + 0.1 * p
    return p


OPTIMISERS = {
    "optim.sgd(rate)(p)": sgd,
    "optim.sgd(rate, decay = 0.1)(p)": decayed,
    "optim.momentum(rate, nesterov = 1)(p)": momentum,
    "adam(rate, step)(p)": adam,
    "p =* 1 - 0.1 * rate adam(rate, step)(p)": adamw,
    "optim.rmsprop(rate, eps = 1e-2)(p)": rmsprop,
    "optim.sgd(rate)(p) optim.average(0.9)(p)": averaged,
}


# as in optim, whose corrections are f32
ADAM = """routine adam(rate, step)(p) {
    p.mean =: 0.9 .* p.mean + 0.1 .* p.grad
    p.square =: 0.999 .* p.square + 0.001 .* p.grad ** 2
    p =- rate .* (p.mean / (1 - 0.9 ** f64(step))) / (sqrt(p.square / (1 - 0.999 ** f64(step))) + 1e-3)
}"""


# ---- programs ----

class Program:
    def __init__(self, seed):
        d = self.net = Net(seed)
        a = d.pick(2, 3, 4, 6)
        x = d.input("[n | %d]" % a, numbers("n", a))
        h = d.let("%s + 0" % x, [a], lambda e: leaf(e, x))
        for _ in range(d.pick(2, 3, 4, 5, 6)):
            made = d.pick(*(ONE if len(h.axes) == 1 else [turned, reduced] if h.axes[1] == "t" else TWO))(d, h)
            h = made if made else h
        if "t" in h.axes:
            at, before = h.axes.index("t") + 1, h.name
            h = d.let('sum("n | %s => n | k", %s)' % (("t, k", "k, t")[at - 1], before), [k for k in h.axes if k != "t"],
                      lambda e: summed(e[before], at))
        self.loss(d, h)
        self.routine(d)

    def loss(self, d, h):
        labels = h.axes[-1] if len(h.axes) == 1 and d.random.random() < 0.5 else None
        if labels:
            y = d.input("[n |]", ids(labels, "n"), "i32")
            d.lets.append('loss_ = -sum("n | v => ", where(range(%d) == %s, %s - log(sum("n | v => n | 0", exp(%s))), 0)) / (n + 1)' % (
                labels, y, h.name, h.name))
            hot = lambda e: Value(np.eye(labels)[e[y]].reshape(-1, labels))
            f = lambda e: (einsum("n->", tape.log(einsum("nv->n", tape.exp(e[h.name])))) - einsum("nv,nv->", hot(e), e[h.name])) / Value(e["n"] + 1)
        else:
            y = d.input(text(h.axes), numbers("n", *h.axes))
            d.lets.append("loss_ = sum((%s - %s) ** 2) / (n + 1)" % (h.name, y))
            f = lambda e: summed(tape.square(e[h.name] - leaf(e, y))) / Value(e["n"] + 1)
        self.value = f

    def routine(self, d):
        prefix = self.prefix = "net." if d.body else ""
        lines = ["import optim", "dim n", "dim t"] + ["input %s : %s" % (name, type_) for name, (type_, _) in d.inputs.items()]
        loops = any("scan(" in one for one in d.lets)
        self.kind = "plain" if loops else d.pick("plain", "first", "twice", "twice")
        lines.append("param step : i32 [] = %d" % (self.kind != "first"))
        names = list(d.inputs)
        if d.body:
            lines.append("fn body()(%s; training = 0, seed = 0) = let\n    %s\n    in loss_" % (", ".join(names), ",\n    ".join(d.lets)))
            lines += ["let net = body()", "let loss = net(%s; training = 1, seed = step)" % ", ".join(names)]
            self.place = "net.loss."
        else:
            lines += ["param %s : %s = %s" % one for one in d.params]
            lines += ["let " + one.replace("seed", "step") for one in d.lets] + ["let loss = loss_"]
            self.place = ""
        weights = list(d.weights)
        d.random.shuffle(weights)
        cut = d.random.randint(0, len(weights)) if d.random.random() < 0.6 else len(weights)
        first, second = d.random.choices(list(OPTIMISERS), k=2)
        self.rules = {name: OPTIMISERS[first if i < cut else second] for i, name in enumerate(weights)}
        if "adam" in first + second:
            lines.append(ADAM)
        steps = []
        quoted = ", ".join('"%s%s"' % (prefix, name) for name in weights[:cut])
        if cut == len(weights):
            steps.append("for p in params(loss) { %s }" % first)
        elif cut == 0:
            steps.append("for p in params(loss) { %s }" % second)
        else:
            steps.append("for p in params(loss, %s) { %s }" % (quoted, first))
            steps.append("for p in params(loss) except (%s) { %s }" % (quoted, second))
        if d.random.random() < 0.3:
            steps.reverse()
        self.late = self.kind == "twice" and d.random.random() < 0.5
        update = ["update loss"] if any("update" in one for one in d.lets) else []
        self.grads = d.random.sample([n for n, (type_, _) in d.inputs.items() if type_.startswith("f64")], 1) if d.random.random() < 0.4 else []
        outs = ["g_%s =: %s.grad" % (n, n) for n in self.grads]
        once = (update if not self.late else []) + outs + steps
        body = {"plain": ["backward loss"] + once + ["step =+ 1"], "first": ["step =+ 1", "backward loss"] + once,
                "twice": ["backward loss"] + once + ["step =+ 1", "backward loss"] + (update if self.late else [])
                + ["for p in params(loss) { optim.sgd(rate)(p) }"]}[self.kind]
        lines.append("routine train(rate : f64) -> loss%s {\n    %s\n}" % ("".join(", g_" + n for n in self.grads), "\n    ".join(body)))
        if d.body:
            lines.append("let tested = net(%s)" % ", ".join(names))
            lines.append("routine valid() -> tested { forward tested }")
        self.text = "\n".join(lines) + "\n"


def summed(x, axis=None):
    letters = "abcdefgh"[:len(x.shape)]
    return einsum("%s->%s" % (letters, "" if axis is None else letters.replace(letters[axis], "")), x)


def evaluate(program, state, given, dims, training, seed):
    """The loss, and the environment."""
    net = program.net
    env = {**dims, **given, "training": training, "place": program.place, "seed": seed, "update": [], "leaves": {}}
    env.update({name: Value(state[program.prefix + name]) for name, _, _ in net.params})
    for name, f in net.run:
        env[name] = f(env)
    return program.value(env), env


def keep(program, state, env):
    state.update({program.prefix + name: value for name, value in env["update"]})


def zeros_or(value):
    return np.zeros(value.shape) if value.grad is None else value.grad


def gradients(program, env, loss):
    tape.backward(loss)
    return {name: zeros_or(env[name]) for name in program.rules}


def train(program, state, slots, given, dims, step, loss, env):
    """The routine `train` on the state and its slots; its results."""
    if not program.late:
        keep(program, state, env)
    first = gradients(program, env, loss)
    of_inputs = [zeros_or(env["leaves"].get(name, Value(given[name]))) for name in program.grads]
    for name, rule in program.rules.items():
        state[program.prefix + name] = rule(env[name].array, first[name], slots[name], step)
    if program.kind != "twice":
        return [loss.array, *of_inputs]
    loss, env = evaluate(program, state, given, dims, True, step + 1)
    if program.late:
        keep(program, state, env)
    second = gradients(program, env, loss)
    for name in program.rules:
        state[program.prefix + name] = sgd(env[name].array, first[name] + second[name], {}, step)
    return [loss.array, *of_inputs]


def close(got, want):
    got, want = np.asarray(got, float), np.asarray(want, float)
    return got.shape == want.shape and np.allclose(got, want, rtol=1e-7, atol=1e-9, equal_nan=True)


def run(program, so, seed, threads, dims_of, check):
    """What differs, and all bits."""
    wrong, bits, rng = [], [], np.random.default_rng(seed)
    model, net = tsr.load(so, seed=seed, threads=threads), program.net
    state = {name: np.array(model.params[name]) for name in model.params if "." not in name[len(program.prefix):]}
    slots = {name: {} for name in program.rules}
    for step in range(1, 4):
        dims = dims_of[step - 1]
        given = {name: make(rng, dims) for name, (_, make) in net.inputs.items()}
        for name, routine, training in [("valid", "valid", False), ("train", "train", True)]:
            if routine not in model.routines:
                continue
            r = model.routines[routine]
            got = r.run({**{t.name: given[t.name] for t in r.inputs}, **{k: dims[k] for k in r.dims},
                         **({"rate": RATE} if training else {})})
            got = list(got) if isinstance(got, tuple) else [got]
            bits += [np.asarray(one).tobytes() for one in got]
            if not check:
                continue
            loss, env = evaluate(program, state, given, dims, training, step)
            wanted = train(program, state, slots, given, dims, step, loss, env) if training else [loss.array]
            if not abs(wanted[0]) < 1e6:
                return wrong, bits, False
            wrong += ["step %d, %s: result %d is %r and is to be %r" % (step, routine, i, one, other)
                      for i, (one, other) in enumerate(zip(got, wanted)) if not close(one, other)]
    bits += [np.asarray(model.params[name]).tobytes() for name in model.params]
    if check:
        full = dict(state)
        for name in slots:
            full.update({"%s%s.%s" % (program.prefix, name, slot): v for slot, v in slots[name].items()})
        full["step"] = 4 - (program.kind == "first")
        for name in model.params:
            if name not in full:
                wrong.append("parameter %s is none of the oracle's" % name)
            elif not close(model.params[name], full[name]):
                wrong.append("parameter %s is\n%s and is to be\n%s" % (name, model.params[name], full[name]))
    return wrong, bits, True


def check(tsrc, seed, folder):
    program = Program(seed)
    d = random.Random(seed)
    path = "%s/p%d.tsr" % (folder, seed)
    with open(path, "w", encoding="utf8") as out:
        out.write(program.text)
    how = ["-march=" + d.choice(PROCESSORS), *d.choice(OPTIONS)]
    command = [tsrc, "-Wno-all", *(TARGET or how), path, "-o", path[:-3] + "so"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if made.returncode == 1 and "[E0263]" in made.stderr:
        return "refused", ""
    if made.returncode:
        return "wrong", "%s\n%s%s" % (" ".join(command), program.text, made.stderr[:1500])
    small = [0, 1, 1, 2, 3] if program.net.empty else [1, 1, 2, 3, 5]
    dims_of = [{"n": d.choice(small + [7, 20]), "t": d.choice(small + [4])} for _ in range(3)]
    wrong, bits, finite = run(program, path[:-3] + "so", seed, 1, dims_of, True)
    for threads in () if TARGET else (2, 3):
        if run(program, path[:-3] + "so", seed, threads, dims_of, False)[1] != bits and finite:
            wrong.append("other bits on %d threads" % threads)
    if wrong:
        return "wrong", " ".join(command) + "\n" + str(dims_of) + "\n" + program.text + "\n".join(wrong)
    return ("agree" if finite else "infinite"), ""


def main():
    tsrc, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    keep = [a[7:] for a in sys.argv if a.startswith("--keep=")]
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + count):
            kind, why = check(tsrc, number, keep[0] if keep else folder)
            said[kind] = said.get(kind, 0) + 1
            if why:
                print(kind.upper(), "seed", number, why, flush=True)
    print("%d programs, %s" % (count, ", ".join("%d %s" % (n, kind) for kind, n in sorted(said.items()))))
    sys.exit(said.get("wrong", 0) > 0)


if __name__ == "__main__":
    main()
