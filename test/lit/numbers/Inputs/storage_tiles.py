"""Contractions of types of storage and of two types: floats against numpy.einsum of their values, integers against
exact ones, sizes around tiles and vectors; every pattern of 16 bits through a sum."""
import random
import sys

import numpy as np

from floats8 import FORMATS, from_f8, to_f8
from nibbles import RANGES, packed
from tsrlib import DTYPES, Model, from_bf16, to_bf16

RNG = np.random.default_rng(11)
random.seed(11)
SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 67, 100, 127, 128, 130, 192, 200]
FLAGS = open("/proc/cpuinfo").read().split()
MARCHES = ["native", "x86-64", "x86-64-v3", "sandybridge"]
MARCHES += ["x86-64-v4"] * ("avx512bw" in FLAGS) + ["cascadelake"] * ("avx512_vnni" in FLAGS)
FORMS = [("ik; jk => ij", "ik,jk->ij"), ("ik; kj => ij", "ik,kj->ij"), ("ki; kj => ij", "ki,kj->ij"),
         ("bik; bjk => bij", "bik,bjk->bij"), ("ik; k => i", "ik,k->i"), ("ikl; jkl => ij", "ikl,jkl->ij"),
         ("k; k => ", "k,k->")]
PAIRS = [("bf16", "bf16"), ("f16", "f16"), ("i8", "i8"), ("u8", "i8"), ("bf16", "f32"), ("i8", "u8"), ("u8", "u8"),
         ("bf16", "f16"), ("i8", "i32"), ("i8", "f32"), ("f32", "u8"), ("i32", "f32"), ("f64", "f32"),
         ("f8e4m3", "f8e4m3"), ("f8e5m2", "bf16"), ("f8e4m3", "f32"), ("u4", "f32"), ("i4", "i8"), ("u4", "bf16"),
         ("i4", "u4"), ("f32", "i4"), ("f64", "u4")]
ENDS = ["%s", "bf16(%s)", "f32(%s) .* 0.25 + 1", "i8(%s)"]


def numbers(dtype, shape):
    """An array to pass, and its values."""
    if dtype in ("i8", "u8", "i32"):
        ends = {"i8": (-128, 128), "u8": (0, 256), "i32": (-2 ** 31, 2 ** 31)}[dtype]
        array = RNG.integers(*ends, shape).astype(DTYPES[dtype])
        if RNG.random() < 0.3:
            array = np.full(shape, RNG.choice([ends[0], ends[1] - 1]), DTYPES[dtype])
        return array, array.astype(np.int64)
    if dtype in RANGES:
        values = RNG.integers(*RANGES[dtype], shape)
        return packed(values), values
    array = RNG.standard_normal(shape).astype(np.float32)
    if dtype == "bf16":
        return to_bf16(array), from_bf16(to_bf16(array)).astype(np.float64)
    if dtype in FORMATS:
        bits = to_f8(array, dtype)
        return bits, from_f8(bits, dtype).astype(np.float64)
    array = array.astype(DTYPES[dtype])
    return array, array.astype(np.float64)


def text_of(form, sizes, symbolic, pair, end):
    lines = ["dim %s" % a for a in sorted(symbolic)]
    names = {a: a if a in symbolic else str(sizes[a]) for a in sizes}
    for name, dtype, axes in zip("xy", pair, form[1].split("->")[0].split(",")):
        lines.append("input %s : %s [%s]" % (name, dtype, ", ".join(names[a] for a in axes)))
    return "\n".join(lines) + "\noutput r = %s\n" % (end % ('einsum("%s", x, y)' % form[0]))


def finished(end, total, integers):
    """The result of a sum, and how far from it a sum in another order may be."""
    if integers:
        total = (total + 2 ** 31) % 2 ** 32 - 2 ** 31
    if end == ENDS[3]:
        return ((total + 128) % 256 - 128 if integers else np.clip(np.trunc(total), -128, 127)), 0 if integers else 1
    if end == ENDS[2]:
        total = total.astype(np.float32).astype(np.float64) * 0.25 + 1
    if end == ENDS[1]:
        return total, 2.0 ** -7
    return total, 0 if integers and end == ENDS[0] else 3e-6


def check(number):
    form, pair, end = FORMS[number % len(FORMS)], PAIRS[number % len(PAIRS)], ENDS[number // 3 % len(ENDS)]
    operands = form[1].split("->")[0].split(",")
    letters = sorted(set("".join(operands)))
    sizes = {a: random.choice(SIZES[:18] if len(letters) > 3 else SIZES) for a in letters}
    symbolic = {a for a in letters if random.random() < 0.3}
    integers = not any("f" in dtype for dtype in pair)
    if "f64" in pair and end == ENDS[2]:
        end = ENDS[0]
    dtype = {ENDS[1]: "bf16", ENDS[2]: "f32", ENDS[3]: "i8"}.get(
        end, "i32" if integers else "f64" if "f64" in pair else "f32")
    source, march = text_of(form, sizes, symbolic, pair, end), MARCHES[number % len(MARCHES)]
    (x, vx), (y, vy) = [numbers(d, [sizes[a] for a in axes]) for d, axes in zip(pair, operands)]
    want, bound = finished(end, np.einsum(form[1], vx, vy), integers)
    got, = Model(source, ["-march=" + march]).forward([sizes[a] for a in sorted(symbolic)], [x, y],
                                                     [(np.shape(want), DTYPES[dtype])])
    values = from_bf16(got) if dtype == "bf16" else got
    scale = np.einsum(form[1], np.abs(vx), np.abs(vy)) if dtype in ("f32", "f64") and not integers else np.abs(want)
    bad = np.abs(values.astype(np.float64) - want) > bound * (1 + scale)
    if bad.any():
        print("wrong: %s %s\n%s%d of %d: %s, expected %s" % (march, sizes, source, bad.sum(), bad.size,
                                                           values[bad][:4], np.asarray(want)[bad][:4]))
    return bool(bad.any())


def patterns():
    """Every value, infinities and NaN too, comes through a sum with zeros."""
    wrong = 0
    bits = np.zeros((65536, 16), np.uint16)
    bits[:, 3] = np.arange(65536)
    for dtype, march in [(d, m) for d in ("bf16", "f16") for m in MARCHES]:
        model = Model("input x : %s [65536, 16]\ninput y : [16]\noutput r = einsum(\"ik; k => i\", x, y)\n" % dtype,
                      ["-march=" + march])
        got, = model.forward([], [bits, np.ones(16, np.float32)], [((65536,), np.float32)])
        want = from_bf16(bits[:, 3]) if dtype == "bf16" else bits[:, 3].copy().view(np.float16).astype(np.float32)
        if not np.array_equal(got, want, equal_nan=True):
            wrong += 1
            print("wrong: patterns of %s, %s" % (dtype, march))
    eighths = np.zeros((256, 16), np.uint8)
    eighths[np.arange(256), np.arange(256) % 16] = np.arange(256)  # in every lane
    for march in MARCHES:
        lines = ['input %s : %s [256, 16]\noutput r%s = einsum("ik; k => i", %s, y)\n' % (d, d, d, d) for d in
                 ("a", "b")]
        text = "input y : [16]\n" + "".join(lines).replace(": a [", ": f8e4m3 [").replace(": b [", ": f8e5m2 [")
        model = Model(text, ["-march=" + march])
        ys = np.ones(16, np.float32)
        results = model.forward([], [ys, eighths, eighths], [((256,), np.float32)] * 2)
        for dtype, got in zip(FORMATS, results):
            if not np.array_equal(got, from_f8(np.arange(256), dtype), equal_nan=True):
                wrong += 1
                print("wrong: patterns of %s, %s" % (dtype, march))
    return wrong


total = int(sys.argv[1])
print("%d of %d wrong" % (sum(check(number) for number in range(total)) + patterns(), total))
