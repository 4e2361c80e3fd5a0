"""Convolutions whose lanes run along a row of the picture, against NumPy: channels first, depthwise, grouped and gray,
widths around those of vectors, margins, strides, dilations, sizes that are known or not."""
import random
import sys

import numpy as np

from tsrlib import Model, check

random.seed(5)
RNG = np.random.default_rng(5)
# the picture's axes before its rows, the weight's before the kernel's, the result's
FORMS = [("n, c", "o, c", "n, o"), ("c", "o, c", "o"), ("c", "c", "c"), ("n, g, c", "g, o, c", "n, g, o"), ("", "", ""),
         ("", "o", "o"), ("c", "c", "")]
WIDTHS = [4, 7, 8, 14, 15, 16, 17, 28, 31, 33, 48, 50, 65]


def letters(names):
    return names.replace(", ", "")


def window(size, kernel, stride, dilation, mark):
    """The margin before the first element, and how many results there are"""
    span = 1 + (kernel - 1) * dilation
    return (span // 2, -(-size // stride)) if mark == "=+?" else (0, max(0, size - span) // stride + 1)


def reference(x, w, forms, axes, out):
    (height, width), total = out, 0
    margins = [(0, 0)] * (x.ndim - 2) + [(a[0], 200) for a in axes]
    wide = np.pad(x.astype(np.float64), margins)
    spec = "%syx,%s->%syx" % tuple(letters(f) for f in forms)
    for ky in range(w.shape[-2]):
        for kx in range(w.shape[-1]):
            (_, sy, dy), (_, sx, dx) = axes
            part = wide[..., ky * dy:ky * dy + sy * height:sy, kx * dx:kx * dx + sx * width:sx]
            total = total + np.einsum(spec, part, w[..., ky, kx].astype(np.float64))
    return total


def run(number, march):
    forms = random.choice(FORMS)
    sizes = {"n": random.choice([1, 3]), "g": 2, "c": random.choice([1, 3, 8, 20]), "o": random.choice([1, 4, 17, 40])}
    h, w = random.choice([1, 3, 8, 14, 21]), random.choice(WIDTHS)
    dtype, symbolic = random.choice(["f32", "f32", "f64"]), random.random() < 0.4
    axes, words = [], []
    for name, size in (("y", h), ("x", w)):
        kernel, stride, dilation = random.choice([1, 2, 3, 3, 5, 7]), random.choice([1, 1, 2, 3]), random.choice([1, 1, 2])
        fits = size >= 1 + (kernel - 1) * dilation
        mark = random.choice(["=+?", "=+?", "<+?"]) if fits else "=+?"
        margin, out = window(size, kernel, stride, dilation, mark)
        axes.append((margin, stride, dilation))
        words.append(("%d*%s %s %d*k%s" % (stride, name, mark, dilation, name), kernel, out))
    source, weight, result = [[n for n in f.split(", ") if n] for f in forms]
    shapes = [[str(sizes[n]) for n in source] + (["h", "w"] if symbolic else [str(h), str(w)]),
              [str(sizes[n]) for n in weight] + [str(words[0][1]), str(words[1][1])]]
    text = "dim h >= 20\ndim w >= 20\n" if symbolic else ""
    if symbolic:
        h, w = max(h, 20), max(w, 20)
        words = [word[:2] + (window(size, word[1], *axis[1:], "=+?" if "=" in word[0] else "<+?")[1],)
                 for word, axis, size in zip(words, axes, (h, w))]
    text += "input p : %s [%s]\ninput v : %s [%s]\n" % (dtype, ", ".join(shapes[0]), dtype, ", ".join(shapes[1]))
    spec = "%s; %s => %s" % (", ".join(source + [words[0][0], words[1][0]]), ", ".join(weight + ["ky", "kx"]),
                             ", ".join(result + ["y", "x"]))
    text += 'output q = relu(einsum("%s", p, v) - 0.5)\n' % spec
    numpy_type = {"f32": np.float32, "f64": np.float64}[dtype]
    picture = RNG.standard_normal([sizes[n] for n in source] + [h, w]).astype(numpy_type)
    values = RNG.standard_normal([sizes[n] for n in weight] + [words[0][1], words[1][1]]).astype(numpy_type)
    out = words[0][2], words[1][2]
    model = Model(text, ["-O1", "-Wno-dims-meet", "-march=" + march])
    got, = model.forward([h, w] if symbolic else [], [picture, values], [([sizes[n] for n in result] + list(out), numpy_type)])
    want = np.maximum(reference(picture, values, forms, axes, out) - 0.5, 0)
    check("trial %d, %s\n%s" % (number, march, text), got, want, 1e-5)


for count in range(int(sys.argv[1])):
    run(count, sys.argv[2 + count % (len(sys.argv) - 2)])
print("%s convolutions agree" % sys.argv[1])
