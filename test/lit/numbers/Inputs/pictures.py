"""Convolutions whose lanes run along a row of the picture, against NumPy: channels first, depthwise, grouped, gray and
few channels last, widths around those of vectors, margins, strides, dilations, sizes that are known or not."""
import random
import sys

import numpy as np

from tsrlib import DTYPES, Model, check

random.seed(5)
RNG = np.random.default_rng(5)
# the axes of picture, weight and result, with rows and columns y and x
FORMS = ["ncyx,ocyx->noyx", "cyx,ocyx->oyx", "cyx,cyx->cyx", "ngcyx,gocyx->ngoyx", "yx,yx->yx", "yx,oyx->oyx",
         "cyx,cyx->yx", "yxb,yx->yxb", "nyxb,byx->nyx", "yxb,obyx->oyx"]
WIDTHS = [4, 7, 8, 14, 15, 16, 17, 28, 31, 33, 48, 50, 65]


def window(size, kernel, stride, dilation, mark):
    """The margin before the first element, and how many results there are"""
    span = 1 + (kernel - 1) * dilation
    return (span // 2, -(-size // stride)) if mark == "=+?" else (0, max(0, size - span) // stride + 1)


def reference(form, x, w, axes, out):
    at, (height, width), total = form.index("y"), out, 0
    margins = [(0, 0)] * x.ndim
    margins[at:at + 2] = [(axis[0], 200) for axis in axes]
    wide = np.pad(x.astype(np.float64), margins)
    weight = "".join(form.split(",")[1].partition("yx")[::2])
    form = "%s,%s" % (form.split(",")[0], weight)
    for ky in range(w.shape[-2]):
        for kx in range(w.shape[-1]):
            (_, sy, dy), (_, sx, dx) = axes
            rows = slice(ky * dy, ky * dy + sy * height, sy), slice(kx * dx, kx * dx + sx * width, sx)
            part = wide[(slice(None),) * at + rows]
            total = total + np.einsum(form, part, w[..., ky, kx].astype(np.float64))
    return total


def run(number, march):
    form = FORMS[number % len(FORMS)]
    sizes = {"n": random.choice([1, 3]), "g": 2, "b": random.choice([2, 3, 4, 15])}
    sizes |= {"c": random.choice([1, 3, 8, 20]), "o": random.choice([1, 4, 17, 40])}
    h, w = random.choice([1, 3, 8, 14, 21]), random.choice(WIDTHS)
    dtype, symbolic = random.choice(["f32", "f32", "f64"]), random.random() < 0.4
    if symbolic:
        h, w = max(h, 20), max(w, 20)
    axes, words = [], []
    for name, size in (("y", h), ("x", w)):
        kernel, stride = random.choice([1, 2, 3, 3, 5, 7]), random.choice([1, 1, 2, 3])
        dilation = random.choice([1, 1, 2])
        fits = size >= 1 + (kernel - 1) * dilation
        mark = random.choice(["=+?", "=+?", "<+?"]) if fits else "=+?"
        margin, out = window(size, kernel, stride, dilation, mark)
        axes.append((margin, stride, dilation))
        words.append(("%d*%s %s %d*k%s" % (stride, name, mark, dilation, name), kernel, out))
    (source, weight), result = form.split("->")[0].split(","), form.split("->")[1]
    kernels, sizes["y"], sizes["x"] = {"y": words[0][1], "x": words[1][1]}, h, w
    names = {"y": "h", "x": "w"} if symbolic else {}
    picture = RNG.standard_normal([sizes[c] for c in source]).astype(DTYPES[dtype])
    values = RNG.standard_normal([kernels.get(c, sizes[c]) for c in weight]).astype(DTYPES[dtype])
    text = "dim h >= 20\ndim w >= 20\n" if symbolic else ""
    text += "input p : %s [%s]\n" % (dtype, ", ".join(names.get(c, str(sizes[c])) for c in source))
    text += "input v : %s [%s]\n" % (dtype, ", ".join(map(str, values.shape)))
    forms = {"y": words[0][0], "x": words[1][0]}
    kernel = ", ".join("k" + c if c in "yx" else c for c in weight)
    spec = "%s; %s => %s" % (", ".join(forms.get(c, c) for c in source), kernel, ", ".join(result))
    text += 'output q = relu(einsum("%s", p, v) - 0.5)\n' % spec
    out = {"y": words[0][2], "x": words[1][2]}
    shape = tuple(out.get(c, sizes[c]) for c in result)
    model = Model(text, ["-O0", "-Wno-dims-meet", "-march=" + march])
    got, = model.forward([h, w] if symbolic else [], [picture, values], [(shape, DTYPES[dtype])])
    want = np.maximum(reference(form, picture, values, axes, (out["y"], out["x"])) - 0.5, 0)
    check("trial %d, %s\n%s" % (number, march, text), got, want, 1e-5)


for count in range(int(sys.argv[1])):
    run(count, sys.argv[2 + count % (len(sys.argv) - 2)])
print("%s convolutions agree" % sys.argv[1])
