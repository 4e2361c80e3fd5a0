"""Random gathers and scatters against loops in Python, bit for bit: one and two axes in brackets in any row, ids of
several types and modes, sizes 0 and 1, dims, every reduction; what is added up is so in the order of the operand. An
index outside is told before anything is written."""
import itertools
import sys

import numpy as np

from tsrlib import DTYPES, Model, draw_cuts

seed, count = int(sys.argv[1]), int(sys.argv[2])
options = sys.argv[3:]
rng = np.random.default_rng(seed)
FORMS = 6  # in a program
FOLDS = {"sum": lambda a, b: a + b, "prod": lambda a, b: a * b, "max": np.maximum, "min": np.minimum,
         "set": lambda a, b: b}
MODES = ("check", "clamp", "skip", "wrap")


def pick(items):
    return items[int(rng.integers(len(items)))]


class Tensor:
    """Axes in storage order, each a letter or `[v]`, with its rows cut."""

    def __init__(self, axes):
        self.axes = list(axes)
        rng.shuffle(self.axes)
        first, last = draw_cuts(lambda n: rng.integers(n), len(axes))
        self.rows = (self.axes[:first], self.axes[last:], self.axes[first:last])  # as written: batch, input, output

    def text(self, name=str):
        return "%s | %s -> %s" % tuple(", ".join(map(name, row)) for row in self.rows)

    def brackets(self):
        return [axis for row in self.rows for axis in row if axis[0] == "["]


class Form:
    def __init__(self, number):
        self.number = number
        self.scatters = rng.random() < 0.6
        self.letters = list("abcd")[:int(rng.integers(0, 5))]
        self.sizes = {letter: int(pick([0, 1, 2, 3, 4, 5, 7, 18] if rng.random() < 0.2 else [1, 2, 3, 5, 17]))
                      for letter in self.letters}
        nids = int(rng.integers(1, 3))
        self.mode = pick(MODES)
        for v in "vw"[:nids]:
            self.sizes["[%s]" % v] = int(pick([1, 2, 3, 9] if self.mode in ("clamp", "wrap") else [0, 1, 2, 3, 9]))
        self.dims = {letter for letter in self.sizes if rng.random() < 0.4}
        some = lambda: [letter for letter in self.letters if rng.random() < 0.6]
        indexed = ["[%s]" % v for v in "vw"[:nids]]
        self.ids = [Tensor(some()) for _ in range(nids)]
        if self.scatters:
            self.x = Tensor(some())
            kept = [letter for letter in self.used() if rng.random() < 0.5]
            self.y = Tensor(indexed + kept)
            self.order = self.y.brackets()
        else:
            self.x = Tensor(indexed + some())
            self.y = Tensor(self.used())
            self.order = self.x.brackets()
        self.dtype = pick(["f32", "f32", "i32", "f64"])
        self.fold = pick(list(FOLDS))
        self.ids_dtype = [pick(["i32", "i32", "u8", "i8"]) for _ in self.ids]
        self.dims &= {*self.used(), *self.order}

    def used(self):
        """Letters in the order in which steps go over them."""
        axes = [axis for tensor in [self.x, *self.ids] for axis in tensor.axes if axis[0] != "["]
        return list(dict.fromkeys(axes))

    def size_name(self, axis):
        plain = axis.strip("[]")
        return "%s%d" % (plain, self.number) if axis in self.dims else str(self.sizes[axis])

    def source(self):
        n = self.number
        lines = ["input x%d : %s [%s]" % (n, self.dtype, self.x.text(self.size_name))]
        for k, tensor in enumerate(self.ids):
            lines.append("input i%d_%d : %s [%s]" % (n, k, self.ids_dtype[k], tensor.text(self.size_name)))
        spec = "; ".join(tensor.text() for tensor in [self.x, *self.ids]) + " => " + self.y.text()
        words = ", mode = %s" % self.mode if self.mode != "check" or rng.random() < 0.3 else ""
        if self.scatters and (self.fold != "sum" or rng.random() < 0.3):
            words += ", reduce = " + self.fold
        call = "%s(\"%s\", x%d, %s%s)" % ("scatter" if self.scatters else "gather", spec, n, ", ".join(
            "i%d_%d" % (n, k) for k in range(len(self.ids))), words)
        if self.scatters:
            call += " with (%s)" % ", ".join("%s = %s" % (v.strip("[]"), self.size_name(v)) for v in self.order)
        return lines, "output y%d = %s" % (n, call)

    def shape(self, tensor):
        return tuple(self.sizes[axis] for axis in tensor.axes)

    def inputs(self):
        shape = self.shape(self.x)
        if self.dtype == "i32":
            self.values = rng.integers(-9, 10, shape).astype(np.int32)
        else:
            self.values = rng.standard_normal(shape).astype(DTYPES[self.dtype])
        self.indices = []
        for k, tensor in enumerate(self.ids):
            size = self.sizes[self.order[k]]
            low, high = (0, size) if self.mode == "check" else (-2 * size - 1, 2 * size + 2)
            low = 0 if self.ids_dtype[k] == "u8" else low
            shape = self.shape(tensor)
            if high <= low:  # no index fits: there must be none
                return False
            self.indices.append(rng.integers(low, high, shape).astype(DTYPES[self.ids_dtype[k]]))
        return True

    def place(self, tensor, at, read):
        """The element of a tensor; None: an index is outside and left out."""
        element = []
        for axis in tensor.axes:
            index = at[axis] if axis in at else read[axis]
            if index is None:
                return None
            element.append(index)
        return tuple(element)

    def index(self, k, at):
        index, size = int(self.indices[k][self.place(self.ids[k], at, {})]), self.sizes[self.order[k]]
        if self.mode == "clamp":
            return min(max(index, 0), size - 1)
        if self.mode == "wrap":
            return index % size
        return index if 0 <= index < size else None

    def want(self):
        start = {"sum": 0, "set": 0, "prod": 1}.get(self.fold) if self.scatters else 0
        if start is None:
            limits = np.iinfo(np.int32) if self.dtype == "i32" else None
            start = (limits.min if limits else -np.inf) if self.fold == "max" else (limits.max if limits else np.inf)
        y = np.full(self.shape(self.y), start, DTYPES[self.dtype])
        letters = self.used()
        for values in itertools.product(*[range(self.sizes[letter]) for letter in letters]):
            at = dict(zip(letters, values))
            read = {axis: self.index(k, at) for k, axis in enumerate(self.order)}
            source, target = self.place(self.x, at, read), self.place(self.y, at, read)
            if source is None or target is None:
                continue
            y[target] = FOLDS[self.fold](y[target], self.values[source]) if self.scatters else self.values[source]
        return y


def program(forms):
    dims, inputs, outputs = [], [], []
    for form in forms:
        dims += ["dim %s" % form.size_name(axis) for axis in sorted(form.dims, key=lambda a: a.strip("[]"))]
        lines, output = form.source()
        inputs += lines
        outputs.append(output)
    return "\n".join(dims + inputs + outputs) + "\n"


def outside(model, forms, dims, arrays):
    """Every index that is checked, one by one."""
    told = 0
    for form in forms:
        for k, indices in enumerate(form.indices):
            if form.mode != "check" or indices.size == 0:
                continue
            for bad in (form.sizes[form.order[k]], -1):
                changed = indices.copy()
                if bad < 0 and changed.dtype.kind == "u":
                    continue
                changed.flat[int(rng.integers(indices.size))] = bad
                mine = [changed if a is indices else a for a in arrays]
                try:
                    model.forward(dims, mine, [(f.shape(f.y), DTYPES[f.dtype]) for f in forms])
                except RuntimeError:
                    told += 1
                    continue
                sys.exit("an index outside was not told: %s" % form.source()[1])
    return told


def run():
    agree = told = 0
    for _ in range(count):
        forms = []
        while len(forms) < FORMS:
            form = Form(len(forms))
            if form.inputs():
                forms.append(form)
        text = program(forms)
        model = Model(text, options)
        dims = []
        for line in text.splitlines():
            if line.startswith("dim "):
                name = line[4:]
                form = forms[int(name[1:])]
                dims.append(form.sizes[name[0] if name[0] in form.sizes else "[%s]" % name[0]])
        arrays = [a for form in forms for a in [form.values, *form.indices]]
        try:
            got = model.forward(dims, arrays, [(f.shape(f.y), DTYPES[f.dtype]) for f in forms])
        except RuntimeError as error:
            sys.exit("%s\n%s, dims %s" % (text, error, dims))
        for form, y in zip(forms, got):
            want = form.want()
            if y.tobytes() != want.tobytes():
                sys.exit("%s\n%s\nsizes %s\ngot %s\nwant %s" % (text, form.source()[1], form.sizes, y, want))
            agree += 1
        told += outside(model, forms, dims, arrays)
    return agree, told


np.seterr(over="ignore")  # integers go round
print("%d forms agree, %d indices outside are told" % run())
