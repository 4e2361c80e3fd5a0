"""examples.py TSR DIR: runs the compiled examples in DIR on small inputs and compares them with NumPy."""
import math
import subprocess
import sys

import numpy as np

tsr, folder = sys.argv[1:3]
random = np.random.default_rng(0)


def run(name, outputs, *words, **inputs):
    command = [tsr, "run", f"{folder}/{name}.so", *words]
    for key, value in inputs.items():
        np.save(f"{folder}/{key}.npy", value)
        command.append(f"{key}={folder}/{key}.npy")
    for key in outputs:
        command += ["-o", f"{key}={folder}/out_{key}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{name}: {done.stderr}")
    return [np.load(f"{folder}/out_{key}.npy") for key in outputs]


def same(name, got, want):
    if got.shape != want.shape or not np.allclose(got, want, rtol=2e-5, atol=2e-5):
        sys.exit(f"{name}: {got}\ninstead of\n{want}")


def normal(*shape):
    return random.standard_normal(shape).astype("f4")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


for m, k, n in (2, 3, 4), (1, 1, 1), (5, 0, 2), (0, 2, 3):
    a, b = normal(m, k), normal(k, n)
    same("matmul", run("matmul", ["c"], a=a, b=b)[0], a @ b)
x = normal(3, 5) * 30
same("softmax", run("softmax", ["probs"], x=x)[0], softmax(x))
a, b = normal(6), normal(6)
same("interleave", run("interleave", ["both"], a=a, b=b)[0], np.stack([a, b], 1).ravel())

x, w1, b1, w2, b2 = normal(4, 8), normal(16, 8), normal(16), normal(3, 16), normal(3)
np.savez(f"{folder}/mlp.npz", **{"first.w": w1, "first.b": b1, "second.w": w2, "second.b": b2})
same("mlp", run("mlp", ["y"], f"--params={folder}/mlp.npz", x=x)[0], np.maximum(x @ w1.T + b1, 0) @ w2.T + b2)

x, out = normal(2, 3, 64), normal(64, 4, 16)
w = {name: normal(4, 16, 64) / 8 for name in "qkv"}
np.savez(f"{folder}/attention.npz", out=out, **{name + ".w": w[name] for name in w})
q, k, v = (np.einsum("bsd,hed->bshe", x, w[name]) for name in "qkv")
weights = softmax(np.einsum("bshe,bthe->bhst", q, k) / 4)
mixed = np.einsum("bhst,bthe->bshe", weights, v)
same("attention", run("attention", ["y"], f"--params={folder}/attention.npz", x=x)[0],
     np.einsum("bshe,dhe->bsd", mixed, out))


def slide(x, kernel):
    h, w = (n - k + 1 for n, k in zip(x.shape, kernel.shape))
    return sum(kernel[i, j] * x[i:i + h, j:j + w] for i in range(kernel.shape[0]) for j in range(kernel.shape[1]))


image = random.integers(0, 256, (9, 12, 3)).astype("u1")
grey = image.astype("f4") / 255 @ np.array([0.2126, 0.7152, 0.0722], "f4")
gauss, slope = np.array([[1, 4, 6, 4, 1]]) / 16, np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]) / 4
smooth = slide(slide(grey, gauss.T), gauss)
edges, half = run("edges", ["edges", "half"], image=image)
same("edges", edges, np.clip(4 * np.hypot(slide(smooth, slope), slide(smooth, slope.T)), 0, 1))
same("half", half, image[:8].reshape(4, 2, 6, 2, 3).mean((1, 3)) / 255)

probs, label = softmax(normal(20, 10)), random.integers(0, 10, 20).astype("i4")
right, accuracy = run("accuracy", ["right", "accuracy"], probs=probs, label=label)
same("accuracy", accuracy, (probs.argmax(1) == label).mean())


def mixed(x, w):
    """One block of experts.tsr."""
    centred = x - x.mean(-1, keepdims=True)
    e = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w["norm.gain"] + w["norm.bias"]
    y = x.copy()
    for row in range(len(x)):
        scores = w["experts.gate"] @ e[row]
        best = np.argsort(-scores, kind="stable")[:2]
        for expert, share in zip(best, softmax(scores[best])):
            h = w["experts.up"][expert] @ e[row]
            y[row] += share * (w["experts.down"][expert] @ (h * (1 + np.vectorize(math.erf)(h / 2 ** 0.5)) / 2))
    return y


x, blocks = normal(7, 32), ("first", "second")
w = {b: {"norm.gain": normal(32), "norm.bias": normal(32), "experts.gate": normal(8, 32) / 4,
         "experts.up": normal(8, 64, 32) / 8, "experts.down": normal(8, 32, 64) / 8} for b in blocks}
np.savez(f"{folder}/experts.npz", **{f"{b}.{name}": a for b in blocks for name, a in w[b].items()})
same("experts", run("experts", ["y"], f"--params={folder}/experts.npz", x=x)[0],
     mixed(mixed(x, w["first"]), w["second"]))

x, start, end = normal(6, 16), *random.integers(0, 6, (2, 20)).astype("i4")
w = {f"{name}.{part}": normal(*shape) / 4 for name, to, of in (("first", 32, 16), ("second", 8, 32))
     for part, shape in (("own", (to, of)), ("other", (to, of)), ("b", (to,)))}
np.savez(f"{folder}/graph.npz", **w)
h = x
for name in "first", "second":
    heard = np.zeros_like(h)
    np.add.at(heard, end, h[start])
    heard /= np.maximum(np.bincount(end, minlength=6), 1)[:, None]
    h = np.maximum(h @ w[name + ".own"].T + heard @ w[name + ".other"].T + w[name + ".b"], 0)
same("graph", run("graph", ["y"], f"--params={folder}/graph.npz", x=x, **{"from": start, "to": end})[0], h)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


for steps, n in (5, 3), (1, 1), (0, 2):
    x = normal(steps, n, 12)
    w = {"lstm.wx": normal(4, 32, 12) / 3, "lstm.wh": normal(4, 32, 32) / 5, "lstm.b": normal(4, 32),
         "classify.w": normal(5, 32), "classify.b": normal(5)}
    np.savez(f"{folder}/recurrent.npz", **w)
    h, c, all_h = np.zeros((n, 32), "f4"), np.zeros((n, 32), "f4"), np.zeros((steps, n, 32), "f4")
    for i in range(steps):
        z = np.einsum("ni,gji->gnj", x[i], w["lstm.wx"]) + np.einsum("ni,gji->gnj", h, w["lstm.wh"]) + w["lstm.b"][:, None]
        c = sigmoid(z[1]) * c + sigmoid(z[0]) * np.tanh(z[2])
        all_h[i] = h = sigmoid(z[3]) * np.tanh(c)
    probs, outputs = run("recurrent", ["probs", "outputs"], f"--params={folder}/recurrent.npz", x=x)
    same("recurrent", probs, softmax(h @ w["classify.w"].T + w["classify.b"]))
    same("recurrent", outputs, all_h)

for steps, height, width in (7, 5, 6), (0, 3, 3), (2, 1, 4):
    u = want = normal(height, width)
    for _ in range(steps):
        near = np.pad(want, 1)
        want = want + 0.2 * (near[2:, 1:-1] + near[:-2, 1:-1] + near[1:-1, 2:] + near[1:-1, :-2] - 4 * want)
    same("heat", run("heat", ["heat"], f"steps={steps}", "speed=0.2", start=u)[0], want)
for n in 3, 1, 0:
    x = normal(n, 256)
    w, zero = random.integers(0, 16, (64, 8, 32)).astype("u1"), random.integers(0, 16, (64, 8)).astype("u1")
    scale = (normal(64, 8) / 16).astype("f2")
    np.savez(f"{folder}/int4.npz", w=w, zero=zero, scale=scale)
    weight = (w.astype("f4") - zero[..., None]) * scale.astype("f4")[..., None]
    same("int4", run("int4", ["y"], f"--params={folder}/int4.npz", x=x)[0], x @ weight.reshape(64, 256).T)
print("all as NumPy has them")
