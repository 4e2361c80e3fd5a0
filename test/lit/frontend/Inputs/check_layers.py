"""Layers of the library against NumPy: check_layers.py make DIR, then check_layers.py check DIR."""
import sys
from math import erf

import numpy as np

N, T = 3, 5


def arrays():
    rng = np.random.default_rng(1)
    def normal(*shape):
        return rng.standard_normal(shape).astype("f4")
    return {
        "x": normal(N, T, 8), "img": normal(N, 6, 6, 2), "ids": np.array([7, 0, 3], "i4"),
        "att.wq": normal(2, 4, 8), "att.wk": normal(2, 4, 8),
        "att.wv": normal(2, 4, 8), "att.wo": normal(8, 2, 4),
        "conv2d.w": normal(3, 3, 3, 2), "depthwise_conv2d.w": normal(3, 3, 2),
        "batch_norm.mean": normal(2), "batch_norm.var": normal(2) ** 2 + 1,
    }


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(a):
    q, k, v = (np.einsum("nse,hde->nshd", a["x"], a["att.w" + name]) for name in "qkv")
    scores = np.einsum("nshd,nthd->nsht", q, k) / 2
    mask = np.arange(T)[:, None] >= np.arange(T)
    p = softmax(np.where(mask[None, :, None, :], scores, -np.inf))
    return np.einsum("nshd,ehd->nse", np.einsum("nsht,nthd->nshd", p, v), a["att.wo"])


def windows(img):
    padded = np.pad(img, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.stack([padded[:, i:i + 6, j:j + 6] for i in range(3) for j in range(3)], 3)


def expected(a):
    x, img = a["x"], a["img"]
    centred = x - x.mean(-1, keepdims=True)
    seen = windows(img)
    rows = np.arange(N)
    return {
        "a": attention(a), "sm": softmax(x),
        "ln": centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5),
        "ce": -np.log(softmax(x.sum(1)))[rows, a["ids"]],
        "c": np.einsum("nhwkc,okc->nhwo", seen, a["conv2d.w"].reshape(3, 9, 2)),
        "dw": np.einsum("nhwkc,kc->nhwc", seen, a["depthwise_conv2d.w"].reshape(9, 2)),
        "ap": img.reshape(N, 3, 2, 3, 2, 2).mean((2, 4)), "m": img.mean(),
        "bn": (img - a["batch_norm.mean"]) / np.sqrt(a["batch_norm.var"] + 1e-5),
        "act": x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2,
    }


def main():
    directory = sys.argv[2]
    if sys.argv[1] == "make":
        for name, array in arrays().items():
            np.save("%s/%s.npy" % (directory, name), array)
        return
    for name, want in expected(arrays()).items():
        got = np.load("%s/out_%s.npy" % (directory, name))
        assert got.shape == np.shape(want), (name, got.shape, np.shape(want))
        close = np.allclose(got, want, rtol=2e-5, atol=2e-5)
        print(name, "ok" if close else "differs: %g" % np.abs(got - want).max())


main()
