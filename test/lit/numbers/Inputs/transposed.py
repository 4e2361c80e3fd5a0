"""Random transposed convolutions, windows that are written, against numpy loops over the kernel: strided, dilated, padded
or whole, channels last or first, depthwise, with sizes that are dims. A picture of a batch has the bits that it has
alone."""
import itertools
import sys

import numpy as np

from tsrlib import Model, check

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
MARCHES = ["x86-64", "x86-64-v3", "native"]


def pick(*values):
    return values[int(rng.integers(len(values)))]


class Axis:
    """One axis of the result: stride*place MARK dilation*kernel."""

    def __init__(self, name):
        self.name, self.kernel = name, "k" + name
        self.stride, self.dilation = int(rng.integers(1, 4)), pick(1, 1, 2, 3)
        self.steps, self.padded = int(rng.integers(1, 6)), bool(rng.integers(2))
        self.extent = pick(1, 2, 5, 7, 14, 17)
        self.dim = rng.random() < 0.3

    def first(self):
        return -((1 + (self.steps - 1) * self.dilation) // 2) if self.padded else 0

    def size(self, extent):
        return self.stride * extent if self.padded else self.stride * (extent - 1) + (self.steps - 1) * self.dilation + 1

    def spec(self):
        return "%d*%s %s %d*%s" % (self.stride, self.name, "=+" if self.padded else "<+", self.dilation, self.kernel)


def reference(axes, g, w, deep, reduce, extents):
    """g[n, places.., o], w[kernel.., (o,) c] -> [n, sizes.., c], one step of the kernel after the other."""
    sizes = [a.size(e) for a, e in zip(axes, extents)]
    result = np.full([g.shape[0], *sizes, w.shape[-1]], 0.0 if reduce == "sum" else -np.inf)
    for steps in itertools.product(*[range(a.steps) for a in axes]):
        for place in itertools.product(*[range(e) for e in extents]):
            element = [a.stride * p + a.dilation * k + a.first() for a, p, k in zip(axes, place, steps)]
            if any(c < 0 or c >= s for c, s in zip(element, sizes)):
                continue
            one, kernel = g[(slice(None), *place)], w[steps]
            at = (slice(None), *element)
            if reduce == "sum":
                result[at] += one * kernel if deep else one @ kernel
            else:
                result[at] = np.maximum(result[at], one + kernel if deep else (one[:, :, None] + kernel).max(1))
    return result


def moved(array, last):
    return array if last else np.moveaxis(array, -1, 1)


for trial in range(count):
    axes = [Axis(name) for name in pick("x", "yx", "yx")]
    deep, last, reduce = rng.random() < 0.2, bool(rng.integers(2)), "max" if rng.random() < 0.1 else "sum"
    dtype = pick("f32", "f32", "f64")
    o, c, along = pick(1, 3, 8, 17), pick(1, 4, 16, 33), bool(rng.integers(2))
    c = o if deep else c
    places, kernels = ", ".join(a.name for a in axes), ", ".join(a.kernel for a in axes)
    written = ", ".join(a.spec() for a in axes)
    letters = kernels + (", c" if deep else ", c, o" if along else ", o, c")
    channel = "c" if deep else "o"
    spec = "n, %s; %s => n, %s" % ("%s, %s" % (places, channel) if last else "%s, %s" % (channel, places), letters,
                                   written + ", c" if last else "c, " + written)
    extents = [a.extent for a in axes]
    texts = [("e" + a.name) if a.dim else str(a.extent) for a in axes]
    program = "dim n\n" + "".join("dim e%s >= 1\n" % a.name for a in axes if a.dim)
    program += "input g : %s [n, %s]\ninput w : %s [%s]\n" % (
        dtype, ", ".join(texts + [str(o)] if last else [str(o)] + texts), dtype,
        ", ".join([str(a.steps) for a in axes] + ([str(c)] if deep else [str(c), str(o)] if along else [str(o), str(c)])))
    call = 'einsum("%s", g, w%s)' % (spec, ", op=add, reduce=max" if reduce == "max" else "")
    after = rng.random() < 0.3 and reduce == "sum"
    program += "output r = %s\n" % ("relu(%s - 1)" % call if after else call)
    model = Model(program, ["-march=" + MARCHES[trial % 3]])
    kind = np.float32 if dtype == "f32" else np.float64
    for now in [extents, [pick(1, 3, 9, 20) if a.dim else a.extent for a in axes]]:
        g = rng.standard_normal([3, *now, o]).astype(kind)
        w = rng.standard_normal([*[a.steps for a in axes], *([c] if deep else [o, c])]).astype(kind)
        want = moved(reference(axes, g.astype(float), w.astype(float), deep, reduce, now), last)
        want = np.maximum(want - 1, 0) if after else want
        weights = np.swapaxes(w, -1, -2) if along and not deep else w
        dims = [e for a, e in zip(axes, now) if a.dim]
        got, = model.forward([3, *dims], [moved(g, last), weights], [(want.shape, kind)])
        what = "seed %d trial %d %s %s\n%s" % (seed, trial, now, MARCHES[trial % 3], program)
        check(what, got, want, 1e-4 if dtype == "f32" else 1e-11)
        alone, = model.forward([1, *dims], [moved(g, last)[1:2], weights], [((1, *want.shape[1:]), kind)])
        if not np.array_equal(alone[0], got[1]):
            sys.exit("a picture alone differs: " + what)
print("%d transposed convolutions agree with the reference" % count)
