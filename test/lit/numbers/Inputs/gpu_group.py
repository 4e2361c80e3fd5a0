"""Products by warpgroups from what TMA copies: every tile and layout, rows, columns and terms below, at and beyond tiles and the
ring, 0 and 1, batches, slices and sums that go to f32, against float64; PTX has the bits that a host has.
gpu_group.py SEED KIND TILE...: tiles by their columns. KIND tf32, 3xtf32: of f32, with that --f32-matmul."""
import os
import re
import sys

import numpy as np

from tsrlib import Model, from_bf16, schedule, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))
kind, tiles = sys.argv[2], [int(t) for t in sys.argv[3:]]
of_f32 = kind.endswith("tf32")
ERROR = 2e-6  # of an element, in units of its terms' absolute sum


def draw(*shape):
    """An array as it is given, and its numbers."""
    x = rng.standard_normal(shape).astype(np.float32)
    if kind == "3xtf32":
        return x, x.astype(np.float64)
    if kind == "tf32":
        bits = (x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xffffe000)
        return x, bits.view(np.float32).astype(np.float64)
    if kind == "bf16":
        bits = to_bf16(x)
        return bits, from_bf16(bits).astype(np.float64)
    x = x.astype(np.float16)
    return x, x.astype(np.float64)


def program(text, columns, steps="", rows="i", over="j", options=()):
    """The program for the tile; that it is by warpgroups shows in its kernel."""
    asked = "y: tile %s 128 16, %s %d %d; block k %s\n" % (rows, over, columns, columns, ("32" if of_f32 else "64") + steps)
    if of_f32:
        options = ["--f32-matmul=" + kind, *options]
        text = re.sub(r"f32\((\w)\)", r"\1", text)
    model = Model(text.replace("KIND", "f32" if of_f32 else kind), schedule(asked) + list(options))
    with open(os.path.join(os.path.dirname(model.library._name), "m.cu"), encoding="utf8") as file:
        assert "TSR_GROUP_BEGIN;" in file.read(), asked
    return model


def check(name, model, dims, arrays, want, size, shape):
    if model.ptx:
        model.ptx.most = 2  # blocks, which take turns, where a host has one for each tile
    got = model.forward_as_on_host(dims, arrays, shape)
    assert np.all(np.isfinite(got)), name
    worst = float((np.abs(got.astype(np.float64).reshape(want.shape) - want) / (size + 1)).max(initial=0))
    assert worst <= ERROR, (name, worst)


def transposed(array, as_it_is):
    return array if as_it_is else np.ascontiguousarray(array.swapaxes(-1, -2))


def layouts(columns, number):
    """Sizes of rows, or terms, that are known when it runs, and what is done with each element. What TMA copies as it is of
    f32 lies along the terms; what is split may lie along any axis."""
    number = 2 if kind == "tf32" else number
    first, second = ["i, k; k, j", "k, i; k, j", "i, k; j, k", "k, i; j, k"][number].split("; ")
    n, inner = 8 * int(rng.integers(1, 40)), 8 * int(rng.integers(1, 60))
    if kind == "3xtf32":
        n, inner = n - 3, inner - int(rng.integers(1, 4))
    terms = first == "k, i" and second == "k, j"  # both lie along their side: the sum may be of any length
    text = """dim m
input a : KIND [%s]
input b : KIND [%s]
input c : [%d]
output y = relu(einsum("%s; %s => i, j", f32(a), f32(b)) + c)
"""
    sizes = {"i": "136" if first == "k, i" else "m", "j": str(n), "k": "m" if terms else str(inner)}
    if not terms and first == "k, i":
        text = text.replace("dim m\n", "")

    def at(row):
        return ", ".join(sizes[x] for x in row.split(", "))
    model = program(text % (at(first), at(second), n, first, second), columns)
    few = (1, 65, 300), (0, 130)  # in the emulator, which takes its time
    many = (0, 1, 63, 64, 65, 300), (0, 1, 130, 257)
    for m in (few if model.ptx else many)[not terms] if terms or sizes["i"] == "m" else (None,):
        rows, k = 136 if first == "k, i" else m, m if terms else inner
        (a, a64), (b, b64), c = draw(rows, k), draw(k, n), rng.standard_normal(n).astype(np.float32)
        arrays = [transposed(a, first == "i, k"), transposed(b, second == "k, j"), c]
        check("%s; %s %s" % (first, second, (rows, n, k)), model, [] if m is None else [m], arrays,
              np.maximum(a64 @ b64 + c, 0), np.abs(a64) @ np.abs(b64), (rows, n))


def batches(columns):
    """Of both operands, of one, and of two axes that are one side's rows."""
    model = program("""dim t
input x : KIND [t | 3, 50, 72]
input w : KIND [t | 72 -> 24]
output y = einsum("t | r, i, k; t | k -> j => t | r, i, j", f32(x), f32(w))
""", columns)
    for count in (0, 1, 3):
        (x, x64), (w, w64) = draw(count, 3, 50, 72), draw(count, 24, 72)
        w64 = w64.swapaxes(-1, -2)
        check("batches", model, [count], [x, w], x64.reshape(count, 150, 72) @ w64,
              np.abs(x64).reshape(count, 150, 72) @ np.abs(w64), (count, 3, 50, 24))


def slices(columns):
    model = program("""input x : KIND [40, 512]
input w : KIND [72, 512]
output y = relu(einsum("i, k; j, k => i, j", f32(x), f32(w)))
""", columns, " 2")
    (x, x64), (w, w64) = draw(40, 512), draw(72, 512)
    w64 = w64.T
    check("slices", model, [], [x, w], np.maximum(x64 @ w64, 0), np.abs(x64) @ np.abs(w64), (40, 72))


def planes(columns):
    """Sums over two axes, of which an operand goes through both as through one, or is another matrix at each of the outer one."""
    model = program("""dim m
input x : KIND [3, m, 72]
input w : KIND [40, 3, 72]
output y = einsum("p, i, k; j, p, k => i, j", f32(x), f32(w))
""", columns)
    for m in (0, 1, 70):
        (x, x64), (w, w64) = draw(3, m, 72), draw(40, 3, 72)
        rows, w64 = x64.swapaxes(0, 1).reshape(m, 216), w64.reshape(40, 216).T
        check("planes", model, [m], [x, w], rows @ w64, np.abs(rows) @ np.abs(w64), (m, 40))


def promoted(columns, every):
    model = program("""dim m
input x : KIND [m, 456]
input w : KIND [40, 456]
output y = einsum("i, k; j, k => i, j", f32(x), f32(w))
""", columns, options=["--gpu-promote=%d" % every])
    for m in (1, 70):
        (x, x64), (w, w64) = draw(m, 456), draw(40, 456)
        check("promoted", model, [m], [x, w], x64 @ w64.T, np.abs(x64) @ np.abs(w64.T), (m, 40))


def narrow(columns):
    """Results of two bytes an element, whose rows begin at multiples of 16 bytes, or do not, or of which there are two."""
    wide = {"bf16": lambda x: from_bf16(x), "f16": lambda x: x.astype(np.float32)}[kind]
    stored = {"bf16": np.uint16, "f16": np.float16}[kind]
    for n, two in ((40, False), (42, False), (40, True)):
        model = program("""dim m
input x : KIND [m, 136]
input w : KIND [%d, 136]
output %s = KIND(einsum("i, k; j, k => i, j", f32(x), f32(w)))
%s""" % (n, "z" if two else "y", "output y = KIND(z + z)" if two else ""), columns)
        for m in (0, 1, 70, 300):
            (x, x64), (w, w64) = draw(m, 136), draw(n, 136)
            results = [((m, n), stored)] * (1 + two)
            got = [np.asarray(y) for y in model.forward([m], [x, w], results)]
            if model.ptx:
                ptx, model.ptx = model.ptx, None
                host = model.forward([m], [x, w], results)
                model.ptx = ptx
                assert all(np.array_equal(a.view(np.uint16), np.asarray(b).view(np.uint16)) for a, b in zip(got, host)), (m, n)
            size = np.abs(x64) @ np.abs(w64.T) + 1
            assert np.all(np.abs(wide(got[0]) - x64 @ w64.T) <= 2.0 ** -8 * size), (m, n)


def split(columns):
    """Two numbers of tf32 are nearly a factor: by the mean of the squares, of many terms too, where they are promoted."""
    model = program("""dim s
input x : [64, s]
input w : [s, 64]
output y = einsum("i, k; k, j => i, j", x, w)
""", columns)
    for k in (256, 4096):
        (x, x64), (w, w64) = draw(64, k), draw(k, 64)
        got, = model.forward([k], [x, w], [((64, 64), np.float32)])
        error = float(np.sqrt(np.mean((got - x64 @ w64) ** 2) / np.mean((x64 @ w64) ** 2)))
        assert 1e-7 <= error <= 7e-7, (k, error)


def shared(columns):
    """An operand of three products, of one as columns, is split once."""
    tile = "128 16, %%s %d %d; block k 32\n" % (columns, columns)
    model = Model("""dim m
input x : [m, 72]
input a : [72, 100]
input c : [40, 72]
output y = einsum("i, k; k, j => i, j", x, a)
output z = einsum("i, k; j, k => i, j", x, c)
output t = einsum("i, k; j, k => j, i", x, c)
""", schedule("y: tile i " + tile % "j" + "z: tile i " + tile % "j" + "t: tile j " + tile % "i") + ["--f32-matmul=3xtf32"])
    for m in (1, 130):
        x, a, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, 72), (72, 100), (40, 72)))
        got = model.forward([m], [x, a, c], [((m, 100), np.float32), ((m, 40), np.float32), ((40, m), np.float32)])
        for own, first, second in zip(got, (x, x, c), (a, c.T, x.T)):
            size = np.abs(first).astype(np.float64) @ np.abs(second) + 1
            assert (np.abs(np.asarray(own) - first.astype(np.float64) @ second) / size).max() <= ERROR, m


for number, columns in enumerate(tiles):
    layouts(columns, number % 4)
    if number % 2 == 0:
        batches(columns)
    elif columns <= 128:
        promoted(columns, (64, 192)[number // 2 % 2])
    else:
        slices(columns)
if kind != "3xtf32":
    planes(tiles[0])
if not of_f32:
    narrow(64 if 64 in tiles else 128)
if kind == "3xtf32":
    slices(64)
    shared(64)
    if "DRIVER" not in os.environ:
        split(64)
print("products are near those of float64")
