"""Random weights with the names and shapes of published files: make_weights.py MODEL OUT.safetensors [NAME=NUMBER...]

GPT-2 and BERT are Hugging Face's, ResNet-50 and MobileNetV2 torchvision's, LeNet is what PyTorch would call it. Nothing
here is taken from the .tsr programs or their maps: it is what a downloaded file has. NAME=NUMBER are the dims of
examples/models/MODEL.tsr, and `seed`. One array at a time is made, so memory stays small. Sums of products keep
their scale: matrices are normal / sqrt(inputs of one output); gains and variances are near 1, the rest near 0.
"""
import json
import sys

import numpy as np


def linear(name, out, in_):
    return [(name + ".weight", (out, in_), in_), (name + ".bias", (out,), 0)]


def conv1d(name, out, in_):
    """GPT-2's dense layers: [in, out]"""
    return [(name + ".weight", (in_, out), in_), (name + ".bias", (out,), 0)]


def norm(name, width):
    return [(name + ".weight", (width,), 0), (name + ".bias", (width,), 0)]


def conv(name, out, in_, k):
    return [(name + ".weight", (out, in_, k, k), in_ * k * k)]


def batch_norm(name, width):
    return norm(name, width) + [(name + ".running_mean", (width,), 0), (name + ".running_var", (width,), 0),
                                (name + ".num_batches_tracked", (), 0)]


def gpt2(layers=12, heads=12, width=64, vocab=50257, longest=1024):
    e = heads * width
    params = [("wte.weight", (vocab, e), 0), ("wpe.weight", (longest, e), 0)]
    for h in (f"h.{i}." for i in range(layers)):
        params += norm(h + "ln_1", e) + conv1d(h + "attn.c_attn", 3 * e, e) + conv1d(h + "attn.c_proj", e, e)
        params += norm(h + "ln_2", e) + conv1d(h + "mlp.c_fc", 4 * e, e) + conv1d(h + "mlp.c_proj", e, 4 * e)
    return params + norm("ln_f", e)


def bert(layers=12, heads=12, width=64, vocab=30522, longest=512):
    e, base = heads * width, "bert.embeddings."
    params = [(f"{base}{what}_embeddings.weight", (rows, e), 0)
              for what, rows in (("word", vocab), ("position", longest), ("token_type", 2))]
    params += norm(base + "LayerNorm", e)
    for layer in (f"bert.encoder.layer.{i}." for i in range(layers)):
        for part in "query", "key", "value":
            params += linear(f"{layer}attention.self.{part}", e, e)
        params += linear(layer + "attention.output.dense", e, e) + norm(layer + "attention.output.LayerNorm", e)
        params += linear(layer + "intermediate.dense", 4 * e, e)
        params += linear(layer + "output.dense", e, 4 * e) + norm(layer + "output.LayerNorm", e)
    return params + linear("bert.pooler.dense", e, e)


def lenet():
    return [("conv1.weight", (6, 1, 5, 5), 25), ("conv1.bias", (6,), 0),
            ("conv2.weight", (16, 6, 5, 5), 150), ("conv2.bias", (16,), 0),
            *linear("fc1", 120, 16 * 5 * 5), *linear("fc2", 84, 120), *linear("fc3", 10, 84)]


def resnet50(size=224, width=64, classes=1000, deep=1):
    params, in_ = conv("conv1", width, 3, 7) + batch_norm("bn1", width), width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        mid = width << stage
        for i in range(blocks if deep else 1):
            name = f"layer{stage + 1}.{i}."
            params += conv(name + "conv1", mid, in_, 1) + batch_norm(name + "bn1", mid)
            params += conv(name + "conv2", mid, mid, 3) + batch_norm(name + "bn2", mid)
            params += conv(name + "conv3", 4 * mid, mid, 1) + batch_norm(name + "bn3", 4 * mid)
            if i == 0:
                params += conv(name + "downsample.0", 4 * mid, in_, 1) + batch_norm(name + "downsample.1", 4 * mid)
            in_ = 4 * mid
    return params + linear("fc", classes, in_)


STAGES = (1, 16, 1), (6, 24, 2), (6, 32, 3), (6, 64, 4), (6, 96, 3), (6, 160, 3), (6, 320, 1)


def mobilenet_v2(size=224, classes=1000, deep=1):
    """With deep=0 the first block of each stage under its number in the whole model"""
    params, in_, block = conv("features.0.0", 32, 3, 3) + batch_norm("features.0.1", 32), 32, 1
    for expand, out, blocks in STAGES:
        for i in range(blocks if deep else 1):
            name, wide, part = f"features.{block + i}.conv.", in_ * expand, 0
            if expand > 1:
                params += conv(name + "0.0", wide, in_, 1) + batch_norm(name + "0.1", wide)
                part = 1
            params += conv(f"{name}{part}.0", wide, 1, 3) + batch_norm(f"{name}{part}.1", wide)
            params += conv(f"{name}{part + 1}", out, wide, 1) + batch_norm(f"{name}{part + 2}", out)
            in_ = out
        block += blocks
    params += conv("features.18.0", 1280, in_, 1) + batch_norm("features.18.1", 1280)
    return params + linear("classifier.1", classes, 1280)


def values(random, name, shape, fan_in):
    if name.endswith("num_batches_tracked"):
        return np.array(1, np.int64)
    if name.endswith("running_var"):
        return np.float32(0.5) + random.random(shape, dtype=np.float32)
    normal = random.standard_normal(shape, dtype=np.float32)
    if fan_in:
        return normal / np.float32(np.sqrt(fan_in))
    gain = name.endswith("weight") and len(shape) == 1
    return np.float32(gain) + np.float32(0.1) * normal


def header(params):
    entries, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _ in params:
        counts = name.endswith("num_batches_tracked")
        start, end = end, end + (8 if counts else 4) * int(np.prod(shape))
        entries[name] = {"dtype": "I64" if counts else "F32", "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write(model, path, seed=0, **dims):
    params, random = globals()[model](**dims), np.random.default_rng(seed)
    with open(path, "wb") as out:
        out.write(header(params))
        for param in params:
            out.write(values(random, *param).tobytes())


def numbers(words):
    return {name: int(value) for name, value in (word.split("=") for word in words)}


if __name__ == "__main__":
    write(*sys.argv[1:3], **numbers(sys.argv[3:]))
