"""Products of bytes with parameters of i4 and u4, in whole numbers, against NumPy: every pair of types, groups and columns of
any number, the greatest products, every number of rows. Prints a checksum of all results, which is that of any number of
threads, processor and back end; with CASES=N of the first N shapes of these."""
import os
import sys
import zlib

import numpy as np

from nibbles import RANGES, packed
from prepack_state import new_state, pack, write
from tsrlib import Model

PROGRAM = """dim n
input x : %(bytes)s [n | %(groups)d, %(size)d]
param w : %(dtype)s [%(groups)d, %(size)d -> %(columns)d]
output p = einsum("b | g, k; g, k -> o => b | g, o", x, w)
output y = w * x
"""


def check(bytes_, dtype, groups, size, columns, options):
    """The checksum of one program."""
    rng = np.random.default_rng(columns)
    model = Model(PROGRAM % {"bytes": bytes_, "dtype": dtype, "groups": groups, "size": size, "columns": columns}, options)
    state, info = new_state(model), np.iinfo({"i8": "i1", "u8": "u1"}[bytes_])
    w = rng.integers(*RANGES[dtype], (columns, groups, size))
    w[0], w[-1] = RANGES[dtype][0], RANGES[dtype][1] - 1
    write(model, state, "w", packed(w))
    assert pack(model, state) == 0
    rows = rng.integers(info.min, info.max + 1, (14, groups, size)).astype(info.dtype)
    rows[0], rows[1] = info.min, info.max
    want = np.einsum("bgk,ogk->bgo", rows.astype("i8"), w)
    crc = 0
    for n in 0, 1, 2, 5, 14:
        p, y = model.forward([n], [rows[:n]], [((n, groups, columns), np.int32), ((n, columns), np.int32)], state)
        case = (bytes_, dtype, groups, size, columns, n)
        assert np.array_equal(p, want[:n]), "%s: groups" % (case,)
        assert np.array_equal(y, want[:n].sum(1)), "%s: sums" % (case,)
        crc = zlib.crc32(p.tobytes(), zlib.crc32(y.tobytes(), crc))
    return crc


crc, sizes = 0, ((8, 32, 70), (4, 64, 128), (64, 8, 36))
for of in "i8", "u8":
    for dtype in "i4", "u4":
        for groups, size, columns in sizes[:int(os.environ.get("CASES", "3"))]:
            crc = zlib.crc32(b"%d" % check(of, dtype, groups, size, columns, sys.argv[1:]), crc)
print("right, with checksum %08x" % crc)
