"""Forms within forms against the reference: nested.py TSRC SEED COMPILED [SCHEDULES INTERPRETED]

A program has one shape, of one to four axes in any rows, and expressions of that shape, each made of others of it: whatever
a form does to its axes on the way, it comes back to them. So every form may stand in every other, in a loop at run time, in
another order of the axes, among steps of a routine, whatever the dtypes of what is read. The reference runs nodes as they
are; scheduled and unscheduled loops, as the interpreter and each back end have them, are held against it at several sizes.
More programs the interpreter alone runs, by test/fuzz/schedules.c, which also asks for the schedule that each has."""
import collections
import random
import re
import subprocess
import sys
import tempfile

BATCH, INPUT, OUTPUT = range(3)
STORAGE = (BATCH, OUTPUT, INPUT)
SIZES = ["n", "n", "m", "n + 1", "2*n", "1", "2", "3", "4", "5", "7", "8", "9", "16", "17", "33"]
FLOATS = ["f32"] * 6 + ["f64", "bf16", "f16", "f8e4m3", "f8e5m2"]
INTEGERS = ["i32", "i32", "i8", "u8", "i4", "u4", "bool", "u32", "i64"]
LARGEST = 3000  # elements, where a dim counts as 5
STEPS = 3e6     # of a product of many
PROCESSORS = ["native", "native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "znver4", "sapphirerapids"]
MORE = [[], [], [], ["--policy=none"], ["--fp=strict"], ["--fp=fast"], ["--checked"], ["--no-prepack"]]


def is_number(size):
    return size.isdigit()


def at_five(size):
    return eval(size, {name: 5 for name in "nmg"})


class Axes:
    """The letters of a shape, and what stands in its rows."""

    def __init__(self, rows):
        self.rows = rows  # three lists of (letter, size)

    @property
    def stored(self):
        return [pair for row in STORAGE for pair in self.rows[row]]

    def text(self, change=None):
        """A part of a specification, with other texts for some letters; None leaves one out."""
        texts = [[(change or {}).get(name, name) for name, _ in row] for row in self.rows]
        batch, inputs, outputs = (", ".join(t for t in row if t is not None) for row in texts)
        return "%s | %s -> %s," % (batch, inputs, outputs) if outputs else "%s | %s ->" % (batch, inputs)

    def shape(self, change=None):
        texts = [[(change or {}).get(name, size) for name, size in row] for row in self.rows]
        batch, inputs, outputs = (", ".join(t for t in row if t is not None) for row in texts)
        return "[%s%s%s]" % (batch + " | " if batch else "", inputs + " -> " if inputs else "", outputs)

    def row_of(self, letter):
        return next(row for row in range(3) if letter in [name for name, _ in self.rows[row]])


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names, self.lines, self.dims = 0, [], {"n", "m"}
        self.exact = self.random.random() < 0.4
        self.dtype = self.pick("i32", "i32", "i64", "f32") if self.exact else self.pick("f32", "f32", "f32", "f64")
        self.axes, self.steps, self.plain = self.new_axes(), [], False

    # ---- what is drawn ----

    def chance(self, of):
        return self.random.random() < of

    def pick(self, *of):
        return self.random.choice(of)

    def name(self, stem):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def new_axes(self):
        while True:
            pairs = [(letter, self.random.choice(SIZES)) for letter in "abcd"[:self.pick(1, 2, 2, 3, 3, 4)]]
            total = 1
            for _, size in pairs:
                total *= at_five(size)
            if total <= LARGEST:
                return Axes(self.in_rows(pairs))

    def in_rows(self, pairs):
        rows = [[], [], []]
        for pair in pairs:
            rows[self.pick(BATCH, INPUT, OUTPUT, OUTPUT)].append(pair)
        return rows

    def some(self, least=1):
        """So many letters at least, with their sizes."""
        stored = self.axes.stored
        return self.random.sample(stored, self.random.randint(min(least, len(stored)), len(stored)))

    def input(self, shape, dtype=None):
        dtype = dtype or self.storage()
        name = self.name("x")
        start = "input" if self.chance(0.85) or "n" in shape or "m" in shape or "g" in shape else "param"
        self.lines.append("%s %s : %s %s" % (start, name, dtype, shape))
        return name

    def storage(self):
        small = INTEGERS[2:7]  # so that products of many are floats
        if self.exact:
            return self.random.choice(small if self.dtype == "f32" else INTEGERS)
        return self.random.choice(FLOATS + INTEGERS[2:])

    def computed(self, name):
        """An input as the dtype that is computed with."""
        return "%s(%s)" % (self.dtype, name)

    def letters_rows(self, pairs):
        """A shape and a part of a specification of these, in any rows."""
        axes = Axes(self.in_rows(pairs))
        return axes.shape(), axes.text()

    def let(self, text):
        """Now and then a tensor with a name, where no loop's names are in it."""
        if self.plain or self.steps or self.chance(0.6):
            return text
        name = self.name("t")
        self.lines.append("let %s = %s" % (name, text))
        return name

    # ---- expressions of the shape ----

    def leaf(self, h):
        if self.steps and self.steps[-1] and self.chance(0.4):
            step, count = self.steps[-1]
            rows = [[("z", count)] + self.axes.rows[BATCH], *self.axes.rows[1:]]
            return self.computed("(%s @ %s)" % (self.input(Axes(rows).shape()), step))
        return self.pick(*h, self.computed(self.input(self.axes.shape())))

    def value(self, h, depth):
        """An expression of the shape and the dtype; h: what loops carry."""
        if depth <= 0:
            return self.leaf(h)
        for _ in range(20):
            text = self.pick(*FORMS)(self, h, depth - 1)
            if text is not None:
                return self.let(self.small(text))
        return self.leaf(h)

    def small(self, text):
        """So that numbers stay in a range."""
        if self.exact:
            return "%s((%s) %% 8)" % (self.dtype, text) if self.dtype == "f32" else "(%s) %% 8" % text if self.chance(
                0.7) else "(%s)" % text
        return self.pick("tanh(%s)", "(0.3 * (%s))", "min(max(%s, -3), 3)", "sin(%s)").replace("%s", text)

    def some_letter(self, want=lambda size: True):
        fitting = [pair for pair in self.axes.stored if want(pair[1])]
        return self.random.choice(fitting) if fitting else (None, None)


# ---- pointwise ----

FUNCTIONS = ("relu sat01 exp expm1 exp2 sin cos tan asin acos atan sinh cosh tanh asinh atanh sigmoid softplus erf erfc gelu "
             "abs sign floor ceil round trunc neg not isnan").split()
WHOLE = "relu abs sign neg sat01".split()


def unary(d, text):
    return "%s(%s)" % (d.pick(*(WHOLE if d.exact else FUNCTIONS)), text)


def form_shared(d, h, depth):
    """Functions of functions of one value, each read several times."""
    names = [d.name("s") for _ in range(d.pick(1, 2, 3))]
    texts, last = [d.value(h, depth)], names[0]
    for name in names[1:]:
        texts.append("%s .* %s + %s" % (unary(d, last), d.pick(*names[:len(texts)]), d.leaf(h)))
        last = name
    lets = ", ".join("%s = %s" % pair for pair in zip(names, texts))
    return "(let %s in %s .* %s - %s)" % (lets, unary(d, last), d.pick(*names), unary(d, d.pick(*names)))


def form_binary(d, h, depth):
    op = d.pick("+", "-", ".*", "max", "min", "+", "where")
    a, b = d.value(h, depth), d.value(h, depth - d.pick(0, 1))
    if op == "where":
        return "where(%s %s %s, %s, %s)" % (a, d.pick("<", ">="), b, b, a)
    return "%s(%s, %s)" % (op, a, b) if op in ("max", "min") else "%s %s %s" % (a, op, b)


def form_cast(d, h, depth):
    kinds = ["i8", "u8", "i4", "u4", "bool", "i32"] if d.exact else ["bf16", "f16", "f8e4m3", "f8e5m2", "f64", "f32", "i8", "i4"]
    return d.computed("%s(%s)" % (d.pick(*kinds), d.value(h, depth)))


def form_scalar(d, h, depth):
    return "%s %s %s" % (d.value(h, depth), d.pick("+", "-", ".*"), d.computed(d.input("[]")))


def form_broadcast(d, h, depth):
    """With an input that has some of the axes, and others of 1."""
    rows = []
    for row in d.axes.rows:
        row = row[d.random.randint(0, len(row)) if d.chance(0.5) else 0:]
        rows.append([(name, "1" if d.chance(0.3) else size) for name, size in row])
    small = d.computed(d.input(Axes(rows).shape()))
    return "%s %s %s" % (d.value(h, depth), d.pick("+", "-", ".*"), small)


# ---- rows ----

def form_row(d, h, depth):
    """Something of some axes, which the others meet."""
    gone = {name: "0" for name, _ in d.some()}
    fold = d.pick("sum", "max", "min") if not d.exact else d.pick("sum", "sum", "max", "prod")
    a = d.value(h, depth)
    b = a if d.chance(0.5) and len(a) < 60 else d.value(h, depth)
    row = 'reduce(%s, "%s => %s", %s)' % (fold, d.axes.text(), d.axes.text(gone), b)
    if fold in ("max", "min"):
        row = "min(max(%s, -9), 9)" % row
    return "%s %s %s" % (a, d.pick("-", "+", ".*"), row)


def form_softmax(d, h, depth):
    if d.exact:
        return None
    letter, _ = d.some_letter()
    gone = d.axes.text({letter: "0"})
    e = d.name("e")
    return '(let %s = exp(%s) in %s / (sum("%s => %s", %s) + 0.1))' % (e, d.value(h, depth), e, d.axes.text(), gone, e)


def form_argmax(d, h, depth):
    letter, _ = d.some_letter()
    without = d.axes.text({letter: None})
    places = 'argmax("%s => %s", %s)' % (d.axes.text(), without, d.value(h, depth))
    return '%s + %s(sum("%s => %s", %s))' % (d.leaf(h), d.dtype, without, d.axes.text({letter: "0"}), places)


# ---- products ----

def form_product(d, h, depth):
    """A matrix along one axis, or several, each for some of the others."""
    pairs = d.some()
    letters = dict(pairs)
    along = dict(zip(letters, "uvwx"))
    along = {name: new for name, new in along.items() if d.chance(0.7)} or {pairs[0][0]: "u"}
    weight = [(name, letters[name]) for name in along] + [(along[name], letters[name]) for name in along]
    weight += [(name, size) for name, size in d.axes.stored if name not in along and d.chance(0.3)]
    if len(weight) > 5:
        return None
    d.random.shuffle(weight)
    shape, text = d.letters_rows(weight)
    a, w = d.value(h, depth), d.computed(d.input(shape))
    first = d.chance(0.5)
    parts = (text, d.axes.text(), w, a) if first else (d.axes.text(), text, a, w)
    return 'einsum("%s; %s => %s", %s, %s)' % (*parts[:2], d.axes.text(along), *parts[2:])


def form_many(d, h, depth):
    """A chain of matrices along an axis, and vectors."""
    letter, size = d.some_letter()
    parts, operands, last = [d.axes.text()], [d.value(h, depth)], letter
    steps = d.pick(1, 2, 2, 3, 5, 7)
    while at_five("*".join("(%s)" % s for _, s in d.axes.stored)) * at_five(size) ** steps > STEPS:
        steps -= 1
    for new in "opqrstuv"[:steps]:
        shape, text = d.letters_rows(d.random.sample([(last, size), (new, size)], 2))
        parts.append(text)
        operands.append(d.input(shape))
        last = new
    for _ in range(d.pick(0, 1, 2, 7)):
        shape, text = d.letters_rows([d.some_letter()] if d.chance(0.7) else [])
        parts.append(text)
        operands.append(d.input(shape))
    order = list(range(len(parts)))
    d.random.shuffle(order)
    return '%s(einsum("%s => %s", %s))' % (d.dtype, "; ".join(parts[i] for i in order), d.axes.text({letter: last}),
                                        ", ".join(operands[i] for i in order))


def form_attention(d, h, depth):
    letter, _ = d.some_letter()
    rest = [name for name, _ in d.axes.stored if name != letter]
    summed = [name for name in rest if d.chance(0.5)]
    scores = d.axes.text({**{name: None for name in summed}, letter: "%s, u" % letter})
    other = d.axes.text({letter: "u"})
    a, b = d.value(h, depth), d.value(h, depth)
    s = 'einsum("%s; %s => %s", %s, %s)' % (d.axes.text(), other, scores, a, b)
    e = d.name("e")
    if d.exact:
        return 'einsum("%s; %s => %s", (%s) %% 4, %s)' % (scores, other, d.axes.text(), s, d.leaf(h))
    weights = "exp(sin(%s))" % s
    sums = d.axes.text({**{name: None for name in summed}, letter: "%s, 0" % letter})
    weights = '(let %s = %s in %s / (sum("%s => %s", %s) + 1))' % (e, weights, e, scores, sums, e)
    return 'einsum("%s; %s => %s", %s, %s)' % (scores, other, d.axes.text(), weights, d.leaf(h))


def form_combine(d, h, depth):
    """Other operations and folds than sums of products."""
    letter, size = d.some_letter()
    shape, text = d.letters_rows([(letter, size), ("u", d.pick("2", "3", size))])
    op, fold = d.pick("add", "sub", "max", "min", "mul"), d.pick("max", "min", "sum", "sum")
    made = 'einsum("%s; %s => %s", %s, %s, op = %s, reduce = %s)' % (
        d.axes.text(), text, d.axes.text(), d.value(h, depth), d.computed(d.input(shape)), op, fold)
    return "max(min(%s, 9), -9)" % made if fold in ("max", "min") else made


# ---- windows ----

def window(d, size):
    """An axis of windows in steps of 1, as many as it has elements; how many elements a window has."""
    k, by, new = d.pick(1, 2, 3, 3), d.pick("", "", "2*"), d.pick("v", "w")
    kind = d.pick("mark", "mark", "margins", "dim")
    if kind == "dim":
        d.dims.add("g")
        return "%%s =+[g] g*%s" % new, new, 3
    if kind == "mark":
        return "%%s =+ %s%s" % (by, new), new, k
    over = (k - 1) * (2 if by else 1)
    before = d.random.randint(0, over)
    return "%%s =+[%d, %d] %s%s" % (before, over - before, by, new), new, k


def border(d):
    return d.pick("", "", "", "", ", border = edge", ", border = skip", ", border = 0.5" if not d.exact else ", border = 2",
                  ", border = reflect", ", border = wrap")


def windows(d, most=2):
    """Texts of the letters that have windows, and the sizes of these."""
    change, sizes = {}, {}
    for letter, size in d.some()[:d.random.randint(1, most)]:
        text, new, k = window(d, size)
        if new not in sizes:
            change[letter], sizes[new] = text % letter, k
    return change, sizes


def with_sizes(text, sizes):
    return "(%s with (%s))" % (text, ", ".join("%s = %s" % pair for pair in sizes.items()))


def form_window(d, h, depth):
    change, sizes = windows(d)
    a, parts = d.value(h, depth), d.axes.text(change)
    if d.chance(0.5):
        fold = d.pick("sum", "max", "min") if d.exact or d.chance(0.5) else "sum"
        text = 'reduce(%s, "%s => %s", %s%s)' % (fold, parts, d.axes.text(), a, border(d))
        return with_sizes("max(min(%s, 9), -9)" % text if fold != "sum" else text, sizes)
    pairs = [(new, str(k)) for new, k in sizes.items()]
    pairs += [pair for pair in d.axes.stored if pair[0] not in change and d.chance(0.3)]
    shape, text = d.letters_rows(pairs)
    return 'einsum("%s; %s => %s", %s, %s%s)' % (parts, text, d.axes.text(), a, d.computed(d.input(shape)), border(d))


def form_unfolded(d, h, depth):
    """The greatest, or the last in order, of each window; as an axis of its own."""
    change, sizes = windows(d, 1)
    (new, k), = sizes.items()
    letter, = change
    both = d.axes.text({letter: "%s, %s" % (letter, new)})
    made = with_sizes('sum("%s => %s", %s%s)' % (d.axes.text(change), both, d.value(h, depth), border(d)), sizes)
    if d.chance(0.5):
        v, at = d.name("v"), d.name("v")
        return '(let (%s, %s) = topk(%d, "%s => %s", %s) in sum("%s => %s", %s))' % (
            v, at, d.random.randint(1, k), both, d.axes.text({letter: "%s, y" % letter}), made,
            d.axes.text({letter: "%s, y" % letter}), d.axes.text(), v if d.chance(0.6) else d.computed(at))
    made = 'sort("%s => %s", %s)' % (d.axes.text({letter: "%s, [%s]" % (letter, new)}), both, made)
    return 'sum("%s => %s", %s)' % (d.axes.text({letter: "%s, %d" % (letter, d.random.randrange(k))}), d.axes.text(), made)


def form_spread(d, h, depth):
    """What windows write, read by windows."""
    letter, size = d.some_letter(lambda size: is_number(size) or size == "n + 1")
    if letter is None:
        return None
    k, by = d.pick(2, 3), d.pick("", "2*")
    stride = d.pick(1, 1, 2)
    change = {letter: "%d*%s <+ %sw" % (stride, letter, by)}
    a = d.value(h, depth)
    wide = 'einsum("%s; w => %s", %s, %s)' % (d.axes.text(), d.axes.text(change), a, d.computed(d.input("[%d]" % k)))
    back = {letter: "%d*%s <+ %sw" % (stride, letter, by)}
    return with_sizes('sum("%s => %s", %s)' % (d.axes.text(back), d.axes.text(), wide), {"w": k})


def form_strided(d, h, depth):
    """Written at every second place, and read there, or beside it."""
    letter, _ = d.some_letter()
    step = d.pick(2, 3)
    at, other = d.random.randrange(step), d.random.randrange(step)
    at_text = "%d*%s + %d" % (step, letter, at) if at else "%d*%s" % (step, letter)
    wide = 'sum("%s => %s", %s)' % (d.axes.text(), d.axes.text({letter: at_text}), d.value(h, depth))
    other_text = at_text if d.chance(0.7) else "%d*%s + %d" % (step, letter, other)
    return '%s + sum("%s => %s", %s)' % (d.leaf(h), d.axes.text({letter: other_text}), d.axes.text(), wide)


# ---- along an axis ----

def form_cumulate(d, h, depth):
    letter, _ = d.some_letter()
    fold = d.pick("sum", "sum", "max", "min") if not d.exact else d.pick("sum", "sum", "max", "prod", "min")
    how = ", exclusive" * (fold in ("sum", "prod") and d.chance(0.3)) + ", reverse" * d.chance(0.3)
    return 'cumulate(%s, "%s => %s", %s%s)' % (fold, d.axes.text({letter: "[%s]" % letter}), d.axes.text(),
                                              d.value(h, depth), how)


def form_sort(d, h, depth):
    letter, size = d.some_letter()
    how = d.pick("", ", descending")
    bracket = d.axes.text({letter: "[%s]" % letter})
    a = d.value(h, depth)
    kind = d.pick("sort", "argsort", "taken", "topk")
    if kind == "sort":
        return 'sort("%s => %s", %s%s)' % (bracket, d.axes.text(), a, how)
    places = 'argsort("%s => %s", %s%s)' % (bracket, d.axes.text(), a, how)
    if kind == "argsort":
        return d.computed(places)
    if kind == "taken":
        others = d.axes.text({letter: "u"})
        return 'gather("%s; %s => %s", %s, %s)' % (bracket, others, others, d.leaf(h), places)
    v, at = d.name("v"), d.name("v")
    return "(let (%s, %s) = topk(%s, \"%s => %s\", %s%s) in %s)" % (
        v, at, size, d.axes.text(), d.axes.text({letter: "y"}), a, d.pick("", ", ascending"), d.pick(v, d.computed(at)))


# ---- indices ----

def indices(d, h, depth, pairs):
    """Integers of some letters, in any rows; what their part of the specification is."""
    axes = Axes(d.in_rows(pairs))
    kind = d.pick("input", "input", "cast")
    if kind == "cast" and [name for name, _ in axes.stored] == [name for name, _ in d.axes.stored]:
        return d.axes.text(), "i32(%s)" % d.value(h, depth)
    return axes.text(), d.input(axes.shape(), d.pick("i32", "i64", "i8", "u8", "u32"))


def form_gather(d, h, depth):
    picked = d.some()[:d.pick(1, 1, 2)]
    if len(picked) == 2 and d.axes.stored.index(picked[0]) > d.axes.stored.index(picked[1]):
        picked.reverse()
    if len(picked) == 2 and d.axes.text().index(picked[0][0]) > d.axes.text().index(picked[1][0]):
        picked.reverse()
    new = dict(zip([name for name, _ in picked], "uv"))
    change, parts, operands = {name: "[%s]" % name for name in new}, [], [d.value(h, depth)]
    for name, size in picked:
        pairs = [(new[name], size)] + [(new.get(other, other), s) for other, s in d.axes.stored
                                       if other != name and d.chance(0.3)]
        text, ids = indices(d, h, depth, pairs)
        parts.append(text)
        operands.append(ids)
    return 'gather("%s; %s => %s", %s, mode = %s)' % (d.axes.text(change), "; ".join(parts), d.axes.text(new),
                                                   ", ".join(operands), d.pick("clamp", "wrap", "skip"))


def form_scatter(d, h, depth):
    picked = d.some()[:d.pick(1, 1, 1, 2)]
    if len(picked) == 2 and d.axes.text().index(picked[0][0]) > d.axes.text().index(picked[1][0]):
        picked.reverse()
    new = dict(zip([name for name, _ in picked], "kl"))
    change, parts, operands = {name: "[%s]" % new[name] for name in new}, [], [d.value(h, depth)]
    for name, size in picked:
        pairs = [(name, size)] + [(other, s) for other, s in d.axes.stored if other != name and d.chance(0.3)]
        text, ids = indices(d, h, depth, pairs)
        parts.append(text)
        operands.append(ids)
    fold = d.pick("sum", "sum", "sum", "max", "min", "set", "prod")
    made = 'scatter("%s; %s => %s", %s, reduce = %s, mode = %s)' % (
        d.axes.text(), "; ".join(parts), d.axes.text(change), ", ".join(operands), fold, d.pick("clamp", "wrap", "skip"))
    made = with_sizes(made, {new[name]: size for name, size in picked})
    return "max(min(%s, 9), -9)" % made if fold in ("max", "min") else made


# ---- parts and moves ----

def form_rolled(d, h, depth):
    """Two parts of an axis, the other way round."""
    letter, size = d.some_letter(lambda size: size in ("n + 1", "2*n") or is_number(size) and size != "1")
    if letter is None:
        return None
    first = {"n + 1": "1", "2*n": "n"}.get(size) or str(d.random.randint(0, int(size)))
    part = lambda change, of, sizes: with_sizes('sum("%s => %s", %s)' % (
        d.axes.text({letter: change}), d.axes.text({letter: of}), a), sizes)
    a = d.name("r")
    rest = part("u^v", "v", {"u": first})
    begin = part("u^_", "u", {"u": first})
    return '(let %s = %s in concat("%s; %s => %s", %s, %s))' % (
        a, d.value(h, depth), d.axes.text({letter: "v"}), d.axes.text({letter: "u"}), d.axes.text({letter: "v^u"}), rest,
        begin)


def form_behind(d, h, depth):
    """Behind something else, and taken from there; or what reaches into it."""
    letter, size = d.some_letter()
    more = d.pick("2", "3", "n", "g")
    d.dims.add(more) if more == "g" else None
    other = d.computed(d.input(d.axes.shape({letter: more})))
    both = 'concat("%s; %s => %s", %s, %s)' % (d.axes.text({letter: "u"}), d.axes.text({letter: "v"}),
                                              d.axes.text({letter: "u^v"}), other, d.value(h, depth))
    if d.chance(0.4) and not is_number(more):
        return 'sum("%s => %s", %s)' % (d.axes.text({letter: "%s + %s" % (letter, more)}), d.axes.text(), both)
    if d.chance(0.4):
        return with_sizes('sum("%s => %s", %s)' % (d.axes.text({letter: "v^_"}), d.axes.text({letter: "v"}), both), {"v": size})
    return 'sum("%s => %s", %s)' % (d.axes.text({letter: "%s^%s" % (more, letter)}), d.axes.text(), both)


def form_stacked(d, h, depth):
    kind = d.pick("batch", "input", "output")
    row = ("batch", "input", "output").index(kind)
    count = d.pick(1, 2, 2, 3)
    rows = [list(r) for r in d.axes.rows]
    rows[row].insert(0, ("z", str(count)))
    made = "stack(%s, %s)" % (kind, ", ".join(d.value(h, depth - i) for i in range(count)))
    if row == BATCH and d.chance(0.3):
        return "%s @ %d" % (made, d.random.randrange(count))
    at = Axes(rows).text({"z": str(d.random.randrange(count))} if d.chance(0.4) else {})
    return 'sum("%s => %s", %s)' % (at, d.axes.text(), made)


def other_axes(d, rows, function):
    """With another shape while the function runs."""
    kept, d.axes, plain, d.plain = d.axes, Axes(rows), d.plain, True
    made = function()
    d.axes, d.plain = kept, plain
    return made


def inside(d, h, moved, rows, depth, back):
    """A value of other rows, which begins with what is moved there; back: from it to the shape."""
    made = other_axes(d, rows, lambda: "%s" % d.value([moved], depth))
    return back(made)


def form_permuted(d, h, depth):
    pairs = list(d.axes.stored)
    d.random.shuffle(pairs)
    rows = d.in_rows(pairs)
    there = Axes(rows)
    moved = d.name("p")
    kind = d.pick("permute", "permute", "sum")
    made = inside(d, h, moved, rows, depth, lambda text: '%s("%s => %s", %s)' % (kind, there.text(), d.axes.text(), text))
    return '(let %s = %s("%s => %s", %s) in %s)' % (moved, kind, d.axes.text(), there.text(), d.value(h, depth - 1), made)


def form_turned(d, h, depth):
    rows = [d.axes.rows[BATCH], d.axes.rows[OUTPUT], d.axes.rows[INPUT]]
    moved = d.name("p")
    made = inside(d, h, moved, rows, depth, lambda text: "(%s).T" % text)
    return "(let %s = (%s).T in %s)" % (moved, d.value(h, depth - 1), made)


def form_over_bar(d, h, depth):
    batch, inputs, outputs = d.axes.rows
    to_batch = bool(outputs) and (not batch or d.chance(0.5))
    if not outputs and not batch:
        return None
    rows = [batch + outputs[:1], inputs, outputs[1:]] if to_batch else [batch[:-1], inputs, batch[-1:] + outputs]
    there, back = ("to_batch", "to_output") if to_batch else ("to_output", "to_batch")
    moved = d.name("p")
    made = inside(d, h, moved, rows, depth, lambda text: "%s(%s)" % (back, text))
    return "(let %s = %s(%s) in %s)" % (moved, there, d.value(h, depth - 1), made)


def form_joined(d, h, depth):
    row = d.pick(BATCH, INPUT, OUTPUT)
    if len(d.axes.rows[row]) < 2:
        return None
    at = d.random.randrange(len(d.axes.rows[row]) - 1)
    (first, outer), (second, inner) = d.axes.rows[row][at:at + 2]
    size = "(%s)*(%s)" % (outer, inner)
    rows = [list(r) for r in d.axes.rows]
    rows[row][at:at + 2] = [("j", size)]
    both = d.pick("(%s %s)", "%s&%s") % (first, second)
    moved = d.name("p")
    made = inside(d, h, moved, rows, depth, lambda text: with_sizes('sum("%s => %s", %s)' % (
        d.axes.text({first: both, second: None}), d.axes.text(), text), {first: outer, second: inner}))
    return '(let %s = sum("%s => %s", %s) in %s)' % (moved, d.axes.text(), d.axes.text({first: both, second: None}),
                                                  d.value(h, depth - 1), made)


def form_flat(d, h, depth):
    pairs = d.axes.stored
    if not pairs:
        return None
    size = "*".join("(%s)" % s for _, s in pairs)
    rows = [[], [], [("j", size)]]
    moved = d.name("p")
    made = inside(d, h, moved, rows, depth, lambda text: "reshape((%s) : %s)" % (text, d.axes.shape()))
    return "(let %s = reshape((%s) : [%s]) in %s)" % (moved, d.value(h, depth - 1), size, made)


def form_functions(d, h, depth):
    """A function that is applied twice."""
    name = d.name("f")
    x = d.name("q")
    kept = d.steps, d.plain
    d.steps, d.plain = [], True
    body = d.value([x], depth)
    d.steps, d.plain = kept
    d.lines.append("fn %s(%s) = %s" % (name, x, body))
    return "%s(%s) + %s(%s)" % (name, d.value(h, depth - 1), name, d.leaf(h))


# ---- random numbers, parameters ----

def form_noise(d, h, depth):
    if d.exact:
        return None
    seed = d.input("[]", "i32")
    return "%s + 0.1 * %s(%s)" % (d.value(h, depth), d.pick("uniform", "normal"), seed)


def form_counted(d, h, depth):
    """Places of elements."""
    if not d.axes.rows[OUTPUT]:
        return None
    size = d.axes.rows[OUTPUT][-1][1]
    return "%s + %s(range(%s))" % (d.value(h, depth), d.dtype, size)


def form_words(d, h, depth):
    """Random words that elements count, moved along an axis."""
    if d.exact:
        return None
    letter, size = d.some_letter()
    words = "threefry4x32(%s, i32(8 * %s))" % (d.input("[]", "i32"), d.value(h, depth))
    if d.chance(0.5):
        ids = d.input("[%s]" % size, "i32")
        words = 'gather("%s; u => %s", %s, %s, mode = wrap)' % (d.axes.text({letter: "[%s]" % letter}),
                                                             d.axes.text({letter: "u"}), words, ids)
    return "%s(uint4x32_to_uniform(%s))" % (d.dtype, words)


def form_reached(d, h, depth):
    """In a step: what an input has behind the place that the step says."""
    if not d.steps or not d.steps[-1]:
        return None
    step, count = d.steps[-1]
    letter, size = d.some_letter()
    long = d.input(d.axes.shape({letter: "%s + %s" % (size, count)}))
    part = 'sum("%s => %s", %s)' % (d.axes.text({letter: "%s + %s" % (letter, step)}), d.axes.text(), long)
    return "%s + %s%s" % (d.value(h, depth), d.dtype, with_sizes(part, {letter: size}))


def form_parameter(d, h, depth):
    name, a = d.name("w"), d.value(h, depth)
    if any(not is_number(size) for row in (INPUT, OUTPUT) for _, size in d.axes.rows[row]) or d.exact:
        return None
    axes = Axes([[], d.axes.rows[INPUT], d.axes.rows[OUTPUT]])
    d.lines.append("param %s : %s = %s" % (name, axes.shape(), d.pick("0.5", "uniform()", "0.1 * offsets()", "normal() / 2")))
    return "%s %s %s(%s)" % (a, d.pick("+", ".*"), d.dtype, name)


# ---- loops ----

def counts(d):
    return d.pick("n", "m", "n + 1", "2", "3", "1", "0")


def body_of(d, names, step, depth):
    """What a step makes; step: its name and how many there are, or None."""
    d.steps.append(step)
    made = "%s(%s)" % (d.dtype, d.value(names, depth))
    d.steps.pop()
    return made


def form_scan(d, h, depth):
    count, state, step = counts(d), d.name("h"), d.name("i")
    known = (step, count)
    start = d.value(h, depth - 1)
    kind = d.pick("last", "last", "two", "all", "until", "iterate")
    if kind == "iterate":
        known = None
        kept = d.pick("last", "all")
        times = d.pick(1, 2, 3)
        if kept == "last":
            return "iterate(%d, %s = %s) { %s }" % (times, state, start, body_of(d, [state], known, depth))
        count = str(times)
        loop = "iterate(%d, %s = %s)" % (times, state, start)
    else:
        loop = "scan(%s, %s = %s, %s)" % (count, state, start, step)
    if kind == "last":
        return "%s { %s }" % (loop, body_of(d, [state], known, depth))
    if kind == "two":
        other = d.name("g")
        first, second = body_of(d, [state, other], known, depth), body_of(d, [state, other], known, depth - 1)
        names = d.name("k"), d.name("k")
        return "(let (%s, %s) = scan(%s, (%s, %s) = (%s, %s), %s) { (%s, %s) } in %s)" % (
            *names, count, state, other, start, d.leaf(h), step, *((first, second) if d.chance(0.6) else (other, first)),
            d.pick(names[0], "%s + %s" % names))
    names = d.name("k"), d.name("k")
    if kind == "until":
        return "(let (%s, %s) = %s until (%s >= %d) { %s } in %s)" % (
            *names, loop, step, d.pick(0, 1, 2), body_of(d, [state], None, depth), d.pick(names[0], "%s + %s(%s)" % (
                names[0], d.dtype, names[1])))
    following = d.name("s")
    rows = Axes([[("z", count)] + d.axes.rows[BATCH], *d.axes.rows[1:]])
    return '(let (%s, %s) = %s { let %s = %s in (%s, %s) } in %s + sum("%s => %s", %s))' % (
        *names, loop, following, body_of(d, [state], known, depth), following, d.pick(following, following, state),
        names[0], rows.text(), d.axes.text(), names[1])


def write_of(d, state, known, depth):
    """A step that writes the state, or a place of an axis, where what the axis has is folded."""
    places = [(letter, int(size)) for letter, size in d.axes.stored if is_number(size) and int(size) > 0]
    change = {}
    if places and d.chance(0.7):
        letter, size = d.pick(*places)
        change[letter] = str(d.random.randrange(size))
    return '%s =%s %s via "%s => %s" in' % (state, d.pick(":", ":", "+", "-", "*", "max", "min", ":+"), body_of(d, [state], known, depth),
                                           d.axes.text(), d.axes.text(change))


def form_writes(d, h, depth):
    """Steps that write what they carry, read it between, and as it was before."""
    count, state, step = counts(d), d.name("h"), d.name("i")
    known, old = (step, count), d.name("o")
    start, writes = d.value(h, depth - 1), [write_of(d, state, known, depth - 1)]
    names = [state]
    if d.chance(0.5):
        writes.insert(0, "let %s = %s in" % (old, d.pick(state, "sin(%s)" % state if not d.exact else "%s + 1" % state)))
        names.append(old)
    if d.chance(0.4):
        writes.append(write_of(d, state, known, 0))
    last = state if d.chance(0.4) else body_of(d, names, known, depth - 1)
    if d.chance(0.5):
        return "scan(%s, %s = %s, %s) { %s %s }" % (count, state, start, step, " ".join(writes), last)
    made = d.name("k"), d.name("k")
    rows = Axes([[("z", count)] + d.axes.rows[BATCH], *d.axes.rows[1:]])
    return '(let (%s, %s) = scan(%s, %s = %s, %s) { %s (%s, %s) } in %s + sum("%s => %s", %s))' % (
        *made, count, state, start, step, " ".join(writes), last, body_of(d, names, known, 0), made[0], rows.text(),
        d.axes.text(), made[1])


FORMS = ([form_binary] * 3 + [form_cast, form_scalar] + [form_row] * 2 + [form_softmax, form_argmax] + [form_product] * 2 +
         [form_many, form_attention, form_combine] + [form_window] * 2 + [form_unfolded, form_spread, form_strided] +
         [form_cumulate, form_sort] + [form_gather] * 2 + [form_scatter] * 2 + [form_rolled, form_behind, form_stacked] +
         [form_permuted, form_turned, form_over_bar, form_joined, form_joined, form_flat, form_functions, form_noise] +
         [form_counted, form_parameter, form_words, form_broadcast, form_shared, form_shared, form_reached] + [form_scan] * 3 + [form_writes] * 2)


def routine(d):
    """Steps on a tensor of the state, of more elements along an axis, that a scalar says a place in."""
    letter, size = d.some_letter()
    name, cache = d.name("r"), d.name("c")
    if any(not is_number(s) for _, s in d.axes.stored):
        return
    long = str(int(size) + 5)
    d.lines.append("param %s : %s %s" % (cache, d.dtype, d.axes.shape({letter: long})))
    first, second = d.value([], 2), d.value([], 1)
    place = d.axes.text({letter: "%s + at" % letter})
    d.lines.append("routine %s(at : %s) -> %s, %s, %s {" % (name, d.pick("i32", "i64"), name + "_y", name + "_z", cache))
    d.lines.append('    %s =%s id(%s) via "%s => %s"' % (cache, d.pick(":", "+", "max", ":+"), first, d.axes.text(), place))
    d.lines.append('    %s_y =: %s' % (name, d.small('sum("%s => %s", %s)' % (place, d.axes.text(), cache))))
    d.lines.append('    %s_z =: %s_y + %s' % (name, name, second))
    d.lines.append("}")


def program(seed):
    d = Draw(seed)
    outputs = []
    for _ in range(d.pick(1, 1, 2)):
        name = d.name("y")
        text = d.value([], d.pick(1, 2, 2, 3))
        outputs.append("output %s = %s" % (name, text))
    if d.chance(0.2):
        routine(d)
    return "\n".join(["dim %s" % dim for dim in sorted(d.dims)] + d.lines + outputs) + "\n"


def options(seed, text):
    draw = random.Random(seed + 1)
    chosen = [draw.choice(["-O1", "-O1", "-O2", "-O3"]), draw.choice(["--verify=run"] * 4 + ["--verify=sums"])]
    for dim in re.findall(r"^dim (\w+)", text, re.M):
        chosen += ["-D%s=%d" % (dim, draw.choice([0, 1, 2, 3, 5, 7, 13, 16]))] * (draw.random() < 0.15)
    if draw.random() < 0.15:
        return chosen + ["--target=cuda:" + draw.choice(["sm_80", "sm_90", "sm_90a"])]
    return chosen + ["-march=" + draw.choice(PROCESSORS), "--grain=%d" % draw.choice([1, 1, 200, 20000]), *draw.choice(MORE)]


def compiled(tsrc, number, folder):
    """What is wrong, the code of what is refused, or nothing."""
    text = program(number)
    chosen, path = options(number, text), folder + "/p.tsr"
    with open(path, "w", encoding="utf8") as file:
        file.write(text)
    command = [tsrc, "-Wno-all", *chosen, path]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "no end, %s\n%s" % (" ".join(chosen), text)
    codes = re.findall(r"error: .*\[(E\d+)\]", run.stderr)
    if run.returncode == 1 and codes and codes[0] < "E05" and "bug:" not in run.stderr:
        return codes[0]
    return run.returncode and "%s, status %d\n%s%s" % (" ".join(chosen), run.returncode, text,
                                                      (run.stdout + run.stderr)[-3000:])


def interpreted(schedules, numbers, folder):
    """What is said of those that differ."""
    paths = ["%s/p%d.tsr" % (folder, number) for number in numbers]
    for number, path in zip(numbers, paths):
        with open(path, "w", encoding="utf8") as file:
            file.write(program(number))
    run = subprocess.run([schedules, "1", "0", *paths], capture_output=True, text=True, timeout=600)
    lines = [line for line in run.stdout.splitlines() if not re.search("was never made$|: refused, or not made again", line)]
    if not lines or not lines[-1].startswith("0 programs: "):
        return "status %d\n%s%s" % (run.returncode, run.stdout, run.stderr)
    return "\n".join(lines[:-1]) + run.stderr


def main():
    tsrc, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    wrong, refused = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        said = [(number, compiled(tsrc, number, folder)) for number in range(seed, seed + count)]
        if len(sys.argv) > 4:
            more = range(seed + count, seed + count + int(sys.argv[5]))
            said.append((more[0], interpreted(sys.argv[4], more, folder)))
    for number, text in said:
        if text and re.fullmatch(r"E\d+", text):
            refused[text] += 1
        elif text:
            wrong += 1
            print("WRONG seed %d: %s" % (number, text))
    print("%d programs compiled, %d are wrong; %s" % (count - sum(refused.values()), wrong, dict(refused)))


if __name__ == "__main__":
    main()
