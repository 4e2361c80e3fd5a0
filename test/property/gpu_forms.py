"""Forms for models.py of what has kernels of its own on a GPU: lines that are cumulated or sorted, long rows and columns, elements
at indices, masks, and attention with masks, of few queries, and of heads that share keys."""
import numpy as np

from model_forms import LETTERS, NORMS, contract, dressed, split
from models import (EPS, INTS, RUNS, Misfit, Tensor, Value, axes, binary, literal, mag, number, settle, shape,
                    spec, wide)

LONG = (255, 300, 513, 1000, 1025, 2049, 4100)
FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum}
MODES = {"check": lambda i, n: i, "clamp": lambda i, n: np.clip(i, 0, n - 1), "wrap": lambda i, n: i % max(n, 1),
         "skip": lambda i, n: np.where((i >= 0) & (i < n), i, -1)}


class Letters:
    """A tensor's axes by letters, one of which is drawn: `name`, at `at` in storage."""

    def __init__(self, model, tensor):
        self.names = LETTERS[:len(axes(tensor))]
        self.lead = 1 if model.rows and axes(tensor)[:1] and axes(tensor)[0].text == "n" else 0
        if len(self.names) <= self.lead:
            raise Misfit
        self.at = model.rng.randrange(self.lead, len(self.names))
        self.name, self.axis, self.rows, letters = self.names[self.at], axes(tensor)[self.at], [], iter(self.names)
        self.shape = [list(row) for row in tensor.rows]
        for row in tensor.rows:
            self.rows.append([next(letters) for _ in row])

    def text(self, *instead):
        """With these in the place of the letter."""
        return spec([[t for name in row for t in (instead if name == self.name else (name,))] for row in self.rows])

    def bracketed(self):
        return self.text("[%s]" % self.name)

    def with_axes(self, *instead):
        """The rows, with these axes in the place of the letter's."""
        out, place = [], 0
        for row in self.shape:
            out.append([a for i, axis in enumerate(row) for a in (instead if place + i == self.at else (axis,))])
            place += len(row)
        return out


def hidden(model, rows, dtype, draw):
    """An input that no other form reads. draw(sizes): its elements."""
    name, these = model.name("x"), sum(rows, [])
    if any(axis.text is None for axis in these):
        raise Misfit
    values = [Value(draw(shape(these, run)), 0, 0) for run in range(RUNS)]
    if not any(axis.text in model.dims for axis in these):
        values = values[:1] * RUNS
    made = Tensor(name, rows, values, dtype)
    model.lines.append("input %s : %s [%s]" % (name, dtype, spec(rows)))
    model.inputs.append(made)
    return made


# ---- products ----

def product(model):
    """Of two matrices, or of several, whose axes stand in any order, of one or two axes each; rows of a batch, or few of them."""
    dtype = model.rng.choice(["f32", "bf16", "bf16", "f16", "f16", "f64"])
    extent = lambda: model.axis() if model.chance(0.5) else literal(model.rng.choice((1, 2, 4, 8, 16, 24, 64, 72, 128, 200)))
    letters = {"m": extent(), "n": extent(), "k": extent()}
    letters.update({name: literal(model.rng.choice((2, 3, 8))) for name in "opb" if model.chance(0.2)})
    lead = ["r"] * (model.rows and model.chance(0.5))
    letters.update({name: model.dims["n"] for name in lead})
    wanted = {"x": "mokpb", "w": "nkpb", "y": "monb"}
    rows = {}
    for name, of in wanted.items():
        own = [letter for letter in of if letter in letters]
        model.rng.shuffle(own)
        rows[name] = split(model, own)
        rows[name][0][:0] = lead if name != "w" else []
    at = lambda name: [[letters[letter] for letter in row] for row in rows[name]]
    model.main = False
    x, w = model.leaf(at("x"), dtype, False), model.leaf(at("w"), dtype)
    text = 'einsum("%s; %s => %s", %s, %s)' % (*(spec(rows[name]) for name in "xwy"), x.text, w.text)
    made = contract(text, [(x.values, sum(rows["x"], [])), (w.values, sum(rows["w"], []))], sum(rows["y"], []), at("y"), wide(dtype))
    return dressed(model, made)


# ---- lines ----

def operand(model, want=lambda t: True):
    """A tensor with one to four axes; now and then a new one with a long axis."""
    fits = lambda t: 1 <= len(axes(t)) <= 4 and want(t)
    if model.chance(0.7):
        return model.any(fits)
    row = [literal(model.rng.choice(LONG)), literal(model.rng.choice((1, 2, 3, 5, 8, 14)))]
    model.rng.shuffle(row)
    model.main = True
    made = model.leaf([[], row[:model.rng.choice([1, 2, 2])], []], model.rng.choice(["f32", "f32", "bf16", "f16", "f64", "i32"]))
    if not fits(made):
        raise Misfit
    return made


def cumulated(model):
    x = operand(model)
    letters, fold = Letters(model, x), model.rng.choice(["sum", "sum", "max", "min"])
    exclusive, reverse = fold == "sum" and model.chance(0.4), model.chance(0.4)
    values = []
    for value in x.values:
        array = value.array.astype(float)
        line = np.flip(array, letters.at) if reverse else array
        total = FOLDS[fold].accumulate(line, letters.at)
        total = total - line if exclusive else total
        total = np.flip(total, letters.at) if reverse else total
        steps = array.shape[letters.at] if fold == "sum" else 1
        bound = mag(np.abs(array).sum(letters.at)) if fold == "sum" else 0
        values.append(settle(total, wide(x.dtype), steps * value.err, value.digits, bound))
    words = ", exclusive" * exclusive + ", reverse" * reverse
    text = 'cumulate(%s, "%s => %s", %s%s)' % (fold, letters.bracketed(), letters.text(letters.name), x.text, words)
    return Tensor(text, x.rows, values, wide(x.dtype))


def ordered(model):
    """sort, argsort, or the greatest elements; equal ones stand as they stood."""
    x = operand(model, lambda t: t.dtype in ("f32", "f64", "i32") and all(v.err == 0 for v in t.values))
    letters, kind, down = Letters(model, x), model.rng.choice(["sort", "argsort", "topk", "topk"]), model.chance(0.5)
    at = letters.at
    places = [np.argsort(-v.array if down or kind == "topk" else v.array, at, kind="stable") for v in x.values]
    arrays = [p if kind == "argsort" else np.take_along_axis(v.array, p, at) for v, p in zip(x.values, places)]
    if kind != "topk":
        values = [Value(a, 0, 0 if kind == "argsort" else v.digits) for a, v in zip(arrays, x.values)]
        text = '%s("%s => %s", %s%s)' % (kind, letters.bracketed(), letters.text(letters.name), x.text, ", descending" * down)
        return Tensor(text, x.rows, values, "i32" if kind == "argsort" else x.dtype)
    least, name = min(letters.axis.sizes), model.name("v")
    k = min(model.rng.choice([1, 2, 3, 8, 40]), least)
    values = [Value(np.take(a, range(k), at), 0, v.digits) for a, v in zip(arrays, x.values)]
    text = '(let (%s, %s_at) = topk(%d, "%s => %s", %s) in %s)' % (name, name, k, letters.text(letters.name), letters.text("k"),
                                                               x.text, name)
    return Tensor(text, letters.with_axes(literal(k)), values, x.dtype)


def reduced(model):
    """One fold of a line, in a tensor with a long axis as a rule."""
    x = operand(model)
    letters, fold = Letters(model, x), model.rng.choice(["sum", "sum", "max", "mean"])
    if fold == "max" and x.dtype in INTS or fold == "mean" and (x.dtype in INTS or 0 in letters.axis.sizes):
        raise Misfit
    values = []
    for value in x.values:
        array, steps = value.array.astype(float), value.array.shape[letters.at]
        if fold == "max":
            values.append(value._replace(array=array.max(axis=letters.at, initial=-np.inf)))
            continue
        total, bound = array.sum(axis=letters.at), mag(np.abs(array).sum(axis=letters.at))
        made = settle(total, wide(x.dtype), steps * value.err, value.digits, bound)
        if fold == "mean":
            made = Value(total / steps, (made.err + 4 * EPS[wide(x.dtype)] * mag(total)) / steps, None)
        values.append(made)
    said = letters.text(letters.name), letters.text(), x.text
    text = {"sum": 'sum("%s => %s", %s)', "max": 'reduce(max, "%s => %s", %s)',
            "mean": '(let q = sum("%s => %s", %s) with (%s) in q / %s)'}[fold]
    said += (letters.name,) * 2 if fold == "mean" else ()
    return Tensor(text % said, letters.with_axes(), values, wide(x.dtype))


# ---- indices ----

def mode_of(model, least):
    """A mode, and between which numbers indices are for it."""
    mode = model.rng.choice(["check", *MODES])
    return mode, (0, least) if mode == "check" else (-3, least + 3)


def gathered(model):
    """An axis is read at indices, whose axes stand in its place."""
    x = model.any(lambda t: 1 <= len(axes(t)) <= 3)
    if model.rows:
        raise Misfit
    letters = Letters(model, x)
    least, at = min(letters.axis.sizes), letters.at
    if least == 0:
        raise Misfit
    mode, ends = mode_of(model, least)
    new = [model.axis() for _ in range(model.rng.choice([0, 1, 1, 2]))]
    ids = hidden(model, [[], new, []], model.rng.choice(["i32", "i64"]), lambda s: model.data.integers(*ends, s))
    values = []
    for value, i in zip(x.values, ids.values):
        n = value.array.shape[at]
        places = MODES[mode](i.array, n)
        taken = np.take(value.array, np.maximum(places, 0), at)
        inside = (places >= 0).reshape((1,) * at + places.shape + (1,) * (value.array.ndim - at - 1))
        values.append(value._replace(array=np.where(inside, taken, 0)))
    names = ["i", "j"][:len(new)]
    text = 'gather("%s; %s => %s", %s, %s%s)' % (letters.bracketed(), ", ".join(names), letters.text(*names), x.text, ids.text,
                                                 ", mode = " + mode if mode != "check" else "")
    return Tensor(text, letters.with_axes(*new), values, x.dtype)


def scattered(model):
    """What stands along an axis is added up, or set, where indices say, along a new one."""
    x = operand(model, lambda t: t.dtype == wide(t.dtype))
    if model.rows:
        raise Misfit
    letters, fold, at = Letters(model, x), model.rng.choice(["sum", "sum", "set"]), None
    at, size = letters.at, literal(model.rng.choice([1, 2, 5, 17, 64, 300]))
    if model.dims and model.chance(0.3):
        size = model.rng.choice(list(model.dims.values()))
    mode, ends = mode_of(model, min(size.sizes))
    if min(size.sizes) == 0:
        raise Misfit
    ids = hidden(model, [[], [letters.axis], []], model.rng.choice(["i32", "i64"]), lambda s: model.data.integers(*ends, s))
    values = []
    for run, (value, i) in enumerate(zip(x.values, ids.values)):
        lines, n = np.moveaxis(value.array.astype(float), at, 0), size.sizes[run]
        places = MODES[mode](i.array, n)
        lines, places = lines[places >= 0], places[places >= 0]
        out, bound = np.zeros((n,) + lines.shape[1:]), np.zeros((n,) + lines.shape[1:])
        np.add.at(bound, places, np.abs(lines))
        if fold == "sum":
            np.add.at(out, places, lines)
        for place, line in zip(places, lines) if fold == "set" else ():
            out[place] = line
        steps = np.bincount(places, minlength=1).max() if fold == "sum" else 1
        made = settle(np.moveaxis(out, 0, at), x.dtype, steps * value.err, value.digits, mag(bound) if fold == "sum" else 0)
        values.append(made)
    words = ", reduce = set" * (fold == "set") + (", mode = " + mode if mode != "check" else "")
    text = '(scatter("%s; %s => %s", %s, %s%s) with (v = %s))' % (
        letters.text(letters.name), letters.name, letters.text("[v]"), x.text, ids.text, words, size.text)
    return Tensor(text, letters.with_axes(size), values, x.dtype)


# ---- masks ----

def masked(model):
    """What a bool of the same axes, or of the last ones, leaves."""
    x = model.any(lambda t: t.dtype not in INTS and t.rows[1] and not t.rows[2] and all(a.text for a in axes(t)))
    rows = [[] if model.chance(0.3) and not model.rows else x.rows[0], x.rows[1], []]
    mask = hidden(model, rows, "bool", lambda s: model.data.integers(0, 2, s))
    text = "where(%s, %s, %s)" % (mask.text, x.text, model.rng.choice(["-1", "0", "2"]))
    other = float(text[:-1].split(", ")[-1])
    values = [settle(np.where(np.broadcast_to(m.array != 0, v.array.shape), v.array, other), wide(x.dtype), v.err, v.digits, 0)
              for m, v in zip(mask.values, x.values)]
    return Tensor(text, x.rows, values, wide(x.dtype))


def attention(model):
    """Of heads that may share keys: causal, behind lengths, or with nothing left out; of few queries, or as many as keys."""
    keys, width = model.axis(), literal(model.rng.choice([8, 16, 32, 33, 64]))
    steps = model.rng.choice([keys, keys, literal(1), literal(4)])
    if 0 in keys.sizes or 0 in steps.sizes:
        raise Misfit
    shared, groups = literal(model.rng.choice([1, 2])), literal(model.rng.choice([1, 1, 2, 3]))
    batch, dtype = model.dims["n"] if model.rows else model.axis(True), model.rng.choice(["f32", "bf16", "f16"])
    kind = model.rng.choice(["", "causal", "lengths", "bias"])
    model.main = False
    q = model.leaf([[batch], [steps, shared, groups, width], []], dtype, False)
    k, v = (model.leaf([[batch], [keys, shared, width], []], dtype, False) for _ in range(2))
    scores = contract('einsum("b | s, h, g, d; b | t, h, d => b, h, g, s | t", %s, %s)' % (q.text, k.text),
                      [(q.values, "bshgd"), (k.values, "bthd")], "bhgst", [[batch, shared, groups, steps], [keys], []], "f32")
    scores = binary(scores, number(0.25), ".*")
    text, allowed = scores.text, [np.ones(s.array.shape, bool) for s in scores.values]
    if kind == "causal":
        ahead = max(0, *(t - s for s, t in zip(steps.sizes, keys.sizes)))
        text = "where(to_batch(range(%s)) + %d >= range(%s), %s, -inf)" % (steps.text, ahead, keys.text, text)
        allowed = [a & (np.arange(a.shape[3])[:, None] + ahead >= np.arange(a.shape[4])) for a in allowed]
    if kind == "lengths":
        one = literal(1)
        lengths = hidden(model, [[batch, one, one, one], [], []], "i32", lambda s: model.data.integers(1, min(keys.sizes) + 1, s))
        text = "where(range(%s) < %s, %s, -inf)" % (keys.text, lengths.text, text)
        allowed = [a & (np.arange(a.shape[4]) < n.array[..., None]) for a, n in zip(allowed, lengths.values)]
    name, weights = model.name("e"), []
    model.lines.append("let %s = %s" % (name, text))
    for value, where in zip(scores.values, allowed):
        if mag(value.array) > 80:
            raise Misfit
        array = np.exp(np.where(where, value.array - value.array.max(-1, keepdims=True, initial=-1e9), -np.inf))
        array = array / array.sum(-1, keepdims=True)
        weights.append(Value(array, EPS["f32"] * (60 + array.shape[-1]) + 8 * value.err, None))
    norm, probs = model.name("norm"), model.name("p")
    model.lines.append("fn %s(x) = %s" % (norm, NORMS["softmax"]))
    model.lines.append("let %s = %s(%s)" % (probs, norm, name))
    return contract('einsum("b, h, g, s | t; b | t, h, d => b | s, h, g, d", %s, %s)' % (probs, v.text),
                    [(weights, "bhgst"), (v.values, "bthd")], "bshgd", [[batch], [steps, shared, groups, width], []], "f32")


FORMS = {product: 8, cumulated: 3, ordered: 2, reduced: 4, gathered: 3, scattered: 3, masked: 2, attention: 3}
