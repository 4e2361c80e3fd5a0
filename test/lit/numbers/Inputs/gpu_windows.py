"""Convolutions by warpgroups from windows that TMA copies as rows: random pictures of one to three axes, of sizes below and beyond
what a copy takes, strides, dilations, margins, taps, channels of several rounds and of a part of one, dims, slices of the sum and
what stands behind it, against float64; PTX has the bits that a host has. gpu_windows.py SEED COUNT KIND..."""
import functools
import os
import sys

import numpy as np

from tsrlib import Model, draw_kind, schedule

rng = np.random.default_rng(int(sys.argv[1]))
draw = functools.partial(draw_kind, rng)
ERRORS = {"bf16": 2e-6, "f16": 2e-6, "tf32": 1.1e-3}  # of an element, in units of its terms' absolute sum
COLUMNS = (64, 128, 192, 256)


def pick(*values):
    return values[int(rng.integers(len(values)))]


def below(low, high):
    return int(rng.integers(low, high))


def random_axis(far):
    """(size, taps, stride, dilation, margins in front and behind) with two places at least: of one there is no loop."""
    taps, stride, dilation = below(1, 5), pick(1, 1, 2, 3, 8), pick(1, 1, 2, 3)
    before, behind = below(0, 4), below(0, 4)
    least = (taps - 1) * dilation + 1 + stride - before - behind
    size = max(below(1, far), least, 1)
    return size, taps, stride, dilation, before, behind


def places(axis):
    size, taps, stride, dilation, before, behind = axis
    return (size + before + behind - (taps - 1) * dilation - 1) // stride + 1


def seen(x, axes):
    """[t, sizes..., c] -> [t, places..., taps..., c]: what each window has, 0 outside."""
    for k, axis in enumerate(axes):
        _, taps, stride, dilation, before, behind = axis
        wide = np.pad(x, [(before, behind) if i == 1 + k else (0, 0) for i in range(x.ndim)])
        at = stride * np.arange(places(axis))[:, None] + dilation * np.arange(taps)
        x = np.moveaxis(np.take(wide, at, 1 + k), 2 + k, -2)
    return x


def program(kind, text, columns, last, steps):
    """It is by windows: that shows in its kernel."""
    asked = schedule("y: tile %s 128 16, j %d %d; block c %s%s\n" % (last, columns, columns, "32" if kind == "tf32" else "64", steps))
    if kind == "tf32":
        text = text.replace("tf32 [", "f32 [").replace("f32(x), f32(k)", "x, k")
    model = Model(text, asked + ["--f32-matmul=tf32"] * (kind == "tf32"))
    with open(os.path.join(os.path.dirname(model.library._name), "m.cu"), encoding="utf8") as file:
        assert "tsr_windows_" in file.read().partition("TSR_KERNEL")[2], text
    return model


def conv(kind, columns, axes, channels, out, symbolic, batch=True, slices=1):
    names, letters = "pqr"[:len(axes)], "hvd"[:len(axes)]
    marks = ", ".join("%d*%s =+?[%d, %d] %d*%s" % (a[2], p, a[4], a[5], a[3], k) for a, p, k in zip(axes, names, "efg"))
    taps = ", ".join("efg"[:len(axes)])
    sizes = ", ".join(l if l in symbolic else str(a[0]) for l, a in zip(letters, axes))
    front = "t | " if batch else "| "
    text = "".join("dim %s\n" % d for d in ("t" if batch else "") + "".join(symbolic)) + """input x : %s [%s%s, %d]
input k : %s [%s, %d -> %d]
input b : [%d]
output y = relu(einsum("%s%s, c; %s, c -> j => %s%s, j", f32(x), f32(k)) + b)
""" % (kind, front, sizes, channels, kind, ", ".join(str(a[1]) for a in axes), channels, out, out, front, marks, taps, front, ", ".join(names))
    model = program(kind, text, columns, names[-1], " %d" % slices if slices > 1 else "")
    if model.ptx:
        model.ptx.most = 2  # blocks, which take turns, where a host has one for each tile
    dims = [a[0] for l, a in zip(letters, axes) if l in symbolic]
    for t in (0, 1, 3) if batch else (1,):
        (x, x64), (k, k64) = (draw(kind, *shape) for shape in ((t, *(a[0] for a in axes), channels), (out, *(a[1] for a in axes), channels)))
        b = rng.standard_normal(out).astype(np.float32)
        shape = (t, *map(places, axes), out)
        rows, columns_ = seen(x64, axes).reshape(-1, k64[0].size), k64.reshape(out, -1).T
        want, size = np.maximum(rows @ columns_ + b, 0), np.abs(rows) @ np.abs(columns_)
        given = [x if batch else x[0], k, b]
        got = model.forward_as_on_host(([t] if batch else []) + dims, given, shape if batch else shape[1:])
        assert np.all(np.isfinite(got)), text
        worst = float((np.abs(got.reshape(want.shape) - want) / (size + 1)).max(initial=0))
        assert worst <= ERRORS[kind], (text, t, worst)


for kind in sys.argv[3:]:
    for number in range(int(sys.argv[2])):
        rank = pick(1, 2, 2, 2, 3)
        axes = [random_axis((40, 12, 6)[rank - 1]) for _ in range(rank)]
        symbolic = [l for l in "hvd"[:rank] if rng.random() < .25]
        conv(kind, pick(*COLUMNS), axes, pick(8, 16, 40, 64, 72, 136), below(1, 80), symbolic, batch=rng.random() < .8)
    conv(kind, 64, [(14, 3, 1, 1, 1, 1), (9, 3, 1, 1, 1, 1)], 136, 40, [], slices=3, batch=False)
print("convolutions are near those of float64")
