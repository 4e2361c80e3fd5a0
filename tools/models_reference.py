"""The models of examples/models in NumPy, written from their papers and not from the .tsr files.

Each function takes the weights as published files have them (make_weights.py), and arrays of inputs. Pictures are
[n, h, w, c], kernels [out, in, k, k].
"""
import numpy as np


def erf(x):
    """Abramowitz and Stegun 7.1.26 is too rough: the series below 3, which f64 carries, 1 beyond."""
    x = x.astype("f8")
    near = np.clip(x, -6, 6)
    total = term = near.copy()
    for n in range(1, 120):
        term = term * -near * near / n
        total = total + term / (2 * n + 1)
    return np.where(np.abs(x) < 3.5, total * 2 / np.sqrt(np.pi), np.sign(x))


def gelu(x):
    return (x * 0.5 * (1 + erf(x / np.sqrt(2)))).astype("f4")


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(w, name, x, eps=1e-5):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"] + w[name + ".bias"]


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def conv1d(w, name, x):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def attention(q, k, v, heads, hidden):
    """q, k, v: [..., s, e]; hidden: true where a position may not look, broadcast to [..., head, s, t]"""
    q, k, v = (np.swapaxes(x.reshape(x.shape[:-1] + (heads, -1)), -2, -3) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    mixed = np.swapaxes(softmax(np.where(hidden, -np.inf, scores)) @ v, -3, -2)
    return mixed.reshape(mixed.shape[:-2] + (-1,))


def copies(w, prefix):
    """How many copies PREFIX.0, PREFIX.1, ... there are"""
    return len({name[len(prefix) + 1:].split(".")[0] for name in w if name.startswith(prefix + ".")})


def gpt2(w, heads, ids):
    """The whole text at once, without a cache -> logits [s, vocab]"""
    s = len(ids)
    x = w["wte.weight"][ids] + w["wpe.weight"][:s]
    later = np.arange(s) > np.arange(s)[:, None]
    for h in (f"h.{i}." for i in range(copies(w, "h"))):
        q, k, v = np.split(conv1d(w, h + "attn.c_attn", layer_norm(w, h + "ln_1", x)), 3, -1)
        x = x + conv1d(w, h + "attn.c_proj", attention(q, k, v, heads, later))
        up = gelu_tanh(conv1d(w, h + "mlp.c_fc", layer_norm(w, h + "ln_2", x)))
        x = x + conv1d(w, h + "mlp.c_proj", up)
    return layer_norm(w, "ln_f", x) @ w["wte.weight"].T


def bert(w, heads, ids, types, mask):
    """-> hidden [b, s, e], pooled [b, e]"""
    words, positions, sentences = (w[f"bert.embeddings.{what}_embeddings.weight"]
                                   for what in ("word", "position", "token_type"))
    x = words[ids] + positions[:ids.shape[1]] + sentences[types]
    x = layer_norm(w, "bert.embeddings.LayerNorm", x, 1e-12)
    padding = (mask == 0)[:, None, None, :]
    for layer in (f"bert.encoder.layer.{i}." for i in range(copies(w, "bert.encoder.layer"))):
        q, k, v = (linear(w, f"{layer}attention.self.{part}", x) for part in ("query", "key", "value"))
        y = linear(w, layer + "attention.output.dense", attention(q, k, v, heads, padding))
        x = layer_norm(w, layer + "attention.output.LayerNorm", x + y, 1e-12)
        y = linear(w, layer + "output.dense", gelu(linear(w, layer + "intermediate.dense", x)))
        x = layer_norm(w, layer + "output.LayerNorm", x + y, 1e-12)
    return x, np.tanh(linear(w, "bert.pooler.dense", x[:, 0]))


def windows(x, k, stride, pad, fill=0):
    """[n, oh, ow, c, k, k]"""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (k, k), (1, 2))[:, ::stride, ::stride]


def conv(w, name, x, stride=1, pad=None):
    kernel = w[name + ".weight"]
    out, k = kernel.shape[0], kernel.shape[2]
    seen = windows(x, k, stride, (k - 1) // 2 if pad is None else pad)
    if kernel.shape[1] == 1 < x.shape[-1]:                # one kernel a channel
        return np.einsum("nhwcij,cij->nhwc", seen, kernel[:, 0], optimize=True)
    return (seen.reshape(-1, k * k * x.shape[-1]) @ kernel.reshape(out, -1).T).reshape(seen.shape[:3] + (out,))


def batch_norm(w, name, x):
    scale = w[name + ".weight"] / np.sqrt(w[name + ".running_var"] + 1e-5)
    return (x - w[name + ".running_mean"]) * scale + w[name + ".bias"]


def relu(x):
    return np.maximum(x, 0)


def relu6(x):
    return np.clip(x, 0, 6)


def lenet(w, image):
    def pool(x):
        return windows(x, 2, 2, 0).mean((4, 5))
    x = pool(np.tanh(conv(w, "conv1", image) + w["conv1.bias"]))
    x = pool(np.tanh(conv(w, "conv2", x, pad=0) + w["conv2.bias"]))
    x = x.transpose(0, 3, 1, 2).reshape(len(x), -1)       # [n, c, h, w], flat
    return linear(w, "fc3", np.tanh(linear(w, "fc2", np.tanh(linear(w, "fc1", x)))))


def resnet50(w, image):
    def conv_bn(name, number, x, stride=1):
        return batch_norm(w, f"{name}bn{number}", conv(w, f"{name}conv{number}", x, stride))
    x = relu(conv_bn("", 1, image, 2))
    x = windows(x, 3, 2, 1, -np.inf).max((4, 5))
    for stage in range(1, 5):
        for i in range(copies(w, f"layer{stage}")):
            name, stride = f"layer{stage}.{i}.", 2 if stage > 1 and i == 0 else 1
            shortcut = x
            if i == 0:
                shortcut = batch_norm(w, name + "downsample.1", conv(w, name + "downsample.0", x, stride))
            y = relu(conv_bn(name, 2, relu(conv_bn(name, 1, x)), stride))
            x = relu(conv_bn(name, 3, y) + shortcut)
    return linear(w, "fc", x.mean((1, 2)))


def mobilenet_v2(w, image):
    def conv_bn(name, x, stride=1):
        return batch_norm(w, name + ".1", conv(w, name + ".0", x, stride))
    x = relu6(conv_bn("features.0", image, 2))
    for block in range(1, 18):
        name, stride = f"features.{block}.conv", 2 if block in (2, 4, 7, 14) else 1
        if name + ".0.0.weight" not in w:                  # a model of fewer blocks
            continue
        y, last = x, 1
        if name + ".3.weight" in w:
            y, last = relu6(conv_bn(name + ".0", x)), 2
        y = relu6(conv_bn(f"{name}.{last - 1}", y, stride))
        y = batch_norm(w, f"{name}.{last + 1}", conv(w, f"{name}.{last}", y))
        x = x + y if y.shape == x.shape and stride == 1 else y
    x = relu6(conv_bn("features.18", x))
    return linear(w, "classifier.1", x.mean((1, 2)))
