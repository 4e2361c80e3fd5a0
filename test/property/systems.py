"""Sizes that several relations determine together, against elimination over the rationals: SEED COUNT ORDERS.

Letters get sizes; the program has relations that hold of them: parts and windows of axes of inputs, and requires. Where
these equations have one solution, the program has it under every order of the constraints; where one number is changed and
they have none that is whole and not negative, it is an error.
"""
import random
import re
import sys
from fractions import Fraction

from runner import tsrc

DIM = 9699690  # what a dim stands for: many numbers divide it


class Program:
    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.names = "abcd"[:rng.randint(2, 4)]
        self.symbolic = rng.random() < 0.3
        self.sizes = {a: rng.randint(1, 9) for a in self.names}
        if self.symbolic:  # multiples of the dim, so that all quotients are exact
            self.sizes = {a: n * DIM for a, n in self.sizes.items()}
        self.equations = []  # (coefficients by name, right side)
        self.lines = []
        for i in range(len(self.names) + rng.randint(0, 1)):
            rng.choice([self.parts, self.window, self.require, self.require])(i)

    def right(self, coefs, more):
        return sum(c * self.sizes[a] for a, c in coefs.items()) + more

    def number(self, value):
        """A size as a program writes it, now and then a wrong one."""
        if self.rng.random() < 0.15 and not self.symbolic:
            value += self.rng.randint(1, 3)
        if not self.symbolic:
            return value, str(value)
        times = round(Fraction(value, DIM))
        return value, "%d*n %s %d" % (times, "-" if value < times * DIM else "+", abs(value - times * DIM))

    def parts(self, i):
        names = self.rng.sample(self.names, self.rng.randint(2, len(self.names)))
        more = self.rng.choice([0, 0, 2])
        total, text = self.number(self.right({a: 1 for a in names}, more))
        letters = ["%s%d" % (a, i) for a in names]
        spec = "^".join(letters + (["%d" % more] if more else []))
        self.tie(i, names, 'sum("%s => %s,", x%d)' % (spec, letters[0], i), text)
        self.equations.append(({a: 1 for a in names}, total - more))

    def window(self, i):
        over, kernel = self.rng.sample(self.names, 2)
        stride = self.rng.randint(1, 3)
        total, text = self.number(self.right({over: stride, kernel: 1}, -stride))
        spec = "%d*%s%d <+ %s%d => %s%d," % (stride, over, i, kernel, i, over, i)
        self.tie(i, [over, kernel], 'sum("%s", x%d)' % (spec, i), text)
        self.equations.append(({over: stride, kernel: 1}, total + stride))

    def tie(self, i, names, form, size):
        self.lines.append("input x%d : [%s]\noutput y%d = %s with (%s)" % (
            i, size, i, form, ", ".join("%s%d" % (a, i) for a in names)))
        self.lines += ["require %s == %s%d" % (a, a, i) for a in names]

    def require(self, i):
        left, right = self.rng.sample(self.names, 2)
        f, g = self.rng.randint(1, 3), self.rng.randint(1, 3)
        if self.rng.random() < 0.5:
            coefs = {left: f, right: g}
            total, text = self.number(self.right(coefs, 0))
            self.lines.append("require %d*%s + %d*%s == %s" % (f, left, g, right, text))
        else:
            coefs = {left: f, right: -g}
            if self.right(coefs, 0) < 0:
                coefs, f, g, left, right = {right: g, left: -f}, g, f, right, left
            total, text = self.number(self.right(coefs, 0))
            self.lines.append("require %d*%s == %d*%s + %s" % (f, left, g, right, text))
        self.equations.append((coefs, total))

    def text(self):
        names = ", ".join(self.names)
        head = ("dim n\n" if self.symbolic else "") + "let p = offsets()\n"
        return head + 'output y = sum("%s => %s,", p) with (%s)\n%s\n' % (names, names, names, "\n".join(self.lines))

    def solution(self):
        """Sizes by name; None: some are not determined; False: there are none."""
        rows = [[Fraction(c.get(a, 0)) for a in self.names] + [Fraction(r)] for c, r in self.equations]
        used = 0
        for column in range(len(self.names)):
            pivot = next((r for r in range(used, len(rows)) if rows[r][column]), None)
            if pivot is None:
                continue
            rows[used], rows[pivot] = rows[pivot], rows[used]
            rows[used] = [v / rows[used][column] for v in rows[used]]
            for r in range(len(rows)):
                if r != used:
                    rows[r] = [v - rows[r][column] * w for v, w in zip(rows[r], rows[used])]
            used += 1
        if any(row[-1] for row in rows[used:]):
            return False
        if used < len(self.names):
            return None
        sizes = [row[-1] for row in rows[:used]]
        return False if any(v < 0 or v.denominator > 1 for v in sizes) else sizes


def main():
    seed, count, orders = (int(a) for a in sys.argv[1:4])
    solved, none, bad = 0, 0, 0
    for trial in range(seed, seed + count):
        program = Program(trial)
        text, expected = program.text(), program.solution()
        if expected is None:
            continue
        for order in range(orders + 1):
            run = tsrc(text, "--dump=shapes", "-Wno-dims-meet", *(["--shuffle=%d" % order] if order else []))
            shape = re.search(r"^p : i32 \[(.*)\]$", run.stdout, re.M)
            got = [eval(a.replace("/", "//"), {"n": DIM}) for a in shape[1].split(",")] if shape else None
            if got != (expected or None) or run.returncode not in (0, 1):
                bad += 1
                print("seed %d, order %d\n%sexpected %s\ngot %s\n%s" % (trial, order, text, expected, got, run.stderr))
                break
        solved += bool(expected)
        none += expected is False
    print("%d systems with sizes, %d without, %d are wrong" % (solved, none, bad))


if __name__ == "__main__":
    main()
