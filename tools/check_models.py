"""Whole models against NumPy and PyTorch: check_models.py BUILD FOLDER small|full [MODEL...]

Compiles examples/models/MODEL.tsr, makes random weights with the names and shapes of a published file, runs it on them
through examples/models/MODEL.map and compares every result with models_reference.py, and in full size with
models_torch.py where this Python has PyTorch: the largest difference is at most 1e-4 of the largest number.
"""
import importlib.util
import json
import os
import subprocess
import sys

import numpy as np

import make_weights
import models_reference as reference

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = ["layers=2", "heads=2", "width=8", "vocab=50", "longest=16"]
SMALL = {
    "lenet": [], "gpt2": TEXT, "bert": TEXT,
    "resnet50": ["size=32", "width=4", "classes=10", "deep=0"],
    "mobilenet_v2": ["size=32", "classes=10", "deep=0"],
}
TOLERANCE = 1e-4


class Model:
    """A compiled model in FOLDER with its weights"""

    def __init__(self, build, folder, name, defines):
        self.tsr, self.folder, self.name = f"{build}/tsr", folder, name
        self.stem = f"{folder}/{name}"
        self.source = f"{ROOT}/examples/models/{name}"
        words = [word for define in defines for word in ("-D", define)]
        subprocess.run([f"{build}/tsrc", "-I", f"{ROOT}/lib", *words, self.source + ".tsr", "-o", f"{self.stem}.so"],
                       check=True)
        self.dims = make_weights.numbers(defines)
        self.heads = self.dims.get("heads", 12)
        make_weights.write(name, f"{self.stem}.safetensors", **self.dims)
        self.weights = read_weights(f"{self.stem}.safetensors")

    def run(self, outputs, **inputs):
        command = [self.tsr, "run", f"{self.stem}.so", f"--params={self.stem}.safetensors",
                   f"--params-map={self.source}.map"]
        for name, value in inputs.items():
            np.save(f"{self.stem}_{name}.npy", value)
            command.append(f"{name}={self.stem}_{name}.npy")
        for name in outputs:
            command += ["-o", f"{name}={self.stem}_out_{name}.npy"]
        subprocess.run(command, check=True)
        return [np.load(f"{self.stem}_out_{name}.npy") for name in outputs]


def read_weights(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entries = json.loads(file.read(length))
    data = np.memmap(path, "u1", "r", 8 + length)
    return {name: data[slice(*entry["data_offsets"])].view("<i8" if entry["dtype"] == "I64" else "<f4")
            .reshape(entry["shape"]) for name, entry in entries.items() if name != "__metadata__"}


def rename_weights(path, rename):
    """The same arrays under other names"""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entries, data = json.loads(file.read(length)), file.read()
    text = json.dumps({rename(name): entry for name, entry in entries.items()}).encode()
    with open(path + ".new", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)
    os.replace(path + ".new", path)


def torch_model(model):
    """A function of arrays in the order of the program's inputs, to its results; None without PyTorch"""
    try:
        import torch
        import models_torch
    except ImportError:
        return None
    forward = models_torch.Model(model.name, model.weights, model.heads)

    def call(*arrays):
        with torch.no_grad():
            results = forward(*map(torch.tensor, arrays))
        return [result.numpy() for result in (results if isinstance(results, tuple) else (results,))]
    return call


def compare(what, got, want, whose="NumPy"):
    if got.shape != want.shape:
        sys.exit(f"{what}: shape {got.shape} instead of {want.shape}")
    worst = np.abs(got - want).max() / np.abs(want).max()
    if not worst <= TOLERANCE:
        sys.exit(f"{what}: differs by {worst:.2g} of the largest number")
    print(f"{what}: as {whose} has it")


def check_gpt2(model, random, full):
    """Prefill, then one token, then two, each with the cache so far"""
    w = model.weights
    ids = random.integers(0, len(w["wte.weight"]), 19 if full else 12).astype("i4")
    want = reference.gpt2(w, model.heads, ids)
    width = w["wte.weight"].shape[1] // model.heads
    keys = values = np.zeros((reference.copies(w, "h"), 0, model.heads, width), "f4")
    peer = torch_model(model) if full else None
    done = 0
    for count in (len(ids) - 3, 1, 2):
        part = slice(done, done + count)
        names = ["logits", "new_keys", "new_values"]
        got = model.run(names, ids=ids[part], keys=keys, values=values)
        logits, new_keys, new_values = got
        compare(f"gpt2 {count} positions after {done}", logits, want[part])
        for name, value, theirs in zip(names, got, peer(ids[part], keys, values) if peer else ()):
            compare(f"gpt2 {name} of {count} positions after {done}", value, theirs, "PyTorch")
        keys, values = np.concatenate([keys, new_keys], 1), np.concatenate([values, new_values], 1)
        done += count


def check_bert(model, random, full):
    texts, length = (2, 24) if full else (3, 7)
    ids = random.integers(0, len(model.weights["bert.embeddings.word_embeddings.weight"]), (texts, length)).astype("i4")
    types = random.integers(0, 2, (texts, length)).astype("i4")
    mask = (np.arange(length) < np.array([[length], [length // 2], [1]][:texts])).astype("i4")
    names = ["hidden", "pooled"]
    got = model.run(names, ids=ids, types=types, mask=mask)
    for name, value, want in zip(names, got, reference.bert(model.weights, model.heads, ids, types, mask)):
        compare("bert " + name, value, want)
    peer = torch_model(model) if full else None
    for name, value, want in zip(names, got, peer(ids, types, mask) if peer else ()):
        compare("bert " + name, value, want, "PyTorch")
    if not full:
        rename_weights(f"{model.stem}.safetensors", lambda name: name.removeprefix("bert.").replace(
            "LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"))
        again = model.run(names, ids=ids, types=types, mask=mask)
        print("bert: older names give", "the same" if all(map(np.array_equal, got, again)) else "something else")


def check_pictures(model, random, size, full):
    image = random.standard_normal((2,) + size).astype("f4")
    got = model.run(["logits"], image=image)[0]
    compare(model.name, got, getattr(reference, model.name)(model.weights, image))
    peer = torch_model(model) if full else None
    if peer:
        compare(model.name, got, peer(image)[0], "PyTorch")


def check(build, folder, name, full):
    model = Model(build, folder, name, [] if full else SMALL[name])
    random = np.random.default_rng(1)
    if name == "gpt2":
        check_gpt2(model, random, full)
    elif name == "bert":
        check_bert(model, random, full)
    else:
        size = (28, 28, 1) if name == "lenet" else (224, 224, 3) if full else (32, 32, 3)
        check_pictures(model, random, size, full)
    os.remove(f"{model.stem}.safetensors")


def main():
    build, folder, size = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[4:] or SMALL:
        check(build, folder, name, size == "full")
    if size == "full" and not importlib.util.find_spec("torch"):
        print("PyTorch is not here, and nothing was compared with it: PYTHON=... names a Python that has it")


if __name__ == "__main__":
    main()
