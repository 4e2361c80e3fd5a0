"""Random well-formed programs with the shapes and the numbers that they must have.

A program is one statement a line. Every form below takes tensors that exist, or adds inputs of the sizes that
it needs, and knows its result from reference.py alone. A form that does not fit what was drawn returns None,
and another is tried.
"""
import random

import numpy as np

import forms
import specs
from reference import (BATCH, DIMS, INPUT, OUTPUT, RUNS, Axis, Tensor, axis_of, broadcast_rows, flat, pointwise,
                       shape_text, tuples)

LITERALS = ("1", "2", "3", "4", "5")
SYMBOLIC = ("n", "m", "n + 1", "2*n", "n + 3", "n*m", "n + m")
UNARY = {"relu": lambda v: np.maximum(v, 0), "tanh": np.tanh, "abs": np.abs, "neg": np.negative, "id": lambda v: v,
         "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "sat01": lambda v: np.clip(v, 0, 1), "sin": np.sin}
EXACT = {"floor": np.floor, "ceil": np.ceil, "sign": np.sign, "not": lambda v: (v == 0).astype(float)}
BINARY = {"+": np.add, "-": np.subtract, ".*": np.multiply}
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, "==": np.equal, "!=": np.not_equal}
LARGEST = 4000  # elements of a tensor


class Generator:
    def __init__(self, seed, symbolic=None, more=()):
        """more: forms that are drawn beside FORMS."""
        self.rng = random.Random(seed)
        self.data = np.random.default_rng(seed)
        self.symbolic = self.rng.random() < 0.6 if symbolic is None else symbolic
        self.forms = [*FORMS, *more]
        self.lines, self.tensors, self.inputs = [], [], []
        self.shapes = {}    # name -> three lists of sizes
        self.used = set()
        self.count = 0

    def fresh(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    # ---- leaves ----

    def axis(self):
        return axis_of(self.rng.choice(SYMBOLIC if self.symbolic and self.rng.random() < 0.35 else LITERALS))

    def random_rows(self):
        """Up to three axes in any rows, batch, input, output."""
        naxes = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3])
        rows = [[], [], []]
        for _ in range(naxes):
            rows[self.rng.choice([BATCH, INPUT, OUTPUT, OUTPUT])].append(self.axis())
        return rows

    def add_input(self, rows, drawn=None, dtype="i32"):
        """A new input. drawn: of another dtype than f32, a pair of ends, a list of numbers, or the upper end."""
        name = self.fresh("x")
        shapes = [tuple(a.size[k] for row in (0, 2, 1) for a in rows[row]) for k in range(len(RUNS))]
        if isinstance(drawn, list):
            values = [self.data.choice(drawn, s) for s in shapes]
        elif drawn is not None:
            ends = drawn if isinstance(drawn, tuple) else (0, drawn)
            values = [self.data.integers(*ends, s) for s in shapes]
        else:
            values = [self.data.integers(-8, 9, s) / 4 for s in shapes]
        tensor = Tensor(name, rows, values, "f32" if drawn is None else dtype, raw=True)
        self.lines.append("input %s : %s%s" % (name, dtype + " " if drawn is not None else "", shape_text(rows)))
        self.inputs.append(tensor)
        self.tensors.append(tensor)
        self.shapes[name] = tuples(rows)
        return tensor

    def input(self):
        while True:
            rows = self.random_rows()
            if all(np.prod([a.size[k] for a in flat(rows)]) <= LARGEST for k in range(len(RUNS))):
                return self.add_input(rows)

    # ---- drawing operands ----

    def pick(self, want=lambda t: True):
        """A tensor of floats, rather a recent one; None where there is none."""
        fitting = [t for t in self.tensors if t.dtype == "f32" and want(t)]
        if not fitting:
            return None
        tensor = self.rng.choice(fitting[-4:] if self.rng.random() < 0.6 else fitting)
        self.used.add(tensor.text)
        return tensor

    def operand(self, want=lambda t: True):
        """pick, now and then inside a pointwise function."""
        tensor = self.pick(want)
        if tensor is None or self.rng.random() < 0.8:
            return tensor
        name = self.rng.choice(list(UNARY))
        return pointwise("%s(%s)" % (name, tensor.text), [tensor], UNARY[name])

    def partner(self, tensor):
        """An operand whose rows fit those of `tensor` in a pointwise form."""
        found = self.operand(lambda t: broadcast_rows([tensor, t]) is not None)
        if found is not None and self.rng.random() < 0.5:
            return found
        rows = []
        for row in tensor.rows:
            if any(a.text is None for a in row):
                return found
            keep = self.rng.randint(0, len(row)) if self.rng.random() < 0.4 else len(row)
            row = row[len(row) - keep:]
            rows.append([axis_of("1") if self.rng.random() < 0.2 else axis_of(a.text) for a in row])
        return self.add_input(rows)

    # ---- statements ----

    def statement(self):
        form = self.rng.choice(self.forms)
        result = form(self)
        if result is None or any(v.size > LARGEST for v in result.values):
            return False
        name = self.fresh("t")
        self.lines.append("%s %s = %s" % ("output" if self.rng.random() < 0.3 else "let", name, result.text))
        tensor = Tensor(name, result.rows, result.values, result.dtype, result.raw)
        self.tensors.append(tensor)
        self.shapes[name] = tuples(result.rows)
        return True

    def program(self):
        self.input()
        length, tries = self.rng.randint(3, 10), 0
        while sum(not line.startswith("input") for line in self.lines) < length and tries < 200:
            tries += 1
            before = (len(self.lines), len(self.tensors), len(self.inputs), dict(self.shapes), set(self.used))
            if not self.statement():
                del self.lines[before[0]:], self.tensors[before[1]:], self.inputs[before[2]:]
                self.shapes, self.used = before[3:]
        return self.finish()

    def finish(self):
        """Everything that nothing uses becomes an output; dims stand first."""
        outputs = [t for t in self.tensors if "output %s =" % t.text in "\n".join(self.lines)]
        for tensor in self.tensors:
            if tensor.text not in self.used and tensor not in self.inputs and tensor not in outputs:
                name = self.fresh("o")
                self.lines.append("output %s = %s" % (name, tensor.text))
                self.shapes[name] = tuples(tensor.rows)
                outputs.append(tensor)
        text = "\n".join(self.lines) + "\n"
        dims = [d for d in DIMS if d in text.replace("i32", "").split(" ") or self.symbolic]
        self.text = "".join("dim %s\n" % d for d in dims) + text
        self.dims, self.outputs = dims, outputs
        return self


# ---- forms: each returns a Tensor whose text is the expression, or None ----

def form_unary(g):
    a = g.pick()
    functions = dict(UNARY, **EXACT) if a.raw else UNARY
    name = g.rng.choice(list(functions))
    return pointwise("%s(%s)" % (name, a.text), [a], functions[name], raw=name in EXACT or name in ("relu", "abs"))


def form_binary(g):
    a = g.operand()
    b = g.partner(a)
    if b is None:
        return None
    if g.rng.random() < 0.5:
        a, b = b, a
    op = g.rng.choice(list(BINARY))
    return pointwise("%s %s %s" % (a.text, op, b.text), [a, b], BINARY[op])


def form_compare(g):
    a = g.pick(lambda t: t.raw)
    b = a and g.partner(a)
    if not b or not b.raw:
        return None
    op = g.rng.choice(list(COMPARE))
    return pointwise("%s %s %s" % (a.text, op, b.text), [a, b], lambda x, y: COMPARE[op](x, y).astype(float), raw=True)


def form_several(g):
    a = g.operand()
    b = g.partner(a)
    if b is None:
        return None
    kind = g.rng.choice(["max", "min", "where"])
    if kind != "where":
        return pointwise("%s(%s, %s)" % (kind, a.text, b.text), [a, b], np.maximum if kind == "max" else np.minimum)
    c = g.pick(lambda t: t.raw and broadcast_rows([a, b, t]) is not None)
    return c and pointwise("where(%s > 0, %s, %s)" % (c.text, a.text, b.text), [c, a, b],
                           lambda x, y, z: np.where(x > 0, y, z))


def form_scaled(g):
    a = g.operand()
    number = g.rng.choice(["2", "0.5", "-1.5"])
    form = g.rng.choice(["%s .* %s", "%s * (%s)", "%s + (%s)", "%s - (%s)"])
    if form == "%s .* %s":
        number = number.lstrip("-")
    value = float(number)
    function = {"*": lambda v: v * value, "+": lambda v: v + value, "-": lambda v: v - value}
    operator = [c for c in form if c in "*+-"][0]
    return pointwise(form % (a.text, number), [a], function[operator])


def form_transpose(g):
    a = g.pick(lambda t: t.rows[INPUT] or g.rng.random() < 0.3)
    if a is None:
        return None
    values = []
    for k in range(len(RUNS)):
        value, nb, no = a.split(k)
        order = [*range(nb), *range(no, value.ndim), *range(nb, no)]
        values.append(value.transpose(order))
    return Tensor(a.text + ".T", [a.rows[BATCH], a.rows[OUTPUT], a.rows[INPUT]], values, raw=a.raw)


def form_slice(g):
    a = g.pick(lambda t: t.rows[BATCH] and t.rows[BATCH][0].literal and t.rows[BATCH][0].size[0] > 0)
    if a is None:
        return None
    i = g.rng.randrange(a.rows[BATCH][0].size[0])
    rows = [a.rows[BATCH][1:], a.rows[INPUT], a.rows[OUTPUT]]
    return Tensor("%s @ %d" % (a.text, i), rows, [v[i] for v in a.values], raw=a.raw)


def form_compose(g):
    """The input axes of `a`, new or found, meet the output axes of `b`."""
    b = g.operand(lambda t: t.rows[OUTPUT])
    if b is None:
        return None
    meets = [x.size for x in b.rows[OUTPUT]]
    a = g.pick(lambda t: [x.size for x in t.rows[INPUT]] == meets)
    if a is None or g.rng.random() < 0.5:
        if any(x.text is None for x in b.rows[OUTPUT]):
            return None
        batch = [axis_of(x.text) for x in b.rows[BATCH] if x.text] if g.rng.random() < 0.3 else []
        if len(batch) != len(b.rows[BATCH]):
            batch = []
        a = g.add_input([batch, [axis_of(x.text) for x in b.rows[OUTPUT]], [g.axis() for _ in range(g.rng.randint(0, 2))]])
    return specs.compose("%s * %s" % (a.text, b.text), a, b)


def form_layer(g):
    """A parameter with a constant start: its inputs are inferred from use."""
    x = g.operand(lambda t: t.rows[OUTPUT] and all(a.literal and not a.one for a in t.rows[OUTPUT]))
    if x is None:
        return None
    width, start = g.rng.randint(2, 4), g.rng.choice([0.25, -0.5, 1.0])
    name = g.fresh("w")
    row = [Axis(a.size, a.text) for a in x.rows[OUTPUT]]
    rows = [[], row, [axis_of(str(width))]]
    value = np.full([width] + [a.size[0] for a in row], start)
    w = Tensor("{%s : [... -> %d] = %s}" % (name, width, start), rows, [value] * len(RUNS))
    g.shapes[name] = tuples(rows)
    return specs.compose("%s * %s" % (w.text, x.text), w, x)


def form_bias(g):
    """`x + {b}`: the parameter has the input and output axes of x, and no batch. Where x has none, a wider use of the
    sum would give it some, so its declaration ends the row."""
    x = g.operand(lambda t: all(a.literal and not a.one for r in (INPUT, OUTPUT) for a in t.rows[r]))
    if x is None:
        return None
    name = g.fresh("b")
    rows = [[], x.rows[INPUT], x.rows[OUTPUT]]
    shape = [a.size[0] for r in (OUTPUT, INPUT) for a in rows[r]]
    ends = "" if all(rows[1:]) else " : [%s%s]" % ("... -> " * bool(rows[INPUT]), "..." * bool(rows[OUTPUT]))
    b = Tensor("{%s%s = 0.5}" % (name, ends), rows, [np.full(shape, 0.5)] * len(RUNS))
    g.shapes[name] = tuples(rows)
    return pointwise("%s + %s" % (x.text, b.text), [x, b], np.add)


def form_function(g):
    """A function of two uses, applied where it is declared and later."""
    name = g.fresh("f")
    body = g.rng.choice([("tanh(a) + a .* 0.5", lambda v: np.tanh(v) + v * 0.5),
                         ("let s = relu(a) in s - a", lambda v: np.maximum(v, 0) - v),
                         ("if k > 1 then a .* k else a + k", None)])
    a = g.pick()
    if body[1] is None:
        k = g.rng.randint(0, 3)
        g.lines.append("fn %s(k)(a) = %s" % (name, body[0]))
        function = (lambda v: v * k) if k > 1 else (lambda v: v + k)
        return pointwise("%s(%d)(%s)" % (name, k, a.text), [a], function)
    g.lines.append("fn %s(a) = %s" % (name, body[0]))
    return pointwise("%s(%s(%s))" % (name, name, a.text), [a], lambda v: body[1](body[1](v)))


def form_iterate(g):
    a = g.operand()
    times = g.rng.randint(0, 3)
    body, step = g.rng.choice([("tanh(h) + %s .* 0.5" % a.text, lambda h, v: np.tanh(h) + v * 0.5),
                               ("h .* 0.5 + sin(%s)" % a.text, lambda h, v: h * 0.5 + np.sin(v))])

    def run(v):
        h = v
        for _ in range(times):
            h = step(h, v)
        return h
    return pointwise("iterate(%d, h = %s) { %s }" % (times, a.text, body), [a], run)


def form_stack(g):
    a = g.operand()
    b = g.operand(lambda t: tuples(t.rows) == tuples(a.rows))
    kind = g.rng.choice([BATCH, INPUT, OUTPUT])
    rows = [[axis_of("2")] + row if r == kind else row for r, row in enumerate(a.rows)]
    place = {BATCH: 0, OUTPUT: len(a.rows[BATCH]), INPUT: len(a.rows[BATCH]) + len(a.rows[OUTPUT])}[kind]
    values = [np.stack([x, y], place) for x, y in zip(a.values, b.values)]
    return Tensor("stack(%s, %s, %s)" % (("batch", "input", "output")[kind], a.text, b.text), rows, values,
                  raw=a.raw and b.raw)


def form_reshape(g):
    """The same elements in the axes of an input that they are added to. A row that is empty there is open to what uses
    the sum: a specification closes it."""
    a = g.operand(lambda t: all(x.literal for x in flat(t.rows)) and t.values[0].size > 1)
    if a is None:
        return None
    rest, extents = a.values[0].size, []
    while rest > 1:
        factor = g.rng.choice([f for f in range(2, rest + 1) if rest % f == 0])
        extents.append(axis_of(str(factor)))
        rest //= factor
    if len(extents) > 4:
        return None
    cut = sorted(g.rng.randint(0, len(extents)) for _ in range(2))
    other = g.add_input([extents[:cut[0]], extents[cut[1]:], extents[cut[0]:cut[1]]])
    values = [v.reshape(o.shape) + o for v, o in zip(a.values, other.values)]
    text = "reshape(%s) + %s" % (a.text, other.text)
    if not all(other.rows):
        letters = ["".join("%s%d, " % (kind, i) for i in range(len(row))) for kind, row in zip("bio", other.rows)]
        text = 'sum("%s | %s -> %s => %s | %s -> %s", %s)' % (*letters, *letters, text)
    return Tensor(text, other.rows, values)


def form_left_over(g):
    """A reshape whose last axis a specification says, and whose first one is what is left."""
    a = g.operand(lambda t: all(x.literal for x in flat(t.rows)) and t.values[0].size > 1)
    if a is None:
        return None
    total = a.values[0].size
    last = g.rng.choice([f for f in range(1, total) if total % f == 0])
    values = [v.reshape(total // last, last).sum(1) for v in a.values]
    text = 'sum("i, j => i", reshape(%s)) with (j = %d)' % (a.text, last)
    return Tensor(text, [[], [], [axis_of(str(total // last))]], values)


def form_gather(g):
    table = g.operand(lambda t: not t.rows[BATCH] and not t.rows[INPUT] and t.rows[OUTPUT]
                      and t.rows[OUTPUT][0].literal and t.rows[OUTPUT][0].size[0] > 0)
    if table is None:
        return None
    ids = g.add_input([[g.axis() for _ in range(g.rng.randint(1, 2))], [], []], table.rows[OUTPUT][0].size[0])
    values = [t[i.astype(int)] for t, i in zip(table.values, ids.values)]
    return Tensor("gather(%s, %s)" % (table.text, ids.text), [ids.rows[BATCH], [], table.rows[OUTPUT][1:]], values)


def form_range(g):
    a = g.pick(lambda t: t.rows[OUTPUT] and t.rows[OUTPUT][-1].text and not t.rows[OUTPUT][-1].one)
    if a is None:
        return None
    axis = a.rows[OUTPUT][-1]
    counts = Tensor("range(%s)" % axis.text, [[], [], [axis]], [np.arange(axis.size[k]) for k in range(len(RUNS))])
    return pointwise("%s + %s" % (a.text, counts.text), [a, counts], np.add)


def form_constant(g):
    a = g.pick(lambda t: t.rows[OUTPUT] and t.rows[OUTPUT][-1].literal and t.rows[OUTPUT][-1].size[0] > 0)
    if a is None:
        return None
    axis = a.rows[OUTPUT][-1]
    numbers = [g.rng.randint(-3, 3) for _ in range(axis.size[0])]
    axis = Axis(axis.size, axis.text, axis.size[0] == 1)
    c = Tensor("[%s]" % ", ".join(map(str, numbers)), [[], [], [axis]], [np.array(numbers)] * len(RUNS))
    return pointwise("%s .* %s" % (a.text, c.text), [a, c], np.multiply)


FORMS = ([form_unary, form_binary, form_binary, form_compare, form_several, form_scaled, form_transpose, form_slice,
          form_compose, form_compose, form_layer, form_bias, form_function, form_iterate, form_stack, form_reshape,
          form_left_over, form_gather, form_range, form_constant] + [specs.form_einsum] * 5 + [specs.form_reduce] * 3 + [specs.form_affine] * 3 +
         [specs.form_concat] * 2 + [specs.form_part, specs.form_argmax, specs.form_mean] +
         forms.FORMS)
