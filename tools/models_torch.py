"""The models of examples/models in PyTorch's functional operations, on the same weights.

`Model(name, weights, heads)` is a module; its forward takes the inputs of the .tsr program and returns its results.
Weights are as published files have them (make_weights.py); pictures are [n, h, w, c], which is PyTorch's channels_last
under its own order of axes, and so are kernels.
"""
import torch
import torch.nn.functional as F


def linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def conv1d(w, name, x):
    """GPT-2's dense layer, whose weight is [in, out]"""
    return torch.addmm(w[name + ".bias"], x, w[name + ".weight"])


def layer_norm(w, name, x, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


def copies(w, prefix):
    """How many copies PREFIX.0, PREFIX.1, ... there are"""
    return len({name[len(prefix) + 1:].split(".")[0] for name in w if name.startswith(prefix + ".")})


def split(x, heads):
    """[..., s, e] -> [..., head, s, width]"""
    return x.unflatten(-1, (heads, -1)).transpose(-2, -3)


def joined(x):
    """[..., head, s, width] -> [..., s, e]"""
    return x.transpose(-2, -3).flatten(-2)


def attention(q, k, v, seen=None, causal=False):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril() if causal else seen
    return torch.softmax(scores if seen is None else scores.masked_fill(~seen, -torch.inf), -1) @ v


def gpt2(w, heads, ids, keys, values):
    s, past = len(ids), keys.shape[1]
    x = F.embedding(ids, w["wte.weight"]) + w["wpe.weight"][past:past + s]
    seen = torch.ones(s, past + s, dtype=torch.bool).tril(past) if 1 < s and past else None
    new_keys, new_values = [], []
    for i in range(copies(w, "h")):
        h = f"h.{i}."
        parts = conv1d(w, h + "attn.c_attn", layer_norm(w, h + "ln_1", x)).chunk(3, -1)
        q, k, v = (split(part, heads) for part in parts)
        new_keys.append(k.transpose(0, 1))
        new_values.append(v.transpose(0, 1))
        if past:
            k = torch.cat([keys[i].transpose(0, 1), k], 1)
            v = torch.cat([values[i].transpose(0, 1), v], 1)
        mixed = attention(q[None], k[None], v[None], seen, past == 0 and s > 1)[0]
        x = x + conv1d(w, h + "attn.c_proj", joined(mixed))
        up = F.gelu(conv1d(w, h + "mlp.c_fc", layer_norm(w, h + "ln_2", x)), approximate="tanh")
        x = x + conv1d(w, h + "mlp.c_proj", up)
    logits = F.linear(layer_norm(w, "ln_f", x), w["wte.weight"])
    return logits, torch.stack(new_keys), torch.stack(new_values)


def bert(w, heads, ids, types, mask):
    base = "bert.embeddings."
    x = F.embedding(ids, w[base + "word_embeddings.weight"])
    x = x + w[base + "position_embeddings.weight"][:ids.shape[1]]
    x = x + F.embedding(types, w[base + "token_type_embeddings.weight"])
    x = layer_norm(w, base + "LayerNorm", x, 1e-12)
    seen = (mask != 0)[:, None, None, :]
    for i in range(copies(w, "bert.encoder.layer")):
        layer = f"bert.encoder.layer.{i}."
        q, k, v = (split(linear(w, f"{layer}attention.self.{part}", x), heads) for part in ("query", "key", "value"))
        y = linear(w, layer + "attention.output.dense", joined(attention(q, k, v, seen)))
        x = layer_norm(w, layer + "attention.output.LayerNorm", x + y, 1e-12)
        y = linear(w, layer + "output.dense", F.gelu(linear(w, layer + "intermediate.dense", x)))
        x = layer_norm(w, layer + "output.LayerNorm", x + y, 1e-12)
    return x, torch.tanh(linear(w, "bert.pooler.dense", x[:, 0]))


def conv(w, name, x, stride=1, pad=None):
    kernel = w[name + ".weight"]
    groups = 1 if kernel.shape[1] == x.shape[1] else len(kernel)
    pad = (kernel.shape[-1] - 1) // 2 if pad is None else pad
    return F.conv2d(x, kernel, w.get(name + ".bias"), stride, pad, 1, groups)


def batch_norm(w, name, x):
    return F.batch_norm(x, w[name + ".running_mean"], w[name + ".running_var"], w[name + ".weight"], w[name + ".bias"])


def lenet(w, heads, image):
    x = image.permute(0, 3, 1, 2)
    x = F.avg_pool2d(torch.tanh(conv(w, "conv1", x)), 2)
    x = F.avg_pool2d(torch.tanh(conv(w, "conv2", x, pad=0)), 2)
    return linear(w, "fc3", torch.tanh(linear(w, "fc2", torch.tanh(linear(w, "fc1", x.flatten(1))))))


def resnet50(w, heads, image):
    def conv_bn(name, number, x, stride=1):
        return batch_norm(w, f"{name}bn{number}", conv(w, f"{name}conv{number}", x, stride))
    x = F.relu(conv_bn("", 1, image.permute(0, 3, 1, 2), 2))
    x = F.max_pool2d(x, 3, 2, 1)
    for stage in range(1, 5):
        for i in range(copies(w, f"layer{stage}")):
            name, stride = f"layer{stage}.{i}.", 2 if stage > 1 and i == 0 else 1
            shortcut = x
            if i == 0:
                shortcut = batch_norm(w, name + "downsample.1", conv(w, name + "downsample.0", x, stride))
            y = F.relu(conv_bn(name, 2, F.relu(conv_bn(name, 1, x)), stride))
            x = F.relu(conv_bn(name, 3, y) + shortcut)
    return linear(w, "fc", x.mean((2, 3)))


def mobilenet_v2(w, heads, image):
    def conv_bn(name, x, stride=1):
        return batch_norm(w, name + ".1", conv(w, name + ".0", x, stride))
    x = F.relu6(conv_bn("features.0", image.permute(0, 3, 1, 2), 2))
    for block in range(1, 18):
        name, stride = f"features.{block}.conv", 2 if block in (2, 4, 7, 14) else 1
        y, last = x, 1
        if block > 1:
            y, last = F.relu6(conv_bn(name + ".0", x)), 2
        y = F.relu6(conv_bn(f"{name}.{last - 1}", y, stride))
        y = batch_norm(w, f"{name}.{last + 1}", conv(w, f"{name}.{last}", y))
        x = x + y if y.shape == x.shape and stride == 1 else y
    x = F.relu6(conv_bn("features.18", x))
    return linear(w, "classifier.1", x.mean((2, 3)))


FORWARD = {"gpt2": gpt2, "bert": bert, "lenet": lenet, "resnet50": resnet50, "mobilenet_v2": mobilenet_v2}


def parameter(array):
    value = torch.tensor(array)
    if value.dim() == 4:
        value = value.contiguous(memory_format=torch.channels_last)
    return torch.nn.Parameter(value, requires_grad=False)


class Model(torch.nn.Module):
    def __init__(self, name, weights, heads=12):
        super().__init__()
        self.function, self.heads = FORWARD[name], heads
        self.names = [name for name in weights if not name.endswith("num_batches_tracked")]
        self.weights = torch.nn.ParameterList(parameter(weights[name]) for name in self.names)
        self.eval()

    def forward(self, *inputs):
        return self.function(dict(zip(self.names, self.weights)), self.heads, *inputs)
