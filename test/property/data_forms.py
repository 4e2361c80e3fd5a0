"""Forms that go along an axis, read indices or run in steps, joined axes, places by name, borders, and inputs of every
dtype, against NumPy alone."""
import numpy as np

from reference import (ASSIGNMENTS, BATCH, INPUT, OUTPUT, RUNS, STORAGE, Axis, Tensor, axis_of, flat, pointwise)

LETTERS = "abcdefgh"
SMALL = {"f8e4m3": {0: 0x00, 0.5: 0x30, 1: 0x38, 1.5: 0x3C, 2: 0x40, -1: 0xB8, -2: 0xC0},
         "f8e5m2": {0: 0x00, 0.5: 0x38, 1: 0x3C, 1.5: 0x3E, 2: 0x40, -1: 0xBC, -2: 0xC0}}
ENDS = {"i64": (-2 ** 20, 2 ** 20), "u32": (0, 2 ** 20), "bool": (0, 1), "i4": (-8, 7), "u4": (0, 15), "i8": (-128, 127),
        "u8": (0, 255)}


def row_text(batch, inputs, outputs):
    return "%s | %s -> %s%s" % (batch, inputs, outputs, "," * (outputs != ""))


class Letters:
    """A tensor's axes by letters, where they are in storage, and how rows of them are written."""

    def __init__(self, tensor):
        self.tensor, names = tensor, iter(LETTERS)
        self.rows = [[(next(names), axis) for axis in row] for row in tensor.rows]
        self.stored = [pair for row in STORAGE for pair in self.rows[row]]

    def at(self, letter):
        return [name for name, _ in self.stored].index(letter)

    def text(self, change=None):
        """With other texts for some letters; a text of None leaves the axis out."""
        rows = [[(change or {}).get(name, name) for name, _ in row] for row in self.rows]
        batch, inputs, outputs = (", ".join(t for t in row if t is not None) for row in rows)
        return row_text(batch, inputs, outputs)

    def shape(self, change=None):
        """With other lists of axes for some letters."""
        return [[a for name, axis in row for a in (change or {}).get(name, [axis])] for row in self.rows]


def pick_axis(g, tensor, want=lambda axis: True):
    """Letters of the tensor, and the one of an axis like that; None where there is none."""
    letters = Letters(tensor)
    fitting = [name for name, axis in letters.stored if want(axis)]
    return (letters, g.rng.choice(fitting)) if fitting else (None, None)


def axes_of(tensor):
    return flat(tensor.rows)


def plain(axis):
    """One that does not broadcast, so that a specification may read it."""
    return not axis.one


# ---- along an axis ----

def form_cumulate(g):
    a = g.operand(lambda t: axes_of(t))
    if a is None:
        return None
    letters, along = pick_axis(g, a)
    op, at = g.rng.choice(["sum", "sum", "max", "min"]), letters.at(along)
    exclusive, reverse = op == "sum" and g.rng.random() < 0.4, g.rng.random() < 0.4
    function = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    values = []
    for v in a.values:
        v = np.flip(v, at) if reverse else v
        total = function.accumulate(v, at)
        total = total - v if exclusive else total
        values.append(np.flip(total, at) if reverse else total)
    words = ", exclusive" * exclusive + ", reverse" * reverse
    text = 'cumulate(%s, "%s => %s", %s%s)' % (op, letters.text({along: "[%s]" % along}), letters.text(), a.text, words)
    return Tensor(text, letters.shape(), values, raw=a.raw)


def ordered(value, at, down):
    """Places of the elements, equal ones as they stand."""
    return np.argsort(-value if down else value, at, kind="stable")


def form_sort(g):
    a = g.operand(lambda t: axes_of(t) and t.raw)
    if a is None:
        return None
    letters, along = pick_axis(g, a)
    at, down, places = letters.at(along), g.rng.random() < 0.5, g.rng.random() < 0.3
    values = [ordered(v, at, down) if places else np.take_along_axis(v, ordered(v, at, down), at) for v in a.values]
    text = '%s("%s => %s", %s%s)' % ("argsort" if places else "sort", letters.text({along: "[%s]" % along}), letters.text(),
                                     a.text, ", descending" * down)
    return Tensor(text, letters.shape(), values, "i32" if places else "f32", raw=a.raw)


def form_topk(g):
    a = g.operand(lambda t: axes_of(t) and t.raw)
    if a is None:
        return None
    letters, along = pick_axis(g, a, plain)
    if along is None:
        return None
    at = letters.at(along)
    k, up = g.rng.randint(0, min(3, min(letters.stored[at][1].size))), g.rng.random() < 0.3
    values = [np.take_along_axis(v, ordered(v, at, not up), at) for v in a.values]
    values = [np.take(v, range(k), at) for v in values]
    name = g.fresh("v")
    text = '(let (%s, %s) = topk(%d, "%s => %s", %s%s) in %s)' % (name, name + "_at", k, letters.text(),
                                                             letters.text({along: "k"}), a.text, ", ascending" * up, name)
    return Tensor(text, letters.shape({along: [Axis([k] * len(ASSIGNMENTS))]}), values, raw=a.raw)


# ---- indices ----

MODES = {"check": lambda i, n: i, "clamp": lambda i, n: np.clip(i, 0, n - 1), "wrap": lambda i, n: i % n}


def form_gather(g):
    """An axis of any row is read at indices of any rows, whose axes stand in its place."""
    a = g.operand(lambda t: any(min(axis.size) > 0 and plain(axis) for axis in axes_of(t)))
    if a is None:
        return None
    letters, along = pick_axis(g, a, lambda axis: min(axis.size) > 0 and plain(axis))
    at = letters.at(along)
    least, mode = min(letters.stored[at][1].size), g.rng.choice([*MODES, "check", "skip"])
    rows = [[], [], []]
    for _ in range(g.rng.randint(0, 2)):
        rows[g.rng.choice([BATCH, INPUT, OUTPUT])].append(g.axis())
    dtype = g.rng.choice(["i32", "i64", "u32", "u8"] if mode == "check" else ["i32", "i64", "i8"])
    ends = (0, least) if mode == "check" else (-3, least + 3)
    ids = g.add_input(rows, ends, dtype)
    names = iter("ijk")
    ids_rows = [[(next(names), axis) for axis in row] for row in rows]
    order = [pair for row in STORAGE for pair in ids_rows[row]]
    values = []
    for v, i in zip(a.values, ids.values):
        i = i.astype(int)
        n = v.shape[at]
        inside = (i >= 0) & (i < n)
        taken = np.take(v, MODES.get(mode, MODES["clamp"])(i, n), at)
        inside = inside.reshape([1] * at + list(i.shape) + [1] * (v.ndim - at - 1))
        values.append(np.where(inside, taken, 0) if mode == "skip" else taken)
    ids_text = row_text(*(", ".join(name for name, _ in row) for row in ids_rows))
    result = letters.text({along: ", ".join(name for name, _ in order) or None})
    text = 'gather("%s; %s => %s", %s, %s%s)' % (letters.text({along: "[%s]" % along}), ids_text, result, a.text, ids.text,
                                                 ", mode = " + mode if mode != "check" else "")
    return Tensor(text, letters.shape({along: [axis for _, axis in order]}), values, raw=a.raw)


def form_scatter(g):
    """What stands along one axis is added up, or set, where indices say, along a new one."""
    a = g.operand(lambda t: any(axis.text and plain(axis) for axis in axes_of(t)))
    if a is None:
        return None
    letters, along = pick_axis(g, a, lambda axis: axis.text and plain(axis))
    if along is None:
        return None
    at, fold, mode = letters.at(along), g.rng.choice(["sum", "sum", "set"]), g.rng.choice(["check", "clamp", "wrap", "skip"])
    size = axis_of(g.rng.choice(["2", "3", "5"] + ["n + 1", "m + 2"] * g.symbolic))
    size = Axis(size.size, size.text)
    ends = (0, min(size.size)) if mode == "check" else (-2, min(size.size) + 2)
    ids = g.add_input([[], [], [axis_of(letters.stored[at][1].text)]], ends, g.rng.choice(["i32", "i64"]))
    values = []
    for k, (v, i) in enumerate(zip(a.values, ids.values)):
        i, n = i.astype(int), size.size[k]
        v, inside = np.moveaxis(v, at, 0), (i >= 0) & (i < n)
        v, i = (v[inside], i[inside]) if mode == "skip" else (v, MODES[mode](i, n))
        out = np.zeros((n,) + v.shape[1:])
        for place, row in zip(i, v):
            out[place] = row if fold == "set" else out[place] + row
        values.append(np.moveaxis(out, 0, at))
    words = (", reduce = set" * (fold == "set")) + (", mode = " + mode if mode != "check" else "")
    text = '(scatter("%s; %s => %s", %s, %s%s) with (v = %s))' % (letters.text(), along, letters.text({along: "[v]"}),
                                                               a.text, ids.text, words, size.text)
    return Tensor(text, letters.shape({along: [size]}), values, raw=a.raw)


# ---- steps ----

BODIES = [("tanh(h) + %s .* 0.5", lambda h, x, i: np.tanh(h) + x * 0.5), ("h .* 0.5 + sin(%s)", lambda h, x, i: h * 0.5 + np.sin(x)),
          ("%s - 0.5 .* h + 0.25 .* i", lambda h, x, i: x - 0.5 * h + 0.25 * i), ("max(h, %s) - i", lambda h, x, i: np.maximum(h, x) - i)]


def steps_of(body, start, count):
    states = [start]
    for i in range(count):
        states.append(body(states[-1], start, i))
    return states


def form_scan(g):
    """So many steps as a number or a dim says; what they carry, all of it, or up to a step that ends them."""
    a = g.operand()
    count = axis_of(g.rng.choice(["0", "1", "3"] + ["n", "m", "n + 1"] * g.symbolic))
    text, body = g.rng.choice(BODIES)
    kind, names = g.rng.choice(["last", "last", "all", "until"]), (g.fresh("v"), g.fresh("v"))
    states = [steps_of(body, v, count.size[k]) for k, v in enumerate(a.values)]
    loop = "scan(%s, h = %s, i)" % (count.text, a.text)
    if kind == "last":
        return Tensor("%s { %s }" % (loop, text % a.text), a.rows, [s[-1] for s in states])
    if kind == "until":
        return Tensor("(let (%s, %s) = %s until (i >= 1) { %s } in %s)" % (*names, loop, text % a.text, names[0]), a.rows,
                      [s[min(2, len(s) - 1)] for s in states])
    axis = Axis(count.size, count.text)
    values = [np.stack(s[1:]) if len(s) > 1 else np.zeros((0,) + s[0].shape) for s in states]
    return Tensor("(let (%s, %s) = %s { let next = %s in (next, next) } in %s)" % (*names, loop, text % a.text, names[1]),
                  [[axis] + a.rows[BATCH], a.rows[INPUT], a.rows[OUTPUT]], values)


# ---- axes: joined, places by name, borders ----

def form_join(g):
    """Neighbours in a row become one axis."""
    a = g.operand(lambda t: any(len(row) >= 2 for row in t.rows))
    if a is None:
        return None
    letters = Letters(a)
    row = g.rng.choice([row for row in letters.rows if len(row) >= 2])
    i = g.rng.randrange(len(row) - 1)
    (first, outer), (second, inner) = row[i], row[i + 1]
    axis = Axis([x * y for x, y in zip(outer.size, inner.size)])
    at = letters.at(first)
    values = [v.reshape(v.shape[:at] + (axis.size[k],) + v.shape[at + 2:]) for k, v in enumerate(a.values)]
    joined = g.rng.choice(["(%s %s)", "%s&%s"]) % (first, second)
    text = 'sum("%s => %s", %s)' % (letters.text(), letters.text({first: joined, second: None}), a.text)
    return Tensor(text, letters.shape({first: [axis], second: []}), values, raw=a.raw)


def form_take_apart(g):
    """An axis of several is two, in any order."""
    a = g.operand(lambda t: any(axis.literal and plain(axis) and axis.size[0] > 0 for axis in axes_of(t)))
    if a is None:
        return None
    letters, along = pick_axis(g, a, lambda axis: axis.literal and plain(axis) and axis.size[0] > 0)
    at = letters.at(along)
    size = letters.stored[at][1].size[0]
    outer = g.rng.choice([f for f in range(1, size + 1) if size % f == 0])
    turned = g.rng.random() < 0.5
    values = [v.reshape(v.shape[:at] + (outer, size // outer) + v.shape[at + 1:]) for v in a.values]
    values = [v.swapaxes(at, at + 1) for v in values] if turned else values
    axes = [Axis([s] * len(ASSIGNMENTS)) for s in (outer, size // outer)]
    text = '(sum("%s => %s", %s) with (y = %d))' % (letters.text({along: "(y z)"}),
                                                   letters.text({along: "z, y" if turned else "y, z"}), a.text, outer)
    return Tensor(text, letters.shape({along: axes[::-1] if turned else axes}), values, raw=a.raw)


PLACES = {"n + 1": "n", "n + 3": "n", "2*n": "n", "n + m": "m"}


def form_placed(g):
    """What stands behind a place that a dim says."""
    a = g.operand(lambda t: any(axis.text in PLACES for axis in axes_of(t)))
    if a is None:
        return None
    letters, along = pick_axis(g, a, lambda axis: axis.text in PLACES)
    at = letters.at(along)
    dim = PLACES[letters.stored[at][1].text]
    place = [values["nm".index(dim)] for values in ASSIGNMENTS]
    axis = Axis([s - p for s, p in zip(letters.stored[at][1].size, place)])
    values = [np.take(v, range(place[k], v.shape[at]), at) for k, v in enumerate(a.values)]
    text = 'sum("%s => %s", %s)' % (letters.text({along: g.rng.choice(["%s + %s" % (along, dim), "%s^%s" % (dim, along)])}),
                                    letters.text(), a.text)
    return Tensor(text, letters.shape({along: [axis]}), values, raw=a.raw)


def stride_of(g):
    """A size that is at least 1: how a program names it, and what it is in each run."""
    dim = g.rng.choice("nm")
    return "let q = %s + 1 in " % dim, [values["nm".index(dim)] + 1 for values in ASSIGNMENTS]


def form_strided(g):
    """Elements of an axis from a place by name on, in steps of a size."""
    a = g.operand(lambda t: any(plain(axis) and min(axis.size) > 0 for axis in axes_of(t)))
    if a is None:
        return None
    letters, along = pick_axis(g, a, lambda axis: plain(axis) and min(axis.size) > 0)
    at, (named, strides) = letters.at(along), stride_of(g)
    sizes, place = letters.stored[at][1].size, g.rng.choice([[0] * len(ASSIGNMENTS), [values[0] for values in ASSIGNMENTS]])
    if any(p >= s for p, s in zip(place, sizes)):
        place = [0] * len(sizes)
    count = min(g.rng.randint(1, 3), *((s - p - 1) // q + 1 for s, p, q in zip(sizes, place, strides)))
    values = [np.take(v, [place[k] + i * strides[k] for i in range(count)], at) for k, v in enumerate(a.values)]
    text = '(let p = %s in %ssum("%s => %s", %s) with (%s = %d))' % (
        "n" if any(place) else "0 * n", named, letters.text({along: "q*%s + p" % along}), letters.text(), a.text, along, count)
    return Tensor(text, letters.shape({along: [Axis([count] * len(ASSIGNMENTS))]}), values, raw=a.raw)


def form_spread(g):
    """Two axes are windows of one, which they are added to in steps of a size."""
    several = lambda axis: plain(axis) and min(axis.size) > 0
    a = g.operand(lambda t: sum(several(axis) for axis in axes_of(t)) >= 2)
    if a is None:
        return None
    letters, (named, strides) = Letters(a), stride_of(g)
    along, other = g.rng.sample([name for name, axis in letters.stored if several(axis)], 2)
    at, of = letters.at(along), letters.at(other)
    size = [q * (s - 1) + k for q, s, k in zip(strides, letters.stored[at][1].size, letters.stored[of][1].size)]
    values = []
    for k, v in enumerate(a.values):
        v = np.moveaxis(v, (at, of), (0, 1))
        out = np.zeros((size[k],) + v.shape[2:], v.dtype)
        for i in range(v.shape[0]):
            out[i * strides[k]:i * strides[k] + v.shape[1]] += v[i]
        values.append(np.moveaxis(out, 0, at - (of < at)))
    text = '(%ssum("%s => %s", %s))' % (named, letters.text(), letters.text({along: "q*%s <+ %s" % (along, other), other: None}),
                                     a.text)
    return Tensor(text, letters.shape({along: [Axis(size)], other: []}), values, raw=a.raw)


BORDERS = {"skip": "constant", "0.5": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


def form_border(g):
    """Sums of windows over an axis with a border, written or as the mark has it."""
    a = g.operand(lambda t: any(min(axis.size) > 2 for axis in axes_of(t)))
    if a is None:
        return None
    letters, along = pick_axis(g, a, lambda axis: min(axis.size) > 2)
    at, border, k = letters.at(along), g.rng.choice(list(BORDERS)), g.rng.randint(1, 3)
    before, after = (k // 2, (k - 1) // 2) if g.rng.random() < 0.4 else (g.rng.randint(0, 2), g.rng.randint(0, 2))
    margins = "" if (before, after) == (k // 2, (k - 1) // 2) else "[%d, %d]" % (before, after)
    size = [s + before + after - k + 1 for s in letters.stored[at][1].size]
    if min(size) < 0:
        return None
    values = []
    for i, v in enumerate(a.values):
        value = {"skip": 0, "0.5": 0.5}.get(border)
        wide = np.pad(v, [(before, after) if d == at else (0, 0) for d in range(v.ndim)], BORDERS[border],
                      **({} if value is None else {"constant_values": value}))
        values.append(sum(np.take(wide, range(j, j + size[i]), at) for j in range(k)))
    text = '(sum("%s => %s", %s, border = %s) with (w = %d))' % (letters.text({along: "%s =+%s w" % (along, margins)}),
                                                              letters.text(), a.text, border, k)
    return Tensor(text, letters.shape({along: [Axis(size)]}), values, raw=a.raw)


# ---- dtypes ----

def form_dtype(g):
    """An input of another dtype, brought to f32."""
    rows = g.random_rows()
    if any(np.prod([a.size[k] for a in flat(rows)]) > 1000 for k in range(len(RUNS))):
        return None
    dtype = g.rng.choice([*ENDS, *SMALL])
    if dtype in SMALL:
        x = g.add_input(rows, list(SMALL[dtype]), dtype)
    else:
        x = g.add_input(rows, (ENDS[dtype][0], ENDS[dtype][1] + 1), dtype)
    return pointwise("f32(%s)" % x.text, [x], lambda v: v, raw=True)


FORMS = [form_cumulate, form_sort, form_topk, form_gather, form_gather, form_scatter, form_scatter, form_scan, form_scan,
         form_join, form_take_apart, form_placed, form_strided, form_spread, form_border, form_dtype]
