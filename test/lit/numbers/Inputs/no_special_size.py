"""No value of a dim is special: every family of operators at sizes 0, 1, 2 and a prime, against NumPy. One module
serves them all; a size that no result could have is refused by a code, and only that."""
import sys
import warnings

import numpy as np

from tsrlib import Model, check

SIZES = (0, 1, 2, 3, 7, 17, 67)
warnings.simplefilter("ignore")


def windows(x, span, stride, dilation=1):
    """What a valid window reads: a row of elements for each step."""
    reach = (span - 1) * dilation + 1
    steps = (len(x) - reach) // stride + 1
    return np.array([x[stride * i:stride * i + reach:dilation] for i in range(steps)]).reshape(max(steps, 0), span)


def padded(x, k, stride, neutral):
    left, steps = k // 2, -(-len(x) // stride)
    wide = np.concatenate([np.full(left, neutral), x, np.full(k + stride, neutral)])
    return np.array([wide[stride * i:stride * i + k] for i in range(steps)]).reshape(steps, k)


def laid(x, stride):
    """Every element times the kernel, added from its place on."""
    y = np.zeros(stride * len(x) + 3)
    for i, v in enumerate(x):
        y[stride * i:stride * i + 3] += v * KERNEL
    return y


def fold(function, x, axis, neutral):
    return function(x, axis=axis, initial=neutral)


def softmax(x):
    e = np.exp(x - fold(np.max, x, -1, -np.inf)[..., None])
    return e / e.sum(-1, keepdims=True)


def argmax(x):
    return (x.argmax(-1) if x.shape[-1] else np.zeros(x.shape[:-1])).astype(np.int32)


KERNEL = np.array([1, -2, 0.5])
# name, program over x : [n], b : [3 | n], c : [n | 3], k : [3], i : i32 [n |]; its NumPy; sizes that have no result
CASES = [
    ("pool", 'reduce(max, "2*o <+ k => o", x) with (k = 2)', lambda x, b, c, i: windows(x, 2, 2).max(1, initial=-np.inf), lambda n: n % 2),
    ("pool_floor", 'reduce(max, "2*o <+? k => o", x) with (k = 2)', lambda x, b, c, i: windows(x, 2, 2).max(1, initial=-np.inf), None),
    ("pool_wide", 'sum("3*o <+? k => o", x) with (k = 3)', lambda x, b, c, i: windows(x, 3, 3).sum(1), None),
    ("pool_over", 'reduce(min, "o <+ k => o", x) with (k = 3)', lambda x, b, c, i: windows(x, 3, 1).min(1, initial=np.inf), lambda n: n < 2),
    ("conv", 'einsum("o <+ k; k => o", x, k)', lambda x, b, c, i: windows(x, 3, 1) @ KERNEL, lambda n: n < 2),
    ("conv_strided", 'einsum("2*o <+? k; k => o", x, k)', lambda x, b, c, i: windows(x, 3, 2) @ KERNEL, lambda n: n < 1),
    ("conv_dilated", 'einsum("3*o <+? 2*k; k => o", x, k)', lambda x, b, c, i: windows(x, 3, 3, 2) @ KERNEL, lambda n: n < 2),
    ("conv_batch", 'einsum("... | o <+ k; k => ... | o", b, k)', lambda x, b, c, i: np.array([windows(r, 3, 1) @ KERNEL for r in b]), lambda n: n < 2),
    ("conv_rows", 'einsum("b | o <+ j; j => b | o", c, [1, 1])', lambda x, b, c, i: c[:, :-1] + c[:, 1:], None),
    ("conv_padded", 'einsum("o =+ k; k => o", x, k)', lambda x, b, c, i: padded(x, 3, 1, 0) @ KERNEL, None),
    ("max_padded", 'reduce(max, "2*o =+? k => o", x) with (k = 3)', lambda x, b, c, i: padded(x, 3, 2, -np.inf).max(1, initial=-np.inf), None),
    ("transposed", 'einsum("o; k => o <+ k", x, k)', lambda x, b, c, i: np.convolve(x, KERNEL) if len(x) else np.zeros(2), None),
    ("laid_padded", 'einsum("o; k => 2*o =+ k", x, k)', lambda x, b, c, i: laid(x, 2)[1:1 + 2 * len(x)], None),
    ("shift", 'sum("i + 1 => i", x)', lambda x, b, c, i: x[1:], lambda n: n < 1),
    ("shifted", 'sum("i => i + 1", x)', lambda x, b, c, i: np.concatenate([[0], x]), None),
    ("spread", 'sum("i => 2*i,", x)', lambda x, b, c, i: np.stack([x, 0 * x], 1).ravel(), None),
    ("concat", 'concat("p; q => p^q", x, k)', lambda x, b, c, i: np.concatenate([x, KERNEL]), None),
    ("concat_self", 'concat("... | p; ... | q; ... | r => ... | p^q^r", b, b, b)', lambda x, b, c, i: np.concatenate([b, b, b], 1), None),
    ("part", 'sum("1^p => p", x)', lambda x, b, c, i: x[1:], lambda n: n < 1),
    ("stack", "stack(batch, x, x)", lambda x, b, c, i: np.stack([x, x]), None),
    ("slice", "b @ 1", lambda x, b, c, i: b[1], None),
    ("first", "c @ 0", lambda x, b, c, i: c[0], lambda n: n < 1),
    ("index", 'sum("1 => ", x)', lambda x, b, c, i: x[1], lambda n: n < 2),
    ("diagonal", 'sum("i => ii", x)', lambda x, b, c, i: np.diag(x), None),
    ("reshape", 'sum("i, j => i", reshape(c)) with (j = 3)', lambda x, b, c, i: c.sum(1), None),
    ("reshape_out", 'reshape(c) + einsum("i; j => j, i", x, k)', lambda x, b, c, i: c.reshape(3, len(x)) + KERNEL[:, None] * x, None),
    ("gather", "gather(k, i)", lambda x, b, c, i: KERNEL[i], None),
    ("total", "sum(x)", lambda x, b, c, i: x.sum(), None),
    ("sums", 'sum("... | v => ... | ", b)', lambda x, b, c, i: b.sum(1), None),
    ("sum_rows", 'sum("r | v => v", c)', lambda x, b, c, i: c.sum(0), None),
    ("most", 'reduce(max, "... | v => ... | ", b)', lambda x, b, c, i: b.max(1, initial=-np.inf), None),
    ("least", 'reduce(min, "r | v => v", c)', lambda x, b, c, i: c.min(0, initial=np.inf), None),
    ("prod", 'reduce(prod, "... | v => ... | ", b)', lambda x, b, c, i: b.prod(1), None),
    ("argmax", 'argmax("... | v => ... | ", b)', lambda x, b, c, i: argmax(b), None),
    ("argmin", 'argmin("... | v => ... | ", b)', lambda x, b, c, i: argmax(-b), None),
    ("argmax_rows", 'argmax("r | v => v", c)', lambda x, b, c, i: argmax(c.T), None),
    ("argmax_of", 'argmax("... | v => ... | ", c)', lambda x, b, c, i: argmax(c), None),
    ("mean", '(sum("... | v => ... | ", b) / v with (v))', lambda x, b, c, i: b.mean(1), None),
    ("mean_row", '(sum("... | ..v.. => ... | 0", b) / v with (v))', lambda x, b, c, i: b.mean(1)[:, None], None),
    ("softmax", "nn.softmax(b)", lambda x, b, c, i: softmax(b), None),
    ("softmax_of", "nn.softmax(c)", lambda x, b, c, i: softmax(c), None),
    ("dot", 'einsum("i; i => ", x, x)', lambda x, b, c, i: x @ x, None),
    ("outer", 'einsum("i; j => i, j", x, x)', lambda x, b, c, i: np.outer(x, x), None),
    ("product", 'einsum("b | i; d | i => b | d", b, b)', lambda x, b, c, i: b @ b.T, None),
    ("product_rows", 'einsum("b | i; d | i => b | d", c, c)', lambda x, b, c, i: c @ c.T, None),
    ("product_batch", 'einsum("b | i; d | i => i | b, d", b, b)', lambda x, b, c, i: np.einsum("bi,di->ibd", b, b), None),
    ("tropical", 'einsum("b | i; d | i => b | d", b, b, op=add, reduce=max)',
     lambda x, b, c, i: (b[:, None] + b[None]).max(2, initial=-np.inf), None),
    ("compose", "{w : [3 -> 2] = 0.5} * c", lambda x, b, c, i: c.sum(1, keepdims=True) * [0.5, 0.5], None),
    ("bias", "c + {bias : [3] = 2}", lambda x, b, c, i: c + 2, None),
    ("range", "f32(range(n)) + x", lambda x, b, c, i: np.arange(len(x)) + x, None),
    ("chain", "tanh(x .* x) + exp(x) - x", lambda x, b, c, i: np.tanh(x * x) + np.exp(x) - x, None),
    ("norm", 'let mu = sum("... | v => ... | 0", b) / n\nb - mu', lambda x, b, c, i: b - b.sum(1, keepdims=True) / b.shape[1], None),
]
HEAD = "import nn\ndim n\ninput x : [n]\ninput b : [3 | n]\ninput c : [n | 3]\ninput k : [3]\ninput i : i32 [n |]\n"
ORDER = ("x", "b", "c", "k", "i")


def inputs_of(n):
    random = np.random.default_rng(n)
    x, b, c = (random.standard_normal(s).astype(np.float32) for s in ((n,), (3, n), (n, 3)))
    return x, b, c, random.integers(0, 3, n).astype(np.int32)


def compile_case(name, text):
    """A module of one result: what it takes is read off its header."""
    *before, last = text.split("\n")
    text = HEAD + "".join(line + "\n" for line in before) + "output y = %s\n" % last
    model = Model(text, ["-O0"])
    taken = model.header.split("int m_forward(")[1].split(")")[0].split(",")
    return model, [a.split()[-1].lstrip("*") for a in taken]


def run(model, taken, n, want):
    x, b, c, i = inputs_of(n)
    given = dict(zip(ORDER, (x, b, c, KERNEL.astype(np.float32), i)))
    state = model.init() if "m_state_size" in model.header else None
    dtype = np.int32 if want.dtype == np.int32 else np.float32
    return model.forward([n], [given[t] for t in taken if t in given], [(want.shape, dtype)], state)[0]


count = refused = 0
for name, text, numpy, no_result in CASES:
    model, taken = compile_case(name, text)
    for n in SIZES:
        x, b, c, i = inputs_of(n)
        if no_result and no_result(n):
            try:
                run(model, taken, n, np.zeros(0))
            except RuntimeError:
                refused += 1
                continue
            sys.exit("%s: a size of %d is not refused" % (name, n))
        check("%s at %d" % (name, n), run(model, taken, n, want := np.asarray(numpy(x, b, c, i))), want, 2e-5)
        count += 1
print("%d programs at sizes %s: %d runs agree, %d sizes without a result are refused"
      % (len(CASES), ", ".join(map(str, SIZES)), count, refused))
