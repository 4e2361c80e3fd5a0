"""Totals with several open factors against a search of all sizes: SEED COUNT ORDERS.

What is reshaped has axes of open sizes, plain, strided, shifted or read through a window; so may the use of the reshape
have. The least total that both sides can have is searched for by brute force, then the least sizes of all factors
but the last, from the left. Where a dim occurs, it stands for a prime that no other size divides. Under every order of the
constraints the shapes are those, and where there are no such sizes there is an error. Where parameters are reshaped and
several sizes of what they make together fill the total, there is an error, or a warning; where one does, it is found.
"""
import functools
import itertools
import math
import random
import re
import sys

from runner import tsrc

DIM = 1009
MOST = 64


class Factor:
    """An axis of the letter: its text in a specification, and its size by that of the letter."""

    def __init__(self, letter, rng):
        self.letter, self.kernel = letter, None
        self.stride, self.least = rng.choice([1, 1, 2, 3]), 0
        form = rng.choice(["plain", "plain", "plain", "offset", "window"])
        self.text = letter if self.stride == 1 else "%d*%s" % (self.stride, letter)
        if form == "offset":
            self.least = self.stride + rng.randint(0, 2)
            self.text += " + %d" % self.least
            self.least += 1
        if form == "window":
            self.kernel = rng.randint(1, 3)
            self.text += " <+ k%s" % letter
            self.least = self.kernel

    def size(self, letter):
        return self.stride * (letter - 1) + self.least if self.least else self.stride * letter

    def letter_of(self, size):
        return next((n for n in range(1, size + 1) if self.size(n) == size), None)


def lay(factors, rest):
    """The letters' sizes for the product `rest`: the first as small as can be, the last follows. None: there are none."""
    if not factors:
        return [] if rest == 1 else None
    if len(factors) == 1:
        size = rest // DIM if rest % DIM == 0 else rest
        letter = factors[0].letter_of(size) if size == rest else letter_of_dim(factors[0], rest)
        return None if letter is None else [letter]
    for letter in range(1, min(rest, MOST) + 1):
        size = factors[0].size(letter)
        tail = lay(factors[1:], rest // size) if size <= MOST and rest % size == 0 else None
        if tail:
            return [letter] + tail
    return None


def letter_of_dim(factor, size):
    """The size is a multiple of the dim: divided as an expression, whatever the dim is."""
    if factor.least and factor.stride > 1:
        return None
    if (size // DIM) % factor.stride:
        return None
    return size // factor.stride if not factor.least else size - factor.least + 1


class Program:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.symbolic = rng.random() < 0.3
        self.known = rng.choice([1, 1, 2, 3, 4, 6])
        self.made = [Factor(a, rng) for a in "abc"[:rng.choice([1, 2, 2, 3])]]
        self.exact = rng.random() < 0.4  # the use is a specification: as many axes as it says
        self.used = [rng.choice([2, 3, 4, 5, 6]) for _ in range(rng.randint(1, 2))]
        self.read = [Factor(a, rng) for a in "uv"[:rng.randint(0, 2)]] if self.exact else []
        if self.symbolic:
            self.used[0] *= DIM
        self.twice = rng.random() < 0.3
        self.param = rng.choice(self.made) if rng.random() < 0.25 else None
        self.windows = [f for f in self.made + self.read if f.kernel]

    def text(self):
        names = "".join(("param p%s : [_]\n" if f is self.param else "let p%s = offsets()\n") % f.letter for f in self.made)
        spec = "; ".join(f.letter for f in self.made)
        axes = ", ".join([f.text for f in self.made] + (["x"] if self.known > 1 else []))
        operands = ["p" + f.letter for f in self.made]
        if self.known > 1:
            spec, operands = spec + "; x", operands + ["x"]
        if len(operands) > 3:
            return None
        kernels = ", ".join("k%s = %d" % (f.letter, f.kernel) for f in self.windows if f in self.made)
        form = 'reduce(sum, "%s => %s,", %s)' if len(operands) == 1 else 'einsum("%s => %s,", %s)'
        made = form % (spec, axes, ", ".join(operands))
        if kernels:
            made = "(%s with (%s))" % (made, kernels)
        used = ["%d*n" % (u // DIM) if u % DIM == 0 else str(u) for u in self.used]
        text = ("dim n\n" if self.symbolic else "") + "input x : [%d]\n" % self.known + names
        text += "input z : [%s]\nlet r = reshape(%s)\n" % (", ".join(used), "reshape(%s)" % made if self.twice else made)
        if not self.exact:
            return text + "output y = r + z\noutput w = x\n"
        letters = ["g%d" % i for i in range(len(used))]
        spec = "%s; %s => %s," % (", ".join(letters + [f.text for f in self.read]), ", ".join(letters),
                                  ", ".join(letters + [f.letter for f in self.read]))
        use = 'einsum("%s", r, z)' % spec
        kernels = ", ".join("k%s = %d" % (f.letter, f.kernel) for f in self.windows if f in self.read)
        return text + "output y = %s\noutput w = x\n" % ("(%s with (%s))" % (use, kernels) if kernels else use)

    def expect(self):
        """Sizes by letter, and the shape of the reshape."""
        known = 1
        for u in self.used:
            known *= u
        order = sorted(self.made, key=lambda f: f is self.param)  # a parameter's size is never guessed
        for times in range(1, 2 if self.param else MOST + 1):
            total = known * times
            read = lay(self.read, times) if self.exact else []
            if read is None or total % self.known:
                continue
            if self.exact and not self.read and times > 1:
                break
            made = lay(order, total // self.known)
            if made and self.param and made[-1] >= DIM // 4:
                return None  # nor does it depend on a dim
            if made:
                letters = dict(zip([f.letter for f in order + self.read], made + read))
                shape = self.used + [f.size(n) for f, n in zip(self.read, read)]
                return letters, ([times] if times > 1 and not self.exact else []) + shape
        return None


def value(text, dims):
    return eval(text.replace("/", "//"), {"n": DIM, **dims})


def shown(text, order, dims={}):
    run = tsrc(text, "--dump=shapes", "-Wno-defaulted-dim", *(["--shuffle=%d" % order] if order else []))
    if run.returncode:
        return re.findall(r"\[(E\d+)\]", run.stderr)[:1] or run.stderr
    return {name: [value(a, dims) for a in axes.split(",") if a.strip()]
            for name, axes in re.findall(r"^(\w+) : \w+ \[(.*)\]$", run.stdout, re.M)}


def is_right(trial, text, expected, orders, fine):
    """Is what every order shows fine? Else prints the first that is not."""
    for order in range(orders + 1):
        got = shown(text, order)
        if not fine(got):
            print("seed %d, order %d\n%sexpected %s\ngot %s\n" % (trial, order, text, expected, got))
            return False
    return True


class Parameters:
    """Parameters of which some axes are open, and offsets, added up and reshaped into a known total."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.total, rank = rng.choice([4, 6, 9, 12, 25]), rng.choice([1, 2, 2, 3])
        ranks = [rank] + [rng.randint(1, rank) for _ in range(rng.choice([0, 1, 1, 2]))]
        self.axes = [[rng.choice(["_", "_", "_", "1", "2", "3"]) for _ in range(n)] for n in ranks]
        self.offsets = [i > 0 and rng.random() < 0.3 for i in range(len(ranks))]
        self.axes = [["_"] * len(axes) if offsets else axes for axes, offsets in zip(self.axes, self.offsets)]

    def text(self):
        names = "pqr"[: len(self.axes)]
        text = "input x : [%d]\n" % self.total
        for name, axes, offsets in zip(names, self.axes, self.offsets):
            letters = ", ".join("abc"[: len(axes)])
            of = 'let %s = offsets()\noutput y%s = sum("%s => a,", %s)\n' % (name, name, letters, name)
            text += of if offsets else "param %s : [%s]\n" % (name, ", ".join(axes))
        return text + "output y = x + reshape(%s)\n" % " + ".join(names)

    def solutions(self):
        """All sizes of the sum that fill the total: of each axis, counted from the last, what meets there."""
        met = [[axes[-i] for axes in self.axes if len(axes) >= i] for i in range(1, len(self.axes[0]) + 1)]
        divisors = [d for d in range(1, self.total + 1) if self.total % d == 0]
        said = [{int(a) for a in axes if a not in "_1"} for axes in met]
        if any(len(sizes) > 1 for sizes in said):
            return []
        may = [list(sizes) or (divisors if "_" in axes else [1]) for sizes, axes in zip(said, met)]
        return [sizes for sizes in itertools.product(*may) if math.prod(sizes) == self.total]


def is_told(seed):
    """Are the sizes of parameters found where there is no choice, and is it said where there is one?"""
    program = Parameters(seed)
    run, sizes = tsrc(program.text(), "-fsyntax-only"), program.solutions()
    told = run.returncode == 1 or "[W0301]" in run.stderr
    if len(sizes) == 0 or told == (len(sizes) > 1) or (any(program.offsets) and told):
        return True
    print("seed %d\n%s%s: %s\n%s" % (seed, program.text(), "told" if told else "not told", sizes, run.stderr))
    return False


def count_right(make, fine, what, also=lambda trial: True):
    """Prints which programs of the seeds that are asked for are wrong, under some order or by `also`, and how many have sizes, and
    have none. make(seed): a program; fine(program, expected, got): what is shown of it is what was expected."""
    seed, count, orders = (int(a) for a in sys.argv[1:4])
    solved, none, bad = 0, 0, 0
    for trial in range(seed, seed + count):
        bad += not also(trial)
        program = make(trial)
        text, expected = program.text(), program.expect()
        if text is None:
            continue
        bad += not is_right(trial, text, expected, orders, functools.partial(fine, program, expected))
        solved += expected is not None
        none += expected is None
    print("%d %s, %d without, %d are wrong" % (solved, what, none, bad))


def fine(program, expected, got):
    if not expected:
        return program.symbolic or isinstance(got, list)  # else by a guard
    return (isinstance(got, dict) and got["r"] == expected[1]
            and all(got.get("p" + a, [n]) == [n] for a, n in expected[0].items()))


if __name__ == "__main__":
    count_right(Program, fine, "totals with sizes", is_told)
