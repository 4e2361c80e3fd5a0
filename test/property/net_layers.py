"""Layers of random nets, as a program says them and on a tape (tape.py): each takes the net and what it has made so far, [n | a] or
[n | a, b], and makes a definition, or None. `n` and `t` are dims."""
import random

import numpy as np

import tape
from tape import Value, einsum, moved, take
from threefry import stream

ACTS = {"tanh": tape.tanh, "sin": tape.sin, "sigmoid": tape.sigmoid, "relu": tape.relu, "abs": tape.absolute}


class Tensor:
    """A name, and the axes behind the bar: numbers or the dim t."""

    def __init__(self, name, axes):
        self.name, self.axes = name, axes


class Net:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count, self.lets, self.run, self.params, self.inputs, self.weights = 0, [], [], [], {}, []
        self.body = self.random.random() < 0.5
        self.empty = self.random.random() < 0.25  # sizes may be 0

    def pick(self, *of):
        return self.random.choice(of)

    def name(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def param(self, shape, start="0.5 * normal()", dtype="f64", weight=True):
        name = self.name("p" if weight else "m")
        if self.body:
            self.lets.append("%s = {%s : %s %s = %s}" % (name, name, dtype, shape, start))
        self.params.append((name, "%s %s" % (dtype, shape), start))
        if weight:
            self.weights.append(name)
        return name

    def input(self, shape, make, dtype="f64"):
        """make(rng, dims): an array."""
        name = self.name("x")
        self.inputs[name] = ("%s %s" % (dtype, shape), make)
        return name

    def let(self, text, axes, f, name=None):
        """f(env): the Value of the text."""
        name = name or self.name("h")
        self.lets.append("%s = %s" % (name, text))
        self.run.append((name, f))
        return Tensor(name, axes)

    def act(self):
        name = self.pick(*ACTS)
        return name, ACTS[name]


def leaf(e, name):
    """An input, as what gradients are taken with respect to."""
    return e["leaves"].setdefault(name, Value(e[name]))


def numbers(*shape):
    return lambda rng, dims: rng.standard_normal([dims.get(s, s) for s in shape])


def ids(below, *shape):
    low = 0 if below > 0 else below
    return lambda rng, dims: rng.integers(low, abs(below) + (low < 0) * 3, [dims.get(s, s) for s in shape]).astype(np.int32)


def text(axes):
    return "[n | %s]" % ", ".join(map(str, axes))


# ---- layers of [n | a] ----

def dense(d, h):
    out, (a,) = d.pick(2, 3, 5, 8), h.axes
    w, b, (act, f) = d.param("[%s -> %d]" % (a, out)), d.param("[%d]" % out, "0"), d.act()
    form = d.pick("%s", "recompute(%s)")
    return d.let(form % ("%s(%s * %s + %s)" % (act, w, h.name, b)), [out],
                 lambda e: f(einsum("oi,ni->no", e[w], e[h.name]) + e[b]))


def widen(d, h):
    (a,), g, c = h.axes, d.pick(2, 3, 4), d.pick(1, 2, 5)
    w = d.param("[%s -> %d, %d]" % (a, g, c))
    return d.let("%s * %s" % (w, h.name), [g, c], lambda e: einsum("gci,ni->ngc", e[w], e[h.name]))


def split(d, h):
    (a,) = h.axes
    sizes = [k for k in range(1, a + 1) if a % k == 0]
    k = d.pick(*sizes)
    return d.let('sum("n | (a b) => n | a, b", %s) with (a = %d)' % (h.name, k), [k, a // k],
                 lambda e: moved(e[h.name], lambda x: x.reshape(-1, k, a // k)))


def doubled(d, h):
    """Stacked, or one after another, with something else of its shape."""
    (a,), (act, f) = h.axes, d.act()
    factor = d.pick(0.5, 2)
    other = d.let("%s(%s) .* %s" % (act, h.name, factor), [a], lambda e: f(e[h.name]) * Value(factor))
    kind = d.random.randrange(4)
    if kind == 0:
        return d.let("stack(output, %s, %s)" % (h.name, other.name), [2, a], lambda e: tape.stack(1, e[h.name], e[other.name]))
    if kind == 1:
        return d.let('sum("n | s, a => n | a, s", stack(output, %s, %s, %s))' % (h.name, other.name, h.name), [a, 3],
                     lambda e: tape.stack(2, e[h.name], e[other.name], e[h.name]))
    if kind == 2:
        return d.let('concat("n | a; n | b => n | b^a", %s, %s)' % (h.name, other.name), [2 * a],
                     lambda e: tape.join(1, e[other.name], e[h.name]))
    return d.let('sum("s, n | a => n | (a s)", stack(batch, %s, %s))' % (h.name, other.name), [2 * a],
                 lambda e: moved(tape.stack(2, e[h.name], e[other.name]), lambda x: x.reshape(len(x), 2 * a)))


def halves(d, h):
    (a,) = h.axes
    if a < 2:
        return None
    k = d.random.randrange(1, a)
    return d.let(
        'concat("n | c; n | d => n | c^d", sum("n | %d^c => n | c", %s), sum("n | c^%d => n | c", %s))' % (k, h.name, a - k, h.name), [a],
        lambda e: tape.join(1, moved(e[h.name], lambda x: x[:, k:]), moved(e[h.name], lambda x: x[:, :k])))


def norm(d, h):
    """What `update` keeps of the batch, which is read in the other mode."""
    (a,) = h.axes
    m, c, keep = d.param("[%s]" % a, "0", weight=False), d.param("[]", "0", "i32", weight=False), d.pick(0.9, 0.5)
    g = d.param("[%s]" % a, "1")
    now = d.let('sum("n | a => a", %s) / (n + 1)' % h.name, None, lambda e: einsum("na->a", e[h.name]) / Value(e["n"] + 1))
    mid = d.let("%s - %s" % (h.name, now.name), [a], lambda e: e[h.name] - e[now.name])
    var = d.let('sum("n | a => a", %s .* %s) / (n + 1)' % (mid.name, mid.name), None,
                lambda e: einsum("na,na->a", e[mid.name], e[mid.name]) / Value(e["n"] + 1))
    trained = "%s .* (rsqrt(%s + 0.1) .* %s) with update { %s =: %s * %s + %s * %s %s =+ 1 }" % (
        mid.name, var.name, g, m, keep, m, 1 - keep, now.name, c)

    def f(e):
        if not e["training"]:
            return (e[h.name] - e[m]) * e[g]
        e["update"].append((m, keep * e[m].array + (1 - keep) * e[now.name].array))
        e["update"].append((c, e[c].array + 1))
        return e[mid.name] * (tape.rsqrt(e[var.name] + Value(0.1)) * e[g])

    if d.body:
        return d.let("if training then (%s) else (%s - %s) .* %s" % (trained, h.name, m, g), [a], f)
    return d.let(trained, [a], f)


def dropout(d, h):
    rate, name = d.pick(0.2, 0.5), d.name("h")
    text_ = "where(uniform(seed) < %s, 0, %s / %s)" % (rate, h.name, 1 - rate)
    if d.body:
        text_ = "if training then %s else %s" % (text_, h.name)

    def f(e):
        if not e["training"]:
            return e[h.name]
        x = e[h.name]
        drawn = stream(e["place"] + name, e["seed"], x.array.size).reshape(x.shape)
        return tape.where(drawn < np.float32(rate), Value(0), x / Value(1 - rate))
    return d.let(text_, h.axes, f, name)


def mixed(d, h):
    """Rows of the batch, added up in groups and given back."""
    (a,) = h.axes
    group = d.input("[n |]", ids(3, "n"), "i32")
    g = d.let('scatter("n | a; n | => [v] | a", %s, %s) with (v = 3)' % (h.name, group), None,
              lambda e: einsum("nv,na->va", Value(np.eye(3)[e[group]].reshape(-1, 3)), e[h.name]))
    return d.let('%s + 0.5 * gather("[v] | a; n | => n | a", %s, %s)' % (h.name, g.name, group), [a],
                 lambda e: e[h.name] + moved(e[g.name], lambda x: x[e[group]]) * Value(0.5))


def embedded(d, h):
    (a,), k = h.axes, d.pick(1, 2, 3)
    table, mode = d.param("[7, %s]" % a), d.pick("wrap", "clamp", "skip")
    at = d.input("[n, %d |]" % k, ids(-7, "n", k), "i32")

    def f(e):
        v = e[at]
        places = {"wrap": v % 7, "clamp": np.clip(v, 0, 6), "skip": np.where((v >= 0) & (v < 7), v, -1)}[mode]
        flat = np.where(places[..., None] < 0, -1, places[..., None] * a + np.arange(a))
        return e[h.name] + einsum("nka->na", take(e[table], flat))
    return d.let('%s + sum("n, k | a => n | a", gather("[v], a; n, k | => n, k | a", %s, %s, mode = %s))' % (
        h.name, table, at, mode), [a], f)


def looped(d, h):
    (a,), k = h.axes, d.pick(0, 1, 3, 3, "t")
    w, s, i, (act, f) = d.param("[%s -> %s]" % (a, a)), d.name("s"), d.name("i"), d.act()

    def steps(e):
        x, all_ = e[h.name], []
        for j in range(e.get(k, k)):
            x = f(einsum("oi,ni->no", e[w], x) + Value(0.1 * j)) + e[h.name] * Value(0.3)
            all_.append(x)
        return x, all_
    body = "%s(%s * %s + 0.1 * %s) + 0.3 * %s" % (act, w, s, i, h.name)
    kind = d.random.randrange(3)
    if kind == 0 or k == 0:
        return d.let("scan(%s, %s = %s, %s) { %s }" % (k, s, h.name, i, body), [a], lambda e: steps(e)[0])

    def both_of(e):
        last, all_ = steps(e)
        for one in all_:
            last = last + tape.square(one * Value(0.7))
        return last
    both = d.let('let (last, all) = scan(%s, %s = %s, %s) { let next = %s in (next, 0.7 * next) } '
                 'in last + sum("t, n | a => n | a", all .* all)' % (k, s, h.name, i, body), [a], both_of)
    if kind == 1 or k == "t":
        return both
    return d.let('let (_last, all) = scan(%s, %s = %s, %s) { let next = %s in (next, next) } in sum("t, n | a => n | t, a", all)' % (
        k, s, both.name, i, body.replace(h.name, both.name)), [k, a],
        lambda e: tape.stack(1, *steps({**e, h.name: e[both.name]})[1]))


def sequence(d, h):
    """A recurrent net over rows of an input."""
    (a,), c = h.axes, d.pick(2, 3)
    x, w = d.input("[t, n | %d]" % c, numbers("t", "n", c)), d.param("[%d -> %s]" % (c, a))
    u, s, m, i = d.param("[%s]" % a), d.name("s"), d.name("c"), d.name("i")
    inside = d.random.random() < 0.5
    z = d.let('einsum("t, n | c; c -> a => t, n | a", %s, %s)' % (x, w), None, lambda e: einsum("tnc,ac->tna", leaf(e, x), e[w]))
    step = "%s @ %s" % (z.name, i) if inside else "%s * (%s @ %s)" % (w, x, i)
    flip = d.random.random() < 0.3
    if flip:
        step = step.replace("@ " + i, "@ (t - 1 - %s)" % i)

    def f(e):
        s, m, all_ = e[h.name], Value(np.zeros(e[h.name].shape)), []
        for j in range(e["t"]):
            j = e["t"] - 1 - j if flip else j
            g = tape.sigmoid(s * e[u])
            m = g * m + moved(e[z.name], lambda v: v[j])
            s = tape.tanh(m) + s * Value(0.5)
            all_.append(s)
        return (s, m, all_)
    body = "let next = sigmoid(%s .* %s) .* %s + (%s), out = tanh(next) + 0.5 * %s in (out, next, out)" % (s, u, m, step, s)
    loop = "let (last, cell, all) = scan(t, (%s, %s) = (%s, 0 .* %s), %s) { %s }" % (s, m, h.name, h.name, i, body)
    if d.random.random() < 0.5:
        return d.let(loop + ' in last + cell + sum("t, n | a => n | a", all)', [a],
                     lambda e: (lambda r: sum(r[2], r[0] + r[1]))(f(e)))
    return d.let(loop + ' in sum("t, n | a => n | t, a", all + (last + cell))', ["t", a],
                 lambda e: (lambda r: tape.stack(1, *[one + (r[0] + r[1]) for one in r[2]])
                            if r[2] else Value(np.zeros((e["n"], 0, a))))(f(e)))


def ordered(d, h):
    """Along the axis."""
    (a,) = h.axes
    kind = d.pick("sort", "topk", "sum", "max", "prod", "softmax", "norm")
    if kind == "sort":
        return d.let('sort("n | [a] => n | a", %s)' % h.name, [a], lambda e: moved(e[h.name], lambda x: np.take_along_axis(
            x, np.argsort(e[h.name].array, 1, kind="stable"), 1)))
    if kind == "topk":
        k = d.random.randint(1, a)
        return d.let('let (top, _at) = topk(%d, "n | a => n | k", %s) in top' % (k, h.name), [k], lambda e: moved(
            e[h.name], lambda x: np.take_along_axis(x, np.argsort(-e[h.name].array, 1, kind="stable")[:, :k], 1)))
    if kind == "softmax":
        return d.let('let e = exp(%s) in e / sum("n | a => n | 0", e)' % h.name, [a],
                     lambda e: tape.exp(e[h.name]) / moved(einsum("na->n", tape.exp(e[h.name])), lambda x: x[:, None]))
    if kind == "norm":
        return d.let('%s .* rsqrt(sum("n | a => n | 0", %s .* %s) + 0.2)' % (h.name, h.name, h.name), [a],
                     lambda e: e[h.name] * tape.rsqrt(moved(einsum("na,na->n", e[h.name], e[h.name]), lambda x: x[:, None]) + Value(0.2)))
    back, out = d.pick(True, False), d.pick(True, False)

    def f(e):
        columns = [moved(e[h.name], lambda x, j=j: x[:, j]) for j in range(a)]
        columns, made, so_far = columns[::-1] if back else columns, [], None
        start = {"sum": 0, "prod": 1, "max": -np.inf}[kind]
        for one in columns:
            before = so_far if so_far is not None else Value(np.full(one.shape, float(start)))
            so_far = one if so_far is None else {"sum": so_far + one, "prod": so_far * one, "max": tape.maximum(so_far, one)}[kind]
            made.append(before if out else so_far)
        made = made[::-1] if back else made
        if out and kind == "max":
            made = [tape.maximum(one, Value(-1)) for one in made]
        return tape.stack(1, *made)
    form = 'cumulate(%s, "n | [a] => n | a", %s%s%s)' % (kind, h.name, ", exclusive" * out, ", reverse" * back)
    return d.let("max(%s, -1)" % form if out and kind == "max" else form, [a], f)


def pointed(d, h):
    (a,) = h.axes
    x = d.input("[n | %s]" % a, numbers("n", a))
    kind = d.random.randrange(4)
    if kind == 0:
        return d.let("where(%s < %s, %s, sin(%s))" % (x, h.name, h.name, h.name), [a],
                     lambda e: tape.where(e[x] < e[h.name].array, e[h.name], tape.sin(e[h.name])))
    if kind == 1:
        return d.let("max(%s, %s .* %s)" % (h.name, x, h.name), [a], lambda e: tape.maximum(e[h.name], e[h.name] * leaf(e, x)))
    if kind == 2:  # the gradient in a program: of a sum of sines
        total = d.let("sum(sin(%s) .* %s)" % (h.name, x), None, lambda e: Value(0))
        return d.let("grad(%s, %s) + 0.1 * %s" % (total.name, h.name, x), [a],
                     lambda e: tape.sin(e[h.name] + Value(np.pi / 2)) * leaf(e, x) + leaf(e, x) * Value(0.1))
    return d.let("stop(%s) .* %s + abs(%s)" % (h.name, x, h.name), [a],
                 lambda e: tape.stop(e[h.name]) * leaf(e, x) + tape.absolute(e[h.name]))


# ---- layers of [n | a, b] ----

def along(d, h):
    (a, b), c = h.axes, d.pick(1, 2, 4)
    if d.random.random() < 0.5 or a == "t":
        w = d.param("[%s -> %d]" % (b, c))
        return d.let('einsum("n | a, b; b -> c => n | a, c", %s, %s)' % (h.name, w), [a, c],
                     lambda e: einsum("nab,cb->nac", e[h.name], e[w]))
    w, order = d.param("[%s -> %d]" % (a, c)), d.pick("c, b", "b, c")
    return d.let('einsum("a -> c; n | a, b => n | %s", %s, %s)' % (order, w, h.name), [c, b] if order == "c, b" else [b, c],
                 lambda e: einsum("nab,ca->n" + order.replace(", ", ""), e[h.name], e[w]))


def attention(d, h):
    (a, b), s = h.axes, d.name("e")
    w = d.param("[%s -> %s]" % (b, b))
    causal = d.random.random() < 0.4 and a != "t"
    q = d.let('einsum("n | a, b; b -> c => n | a, c", %s, %s)' % (h.name, w), None, lambda e: einsum("nab,cb->nac", e[h.name], e[w]))
    scores = 'einsum("n | a, c; n | b, c => n, a | b", %s, %s) / 2' % (q.name, h.name)
    if causal:
        scores = "where(to_batch(range(%s)) >= range(%s), %s, -inf)" % (a, a, scores)
    shifted = d.pick(True, False)
    form = ('let s = %s, m = stop(reduce(max, "n, a | b => n, a | 0", s)), e = exp(s - m) in ' if shifted else "let s = %s, e = exp(s) in ") \
        + 'einsum("n, a | b; n | b, c => n | a, c", e .* recip(sum("n, a | b => n, a | 0", e)), %s)'

    def f(e):
        z = einsum("nac,nbc->nab", e[q.name], e[h.name]) * Value(0.5)
        ex = tape.exp(z)
        if causal:
            ex = ex * Value(np.tril(np.ones((a, a))))
        return einsum("nab,nbc->nac", ex / moved(einsum("nab->na", ex), lambda x: x[:, :, None]), e[h.name])
    return d.let(form % (scores, h.name), [a, b], f)


def turned(d, h):
    a, b = h.axes
    kind = d.random.randrange(3 if "t" not in h.axes else 1)
    if kind == 0:
        return d.let('permute("n | a, b => n | b, a", %s)' % h.name, [b, a], lambda e: moved(e[h.name], lambda x: x.swapaxes(1, 2)))
    if kind == 1:
        return d.let('sum("n | a, b => n | (b a)", %s)' % h.name, [a * b],
                     lambda e: moved(e[h.name], lambda x: x.swapaxes(1, 2).reshape(-1, a * b)))
    return d.let("reshape(%s : [n | %d])" % (h.name, a * b), [a * b], lambda e: moved(e[h.name], lambda x: x.reshape(-1, a * b)))


def reduced(d, h):
    a, b = h.axes
    kind = d.pick("sum", "max", "min", "prod", "first")
    axis = h.axes.index("t") + 1 if "t" in h.axes else d.pick(1, 2)
    if kind == "sum" or "t" in h.axes and d.empty:
        return d.let('sum("n | a, b => n | %s", %s)' % ("ba"[axis - 1], h.name), [b if axis == 1 else a],
                     lambda e: einsum("nab->n" + "ba"[axis - 1], e[h.name]))
    if kind == "first":
        where_ = d.pick("0", str(h.axes[axis - 1] - 1) if h.axes[axis - 1] != "t" else "0")
        spec = "n | %s, b => n | b" % where_ if axis == 1 else "n | a, %s => n | a" % where_
        return d.let('sum("%s", %s)' % (spec, h.name), [b if axis == 1 else a],
                     lambda e: moved(e[h.name], lambda x: np.take(x, int(where_), axis)))
    made = lambda f: d.let('reduce(%s, "n | a, b => n | %s", %s)' % (kind, "ba"[axis - 1], h.name), [b if axis == 1 else a], f)
    if kind == "prod":
        def product(e):
            x = e[h.name]
            parts = [moved(x, lambda v, j=j: np.take(v, j, axis)) for j in range(x.shape[axis])]
            y = parts[0]
            for one in parts[1:]:
                y = y * one
            return y
        return made(product)
    sign = Value(1 if kind == "max" else -1)
    return made(lambda e: tape.greatest(e[h.name] * sign, axis) * sign)


def windows(d, h):
    a, b = h.axes
    if "t" in h.axes or a < 2:
        return None
    kind = d.pick("conv", "max", "sum", "pad", "edge")
    k = d.pick(2, 3) if kind != "conv" and kind != "edge" else d.pick(1, 3)
    k = min(k, a) if kind not in ("conv", "edge", "pad") else k
    stride = d.pick(1, 2)
    out = (a - k) // stride + 1
    rows = lambda x: np.stack([x[:, stride * o:stride * o + k] for o in range(out)], 1)  # n, o, k, b
    if kind == "max":
        return d.let('reduce(max, "n | %d*o <+? k, b => n | o, b", %s) with (k = %d)' % (stride, h.name, k), [out, b],
                     lambda e: tape.greatest(moved(e[h.name], rows), 2))
    if kind == "sum":
        return d.let('sum("n | %d*o <+? k, b => n | o, b", %s) with (k = %d)' % (stride, h.name, k), [out, b],
                     lambda e: einsum("nokb->nob", moved(e[h.name], rows)))
    if kind == "pad":
        before, after = d.pick(0, 1, 2), d.pick(0, 1)
        return d.let('sum("n | a, b => n | %d^a^%d, b", %s)' % (before, after, h.name), [a + before + after, b], lambda e: tape.join(
            1, Value(np.zeros((e["n"], before, b))), e[h.name], Value(np.zeros((e["n"], after, b)))))
    c, half = d.pick(1, 3), (k - 1) // 2
    w = d.param("[%d, %s -> %d]" % (k, b, c))
    at = np.arange(a)[:, None] + np.arange(k) - half

    def f(e):
        places = np.arange(e["n"] * a * b).reshape(e["n"], a, b)
        got = places[:, np.clip(at, 0, a - 1)]  # n, o, k, b
        if kind == "conv":
            got = np.where(((at < 0) | (at >= a))[None, :, :, None], -1, got)
        return einsum("nokb,ckb->noc", take(e[h.name], got), e[w])
    border = ", border = edge" if kind == "edge" else ""
    return d.let('einsum("n | o =+ k, b; k, b -> c => n | o, c", %s, %s%s)' % (h.name, w, border), [a, c], f)


def scattered(d, h):
    a, b = h.axes
    if "t" in h.axes:
        return None
    v, kind, mode = d.pick(1, 2, 4), d.pick("sum", "sum", "max", "set"), d.pick("wrap", "clamp", "skip")
    at = d.input("[n | %d]" % a, ids(-v, "n", a), "i32")

    def f(e):
        x, to = e[h.name], e[at]
        to = {"wrap": to % v, "clamp": np.clip(to, 0, v - 1), "skip": np.where((to >= 0) & (to < v), to, -1)}[mode]
        hot = np.eye(v + 1)[to][..., :v]  # n, a, v
        if kind == "sum":
            return einsum("nav,nab->nvb", Value(hot), x)
        choose = np.full((e["n"], v, b), -1)
        best = np.full((e["n"], v, b), -np.inf)
        places = np.arange(x.array.size).reshape(x.shape)
        for n_ in range(e["n"]):
            for j in range(a):
                if to[n_, j] >= 0:
                    row = x.array[n_, j]
                    better = row > best[n_, to[n_, j]] if kind == "max" else np.ones(b, bool)
                    better |= choose[n_, to[n_, j]] < 0
                    choose[n_, to[n_, j]] = np.where(better, places[n_, j], choose[n_, to[n_, j]])
                    best[n_, to[n_, j]] = np.where(better, row, best[n_, to[n_, j]])
        made = take(x, choose)
        return tape.maximum(tape.where(choose < 0, Value(-np.inf), made), Value(-2)) if kind == "max" else made
    form = 'scatter("n | a, b; n | a => n | [v], b", %s, %s, reduce = %s, mode = %s) with (v = %d)' % (h.name, at, kind, mode, v)
    return d.let("max(%s, -2)" % form if kind == "max" else form, [v, b], f)


def picked(d, h):
    a, b = h.axes
    if "t" in h.axes:
        return None
    k, mode = d.pick(1, 2, 3), d.pick("wrap", "clamp", "skip")
    at = d.input("[n | %d]" % k, ids(-a, "n", k), "i32")

    def f(e):
        to = e[at]
        to = {"wrap": to % a, "clamp": np.clip(to, 0, a - 1), "skip": np.where((to >= 0) & (to < a), to, -1)}[mode]
        rows = np.arange(e["n"])[:, None, None] * a * b + np.maximum(to, 0)[..., None] * b + np.arange(b)
        return take(e[h.name], np.where(to[..., None] < 0, -1, rows))
    return d.let('gather("n | [a], b; n | k => n | k, b", %s, %s, mode = %s)' % (h.name, at, mode), [k, b], f)


def gated(d, h):
    a, b = h.axes
    w = d.param("[%s]" % b)
    return d.let("%s .* sigmoid(%s .* %s)" % (h.name, h.name, w), [a, b], lambda e: e[h.name] * tape.sigmoid(e[h.name] * e[w]))


ONE = [dense, dense, widen, widen, split, doubled, halves, norm, norm, dropout, dropout, mixed, embedded, looped, looped, sequence,
       sequence, ordered, pointed]
TWO = [along, attention, turned, turned, reduced, windows, windows, scattered, picked, gated]
