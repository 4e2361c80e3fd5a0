"""The forms of models.py: each makes a tensor of a model's, or raises Misfit."""
import math

import numpy as np

from models import EPS, INTS, RUNS, SMALL, WORK, Axis, Misfit, Tensor, Value
from models import (axes, binary, chain, common, literal, mag, most, number, number_of, settle, shape, smooth, spec,
                    unary, wide)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Rows of softmax and norms: x stands for their operand.
ROW_MAX = 'reduce(max, "... | ..o.., v => ... | ..o.., 0", x)'
ROW_SUM = 'sum("... | ..o.., v => ... | ..o.., 0", %s)'
NORMS = {"softmax": "let e = exp(x - %s) in e / %s" % (ROW_MAX, ROW_SUM % "e"),
         "rms": "let q = %s with (v) in x .* rsqrt(q / v + 0.5)" % ROW_SUM % "x .* x",
         "layer": "let q = %s with (v), c = x - q / v in c / sqrt(%s / v + 0.5)" % (ROW_SUM % "x", ROW_SUM % "c .* c")}


# ---- sums of products ----

def contract(text, reads, out, rows, dtype):
    """reads: for each operand its values, and a letter for each axis; out: the letters of the result."""
    values = []
    for run in range(RUNS):
        operands = [values_of[run] for values_of, _ in reads]
        values.append(products(operands, [letters for _, letters in reads], out, dtype))
    return Tensor(text, rows, values, dtype)


def products(operands, letters, out, dtype):
    sizes = {name: size for value, names in zip(operands, letters) for name, size in zip(names, value.array.shape)}
    steps = math.prod(sizes[name] for name in sizes if name not in out)
    if math.prod(sizes.values()) > WORK:
        raise Misfit
    arguments = [part for value, names in zip(operands, letters)
                 for part in (value.array.astype(float), [LETTERS.index(name) for name in names])]
    places = [LETTERS.index(name) for name in out]
    array = np.einsum(*arguments, places, optimize="greedy")
    mags = [mag(value.array) for value in operands]
    err = sum(steps * value.err * math.prod(mags[:i] + mags[i + 1:]) for i, value in enumerate(operands)) * 1.5
    digits = [value.digits for value in operands]
    bound = mag(np.einsum(*map(lambda a: np.abs(a) if isinstance(a, np.ndarray) else a, arguments), places,
                          optimize="greedy"))
    array = np.rint(array) if dtype in INTS else array
    return settle(array, dtype, err, None if None in digits else sum(digits), bound)


def dressed(model, x):
    """What often stands behind a product: bias, function, residual, cast."""
    if x.dtype != "i32" and x.rows[1] and model.chance(0.6):
        rows = [[], [axis if at == len(x.rows[1]) - 1 else literal(1) for at, axis in enumerate(x.rows[1])], []]
        x = binary(x, model.leaf(rows, "f32", True), "+")
    if model.chance(0.5):
        x = unary(model, x)
    return chain(model, x) if model.chance(0.3) else x


def partner_type(model, x):
    return {"i8": "u8", "u8": "i8", "i32": "i32", "bf16": "bf16"}.get(x.dtype, model.rng.choice(["f32", "f32", "bf16"]))


def product(model):
    """w * x"""
    x = model.any(lambda t: t.rows[1] and not t.rows[2] and all(axis.text for axis in t.rows[1]))
    outs = [model.axis() for _ in range(model.rng.choice([1, 1, 2]))]
    w = model.leaf([[], outs, x.rows[1]], partner_type(model, x))
    k, o, b = "abcdefg"[:len(x.rows[1])], "hij"[:len(outs)], "klmnopq"[:len(x.rows[0])]
    return dressed(model, contract("(%s * %s)" % (w.text, x.text), [(w.values, o + k), (x.values, b + k)], b + o,
                                   [x.rows[0], outs, []], common(w, x)))


def split(model, names):
    """The letters in three rows."""
    rows, kinds = [[], [], []], model.rng.choice([[1], [0, 1, 1], [0, 1, 2]])
    for name in names:
        rows[model.rng.choice(kinds)].append(name)
    return rows


def einsum(model):
    """Two operands that share some letters, each in the result or summed."""
    x = model.any(lambda t: 1 <= len(axes(t)) <= 4)
    at = dict(zip(LETTERS, axes(x)))
    lead = 1 if model.rows and x.rows[0] and x.rows[0][0].text == "n" else 0
    shared = [name for name in list(at)[lead:] if at[name].text and model.chance(0.6)]
    mine = [name for name in LETTERS[len(at):len(at) + model.rng.choice([0, 1, 1, 2])]]
    at.update((name, model.axis()) for name in mine)
    own = model.rng.sample(shared + mine, len(shared + mine))
    y_rows = split(model, own)
    y = model.leaf([[at[name] for name in row] for row in y_rows], partner_type(model, x))
    rest = [name for name in list(at)[lead:] if name not in shared or model.chance(0.3)]
    out = split(model, model.rng.sample(rest, len(rest)))
    out[0][:0] = list(at)[:lead]
    names = iter(at)
    x_rows = [[next(names) for _ in row] for row in x.rows]
    text = 'einsum("%s; %s => %s", %s, %s)' % (spec(x_rows), spec(y_rows), spec(out), x.text, y.text)
    return contract(text, [(x.values, sum(x_rows, [])), (y.values, sum(y_rows, []))], sum(out, []),
                    [[at[name] for name in row] for row in out], common(x, y))


# ---- windows ----

def draw_window(model):
    """(stride, dilation, mark, extent)"""
    draw = model.rng.choice
    return draw([1, 1, 1, 2, 2, 3]), draw([1, 1, 2]), draw(["<+?", "=+?", "=+", "<+"]), draw([1, 2, 3, 3, 3, 4, 5])


def window_axis(axis, window):
    """The axis of the places of a window."""
    stride, dilation, mark, extent = window
    span, sizes = 1 + (extent - 1) * dilation, []
    for size in axis.sizes:
        over = size if mark[0] == "=" else size - span
        if over < 0 or (mark[-1] != "?" and over % stride):
            raise Misfit
        sizes.append(-(-over // stride) if mark[0] == "=" else over // stride + 1)
    return axis if sizes == list(axis.sizes) else literal(sizes[0]) if axis.text.isdigit() else Axis(None, tuple(sizes))


def unfold(value, at, window, count, outside):
    """The axis as two, of places and of what the window reads there."""
    stride, dilation, mark, extent = window
    size = value.array.shape[at]
    index = stride * np.arange(count)[:, None] + dilation * np.arange(extent)
    index = index - ((extent - 1) * dilation + 1) // 2 if mark[0] == "=" else index
    inside = (index >= 0) & (index < size)
    taken = np.take(value.array, np.clip(index, 0, size - 1), axis=at) if size else np.zeros(
        value.array.shape[:at] + index.shape + value.array.shape[at + 1:])
    return value._replace(array=np.where(inside.reshape(inside.shape + (1,) * (value.array.ndim - at - 1)), taken,
                                         outside))


def window_text(place, inner, window):
    return "%d*%s %s %d*%s" % (window[0], place, window[2], window[1], inner)


def unfolded(x, first, windows, places, outside):
    values = []
    for run in range(RUNS):
        value = x.values[run]._replace(array=x.values[run].array.astype(float))
        for at, (window, place) in enumerate(zip(windows, places)):
            value = unfold(value, first + 2 * at, window, place.sizes[run], outside)
        values.append(value)
    return values


def convolution(model):
    """Channels last or first, over one axis or two; or each channel alone."""
    count = model.rng.choice([1, 2, 2])
    pictures = [literal(model.rng.choice([7, 8, 15, 16, 17, 28, 31])) for _ in range(count)]
    channels, first = literal(model.rng.choice([1, 2, 3, 4, 8, 16, 17, 33])), model.chance(0.3)
    model.main = True
    x = model.leaf([[model.axis(True)] if model.chance(0.5) else [],
                    [channels] * first + pictures + [channels] * (not first), []],
                   model.rng.choice(["f32", "f32", "f32", "bf16", "u8", "f64"]))
    windows = [draw_window(model)] * count
    places = [window_axis(axis, windows[0]) for axis in pictures]
    out = channels if model.chance(0.25) else literal(model.rng.choice([1, 3, 4, 8, 16, 17, 33, 48]))
    name = "c" if out is channels else "f"
    w = model.leaf([[], [literal(windows[0][3])] * count + [channels] + [out] * (name == "f"), []],
                   partner_type(model, x), True)
    inner, outer, batch = "pq"[:count], "hv"[:count], "ab"[:len(x.rows[0])]
    reads = batch + "c" * first + "".join(o + i for o, i in zip(outer, inner)) + "c" * (not first)
    result = outer + name if model.chance(0.7) else name + outer
    at = dict(zip(outer, places), c=channels, f=out)
    text = 'einsum("... | %s; %s => ... | %s", %s, %s)' % (
        ", ".join(["c"] * first + [window_text(o, i, windows[0]) for o, i in zip(outer, inner)] + ["c"] * (not first)),
        ", ".join(inner + "c" + "f" * (name == "f")), ", ".join(result), x.text, w.text)
    values = unfolded(x, len(batch) + first, windows, places, 0)
    made = contract(text, [(values, reads), (w.values, inner + "c" + "f" * (name == "f"))], batch + result,
                    [x.rows[0], [at[letter] for letter in result], []], common(x, w))
    return dressed(model, made) if result[-1] == name else made


def pool(model):
    """Sums, greatest and least ones of windows along one axis or two."""
    count = model.rng.choice([1, 2])
    x = model.any(lambda t: len(t.rows[1]) >= count and not t.rows[2])
    at, fold = model.rng.randint(0, len(x.rows[1]) - count), model.rng.choice(["sum", "max", "min"])
    windows = [draw_window(model) for _ in range(count)]
    if any(axis.text is None for axis in x.rows[1]) or fold != "sum" and x.dtype in INTS:
        raise Misfit
    places = [window_axis(axis, window) for axis, window in zip(x.rows[1][at:], windows)]
    outside = {"sum": 0, "max": -np.inf, "min": np.inf}[fold]
    first = len(x.rows[0]) + at
    letters, values = list("abcdefg"[:len(x.rows[1])]), []
    for value in unfolded(x, first, windows, places, outside):
        inner = tuple(first + 1 + 2 * i for i in range(count))
        steps = math.prod(window[3] for window in windows)
        array = getattr(value.array, fold)(axis=inner, **({} if fold == "sum" else {"initial": outside}))
        values.append(settle(array, wide(x.dtype), steps * value.err, value.digits,
                             steps * mag(value.array) if fold == "sum" else 0))
    reads = list(letters)
    reads[at:at + count] = [window_text(letters[at + i], "pq"[i], windows[i]) for i in range(count)]
    what = '"... | %s => ... | %s", %s' % (", ".join(reads), ", ".join(letters), x.text)
    text = "(%s(%s) with (%s))" % ("sum" if fold == "sum" else "reduce", what if fold == "sum" else fold + ", " + what,
                                   ", ".join("%s = %d" % ("pq"[i], windows[i][3]) for i in range(count)))
    return Tensor(text, [x.rows[0], x.rows[1][:at] + places + x.rows[1][at + count:], []], values, wide(x.dtype))


def scatter(model):
    """Windows that are written: a transposed convolution along the first output axis."""
    x = model.any(lambda t: t.rows[1] and not t.rows[2] and t.rows[1][0].text and t.dtype not in INTS)
    stride, dilation, extent = model.rng.choice([1, 2, 2, 3]), model.rng.choice([1, 1, 2]), model.rng.choice(SMALL[:5])
    along, out = x.rows[1][0], literal(model.rng.choice(SMALL))
    span = 1 + (extent - 1) * dilation
    sizes = tuple(stride * (size - 1) + span for size in along.sizes)
    if min(along.sizes) == 0:
        raise Misfit
    w = model.leaf([[], [literal(extent), out], []], "f32", True)
    batch, rest = "abcde"[:len(x.rows[0])], "rstuvw"[:len(x.rows[1]) - 1]
    made = contract("", [(x.values, batch + "i" + rest), (w.values, "kf")], "k" + batch + "i" + rest + "f",
                    [[literal(extent)], axes(x), [out]], common(x, w))
    values = []
    for run, part in enumerate(made.values):
        array, first = np.zeros(shape(x.rows[0], run) + (sizes[run],) + part.array.shape[2 + len(batch):]), len(batch)
        for k in range(extent):
            view = np.moveaxis(array, first, 0)
            view[k * dilation:k * dilation + stride * (along.sizes[run] - 1) + 1:stride] += np.moveaxis(
                part.array[k], first, 0)
        values.append(settle(array, made.dtype, part.err * extent, part.digits, mag(part.array) * extent))
    place = literal(sizes[0]) if along.text.isdigit() else Axis(None, sizes)
    text = 'einsum("... | %s; k, f => ... | %s, f", %s, %s)' % (", ".join("i" + rest), ", ".join(
        [window_text("i", "k", (stride, dilation, "<+"))] + list(rest)), x.text, w.text)
    return Tensor(text, [x.rows[0], [place] + x.rows[1][1:] + [out], []], values, made.dtype)


# ---- rows ----

def reduction(model):
    """Over any axes: sums, greatest and least elements; the place of the greatest or least of one axis."""
    x = model.any(lambda t: 1 <= len(axes(t)) <= 4)
    names = LETTERS[:len(axes(x))]
    lead = 1 if model.rows and axes(x)[0].text == "n" else 0
    gone = [name for name in names[lead:] if model.chance(0.5)] or [names[-1]]
    fold = model.rng.choice(["sum", "sum", "max", "min", "argmax", "argmin"])
    if fold in ("argmax", "argmin") and (len(gone) > 1 or any(v.digits is None for v in x.values)) or fold in ("max", "min") and \
            x.dtype in INTS:
        raise Misfit
    at, letters = tuple(names.index(name) for name in gone), iter(names)
    rows = [[next(letters) for _ in row] for row in x.rows]
    kept = [[name for name in row if name not in gone] for row in rows]
    values = []
    for value in x.values:
        array, steps = value.array.astype(float), math.prod(value.array.shape[i] for i in at)
        if fold in ("argmax", "argmin"):
            made = Value(getattr(array, fold)(axis=at[0]) if steps else np.zeros(array.any(axis=at).shape, np.int64), 0, 0)
        elif fold == "sum":
            made = settle(array.sum(axis=at), wide(x.dtype), steps * value.err, value.digits,
                          mag(np.abs(array).sum(axis=at)))
        else:
            made = value._replace(array=getattr(array, fold)(axis=at, initial=-np.inf if fold == "max" else np.inf))
        values.append(made)
    text = '%s(%s"%s => %s", %s)' % ("reduce" if fold in ("max", "min") else fold, fold + ", " if fold in ("max", "min")
                                     else "", spec(rows), spec(kept), x.text)
    at_name = dict(zip(names, axes(x)))
    return Tensor(text, [[at_name[name] for name in row] for row in kept], values,
                  "i32" if fold in ("argmax", "argmin") else wide(x.dtype))


def norm(model, x=None, kind=None):
    """softmax, RMS norm or layer norm along the last output axis."""
    x = x or model.any(lambda t: t.rows[1] and not t.rows[2] and t.dtype not in INTS)
    kind, name, values = kind or model.rng.choice(list(NORMS)), model.name("norm"), []
    for value in x.values:
        a, err = value.array, EPS[wide(x.dtype)] * (60 + value.array.shape[-1]) + 8 * value.err
        if not np.isfinite(a).all() or mag(a) > 300:
            raise Misfit
        mean = a.sum(axis=-1, keepdims=True) / max(a.shape[-1], 1)
        centred = a - mean * (kind == "layer")
        made = centred / np.sqrt((centred ** 2).sum(axis=-1, keepdims=True) / max(a.shape[-1], 1) + 0.5)
        if kind == "softmax" and a.size:
            made = np.exp(a - a.max(axis=-1, keepdims=True))
            made = made / made.sum(axis=-1, keepdims=True)
        values.append(Value(made, err if kind == "softmax" else err * (1 + mag(a)), None))
    model.lines.append("fn %s(x) = %s" % (name, NORMS[kind]))
    return Tensor("%s(%s)" % (name, x.text), x.rows, values, wide(x.dtype))


def attention(model):
    """Scores of heads, softmax and context; the heads stand in the batch row."""
    heads, width = literal(model.rng.choice([1, 2, 4])), literal(model.rng.choice([4, 16, 31, 32, 33]))
    steps = model.axis()
    if 0 in steps.sizes:
        raise Misfit
    batch = [model.dims["n"]] if model.rows else [model.axis(True)]
    q, k, v = (model.leaf([batch + [steps], [heads, width], []], "f32", False) for _ in range(3))
    scores = contract('einsum("b, s | h, d; b, t | h, d => b, h, s | t", %s, %s)' % (q.text, k.text),
                      [(q.values, "bshd"), (k.values, "bthd")], "bhst", [batch + [heads, steps], [steps], []], "f32")
    names = model.name("e"), model.name("p")
    scores = binary(scores, number(0.25), ".*")
    model.lines.append("let %s = %s" % (names[0], scores.text))
    weights = norm(model, scores._replace(text=names[0]), "softmax")
    model.lines.append("let %s = %s" % (names[1], weights.text))
    rows = [batch + [steps], [heads, width], []]
    return contract('einsum("b, h, s | t; b, t | h, f => b, s | h, f", %s, %s)' % (names[1], v.text),
                    [(weights.values, "bhst"), (v.values, "bthf")], "bshf", rows, "f32")


def repeated(model):
    """tanh(w * h) + h, a few times."""
    x = model.any(lambda t: len(t.rows[1]) == 1 and not t.rows[2] and t.dtype == "f32" and mag(t.values[0].array) < 100)
    w, times = model.leaf([[], x.rows[1], x.rows[1]], "f32"), model.rng.choice([1, 2, 3])
    made, batch = x, "abcdefgh"[:len(x.rows[0])]
    for _ in range(times):
        inner = contract("", [(w.values, "yz"), (made.values, batch + "z")], batch + "y", x.rows, "f32")
        made = binary(smooth("tanh", np.tanh, inner), made, "+")
    return made._replace(text="iterate(%d, h = %s) { tanh(%s * h) + h }" % (times, x.text, w.text))


# ---- moves ----

def moved(x, text, rows, function, dtype=None):
    """Elements at other places."""
    return Tensor(text, rows, [value._replace(array=function(value.array, run)) for run, value in enumerate(x.values)],
                  dtype or x.dtype)


def permuted(model):
    x = model.any(lambda t: 2 <= len(axes(t)) <= 4)
    names = LETTERS[:len(axes(x))]
    letters, out = iter(names), split(model, model.rng.sample(names, len(names)))
    text = 'permute("%s => %s", %s)' % (spec([[next(letters) for _ in row] for row in x.rows]), spec(out), x.text)
    return moved(x, text, [[axes(x)[names.index(name)] for name in row] for row in out],
                 lambda a, run: a.transpose([names.index(name) for row in out for name in row]))


def joining(model):
    """concat along the first output axis, or stack along a new one."""
    x = model.any(lambda t: t.rows[1] and not t.rows[2] and all(axis.text for axis in axes(t)))
    rest, at = "".join(", r%d" % i for i in range(len(x.rows[1]) - 1)), len(x.rows[0])
    along = x.rows[1][0] if model.chance(0.4) else model.axis()
    y = model.leaf([x.rows[0], [along] + x.rows[1][1:], []], x.dtype)
    both = list(zip(x.values, y.values))
    stacked = along is x.rows[1][0] and model.chance(0.5)
    join = np.stack if stacked else np.concatenate
    values = [Value(join([a.array, b.array], axis=at), max(a.err, b.err), most(a.digits, b.digits)) for a, b in both]
    if stacked:
        return Tensor("stack(output, %s, %s)" % (x.text, y.text), [x.rows[0], [literal(2)] + x.rows[1], []], values,
                      x.dtype)
    sizes = tuple(a + b for a, b in zip(x.rows[1][0].sizes, along.sizes))
    plain = x.rows[1][0].text.isdigit() and along.text.isdigit()
    rows = [x.rows[0], [literal(sizes[0]) if plain else Axis(None, sizes)] + x.rows[1][1:], []]
    return Tensor('concat("... | p%s; ... | q%s => ... | p^q%s", %s, %s)' % (rest, rest, rest, x.text, y.text), rows,
                  values, x.dtype)


def part(model):
    """Every second element or the third, one element, or rows of a table."""
    x = model.any(lambda t: t.rows[1] and not t.rows[2])
    size, at, step = number_of(x.rows[1][0]), len(x.rows[0]), model.rng.choice([2, 3])
    rest = "".join(", r%d" % i for i in range(len(x.rows[1]) - 1))
    if not at and size and not model.rows and model.chance(0.4):
        ids = model.leaf([[model.axis()], [], []], "i32", False)
        values = [Value(np.abs(value.array) % size, 0, 0) for value in ids.values]
        for tensors in (model.inputs, model.params, model.tensors):
            tensors[:] = [t._replace(values=values) if t is ids else t for t in tensors]
        return moved(x, "gather(%s, %s)" % (x.text, ids.text), [ids.rows[0], x.rows[1][1:], []],
                     lambda a, run: a[values[run].array])
    if size and (size % step or model.chance(0.3)):
        index = model.rng.randrange(size)
        text = 'sum("... | %d%s => ... | %s", %s)' % (index, rest, rest[2:], x.text)
        return moved(x, text, [x.rows[0], x.rows[1][1:], []], lambda a, run: np.take(a, index, axis=at), wide(x.dtype))
    offset = model.rng.randrange(step)
    text = 'sum("... | %d*i + %d%s => ... | i%s", %s)' % (step, offset, rest, rest, x.text)
    return moved(x, text, [x.rows[0], [literal(size // step)] + x.rows[1][1:], []],
                 lambda a, run: np.take(a, range(offset, size, step), axis=at), wide(x.dtype))


def reshaped(model):
    """The elements as a matrix, added to one."""
    x = model.any()
    count = math.prod(map(number_of, axes(x)))
    columns = model.rng.choice([size for size in range(2, count + 1) if count % size == 0 and size < count] or [0])
    if not columns or model.rows:
        raise Misfit
    y = model.leaf([[], [literal(count // columns), literal(columns)], []], "f32")
    return binary(moved(x, "reshape(%s)" % x.text, y.rows, lambda a, run: a.reshape(-1, columns)), y, "+")


FORMS = {chain: 5, product: 6, einsum: 7, convolution: 5, pool: 3, scatter: 1.5, reduction: 4, norm: 3, attention: 1.5,
         repeated: 1, permuted: 2.5, joining: 2, part: 1.5, reshaped: 1}
