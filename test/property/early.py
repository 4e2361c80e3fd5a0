"""Gradients through loops that end early: early.py TSRC SEED PROGRAMS [OPTION...]

A program has steps that end where a number passes another, where steps are counted, or never, also inside other loops and
around them. NumPy carries out the steps that are made, in complex numbers: a derivative is the imaginary part where an operand
moves by an imaginary step, good to all places, and shares nothing with rules of gradients. Gradients of sums of gradients are
held against differences of those. Results are those of one, two and three threads, and of loops that are not scheduled."""
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import tsr

STEP = 1e-30  # of a complex derivative
SLACK = 0.1  # how far what ends a loop stands from ending one step sooner or later
SHAPES = {"x": (3,), "w": (3, 3), "v": (3,), "t": ("n", 3)}


class Unsure(Exception):
    pass


class Draw:
    def __init__(self, seed):
        self.random, self.names = random.Random(seed), 0

    def name(self, stem):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def chance(self, p):
        return self.random.random() < p

    def value(self, names, step, depth):
        """An expression of shape [3], as text and as what it is of an environment."""
        kind = self.random.random() if depth > 0 else 1
        if kind > 0.85 and step and self.chance(0.5):
            return "(t @ %s)" % step, lambda e: e["t"][e[step]]
        if kind > 0.75:
            name = self.random.choice(names)
            return name, lambda e: e[name]
        a, fa = self.value(names, step, depth - 1)
        if kind < 0.25:
            return "tanh(w * %s)" % a, lambda e: np.tanh(e["w"] @ fa(e))
        if kind < 0.4:
            return "sin(%s)" % a, lambda e: np.sin(fa(e))
        if kind < 0.5:
            return "(%s .* sum(%s .* v))" % (a, a), lambda e: fa(e) * np.sum(fa(e) * e["v"])
        if kind < 0.6 and step:
            return "(%s + 0.1 * f64(%s))" % (a, step), lambda e: fa(e) + 0.1 * e[step]
        b, fb = self.value(names, step, depth - 1)
        if kind < 0.7:
            return "(%s .* %s)" % (a, b), lambda e: fa(e) * fb(e)
        return "(0.7 * %s + %s)" % (a, b), lambda e: 0.7 * fa(e) + fb(e)

    def body(self, names, step, depth, outer):
        """What a step makes, which may be a loop."""
        inner = [name for name in names if name not in ("x", "v")] or names
        text, f = self.value(names, step, 2)
        if depth == 0 or self.chance(0.4):
            return text, f
        loop, g = self.loop(self.random.choice(inner), depth - 1, outer)
        return "(0.5 * %s + %s)" % (text, loop), lambda e: 0.5 * f(e) + g(e)

    def condition(self, state, step):
        kind = self.random.random()
        if kind < 0.5:
            bound = self.random.choice([0.5, 1.5, 3, 8])

            def passes(e):
                far = np.sum(e[state] * e[state]).real - bound
                if abs(far) < SLACK:
                    raise Unsure
                return far > 0
            return "sum(%s .* %s) > %g" % (state, state, bound), passes
        if kind < 0.9:
            last = self.random.choice([0, 1, 2])
            return "%s >= %d" % (step, last), lambda e: e[step] >= last
        return "%s < 0" % step, lambda e: False

    def loop(self, start, depth, outer=None):
        """A loop that ends early, or, inside of which one may, one that does not. `outer` counts the steps of one around."""
        state, other, step, last = (self.name(stem) for stem in "hgik")
        count = self.random.choice(["n", "n", "n", "4", "1"])
        if outer and self.chance(0.4):
            count = self.random.choice([outer, outer + " + 1", "n - 1 - " + outer])
        reads = step if "n" == count else None
        early = depth == 0 or self.chance(0.7)
        text, f = self.body(["x", "v", state], reads, depth, reads)
        text, two = "0.9 * (%s) + 0.1" % text, self.chance(0.3)
        until, ends = self.condition(state, step) if early else ("", lambda e: False)
        if two:
            text = "(%s, sin(%s) + 0.5 * %s)" % (text, state, other)

        def run(e):
            e = dict(e)
            e[state], e[other], made = e[start], e["v"], 0
            for i in range(eval(count, {}, e)):
                e[step], made = i, i + 1
                now = 0.9 * f(e) + 0.1
                e[state], e[other] = now, np.sin(e[state]) + 0.5 * e[other] if two else e[other]
                if ends(e):
                    break
            result = e[state] + (e[other] if two else 0)
            return result * made if early else result
        names, starts = (["%s" % state, other], [start, "v"]) if two else ([state], [start])
        kept = [self.name("z") for _ in names]
        carried = "(%s) = (%s)" % (", ".join(names), ", ".join(starts)) if two else "%s = %s" % (state, start)
        scan = "scan(%s, %s, %s)%s { %s }" % (count, carried, step, early and " until (%s)" % until or "", text)
        results = ", ".join(kept + early * [last])
        results = "(%s)" % results if two or early else results
        return "(let %s = %s in (%s)%s)" % (results, scan, " + ".join(kept), " .* f64(%s)" % last if early else ""), run


def program(seed):
    draw = Draw(seed)
    text, run = draw.loop("x", draw.random.choice([0, 1, 1, 2]))
    inputs = ["dim n", "input x : f64 [3]", "input w : f64 [3 -> 3]", "input v : f64 [3]", "input t : f64 [n | 3]"]
    lines = ["let y = sum(sin(%s) .* cos(v))" % text, "output y"] + ["output d_%s = grad(y, %s)" % (name, name) for name in SHAPES]
    lines += ["output j_%s = jvp(y, %s, cos(%s))" % (name, name, name) for name in SHAPES]
    of = draw.random.choice(list(SHAPES))
    lines += ["let again = sum(sin(d_%s))" % of, "output again"] + ["output e_%s = grad(again, %s)" % (name, name) for name in SHAPES]
    lines += ["output f_%s = jvp(again, %s, cos(%s))" % (name, name, name) for name in SHAPES]
    return "\n".join(inputs + lines) + "\n", lambda e: np.sum(np.sin(run(e)) * np.cos(e["v"])), of


def slope(f, e, name):
    """The gradient of f, each element by a complex step."""
    made = np.zeros(e[name].shape)
    for at in np.ndindex(*e[name].shape):
        moved = e[name].astype(complex)
        moved[at] += STEP * 1j
        made[at] = f({**e, name: moved}).imag / STEP
    return made


def difference(f, e, name, at, step):
    unit = np.zeros(e[name].shape)
    unit[at] = step
    moved = [f({**e, name: e[name] + k * unit}) for k in (-2, -1, 1, 2)]
    return (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)


def expected(f, e, of):
    want = {"y": f(e)}
    for name in SHAPES:
        want["d_" + name] = slope(f, e, name)
        want["j_" + name] = np.sum(want["d_" + name] * np.cos(e[name]))
    again = lambda e: np.sum(np.sin(slope(f, e, of)))
    want["again"] = again(e)
    for name in SHAPES:
        want["e_" + name] = np.zeros(e[name].shape)
        for at in np.ndindex(*e[name].shape):
            want["e_" + name][at] = difference(again, e, name, at, 1e-3)
            if abs(want["e_" + name][at] - difference(again, e, name, at, 5e-4)) > 1e-7:
                raise Unsure
        want["f_" + name] = np.sum(want["e_" + name] * np.cos(e[name]))
    return want


def differs(got, want):
    for name, value in want.items():
        slack = 1e-6 if name[0] in "ef" else 1e-10
        if not np.allclose(getattr(got, name), value, rtol=slack, atol=slack * (1 + np.max(np.abs(value), initial=0))):
            return "%s is\n%s\nand not\n%s" % (name, getattr(got, name), value)
    return None


def one(tsrc, seed, folder, options):
    """How many calls agree, and what is wrong."""
    text, f, of = program(seed)
    path, made, agree = "%s/p%d.tsr" % (folder, seed), [], 0
    with open(path, "w") as file:
        file.write(text)
    for number, more in enumerate([[], ["--policy=none"]] if not options else [options]):
        module = path[:-4] + "_%d.so" % number
        said = subprocess.run([tsrc, "-O0", "-Wno-all", path, "-o", module, *more], capture_output=True, text=True)
        if said.returncode:
            return 0, text + said.stderr
        made += [tsr.load(module, threads=threads) for threads in ([1, 2, 3] if not number and not options else [1])]
    rng = np.random.default_rng(seed)
    for n in (0, 1, 2, 5):
        e = {name: 0.6 * rng.standard_normal([n if size == "n" else size for size in shape]) for name, shape in SHAPES.items()}
        got = [module.forward(**e) for module in made]
        try:
            with np.errstate(all="ignore"):
                want = expected(f, {**e, "n": n}, of)
        except Unsure:
            continue
        if not all(np.all(np.isfinite(value)) and np.max(np.abs(value), initial=0) < 100 for value in want.values()):
            continue
        wrong = [differs(result, want) for result in got]
        wrong += ["threads" for result in got[1:3] for name in want if not np.array_equal(getattr(result, name), getattr(got[0], name))]
        if any(wrong):
            return agree, "n = %d, seed %d\n%s%s" % (n, seed, text, next(filter(None, wrong)))
        agree += 1
    return agree, None


def main():
    tsrc, seed, programs, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    agree = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(programs):
            n, said = one(tsrc, seed * 1000003 + number, folder, options)
            agree += n
            wrong += said is not None
            if said:
                print("WRONG", said)
    print("%d programs, %s calls agree, %d wrong" % (programs, agree if os.environ.get("COUNT") else "many" if agree >= programs else "few", wrong))


if __name__ == "__main__":
    main()
