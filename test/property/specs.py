"""The forms that a specification says: einsum, affine axes, concatenation, parts, argmax, captured sizes."""
import string

import numpy as np

from reference import (BATCH, INPUT, OUTPUT, RUNS, STORAGE, Axis, Index, Tensor, axis_of, broadcast_rows, evaluate,
                       flat, letter, product_size)

MOST = 20000  # points of a product space


def write(rows, multi):
    """Rows of axis texts as a specification's operand."""
    batch, inputs, outputs = ((", " if multi else "").join(row) for row in rows)
    return (batch + " | " if batch else "") + (inputs + " -> " if inputs else "") + outputs


def compose(text, a, b):
    """a * b: contracts the input axes of `a` with the output axes of `b`, whose sizes are equal."""
    batch = broadcast_rows([Tensor("", [t.rows[BATCH], [], []], [np.zeros([x.size[k] for x in t.rows[BATCH]])
                                                                 for k in range(len(RUNS))]) for t in (a, b)])
    if batch is None:
        return None
    batch = batch[BATCH]
    rows = [batch, b.rows[INPUT], a.rows[OUTPUT]]
    meets = [Axis(x.size) for x in a.rows[INPUT]]
    names = iter(string.ascii_letters)
    batch_names, b_inputs, a_outputs, met = ([next(names) for _ in row] for row in (*rows, meets))
    sizes = dict(zip(batch_names + b_inputs + a_outputs + met, batch + b.rows[INPUT] + a.rows[OUTPUT] + meets))
    if any(product_size([s.size for s in sizes.values()], k) > MOST for k in range(len(RUNS))):
        return None

    def batch_of(t):
        mine = batch_names[len(batch_names) - len(t.rows[BATCH]):] if t.rows[BATCH] else []
        return [Index({}) if x.one and sizes[n].size != x.size else letter(n) for n, x in zip(mine, t.rows[BATCH])]
    values = []
    for k in range(len(RUNS)):
        extents = {n: x.size[k] for n, x in sizes.items()}
        operands = [(a.values[k], batch_of(a) + [letter(n) for n in a_outputs + met]),
                    (b.values[k], batch_of(b) + [letter(n) for n in met + b_inputs])]
        shape = [extents[n] for n in batch_names + a_outputs + b_inputs]
        values.append(evaluate(extents, operands, [letter(n) for n in batch_names + a_outputs + b_inputs], shape))
    return Tensor(text, rows, values)


class Specification:
    """What is being written: letters with their axes, operands and the result as rows of (text, Index, Axis)."""

    def __init__(self, g):
        self.g, self.sizes, self.operands, self.multi = g, {}, [], g.rng.random() < 0.6
        self.names = list("abcdefghijlm")
        g.rng.shuffle(self.names)

    def new(self, axis):
        name = self.names.pop()
        self.sizes[name] = axis
        return name

    def covers(self, tensor, repeat=0.4):
        """Letters for the axes of a tensor; sizes that are known already rather take the same letter."""
        rows = []
        for row in tensor.rows:
            entries = []
            for axis in row:
                rng, known = self.g.rng, [n for n, a in self.sizes.items() if a.size == axis.size and a.one == axis.one]
                if axis.literal and axis.size[0] > 0 and rng.random() < 0.08:
                    i = rng.randrange(axis.size[0])
                    entries.append((str(i), Index({}, i)))
                    self.multi = True
                else:
                    name = rng.choice(known) if known and rng.random() < repeat else self.new(axis)
                    entries.append((name, letter(name)))
            rows.append(entries)
        self.operands.append((tensor, rows))

    def too_large(self):
        return len(self.sizes) > 6 or any(product_size([a.size for a in self.sizes.values()], k) > MOST
                                          for k in range(len(RUNS)))

    def values(self, result, axes, **how):
        out = []
        for k in range(len(RUNS)):
            extents = {n: a.size[k] for n, a in self.sizes.items()}
            operands = [(t.values[k], [i for r in STORAGE for _, i in rows[r]]) for t, rows in self.operands]
            indices = [i for r in STORAGE for _, i in result[r]]
            out.append(evaluate(extents, operands, indices, [a.size[k] for r in STORAGE for a in axes[r]], **how))
        return out

    def text(self, result):
        left = "; ".join(self.side(rows) for _, rows in self.operands)
        if self.multi and left[-1:].isalpha() and self.g.rng.random() < 0.2:
            left += ","
        return left + " => " + self.side(result)

    def side(self, rows):
        return write([[text for text, _ in row] for row in rows], self.multi)


def keep_rows(spec, first):
    """Replaces the first rows of operand 0 that nothing else mentions by '...'. Returns the kinds and their entries."""
    rng, kept = spec.g.rng, {}
    tensor, rows = spec.operands[0]
    for kind in range(3):
        names = [t for t, _ in rows[kind]]
        elsewhere = [t for o, (_, other) in enumerate(spec.operands) for r in range(3) for t, _ in other[r]
                     if (o, r) != (0, kind)]
        fine = len(set(names)) == len(names) and all(n in spec.sizes and n not in elsewhere for n in names)
        if fine and rng.random() < first:
            cut = rng.randint(0, len(names))
            kept[kind] = (rows[kind][:cut], rows[kind][cut:])
    return kept


def form_einsum(g):
    """One to three operands; letters repeat, indices are fixed, a row is '...', axes are reduced and moved."""
    spec = Specification(g)
    first = g.operand()
    spec.covers(first, repeat=0.2)
    for _ in range(g.rng.choice([0, 0, 1, 1, 1, 2])):
        spec.covers(second_operand(g, spec) if g.rng.random() < 0.6 else g.operand())
        if spec.too_large():
            return None
    if spec.too_large() or (len(spec.operands) == 1 and g.rng.random() < 0.1 and not first.rows[OUTPUT]):
        return None
    rowvars = keep_rows(spec, 0.5 if len(flat(first.rows)) < 4 else 0.8)
    hidden = {t for head, _ in rowvars.values() for t, _ in head}
    result, axes = random_result(g, spec, hidden)
    if result is None:
        return None
    for kind, (head, tail) in rowvars.items():
        spec.operands[0][1][kind][:] = [("...", None)] + tail
        if g.rng.random() < 0.75:
            result[kind] = [("...", None)] + result[kind]
            axes[kind] = [spec.sizes[t] for t, _ in head] + axes[kind]
    text = spec.text(result)
    for kind, (head, tail) in rowvars.items():
        spec.operands[0][1][kind][:] = head + tail
        result[kind] = (head if result[kind][:1] == [("...", None)] else []) + [c for c in result[kind] if c[1]]
    how = how_to_combine(g, spec, result)
    values = spec.values(result, axes, **{k: v for k, v in how.items() if k in ("op", "fold")})
    arguments = "".join(", " + t.text for t, _ in spec.operands)
    if len(spec.operands) == 1 and how["fold"] == "sum" and g.rng.random() < 0.5:
        return Tensor('sum("%s"%s)' % (text, arguments), axes, values)
    if len(spec.operands) == 1:
        return Tensor('reduce(%s, "%s"%s)' % (how["fold"], text, arguments), axes, values)
    return Tensor('einsum("%s"%s%s)' % (text, arguments, how["text"]), axes, values)


def second_operand(g, spec):
    """An input over letters that exist and perhaps a new one."""
    known = [n for n, a in spec.sizes.items() if a.text]
    axes = [axis_of(spec.sizes[n].text) for n in g.rng.sample(known, min(len(known), g.rng.randint(1, 2)))]
    if g.rng.random() < 0.5:
        axes.append(g.axis())
    g.rng.shuffle(axes)
    cut = g.rng.randint(0, len(axes))
    rows = [[], axes[:cut], axes[cut:]] if g.rng.random() < 0.6 else [axes[:cut], [], axes[cut:]]
    return g.add_input(rows)


def form_reduce(g):
    """Axes of one operand, in any rows, are added up or compared; of neighbours in memory rather one of two. The others
    keep their rows, or change them."""
    spec, rng = Specification(g), g.rng
    axes = [g.axis() if rng.random() < 0.3 else axis_of(rng.choice(("2", "3", "4", "8", "9", "17")))
            for _ in range(rng.randint(2, 5))]
    cuts = sorted(rng.randint(0, len(axes)) for _ in range(2))
    rows = [axes[:cuts[0]], axes[cuts[1]:], axes[cuts[0]:cuts[1]]]
    if any(product_size([a.size for a in axes], k) > MOST for k in range(len(RUNS))):
        return None
    operand = g.add_input(rows)
    spec.covers(operand, repeat=0.0)
    kept, kept_axes, keep = [[], [], []], [[], [], []], rng.random() < 0.5
    for kind in STORAGE:
        for entry in spec.operands[0][1][kind]:
            keep = not keep if rng.random() < 0.8 else keep
            if keep and entry[0] in spec.sizes:
                to = kind if rng.random() < 0.7 else rng.choice([BATCH, INPUT, OUTPUT])
                kept[to].append(entry)
                kept_axes[to].append(spec.sizes[entry[0]])
    fold = rng.choice(["sum", "sum", "max", "min"])
    values = spec.values(kept, kept_axes, fold=fold)
    if any(np.isinf(v).any() for v in values):
        return None
    return Tensor('reduce(%s, "%s", %s)' % (fold, spec.text(kept), operand.text), kept_axes, values)


def random_result(g, spec, hidden):
    """Rows of entries, each its text and Index, and of axes. What is kept lands in any row, in any order."""
    result, axes = [[], [], []], [[], [], []]
    names = [n for n in spec.sizes if n not in hidden]
    g.rng.shuffle(names)
    for name in names:
        if g.rng.random() < 0.6:
            kind = g.rng.choice([BATCH, OUTPUT, OUTPUT, INPUT])
            result[kind].append((name, letter(name)))
            axes[kind].append(spec.sizes[name])
    if g.rng.random() < 0.1:
        spec.multi = True
        result[OUTPUT].append(("0", Index({})))
        axes[OUTPUT].append(axis_of("1"))
    return result, axes


def how_to_combine(g, spec, result):
    kept = {n for row in result for _, index in row for n in index.coefs}
    reduced = [a for n, a in spec.sizes.items() if n not in kept]
    folds = ["sum"] * 3 + (["max", "min"] if all(0 not in a.size for a in reduced) else [])
    how = {"fold": g.rng.choice(folds), "op": "mul"}
    how["text"] = ", reduce=%s" % how["fold"] if how["fold"] != "sum" else ""
    if len(spec.operands) == 2 and g.rng.random() < 0.4:
        how["op"] = g.rng.choice(["add", "sub", "max", "min", "mul"])
        how["text"] += ", op=%s" % how["op"]
    elif len(spec.operands) == 3 and g.rng.random() < 0.4:
        how["op"] = "fma"
        how["text"] += ", op=fma"
    return how


# ---- affine axes ----

def window(g, axis):
    """(text, Index, output Axis, kernel, stride) of a strided read of the axis; None where it does not fit."""
    stride, kernel, dilation = g.rng.randint(1, 3), g.rng.randint(1, 3), g.rng.randint(1, 2)
    mark = g.rng.choice(["<+", "<+?", "=+", "=+?"])
    offset = g.rng.choice([0, 0, 1]) if mark[0] == "<" else 0
    span = 1 + (kernel - 1) * dilation
    left = span // 2 if mark[0] == "=" else 0
    if mark[0] == "<":
        reach = [s - span - offset for s in axis.size]
        least = 0 if axis.literal else -stride  # what a dim gives may leave no room for a single step
        if min(reach) < least or (mark == "<+" and any(r % stride for r in reach)):
            return None
        size = [r // stride + 1 for r in reach]
    else:
        if mark == "=+" and any(s % stride for s in axis.size):
            return None
        size = [-(-s // stride) for s in axis.size]
    coefs = {"o": stride, "k": dilation}
    index = Index(coefs, offset - left, mark[0] == "=")
    text = "%so %s %s%sk" % ("%d*" % stride if stride > 1 else "", mark, "%d + " % offset if offset else "",
                             "%d*" % dilation if dilation > 1 else "")
    return text, index, Axis(size, axis.text if tuple(size) == axis.size and not axis.one else None), kernel, dilation


def plain(spec, tensor):
    """A letter of its own for every axis."""
    rows = [[(n, letter(n)) for n in (spec.new(a) for a in row)] for row in tensor.rows]
    spec.operands.append((tensor, rows))
    return rows


def form_affine(g):
    """One axis is read through a window; the others are letters, some of them reduced or moved."""
    a = g.operand(lambda t: t.rows[OUTPUT])
    place = a and g.rng.randrange(len(a.rows[OUTPUT]))
    found = a and window(g, a.rows[OUTPUT][place])
    if not found:
        return None
    text, index, out, kernel, dilation = found
    spec = Specification(g)
    spec.multi = True
    rows = plain(spec, a)
    del spec.sizes[rows[OUTPUT][place][0]]
    rows[OUTPUT][place] = (text, index)
    weighted = g.rng.random() < 0.5
    if weighted:
        kernel_input = g.add_input([[], [], [axis_of(str(kernel))]])
        spec.operands.append((kernel_input, [[], [], [("k", letter("k"))]]))
    result, axes = random_result(g, spec, set())
    spec.sizes.update(o=out, k=axis_of(str(kernel)))
    result[OUTPUT].insert(0, ("o", letter("o")))
    axes[OUTPUT].insert(0, out)
    if spec.too_large():
        return None
    fold = "max" if not weighted and dilation == 1 and all(0 not in s.size for s in spec.sizes.values()) else "sum"
    values = spec.values(result, axes, fold=fold)
    if weighted:
        return Tensor('einsum("%s", %s, %s)' % (spec.text(result), a.text, kernel_input.text), axes, values)
    return Tensor('(reduce(%s, "%s", %s) with (k = %d))' % (fold, spec.text(result), a.text, kernel), axes, values)


# ---- blocks ----

def form_concat(g):
    """Two or three tensors one after another along an output axis; the other axes are equal."""
    a = g.operand(lambda t: t.rows[OUTPUT] and all(x.text for x in flat(t.rows)))
    if a is None:
        return None
    place = g.rng.randrange(len(a.rows[OUTPUT]))
    parts = [a]
    for _ in range(g.rng.randint(1, 2)):
        row = list(a.rows[OUTPUT])
        row[place] = g.axis()
        parts.append(g.add_input([[axis_of(x.text) for x in a.rows[BATCH]], [axis_of(x.text) for x in a.rows[INPUT]],
                                  [axis_of(x.text) for x in row]]))
    g.rng.shuffle(parts)
    spec = Specification(g)
    spec.multi = True
    shared = plain(spec, a)
    names = ["p", "q", "r"][:len(parts)]
    sides = []
    for name in names:
        rows = [[t for t, _ in row] for row in shared]
        rows[OUTPUT][place] = name
        sides.append(rows)
    rows = [[t for t, _ in row] for row in shared]
    rows[OUTPUT][place] = "^".join(names)
    if g.rng.random() < 0.4:
        sides = [[["..."], side[1], side[2]] for side in sides]
        rows[BATCH] = ["..."]
    text = "; ".join(write(side, True) for side in sides) + " => " + write(rows, True)
    total = Axis([sum(p.rows[OUTPUT][place].size[k] for p in parts) for k in range(len(a.rows[OUTPUT][place].size))])
    axes = [list(row) for row in a.rows]
    axes[OUTPUT][place] = total
    at = len(a.rows[BATCH]) + place
    values = [np.concatenate([p.values[k] for p in parts], at) for k in range(len(RUNS))]
    return Tensor('concat("%s", %s)' % (text, ", ".join(p.text for p in parts)), axes, values)


def form_part(g):
    """A part of an axis, the rest of it skipped by number; or zeros beside it."""
    a = g.operand(lambda t: t.rows[OUTPUT] and t.rows[OUTPUT][-1].literal and t.rows[OUTPUT][-1].size[0] > 1)
    if a is None:
        return None
    extent = a.rows[OUTPUT][-1].size[0]
    skip = g.rng.randint(1, extent - 1)
    first = g.rng.random() < 0.5
    spec = Specification(g)
    spec.multi = True
    rows = plain(spec, a)
    name, axis = rows[OUTPUT][-1][0], a.rows[OUTPUT][-1]
    axes = [list(row) for row in a.rows]
    result = [list(row) for row in rows]
    part = "%d^%s" % (skip, name) if first else "%s^%d" % (name, skip)
    if g.rng.random() < 0.7:
        spec.sizes[name] = Axis([extent - skip] * len(axis.size))
        axes[OUTPUT][-1] = spec.sizes[name]
        rows[OUTPUT][-1] = (part, Index({name: 1}, skip if first else 0))
    else:
        axes[OUTPUT][-1] = Axis([extent + skip] * len(axis.size))
        result[OUTPUT][-1] = (part, Index({name: 1}, skip if first else 0))
    return Tensor('sum("%s", %s)' % (spec.text(result), a.text), axes, spec.values(result, axes))


# ---- reductions with a name of their own ----

def form_argmax(g):
    a = g.pick(lambda t: t.raw and len(t.rows[OUTPUT]) == 1 and not t.rows[INPUT] and 0 not in t.rows[OUTPUT][0].size)
    if a is None:
        return None
    name = g.rng.choice(["argmax", "argmin"])
    return Tensor('%s("... | v => ... | ", %s)' % (name, a.text), [a.rows[BATCH], [], []],
                  [getattr(v, name)(-1) for v in a.values], "i32")


def form_mean(g):
    """A captured size, of a letter or of a row variable."""
    a = g.operand(lambda t: t.rows[OUTPUT] and all(x.literal for x in flat(t.rows)) and not t.rows[INPUT])
    if a is None:
        return None
    name = g.fresh("v")
    values = [v.reshape(v.shape[:len(a.rows[BATCH])] + (-1,)).mean(-1, keepdims=True) for v in a.values]
    text = '(sum("... | ..%s.. => ... | 0", %s) / %s with (%s))' % (name, a.text, name, name)
    return Tensor(text, [a.rows[BATCH], [], [axis_of("1")]], values)
