"""Compiles a program with tsrc and calls its `forward` through ctypes, as a Python user would. With THREADS=N in the
environment every loop that can be is cut into chunks, which a pool of N threads runs, and forward has the bits of one
thread; with OPTIONS=... all programs have those; with --target=cuda and GPU_SO=1 they are shared objects with PTX, over libtsr; with --target=cuda and DRIVER=LIBRARY their
PTX runs over that library of the driver (test/lit/emulator/Inputs/driver.py); with TILES=1 code uses the tiles of AMX
that it has, which test/amx/amx.c, loaded before, runs where the processor has none; with TILES=c its readable C does. Every array ends where the next page is closed, so that
a touch of what lies behind one ends the process."""
import ctypes
import functools
import os
import subprocess
import sys
import tempfile

import numpy as np

import emulated
from guard import guarded, placed

TSRC = os.environ.get("TSRC", "tsrc")
OPTIONS = os.environ.get("OPTIONS", "").split()
THREADS = int(os.environ.get("THREADS", "0"))
TILES = os.environ.get("TILES")
ALONE = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # for the compiler
DRIVER = None  # where there is one, PTX runs over it
if "DRIVER" in os.environ:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "emulator", "Inputs"))
    import driver
    DRIVER = driver.Driver()
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "f16": np.float16, "bf16": np.uint16, "i8": np.int8,
          "u8": np.uint8, "i64": np.int64, "u32": np.uint32, "bool": np.bool_, "f8e4m3": np.uint8, "f8e5m2": np.uint8,
          "i4": np.uint8, "u4": np.uint8}
SCRATCH = tempfile.TemporaryDirectory(prefix="tsrlib")  # as long as the process


def schedule(text):
    """The options that ask for these choices."""
    path = os.path.join(SCRATCH.name, "%x.sched" % (hash(text) & 0xffffffff))
    with open(path, "w", encoding="utf8") as out:
        out.write(text)
    return ["--schedule=" + path]


class CompileError(Exception):
    pass


class Call(ctypes.Structure):
    """tsr_call of runtime/tsr.h."""
    _fields_ = [("abi", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("message", ctypes.c_void_p),
                ("parallel", ctypes.c_void_p), ("pool", ctypes.c_void_p)]


def pool_call(threads):
    """A call whose chunks a pool of threads runs; the pool lives as long as the process."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(TSRC)), "libtsr.so"))
    library.tsr_pool_new.restype = ctypes.c_void_p
    call = Call(abi=2)
    pool = library.tsr_pool_new(ctypes.c_int32(threads), None)
    library.tsr_pool_call(ctypes.c_void_p(pool), ctypes.byref(call))
    return call


def with_tiles(assembly, to):
    """Makes the object of an assembly text, which finds the features of AMX whatever the processor has."""
    with open(assembly, encoding="utf8") as file:
        before, found, behind = file.read().partition("__tiles_ok:\n")
    with open(assembly, "w", encoding="utf8") as file:
        file.write(before + found + behind.replace("\tleaq\t3f(%rip)", "\tleaq\t2f(%rip)", 1))
    subprocess.run(["cc", "-shared", "-o", to, assembly, "-lm"], check=True)


def c_with_tiles(text, to):
    """Makes the object of a text of C for this processor and tiles of AMX."""
    subprocess.run(["gcc", "-std=c99", "-O1", "-march=native", "-mamx-tile", "-mamx-bf16", "-mamx-int8", "-ffp-contract=off",
                    "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", to, text, "-lm"], check=True, env=ALONE)


def level(options):
    """What tsrc chooses is the same with -O0, and GCC takes three fifths of the time; test/property and `make check-long` have -O2."""
    said = any(o.startswith(("-O", "--target=")) for o in options)
    return [] if said or "TSR_LONG" in os.environ else ["-O0"]


def compile_text(text, options=()):
    """Returns (path of the .so, text of the header)."""
    options = [*options, *OPTIONS, *["--grain=1"] * (THREADS > 0)]
    options += level(options)
    directory = tempfile.mkdtemp(dir=SCRATCH.name)
    source = os.path.join(directory, "m.tsr")
    with open(source, "w", encoding="utf8") as out:
        out.write(text)
    gpu = any(o.startswith("--target=cuda") for o in options) and "GPU_SO" not in os.environ
    made = "m.cu" if gpu else "m.c" if TILES == "c" else "m.s" if TILES else "m.so"
    made, loaded = (os.path.join(directory, name) for name in (made, "m.so"))
    kinds = "--emit=%s,header" % ("c" if TILES == "c" else "asm")
    to = [kinds, "-o", os.path.join(directory, "m")] if TILES else ["-o", made]
    run = subprocess.run([TSRC, source, *to, *options], capture_output=True, text=True, env=ALONE)
    if run.returncode != 0:
        raise CompileError("status %d\n%s\n%s" % (run.returncode, text, run.stderr))
    if TILES:
        (c_with_tiles if TILES == "c" else with_tiles)(made, loaded)
    if gpu and DRIVER:
        subprocess.run([TSRC, source, "-o", os.path.join(directory, "m.ptx"), *options], check=True)
    if gpu:  # its kernels on this CPU, thread after thread
        subprocess.run(["cc", "-std=c99", "-O0", "-ffp-contract=off", "-w", "-fPIC", "-shared", "-o", loaded, "-x", "c", made,
                        "-lm"], check=True)
    with open(os.path.join(directory, "m.h"), encoding="utf8") as header:
        return os.path.join(directory, "m.so"), header.read()


def named_files(options):
    """What the files hold that options name."""
    found = []
    for option in options:
        if option.startswith(("--schedule=", "--target-file=")):
            with open(option.partition("=")[2], "rb") as file:
                found.append(file.read())
    return tuple(found)


@functools.lru_cache(maxsize=None)
def compiled(text, options, _files):
    return compile_text(text, options)


def compile_once(text, options):
    """As compile_text: a program is often called with many sizes."""
    return compiled(text, tuple(options), named_files(options))


class Model:
    """One compiled program. Call it with the dims, inputs in order, and the shapes of the outputs."""

    ptx = None
    emulated = False  # calls go to another process; also of a Model that a script makes by itself

    def __init__(self, text, options=()):
        path, self.header = compile_once(text, options)
        self.emulated = "--target=" + emulated.TRIPLE in [*options, *OPTIONS]
        self.library = emulated.Library(path) if self.emulated else ctypes.CDLL(path)
        self.tiles = bool(TILES) and hasattr(self.library, "m_use_tiles") and self.library.m_use_tiles() == 1
        self.call = pool_call(THREADS) if THREADS else None
        ptx = os.path.join(os.path.dirname(path), "m.ptx")
        self.ptx = driver.Ptx(ptx, DRIVER) if DRIVER and os.path.exists(ptx) else None

    def forward(self, dims, inputs, outputs, state=None, routine="forward"):
        """outputs: list of (shape, dtype). Returns the arrays; raises on a code other than 0."""
        if self.ptx:
            return self.ptx.forward(dims, inputs, outputs, state, routine)
        results = self.run(self.call, dims, inputs, outputs, state, routine)
        if self.call and routine == "forward":
            alone = self.run(None, dims, inputs, outputs, state, routine)
            assert all(a.tobytes() == b.tobytes() for a, b in zip(alone, results)), "one thread has other bits"
        return results

    def run(self, call, dims, inputs, outputs, state, routine):
        """As `forward`, with the threads of the call; None: one."""
        results = [placed(np.full(shape, 77, dtype)) for shape, dtype in outputs]
        dims = [ctypes.c_int64(d) for d in dims]
        size = getattr(self.library, "m_%s_workspace" % routine)
        size.restype = ctypes.c_size_t
        workspace = aligned(size(*dims))
        pointers = [self.pointer(a) for a in [*map(placed, inputs), *results]]
        code = getattr(self.library, "m_" + routine)(
            None if call is None else ctypes.byref(call), *dims, *pointers, state if state is None else self.pointer(state),
            self.pointer(workspace))
        if code != 0:
            raise RuntimeError("code %d" % code)
        return results

    def forward_as_on_host(self, dims, inputs, shape):
        """The one result, in f32. PTX has the bits that a host has, which was told how tensor cores add: they share no code."""
        got, = self.forward(dims, inputs, [(shape, np.float32)])
        if self.ptx:
            ptx, self.ptx = self.ptx, None
            host, = self.forward(dims, inputs, [(shape, np.float32)])
            self.ptx = ptx
            assert np.array_equal(np.asarray(got).view(np.uint32), np.asarray(host).view(np.uint32)), shape
        return np.asarray(got)

    def pointer(self, array):
        """As the module's functions take it."""
        return array if self.emulated else array.ctypes.data_as(ctypes.c_void_p)

    def init(self, dims=(), seed=0):
        size = self.library.m_state_size
        size.restype = ctypes.c_size_t
        dims = [ctypes.c_int64(d) for d in dims]
        state = aligned(size(*dims))
        code = self.library.m_init(*dims, self.pointer(state), ctypes.c_int64(seed))
        if code != 0:
            raise RuntimeError("code %d" % code)
        return state


def functions_of(expressions, names, dtype, options=()):
    """By expression, what calls it on arrays of one length; names: its inputs. All are routines of one program."""
    text = "dim n\n" + "".join("input %s : %s [n]\n" % (name, dtype) for name in names)
    for i, expression in enumerate(expressions):
        text += "routine f%d() -> r%d { r%d =: %s }\n" % (i, i, i, expression)
    model = Model(text, options)

    def function(i):
        return lambda *arrays, result=DTYPES[dtype]: model.forward([arrays[0].size], arrays, [(arrays[0].shape, result)],
                                                                   routine="f%d" % i)[0]

    return {expression: function(i) for i, expression in enumerate(expressions)}


def draw_cuts(below, naxes):
    """Where rows of so many axes begin, in storage order: the output row, the input row. below(n): an integer."""
    return sorted(int(below(naxes + 1)) for _ in range(2))


def in_rows(axes, cuts):
    """Axes in storage order as a shape or a specification has them, with the rows cut there."""
    rows = (axes[:cuts[0]], axes[cuts[1]:], axes[cuts[0]:cuts[1]])
    return "%s | %s -> %s" % tuple(", ".join(map(str, row)) for row in rows)


def to_bf16(x):
    """The bits of f32 numbers rounded to bf16: to the nearest, ties to even; NaN stays."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7fff) + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), bits >> 16 | 0x40, rounded).astype(np.uint16)


def from_bf16(bits):
    return (np.atleast_1d(bits).astype(np.uint32) << 16).view(np.float32).reshape(bits.shape)


def draw_kind(rng, kind, *shape):
    """Random numbers as an array of this type is given, and as they are."""
    x = rng.standard_normal(shape).astype(np.float32)
    if kind == "bf16":
        bits = to_bf16(x)
        return bits, from_bf16(bits).astype(np.float64)
    x = x.astype(np.float16) if kind == "f16" else x
    return x, x.astype(np.float64)


def aligned(nbytes):
    """Of a state or a workspace, whose sizes are multiples of 64."""
    assert nbytes % 64 == 0
    return guarded(nbytes)


def check(name, got, want, tolerance=1e-5):
    want = np.asarray(want)
    if got.shape != want.shape:
        print("%s: shape %s, expected %s" % (name, got.shape, want.shape))
        sys.exit(1)
    if got.dtype.kind in "iu":
        bad = not np.array_equal(got, want)
    else:
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
        bad = not np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if bad:
        print("%s: wrong numbers\ngot %s\nwant %s" % (name, got, want))
        sys.exit(1)


def byte_product(rng, types, m, n, k, along):
    """A product of bytes of these types plus 1: its program, random operands and the exact result; `along`: the sum is the
    second operand's last axis."""
    text = "input x : %s [%d, %d]\ninput w : %s [%s]\noutput y = einsum(\"m, k; %s => m, n\", x, w) + 1\n" % (
        types[0], m, k, types[1], "%d, %d" % ((n, k) if along else (k, n)), "n, k" if along else "k, n")
    x, w = (rng.integers(*((-128, 128) if t == "i8" else (0, 256)), shape, dtype=np.int64)
            for t, shape in zip(types, [(m, k), (k, n)]))
    given = [v.astype(np.int8 if t == "i8" else np.uint8) for t, v in zip(types, (x, w))]
    if along:
        given[1] = np.ascontiguousarray(given[1].T)
    return text, given, x @ w + 1
