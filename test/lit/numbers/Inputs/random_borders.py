"""Random programs of windows over axes with borders, whose larger tensors NumPy's pad makes: any rows, sizes 0, 1 and
others under one dim, margins on either side, as numbers, as dims or as the mark has them, dilations that are dims, sums,
products with a kernel and greatest elements."""
import itertools
import random
import sys

import numpy as np

import tsrlib
from tsrlib import Model

MODES = {"edge": "edge", "reflect": "reflect", "wrap": "wrap", "skip": "constant", "0.5": "constant", "-2": "constant"}
SIZES = (0, 1, 2, 4, 9)


def least(border, axis):
    """The shortest axis that has these elements. Sizes that are not known at once may be 0, and are read from somewhere."""
    most = max(axis["before"], axis["after"])
    some = most > 0 or axis["open"]
    return {"edge": int(some), "reflect": most + some, "wrap": most}.get(border, 0)


class Windows:
    """One output: windows of one to three axes of a tensor, of which others are left as they are."""

    def __init__(self, rng, name, dims):
        self.name, self.border = name, rng.choice(list(MODES))
        self.form = rng.choice(["einsum", "sum", "max"])
        if self.form == "max" and self.border == "skip":
            self.border = "edge"  # what a greatest element skips is no number of NumPy's
        self.rows = [[], [], []]
        self.axes = []
        for i in range(rng.choice([1, 2, 2, 3])):
            padded = i == 0 or rng.random() < 0.4
            most = rng.choice([1, 2, 3]) if padded else 0
            axis = {"letter": "abc"[i], "padded": padded, "before": rng.randint(0, most), "after": rng.randint(0, most),
                    "k": rng.randint(1, 3), "stride": rng.randint(1, 3), "dilation": rng.randint(1, 2)}
            self.choose_margins(rng, axis, dims)
            window = (axis["k"] - 1) * axis["dilation"] + 1 - axis["before"] - axis["after"]
            fits = max(least(self.border, axis), window, 1)
            axis["size"] = rng.choice(["n", "n + 1", rng.randint(fits, max(fits, 6))])
            self.rows[rng.randrange(3)].append(axis)
        self.axes = [axis for row in (0, 2, 1) for axis in self.rows[row]]
        self.twice = rng.random() < 0.3  # what is read is computed

    def choose_margins(self, rng, axis, dims):
        """How they are written: numbers, dims, or none, which centres the windows; the same of a dilation."""
        axis["open"], axis["margins"], axis["by"] = False, "[%d, %d]" % (axis["before"], axis["after"]), axis["dilation"]
        if axis["before"] == axis["after"] and rng.random() < 0.5:
            axis["margins"] = "[%d]" % axis["before"]
        if rng.random() < 0.2:
            axis["dilation"], axis["by"] = dims["g"], "g"
        how = rng.choice(["number", "number", "dim", "none"])
        if how == "dim":
            axis["before"], axis["open"], axis["margins"] = dims["p"], True, "[p, %d]" % axis["after"]
        elif how == "none":
            reach = (axis["k"] - 1) * axis["dilation"]
            axis["before"], axis["after"], axis["margins"] = (reach + 1) // 2, reach // 2, ""
            axis["open"] = self.form == "einsum" or axis["by"] == "g"

    def spec(self):
        def row(axes, index):
            return ", ".join(map(index, axes))

        def read(a):
            if not a["padded"]:
                return a["letter"]
            mark = "=+" if a["stride"] == 1 and not a["margins"] else "=+?"
            return "%d*%s %s%s %s*k%s" % (a["stride"], a["letter"], mark, a["margins"], a["by"], a["letter"])

        operand, result = ("%s | %s -> %s" % tuple(row(axes, index) for axes in self.rows)
                           for index in (read, lambda a: a["letter"]))
        kernel = "; " + ", ".join("k" + a["letter"] for a in self.axes if a["padded"]) + ", " if self.form == "einsum" else ""
        return "%s%s => %s" % (operand, kernel, result)

    def text(self):
        shape = "%s | %s -> %s" % tuple(", ".join(str(a["size"]) for a in axes) for axes in self.rows)
        padded = [a for a in self.axes if a["padded"]]
        x = "x%s" % self.name
        text = "input %s : [%s]\n" % (x, shape)
        if self.form == "einsum":
            text += "input w%s : [%s]\n" % (self.name, ", ".join(str(a["k"]) for a in padded))
        call = {"einsum": "einsum(", "sum": "sum(", "max": "reduce(max, "}[self.form] + '"%s", ' % self.spec()
        call += "2 * %s + 1" % x if self.twice else x
        call += ", w%s" % self.name if self.form == "einsum" else ""
        text += "output y%s = %s, border = %s)" % (self.name, call, self.border)
        sizes = ", ".join("k%s = %d" % (a["letter"], a["k"]) for a in padded)
        return text + (" with (%s)\n" % sizes if self.form != "einsum" else "\n")

    def fits(self, n):
        return all(self.length(a, n) >= least(self.border, a) and self.steps(a, n) >= 0
                   for a in self.axes if a["padded"])

    @staticmethod
    def length(axis, n):
        return {"n": n, "n + 1": n + 1}.get(axis["size"], axis["size"])

    def steps(self, a, n):
        return (self.length(a, n) + a["before"] + a["after"] - (a["k"] - 1) * a["dilation"] - 1) // a["stride"] + 1

    def inputs(self, data, n):
        x = data.integers(-8, 9, [self.length(a, n) for a in self.axes]).astype(np.float32) / 4
        w = data.integers(-8, 9, [a["k"] for a in self.axes if a["padded"]]).astype(np.float32) / 4
        return [x, w] if self.form == "einsum" else [x]

    def expected(self, inputs, n):
        x = 2 * inputs[0] + 1 if self.twice else inputs[0]
        margins = [(a["before"], a["after"]) if a["padded"] else (0, 0) for a in self.axes]
        value = 0 if self.border == "skip" else float(self.border) if MODES[self.border] == "constant" else None
        if x.size > 0 or value is not None:
            x = np.pad(x, margins, MODES[self.border], **({} if value is None else {"constant_values": value}))
        else:
            x = np.zeros([s + a + b for s, (a, b) in zip(x.shape, margins)], np.float32)
        padded = [(i, a) for i, a in enumerate(self.axes) if a["padded"]]
        shape = [self.steps(a, n) if a["padded"] else self.length(a, n) for a in self.axes]
        y = np.full(shape, -np.inf if self.form == "max" else 0, np.float32)
        for place in itertools.product(*[range(a["k"]) for _, a in padded]):
            index = [slice(None)] * x.ndim
            for k, (i, a) in zip(place, padded):
                first = k * a["dilation"]
                index[i] = slice(first, first + (shape[i] - 1) * a["stride"] + 1 if shape[i] else first, a["stride"])
            part = x[tuple(index)]
            if self.form == "max":
                y = np.maximum(y, part)
            else:
                y = y + (part * inputs[1][place] if self.form == "einsum" else part)
        return y


def check(seed, options):
    """One program; its failures and how many calls gave numbers."""
    rng, data = random.Random(seed), np.random.default_rng(seed)
    dims = {"p": rng.randint(0, 2), "g": rng.randint(1, 3)}
    outputs = [Windows(rng, str(i), dims) for i in range(6)]
    text = "dim n, p, g\n" + "".join(output.text() for output in outputs)
    text += "input used : [p, g]\noutput used_ = used\n"
    model, calls, wrong = Model(text, options), 0, 0
    for n in SIZES:
        inputs = [output.inputs(data, n) for output in outputs]
        used = np.ones((dims["p"], dims["g"]), np.float32)
        arrays, fit = [*sum(inputs, []), used], all(output.fits(n) for output in outputs)
        if not fit:  # a code, and nothing is written
            try:
                model.forward([n, *dims.values()], arrays, [([64], np.float32)] * (len(outputs) + 1))
                wrong += 1
                print("seed %d, n %d: no guard\n%s" % (seed, n, text))
            except RuntimeError:
                continue
        want = [*(output.expected(own, n) for output, own in zip(outputs, inputs)), used]
        got = model.forward([n, *dims.values()], arrays, [(value.shape, np.float32) for value in want])
        calls += 1
        for output, a, b in zip(outputs, got, want):
            if not np.allclose(a, b, rtol=1e-5, atol=1e-5):
                wrong += 1
                print("seed %d, n %d: y%s is %s, not %s\n%s" % (seed, n, output.name, a, b, text))
    return wrong, calls


def main():
    first, count = int(sys.argv[2]), int(sys.argv[3])
    options = (["-O1"], ["-O2"], ["--policy=none"])
    results = [check(first + i, options[i % 3]) for i in range(count)]
    assert all(calls > 0 for _, calls in results)
    print("%d programs of borders, %d wrong" % (count, sum(wrong for wrong, _ in results)))


if __name__ == "__main__":
    tsrlib.TSRC = sys.argv[1]
    main()
