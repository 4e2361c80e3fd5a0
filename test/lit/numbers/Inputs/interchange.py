"""Random steps that each element takes by itself, against NumPy, and bit for bit as without `interchange`: any sizes, any number
of steps, on one thread and on several, elements in strips of any size, of what vectors can do with what they carry in registers."""
import re
import subprocess
import sys
import tempfile

import numpy as np

from tsrlib import TSRC, Model, check, pool_call, schedule

SEED, PROGRAMS = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(SEED)
SUMS = "48, 16"  # each step has sums along its lines
SHAPES = {SUMS: lambda n: (48, 16), "n": lambda n: (n,), "1": lambda n: (1,), "n, 3": lambda n: (n, 3), "n, m": lambda n: (n, n + 2), "2, n, m": lambda n: (2, n, n + 2)}
THREADS = pool_call(3)


def pick(*of):
    return of[random.integers(len(of))]


class Steps:
    """A loop of steps: its text, and the same in Python."""

    def __init__(self, number):
        self.shape, self.dtype = pick(*SHAPES) if number % 2 else SUMS, pick("f32", "f32", "f64")
        self.inputs = []  # names, with the axes in front of the carried ones
        self.carried = ["a", "b", "c"][:random.integers(1, 4)]
        self.cheap = bool(random.integers(2))  # of what vectors have instructions for
        self.rows = self.shape == SUMS or bool(random.integers(2))

    def input(self, front, axes):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, front, axes))
        return name

    def leaf(self, names):
        form = random.integers(7) if self.rows else 2 + random.integers(5)
        if form == 0:
            name = self.input("t | ", self.shape)
            return f"({name} @ i)", f"{name}[i]"
        if form == 1:
            name = self.input("t | ", self.shape)
            return f"({name} @ (t - 1 - i))", f"{name}[t - 1 - i]"
        if form == 2:
            name = self.input("", self.shape.split(", ")[-1])
            return name, name
        if form == 3:
            return "(0.1 * i)", "(0.1 * i)"
        name = pick(*names)
        return name, name

    def value(self, names, depth):
        if depth == 0:
            return self.leaf(names)
        (a, u), (b, v) = self.value(names, depth - 1), self.value(names, depth - 1)
        sums = (f"(0.5 * {a} - {b} / 3)", f"(0.5 * {u} - {v} / 3)"), (f"(0.4 * {a} + 0.3 * {b})", f"(0.4 * {u} + 0.3 * {v})")
        if self.cheap:
            return pick(*sums, (f"max({a}, 0.5 * {b})", f"np.maximum({u}, 0.5 * {v})"), (f"abs({a} - {b})", f"np.abs({u} - {v})"))
        return pick(*sums, (f"where({a} < {b}, {a}, 0.5 * {b})", f"np.where({u} < {v}, {u}, 0.5 * {v})"),
                    (f"tanh({a} .* {b})", f"np.tanh({u} * {v})"))

    def make(self):
        names = list(self.carried)
        lets, self.python = [], []
        for name in ("v", "w")[:random.integers(3)]:
            text, python = self.value(names, 2)
            lets.append(f"let {name} = {text}")
            self.python.append(f"{name} = {python}")
            names.append(name)
        new = [self.value(names, 1 + int(random.integers(2))) for _ in self.carried]
        new = [(f"(0.5 * {c} + {text})", f"(0.5 * {c} + {python})") for c, (text, python) in zip(self.carried, new)]
        self.new = [python for _, python in new]
        starts = [self.input("", self.shape) for _ in self.carried]
        self.starts, self.stacked = starts, pick(*names) if self.rows else None
        results = ", ".join([*(f"last_{c}" for c in self.carried), *["all"] * self.rows])
        stacked = f'sum("a, b => a", {self.stacked} .* {names[0]})' if self.shape == SUMS else self.stacked
        values = ", ".join([*(text for text, _ in new), *[stacked] * self.rows])
        kind = self.dtype
        return "\n".join([
            "dim t", "dim n", "dim m", *(f"input {name} : {kind} [{front}{axes}]" for name, front, axes in self.inputs),
            f"let ({results}) = scan(t, ({', '.join(self.carried)}) = ({', '.join(starts)}), i) {{",
            *("    " + line for line in lets), f"    {'in ' * bool(lets)}({values})", "}",
            *(f"output last_{c}" for c in self.carried), *["output all"] * self.rows]).replace("(a) = (" + starts[0] + ")", "a = " + starts[0]) + "\n"

    def run(self, t, arrays):
        """In f64."""
        here = {name: array.astype(np.float64) for (name, _, _), array in zip(self.inputs, arrays)}
        here.update(np=np, t=t, **{c: here[start] for c, start in zip(self.carried, self.starts)})
        whole = here[self.starts[0]].shape
        rows = []
        for here["i"] in range(t):
            for line in self.python:
                exec(line, here)
            if self.rows:
                row = np.broadcast_to(here[self.stacked], whole)
                rows.append((row * here[self.carried[0]]).sum(1) if self.shape == SUMS else row)
            here.update(zip(self.carried, [eval(python, here) for python in self.new]))
        return [np.broadcast_to(here[c], whole) for c in self.carried] + [np.array(rows).reshape(self.row_shape(t, whole)) for _ in range(self.rows)]

    def row_shape(self, t, whole):
        return (t, *(whole[:1] if self.shape == SUMS else whole))


def asked(steps, word):
    """A few elements of each loop at a time."""
    loops = [item.split()[0] for item in word[len("interchange"):].split(",") if item.strip()]
    strips = [f"{loop} {pick(1, 2, 5)}" for loop in loops]
    if steps.cheap and strips and steps.shape != SUMS and random.integers(2):
        strips[-1] += f" {pick(4, 13, 20, 64)}"
    return "interchange " + ", ".join(strips)


def chosen(source):
    with tempfile.NamedTemporaryFile("w", suffix=".tsr") as file:
        file.write(source)
        file.flush()
        dump = subprocess.run([TSRC, "--dump=schedule", file.name], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^(\w+): .*?(interchange[^;\n]*)", dump, re.M)


made = calls = 0
for number in range(PROGRAMS):
    steps = Steps(number)
    source = steps.make()
    words = chosen(source)
    made += len(words)
    off = schedule("".join(f"{kernel}: interchange off\n" for kernel, _ in words))
    few = schedule("".join(f"{kernel}: {asked(steps, word)}\n" for kernel, word in words))
    models = [Model(source, off), Model(source), Model(source, ["--grain=100"]), Model(source, [*few, "--grain=1"])]
    for t, n in (0, 3), (1, 1), (7, 0), (5, 13), (2, 301):
        dims = {"t": t, "n": n, "m": n + 2}
        shape = SHAPES[steps.shape](n)
        kind = {"f32": np.float32, "f64": np.float64}[steps.dtype]
        arrays = [random.standard_normal((*([t] if front else []), *shape[len(shape) - len(axes.split(", ")):])).astype(kind)
                  for _, front, axes in steps.inputs]
        wanted = [(shape, kind)] * len(steps.carried) + [(steps.row_shape(t, shape), kind)] * steps.rows
        taken = re.search(r"int m_forward\(([^)]*)\)", models[0].header)[1]
        named = [dims[d] for d in re.findall(r"int64_t (\w+)", taken)]
        given = [a for (name, _, _), a in zip(steps.inputs, arrays) if re.search(rf"\*{name}\b", taken)]
        first = None
        for model in models:
            for model.call in None, THREADS:
                got = model.forward(named, given, wanted)
                first = first or got
                calls += 1
                assert all(a.tobytes() == b.tobytes() for a, b in zip(got, first)), "other bits\n" + source
        for name, a, b in zip([*steps.carried, "all"][:len(first)], first, steps.run(t, arrays)):
            check(f"{name} of\n{source}", a, b, 1e-4)
assert made > 0
print(f"{calls} calls, 0 wrong")
