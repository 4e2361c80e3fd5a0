"""examples.py TSR DIR BENCH: runs the compiled examples in DIR on small inputs and compares them with what BENCH/example_numpy.py
computes, which the suite `examples` is timed against."""
import subprocess
import sys

import numpy as np

tsr, folder, bench = sys.argv[1:4]
sys.path.insert(0, bench)
import example_numpy

random = np.random.default_rng(0)


def run(name, outputs, *words, params=None, **inputs):
    command = [tsr, "run", f"{folder}/{name}.so", *words]
    for key, value in inputs.items():
        np.save(f"{folder}/{key}.npy", value)
        command.append(f"{key}={folder}/{key}.npy")
    if params:
        np.savez(f"{folder}/{name}.npz", **params)
        command.append(f"--params={folder}/{name}.npz")
    for key in outputs:
        command += ["-o", f"{key}={folder}/out_{key}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{name}: {done.stderr}")
    return [np.load(f"{folder}/out_{key}.npy") for key in outputs]


def check(name, outputs, *words, params=None, **inputs):
    """On these inputs, parameters and dims (DIM=NUMBER; a routine's name)"""
    got = run(name, outputs, *words, params=params, **inputs)
    dims = {dim: float(value) if "." in value else int(value) for dim, _, value in (word.partition("=") for word in words) if value}
    copies = {key: np.array(value) for key, value in {**inputs, **(params or {})}.items()}
    wanted = getattr(example_numpy, name)(copies | dims)
    for key, have, want in zip(outputs, got, wanted if isinstance(wanted, tuple) else (wanted,)):
        if have.shape != want.shape or not np.allclose(have, want, rtol=2e-5, atol=2e-5):
            sys.exit(f"{name}, {key}: {have}\ninstead of\n{want}")


def normal(*shape):
    return random.standard_normal(shape).astype("f4")


def affine(name, to, *of):
    """Weights that leave the scale of what they multiply"""
    to = to if isinstance(to, tuple) else (to,)
    return {name + ".w": normal(*to, *of) / np.float32(np.prod(of) ** 0.5), name + ".b": normal(*to)}


def norm(name, n):
    return {name + ".gain": normal(n), name + ".bias": normal(n)}


for m, k, n in (2, 3, 4), (1, 1, 1), (5, 0, 2), (0, 2, 3):
    check("matmul", ["c"], a=normal(m, k), b=normal(k, n))
check("softmax", ["probs"], x=normal(3, 5) * 30)
check("interleave", ["both"], a=normal(6), b=normal(6))
for n in 3, 1, 0:
    check("fourier", ["spectrum", "power"], signal=normal(n, 2, 4096) / 64)
for samples in 400, 559, 560, 5000:
    check("spectrogram", ["spectrogram"], audio=normal(samples))
check("mlp", ["y"], params=affine("first", 16, 8) | affine("second", 3, 16), x=normal(4, 8))
check("attention", ["y"], params={name + ".w": normal(4, 16, 64) / 8 for name in "qkv"} | {"out": normal(64, 4, 16)},
      x=normal(2, 3, 64))
check("edges", ["edges", "half"], image=random.integers(0, 256, (9, 12, 3)).astype("u1"))
check("accuracy", ["accuracy"], probs=normal(20, 10), label=random.integers(0, 10, 20).astype("i4"))
check("digits", ["probs"], params=affine("c1", 8, 3, 3, 1) | affine("c2", 16, 3, 3, 8) | affine("head", 10, 7, 7, 16),
      image=normal(3, 28, 28, 1) * 255)
params = {}
for block in "first", "second":
    params |= norm(block + ".norm", 32) | {block + ".experts.gate": normal(8, 32) / 4, block + ".experts.up": normal(8, 64, 32) / 8,
                                           block + ".experts.down": normal(8, 32, 64) / 8}
check("experts", ["y"], params=params, x=normal(7, 32))
params = {f"{name}.{part}": normal(*shape) / 4 for name, to, of in (("first", 32, 16), ("second", 8, 32))
          for part, shape in (("own", (to, of)), ("other", (to, of)), ("b", (to,)))}
start, end = random.integers(0, 6, (2, 20)).astype("i4")
check("graph", ["y"], params=params, x=normal(6, 16), **{"from": start, "to": end})
params = {"lstm.wx": normal(4, 32, 12) / 3, "lstm.wh": normal(4, 32, 32) / 5, "lstm.b": normal(4, 32)} | affine("classify", 5, 32)
for steps, n in (5, 3), (1, 1), (0, 2):
    check("recurrent", ["probs", "outputs"], params=params, x=normal(steps, n, 12))
for steps, height, width in (7, 5, 6), (0, 3, 3), (2, 1, 4):
    check("heat", ["heat"], f"steps={steps}", "speed=0.2", start=normal(height, width))
for n in 3, 1, 0:
    params = {"w": random.integers(0, 16, (64, 8, 32)).astype("u1"), "zero": random.integers(0, 16, (64, 8)).astype("u1"),
              "scale": (normal(64, 8) / 16).astype("f2")}
    check("int4", ["y"], params=params, x=normal(n, 256))
check("quantize", ["w", "zero", "scale"], "quantize", weight=normal(64, 256))
params = {"keys": normal(2, 16, 2, 8), "values": normal(2, 16, 2, 8), "wte.table": normal(50, 16), "wpe.table": normal(16, 16)}
for layer in "h.0.", "h.1.":
    params |= norm(layer + "ln_1", 16) | norm(layer + "ln_2", 16) | affine(layer + "attn.proj", 16, 2, 8)
    params |= affine(layer + "mlp.up", 64, 16) | affine(layer + "mlp.down", 16, 64)
    for part in "qkv":
        params |= affine(layer + "attn." + part, (2, 8), 16)
for past, s in (0, 3), (5, 1), (13, 3):
    check("gpt2_decode", ["logits"], "decode", f"past={past}", params=params | norm("ln_f", 16),
          ids=random.integers(0, 50, s).astype("i4"))
print("all as NumPy has them")
