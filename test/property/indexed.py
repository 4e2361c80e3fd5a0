"""Specifications of every kind of axis against their definition: SEED COUNT.

Letters get sizes first, of dims or numbers; the inputs get the sizes that the axes must then have, by the formulas of
the language. Fixed indices, strides, windows of every mark, concatenations and row variables stand on both sides. What
comes out is compared with a walk over all tuples of indices, one choice of parts after another, at several values
of the dims. Where no size is below 0, no value of the dims may be refused.
"""
import itertools
import os
import random
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "numbers", "Inputs"))
from reference import FOLDS, OPS  # noqa: E402
from tsrlib import CompileError, Model  # noqa: E402

DIMS = ((0, 1), (1, 0), (1, 1), (2, 3), (7, 4))
BATCH, INPUT, OUTPUT = range(3)
STORAGE = (BATCH, OUTPUT, INPUT)
MOST = 50000  # points of a product space, elements of a tensor
# Places that two operands fill, or none; sizes that are no sizes.
REFUSED = ("E0331", "E0334", "E0342", "E0301", "E0210", "E0401")


class Size:
    """n, m and a number, each so many times."""

    def __init__(self, n, m, number):
        self.times = (n, m, number)

    def plus(self, other):
        other = other.times if isinstance(other, Size) else (0, 0, other)
        return Size(*(a + b for a, b in zip(self.times, other)))

    def scale(self, by):
        return Size(*(a * by for a in self.times))

    def at(self, dims):
        return self.times[0] * dims[0] + self.times[1] * dims[1] + self.times[2]

    def __str__(self):
        terms = ["%+d%s" % (t, "*" + name if name else "") for t, name in zip(self.times, ("n", "m", "")) if t]
        return " ".join(t[0] + " " + t[1:] for t in terms).removeprefix("+ ") if terms else "0"


SIZES = [Size(*t) for t in ((1, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 0), (1, 1, 0), (1, 0, 2), (0, 0, 0), (0, 0, 1),
                            (0, 0, 2), (0, 0, 3), (0, 0, 4), (0, 0, 1))]


class Axis:
    """One axis: its size, and its indices: of which one holds where all its letters run. (coefs, offset, padded)"""

    def __init__(self, size, *indices):
        self.size, self.indices = size, indices


class Item:
    """What is written for one axis, or for those of a row variable."""

    def __init__(self, text, *axes):
        self.text, self.axes = text, axes


def plain(name, size):
    return Axis(size, ({name: 1}, Size(0, 0, 0), False))


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.sizes, self.rows, self.groups, self.names = {}, {}, [], list("abcdefgh")
        self.rng.shuffle(self.names)
        self.operands = [self.tensor() for _ in range(self.rng.choice([1, 1, 2, 2, 3]))]
        self.result = self.result_rows()
        self.block = len(self.operands) > 1 and any("^" in item.text for row in self.result for item in row)

    def new(self, sizes=SIZES):
        name = self.names.pop()
        self.sizes[name] = self.rng.choice(sizes)
        return name

    def letter(self, among):
        known = among or [name for name in self.sizes if len(name) == 1]
        if known and (among or self.rng.random() < 0.45 or not self.names):
            return self.rng.choice(known)
        return self.new()

    # ---- axes ----

    def item(self, among=None):
        forms = [self.one] * 10 + [self.index] + [self.strided] * 2 + [self.window] * 4 + [self.parts] * 3
        return (self.rng.choice(forms)(among) if len(self.names) > 1 else None) or self.one(among)

    def one(self, among):
        name = self.letter(among)
        return Item(name, plain(name, self.sizes[name]))

    def index(self, among):
        at = self.rng.randint(0, 2)
        more = 0 if among is not None else self.rng.randint(0, 2)
        return Item(str(at), Axis(Size(0, 0, at + 1 + more), ({}, Size(0, 0, at), False)))

    def strided(self, among):
        name, stride = self.letter(among), self.rng.randint(2, 3)
        offset = self.rng.randint(0, 3)
        size = self.sizes[name].scale(stride)
        if offset >= stride:
            size = self.sizes[name].plus(-1).scale(stride).plus(offset + 1)
        text = "%d*%s" % (stride, name) + (" + %d" % offset if offset else "")
        return Item(text, Axis(size, ({name: stride}, Size(0, 0, offset), False)))

    def window(self, among):
        over, kernel = self.letter(among), self.new(SIZES[8:11])
        stride, dilation = self.rng.randint(1, 3), self.rng.randint(1, 2)
        mark = self.rng.choice(["<+", "<+?", "=+", "=+?"])
        padded = mark[0] == "="
        offset = 0 if padded else self.rng.choice([0, 0, 1, 2])
        span = 1 + (self.sizes[kernel].times[2] - 1) * dilation
        size = self.sizes[over].scale(stride) if padded else self.sizes[over].plus(-1).scale(stride).plus(span + offset)
        if mark[-1] == "?" and among is None:
            size = size.plus(self.rng.randint(0, stride - 1) * (-1 if padded else 1))
        text = "%d*%s %s %s%d*%s" % (stride, over, mark, "%d + " % offset if offset else "", dilation, kernel)
        return Item(text, Axis(size, ({over: stride, kernel: dilation},
                                      Size(0, 0, offset - (span // 2 if padded else 0)), padded)))

    def parts(self, among):
        names, texts, indices, size = [], [], [], Size(0, 0, 0)
        for _ in range(self.rng.choice([2, 2, 3])):
            name = self.letter([a for a in among if a not in names] if among else None) if self.names else None
            if name is None or name in names or self.rng.random() < 0.2:
                skipped = self.rng.randint(1, 3)
                texts.append(str(skipped))
                size = size.plus(skipped)
                continue
            names.append(name)
            texts.append(name)
            indices.append(({name: 1}, size, False))
            size = size.plus(self.sizes[name])
        if names:
            self.join(set(names))
        return Item("^".join(texts), Axis(size, *indices)) if names else None

    def join(self, group):
        """Letters of one group run one after another; groups with a letter in common are one."""
        apart = [g for g in self.groups if not g & group]
        self.groups = apart + [group.union(*(g for g in self.groups if g & group))]

    def row(self, name):
        if name not in self.rows:
            self.rows[name] = [".%s%d" % (name, i) for i in range(self.rng.randint(0, 2))]
            self.sizes.update({hidden: self.rng.choice(SIZES) for hidden in self.rows[name]})
        return Item("..%s.." % name, *(plain(hidden, self.sizes[hidden]) for hidden in self.rows[name]))

    # ---- tensors ----

    def tensor(self):
        rows = [[], [], []]
        for _ in range(self.rng.choice([1, 1, 2, 2, 3])):
            rows[self.rng.choice([BATCH, OUTPUT, OUTPUT, OUTPUT, INPUT])].append(self.item())
        if self.rng.random() < 0.3:
            row = rows[self.rng.choice([BATCH, OUTPUT])]
            row.insert(self.rng.randint(0, len(row)), self.row(self.rng.choice("uv")))
        return rows

    def result_rows(self):
        rows = [[], [], []]
        names = sorted(name for name in letters(self.operands) if len(name) == 1)
        for name in names:
            if self.rng.random() < 0.6:
                rows[self.rng.choice([BATCH, OUTPUT, OUTPUT, INPUT])].append(self.item([name]))
        for name in self.rows:
            if self.rng.random() < 0.7:
                kind = self.rng.choice([BATCH, OUTPUT])
                if not any(item.text.startswith("..") for item in rows[kind]):
                    rows[kind].insert(self.rng.randint(0, len(rows[kind])), self.row(name))
        return rows

    def text(self):
        tensors = self.operands + [self.result]
        alone = {item.text for rows in self.operands for row in rows for item in row}
        used = letters(tensors)
        given = ["%s = %s" % (name, self.sizes[name]) for name in sorted(used) if len(name) == 1 and name not in alone]
        left = "; ".join(written(rows, str_item) for rows in self.operands)
        spec = "%s => %s" % (left, written(self.result, str_item))
        fold, op = self.how()
        names = ", ".join("x%d" % i for i in range(len(self.operands)))
        form = 'concat("%s", %s)' % (spec, names)
        if not self.block:
            form = 'einsum("%s", %s, op=%s, reduce=%s)' % (spec, names, op, fold)
        if len(self.operands) == 1:
            form = 'reduce(%s, "%s", x0)' % (fold, spec)
        inputs = "".join("input x%d : [%s]\n" % (i, written(rows, sizes_item)) for i, rows in enumerate(self.operands))
        return "dim n\ndim m\n%soutput y = %s%s\n" % (inputs, form, " with (%s)" % ", ".join(given) if given else "")

    def how(self):
        """The fold and the operation, the same whenever they are asked for."""
        rng = random.Random(str(sorted(self.sizes)))
        fold = "sum" if self.block else rng.choice(["sum", "sum", "max", "min"])
        operations = [["mul"], ["mul", "add", "sub", "max"], ["mul", "fma", "where"]]
        return fold, rng.choice(operations[len(self.operands) - 1])

    # ---- what it means ----

    def evaluate(self, values, dims):
        fold, op = self.how()
        function, neutral = FOLDS[fold]
        out = np.full([axis.size.at(dims) for axis in axes(self.result)], neutral)
        grouped = set().union(*self.groups)
        for choice in itertools.product(*map(sorted, self.groups)):
            views = [view(rows, lambda name: name not in grouped or name in choice)
                     for rows in [self.result] + self.operands]
            here = [i for i, indices in enumerate(views[1:]) if indices is not None]
            if views[0] is not None and len(here) == (1 if self.block else len(self.operands)):
                self.walk(out, views[0], [(values[i], views[i + 1]) for i in here], dims, (function, OPS[op]))
        return out

    def walk(self, out, result, reads, dims, functions):
        function, combine = functions
        names = sorted({name for indices in [result] + [r[1] for r in reads] for index in indices for name in index[0]})
        space = [self.sizes[name].at(dims) for name in names]
        if np.prod(space) > MOST:
            raise OverflowError
        grids = dict(zip(names, np.indices(space))) if names else {}
        inside, placed = np.ones(space, bool), []
        for array, indices in [(out, result)] + reads:
            places = []
            for extent, (coefs, offset, padded) in zip(array.shape, indices):
                place = sum((c * grids[name] for name, c in coefs.items()), np.full(space, offset.at(dims)))
                if padded:
                    inside &= (place >= 0) & (place < extent)
                places.append(place)
            placed.append(places)
        if not inside.any():
            return
        taken = [array[tuple(p[inside] for p in places)] for (array, _), places in zip(reads, placed[1:])]
        value = np.broadcast_to(taken[0] if len(taken) == 1 else combine(*taken), inside.sum())
        if placed[0]:
            function.at(out, tuple(p[inside] for p in placed[0]), value)
        else:
            out[...] = function(out, function.reduce(value))


def axes(rows):
    return [axis for row in STORAGE for item in rows[row] for axis in item.axes]


def letters(tensors):
    return {name for rows in tensors for axis in axes(rows) for index in axis.indices for name in index[0]}


def view(rows, runs):
    """An index for every axis; None where an axis has no place while these letters run."""
    found = [[index for index in axis.indices if all(map(runs, index[0]))] for axis in axes(rows)]
    return [indices[0] for indices in found] if all(found) else None


def str_item(item):
    return [item.text]


def sizes_item(item):
    return [str(axis.size) for axis in item.axes]


def written(rows, texts):
    batch, inputs, outputs = (", ".join(t for item in row for t in texts(item)) for row in rows)
    return (batch + " | " if batch else "") + (inputs + " -> " if inputs else "") + outputs


def wrong(program, model, dims):
    """What is wrong with a run; None: nothing, or it is too large."""
    tensors = program.operands + [program.result]
    shapes = [[axis.size.at(dims) for axis in axes(rows)] for rows in tensors]
    sizes = [s for shape in shapes for s in shape] + [size.at(dims) for size in program.sizes.values()]
    if any(np.prod(np.maximum(shape, 0)) > MOST for shape in shapes) or min(sizes, default=0) < 0:
        return None
    rng = np.random.default_rng(sum(sizes))
    values = [rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes[:-1]]
    taken = model.header.split("int m_forward(")[1].split(")")[0]
    try:
        want = program.evaluate([v.astype(float) for v in values], dims)
        got, = model.forward([d for name, d in zip("nm", dims) if "int64_t " + name in taken], values,
                             [(shapes[-1], np.float32)])
    except OverflowError:
        return None
    except RuntimeError as refused:
        return "refused: %s" % refused
    return None if np.allclose(got, want, rtol=1e-4, atol=1e-4) else "got %s\nwant %s" % (got, want)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    compiled, bad = 0, 0
    for trial in range(seed, seed + count):
        program = Program(trial)
        if any(len(axes(rows)) > 6 for rows in program.operands + [program.result]):
            continue
        try:
            model = Model(program.text())
        except CompileError as error:
            if not any("[%s]" % code in str(error) for code in REFUSED):
                bad += 1
                print("seed %d\n%s" % (trial, error))
            continue
        compiled += 1
        found = [(dims, what) for dims in DIMS for what in [wrong(program, model, dims)] if what]
        if found:
            bad += 1
            print("seed %d\n%sat %s: %s" % (trial, program.text(), *found[0]))
    print("%d of %d programs have results, %d are wrong" % (compiled, count, bad))


if __name__ == "__main__":
    main()
