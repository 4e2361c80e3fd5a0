"""Trains examples/digits.tsr with NumPy: two padded 3 x 3 convolutions, each with 2 x 2 maxima, then linear.

    train_digits.py TRAIN.npz TEST.npz OUT.safetensors

The arrays are named and laid out as the program's parameters are stored: batch, output, input axes.
"""
import json
import struct
import sys

import numpy as np

EPOCHS, BATCH, RATE = 8, 64, 2e-3


def patches(x):
    """[n, h, w, c] -> [n, h, w, 9 * c], zeros outside."""
    h, w = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.concatenate([padded[:, i:i + h, j:j + w] for i in range(3) for j in range(3)], axis=3)


def unpatches(d):
    n, h, w, c9 = d.shape
    c = c9 // 9
    padded = np.zeros((n, h + 2, w + 2, c), "f4")
    for k in range(9):
        padded[:, k // 3:k // 3 + h, k % 3:k % 3 + w] += d[..., k * c:(k + 1) * c]
    return padded[:, 1:-1, 1:-1]


def conv(x, p, name):
    """relu(convolution); returns the result and what backward needs."""
    cols = patches(x)
    y = np.maximum(cols @ p[name + ".w"].reshape(len(p[name + ".b"]), -1).T + p[name + ".b"], 0)
    return y, (cols, y)


def conv_back(d, saved, p, name, grads):
    cols, y = saved
    d = d * (y > 0)
    flat, columns = d.reshape(-1, d.shape[3]), cols.reshape(-1, cols.shape[3])
    grads[name + ".w"] = (flat.T @ columns).reshape(p[name + ".w"].shape)
    grads[name + ".b"] = flat.sum(0)
    return unpatches(d @ p[name + ".w"].reshape(len(p[name + ".b"]), -1))


def pool(x):
    n, h, w, c = x.shape
    blocks = x.reshape(n, h // 2, 2, w // 2, 2, c)
    y = blocks.max(axis=(2, 4))
    return y, (blocks, y)


def pool_back(d, saved):
    blocks, y = saved
    mask = blocks == y[:, :, None, :, None]
    spread = mask * (d / mask.sum(axis=(2, 4)))[:, :, None, :, None]
    n, h, _, w, _, c = blocks.shape
    return spread.reshape(n, 2 * h, 2 * w, c).astype("f4")


def forward(images, p):
    c1, s1 = conv(images.astype("f4") / 255, p, "c1")
    p1, s2 = pool(c1)
    c2, s3 = conv(p1, p, "c2")
    p2, s4 = pool(c2)
    flat = p2.reshape(len(p2), -1)
    return flat @ p["head.w"].reshape(10, -1).T + p["head.b"], (s1, s2, s3, s4, flat)


def gradients(images, labels, p):
    logits, (s1, s2, s3, s4, flat) = forward(images, p)
    e = np.exp(logits - logits.max(1, keepdims=True))
    d = e / e.sum(1, keepdims=True)
    d[np.arange(len(d)), labels] -= 1
    d /= len(d)
    grads = {"head.w": (d.T @ flat).reshape(p["head.w"].shape), "head.b": d.sum(0)}
    d = (d @ p["head.w"].reshape(10, -1)).reshape(-1, 7, 7, 16)
    d = conv_back(pool_back(d, s4), s3, p, "c2", grads)
    conv_back(pool_back(d, s2), s1, p, "c1", grads)
    return grads


def initial(random):
    def uniform(*shape):
        bound = np.sqrt(6 / np.prod(shape[1:]))
        return random.uniform(-bound, bound, shape).astype("f4")
    return {"c1.w": uniform(8, 3, 3, 1), "c1.b": np.zeros(8, "f4"), "c2.w": uniform(16, 3, 3, 8),
            "c2.b": np.zeros(16, "f4"), "head.w": uniform(10, 7, 7, 16), "head.b": np.zeros(10, "f4")}


def train(images, labels, p, random):
    """Adam with a rate that falls to zero."""
    m, v, step = {k: 0 for k in p}, {k: 0 for k in p}, 0
    steps = EPOCHS * (len(images) // BATCH)
    for _ in range(EPOCHS):
        order = random.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            at = order[start:start + BATCH]
            step += 1
            rate = RATE * (1 - step / (steps + 1))
            for k, g in gradients(images[at], labels[at], p).items():
                m[k] = 0.9 * m[k] + 0.1 * g
                v[k] = 0.999 * v[k] + 0.001 * g * g
                p[k] -= (rate * m[k] / (1 - 0.9 ** step) / (np.sqrt(v[k] / (1 - 0.999 ** step)) + 1e-8)).astype("f4")


def accuracy(data, p):
    return (forward(data["images"], p)[0].argmax(1) == data["labels"]).mean()


def save(path, p):
    header, offset = {}, 0
    for name, a in p.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [offset, offset + a.nbytes]}
        offset += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(a.astype("<f4").tobytes() for a in p.values()))


def main():
    data, test = np.load(sys.argv[1]), np.load(sys.argv[2])
    random = np.random.default_rng(0)
    p = initial(random)
    train(data["images"], data["labels"], p, random)
    save(sys.argv[3], p)
    print(f"right: {accuracy(data, p):.2%} of the trained fonts, {accuracy(test, p):.2%} of the held-out fonts")


if __name__ == "__main__":
    main()
