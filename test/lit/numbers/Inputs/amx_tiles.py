"""Products in the tiles of AMX: COUNT random ones of each kind.

Of bf16, whose steps are whole tiles, all bits are those of the order that the manual gives: in each tile terms of even
numbers and those of odd ones one after another, then both, then the sum so far. Of bytes all are exact. libtsr asks for
the permission; with TSR_AMX=denied the same code computes them without tiles. A processor that has tiles is not asked how
many it used."""
import ctypes
import os
import random
import sys

import numpy as np

from prepack_state import new_state, pack, write
from tsrlib import TSRC, Model, byte_product, compile_once, from_bf16, to_bf16

MARCH = "-march=znver4+amx-tile+amx-bf16+amx-int8"
AMX = ctypes.CDLL(None)  # the library that was loaded before
AMX.amx_count.restype = ctypes.c_uint64
BF16, INT8, CONFIGURE, RELEASE = 4, 5, 0, 1
DENIED = os.environ.get("TSR_AMX") == "denied"
RNG = np.random.default_rng(23)
random.seed(23)


def used(model, kind, before):
    """Did tiles run, exactly where they may?"""
    return model.tiles == (not DENIED) and (AMX.amx_is_real() or (AMX.amx_count(kind) > before) == model.tiles)


def in_tiles(a, b):
    """a [m, k] times b [k, n], in f32, in the order of tdpbf16ps."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for first in range(0, a.shape[1], 32):
        even, odd = np.zeros_like(total), np.zeros_like(total)
        for k in range(first, first + 32, 2):
            even += a[:, k, None] * b[None, k]
            odd += a[:, k + 1, None] * b[None, k + 1]
        total += even + odd
    return total


def bits(shape):
    return to_bf16(RNG.standard_normal(shape).astype(np.float32))


def bf16_product():
    m, n = random.choice([1, 2, 15, 16, 17, 31, 32, 33, 50, 64]), random.choice([40, 48, 63, 64, 100])
    k, symbolic, batch = random.choice([64, 96, 160]), random.random() < 0.5, random.choice([1, 3])
    text = "dim m\n" * symbolic + "input x : bf16 [b, %s | %d]\nparam w : bf16 [%d -> %d]\noutput y = w * x\n" % (
        "m" if symbolic else m, k, k, n)
    model = Model(text.replace("[b", "[%d" % batch), [MARCH])
    state, before = new_state(model), AMX.amx_count(BF16)
    w, x = bits((n, k)), bits((batch, m, k))
    write(model, state, "w", w)
    assert pack(model, state) == 0
    y, = model.forward([m] * symbolic, [x], [((batch, m, n), np.float32)], state)
    want = in_tiles(from_bf16(x).reshape(-1, k), from_bf16(w).T).reshape(y.shape)
    same = np.allclose(y, want, 1e-3, 1e-4) if DENIED else np.array_equal(y, want)
    if same and used(model, BF16, before):
        return 0
    print("bf16 %s: %d elements have other bits, %d products in tiles" % (
        (batch, m, n, k, symbolic), (y != want).sum(), AMX.amx_count(BF16) - before))
    return 1


def bytes_of_tiles():
    m, n = random.choice([16, 17, 40, 64, 77]), random.choice([16, 17, 32, 40, 64, 100])
    k, types = random.choice([64, 67, 128, 130, 255]), [random.choice(["i8", "u8"]) for _ in range(2)]
    along, before = random.random() < 0.5, AMX.amx_count(INT8)
    text, given, want = byte_product(RNG, types, m, n, k, along)
    model = Model(text, [MARCH])
    y, = model.forward([], given, [((m, n), np.int32)])
    if np.array_equal(y, want) and (not hasattr(model.library, "m_use_tiles") or used(model, INT8, before)):
        return 0
    print("%s: %d of %d are wrong" % ((types, m, n, k, along), (y != want).sum(), y.size))
    return 1


def permitted():
    mask = ctypes.c_uint64()
    AMX.syscall(ctypes.c_long(158), ctypes.c_long(0x1022), ctypes.byref(mask))  # arch_prctl(ARCH_GET_XCOMP_PERM, &mask)
    return mask.value >> 18 & 1 == 1


def not_asked():
    """libtsr asks for the permission when it opens a module that has use for it, and nothing asks before."""
    path, _ = compile_once("input x : u8 [64, 128]\ninput w : i8 [128, 64]\noutput y = einsum(\"m, k; k, n => m, n\", x, w)\n",
                           (MARCH,))
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(TSRC)), "libtsr.so"))
    library.tsr_open.restype = ctypes.c_void_p
    before = permitted()
    if not before and library.tsr_open(path.encode(), None) and permitted() == (not DENIED):
        return 0
    print("permitted before %s, behind tsr_open %s" % (before, permitted()))
    return 1


count = int(sys.argv[1])
wrong = not_asked() + sum(bf16_product() + bytes_of_tiles() for _ in range(count))
if not AMX.amx_is_real() and not DENIED:
    wrong += AMX.amx_count(INT8) == 0 or AMX.amx_count(CONFIGURE) == 0 or AMX.amx_count(RELEASE) == 0
print("%d wrong products in tiles" % wrong)
