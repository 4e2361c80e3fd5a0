"""The models of examples/models in NumPy, written from their papers and not from the .tsr files.

Each function takes the weights by their dotted names, arrays in storage order (batch, output, input), and arrays of
inputs. Pictures are [n, h, w, c], kernels [out, k, k, in].
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
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".gain"] + w[name + ".bias"]


def dense(w, name, x):
    """x's last axes against the weight's inputs, whatever their number"""
    weight, bias = w[name + ".w"], w[name + ".b"]
    rows = x.reshape(-1, weight.size // bias.size)
    y = rows @ weight.reshape(bias.size, -1).T + bias.ravel()
    return y.reshape(x.shape[:x.ndim - (weight.ndim - bias.ndim)] + bias.shape)


def attention(w, name, x, out, hidden):
    """x: [..., s, e]; hidden: true where a position may not look, broadcast to [..., head, s, t]"""
    q, k, v = (np.moveaxis(dense(w, f"{name}.{part}", x), -2, -3) for part in "qkv")
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    mixed = softmax(np.where(hidden, -np.inf, scores)) @ v
    return dense(w, f"{name}.{out}", np.moveaxis(mixed, -3, -2))


def mlp(w, name, x, act):
    return dense(w, name + ".down", act(dense(w, name + ".up", x)))


def copies(w, prefix):
    """How many copies PREFIX.0, PREFIX.1, ... there are"""
    return len({name[len(prefix) + 1:].split(".")[0] for name in w if name.startswith(prefix + ".")})


def gpt2(w, ids):
    """The whole text at once, without a cache -> logits [s, vocab]"""
    s = len(ids)
    x = w["wte.table"][ids] + w["wpe.table"][:s]
    later = np.arange(s) > np.arange(s)[:, None]
    for i in range(copies(w, "h")):
        x = x + attention(w, f"h.{i}.attn", layer_norm(w, f"h.{i}.ln_1", x), "proj", later)
        x = x + mlp(w, f"h.{i}.mlp", layer_norm(w, f"h.{i}.ln_2", x), gelu_tanh)
    return layer_norm(w, "ln_f", x) @ w["wte.table"].T


def bert(w, ids, types, mask):
    """-> hidden [b, s, e], pooled [b, e]"""
    x = w["word.table"][ids] + w["position.table"][:ids.shape[1]] + w["type.table"][types]
    x = layer_norm(w, "ln", x, 1e-12)
    padding = (mask == 0)[:, None, None, :]
    for i in range(copies(w, "encoder")):
        name = f"encoder.{i}"
        x = layer_norm(w, name + ".ln_1", x + attention(w, name + ".attn", x, "out", padding), 1e-12)
        x = layer_norm(w, name + ".ln_2", x + mlp(w, name + ".mlp", x, gelu), 1e-12)
    return x, np.tanh(dense(w, "pooler", x[:, 0]))


def windows(x, k, stride, pad, fill=0):
    """[n, oh, ow, c, k, k]"""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (k, k), (1, 2))[:, ::stride, ::stride]


def conv(weight, x, stride=1, pad=None):
    out, k = weight.shape[:2]
    seen = windows(x, k, stride, (k - 1) // 2 if pad is None else pad)
    rows = seen.transpose(0, 1, 2, 4, 5, 3).reshape(-1, k * k * x.shape[-1])
    return (rows @ weight.reshape(out, -1).T).reshape(seen.shape[:3] + (out,))


def batch_norm(w, name, x):
    scale = w[name + ".gain"] / np.sqrt(w[name + ".var"] + 1e-5)
    return (x - w[name + ".mean"]) * scale + w[name + ".bias"]


def conv_bn(w, name, x, stride=1):
    return batch_norm(w, name + ".bn", conv(w[name + ".conv.w"], x, stride))


def relu(x):
    return np.maximum(x, 0)


def relu6(x):
    return np.clip(x, 0, 6)


def lenet(w, image):
    def pool(x):
        return windows(x, 2, 2, 0).mean((4, 5))
    x = pool(np.tanh(conv(w["c1.w"], image) + w["c1.b"]))
    x = pool(np.tanh(conv(w["c2.w"], x, pad=0) + w["c2.b"]))
    return dense(w, "f3", np.tanh(dense(w, "f2", np.tanh(dense(w, "f1", x)))))


def resnet50(w, image):
    x = relu(conv_bn(w, "stem", image, 2))
    x = windows(x, 3, 2, 1, -np.inf).max((4, 5))
    for stage in range(1, 5):
        for i in range(copies(w, f"layer{stage}")):
            name, stride = f"layer{stage}.{i}", 2 if stage > 1 and i == 0 else 1
            shortcut = conv_bn(w, name + ".down", x, stride) if i == 0 else x
            y = relu(conv_bn(w, name + ".b", relu(conv_bn(w, name + ".a", x)), stride))
            x = relu(conv_bn(w, name + ".c", y) + shortcut)
    return dense(w, "fc", x.mean((1, 2)))


def mobilenet_v2(w, image):
    x = relu6(conv_bn(w, "stem", image, 2))
    for stage, first in enumerate([1, 2, 2, 2, 1, 2, 1], 1):
        for i in range(copies(w, f"s{stage}.block")):
            name, stride = f"s{stage}.block.{i}", first if i == 0 else 1
            y = relu6(conv_bn(w, name + ".widen", x)) if stage > 1 else x
            kernel = w[name + ".depth.conv.w"]
            y = np.einsum("nhwcij,ijc->nhwc", windows(y, 3, stride, 1), kernel, optimize=True)
            y = conv_bn(w, name + ".project", relu6(batch_norm(w, name + ".depth.bn", y)))
            x = x + y if y.shape == x.shape and stride == 1 else y
    x = relu6(conv_bn(w, "top", x))
    return dense(w, "fc", x.mean((1, 2)))
