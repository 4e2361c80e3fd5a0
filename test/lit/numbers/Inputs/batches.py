"""A member of a batch has the same bits in a batch of any size, whether that is a dim or a number in the program:
random products, sums, softmax, norms, attention and convolutions with batch axes, several in a program."""
import random
import re
import sys

import numpy as np

from tsrlib import Model, to_bf16

NUMBERS = [1, 9, 200]
MARCHES = ["x86-64-v3", "native", "x86-64"]
SOFTMAX = "exp(%s - reduce(max, \"... | v => ... | 0\", %s))"


def pick(*choices):
    return random.choice(choices)


def around(*sizes):
    return max(1, pick(*sizes) + pick(-1, 0, 0, 0, 1))


def product():
    m, k, j = around(1, 4, 16, 64), around(3, 16, 64, 200), around(1, 4, 16, 64)
    x, w = pick("[n | %d, %d]" % (m, k), "[n | %d, %d]" % (k, m)), pick("[%d, %d]" % (k, j), "[%d, %d]" % (j, k),
                                                                    "[n | %d, %d]" % (k, j), "[n | %d, %d]" % (j, k))
    letters = {m: "m", k: "k", j: "j"}
    if len(letters) < 3:
        return product()
    axes = lambda t: ", ".join(letters[int(s)] for s in re.findall(r"\d+", t))
    batch = lambda t: "n | " if t.startswith("[n") else ""
    result = pick("m, j", "j, m")
    tail = pick("", " + 1", " .* 2 - 0.5")
    form = pick('relu(einsum("%s%s; %s%s => n | %s", X, W))%s', 'einsum("%s%s; %s%s => n | %s", X, W)%s')
    return [("X", x), ("W", w)], form % (batch(x), axes(x), batch(w), axes(w), result, tail)


def row_product():
    """Rows are the batch."""
    k, j = around(3, 16, 64, 200, 784), around(1, 4, 10, 16, 64)
    w = pick(("[%d, %d]" % (k, j), "k, j"), ("[%d, %d]" % (j, k), "j, k"))
    return [("X", "[n | %d]" % k), ("W", w[0])], 'einsum("n | k; %s => n | j", X, W)%s' % (w[1], pick("", " + 1"))


def vector():
    """A product of a matrix a member, or of one, and a vector."""
    m, k = around(1, 4, 16, 64), around(16, 64, 300)
    if random.random() < 0.4:
        return [("X", "[n | %d]" % k), ("W", "[%d]" % k)], 'einsum("n | k; k => n | ", X, W)'
    x = pick(("[n | %d, %d]" % (m, k), "m, k"), ("[n | %d, %d]" % (k, m), "k, m"))
    w = pick(("[n | %d]" % k, "n | k"), ("[%d]" % k, "k"))
    return [("X", x[0]), ("W", w[0])], 'einsum("n | %s; %s => n | m", X, W)' % (x[1], w[1])


def total():
    m, k = around(1, 3, 16, 100), around(1, 16, 64, 100, 300, 3000)
    value = pick("X", "X", "X .* X", "exp(X)", "X .* 2 + X", "abs(X)")
    fold = pick("sum(", "sum(", "reduce(prod, ", "reduce(max, ")
    kept = pick('"n | m, k => n | m"', '"n | k, m => n | m"', '"n | m, k => n | "')
    first, last = (k, m) if "k, m" in kept else (m, k)
    return [("X", "[n | %d, %d]" % (first, last))], "%s%s, %s .* 0.1 + 1)" % (fold, kept, value)


def long_sum():
    k = around(5000, 70000, 140000, 200000)
    return [("X", "[n | %d]" % k)], 'sum("n | k => n | ", %s)' % pick("X", "X .* X", "abs(X)")


def two_batches():
    b, k = around(1, 2, 7, 64), around(16, 64, 130)
    return [("X", "[n, %d | %d]" % (b, k))], 'sum("n, b | k => n, b | ", %s)' % pick("X", "X .* X", "exp(X)")


def inner_batch():
    b, m, k = around(1, 2, 7), around(2, 16), around(16, 64, 130)
    return [("X", "[%d, n | %d, %d]" % (b, m, k))], 'sum("b, n | m, k => b, n | %s", X)' % pick("m", "k")


def softmax():
    m, k = around(1, 4, 16), around(3, 16, 64, 100, 300)
    shape = pick("[n | %d]" % k, "[n, %d | %d]" % (m, k))
    e = SOFTMAX % ("X", "X")
    return [("X", shape)], '%s / sum("... | v => ... | 0", %s)' % (e, e)


def norm():
    m, k = around(1, 4, 16), around(3, 16, 64, 100, 300)
    shape = pick("[n | %d]" % k, "[n, %d | %d]" % (m, k))
    d = '(X - sum("... | v => ... | 0", X) / %d)' % k
    return [("X", shape)], '%s .* rsqrt(sum("... | v => ... | 0", %s .* %s) / %d + 0.01)' % (d, d, d, k)


def channel_norm():
    c, k = around(2, 8, 16), around(9, 49, 64)
    s = 'sum("n | c, p => n | c, 0", %s)'
    d = "(X - %s / %d)" % (s % "X", k)
    return [("X", "[n | %d, %d]" % (c, k))], "%s .* rsqrt(%s / %d + 0.01)" % (d, s % (d + " .* " + d), k)


def attention():
    s, t, d = around(1, 4, 16, 40), around(4, 16, 40, 64, 128), around(8, 16, 64)
    h = pick("", "2, ", "12, ")
    p = "P%d" % random.randrange(10 ** 6)
    b = "n, h" if h else "n"
    q = pick("", ", s")
    inputs = [(name, "[n, %s%d | %d]" % (h, rows, d)) for name, rows in (("Q", s), ("K", t), ("V", t))]
    text = ('let {p} = einsum("{b}, s | d; {b}, t | d => {b}, s | t", Q, K) / 8\nlet {p}e = ' + SOFTMAX % ("{p}", "{p}")
            + '\nlet {p}p = {p}e / sum("... | v => ... | 0", {p}e)\n').format(p=p, b=b)
    return inputs, 'einsum("{b}, s | t; {b}, t | d => {b}, s | d", {p}p, V)'.format(b=b, p=p), text


def short_attention():
    """Of one token."""
    t, d = around(4, 16, 40, 64), around(8, 16, 64)
    p = "P%d" % random.randrange(10 ** 6)
    inputs = [("Q", "[n, 3 | %d]" % d), ("K", "[n, 3 | %d, %d]" % (t, d)), ("V", "[n, 3 | %d, %d]" % (t, d))]
    text = ('let {p} = einsum("n, h | d; n, h | t, d => n, h | t", Q, K) / 8\nlet {p}e = ' + SOFTMAX % ("{p}", "{p}")
            + '\nlet {p}p = {p}e / sum("... | v => ... | 0", {p}e)\n').format(p=p)
    return inputs, 'einsum("n, h | t; n, h | t, d => n, h | d", {p}p, V)'.format(p=p), text


def queries():
    """Attention of the members to keys that all share."""
    t, d, p = around(4, 16, 40, 64, 128), around(8, 16, 64), "P%d" % random.randrange(10 ** 6)
    q, k, form = pick(
        ("[n | %d]", "[%d | %d]", ("n | d", "t | d", "n | t")),
        ("[3, n | %d]", "[3, %d | %d]", ("h, n | d", "h, t | d", "h, n | t")),
        ("[n | 3, %d]", "[%d | 3, %d]", ("n | h, d", "t | h, d", "n | h, t")))
    text = ('let {p} = einsum("%s; %s => %s", Q, K) / 8\nlet {p}e = ' % form + SOFTMAX % ("{p}", "{p}")
            + '\nlet {p}p = {p}e / sum("... | v => ... | 0", {p}e)\n').format(p=p)
    if "| h" in form[0]:
        text = text.replace("... | v => ... | 0", "... | h, v => ... | h, 0")
    inputs = [("Q", q % d), ("K", k % (t, d)), ("V", k % (t, d))]
    return inputs, 'einsum("%s; %s => %s", %sp, V)' % (form[2], form[1], form[0], p), text


def convolution():
    h, i, o, k, s = around(4, 8, 14), around(1, 3, 8, 16), around(1, 8, 16, 32), pick(1, 3, 5), pick(1, 1, 2)
    st = "%d*" % s if s > 1 else ""
    pad = pick("=+?", "<+?")
    while pad == "<+?" and h < k:
        h += 1
    if random.random() < 0.5:
        return ([("X", "[n | %d, %d, %d]" % (h, h, i)), ("W", "[%d, %d, %d, %d]" % (k, k, i, o))],
                'einsum("n | {0}y {1} k, {0}x {1} l, i; k, l, i, o => n | y, x, o", X, W)'.format(st, pad))
    return ([("X", "[n | %d, %d, %d]" % (i, h, h)), ("W", "[%d, %d, %d, %d]" % (o, i, k, k))],
            'einsum("n | i, {0}y {1} k, {0}x {1} l; o, i, k, l => n | o, y, x", X, W)'.format(st, pad))


def depthwise():
    h, c, k = around(6, 9, 14), around(1, 8, 16, 24), pick(3, 5)
    if random.random() < 0.5:
        return ([("X", "[n | %d, %d, %d]" % (h, h, c)), ("W", "[%d, %d, %d]" % (k, k, c))],
                'einsum("n | y =+ k, x =+ l, c; k, l, c => n | y, x, c", X, W)')
    return ([("X", "[n | %d, %d, %d]" % (c, h, h)), ("W", "[%d, %d, %d]" % (c, k, k))],
            'einsum("n | c, y =+ k, x =+ l; c, k, l => n | c, y, x", X, W)')


def permuted():
    a, b, c, e = around(2, 6), around(3, 8), around(4, 9), around(5, 16)
    return ([("X", "[n | %d, %d, %d]" % (a, e, b)), ("W", "[%d, %d, %d]" % (c, b, e))],
            'einsum("n | a, e, b; c, b, e => n | %s", X, W)' % pick("a, c", "c, a"))


def of_members(*shapes):
    """What all members share, computed before, or once an element."""
    k = around(4, 16, 64)
    shared = pick("W .* W", "exp(W) .* W", "W + W .* 2", "(W + 1) .* 0.3")
    return [("X", "[n | %d]" % k), ("W", "[%d]" % k)], pick("X + %s", "X - %s", "X .* 2 + %s .* X") % shared


def shared_first():
    k, j = around(4, 16, 64), around(1, 4, 20)
    return ([("X", "[n | %d]" % k), ("W", "[%d, %d]" % (k, j))],
            'einsum("n | k; k, j => n | j", %s, %s)' % (pick("X", "X .* X + 1", "relu(X)"),
                                                        pick("W .* W", "W + W .* W", "exp(W)")))


def own_weights():
    """A computed operand that has an axis for the batch with no bar behind it, which is not its last one."""
    j, k = around(4, 16, 30), around(5, 17, 40, 200)
    w, axes = pick(("[n, %d, %d]" % (j, k), "n, j, k"), ("[%d, n, %d]" % (j, k), "j, n, k"), ("[n, %d, %d]" % (k, j), "n, k, j"))
    value = pick("exp(W)", "exp(W)", "W .* W", "abs(W) + W .* W")
    form = pick('einsum("n | k; %s => n | j", X, %s)', 'einsum("n | k; %s => n | j", X .* X, %s)')
    return [("X", "[n | %d]" % k), ("W", w)], form % (axes, value)


def distance():
    k, c = around(4, 16, 64, 200), around(1, 4, 20)
    inner = pick("abs(D)", "D .* D", "D .* D .* 0.5 + D")
    d = pick('(sum("n | i => n | 0, i", X) - W)')
    return ([("X", "[n | %d]" % k), ("W", "[%d, %d]" % (c, k))],
            'sum("n | c, i => n | c", %s)' % inner.replace("D", d))


def distance_of_one():
    k = around(4, 16, 64, 200)
    return [("X", "[n | %d]" % k), ("W", "[%d]" % k)], 'sum("n | i => n | ", %s)' % pick(
        "(X - W) .* (X - W)", "abs(X - W)", "X .* W + W", "exp(X) .* W")


def pool():
    h, c, k = 2 * around(3, 5, 9), around(1, 3, 8, 16), 2
    fold = pick("sum(", "reduce(max, ", "reduce(prod, ")
    shape, axes = pick(("%d, %d, %d" % (h, h, c), "2*y <+ i, 2*x <+ j, c => n | y, x, c"),
                       ("%d, %d, %d" % (c, h, h), "c, 2*y <+ i, 2*x <+ j => n | c, y, x"))
    return [("X", "[n | %s]" % shape)], fold + '"n | %s", X) with (i = 2, j = 2)' % axes


def pooled():
    c, h = around(1, 4, 16, 64), around(3, 7, 14)
    return pick(([("X", "[n | %d, %d, %d]" % (c, h, h))], 'sum("n | c, y, x => n | c", X) / 49'),
                ([("X", "[n | %d, %d, %d]" % (h, h, c))], 'sum("n | y, x, c => n | c", X) / 49'))


def scattered():
    """Elements that several places add to."""
    h, c, a = around(3, 8, 20), around(1, 4, 16), pick(2, 3)
    return ([("X", "[n | %d, %d]" % (h, c)), ("W", "[%d, %d]" % (a, c))],
            'einsum("n | h, c; a, c => n | %sh <+ a", X, W)' % pick("", "2*"))


def linear():
    k, j = around(3, 16, 64, 200), around(1, 4, 10, 16, 64)
    value = pick("relu({p : [%d -> %d]} * X + {c : [%d]})", "gelu({p : [%d -> %d]} * X) + {c : [%d]}")
    return [("X", "[n | %d]" % k)], value % (k, j, j)


def layer():
    m, k, j = around(1, 4, 16), around(3, 16, 64), around(1, 4, 10, 16, 64)
    return [("X", "[n, %d | %d]" % (m, k))], "{p : [%d -> %d]} * X + {c : [%d]}" % (k, j, j)


def convolved():
    h, i, o, k = around(4, 8, 14), around(1, 3, 8, 16), around(1, 8, 16, 32), pick(1, 3)
    if random.random() < 0.5:
        shape, axes = (h, h, i), 'y =+ k, x =+ l, i; k, l, i -> o => n | y, x, o'
        weight = "{p : [%d, %d, %d -> %d]}) + {c : [%d]}" % (k, k, i, o, o)
    else:
        shape, axes = (i, h, h), 'i, y =+ k, x =+ l; i, k, l -> o => n | o, y, x'
        weight = "{p : [%d, %d, %d -> %d]}) + {c : [%d, 1, 1]}" % (i, k, k, o, o)
    return [("X", "[n | %d, %d, %d]" % shape)], 'relu(einsum("n | %s", X, %s)' % (axes, weight)


def halves():
    m, k, j = around(1, 4, 16, 64), around(3, 16, 64, 200), around(1, 4, 16, 64)
    x, w = pick(("[n | %d, %d]" % (m, k), "n | m, k"), ("[n | %d, %d]" % (k, m), "n | k, m")), pick(
        ("[%d, %d]" % (k, j), "k, j"), ("[%d, %d]" % (j, k), "j, k"))
    return [("X", "bf16 " + x[0]), ("W", "bf16 " + w[0])], 'einsum("%s; %s => n | m, j", f32(X), f32(W))' % (x[1], w[1])


def half_rows():
    k, j = around(3, 16, 64, 200), around(1, 4, 16, 64)
    w = pick(("[%d, %d]" % (k, j), "k, j"), ("[%d, %d]" % (j, k), "j, k"))
    return [("X", "bf16 [n | %d]" % k), ("W", "bf16 " + w[0])], 'einsum("n | k; %s => n | j", f32(X), f32(W))' % w[1]


def converted():
    """Operands that tiles cannot read where they are."""
    k, j = around(4, 16, 200), around(1, 4, 20, 64)
    w, axes, value = pick(("[%d, %d]", "j | k", 'gather(W, sum("j => j | ", range(%d)))' % j),
                          ("[%d, %d]", "j, k", "f32(i32(W .* 9))"), ("[1, %d, %d]", "c, j, k", "f32(f64(W))"))
    return [("X", "[n | %d]" % k), ("W", w % (j, k))], 'einsum("n | k; %s => n | j", X, %s)' % (axes, value)


KINDS = [product, product, product, row_product, row_product, vector, total, total, two_batches, inner_batch, softmax,
         norm, channel_norm, attention, queries, queries, short_attention, convolution, convolution, depthwise,
         permuted, of_members, shared_first, own_weights, own_weights, distance, distance_of_one, pool, pooled, scattered, linear, layer, convolved, halves, half_rows,
         converted]


class Program:
    """Some outputs, each of inputs of its own."""

    def __init__(self, kinds):
        self.body, self.inputs, self.outputs, self.texts = "", [], [], []
        for number, kind in enumerate(kinds):
            inputs, value, *before = kind()
            rename = lambda t: re.sub(r"\b([XWQKV]\b|[pc](?= :))", lambda m: "%s%d" % (m.group(1).lower(), number), t)
            for name, shape in inputs:
                self.inputs.append(shape)
                self.body += "input %s : %s\n" % (rename(name), shape)
            self.body += rename("".join(before)) + "output y%d = %s\n" % (number, rename(value))
            self.texts.append((kind.__name__, [s for _, s in inputs], value))

    def model(self, n, *options):
        head = "dim n\n" if n is None else "dim n = %d\n" % n
        return Model(head + self.body, list(options))


def shapes_of(header, n):
    """The shapes of the outputs, as the header says them."""
    found = re.findall(r"^ \*   y\d+: .*an array of (.*)$", header, re.M)
    return [tuple(n if a == "n" else int(a) for a in f.split(" x ")) for f in found]


def differences(program, march, members):
    symbolic = program.model(None, "-march=" + march)
    rng = np.random.default_rng(7)
    pool = rng.standard_normal(1 << 20).astype(np.float32)
    axes = [re.findall(r"\w+", s[s.index("["):]) for s in program.inputs]

    def array(number, size):
        """Every member of an input is the same whatever the batch is."""
        mine = axes[number]
        rest = [int(a) for a in mine if a != "n"]
        places = np.arange(int(np.prod(rest))) * 3 + 7919 * number
        one = lambda i: pool[places + 104729 * i & (1 << 20) - 1].reshape(rest)
        if "n" not in mine:
            return one(0)
        return np.stack([one(i) for i in range(size)], mine.index("n"))

    def stored(number, size):
        whole = array(number, size)
        return to_bf16(whole) if program.inputs[number].startswith("bf16") else whole

    def run(model, fixed, size):
        shapes = shapes_of(model.header, size)
        inputs = [stored(i, size) for i in range(len(axes))]
        return model.forward([] if fixed else [size], inputs, [(s, np.float32) for s in shapes], model.init(seed=3))

    # the batch axis of the outputs, from the two shapes that a symbolic one leaves
    at = [next(k for k, (a, b) in enumerate(zip(one, two)) if a != b)
          for one, two in zip(shapes_of(symbolic.header, 1), shapes_of(symbolic.header, 2))]
    want = run(symbolic, False, members)
    for size in NUMBERS:
        for model, fixed in ((program.model(size, "-march=" + march, "-O0"), True), (symbolic, False)):
            got = run(model, fixed, size)
            for k, (a, b) in enumerate(zip(want, got)):
                n = min(size, members)
                a, b = (np.ascontiguousarray(np.take(t, range(n), at[k])) for t in (a, b))
                if a.tobytes() != b.tobytes():
                    yield k, size, "written" if fixed else "a dim", int((a != b).sum()), a.size


def run(seed, count, size):
    random.seed(seed)
    wrong = 0
    for i in range(count):
        kinds = [long_sum] * (i % 4 == 0) + random.sample(KINDS, size)
        kinds = kinds[:size]
        program = Program(kinds)
        march = MARCHES[i % len(MARCHES)]
        for k, n, how, differ, of in differences(program, march, 9):
            wrong += 1
            print("%s: %s, a batch of %d, %s: %d of %d differ" % (march, program.texts[k], n, how, differ, of))
    print("%d programs, %d outputs differ" % (count * size, wrong))
    return wrong


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])) != 0)
