"""A consumer that asks for nothing changes no other shape: SEED COUNT.

Random programs of inputs of one family of shapes and of leaves whose shapes only uses say (parameters, random numbers,
offsets), combined pointwise, by `*`, by specifications and reshapes. Each is compared with itself and one to three more
outputs that ask nothing of the tensors they read: `t + 1`, `sum((t - 1) ** 2)`, `where(t > 0, 1, 0)`. Both have shapes
or neither has, and what both have has the same shapes.
"""
import random
import re
import sys

from runner import tsrc

NUMBERS = ("2", "0.5", "3", "(1 / 3)")
FUNCTIONS = ("relu", "tanh", "exp", "abs", "neg", "sqrt")
CONSUMERS = ("%s + 1", "1 - %s", "%s ** 2", "(%s - 1) ** 2", "relu(%s)", "sum(%s)", "sum((%s - 1) ** 2)", "%s .* number",
             "where(%s > 0, 1, 0)", "%s + %s", "%s .* sigmoid(%s)", "%s .* (%s + 1)", "(%s - 1) ** 2 + %s",
             "let c = %s + 1 in sum(c .* c)", "fma(%s, 2, 1)", "max(%s, 0) + min(%s, number)", "f64(%s) .* 2",
             "sum(abs(%s)) + number", "(%s + number) .* (%s - number)", "reduce(max, \"... | ... -> ... => \", %s + 1)",
             "exp(-(%s ** 2) / 2)", "((%s < 0.5) .* 2 + 1) / 3")


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = ["input number : []", "input seed : i32 []"]
        self.tensors, self.count = [], 0
        self.sizes = [str(self.rng.choice((2, 3, 4, 5, 6))) for _ in range(3)]
        self.batch = self.rng.choice(("n", "7"))
        if self.batch == "n":
            self.lines.insert(0, "dim n")

    def fresh(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def chance(self, p):
        return self.rng.random() < p

    def any(self):
        recent = self.tensors[-5:] if self.chance(0.6) else self.tensors
        name = self.rng.choice(recent)
        return "%s(%s)" % (self.rng.choice(FUNCTIONS), name) if self.chance(0.15) else name

    # ---- leaves ----

    def input(self):
        n = self.rng.choice((0, 1, 1, 2, 2, 3))
        row = [("1" if self.chance(0.12) else size) for size in self.sizes[3 - n:]]
        shape = (self.batch + " | " if self.chance(0.4) else "") + ", ".join(row)
        self.add("input %%s : [%s]" % shape.strip(), "x")

    def leaf(self):
        form = self.rng.choice(("param %s",) * 6 + (
            "param %s : [...]", "param %%s : [..., %s]" % self.sizes[2], "param %s : [..., _]", "param %s : [_]",
            "let %s = uniform(seed)", "let %s = normal(seed)", "let %s = uniform(seed) < 0.75", "let %s = offsets()",
            "let %s = 1 + {p_%s}", "let %s = 2 .* {p_%s} .* {q_%s}", "let %s = 3"))
        self.add(form, "a")

    def add(self, form, stem="t"):
        name = self.fresh(stem)
        self.lines.append(form.replace("%s", name))
        self.tensors.append(name)

    # ---- operations ----

    def pointwise(self):
        a, b = self.any(), self.any()
        self.compute(self.rng.choice(("%s + %s",) * 3 + ("%s .* %s", "%s - %s", "max(%s, %s)", "where(%s > 0, %s, 0)",
                                                         "%s / (1 + %s)", "%s .* (1 + %s)")) % (a, b))

    def pointwise_with_input(self):
        inputs = [t for t in self.tensors if t[0] == "x"]
        leaves = [t for t in self.tensors if t[0] == "a"]
        if inputs and leaves:
            form = self.rng.choice(("%s + %s", "%s .* %s", "where(%s > 0, %s, 1)", "%s .* (1 + %s)"))
            self.compute(form % (self.rng.choice(inputs), self.rng.choice(leaves)))

    def scalar(self):
        self.compute(self.rng.choice(("%s + %s", "%s ** %s", "%s .* %s")) % (self.any(), self.rng.choice(NUMBERS)))

    def specification(self):
        a, b = self.any(), self.any()
        self.compute(self.rng.choice((
            'sum("... | ... -> ..., i => ... | ... -> ...", %s)', 'sum("... | ..o.., v => ... | ..o.., 0", %s)',
            'sum("..., i => ...", %s)', 'sum("i, ... => ...", %s)', 'sum("... | i => ... | i", %s)', 'sum("i, j => j, i", %s)',
            'sum(%s)', 'sum("i => i", %s)', 'reduce(max, "...|... => |...", %s)')) % a if self.chance(0.6) else
            self.rng.choice((
                'einsum("... | i; i => ... | i", %s, %s)', 'einsum("..., i; i => ...", %s, %s)',
                'einsum("... | ..o..; ..o.. => ... | ..o..", %s, %s)', 'einsum("i; i => ", %s, %s)',
                'concat("... | i, ...; ... | j, ... => ... | i^j, ...", %s, %s)', 'stack(output, %s, %s)',
                'stack(batch, %s, %s)', 'einsum("..b.. | i; ..b.. | i => ..b.. |", %s, %s)')) % (a, b))

    def compose(self):
        a = self.any()
        width = self.rng.choice(self.sizes)
        self.compute(self.rng.choice(("{%s : [... -> %s]} * %s" % (self.fresh("w"), width, a),
                                      "{%s : [... -> %s]} * %s + {%s}" % (self.fresh("w"), width, a, self.fresh("b")),
                                      "%s * %s" % (self.any(), a))))

    def reshape(self):
        self.compute("reshape(%s) %s %s" % (self.any(), self.rng.choice(("+", ".*")), self.any()))

    def norm(self):
        """A scale and a shift of what the tensor has."""
        a, gain, shift = self.any(), self.fresh("gain"), self.fresh("shift")
        self.lines.append("param %s = 1" % gain)
        self.tensors.append(gain)
        self.compute("%s .* %s + {%s}" % (gain, a, shift))

    def compute(self, expression):
        name = self.fresh("t")
        self.lines.append("output %s = %s" % (name, expression))
        self.tensors.append(name)

    def generate(self):
        self.input()
        self.leaf()
        forms = ([self.pointwise] * 4 + [self.pointwise_with_input] * 5 + [self.scalar, self.norm] * 2 + [self.leaf] * 4 +
                 [self.input] * 2 + [self.specification, self.compose] + [self.reshape] * self.chance(0.25))
        for _ in range(self.rng.randint(2, 9)):
            self.rng.choice(forms)()
        return self

    def with_consumers(self):
        """The text with the consumers, each behind what it reads."""
        lines = list(self.lines)
        for i in range(self.rng.choice((1, 1, 1, 2, 3))):
            name = self.rng.choice(self.tensors)
            form = self.rng.choice(CONSUMERS).replace("%s", name)
            at = next(k for k, line in enumerate(lines) if re.match(r"\w+ %s\b" % name, line)) + 1
            lines.insert(self.rng.randint(at, len(lines)), "output extra%d = %s" % (i, form))
        return "\n".join(lines) + "\n"


def shapes(text):
    run = tsrc(text, "--dump=shapes", "-Wno-all")
    return run.returncode, dict(re.findall(r"^([\w.]+) : \w+ (.*)$", run.stdout, re.M)), run.stderr


def main():
    seed, count = (int(a) for a in sys.argv[1:3])
    fitting, changed, refused = 0, 0, 0
    for trial in range(seed, seed + count):
        program = Program(trial).generate()
        more = program.with_consumers()
        before, after = shapes("\n".join(program.lines) + "\n"), shapes(more)
        fitting += before[0] == 0
        wrong = [n for n in before[1] if after[0] == 0 and after[1].get(n) != before[1][n]]
        if before[0] == after[0] and not wrong:
            continue
        refused += before[0] != after[0]
        changed += bool(wrong)
        print("seed %d: %s\n%s\n%s" % (trial, [(n, before[1][n], after[1].get(n)) for n in wrong], more,
                                       before[2] + after[2]))
    print("%d pairs, %d with shapes: consumers change %d, and refuse or allow %d" % (count, fitting, changed, refused))


if __name__ == "__main__":
    main()
