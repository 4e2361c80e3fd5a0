"""Routines that read and add at indices made of parameters, which other steps assign to, SEED COUNT: a step after the other, in NumPy. Where
an index leaves its axis the call fails and nothing was written. Refused is what would have to be checked behind a write, and only that."""
import random
import re
import sys
import warnings

import numpy as np

import tsr

warnings.simplefilter("ignore")  # what a program does not use
PLACES, FLOATS = ["a", "b", "c"], ["f", "g"]
HEAD = "input x : f32 [5]\ninput u : i32 [3]\n" + "".join("param %s : i32 [3] = 0\n" % p for p in PLACES) + "".join(
    "param %s : f32 [3] = 1\n" % p for p in FLOATS) + "param q : f32 [5] = 0\nlet w = a + b - c\n"
TABLES = {"x": lambda e: e["x"], "(2 * x)": lambda e: 2 * e["x"], "q": lambda e: e["q"]}


class Program:
    def __init__(self, rng):
        self.rng, self.steps, self.mean, self.results = rng, [], [], []
        self.written, self.refused = set(), False
        for _ in range(rng.randint(2, 6)):
            self.step()
        if not self.results:
            self.read()

    def index(self, checked):
        """Text, and what it is."""
        p, q = self.rng.choice(PLACES), self.rng.choice(PLACES)
        text, f, reads = self.rng.choice([
            (p, lambda e: e[p], {p}), (p, lambda e: e[p], {p}), ("u", lambda e: e["u"], set()), ("w", lambda e: e["w"], set()),
            ("(%s + %s)" % (p, q), lambda e: e[p] + e[q], {p, q}), ("(%s + u)" % p, lambda e: e[p] + e["u"], {p}),
            ("max(%s, 1)" % p, lambda e: np.maximum(e[p], 1), {p}), ("i32(f)", lambda e: np.trunc(e["f"]).astype(np.int32), {"f"})])
        self.refused |= checked and bool(reads & self.written)
        return text, f

    def add(self, text, mean, target):
        self.steps.append(text)
        self.mean.append(mean)
        self.written.add(target)

    def at(self, e, f):
        """The indices, inside; e["inside"] says whether they were."""
        index = f(e)
        e["inside"] &= bool(((index >= 0) & (index < 5)).all())
        return index.clip(0, 4)

    def read(self):
        text, f = self.index(True)
        table, own = self.rng.choice(list(TABLES)), "y%d" % len(self.results)
        self.results.append(own)
        self.add('%s =: gather("[v]; n => n", %s, %s)' % (own, table, text),
                 lambda e: e.update({own: TABLES[table](e)[self.at(e, f)]}), own)

    def step(self):
        kind, p, g = self.rng.random(), self.rng.choice(PLACES), self.rng.choice(FLOATS)
        if kind < 0.25:
            by = self.rng.choice([1, 2, 0])
            self.add("%s =+ %d" % (p, by), lambda e: e.update({p: e[p] + np.int32(by)}), p)
        elif kind < 0.4:
            text, f = self.index(False)
            self.add("%s =: %s" % (p, text), lambda e: e.update({p: f(e).astype(np.int32)}), p)
        elif kind < 0.7:
            self.read()
        elif kind < 0.85:
            text, f = self.index(True)
            self.add('%s =+ gather("[v]; n => n", x, %s)' % (g, text), lambda e: e.update({g: e[g] + e["x"][self.at(e, f)]}), g)
        else:
            text, f = self.index(True)
            self.add('q =+ scatter("n; n => [v]", f, %s) with (v = 5)' % text, lambda e: self.scatter(e, self.at(e, f)), "q")

    @staticmethod
    def scatter(e, index):
        e["q"] = e["q"].copy()
        np.add.at(e["q"], index, e["f"])

    def text(self):
        keeps = ["forward w"] if any(word in step for step in self.steps for word in (" w", "w)", "(w")) else []
        return HEAD + "routine r() -> %s {\n\t%s\n}\n" % (", ".join(self.results), "\n\t".join(keeps + self.steps))


def draw(rng):
    env = {p: np.array([rng.randint(-(rng.random() < 0.1), 2) for _ in range(3)], np.int32) for p in PLACES}
    env.update({p: np.array([rng.choice([0, 1, 1.5, 2]) for _ in range(3)], np.float32) for p in FLOATS})
    env.update({p: np.array([rng.randint(0, 9) for _ in range(5)], np.float32) for p in ("q", "x")})
    return {**env, "u": np.array([rng.randint(0, 2) for _ in range(3)], np.int32), "inside": True}


def is_right(program, model, rng):
    start = draw(rng)
    params = [p for p in PLACES + FLOATS + ["q"] if p in model.params]
    model.params.update({p: start[p] for p in params})
    want = {**start, "w": start["a"] + start["b"] - start["c"]}
    for step in program.mean:
        step(want)
    body = program.text()[len(HEAD):]
    try:
        got = model.r(**{name: start[name] for name in ("x", "u") if re.search(r"\b%s\b" % name, body)})
    except tsr.Error:
        got = None
    state = want if want["inside"] else start
    right = (got is not None) == want["inside"] and all(np.array_equal(model.params[p], state[p]) for p in params)
    results = got if isinstance(got, tuple) else (got,)
    return right and (got is None or all(np.array_equal(a, want[name]) for a, name in zip(results, program.results)))


def main():
    rng, count, wrong, refused, calls = random.Random(int(sys.argv[1])), int(sys.argv[2]), 0, 0, 0
    for _ in range(count):
        program = Program(rng)
        try:
            model = tsr.compile(program.text(), optimize=0, cache=False, options=rng.choice([[], ["--policy=none"]]))
        except tsr.Error as error:
            refused += program.refused
            if "E0922" not in str(error) or not program.refused:
                wrong += 1
                print(program.text(), error)
            continue
        for _ in range(6):
            calls += 1
            if program.refused or not is_right(program, model, rng):
                wrong += 1
                print(program.text())
                break
    print("%d calls, %d programs refused, %d wrong" % (calls, refused, wrong))


main()
