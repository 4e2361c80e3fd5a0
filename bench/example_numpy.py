"""What the programs of examples/ compute, in NumPy, as one would write it there: a function of arrays by the names that
inputs and parameters have, each called as its program (gpt2_decode: the routine). test/lit/runtime/examples.test holds the
programs against these functions, and the suite `examples` times both."""
import numpy as np

GAUSS, SLOPE = np.array([[1, 4, 6, 4, 1]], "f4") / 16, np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], "f4") / 4
LUMA = np.array([0.2126, 0.7152, 0.0722], "f4")


def exponentials(x):
    """Of each row, as parts of their sum"""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    """Of f32: a rational function, by Eigen's coefficients; NumPy has none."""
    x = np.clip(x, -4, 4)
    s = x * x
    over = x * np.polyval(np.array([-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                                    -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02], "f4"), s)
    return over / np.polyval(np.array([-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                                       -7.37332916720468e-03, -1.42647390514189e-02], "f4"), s)


def layer_norm(x, gain, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * gain + bias


def matmul(a):
    return a["a"] @ a["b"]


def softmax(a):
    return exponentials(a["x"])


def interleave(a):
    return np.stack([a["a"], a["b"]], 1).ravel()


def fourier(a):
    spectrum = np.fft.fft(a["signal"][:, 0] + 1j * a["signal"][:, 1])
    return np.stack([spectrum.real, spectrum.imag], 1), spectrum.real ** 2 + spectrum.imag ** 2


def spectrogram(a):
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 8000 / 700), 82) / 2595) - 1)
    lower, centre, upper, frequency = edges[:-2, None], edges[1:-1, None], edges[2:, None], np.linspace(0, 8000, 201)
    bands = np.maximum(0, np.minimum((frequency - lower) / (centre - lower), (upper - frequency) / (upper - centre)))
    hann = (0.5 - 0.5 * np.cos(2 * np.pi / 400 * np.arange(400))).astype("f4")
    spectrum = np.fft.rfft(np.lib.stride_tricks.sliding_window_view(a["audio"], 400)[::160] * hann)
    power = spectrum.real ** 2 + spectrum.imag ** 2
    return np.log10(np.maximum(1e-10, power @ bands.T.astype(power.dtype)))


def mlp(a):
    return np.maximum(a["x"] @ a["first.w"].T + a["first.b"], 0) @ a["second.w"].T + a["second.b"]


def attention(a):
    x, size = a["x"], a["x"].shape[-1]
    q, k, v = ((x @ a[name + ".w"].reshape(size, size).T).reshape(*x.shape[:2], 4, size // 4).swapaxes(1, 2)
               for name in "qkv")
    mixed = exponentials(q @ k.swapaxes(2, 3) / 4) @ v
    return mixed.swapaxes(1, 2).reshape(x.shape) @ a["out"].reshape(size, size).T


def slide(x, kernel):
    h, w = (n - k + 1 for n, k in zip(x.shape, kernel.shape))
    return sum(kernel[i, j] * x[i:i + h, j:j + w] for i in range(kernel.shape[0]) for j in range(kernel.shape[1]))


def edges(a):
    pixels = a["image"] / np.float32(255)
    smooth = slide(slide(pixels @ LUMA, GAUSS.T), GAUSS)
    h, w = (n // 2 for n in pixels.shape[:2])
    return (np.clip(4 * np.hypot(slide(smooth, SLOPE), slide(smooth, SLOPE.T)), 0, 1),
            pixels[:2 * h, :2 * w].reshape(h, 2, w, 2, 3).mean((1, 3)))


def accuracy(a):
    return (a["probs"].argmax(1) == a["label"]).mean()


def conv(x, w, b):
    """x [n, h, w, c], w [out, 3, 3, c], a margin of 1: one product over all windows."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    return np.maximum(windows.reshape(*x.shape[:3], -1) @ w.reshape(len(w), -1).T + b, 0)


def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def digits(a):
    x = a["image"] / np.float32(255)
    for layer in "c1", "c2":
        x = pool(conv(x, a[layer + ".w"], a[layer + ".b"]))
    return exponentials(x.reshape(len(x), -1) @ a["head.w"].reshape(10, -1).T + a["head.b"])


def experts(a):
    x = a["x"]
    for block in "first", "second":
        gate, up, down = (a["%s.experts.%s" % (block, name)] for name in ("gate", "up", "down"))
        e = layer_norm(x, a[block + ".norm.gain"], a[block + ".norm.bias"])
        scores = e @ gate.T
        best = np.argsort(-scores, kind="stable")[:, :2]
        shares, y = exponentials(np.take_along_axis(scores, best, 1)), x.copy()
        for expert in range(len(up)):
            row, place = np.nonzero(best == expert)
            h = e[row] @ up[expert].T
            y[row] += shares[row, place, None] * ((h * (1 + erf(h / np.float32(2 ** 0.5))) / 2) @ down[expert].T)
        x = y
    return x


def graph(a):
    h, start, end = a["x"], a["from"], a["to"]
    degree = np.maximum(np.bincount(end, minlength=len(h)), 1).astype("f4")[:, None]
    for name in "first", "second":
        sent = h[start]
        heard = np.stack([np.bincount(end, column, len(h)) for column in sent.T], 1).astype("f4") / degree
        h = np.maximum(h @ a[name + ".own"].T + heard @ a[name + ".other"].T + a[name + ".b"], 0)
    return h


def recurrent(a):
    x, b = a["x"], a["lstm.b"].ravel()
    z = x @ a["lstm.wx"].reshape(len(b), -1).T + b
    wh = a["lstm.wh"].reshape(len(b), -1).T
    h = c = np.zeros((x.shape[1], len(wh)), "f4")
    outputs = np.zeros((len(x), *h.shape), "f4")
    for i, given in enumerate(z):
        take, keep, new, out = np.split(given + h @ wh, 4, 1)
        c = sigmoid(keep) * c + sigmoid(take) * np.tanh(new)
        outputs[i] = h = sigmoid(out) * np.tanh(c)
    return exponentials(h @ a["classify.w"].T + a["classify.b"]), outputs


def heat(a):
    u, near = a["start"], np.pad(a["start"], 1)
    for _ in range(a["steps"]):
        near[1:-1, 1:-1] = u
        u = u + a["speed"] * (near[2:, 1:-1] + near[:-2, 1:-1] + near[1:-1, 2:] + near[1:-1, :-2] - 4 * u)
    return u


def int4(a):
    """From a byte an element: NumPy has no narrower ones."""
    weight = (a["w"].astype("f4") - a["zero"][..., None]) * a["scale"].astype("f4")[..., None]
    return a["x"] @ weight.reshape(len(weight), -1).T


def gpt2_decode(a):
    """One call of the routine decode; the caches change in place."""
    s, past, heads = len(a["ids"]), a["past"], a["keys"].shape[2]
    x = a["wte.table"][a["ids"]] + a["wpe.table"][past:past + s]
    hidden = np.arange(past + s) > past + np.arange(s)[:, None]
    for layer, (keys, values) in enumerate(zip(a["keys"], a["values"])):
        name = "h.%d." % layer
        y = layer_norm(x, a[name + "ln_1.gain"], a[name + "ln_1.bias"])
        q, k, v = (y @ a[name + "attn.%s.w" % part].reshape(x.shape[1], -1).T + a[name + "attn.%s.b" % part].ravel()
                   for part in "qkv")
        keys[past:past + s], values[past:past + s] = k.reshape(s, heads, -1), v.reshape(s, heads, -1)
        q = q.reshape(s, heads, -1).swapaxes(0, 1)
        scores = q @ keys[:past + s].transpose(1, 2, 0) / np.float32(q.shape[-1] ** 0.5)
        mixed = exponentials(np.where(hidden, -np.inf, scores).astype("f4")) @ values[:past + s].swapaxes(0, 1)
        x = x + mixed.swapaxes(0, 1).reshape(s, -1) @ a[name + "attn.proj.w"].reshape(x.shape[1], -1).T + a[name + "attn.proj.b"]
        h = layer_norm(x, a[name + "ln_2.gain"], a[name + "ln_2.bias"]) @ a[name + "mlp.up.w"].T + a[name + "mlp.up.b"]
        h = h * sigmoid(np.float32(2 * (2 / np.pi) ** 0.5) * (h + np.float32(0.044715) * h ** 3))
        x = x + h @ a[name + "mlp.down.w"].T + a[name + "mlp.down.b"]
    return layer_norm(x, a["ln_f.gain"], a["ln_f.bias"]) @ a["wte.table"].T


def quantize(a):
    group = a["weight"].reshape(len(a["weight"]), -1, 32)
    least, most = np.minimum(group.min(2), 0), np.maximum(group.max(2), 0)
    step = ((most - least) / np.float32(15)).astype("f2")
    below = np.clip(np.round(-least / step.astype("f4")), 0, 15)
    near = np.round(group / step.astype("f4")[..., None]) + below[..., None]
    return np.clip(near, 0, 15).astype("u1"), below.astype("u1"), step
