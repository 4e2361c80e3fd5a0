"""Chains of reshapes of one known total against a search of all sizes: SEED COUNT ORDERS.

What is reshaped goes through pointwise operations into the next reshape. Each has a use of its own: a specification
with some sizes given, or a tensor that it meets. A specification's open factors are as small as they can be from the
left, and the last follows; what meets a tensor gets one axis of the rest. Nothing that a later reshape asks for changes an
earlier one. Where a dim occurs, it stands for a prime that no other size divides; but where a product of two dims is
required to be a number, the total is one.
"""
import random
import sys

from totals import DIM, Factor, lay, shown

BETWEEN = ["%s - 1", "exp(%s)", "%s .* 2 + 1", "%s", "relu(%s) - %s"]


class Use:
    """What the use of a reshape says of its axes: sizes, and factors that are open."""

    def __init__(self, level, total, rng):
        self.name = "r%d" % level
        self.meets = rng.random() < 0.35
        divisors = [d for d in (1, 2, 3, 4, 6, 8) if total % d == 0] if rng.random() < 0.85 else [3, 5]
        self.known = rng.choice(divisors)
        self.factors = [] if self.meets else [Factor("%s%d" % (a, level), rng) for a in "abc"[: rng.choice([1, 2, 2, 3])]]
        self.square = not self.meets and rng.random() < 0.2  # an axis twice: the last factor stands for both
        if self.square:
            self.factors[-1].__init__(self.factors[-1].letter, Plain())
        self.sized = rng.randint(0, len(self.factors))

    def text(self):
        if self.meets:
            return "input z_%s : [%d]\noutput y_%s = %s + z_%s\n" % ((self.name, self.known) + (self.name,) * 3)
        axes = [f.text for f in self.factors] + ([self.factors[-1].letter] if self.square else [])
        axes.insert(self.sized, "s")
        sizes = ["s = %d" % self.known] + ["k%s = %d" % (f.letter, f.kernel) for f in self.factors if f.kernel]
        return 'output y_%s = sum("%s => s", %s) with (%s)\n' % (self.name, ", ".join(axes), self.name, ", ".join(sizes))

    def shape(self, total):
        """None: there is none."""
        if total % self.known:
            return None
        rest = total // self.known
        if self.meets:
            return [rest] * (rest > 1) + [self.known] if self.known > 1 else [total]
        letters = lay_square(self.factors, rest) if self.square else lay(self.factors, rest)
        if letters is None:
            return None
        sizes = [f.size(n) for f, n in zip(self.factors, letters)] + (letters[-1:] if self.square else [])
        return sizes[: self.sized] + [self.known] + sizes[self.sized :]


class Plain:
    """A source of choices that makes a factor a letter alone."""

    def choice(self, options):
        return options[0]

    def random(self):
        return 0

    def randint(self, low, high):
        return low


def lay_square(factors, rest):
    """As lay, where the last letter counts twice."""
    if len(factors) == 1:
        root = next((n for n in range(1, 2048) if n * n >= rest), 1)
        return [root] if root * root == rest else None
    for letter in range(1, min(rest, 64) + 1):
        size = factors[0].size(letter)
        tail = lay_square(factors[1:], rest // size) if rest % size == 0 else None
        if tail:
            return [letter] + tail
    return None


class Program:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.symbolic = rng.random() < 0.3
        self.axes = [rng.choice([2, 3, 4, 6, 8, 12]) for _ in range(rng.randint(1, 3))]
        if self.symbolic:
            self.axes[0] *= DIM
        self.required = not self.symbolic and len(self.axes) > 1 and rng.random() < 0.3
        self.total = 1
        for a in self.axes:
            self.total *= a
        self.uses = [Use(level, self.total, rng) for level in range(rng.choice([2, 2, 3]))]
        self.between = [rng.choice(BETWEEN) for _ in self.uses]
        self.order = list(range(len(self.uses)))
        rng.shuffle(self.order)

    def text(self):
        sizes = ["%d*n" % (a // DIM) if a % DIM == 0 else str(a) for a in self.axes]
        text = "dim n\n" if self.symbolic else ""
        if self.required:
            sizes[:2] = "p", "q"
            text = "dim p\ndim q\nrequire p*q == %d\n" % (self.axes[0] * self.axes[1])
        text += "input x : [%s]\n" % ", ".join(sizes)
        value = "x"
        for use, between in zip(self.uses, self.between):
            text += "let %s = reshape(%s)\n" % (use.name, value)
            value = between.replace("%s", use.name)
        return text + "".join(self.uses[i].text() for i in self.order)


def main():
    seed, count, orders = (int(a) for a in sys.argv[1:4])
    solved, none, bad = 0, 0, 0
    for trial in range(seed, seed + count):
        program = Program(trial)
        text, expected = program.text(), [use.shape(program.total) for use in program.uses]
        whole = None not in expected
        for order in range(orders + 1):
            got = shown(text, order, dims=dict(zip("pq", program.axes)) if program.required else {})
            fine = isinstance(got, dict) if whole else program.symbolic or isinstance(got, list)  # else by a guard
            if fine and whole:
                fine = all(got[use.name] == shape for use, shape in zip(program.uses, expected))
            if not fine:
                bad += 1
                print("seed %d, order %d\n%sexpected %s\ngot %s\n" % (trial, order, text, expected, got))
                break
        solved += whole
        none += not whole
    print("%d chains with sizes, %d without, %d are wrong" % (solved, none, bad))


if __name__ == "__main__":
    main()
