"""Convolutions on a GPU: strides, dilations, margins, groups, channels of every kind and symbolic sizes, in tiles and as windows
of each channel, against sums of shifted pictures in float64; PTX has the bits that a host has.
Gradients of their weights likewise, in slices of all places. gpu_conv.py SEED KIND..."""
import functools
import os
import sys

import numpy as np

from tsrlib import Model, draw_kind, schedule

rng = np.random.default_rng(int(sys.argv[1]))
draw = functools.partial(draw_kind, rng)
ERRORS = {"f32": 2e-6, "bf16": 2e-6, "f16": 2e-6}  # of the error of an element, in units of its terms' absolute sum
SMALL, LARGE = (16, 64, 4, 4), (64, 64, 8, 4)
WARPS = {SMALL: (16, 64, 16, 16), LARGE: (64, 64, 32, 32)}


def windows(x, out, taps, stride, dilation, pad, margin=0):
    """[t, h, w, c] -> [t, out[0], out[1], taps[0], taps[1], c]."""
    wide = np.pad(x, ((0, 0), (pad, pad + 64), (pad, pad + 64), (0, 0)), constant_values=margin)
    rows = stride * np.arange(out[0])[:, None] + dilation * np.arange(taps[0])
    columns = stride * np.arange(out[1])[:, None] + dilation * np.arange(taps[1])
    return wide[:, rows[:, None, :, None], columns[None, :, None, :]]


def check(name, kind, got, terms, subscripts):
    want = np.maximum(np.einsum(subscripts, *terms), 0)
    size = np.einsum(subscripts, *map(np.abs, terms))
    assert got.shape == want.shape and np.all(np.isfinite(got)), (name, got.shape, want.shape)
    worst = float((np.abs(got - want) / (size + 1)).max(initial=0))
    assert worst <= ERRORS[kind], (name, kind, worst)


def conv(kind, tile, picture, channels, taps=(3, 3), stride=1, dilation=1, pad=1, groups=0, symbolic=""):
    """symbolic: which of h, w, c and o, the channels of the result, are dims."""
    (h, w), c, out = picture, *channels
    places = [(n + 2 * pad - (k - 1) * dilation - 1) // stride + 1 for n, k in zip(picture, taps)]
    sizes = dict(h=h, w=w, c=c, o=out)
    words = {name: name if name in symbolic else str(size) for name, size in sizes.items()}
    cast = "%s" if kind == "f32" else "f32(%s)"
    group, own = ("%d, " % groups, "g, ") if groups else ("", "")
    tile = tile if kind == "f32" else WARPS[tile]
    model = Model("".join("dim %s\n" % name for name in "t" + symbolic) + """input x : %s [t | %s, %s, %s%s]
input k : %s [%s%d, %d, %s -> %s]
output y = relu(einsum("t | %d*p =+?[%d] %d*a, %d*q =+?[%d] %d*b, %sc; %sa, b, c -> j => t | p, q, %sj", %s, %s))
""" % (kind, words["h"], words["w"], group, words["c"], kind, group, *taps, words["c"], words["o"], stride, pad, dilation, stride, pad,
       dilation, own, own, own, cast % "x", cast % "k"),
                  schedule("y: tile q %d %d, j %d %d\n" % (tile[0], tile[2], tile[1], tile[3])) + (["--fp=strict"] if kind == "f32" else []))
    many = groups or 1
    for t in (0, 2):
        (x, x64), (k, k64) = draw(kind, t, h, w, many * c), draw(kind, out, many, *taps, c)
        got = model.forward_as_on_host([t, *(sizes[name] for name in symbolic)], [x, k], (t, *places, many * out))
        seen = windows(x64, places, taps, stride, dilation, pad).reshape(t, *places, *taps, many, c)
        check("%s" % [kind, picture, channels, taps, stride, dilation, pad, groups, symbolic], kind,
              got.reshape(t, *places, many, out), (seen, k64), "tpqabgc,jgabc->tpqgj")


def depthwise(kind, picture, channels, stride=1, dilation=1, pad=1, symbolic=""):
    """A window of each channel, what its sum and a norm's scale give, and the greatest of the window."""
    (h, w), c = picture, channels
    places = [(n + 2 * pad - 2 * dilation - 1) // stride + 1 for n in picture]
    words = [name if name in symbolic else str(size) for name, size in zip("hwc", (h, w, c))]
    marks = "%d*p =+?[%d] %d*a, %d*q =+?[%d] %d*b, c" % ((stride, pad, dilation) * 2)
    cast = "%s" if kind == "f32" else "f32(%s)"
    model = Model("".join("dim %s\n" % name for name in "t" + symbolic) + """input x : %s [t | %s, %s, %s]
input k : %s [3, 3, %s]
input s : [%s]
output y = relu(einsum("t | %s; a, b, c => t | p, q, c", %s, %s) .* (s + 1))
output top = reduce(max, "t | %s => t | p, q, c", %s)  with (a = 3, b = 3)
""" % (kind, *words, kind, words[2], words[2], marks, cast % "x", cast % "k", marks, cast % "x"), ["--fp=strict"])
    for t in (0, 3):
        (x, x64), (k, k64), s = draw(kind, t, h, w, c), draw(kind, 3, 3, c), rng.uniform(-.5, 1, c).astype(np.float32)
        got, top = model.forward([t, *(dict(h=h, w=w, c=c)[name] for name in symbolic)], [x, k, s], [((t, *places, c), np.float32)] * 2)
        seen = windows(x64, places, (3, 3), stride, dilation, pad)
        check("%s" % [kind, picture, c, stride, dilation, symbolic], kind, np.asarray(got).astype(np.float64), (seen, k64, s + 1.0), "tpqabc,abc,c->tpqc")
        inside = windows(np.zeros_like(x64), places, (3, 3), stride, dilation, pad, -np.inf)
        assert np.array_equal(np.asarray(top), (seen + inside).max((3, 4)).astype(np.float32)), (kind, "greatest", symbolic)


def weights(kind, tile, picture, channels, taps=(3, 3), stride=1, dilation=1, pad=1, groups=0, symbolic=(), slices=0):
    """The gradient of a convolution's weights, whose sum is over all places of all pictures; symbolic: which of h, w, oh and ow are
    dims; slices: that are asked for."""
    (h, w), c, out = picture, *channels
    places = [(n + 2 * pad - (k - 1) * dilation - 1) // stride + 1 for n, k in zip(picture, taps)]
    sizes = dict(h=h, w=w, oh=places[0], ow=places[1])
    words = {name: name if name in symbolic else str(size) for name, size in sizes.items()}
    cast = "%s" if kind == "f32" else "f32(%s)"
    group, own = ("%d, " % groups, "g, ") if groups else ("", "")
    tile = tile if kind == "f32" else WARPS[tile]
    model = Model("".join("dim %s\n" % name for name in ("t", *symbolic)) + """input x : %s [t | %s, %s, %s%d]
input y : %s [t | %s, %s, %s%d]
output g = relu(einsum("t | %d*p =+?[%d] %d*a, %d*q =+?[%d] %d*b, %sc; t | p, q, %sj => %sj, a, b, c", %s, %s))  with (a = %d, b = %d)
""" % (kind, words["h"], words["w"], group, c, kind, words["oh"], words["ow"], group, out, stride, pad, dilation, stride, pad, dilation,
       own, own, own, cast % "x", cast % "y", *taps),
                  schedule("g: tile j %d %d, c %d %d%s\n" % (tile[0], tile[2], tile[1], tile[3], "; block q %d %d" % (
                      16 if kind == "f32" else 32, slices) if slices else "")))
    many = groups or 1
    for t in (0, 3):
        (x, x64), (y, y64) = draw(kind, t, h, w, many * c), draw(kind, t, *places, many * out)
        dims, shape = [t, *(sizes[name] for name in symbolic)], (many * out, *taps, c)
        got = (model.forward(dims, [x, y], [(shape, np.float32)])[0] if kind == "f32"  # a product and its sum may be rounded once
               else model.forward_as_on_host(dims, [x, y], shape))
        seen = windows(x64, places, taps, stride, dilation, pad).reshape(t, *places, *taps, many, c)
        check("%s" % [kind, picture, channels, taps, stride, dilation, pad, groups, symbolic, slices], kind,
              np.asarray(got).reshape(many, out, *taps, c), (seen, y64.reshape(t, *places, many, out)), "tpqabgc,tpqgj->gjabc")


for kind in sys.argv[2:]:
    weights(kind, LARGE, (5, 4), (32, 33), stride=2, symbolic=("h", "w", "oh", "ow"), slices=3)
    if "DRIVER" not in os.environ:
        weights(kind, SMALL, (7, 9), (16, 20))
        weights(kind, LARGE, (11, 8), (32, 24), stride=2, slices=16)
        weights(kind, LARGE, (9, 10), (6, 70), dilation=2, pad=2, slices=5)
        weights(kind, SMALL, (5, 6), (8, 16), groups=3, slices=2)
        weights(kind, SMALL, rng.integers(3, 14, 2), rng.integers(2, 40, 2), rng.integers(2, 4, 2), 1, 1, 1, slices=int(rng.integers(1, 9)))
    depthwise(kind, (6, 7), 12)
    depthwise(kind, (9, 5), 7, stride=2)
    depthwise(kind, (8, 9), 8, dilation=2, pad=2, symbolic="hw")
    depthwise(kind, (5, 6), 10, symbolic="c")
    conv(kind, SMALL, (7, 9), (16, 20))
    conv(kind, LARGE, (11, 8), (32, 24), stride=2)
    conv(kind, LARGE, (9, 10), (24, 70), dilation=2, pad=2)
    conv(kind, SMALL, (13, 12), (3, 16), taps=(7, 5), stride=2, pad=3)
    conv(kind, SMALL, (6, 7), (8, 12), taps=(1, 1), stride=3, pad=0)
    conv(kind, SMALL, (5, 6), (8, 16), groups=3)
    conv(kind, LARGE, (6, 9), (32, 33), stride=2, symbolic="hw")
    conv(kind, SMALL, (5, 4), (19, 6), taps=(2, 3), symbolic="hwco")
print("convolutions are near those of float64")
