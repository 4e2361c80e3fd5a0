"""Tensors as NumPy arrays under several assignments of the dims, and specifications by brute force.

A size is a tuple: its value under each assignment. The first assignments are run; the last one, of two
primes, stands for "any other": sizes equal under all are taken to be the same expression.
"""
import itertools

import numpy as np

DIMS = ("n", "m")
RUNS = ((3, 2), (0, 1), (1, 4))
ASSIGNMENTS = RUNS + ((101, 211),)
BATCH, INPUT, OUTPUT = range(3)
STORAGE = (BATCH, OUTPUT, INPUT)


class Axis:
    """text: the size as a program may write it, or None. one: the 1 that broadcasts."""

    def __init__(self, size, text=None, one=False):
        self.size, self.text, self.one = tuple(size), text, one

    @property
    def literal(self):
        return len(set(self.size)) == 1


def axis_of(text):
    return Axis(size_values(text), text, text == "1")


def size_values(text):
    """A size as printed or written, under every assignment."""
    code = text.replace("/", "//")
    values = []
    for assignment in ASSIGNMENTS:
        names = dict(zip(DIMS, assignment), floor=lambda v: v)
        values.append(int(eval(code, {"__builtins__": {}}, names)))
    return tuple(values)


class Tensor:
    """rows: three lists of Axis. values: an array for every assignment that is run, in storage order.
    raw: every value is a small multiple of 1/4, so comparisons do not hang on rounding."""

    def __init__(self, text, rows, values, dtype="f32", raw=False):
        self.text, self.rows, self.values, self.dtype, self.raw = text, rows, values, dtype, raw
        for k, value in enumerate(values):
            assert value.shape == self.shape(k), (text, value.shape, self.shape(k))

    def axes(self):
        return [a for row in STORAGE for a in self.rows[row]]

    def shape(self, k):
        return tuple(a.size[k] for a in self.axes())

    def split(self, k):
        """The array of assignment k, and where its rows start: batch, output, input."""
        nb, no = len(self.rows[BATCH]), len(self.rows[OUTPUT])
        return self.values[k], nb, nb + no


def shape_text(rows):
    """How a program writes a shape."""
    batch, inputs, outputs = (", ".join(a.text for a in row) for row in rows)
    text = (batch + " | " if batch else "") + (inputs + " -> " if inputs else "") + outputs
    return "[%s]" % text.rstrip()


def parse_shape(text):
    """A printed shape: three lists of sizes."""
    text = text.strip()[1:-1]
    batch, text = text.split("|") if "|" in text else ("", text)
    inputs, outputs = text.split("->") if "->" in text else ("", text)
    return [[size_values(s.split(":")[-1]) for s in split_commas(row)] for row in (batch, inputs, outputs)]


def split_commas(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in parts if p]


# ---- pointwise: rows align from their right, a literal 1 stretches ----

def broadcast_rows(tensors):
    """The rows of the result, or None where they do not fit. The text of the first that is no 1."""
    result = []
    for kind in range(3):
        rank = max(len(t.rows[kind]) for t in tensors)
        row = []
        for place in range(rank):
            here = [t.rows[kind][place - rank + len(t.rows[kind])] for t in tensors
                    if place - rank + len(t.rows[kind]) >= 0]
            wide = [a for a in here if not a.one]
            if len({a.size for a in wide}) > 1:
                return None
            row.append(wide[0] if wide else here[0])
        result.append(row)
    return result


def aligned(tensor, rows, k):
    """The array with axes of 1 inserted so that NumPy broadcasts as the language does."""
    value = tensor.values[k]
    shape = []
    for kind in STORAGE:
        row = tensor.rows[kind]
        shape += [1] * (len(rows[kind]) - len(row)) + [a.size[k] for a in row]
    return value.reshape(shape)


def pointwise(text, tensors, function, dtype="f32", raw=False):
    rows = broadcast_rows(tensors)
    if rows is None:
        return None
    values = []
    for k in range(len(RUNS)):
        shape = [a.size[k] for kind in STORAGE for a in rows[kind]]
        with np.errstate(all="ignore"):
            value = function(*(aligned(t, rows, k) for t in tensors))
        values.append(np.broadcast_to(np.asarray(value, float), shape).copy())
    return Tensor(text, rows, values, dtype, raw)


# ---- specifications: a sum over every tuple of indices ----

class Index:
    """coefs[letter] * letter + ... + offset; padded: a step that reads or writes outside is skipped."""

    def __init__(self, coefs, offset=0, padded=False):
        self.coefs, self.offset, self.padded = coefs, offset, padded

    def at(self, grids):
        total = np.asarray(self.offset)
        for letter, coef in self.coefs.items():
            total = total + coef * grids[letter]
        return total


def letter(name):
    return Index({name: 1})


OPS = {"mul": lambda *v: np.multiply.reduce(np.broadcast_arrays(*v)), "add": np.add, "sub": np.subtract,
       "max": np.maximum, "min": np.minimum, "fma": lambda a, b, c: a * b + c,
       "where": lambda c, a, b: np.where(c != 0, a, b)}
FOLDS = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf),
         "prod": (np.multiply, 1.0)}


def evaluate(sizes, operands, result, shape, op="mul", fold="sum"):
    """sizes: extents of the letters; operands: (array, Index per axis); result: Index per axis."""
    names = sorted(sizes)
    grids = {n: np.arange(sizes[n]).reshape([-1 if m == n else 1 for m in names]) for n in names}
    space = [sizes[n] for n in names]
    inside = np.ones(space, bool)
    reads = []
    for extent, index in zip(shape, result):
        if index.padded:
            place = np.broadcast_to(index.at(grids), space)
            inside &= (place >= 0) & (place < extent)
    for array, indices in operands:
        places = []
        for extent, index in zip(array.shape, indices):
            place = np.broadcast_to(index.at(grids), space)
            if index.padded:
                inside &= (place >= 0) & (place < extent)
                place = np.clip(place, 0, max(extent - 1, 0))
            places.append(place)
        empty = array.size == 0
        reads.append(np.zeros(space) if empty else np.broadcast_to(array[tuple(places)], space))
    value = np.broadcast_to(reads[0] if len(reads) == 1 else OPS[op](*reads), space)
    function, neutral = FOLDS[fold]
    out = np.full(shape, neutral)
    places = tuple(np.broadcast_to(i.at(grids), space)[inside] for i in result)
    if places:
        function.at(out, places, value[inside])
    elif inside.any():
        out = np.asarray(function.reduce(value[inside]))
    return out


def product_size(sizes, k):
    return int(np.prod([s[k] for s in sizes], dtype=np.int64))


def tuples(rows):
    return [[a.size for a in row] for row in rows]


def flat(rows):
    return list(itertools.chain.from_iterable(rows))
