"""Random contractions of every form that tiles take, compared with numpy.einsum in f64."""
import random
import sys

import numpy as np

from tsrlib import Model

RNG = np.random.default_rng(7)
random.seed(7)
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33, 47, 48, 49, 64, 65, 100]
MARCHES = ["x86-64", "x86-64-v3", "native"]

# specification of the program, of numpy, axes of the operands
FORMS = [
    ("ik; kj => ij", "ik,kj->ij", ("ik", "kj")),
    ("ki; kj => ij", "ki,kj->ij", ("ki", "kj")),
    ("ik; jk => ij", "ik,jk->ij", ("ik", "jk")),
    ("ik; jk => ji", "ik,jk->ji", ("ik", "jk")),
    ("bik; bkj => bij", "bik,bkj->bij", ("bik", "bkj")),
    ("bik; bjk => bij", "bik,bjk->bij", ("bik", "bjk")),
    ("ik; k => i", "ik,k->i", ("ik", "k")),
    ("ki; k => i", "ki,k->i", ("ki", "k")),
    ("k; k => ", "k,k->", ("k", "k")),
    ("ikl; jlk => ij", "ikl,jlk->ij", ("ikl", "jlk")),
    ("ic; cj => cij", "ic,cj->cij", ("ic", "cj")),
]


def shape(axes, sizes):
    return [sizes[a] for a in axes]


def text_of(form, sizes, symbolic, dtype, strides):
    spec, _, operands = form
    lines = ["dim %s" % a for a in sorted(symbolic)]
    names = {a: a if a in symbolic else str(sizes[a]) for a in sizes}
    for name, axes in zip("xyzw", operands):
        lines.append("input %s : %s [%s]" % (name, dtype, ", ".join(names[a] for a in axes)))
    program = "einsum(\"%s\", x, y)" % spec
    lines.append("output r = " + ("relu(%s - 1)" % program if strides else program))
    return "\n".join(lines) + "\n"


def near(got, want, dtype, steps):
    bound = (2e-6 if dtype == "f32" else 1e-14) * (steps + 4)
    return got.shape == want.shape and np.all(np.abs(got - want) <= bound * (1 + np.abs(want)))


def run(count):
    wrong = total = 0
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        letters = sorted(set("".join(form[2])))
        sizes = {a: random.choice(SIZES[:14] if len(letters) > 3 else SIZES) for a in letters}
        symbolic = {a for a in letters if random.random() < 0.3}
        dtype = random.choice(["f32", "f32", "f64"])
        march = MARCHES[number % 3]
        relu = number % 2 == 1
        source = text_of(form, sizes, symbolic, dtype, relu)
        model = Model(source, ["-march=" + march])
        for attempt in range(2):
            now = dict(sizes)
            for a in symbolic:
                now[a] = random.choice([0] + SIZES[:12]) if attempt else sizes[a]
            kind = np.float32 if dtype == "f32" else np.float64
            arrays = [RNG.standard_normal(shape(axes, now)).astype(kind) for axes in form[2]]
            want = np.einsum(form[1], *[a.astype(np.float64) for a in arrays])
            want = np.maximum(want - 1, 0) if relu else want
            got, = model.forward([now[a] for a in sorted(symbolic)], arrays, [(want.shape, kind)])
            total += 1
            if not near(got, want, dtype, max(now.values())):
                wrong += 1
                print("wrong: %s %s %s\n%s" % (march, dtype, now, source))
    return wrong, total


def rows_alone():
    """Linear layers: every row of a batch has the bits that it has alone."""
    wrong = 0
    for features, outputs, march in [(37, 10, "native"), (100, 33, "x86-64-v3"), (64, 7, "x86-64")]:
        for source, weight in [("x; w => r", (outputs, features)), ("x; v => r", (features, outputs))]:
            spec = "b, i; o, i => b, o" if "w" in source else "b, i; i, o => b, o"
            model = Model("dim n\ninput x : [n, %d]\ninput w : [%d, %d]\noutput r = einsum(\"%s\", x, w)\n" %
                          (features, *weight, spec), ["-march=" + march])
            x = RNG.standard_normal((13, features)).astype(np.float32)
            w = RNG.standard_normal(weight).astype(np.float32)
            whole, = model.forward([13], [x, w], [((13, outputs), np.float32)])
            for row in range(13):
                alone, = model.forward([1], [x[row:row + 1], w], [((1, outputs), np.float32)])
                if not np.array_equal(alone[0], whole[row]):
                    wrong += 1
                    print("row %d of %s %s differs" % (row, spec, march))
    return wrong


def convolutions(count):
    """Padded, strided, dilated and depthwise, in the program's layout: batch, height, width, channels."""
    wrong = 0
    for number in range(count):
        h, w, ci, co = (random.choice([5, 8, 11]), random.choice([7, 14, 17]),
                        random.choice([1, 3, 4, 16, 20]), random.choice([4, 5, 6, 7, 8, 10, 33]))
        kh, kw = random.choice([1, 3]), random.choice([1, 3, 5])
        deep, symbolic = number % 3 == 2, number % 2 == 1
        spec = "b | oh =+ kh, ow =+ kw, ci; kh, kw, ci -> co => b | oh, ow, co"
        if deep:
            spec, co = "b | oh =+ kh, ow =+ kw, c; kh, kw, c => b | oh, ow, c", ci
        filters = [kh, kw, ci] if deep else [co, kh, kw, ci]
        batch = "n" if symbolic else "2"
        shape_text = "%d, %d, %d" % (kh, kw, ci) + ("" if deep else " -> %d" % co)
        model = Model("%sinput x : [%s | %d, %d, %d]\ninput w : [%s]\noutput r = relu(einsum(\"%s\", x, w))\n" %
                      ("dim n\n" if symbolic else "", batch, h, w, ci, shape_text, spec),
                      ["-march=" + MARCHES[number % 3]])
        x = RNG.standard_normal((2, h, w, ci)).astype(np.float32)
        f = RNG.standard_normal(filters).astype(np.float32)
        got, = model.forward([2] if symbolic else [], [x, f], [((2, h, w, co), np.float32)])
        pad = np.zeros((2, h + kh - 1, w + kw - 1, ci))
        pad[:, (kh - 1) // 2:(kh - 1) // 2 + h, (kw - 1) // 2:(kw - 1) // 2 + w] = x
        want = np.zeros((2, h, w, co))
        for i in range(kh):
            for j in range(kw):
                part = pad[:, i:i + h, j:j + w]
                want += part * f[i, j] if deep else np.einsum("bhwc,oc->bhwo", part, f[:, i, j])
        if not near(got, np.maximum(want, 0), "f32", kh * kw * ci):
            wrong += 1
            print("wrong: convolution %s" % [h, w, ci, co, kh, kw, deep, symbolic])
    return wrong


def pictures():
    """Pictures of symbolic height and width, as small as nothing."""
    wrong = 0
    for number, (k, stride) in enumerate([(3, 1), (5, 1), (7, 2), (3, 2)]):
        march, kind = MARCHES[number % 3], "f64" if number == 2 else "f32"
        model = Model("dim h\ndim w\ninput x : %s [1 | %d*h, %d*w, 5]\ninput f : %s [16, %d, %d, 5]\n"
                      "output r = einsum(\"b | %d*oh =+ kh, %d*ow =+ kw, c; o, kh, kw, c => b | oh, ow, o\", x, f)\n"
                      % (kind, stride, stride, kind, k, k, stride, stride), ["-march=" + march])
        dtype = np.float64 if kind == "f64" else np.float32
        f = RNG.standard_normal((16, k, k, 5)).astype(dtype)
        for h, w in [(0, 3), (1, 1), (2, 1), (1, 2), (3, 4), (5, 9), (2, 17), (4, 31)]:
            x = RNG.standard_normal((1, stride * h, stride * w, 5)).astype(dtype)
            got, = model.forward([h, w], [x, f], [((1, h, w, 16), dtype)])
            low = (k - 1) // 2 if stride == 1 else (k - stride + 1) // 2
            want = np.zeros((1, h, w, 16))
            for oh, ow, i, j in np.ndindex(h, w, k, k):
                at, across = stride * oh + i - low, stride * ow + j - low
                if 0 <= at < stride * h and 0 <= across < stride * w:
                    want[0, oh, ow] += f[:, i, j].astype(np.float64) @ x[0, at, across]
            if not near(got, want, kind, k * k * 5):
                wrong += 1
                print("wrong: picture %s" % [h, w, k, stride, march])
    return wrong


def large():
    """Matrices whose columns lie on too many lines, that few rows pass, or that end in single elements."""
    wrong = 0
    for number, (rows, steps, columns) in enumerate([(64, 900, 610), (3, 1201, 400), (1, 700, 1030), (63, 450, 601),
                                                     (130, 65, 10), (70, 33, 18), (200, 17, 3), (66, 97, 21)]):
        text = "input a : [%d, %d]\ninput b : [%d, %d]\noutput c = relu(einsum(\"ik; kj => ij\", a, b) + 1)\n"
        options = ["-march=" + MARCHES[number % 3]] + (["--grain=1000"] if number % 2 else [])
        model = Model(text % (rows, steps, steps, columns), options)
        a = RNG.standard_normal((rows, steps)).astype(np.float32)
        b = RNG.standard_normal((steps, columns)).astype(np.float32)
        got, = model.forward([], [a, b], [((rows, columns), np.float32)])
        want = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + 1, 0)
        if not near(got, want, "f32", steps):
            wrong += 1
            print("wrong: product %s" % [rows, steps, columns])
    return wrong


def transposed(count):
    """Transposed convolutions: windows overlap, meet or leave gaps in what they are added to."""
    wrong = 0
    for number in range(count):
        h, w, ci, co = (random.choice(sizes) for sizes in ([1, 4, 9], [3, 8, 17], [1, 8, 40], [1, 4, 9, 48]))
        kh, kw, stride = random.choice([1, 2, 3, 4]), random.choice([1, 2, 3, 5]), random.choice([1, 2, 3])
        symbolic, greatest = number % 2 == 1, number % 5 == 4
        spec = "b | h, w, i; kh, kw, i -> o => b | %d*h <+ kh, %d*w <+ kw, o" % (stride, stride)
        call = "einsum(\"%s\", x, f%s)" % (spec, ", op=add, reduce=max" if greatest else "")
        filters = "%d, %d, %d -> %d" % (kh, kw, ci, co)
        text = "%sinput x : [%s | %d, %d, %d]\ninput f : [%s]\noutput r = tanh(%s)\n" % (
            "dim n\n" if symbolic else "", "n" if symbolic else "3", h, w, ci, filters, call)
        model = Model(text, ["-march=" + MARCHES[number % 3]])
        x = RNG.standard_normal((3, h, w, ci)).astype(np.float32)
        f = RNG.standard_normal((co, kh, kw, ci)).astype(np.float32)
        high, wide = stride * (h - 1) + kh, stride * (w - 1) + kw
        got, = model.forward([3] if symbolic else [], [x, f], [((3, high, wide, co), np.float32)])
        want = np.full((3, high, wide, co), -np.inf if greatest else 0.0)
        for i, j in np.ndindex(kh, kw):
            part = want[:, i:i + stride * h:stride, j:j + stride * w:stride][:, :h, :w]
            if greatest:
                sums = x[:, :, :, None] + f[:, i, j]
                np.maximum(part, sums.max(axis=-1), out=part)
            else:
                part += np.einsum("bhwc,oc->bhwo", x.astype(np.float64), f[:, i, j])
        if not near(got, np.tanh(want), "f32", kh * kw * ci):
            wrong += 1
            print("wrong: transposed %s" % [h, w, ci, co, kh, kw, stride, symbolic, greatest])
    return wrong


bad, n = run(int(sys.argv[1]))
bad += rows_alone() + convolutions(12) + pictures() + large() + transposed(15)
print("%d products, %d wrong" % (n, bad))
