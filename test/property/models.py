"""Whole models, two to eight statements, and their numbers in NumPy.

A form (model_forms.py) draws operands among the tensors there are, or adds inputs and parameters, and says what it
means: the text of its statement and its values. Nothing is asked of the compiler. Each value is an array in double
precision under every assignment of the dims, a bound of the error that the program's precision may make, and
`digits`: how many binary digits behind the point all elements have at most; None where elements are rounded.

A model of rows has `n` as the leftmost batch axis of every input and elements whose sums round: there a row alone must
have the bits of the row in a batch. Others have small halves as elements, whose sums are exact, and dims anywhere.
"""
import math
import os
import random
import sys
from collections import namedtuple

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "numbers", "Inputs"))
from tsrlib import from_bf16, to_bf16  # noqa: E402

# Small sizes, primes, and those around the widths of vectors and tiles.
SIZES = (0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 96, 97, 127, 128, 129, 255, 257)
SMALL = (1, 2, 3, 4, 5, 7, 8, 9)
INTS = {"i32": (-3, 4), "i8": (-4, 5), "u8": (0, 9)}
WIDE = {"bf16": "f32", "f16": "f32", "i8": "i32", "u8": "i32"}
EPS = {"f32": 2.0 ** -23, "f64": 2.0 ** -52, "bf16": 2.0 ** -8, "f16": 2.0 ** -10, "number": 0}
RUNS = 3
MOST, WORK = 60000, 2e6     # elements of a tensor, products of a form

Axis = namedtuple("Axis", "text sizes")     # text: how a shape spells it, None: it cannot
Value = namedtuple("Value", "array err digits")
Tensor = namedtuple("Tensor", "text rows values dtype")  # rows: batch, output, input, as they are stored

erf = np.vectorize(math.erf, otypes=[float])
SMOOTH = {"tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "sin": np.sin, "erf": erf,
          "gelu": lambda a: a * (1 + erf(a / math.sqrt(2))) / 2, "exp": np.exp}
EXACT = {"relu": lambda a: np.maximum(a, 0), "abs": np.abs, "neg": np.negative}
POSITIVE = {"sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "log": np.log, "recip": lambda a: 1 / a}
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, "==": np.equal, "!=": np.not_equal}


class Misfit(Exception):
    """What was drawn does not fit together, or is too large: something else is tried."""


def wide(dtype):
    return WIDE.get(dtype, dtype)


def axes(tensor):
    return [axis for row in tensor.rows for axis in row]


def shape(these, run):
    return tuple(axis.sizes[run] for axis in these)


def literal(size):
    return Axis(str(size), (size,) * RUNS)


def number_of(axis):
    """The size of an axis that is spelled as a number."""
    if axis.text is None or not axis.text.isdigit():
        raise Misfit
    return int(axis.text)


def mag(array):
    return float(np.abs(array[np.isfinite(array)]).max(initial=0))


def most(*digits):
    return None if None in digits else max(digits)


def settle(array, dtype, err, digits, bound):
    """bound: what the parts of the largest sum add up to, whatever their signs; 0 where nothing is rounded."""
    if dtype in INTS:
        if bound > 2.0 ** 52:
            raise Misfit
        return Value((array.astype(np.int64) + 2 ** 31) % 2 ** 32 - 2 ** 31, 0, 0)
    if bound and (digits is None or bound * 2.0 ** digits >= 0.5 / EPS[wide(dtype)]):
        return Value(array, err + 4 * EPS[wide(dtype)] * bound, None)
    return Value(array, err, digits)


def rounded_bf16(array):
    return from_bf16(to_bf16(np.atleast_1d(array))).reshape(np.shape(array)).astype(float)


def spec(rows):
    """A shape or one part of a specification."""
    batch, output, inputs = (", ".join(axis if isinstance(axis, str) else axis.text for axis in row) for row in rows)
    return (batch + " | " if batch else "") + (inputs + " -> " if inputs else "") + output


def joined(tensors):
    """The rows of a pointwise result."""
    rows = []
    for kind in range(3):
        rows.append([])
        for at in range(-max(len(t.rows[kind]) for t in tensors), 0):
            found = [t.rows[kind][at] for t in tensors if len(t.rows[kind]) >= -at]
            large = [axis for axis in found if axis.text != "1"] or found
            if any(axis is not large[0] and (axis.text is None or axis != large[0]) for axis in large):
                raise Misfit
            rows[-1].append(large[0])
    return rows


def spread(tensor, run, rows):
    """Its array with an axis of 1 for each that it lacks of these rows."""
    sizes = [[1] * (len(row) - len(own)) + [axis.sizes[run] for axis in own] for own, row in zip(tensor.rows, rows)]
    return np.reshape(tensor.values[run].array, sum(sizes, []))


# ---- pointwise ----

def pointwise(text, dtype, tensors, function, errors):
    """errors: from the operands' values to (err, digits, bound), as settle() takes them."""
    rows, values = joined(tensors), []
    for run in range(RUNS):
        with np.errstate(all="ignore"):
            array = function(*(spread(t, run, rows) for t in tensors))
        array = np.broadcast_to(array, shape(sum(rows, []), run))
        values.append(settle(array, dtype, *errors(*(t.values[run] for t in tensors))))
    return Tensor(text, rows, values, dtype)


def common(*tensors):
    """The dtype that they are computed in."""
    dtypes = {wide(t.dtype) for t in tensors if t.dtype != "number"}
    return "f64" if "f64" in dtypes else "f32" if "f32" in dtypes else "i32"


def number(value):
    return Tensor("%g" % value, [[], [], []], [Value(np.float64(value), 0, 2)] * RUNS, "number")


def binary(x, y, op):
    dtype = common(x, y)
    if dtype == "i32" and any(t.dtype == "number" and t.values[0].array % 1 for t in (x, y)):
        raise Misfit
    text = "%s(%s, %s)" % (op, x.text, y.text) if op in ("max", "min") else "(%s %s %s)" % (x.text, op, y.text)
    if op in COMPARE:
        if any(v.digits is None for v in x.values + y.values):
            raise Misfit
        return pointwise(text, "f32", [x, y], lambda a, b: COMPARE[op](a, b) * 1.0, lambda a, b: (0, 0, 0))
    if op == ".*":
        return pointwise(text, dtype, [x, y], np.multiply, lambda a, b: (
            mag(a.array) * b.err + mag(b.array) * a.err + a.err * b.err,
            None if most(a.digits, b.digits) is None else a.digits + b.digits, mag(a.array) * mag(b.array)))
    function = {"+": np.add, "-": np.subtract, "max": np.maximum, "min": np.minimum}[op]
    return pointwise(text, dtype, [x, y], function, lambda a, b: (
        a.err + b.err, most(a.digits, b.digits), mag(a.array) + mag(b.array) if op in "+-" else 0))


def where(condition, x, y):
    if common(x, y) == "i32":
        raise Misfit
    text = "where(%s, %s, %s)" % (condition.text, x.text, y.text)
    return pointwise(text, common(x, y), [condition, x, y], lambda c, a, b: np.where(c != 0, a, b).astype(float),
                     lambda c, a, b: (max(a.err, b.err), most(a.digits, b.digits), 0))


def smooth(name, function, x):
    if x.dtype in INTS:
        raise Misfit

    def errors(value):
        with np.errstate(all="ignore"):
            a = value.array
            moved = [np.abs(function(a + side * value.err) - function(a)) for side in (-1, 1)] if value.err else [a * 0]
            scale = max(mag(function(a)), mag(a) if name == "gelu" else 0)  # its errors are in units of its argument's
            return 1.5 * max(map(mag, moved)), None, 2 * scale
    return pointwise("%s(%s)" % (name, x.text), wide(x.dtype), [x], function, errors)


def cast(x, dtype):
    """To a type of storage or a wide one; to integers where the values are exact."""
    if any(v.digits is None or mag(v.array) > 2 ** 20 for v in x.values) and (dtype in INTS or x.dtype in INTS):
        raise Misfit
    if dtype == "f16" and max(mag(v.array) for v in x.values) > 6e4:
        raise Misfit
    if x.dtype == "f64" and dtype in ("bf16", "f16", "f32") and any(v.digits is None for v in x.values):
        raise Misfit
    bits = {"i8": 8, "u8": 8}.get(dtype, 32)
    low = 0 if dtype == "u8" else -2 ** (bits - 1)

    def function(a):
        if dtype in INTS:
            whole = np.trunc(a).astype(np.int64)
            return (whole - low) % 2 ** bits + low if x.dtype in INTS else np.clip(whole, low, low + 2 ** bits - 1)
        return {"bf16": rounded_bf16, "f16": lambda a: a.astype(np.float16)}.get(dtype, np.array)(a).astype(float)

    def errors(a):
        rounds = EPS.get(dtype, 0) * mag(a.array) if a.digits is None else 0
        return a.err + rounds, a.digits, 0
    return pointwise("%s(%s)" % (dtype, x.text), dtype, [x], function, errors)


def unary(model, x):
    draw = model.rng.random()
    if draw < 0.4 or x.dtype in INTS:
        name = model.rng.choice(list(EXACT))
        return pointwise("%s(%s)" % (name, x.text), wide(x.dtype), [x], EXACT[name], lambda a: (a.err, a.digits, 0))
    if draw < 0.8:
        name = model.rng.choice(list(SMOOTH)) if max(mag(v.array) for v in x.values) < 30 else "tanh"
        return smooth(name, SMOOTH[name], x)
    name = model.rng.choice(list(POSITIVE))
    return smooth(name, POSITIVE[name], binary(binary(x, x, ".*"), number(1), "+"))


def partner(model, x):
    """Something that broadcasts against x."""
    found = model.pick(lambda t: all(t.rows)) if model.chance(0.2) else None
    if found is not None or model.chance(0.2):
        return found or number(model.rng.choice([1, 2, 0.5, -1, 3]))
    rows = []
    for row in x.rows:
        kept = row[model.rng.randint(0, len(row)) if model.chance(0.4) else 0:]
        if any(axis.text is None for axis in kept):
            return number(3)
        rows.append([literal(1) if axis.text != "n" and model.chance(0.15) else axis for axis in kept])
    return model.leaf(rows, model.rng.choice(["f32", "f32", "bf16", "f64", x.dtype]))


def chain(model, x=None):
    x = x or model.any()
    for _ in range(model.rng.randint(1, 5)):
        draw = model.rng.random()
        if draw < 0.4:
            x = unary(model, x)
        elif draw < 0.75:
            x = binary(x, partner(model, x), model.rng.choice(["+", "-", ".*", ".*", "max", "min"]))
        elif draw < 0.87:
            other = partner(model, x)
            x = where(binary(x, other, model.rng.choice(list(COMPARE))), x, number(2))
        else:
            x = cast(x, model.rng.choice(["bf16", "bf16", "f16", "f32", "f64", "i8", "i32", "u8"]))
    return x


# ---- models ----

class Model:
    def __init__(self, seed, forms):
        self.rng, self.data = random.Random(seed), np.random.default_rng(seed)
        self.rows = self.rng.random() < 0.4
        self.count, self.main = 0, False
        self.lines, self.tensors, self.inputs, self.params, self.outputs = [], [], [], [], []
        names = "n" if self.rows else self.rng.choice(["", "n", "n", "nm"])
        self.dims = {name: Axis(name, tuple(self.draw_size() for _ in range(RUNS))) for name in names}
        if self.rows:
            self.dims["n"] = Axis("n", tuple(self.rng.choice((2, 3, 5, 8, 17, 33, 64)) for _ in range(RUNS)))
        self.sizes = [self.draw_size() for _ in range(3)]
        wanted, made = self.rng.randint(2, 8), 0
        while made < wanted:
            made += self.statement(self.rng.choices(list(forms), list(forms.values()))[0])
        if self.tensors[-1] not in self.outputs:
            self.output(self.tensors[-1])
        self.text = "".join("dim %s\n" % name for name in self.dims) + "\n".join(self.lines) + "\n"

    def draw_size(self):
        return self.rng.choice(SIZES if self.rng.random() < 0.6 else SIZES[3:15])

    def chance(self, of):
        return self.rng.random() < of

    def name(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def output(self, tensor):
        self.lines.append("output %s" % tensor.text)
        self.outputs.append(tensor)

    def statement(self, form):
        lists = (self.lines, self.tensors, self.inputs, self.params)
        kept = [list(part) for part in lists]
        try:
            made = form(self)
            for run, value in enumerate(made.values):
                large = max(mag(value.array), 1e-3)
                if value.array.size > MOST or np.isnan(value.array).any() or large > 1e6 or value.err > 0.02 * large:
                    raise Misfit
        except Misfit:
            for part, old in zip(lists, kept):
                part[:] = old
            return False
        self.tensors.append(made._replace(text=self.name("t")))
        self.lines.append("let %s = %s" % (self.tensors[-1].text, made.text))
        if self.chance(0.4):
            self.output(self.tensors[-1])
        return True

    # ---- operands ----

    def axis(self, small=False):
        if self.dims and not self.rows and self.chance(0.15 if small else 0.35):
            return self.rng.choice(list(self.dims.values()))
        return literal(self.rng.choice(SMALL) if small else
                       self.rng.choice(self.sizes) if self.chance(0.7) else self.draw_size())

    def leaf(self, rows, dtype=None, param=None):
        """A new input or parameter."""
        if self.rows and self.main:
            rows = [[self.dims["n"]] + rows[0]] + rows[1:]
        self.main = False
        these = sum(rows, [])
        if any(axis.text is None for axis in these) or any(math.prod(shape(these, k)) > MOST for k in range(RUNS)):
            raise Misfit
        dtype = dtype or self.rng.choices(["f32", "bf16", "f16", "f64", "i32", "i8", "u8"], [12, 3, 1, 1, 1, 1, 1])[0]
        symbolic = any(axis.text in self.dims for axis in these)
        param = not symbolic and (self.rows or (self.chance(0.3) if param is None else param))
        made = Tensor(self.name("w" if param else "x"), rows,
                      [self.elements(shape(these, k), dtype) for k in range(RUNS)], dtype)
        if not symbolic:    # one array for all runs
            made = made._replace(values=made.values[:1] * RUNS)
        self.lines.append("%s %s : %s [%s]" % ("param" if param else "input", made.text, dtype, spec(rows)))
        (self.params if param else self.inputs).append(made)
        self.tensors.append(made)
        return made

    def elements(self, sizes, dtype):
        if dtype in INTS:
            return Value(self.data.integers(*INTS[dtype], sizes).astype(np.int64), 0, 0)
        if not self.rows:
            return Value(self.data.integers(-4, 5, sizes) / 2.0, 0, 1)
        kept = np.float16 if dtype == "f16" else np.float32
        array = np.asarray(self.data.standard_normal(sizes), kept).astype(float)
        return Value(rounded_bf16(array) if dtype == "bf16" else array, 0, None)

    def pick(self, want=lambda t: True):
        found = [t for t in self.tensors if want(t)]
        return self.rng.choice(found[-3:] if self.chance(0.7) else found) if found else None

    def any(self, want=lambda t: True, dtype=None):
        """A tensor there is, or a new one."""
        found = self.pick(lambda t: want(t) and (dtype is None or t.dtype == dtype)) if self.chance(0.75) else None
        if found is None:
            counts = self.rng.choice([(1, 1, 0), (1, 1, 0), (0, 2, 0), (0, 1, 0), (1, 2, 0), (2, 1, 0), (0, 3, 0),
                                      (1, 1, 1), (0, 1, 1), (1, 3, 0), (2, 2, 0)])
            self.main = True
            found = self.leaf([[self.axis() for _ in range(count)] for count in counts], dtype)
            if not want(found):
                raise Misfit
        return found

    def rows_alone(self):
        """The outputs that have a row for each row of the inputs; none where a tensor has `n` at another place."""
        for tensor in self.tensors:
            at = [kind for kind, row in enumerate(tensor.rows) for axis in row if axis.text == "n"]
            if at not in ([], [0]) or (at and tensor.rows[0][0].text != "n"):
                return []
        return [t for t in self.outputs if self.rows and t.rows[0] and t.rows[0][0].text == "n"]
