"""Gradients through tensors that routines write: written.py TSRC SEED PROGRAMS

Steps set tensors of the routine's own, add to them and take off, again and again; what is read before another step is kept by a
`let`, or read as it is. NumPy carries out the same steps in complex numbers, where an imaginary step gives each derivative. What
the compiler refuses is counted; nothing that it takes may be wrong."""
import random
import subprocess
import sys
import tempfile

import numpy as np

import tsr

STEP = 1e-30
SHAPES = {"x": (2, 3), "w": (2, 3), "c": (3,), "k": ()}


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.shapes = dict(SHAPES)
        self.steps, self.lines, self.names = [], [], 0
        for _ in range(self.random.randrange(3, 9)):
            self.step()
        self.text, self.f = self.value((2, 3), 2)
        total = "sum(%s)" % self.text
        outputs = ["d_" + name for name in SHAPES] + ["j", "e"]
        self.lines += ["let y = " + total] + ["let d_%s = grad(y, %s)" % (name, name) for name in SHAPES]
        self.lines += ["let j = jvp(y, (x, w, c), (sin(w), w, cos(c)))", "let e = grad(sum(sin(d_w)), c)"]
        inputs = ["input %s : f64 [%s]" % (name, ", ".join(map(str, SHAPES[name]))) for name in ("x", "k")]
        inputs += ["param %s : f64 [%s] = 0.5 * normal()" % (name, ", ".join(map(str, SHAPES[name]))) for name in ("w", "c")]
        self.source = "\n".join(inputs + ["routine r() -> %s {" % ", ".join(outputs)] + ["    " + line for line in self.lines] + ["}"]) + "\n"

    def value(self, shape, depth):
        """Of the shape, or of one that broadcasts to it."""
        names = [name for name, of in self.shapes.items() if of == shape[len(shape) - len(of):]]
        name = self.random.choice(names[-4:] if self.random.random() < 0.7 else names)
        kind = self.random.random() if depth else 1
        if kind < 0.3:
            a, f = self.value(shape, depth - 1)
            op = self.random.choice(["sin", "tanh", "cos"])
            return "%s(%s)" % (op, a), lambda e: getattr(np, op)(f(e))
        if kind < 0.7:
            (a, f), (b, g) = self.value(shape, depth - 1), self.value(shape, depth - 1)
            op = self.random.choice([".*", "+", "-"])
            return "(%s %s %s)" % (a, op, b), lambda e: f(e) * g(e) if op == ".*" else f(e) + g(e) if op == "+" else f(e) - g(e)
        if kind < 0.8:
            a, f = self.value(shape, depth - 1)
            return "0.5 * sum(%s)" % a, lambda e: 0.5 * np.sum(f(e))
        return name, lambda e: e[name]

    def step(self):
        own = [name for name in self.shapes if name[0] == "t"]
        if own and self.random.random() < 0.35:
            self.names += 1
            name, of = "l%d" % self.names, self.random.choice(own)
            self.shapes[name] = self.shapes[of]
            self.lines.append("let %s = %s" % (name, of))
            self.steps.append(lambda e: e.update({name: e[of]}))
            return
        fresh = not own or self.random.random() < 0.3
        if fresh:
            self.names += 1
        name = "t%d" % self.names if fresh else self.random.choice(own)
        acc = ":" if fresh else self.random.choice(":++-")
        if fresh:
            shape = self.random.choice([(2, 3), (2, 3), (3,), ()])
            text, f = self.value(shape, 1)
            anchor = {(2, 3): "w", (3,): "c", (): "k"}[shape]
            text, g = "(%s) + %s" % (text, anchor), f
            f = lambda e: g(e) + e[anchor]
            self.shapes[name] = shape
        else:
            shape = self.shapes[name]
            text, f = self.value(shape, 2)
            if acc == ":" and self.random.random() < 0.3:
                text, f = "0.25", lambda e: 0.25
        self.lines.append("%s =%s %s" % (name, acc, text))

        def carry_out(e):
            value = f(e) + np.zeros(shape)
            e[name] = value if acc == ":" else e[name] + value if acc == "+" else e[name] - value
        self.steps.append(carry_out)

    def run(self, given):
        e = dict(given)
        for step in self.steps:
            step(e)
        return np.sum(self.f(e))


def slope(program, given, name):
    made = np.zeros(given[name].shape)
    for at in np.ndindex(*given[name].shape):
        moved = np.array(given[name], complex)
        moved[at] += STEP * 1j
        made[at] = program.run({**given, name: moved}).imag / STEP
    return made


def wrong(program, given, got):
    want = {"d_" + name: slope(program, given, name) for name in SHAPES}
    want["j"] = np.sum(want["d_x"] * np.sin(given["w"])) + np.sum(want["d_w"] * given["w"]) + np.sum(want["d_c"] * np.cos(given["c"]))
    want["e"] = np.zeros(3)
    for at in range(3):
        unit = np.eye(3)[at] * 1e-3
        again = [np.sum(np.sin(slope(program, {**given, "c": given["c"] + k * unit}, "w"))) for k in (-2, -1, 1, 2)]
        want["e"][at] = (again[0] - 8 * again[1] + 8 * again[2] - again[3]) / 12e-3
    for name, value in want.items():
        slack = 1e-5 if name == "e" else 1e-10
        if not np.allclose(getattr(got, name), value, rtol=slack, atol=slack * (1 + np.max(np.abs(value)))):
            return "%s is\n%s\nand not\n%s" % (name, getattr(got, name), value)
    return None


def main():
    tsrc, seed, programs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    refused = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(programs):
            program = Program(seed * 1000003 + number)
            path = "%s/p%d" % (folder, number)
            with open(path + ".tsr", "w") as file:
                file.write(program.source)
            said = subprocess.run([tsrc, "-O0", "-Wno-all", path + ".tsr", "-o", path + ".so"], capture_output=True, text=True)
            if said.returncode == 1 and "[E0913]" in said.stderr:
                refused += 1
                continue
            fault = "status %d\n%s" % (said.returncode, said.stderr) if said.returncode else None
            if not fault:
                rng = np.random.default_rng(number)
                given = {name: np.array(0.5 * rng.standard_normal(shape)) for name, shape in SHAPES.items()}
                model = tsr.load(path + ".so")
                np.savez(path + ".npz", w=given["w"], c=given["c"])
                model.load_params(path + ".npz")
                fault = wrong(program, given, model.r(x=given["x"], k=given["k"]))
            if fault:
                bad += 1
                print("WRONG seed %d\n%s%s" % (seed * 1000003 + number, program.source, fault))
    print("%d programs, %s refused, %d wrong" % (programs, "few" if 2 * refused < programs else "many", bad))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
