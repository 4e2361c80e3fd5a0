"""nn.py LIBRARY TEST...: functions of the library against NumPy in f64. LIBRARY is its text; TESTs are files of other tests
that compare functions of it with NumPy. Each table below is a program of one routine, compiled with OPTIONS."""
import math
import os
import re
import sys
import warnings

import numpy as np

import tsr

warnings.simplefilter("ignore")  # 0 / 0, the mean of no elements
OPTIONS = os.environ.get("OPTIONS", "").split()
SPARE = 3  # rows of a cache behind those that are read

# ---- what the functions mean; shapes are those in storage order: batch, output, input ----


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2))) / 2


def gelu_tanh(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))) / 2


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def cross_entropy(logits, ids):
    """-log of the probability of the id; 0 where there is no such id"""
    inside = (ids >= 0) & (ids < logits.shape[-1])
    chosen = np.take_along_axis(softmax(logits), np.where(inside, ids, 0)[..., None], -1)[..., 0]
    return np.where(inside, -np.log(chosen), 0)


def linear(x, w, b=0):
    """Over all axes of x but the first: w : out, those axes."""
    return x.reshape(len(x), int(np.prod(x.shape[1:]))) @ w.reshape(len(w), -1).T + b


def normalised(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def group_norm(x, gain, bias, groups, eps):
    """x : n, places, c"""
    y = x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)
    return normalised(y, tuple(range(1, x.ndim - 1)) + (x.ndim,), eps).reshape(x.shape) * gain + bias


def batch_norm(x, mean, var, gain, bias, eps):
    return (x - mean) / np.sqrt(var + eps) * gain + bias


def windows(x, axis, k, stride, dilation, before, count, border=0):
    """Two axes, count and k, for one, which begins at -before."""
    index = stride * np.arange(count)[:, None] + dilation * np.arange(k) - before
    size = x.shape[axis]
    read = np.take(x, index % size if border == "wrap" else index.clip(0, size - 1), axis)
    inside = (index >= 0) & (index < size)
    if border in ("edge", "wrap"):
        return read
    return np.where(inside.reshape(inside.shape + (1,) * (read.ndim - axis - 2)), read, border)


def windows_of(x, rank, k, stride=1, dilation=1, pad=None, border=0):
    """x : n, places, c; whole windows of the padded array, or with pad None as many as there are places by stride."""
    span = (k - 1) * dilation + 1
    for axis in range(1, 2 * rank, 2):
        size = x.shape[axis]
        count = -(-size // stride) if pad is None else (size + 2 * pad - span) // stride + 1
        x = windows(x, axis, k, stride, dilation, span // 2 if pad is None else pad, count, border)
    return x


def conv2d(x, w, b=0, k=3, **how):
    return np.einsum("nhiwjc,oijc->nhwo", windows_of(x, 2, k, **how), w) + b


def conv1d(x, w, b=0, k=3, **how):
    return np.einsum("nhic,oic->nho", windows_of(x, 1, k, **how), w) + b


def depthwise(x, w, b=0, k=3, **how):
    """w : k, k, c"""
    return np.einsum("nhiwjc,ijc->nhwc", windows_of(x, 2, k, **how), w) + b


def pool(x, function, k, stride, pad, border=0):
    return function(windows_of(x, 2, k, stride, 1, pad, border), axis=(2, 4))


def bilinear(x, by):
    """Between the centres of points, those at the border beyond it"""
    for axis in 1, 2:
        place = (np.arange(x.shape[axis] * by) + 0.5) / by - 0.5
        first = np.floor(place)
        low, high = (x.take((first + i).clip(0, x.shape[axis] - 1).astype(int), axis) for i in (0, 1))
        share = (place - first).reshape((-1,) + (1,) * (2 - axis) + (1,))
        x = low + share * (high - low)
    return x


def attention(x, memory, wq, wk, wv, wo, causal=False):
    """x : n, s, e; memory : n, t, f; wq, wk, wv : heads, width, e or f; wo : e, heads, width"""
    q, k, v = (np.einsum("nse,hde->nhsd", *both) for both in ((x, wq), (memory, wk), (memory, wv)))
    scores = np.einsum("nhsd,nhtd->nhst", q, k) / np.sqrt(wq.shape[1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[2:], bool)), scores, -np.inf)
    return np.einsum("nhsd,ehd->nse", softmax(scores) @ v, wo)


def transformer_block(x, norm_1_gain, norm_1_bias, attend_wq, attend_wk, attend_wv, attend_wo, norm_2_gain, norm_2_bias,
                      dense_up_w, dense_up_b, dense_down_w, dense_down_b):
    """causal, with gelu"""
    y = normalised(x, -1, 1e-5) * norm_1_gain + norm_1_bias
    h = x + attention(y, y, attend_wq, attend_wk, attend_wv, attend_wo, True)
    z = normalised(h, -1, 1e-5) * norm_2_gain + norm_2_bias
    return h + gelu(z @ dense_up_w.T + dense_up_b) @ dense_down_w.T + dense_down_b


def cached_attention(x, keys, values, q_w, q_b, k_w, k_b, v_w, v_b, proj_w, proj_b):
    """x : s, e; keys, values : past + SPARE, heads, width"""
    past = len(keys) - SPARE
    query, key, value = (np.einsum("se,hde->shd", x, w) + b for w, b in ((q_w, q_b), (k_w, k_b), (v_w, v_b)))
    k, v = np.concatenate([keys[:past], key]), np.concatenate([values[:past], value])
    scores = np.einsum("shd,thd->hst", query, k) / np.sqrt(query.shape[-1])
    seen = np.arange(len(k)) <= past + np.arange(len(x))[:, None]
    mixed = np.einsum("hst,thd->shd", softmax(np.where(seen, scores, -np.inf)), v)
    return np.einsum("shd,ohd->so", mixed, proj_w) + proj_b, key, value


def rotary(x, positions, base):
    """x : n, s, d as pairs of d/2 and d/2"""
    half = x.shape[-1] // 2
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * positions[:, None] / float(base) ** (np.arange(half) / half))
    return np.concatenate([turned.real, turned.imag], -1)


def lstm_gates(z, c):
    c = sigmoid(z[:, 1]) * c + sigmoid(z[:, 0]) * np.tanh(z[:, 2])
    return sigmoid(z[:, 3]) * np.tanh(c), c


def gru_gates(x, z, h):
    reset, update = sigmoid(x[:, 0] + z[:, 0]), sigmoid(x[:, 1] + z[:, 1])
    return (1 - update) * np.tanh(x[:, 2] + reset * z[:, 2]) + update * h


def lstm(x, wx, wh, b):
    """x : t, n, d, from states of 0"""
    h = c = np.zeros((x.shape[1], wh.shape[-1]))
    every = np.zeros((len(x), *h.shape))
    for t, row in enumerate(x):
        h, c = lstm_gates(np.einsum("ni,gji->ngj", row, wx) + np.einsum("ni,gji->ngj", h, wh) + b, c)
        every[t] = h
    return h, c, every


def gru(x, wx, bx, wh, bh):
    h = np.zeros((x.shape[1], wh.shape[-1]))
    every = np.zeros((len(x), *h.shape))
    for t, row in enumerate(x):
        every[t] = h = gru_gates(np.einsum("ni,gji->ngj", row, wx) + bx, np.einsum("ni,gji->ngj", h, wh) + bh, h)
    return h, every


# ---- the programs: inputs by shape, dims that no input has, the sizes, and what is compared: a function or an instance, its
# arguments, what it means of these and of its parameters by name (`up.w` is up_w), and how many results it has ----

ROWS = {
    "inputs": {"x": "n | 3, 4", "a": "n, m | v", "b": "n, m | v", "e": "n | 6", "f": "n, m | 6", "t": "n | 3 -> v",
               "ids": "i32 n, m |", "c": "n | 3", "z": "n | 4, 3", "u": "n | 3, 3", "r": "n | 3, 3"},
    "sizes": [{"n": 3, "m": 2, "v": 7}, {"n": 1, "m": 1, "v": 1}, {"n": 0, "m": 2, "v": 5}, {"n": 2, "m": 5, "v": 67}],
    "cases": [
        ("nn.mean", "t", lambda t: t.mean()),
        ("nn.mean_output", "x", lambda x: x.mean((1, 2), keepdims=True)[..., 0]),
        ("nn.mean_squared_error", "a, b", lambda a, b: ((a - b) ** 2).mean()),
        ("nn.silu", "t", silu),
        ("nn.gelu_tanh", "t", gelu_tanh),
        ("nn.relu6", "5 * t", lambda t: t.clip(0, 6)),
        ("nn.leaky_relu()", "t", lambda t: np.where(t > 0, t, t / 100)),
        ("nn.leaky_relu(slope = 0.3)", "t", lambda t: np.where(t > 0, t, 0.3 * t)),
        ("nn.elu(0.5)", "3 * t", lambda t: np.where(t > 0, t, 0.5 * np.expm1(t))),
        ("nn.selu", "3 * t", lambda t: 1.0507009873554805 * np.where(t > 0, t, 1.6732632423543772 * np.expm1(t))),
        ("nn.mish", "3 * t", lambda t: t * np.tanh(np.log1p(np.exp(t)))),
        ("nn.hard_sigmoid", "3 * t", lambda t: (t / 6 + 0.5).clip(0, 1)),
        ("nn.hard_swish", "3 * t", lambda t: t * (t / 6 + 0.5).clip(0, 1)),
        ("nn.softmax", "30 * a", softmax),
        ("nn.softmax", "x", softmax),
        ("nn.log_softmax", "30 * a", lambda a: np.log(softmax(a))),
        ("nn.absolute_error", "a, b", lambda a, b: abs(a - b)),
        ("nn.huber()", "3 * a, b", lambda a, b: np.where(abs(a - b) < 1, (a - b) ** 2 / 2, abs(a - b) - 0.5)),
        ("nn.huber(0.5)", "a, b", lambda a, b: np.where(abs(a - b) < 0.5, (a - b) ** 2 / 2, 0.5 * (abs(a - b) - 0.25))),
        ("nn.binary_cross_entropy", "a, b ** 2 / (1 + b ** 2)", lambda a, p: -p * np.log(sigmoid(a)) - (1 - p) * np.log(1 - sigmoid(a))),
        ("nn.kl_divergence", "a, b ** 2 / (1 + b ** 2)", lambda a, p: (p * (np.log(p) - np.log(softmax(a)))).sum(-1)),
        ("nn.difference", "a, b", lambda a, b: a - b),
        ("nn.product", "a, b", lambda a, b: a * b),
        ("nn.cross_entropy", "a, ids", cross_entropy),
        ("nn.cross_entropy", "a, ids - 2", cross_entropy),
        ("nn.one_hot(5)", "ids", lambda ids: ids[..., None] == np.arange(5)),
        ("nn.embedding(67, 4)", "ids", lambda ids, table: table[ids]),
        ("nn.linear(5)", "x", linear),
        ("nn.linear_no_bias(5)", "x", linear),
        ("nn.linear_heads(2, 3)", "f", lambda f, w, b: np.einsum("nme,hde->nmhd", f, w) + b),
        ("nn.mlp(7, 5)", "x", lambda x, up_w, up_b, down_w, down_b: linear(relu(linear(x, up_w, up_b)), down_w, down_b)),
        ("nn.mlp(7, 5, act = nn.silu)", "x",
         lambda x, up_w, up_b, down_w, down_b: linear(silu(linear(x, up_w, up_b)), down_w, down_b)),
        ("nn.layer_norm()", "0.01 * x", lambda x, gain, bias: normalised(x, (1, 2), 1e-5) * gain + bias),
        ("nn.layer_norm(eps = 0.1)", "f", lambda f, gain, bias: normalised(f, -1, 0.1) * gain + bias),
        ("nn.rms_norm()", "0.003 * x", lambda x, gain: x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-6) * gain),
        ("nn.batch_norm()", "0.01 * x", lambda x, mean, var, gain, bias: batch_norm(x, mean, var, gain, bias, 1e-5)),
        ("nn.group_norm(3)", "0.01 * e", lambda e, gain, bias: group_norm(e, gain, bias, 3, 1e-5)),
        ("nn.group_norm(2, eps = 0.1)", "x", lambda x, gain, bias: group_norm(x, gain, bias, 2, 0.1)),
        ("nn.lstm_gates", "z, c", lstm_gates, 2),
        ("nn.gru_gates", "u, r, c", gru_gates),
    ],
}
IMAGES = {
    "inputs": {"x": "n | h, 7, 4", "s": "n | h, 3", "p": "n | h, 5"},
    "sizes": [{"n": 2, "h": 6}, {"n": 1, "h": 1}, {"n": 0, "h": 3}, {"n": 3, "h": 9}],
    "cases": [
        ("nn.conv2d(5)", "x", conv2d),
        ("nn.conv2d(5, k = 4, stride = 3, dilation = 2)", "x", lambda x, w, b: conv2d(x, w, b, 4, stride=3, dilation=2)),
        ("nn.conv2d(2, stride = 2, pad = 1, padding_mode = edge)", "x",
         lambda x, w, b: conv2d(x, w, b, stride=2, pad=1, border="edge")),
        ("nn.conv2d_no_bias(5, k = 2, stride = 2)", "p", lambda p, w: conv2d(p[..., None], w[..., None], 0, 2, stride=2)),
        ("nn.conv2d_no_bias(2, k = 2, pad = 1, padding_mode = wrap)", "x",
         lambda x, w: conv2d(x, w, 0, 2, pad=1, border="wrap")),
        ("nn.conv1d(5, k = 4)", "s", lambda s, w, b: conv1d(s, w, b, 4)),
        ("nn.conv1d(2, pad = 1, padding_mode = wrap)", "s", lambda s, w, b: conv1d(s, w, b, pad=1, border="wrap")),
        ("nn.conv2d_valid(5, k = 2)", "x", lambda x, w, b: conv2d(x, w, b, 2, pad=0)),
        ("nn.conv2d_valid(5, k = 2, stride = 3, dilation = 2)", "x",
         lambda x, w, b: conv2d(x, w, b, 2, stride=3, dilation=2, pad=0)),
        ("nn.depthwise_conv2d()", "x", depthwise),
        ("nn.depthwise_conv2d(2, 3)", "x", lambda x, w, b: depthwise(x, w, b, 2, stride=3)),
        ("nn.depthwise_conv2d_no_bias(3, 2, 2)", "x", lambda x, w: depthwise(x, w, stride=2, dilation=2)),
        ("nn.separable_conv2d(5, stride = 2)", "x",
         lambda x, depthwise_w, depthwise_b, pointwise_w, pointwise_b:
             conv2d(depthwise(x, depthwise_w, depthwise_b, stride=2), pointwise_w, pointwise_b, 1)),
        ("nn.max_pool2d()", "x", lambda x: pool(x, np.max, 2, 2, 0)),
        ("nn.max_pool2d(3)", "x", lambda x: pool(x, np.max, 3, 3, 0)),
        ("nn.max_pool2d(3, 2)", "x", lambda x: pool(x, np.max, 3, 2, 0)),
        ("nn.max_pool2d_padded()", "x", lambda x: pool(x, np.max, 3, 2, None, -np.inf)),
        ("nn.max_pool2d_padded(2, 1)", "x", lambda x: pool(x, np.max, 2, 1, None, -np.inf)),
        ("nn.avg_pool2d()", "p", lambda p: pool(p[..., None], np.mean, 2, 2, 0)[..., 0]),
        ("nn.avg_pool2d(3, 2)", "x", lambda x: pool(x, np.mean, 3, 2, 0)),
        ("nn.global_avg_pool2d", "x", lambda x: x.mean((1, 2))),
        ("nn.global_avg_pool2d", "p", lambda p: p.mean((1, 2))),
        ("nn.upsample_nearest2d(3)", "x", lambda x: x.repeat(3, 1).repeat(3, 2)),
        ("nn.upsample_bilinear2d()", "x", lambda x: bilinear(x, 2)),
        ("nn.upsample_bilinear2d(3)", "p", lambda p: bilinear(p[..., None], 3)[..., 0]),
        ("nn.instance_norm()", "0.1 * x", lambda x, gain, bias: normalised(x, (1, 2), 1e-5) * gain + bias),
        ("nn.pad2d", "x, 2", lambda x, pad: np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))),
        ("nn.pad1d", "s, 3", lambda s, pad: np.pad(s, ((0, 0), (pad, pad), (0, 0)))),
        ("nn.batch_norm(eps = 0.1)", "x", lambda x, mean, var, gain, bias: batch_norm(x, mean, var, gain, bias, 0.1)),
    ],
}
SEQUENCES = {
    "inputs": {"x": "n, s | 6", "memory": "n, t | 5", "piece": "s | 6", "keys": "past + %d | 2, 3" % SPARE,
               "values": "past + %d | 2, 3" % SPARE, "q": "n, s | 8", "positions": "i32 s"},
    "sizes": [{"n": 2, "s": 5, "t": 4, "past": 3}, {"n": 1, "s": 1, "t": 1, "past": 0}, {"n": 0, "s": 3, "t": 2, "past": 1},
              {"n": 3, "s": 2, "t": 0, "past": 20}, {"n": 2, "s": 19, "t": 33, "past": 0}],
    "cases": [
        ("nn.attention(2, 3)", "x, memory", attention),
        ("nn.attention(2, 3, causal = 1)", "x, memory", lambda x, memory, **w: attention(x, memory, **w, causal=True)),
        ("nn.self_attention(2, 3, causal = 1)", "x",
         lambda x, **w: attention(x, x, **{name[-2:]: value for name, value in w.items()}, causal=True)),
        ("nn.transformer_block(2, 3, 7, causal = 1)", "x", transformer_block),
        ("nn.cached_attention(2, 3, past)", "piece, keys, values", cached_attention, 3),
        ("nn.rotary(base = 100)", "q, positions", lambda q, positions: rotary(q, positions, 100)),
        ("nn.lstm(3)", "memory, 0, 0", lambda memory, h, c, **w: lstm(memory, **w), 3),
        ("nn.gru(3)", "memory, 0", lambda memory, h, **w: gru(memory, **w), 2),
    ],
}
WEIGHTS = """
param he : [300 -> 200] = nn.he(300)
param glorot : [200 -> 300] = nn.glorot(200, 300)
output y = glorot * {w : [300 -> _]} * range(300) + he.T * range(200)
"""


def typed(axes):
    """dtype and shape of an input"""
    return ("i32", axes[4:]) if axes.startswith("i32 ") else ("f32", axes)


def program_of(table):
    """The text: case i is the instance c{i}, and its results are y{i}, or y{i}_0, y{i}_1, ..."""
    lines = ["import nn", "dim " + ", ".join(table["sizes"][0])]
    lines += ["input %s : %s [%s]" % (name, *typed(axes)) for name, axes in table["inputs"].items()]
    for i, (function, arguments, _, *results) in enumerate(table["cases"]):
        names = ["y%d_%d" % (i, j) for j in range(*results)] if results else ["y%d" % i]
        result = "(%s)" % ", ".join(names) if results else names[0]
        lines.append("let c%d = %s\noutput %s = c%d(%s)" % (i, function, result, i, arguments))
    return "\n".join(lines) + "\n"


def draw_inputs(random, table, sizes):
    """By name: not around 0, and ids below the size v, positions below 500; what a cache has behind its rows is NaN."""
    arrays = {}
    for name, axes in table["inputs"].items():
        dtype, shape = typed(axes)
        batch, _, rest = shape.partition("|") if "|" in shape else ("", "", shape)
        inner, _, output = rest.rpartition("->")
        shape = eval("(%s,)" % ", ".join(row.strip() for row in (batch, output, inner) if row.strip()), {}, sizes)
        if dtype == "i32":
            arrays[name] = random.integers(0, sizes.get("v", 500), shape).astype(np.int32)
        else:
            arrays[name] = (random.standard_normal(shape) + 0.3).astype(np.float32)
    for name in {"keys", "values"} & set(arrays):
        arrays[name][sizes["past"]:] = np.nan
    return arrays


def draw_weights(random, model):
    """By name; a variance is above 0."""
    weights = {name: random.standard_normal(value.shape).astype(np.float32) for name, value in model.params.items()}
    weights.update({name: np.abs(value) + np.float32(0.001) for name, value in weights.items() if name.endswith(".var")})
    return weights


def agrees(got, want):
    want = np.asarray(want)
    size = max(1, np.abs(want[np.isfinite(want)]).max(initial=0))
    same_type = got.dtype == np.float32 and got.shape == want.shape
    return same_type and np.allclose(got, want, rtol=1e-5, atol=1e-5 * size, equal_nan=True)


def wide(arrays):
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in arrays.items()}


def wanted(case, number, inputs, weights):
    """What NumPy says, a list."""
    _, arguments, function, *results = case
    prefix = "c%d." % number
    own = {name[len(prefix):].replace(".", "_"): value for name, value in weights.items() if name.startswith(prefix)}
    want = function(*eval("(%s,)" % arguments, {}, inputs), **own)
    return want if results else [want]


def compare(table, seed):
    """Returns how many results there were, and the texts of the wrong ones."""
    random = np.random.default_rng(seed)
    model = tsr.compile(program_of(table), optimize=0, cache=False, options=OPTIONS)
    count, wrong = 0, []
    for sizes in table["sizes"]:
        weights, inputs = draw_weights(random, model), draw_inputs(random, table, sizes)
        model.params.update(weights)
        results = iter(model.forward(**inputs))
        for number, case in enumerate(table["cases"]):
            for part, want in enumerate(wanted(case, number, wide(inputs), wide(weights))):
                got = next(results)
                count += 1
                if not agrees(got, want):
                    wrong.append("%s(%s) result %d at %s:\n%s\nnot\n%s" % (*case[:2], part, sizes, got, want))
    return count, wrong


def initial_weights():
    """The variances of 60000 numbers, within five standard deviations, and their means."""
    params = tsr.compile("import nn\n" + WEIGHTS, optimize=0, cache=False, options=OPTIONS, seed=3).params
    wrong = []
    for name, variance in ("he", 2 / 300), ("glorot", 2 / 500):
        values = params[name].astype(np.float64)
        spread, mean = np.sqrt(2 / values.size) * variance, np.sqrt(variance / values.size)
        if abs(values.var() - variance) > 5 * spread or abs(values.mean()) > 5 * mean:
            wrong.append("nn.%s: variance %g, mean %g" % (name, values.var(), values.mean()))
    return 2, wrong


def untested(library, texts):
    """Functions of the library that no text applies."""
    applied = set(re.findall(r"\bnn\.(\w+)", "\n".join(texts)))
    return [name for name in re.findall(r"^fn (\w+)", library, re.MULTILINE) if name not in applied]


def main():
    library, *tests = [open(path, encoding="utf8").read() for path in sys.argv[1:]]
    tables = ROWS, IMAGES, SEQUENCES
    parts = [compare(table, seed) for seed, table in enumerate(tables)] + [initial_weights()]
    wrong = [text for part in parts for text in part[1]]
    print("%d results, %d wrong" % (sum(part[0] for part in parts), len(wrong)))
    left = untested(library, [*map(program_of, tables), WEIGHTS, *tests])
    print("functions without a test: %s" % (", ".join(left) or "none"))
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
