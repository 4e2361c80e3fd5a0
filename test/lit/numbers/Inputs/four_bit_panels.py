"""Products with parameters of i4 and u4, whose panels in the state have words of eight steps, and of i8, against NumPy: groups
with scales and with zero points, numbers or parameters of narrow types and of all i32, where differences and products wrap,
columns that fill no vector, every number of rows, which have the bits of each row alone. Prints a checksum of all results, which
is that of any number of threads."""
import os
import sys
import zlib

import numpy as np

from nibbles import RANGES, packed
from prepack_state import new_state, pack, write
from tsrlib import Model

PLAIN = """dim n
input x : [n | %(steps)d]
param w : %(dtype)s [%(steps)d -> %(columns)d]
output y = (w - %(zero)s) * x
"""
ZEROS = "param z : %s [%d, 1 -> %d]\n"
GROUPS = """dim n
input x : [n | %(steps)d]
param w : %(dtype)s [%(groups)d, %(size)d -> %(columns)d]
param s : %(scale)s [%(groups)d -> %(columns)d]
%(zeros)soutput y = einsum("g, k -> o; g -> o; b | g, k => b | o", %(less)s, s, reshape(x : [n | %(groups)d, %(size)d]))
"""


def scales_of(rng, dtype, shape):
    """As they are stored, and what they are."""
    values = rng.uniform(0.5, 2, shape).astype(np.float32)
    if dtype == "bf16":
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    stored = values.astype(np.float16 if dtype == "f16" else np.float32)
    return stored, stored.astype(np.float32)


def zeros_of(model, state, rng, case):
    """Zero points of groups, of a type, written and as they are"""
    groups, _, columns, _, _, dtype = case
    z = rng.integers(*((-2 ** 31, 2 ** 31) if dtype == "i32" else (0, 16)), (columns, groups, 1))
    types = {"i8": np.int8, "f16": np.float16, "i32": np.int32}
    write(model, state, "z", packed(z) if dtype == "u4" else z.astype(types[dtype]))
    return z


def wanted(w, s, x, size):
    """In f64, and how far f32 may be from it."""
    w, x = w.astype(float), x.astype(float)
    s = np.repeat(s.astype(float), size, 1)
    return x @ (w * s).T, np.abs(x) @ np.abs(w * s).T * 4e-6 + 1e-30


def multiplies(case):
    """Are weights of a byte, less zero points of four, multiplied with these too?"""
    return case[4:] == ("i8", "i32")


def check(model, rng, case, options):
    groups, size, columns, scale, dtype, zero = case
    state = new_state(model)
    w = rng.integers(*RANGES.get(dtype, (-128, 128)), (columns, groups, size))
    write(model, state, "w", w.astype(np.int8) if dtype == "i8" else packed(w))
    s = np.ones((columns, groups), np.float32)
    if scale:
        stored, s = scales_of(rng, scale, s.shape)
        write(model, state, "s", stored)
    if isinstance(zero, str):
        zero = zeros_of(model, state, rng, case)
    assert pack(model, state) == 0
    crc = 0
    known = [64] if "-Dn=64" in options else [0, 1, 2, 5, 7, 64]
    rows = rng.standard_normal((64, groups * size)).astype(np.float32)
    whole = (w - zero) * (zero if multiplies(case) else 1)
    want, far = wanted(whole.astype(np.int32).reshape(columns, -1), s, rows, size)
    alone = model.forward([] if known == [64] else [64], [rows], [((64, columns), np.float32)], state)[0]
    for n in known:
        y = model.forward([] if known == [64] else [n], [rows[:n]], [((n, columns), np.float32)], state)[0]
        assert (np.abs(y - want[:n]) <= far[:n]).all(), "%s with %d rows: %g" % (case, n, np.abs(y - want[:n]).max())
        assert np.array_equal(y, alone[:n]), "%s: rows beside each other have other bits" % (case,)
        crc = zlib.crc32(y.tobytes(), crc)
    return crc if len(known) == 1 else zlib.crc32(alone.tobytes())


def main():
    options = sys.argv[1:]
    crc = 0
    cases = [(16, 32, 96, "f16", "u4", 8), (12, 64, 70, "f32", "u4", 7), (1, 512, 100, None, "u4", 8),
             (24, 32, 70, "bf16", "i4", 0), (64, 8, 48, "f16", "u4", 8), (1, 1024, 64, None, "i4", 0),
             (32, 32, 64, "f16", "u4", "u4"), (64, 16, 36, "f32", "i4", "i8"), (32, 32, 64, "f16", "u4", "f16"),
             (32, 32, 64, "f16", "i8", "i8"), (32, 32, 64, "f16", "i8", "i32"), (32, 32, 64, "f16", "u4", "i32")]
    for case in cases[:int(os.environ.get("CASES", "12"))] + cases[-1:] * ("CASES" in os.environ):
        groups, size, columns, scale, dtype, zero = case
        names = {"groups": groups, "size": size, "columns": columns, "scale": scale, "dtype": dtype, "zero": zero,
                 "steps": groups * size, "zeros": ""}
        if isinstance(zero, str):
            names |= {"zeros": ZEROS % (zero, groups, columns), "zero": "z"}
        names["less"] = "(w - z) .* z" if multiplies(case) else "w - %s" % names["zero"]
        model = Model((GROUPS if scale else PLAIN) % names, options)
        crc = zlib.crc32(b"%d" % check(model, np.random.default_rng(size), case, options), crc)
    print("right, with checksum %08x" % crc)


if __name__ == "__main__":
    main()
