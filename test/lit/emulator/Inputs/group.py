"""A kernel of wgmma and TMA, kept as PTX, under the schedule of the environment: right numbers, and copies with one fault
each, which the emulator names or which make wrong numbers. group.py FILE: the bits of right kernels go there."""
import ctypes
import os
import re
import sys

import numpy as np

from driver import POINTER, Driver, DriverError

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = open(os.path.join(HERE, "group.ptx"), encoding="utf8").read()
driver = Driver()
ORDER = os.environ["TSR_EMU_SCHEDULE"].partition(":")[0]


def rounded(x):
    """To bf16: its bits, and its values."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def tensor_map(at, rows, columns, box, swizzle=3):
    return driver.tensor_map(at, (columns, rows), (1, columns), box, swizzle=swizzle)


def run(text, m, n, k, swizzle=3, bits=None):
    """Are the numbers right? Adds the bits of the result to the list."""
    rng = np.random.default_rng(m + n + k)
    (x, xs), (w, ws) = rounded(rng.normal(size=(m, k))), rounded(rng.normal(size=(k, n)))
    at = [driver.alloc(2 * m * k), driver.alloc(2 * k * n), driver.alloc(4 * m * n)]
    try:
        driver.put(at[0], x)
        driver.put(at[1], w)
        maps = [tensor_map(at[0], m, k, (64, 64), swizzle), tensor_map(at[1], k, n, (64, 64))]
        function, args = ctypes.c_void_p(), [*maps, POINTER(at[2]), *map(ctypes.c_int, (m, n, k))]
        module = driver.module(text)
        driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"group")
        places = (ctypes.c_void_p * 6)(*[ctypes.addressof(a) for a in args])
        sizes = map(ctypes.c_uint, (-(-m // 64), -(-n // 16), 1, 160, 1, 1, 32768 + 64))
        driver.call("cuLaunchKernel", function, *sizes, None, places, None)
        driver.call("cuStreamSynchronize", None)
        got = driver.get(at[2], (m, n), np.float32)
    finally:
        for one in at:
            driver.library.cuMemFree_v2(POINTER(one))
    if bits is not None:
        bits.append(got.tobytes())
    want = xs @ ws
    return bool((abs(got - want) <= 1e-5 * (abs(xs) @ abs(ws))).all())


def edited(old, new, times=1):
    if len(re.findall(old, TEXT)) != times:
        sys.exit("%r stands %d times there" % (old, len(re.findall(old, TEXT))))
    return re.sub(old, new, TEXT)


WAIT = r"\{\n\.reg \.pred p;\nL_%d:\n.*?\nD_%d:\n\}"
# What is planted, the text that has it, the order that shows it ("": each), what has to be told.
PLANTED = [
    ("no wait for the copies", edited("(?s)" + WAIT % (1, 1), ""), "forward", "wrong"),
    ("no wait for a free stage", edited("(?s)" + WAIT % (0, 0), ""), "reverse", "wrong|an mbarrier"),
    ("a wait for the wrong phase", edited(r"shr\.u32 \t%r47, %r106, 1;", "add.s32 %r47, %r106, 1;"), "forward", "wrong|mbarrier"),
    ("a stage that is given back early", edited(r"wgmma\.wait_group\.sync\.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
     "forward", "wrong|multiplies"),
    ("no end of a group", edited(r"wgmma\.commit_group\.sync\.aligned;", ""), "forward", "wrong|multiplies"),
    ("bytes that do not come", edited(r"mov\.u32 \t%r89, 16384;", "mov.u32 %r89, 16400;"), "", "mbarrier"),
    ("an arrival too few", edited(r"mov\.u32 \t%r35, 4;", "mov.u32 %r35, 5;"), "", "mbarrier"),
    ("a tile one row off", edited(r"\[%rd38, \{%r107,%r1\}\]", "[%rd38, {%r107,%r33}]"), "", "wrong|no register"),
    ("steps in the wrong place", edited(r"\[%rd39, \{%r2,%r107\}\]", "[%rd39, {%r2,%r108}]"), "", "wrong"),
    ("another matrix for one thread", edited(r"\tor\.b64  \t%rd11, %rd20, 4611686293305360384;",
     "and.b32 %r53, %r4, 1; cvt.u64.u32 %rd11, %r53; add.s64 %rd20, %rd20, %rd11; or.b64 %rd11, %rd20, 4611686293305360384;"),
     "", "multiply other matrices"),
]


def told_of(text, swizzle=3):
    try:
        return "right" if run(text, 70, 24, 200, swizzle) else "wrong"
    except DriverError as error:
        driver.call("cuDevicePrimaryCtxRelease_v2", 0)  # what has spoiled the context goes with it
        driver.__init__()
        return error.report


bits = []
for sizes in [(64, 16, 64), (1, 8, 8), (70, 24, 200), (129, 40, 328)]:
    if not run(TEXT, *sizes, bits=bits):
        sys.exit("%s: wrong" % (sizes,))
open(sys.argv[1], "wb").write(b"".join(bits))
planted = [p for p in PLANTED if p[2] in ("", ORDER)]
found = 0
for name, text, _, what in planted:
    told = told_of(text)
    if re.search(what, told):
        found += 1
    else:
        print("%s: %s" % (name, told))
if told_of(TEXT, swizzle=0) == "wrong":
    found += 1
if ORDER == "forward":
    for shape in [dict(rows=3, columns=7, box=(64, 64)), dict(rows=3, columns=8, box=(64, 300)), dict(rows=3, columns=8, box=(128, 8))]:
        try:
            tensor_map(driver.alloc(4096), **shape)
            print("%s: a map" % shape)
        except DriverError:
            found += 1
print("kept products are right")
print("%d of %d faults are found" % (found, len(planted) + 1 + 3 * (ORDER == "forward")))
