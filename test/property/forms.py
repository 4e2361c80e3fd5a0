"""Forms in which the parts of the language meet: row variables of several operands, parts of axes in products,
windows over blocks, strided results, literals of tensors, gathers by symbolic sizes, three operands that broadcast."""
import numpy as np

from reference import (BATCH, INPUT, OUTPUT, RUNS, STORAGE, Axis, Index, Tensor, axis_of, evaluate, flat, letter,
                       pointwise, product_size)

MOST = 20000  # points of a product space
LITERALS = ("2", "3", "4", "5")
SYMBOLIC = ("n + 1", "n + 3", "2*n + 2", "m + 2")


class Spec:
    """Rows of items: (text, indices, axes). A letter has one index and one axis, a row variable has as many as it
    stands for."""

    def __init__(self, g):
        self.g, self.sizes, self.count = g, {}, 0

    def letter(self, axis):
        name = "abcdefghij"[self.count]
        self.count += 1
        self.sizes[name] = axis
        return name, [letter(name)], [axis]

    def row_var(self, name, axes):
        hidden = [".%s%d" % (name, i) for i in range(len(axes))]
        self.sizes.update(zip(hidden, axes))
        return "..%s.." % name, [letter(h) for h in hidden], list(axes)

    def too_large(self):
        return any(product_size([a.size for a in self.sizes.values()], k) > MOST for k in range(len(RUNS)))

    def values(self, operands, result, **how):
        """operands: (tensor, rows of items)."""
        out = []
        for k in range(len(RUNS)):
            extents = {n: a.size[k] for n, a in self.sizes.items()}
            given = [(t.values[k], indices(rows)) for t, rows in operands]
            out.append(evaluate(extents, given, indices(result), [a.size[k] for a in axes(result)], **how))
        return out


def indices(rows):
    return [i for r in STORAGE for item in rows[r] for i in item[1]]


def axes(rows):
    return [a for r in STORAGE for item in rows[r] for a in item[2]]


def shape_of(rows):
    return [[a for item in row for a in item[2]] for row in rows]


def wide_axis(g):
    """An axis that is never 0."""
    return axis_of(g.rng.choice(SYMBOLIC if g.symbolic and g.rng.random() < 0.6 else LITERALS))


def text_of(rows):
    batch, inputs, outputs = (", ".join(item[0] for item in row) for row in rows)
    return (batch + " | " if batch else "") + (inputs + " -> " if inputs else "") + outputs


def spec_text(operands, result):
    return "; ".join(text_of(rows) for _, rows in operands) + " => " + text_of(result)


def scattered(g, items):
    """The items in any order, in any rows, at most one row variable a row."""
    rows = [[], [], []]
    items = list(items)
    g.rng.shuffle(items)
    for item in items:
        kinds = [r for r in (BATCH, INPUT, OUTPUT, OUTPUT)
                 if not item[0].startswith("..") or not any(i[0].startswith("..") for i in rows[r])]
        if not kinds:
            return None
        rows[g.rng.choice(kinds)].append(item)
    return rows


def new_operand(g, items):
    rows = scattered(g, items)
    return rows and (g.add_input(shape_of(rows)), rows)


def form_row_variables(g):
    """Two or three inputs share row variables, each in any row of each; they are kept, moved or reduced."""
    spec = Spec(g)
    pool = [spec.row_var(name, [g.axis() for _ in range(g.rng.randint(0, 2))]) for name in ("p", "q")]
    pool += [spec.letter(g.axis()) for _ in range(3)]
    if spec.too_large():
        return None
    operands = []
    for _ in range(g.rng.choice([1, 2, 2, 3])):
        operands.append(new_operand(g, g.rng.sample(pool, g.rng.randint(1, 3))))
    if None in operands:
        return None
    used = {item[0]: item for _, rows in operands for row in rows for item in row}
    spec.sizes = {n: a for n, a in spec.sizes.items() if any(n in i.coefs for item in used.values() for i in item[1])}
    result = scattered(g, [item for item in used.values() if g.rng.random() < 0.6])
    if result is None:
        return None
    how, more = {}, ""
    if len(operands) == 2 and g.rng.random() < 0.4:
        how["op"] = g.rng.choice(["add", "sub", "max", "min"])
    elif len(operands) == 3 and g.rng.random() < 0.5:
        how["op"] = g.rng.choice(["fma", "where"])
    if "op" in how:
        more = ", op=%s" % how["op"]
    text = 'einsum("%s", %s%s)' % (spec_text(operands, result), ", ".join(t.text for t, _ in operands), more)
    return Tensor(text, shape_of(result), spec.values(operands, result, **how))


# ---- parts of axes ----

def cut_axis(g, name):
    """An axis that is never 0, cut into parts of which one takes the rest: (axis, sizes of the parts, given)."""
    axis = wide_axis(g)
    given = g.rng.randint(0, min(axis.size))
    rest = Axis([s - given for s in axis.size])
    parts = [("%s1" % name, Axis([given] * len(axis.size))), ("%s2" % name, rest)]
    fixed = "%s1 = %d" % (name, given)
    if g.rng.random() < 0.5:
        parts.reverse()
    return axis, parts, fixed


def pick_parts(value, at, parts, order, k):
    """The array with the parts along axis `at` in another order, or fewer of them."""
    starts, start = {}, 0
    for name, axis in parts:
        starts[name] = (start, start + axis.size[k])
        start += axis.size[k]
    return np.concatenate([np.take(value, range(*starts[name]), at) for name in order], at)


def form_parts_moved(g):
    """Axes are cut into parts; the result has some of them, in another order, in a row of another kind."""
    cuts = [cut_axis(g, name) for name in "pq"[:g.rng.randint(1, 2)]]
    other = g.axis()
    x = g.add_input([[other], [], [axis for axis, _, _ in cuts]])
    names = ["^".join(name for name, _ in parts) for _, parts, _ in cuts]
    values, result = list(x.values), []
    for at, (_, parts, _) in enumerate(cuts):
        order = [name for name, _ in parts]
        g.rng.shuffle(order)
        order = order[:g.rng.randint(1, 2)]
        result.append((order, Axis([sum(dict(parts)[o].size[k] for o in order) for k in range(len(other.size))])))
        values = [pick_parts(v, at + 1, parts, order, k) for k, v in enumerate(values)]
    turned = len(cuts) == 2 and g.rng.random() < 0.5
    kept = g.rng.random() < 0.5
    values = [(v if kept else v.sum(0, keepdims=True)) for v in values]
    values = [v.swapaxes(1, 2) if turned else v for v in values]
    values = [v if kept else v[0] for v in values]
    texts = ["^".join(order) for order, _ in (reversed(result) if turned else result)]
    text = "b | %s => %s%s," % (", ".join(names), "b | " if kept else "", ", ".join(texts))
    rows = [[other] if kept else [], [], [axis for _, axis in (reversed(result) if turned else result)]]
    return Tensor('(sum("%s", %s) with (%s))' % (text, x.text, ", ".join(c[2] for c in cuts)), rows, values)


def form_parts_multiplied(g):
    """A product in which each step lies in one part of each operand: parts meet in another order."""
    axis, parts, fixed = cut_axis(g, "p")
    other = list(parts)
    g.rng.shuffle(other)
    x, w = g.add_input([[], [], [axis]]), g.add_input([[], [], [axis, axis_of("3")]])
    values = [x.values[k] @ pick_parts(w.values[k], 0, other, [n for n, _ in parts], k) for k in range(len(RUNS))]
    text = "%s; %s, c => c" % ("^".join(n for n, _ in parts), "^".join(n for n, _ in other))
    return Tensor('(einsum("%s", %s, %s) with (%s))' % (text, x.text, w.text, fixed), [[], [], [axis_of("3")]], values)


def form_window_of_blocks(g):
    """A window over an axis that is made of blocks: reads cross the places where they meet."""
    rows = g.axis()
    parts = [g.add_input([[rows], [], [wide_axis(g)]]) for _ in range(g.rng.randint(2, 3))]
    sizes = [sum(p.shape(k)[1] for p in parts) for k in range(len(RUNS))]
    stride, kernel, fold = g.rng.randint(1, 3), g.rng.randint(1, 3), g.rng.choice(["sum", "max", "min"])
    if min(sizes) < kernel:
        return None
    total = Axis([sum(p.rows[OUTPUT][0].size[k] for p in parts) for k in range(len(rows.size))])
    out = Axis([(s - kernel) // stride + 1 for s in total.size])
    extents = [{"b": rows.size[k], "o": out.size[k], "k": kernel} for k in range(len(RUNS))]
    values = [evaluate(extents[k], [(np.concatenate([p.values[k] for p in parts], 1),
                                     [letter("b"), Index({"o": stride, "k": 1})])], [letter("b"), letter("o")],
                       [rows.size[k], out.size[k]], fold=fold) for k in range(len(RUNS))]
    names = ["p", "q", "r"][:len(parts)]
    blocks = 'concat("%s => ... | %s", %s)' % ("; ".join("... | " + n for n in names), "^".join(names),
                                             ", ".join(p.text for p in parts))
    text = '(reduce(%s, "... | %d*o <+? k => ... | o", %s) with (k = %d))' % (fold, stride, blocks, kernel)
    return Tensor(text, [[rows], [], [out]], values)


def form_strided_result(g):
    """What is written in steps adds up where steps meet, is the neutral element between them, and is left out where
    it falls outside."""
    mark, stride, kernel, dilation = (g.rng.choice(["<+", "=+"]), g.rng.randint(1, 3), g.rng.randint(1, 4),
                                      g.rng.randint(1, 2))
    o, span = g.axis() if mark == "=+" else wide_axis(g), 1 + (kernel - 1) * dilation
    x, w = g.add_input([[], [], [o]]), g.add_input([[], [], [axis_of(str(kernel))]])
    size = Axis([stride * s if mark == "=+" else stride * (s - 1) + span for s in o.size])
    index = Index({"o": stride, "k": dilation}, -(span // 2) if mark == "=+" else 0, mark == "=+")
    fold = g.rng.choice(["sum", "sum", "max"])
    values = [evaluate({"o": o.size[k], "k": kernel}, [(x.values[k], [letter("o")]), (w.values[k], [letter("k")])],
                       [index], [size.size[k]], fold=fold) for k in range(len(RUNS))]
    if fold == "max" and any(np.isinf(v).any() for v in values):
        return None
    text = 'einsum("o; k => %d*o %s %d*k", %s, %s, reduce=%s)' % (stride, mark, dilation, x.text, w.text, fold)
    return Tensor(text, [[], [], [size]], values)


# ---- literals, gathers, three operands ----

def form_literal(g):
    """Tensors in nested literals, used in other axes."""
    shape = [axis_of(g.rng.choice(("1", "2", "3"))) for _ in range(g.rng.randint(0, 2))]
    parts = [g.add_input([[], [], shape]) for _ in range(4)]
    kinds = [g.rng.choice(["[]", "()", "[||]"]) for _ in range(2)]
    mark = {"[]": "[%s, %s]", "()": "(%s, %s)", "[||]": "[| %s, %s |]"}
    inner = [mark[kinds[0]] % (parts[i].text, parts[i + 1].text) for i in (0, 2)]
    text = mark[kinds[1]] % tuple(inner)
    rows, values = [[], [], list(shape)], [np.stack([np.stack([p.values[k] for p in parts[i:i + 2]]) for i in (0, 2)])
                                           for k in range(len(RUNS))]
    place = [1, 0]  # of the two new axes, the inner and the outer
    order = {BATCH: [], OUTPUT: list(range(2, 2 + len(shape))), INPUT: []}
    for axis, kind in zip(place, kinds):
        row = {"[]": OUTPUT, "()": INPUT, "[||]": BATCH}[kind]
        order[row].insert(0, axis)
        rows[row].insert(0, axis_of("2"))
    values = [v.transpose([a for r in STORAGE for a in order[r]]) for v in values]
    if g.rng.random() < 0.5:
        return Tensor(text, rows, values)
    other = g.add_input([[], [], [axis_of("2"), axis_of(str(values[0].size // 2))]])
    return Tensor('sum("a, b => a, b", reshape(%s) + %s)' % (text, other.text), other.rows,
                  [v.reshape(o.shape) + o for v, o in zip(values, other.values)])


def form_gather_symbolic(g):
    """A table whose length follows from a dim, its batch in the ids, a row variable over what is gathered."""
    length = wide_axis(g)
    table = g.add_input([[], [], [length] + [g.axis() for _ in range(g.rng.randint(0, 2))]])
    ids = g.add_input([[g.axis() for _ in range(g.rng.randint(0, 2))], [], []], min(length.size))
    values = [t[i.astype(int)] for t, i in zip(table.values, ids.values)]
    rows = [ids.rows[BATCH], [], table.rows[OUTPUT][1:]]
    text = "gather(%s, %s)" % (table.text, ids.text)
    if rows[OUTPUT] and g.rng.random() < 0.5:
        over = tuple(range(len(rows[BATCH]), values[0].ndim))
        return Tensor('sum("... | ..v.. => ... | ", %s)' % text, [rows[BATCH], [], []], [v.sum(over) for v in values])
    return Tensor(text, rows, values)


def form_three(g):
    """Three operands of which each lacks leading axes or has literal 1s."""
    wide = g.random_rows()
    if any(product_size([a.size for a in flat(wide)], k) > MOST for k in range(len(RUNS))):
        return None
    operands = []
    for _ in range(3):
        rows = [[axis_of("1") if g.rng.random() < 0.25 else axis_of(a.text) for a in row[g.rng.randint(0, len(row)):]]
                if g.rng.random() < 0.5 else [axis_of(a.text) for a in row] for row in wide]
        operands.append(g.add_input(rows))
    name, function = g.rng.choice([("fma", lambda a, b, c: a * b + c), ("where", lambda c, a, b: np.where(c != 0, a, b))])
    return pointwise("%s(%s)" % (name, ", ".join(t.text for t in operands)), operands, function)


FORMS = [form_row_variables] * 3 + [form_parts_moved] * 2 + [form_parts_multiplied, form_window_of_blocks,
                                                             form_strided_result, form_literal, form_gather_symbolic,
                                                             form_three]
