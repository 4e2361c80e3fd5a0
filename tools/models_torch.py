"""The models of examples/models in PyTorch's functional operations, on the same weights.

`Model(name, weights)` is a module; its forward takes the inputs of the .tsr program and returns its results.
Weights are given by their dotted names, arrays in storage order (batch, output, input); pictures are [n, h, w, c],
which is PyTorch's channels_last under its own order of axes.
"""
import torch
import torch.nn.functional as F


def dense(w, name, x):
    weight, bias = w[name + ".w"], w[name + ".b"].flatten()
    return F.linear(x, weight.reshape(bias.numel(), -1), bias)


def layer_norm(w, name, x, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w[name + ".gain"], w[name + ".bias"], eps)


def copies(w, prefix):
    """How many copies PREFIX.0, PREFIX.1, ... there are"""
    return len({name[len(prefix) + 1:].split(".")[0] for name in w if name.startswith(prefix + ".")})


def heads(w, name, x):
    """[..., s, e] -> [..., head, s, width]"""
    return dense(w, name, x).unflatten(-1, w[name + ".w"].shape[:2]).transpose(-2, -3)


def joined(x):
    """[..., head, s, width] -> [..., s, e]"""
    return x.transpose(-2, -3).flatten(-2)


def attention(q, k, v, seen=None, causal=False):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril() if causal else seen
    return torch.softmax(scores if seen is None else scores.masked_fill(~seen, -torch.inf), -1) @ v


def gpt2(w, ids, keys, values):
    s, past = len(ids), keys.shape[1]
    x = F.embedding(ids, w["wte.table"]) + w["wpe.table"][past:past + s]
    seen = torch.ones(s, past + s, dtype=torch.bool).tril(past) if 1 < s and past else None
    new_keys, new_values = [], []
    for i in range(copies(w, "h")):
        y = layer_norm(w, f"h.{i}.ln_1", x)
        q, k, v = (heads(w, f"h.{i}.attn.{part}", y) for part in "qkv")
        new_keys.append(k.transpose(0, 1))
        new_values.append(v.transpose(0, 1))
        if past:
            k = torch.cat([keys[i].transpose(0, 1), k], 1)
            v = torch.cat([values[i].transpose(0, 1), v], 1)
        mixed = attention(q[None], k[None], v[None], seen, past == 0 and s > 1)[0]
        x = x + dense(w, f"h.{i}.attn.proj", joined(mixed))
        up = F.gelu(dense(w, f"h.{i}.mlp.up", layer_norm(w, f"h.{i}.ln_2", x)), approximate="tanh")
        x = x + dense(w, f"h.{i}.mlp.down", up)
    logits = F.linear(layer_norm(w, "ln_f", x), w["wte.table"])
    return logits, torch.stack(new_keys), torch.stack(new_values)


def bert(w, ids, types, mask):
    x = F.embedding(ids, w["word.table"]) + w["position.table"][:ids.shape[1]] + F.embedding(types, w["type.table"])
    x = layer_norm(w, "ln", x, 1e-12)
    seen = (mask != 0)[:, None, None, :]
    for i in range(copies(w, "encoder")):
        name = f"encoder.{i}"
        q, k, v = (heads(w, f"{name}.attn.{part}", x) for part in "qkv")
        mixed = joined(attention(q, k, v, seen))
        x = layer_norm(w, name + ".ln_1", x + dense(w, name + ".attn.out", mixed), 1e-12)
        up = F.gelu(dense(w, name + ".mlp.up", x))
        x = layer_norm(w, name + ".ln_2", x + dense(w, name + ".mlp.down", up), 1e-12)
    return x, torch.tanh(dense(w, "pooler", x[:, 0]))


def conv(w, name, x, stride=1, pad=None, bias=None):
    kernel = w[name + ".w"].permute(0, 3, 1, 2)
    return F.conv2d(x, kernel, bias, stride, (kernel.shape[-1] - 1) // 2 if pad is None else pad)


def batch_norm(w, name, x):
    return F.batch_norm(x, w[name + ".mean"], w[name + ".var"], w[name + ".gain"], w[name + ".bias"])


def conv_bn(w, name, x, stride=1):
    return batch_norm(w, name + ".bn", conv(w, name + ".conv", x, stride))


def lenet(w, image):
    x = image.permute(0, 3, 1, 2)
    x = F.avg_pool2d(torch.tanh(conv(w, "c1", x, bias=w["c1.b"])), 2)
    x = F.avg_pool2d(torch.tanh(conv(w, "c2", x, pad=0, bias=w["c2.b"])), 2)
    x = x.permute(0, 2, 3, 1).flatten(1)
    return dense(w, "f3", torch.tanh(dense(w, "f2", torch.tanh(dense(w, "f1", x)))))


def resnet50(w, image):
    x = F.relu(conv_bn(w, "stem", image.permute(0, 3, 1, 2), 2))
    x = F.max_pool2d(x, 3, 2, 1)
    for stage in range(1, 5):
        for i in range(copies(w, f"layer{stage}")):
            name, stride = f"layer{stage}.{i}", 2 if stage > 1 and i == 0 else 1
            shortcut = conv_bn(w, name + ".down", x, stride) if i == 0 else x
            y = F.relu(conv_bn(w, name + ".b", F.relu(conv_bn(w, name + ".a", x)), stride))
            x = F.relu(conv_bn(w, name + ".c", y) + shortcut)
    return dense(w, "fc", x.mean((2, 3)))


def mobilenet_v2(w, image):
    x = F.relu6(conv_bn(w, "stem", image.permute(0, 3, 1, 2), 2))
    for stage, first in enumerate([1, 2, 2, 2, 1, 2, 1], 1):
        for i in range(copies(w, f"s{stage}.block")):
            name, stride = f"s{stage}.block.{i}", first if i == 0 else 1
            y = F.relu6(conv_bn(w, name + ".widen", x)) if stage > 1 else x
            kernel = w[name + ".depth.conv.w"].permute(2, 0, 1)[:, None]
            y = F.relu6(batch_norm(w, name + ".depth.bn", F.conv2d(y, kernel, None, stride, 1, 1, len(kernel))))
            y = conv_bn(w, name + ".project", y)
            x = x + y if y.shape == x.shape and stride == 1 else y
    x = F.relu6(conv_bn(w, "top", x))
    return dense(w, "fc", x.mean((2, 3)))


FORWARD = {"gpt2": gpt2, "bert": bert, "lenet": lenet, "resnet50": resnet50, "mobilenet_v2": mobilenet_v2}


class Model(torch.nn.Module):
    def __init__(self, name, weights):
        super().__init__()
        self.function, self.names = FORWARD[name], list(weights)
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(torch.tensor(weights[name]), requires_grad=False) for name in self.names)
        self.eval()

    def forward(self, *inputs):
        return self.function(dict(zip(self.names, self.weights)), *inputs)
