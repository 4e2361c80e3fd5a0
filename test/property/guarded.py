"""Random programs whose arrays end at a guard page, or begin at one: SEED COUNT [--c] [MARCH...].

A program has a few statements over inputs and parameters of all dtypes, each an output or an accumulating step of a routine:
specifications of every kind of axis (indexed.py), sizes up to some vectors. Every input, output, state and workspace lies in
pages of its own, once right in front of a page that may be neither read nor written and once right behind one, at several
values of the dims. A child process calls the routines: a touch of such a page ends it. Results must have the same bits in both
places, so what lies beside an array takes no part. All processors are tried that this one can run the code for.

With --c the programs go through readable C and gcc. Without codegen/gaps.c it fails: GCC reads behind an operand where the
lanes of a vector share one of every few of its elements, so such pairs of operands are among the statements.
"""
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "numbers", "Inputs"))
import indexed  # noqa: E402
from floats8 import FORMATS, to_f8  # noqa: E402
from guard import guarded, placed  # noqa: E402
from nibbles import RANGES, packed  # noqa: E402
from runner import tsrc  # noqa: E402
from tsrlib import DTYPES, SCRATCH, compile_text, to_bf16  # noqa: E402

DIMS = ((1, 1), (2, 3), (5, 2), (16, 9), (33, 17))
MOST = 1 << 20  # points of a product space, elements of a tensor
TOGETHER = 4    # statements of a program
TYPES = ["f32", "f64", "i32", "f16", "bf16", "i8", "u8", "i64", "u32", "bool", "f8e4m3", "f8e5m2", "i4", "u4"]
WIDE = {"bf16": "f32", "f16": "f32", "f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32", "bool": "i32", "i4": "i32",
        "u4": "i32"}
INTEGERS = ("i32", "i64", "u32")
SIZES = [indexed.Size(*t) for t in ((1, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 0), (1, 1, 0))]
SIZES += [indexed.Size(0, 0, k) for k in (1, 2, 3, 3, 4, 5, 7, 12, 15, 17, 31, 33, 8, 16, 32, 64)]


class Statement(indexed.Program):
    """One statement, or one routine; its names end in a number."""

    def __init__(self, rng, number):
        self.lanes = rng.random() < 0.6
        super().__init__(rng.randrange(1 << 40))
        self.number, self.step = number, self.lanes or rng.random() < 0.2
        self.dtype = rng.choice(["f32"] * 5 + ["f64", "i32"] if self.lanes else TYPES)
        self.wide = WIDE.get(self.dtype, self.dtype)
        self.kinds = ["param" if rng.random() < 0.25 and self.is_fixed(rows) else "input" for rows in self.operands]
        self.after = rng.choice(["%s", "%s", "%s", "relu(%s)", "exp(%s)", "1 + %s"])
        if self.step or self.wide in INTEGERS:
            self.after = "%s"

    def new(self, sizes=SIZES):
        """The diagonal of windows of 3 and 7 goes in steps of 4 and 8."""
        kernels = [indexed.Size(0, 0, k) for k in (3, 3, 7)] if self.lanes else sizes
        return super().new(SIZES if sizes is indexed.SIZES else kernels)

    def tensor(self):
        """Often a pair: vectors of elements that are far apart, and beside them one element in a few for all lanes."""
        if not self.lanes:
            return super().tensor()
        known = list(self.sizes)[1:2]
        if not known:
            return [[], [], [self.some(SIZES[-4:]), self.some(SIZES[:5])]]
        if self.rng.random() < 0.3:
            return [[], [], [self.one(known), self.strided([self.some(SIZES).text])]]
        window = self.window(known)
        return [[], [], [window, self.one([list(self.sizes)[-1]])]]

    def some(self, sizes):
        name = super().new(sizes)
        return indexed.Item(name, indexed.plain(name, self.sizes[name]))

    def result_rows(self):
        return [[], [], []] if self.lanes and self.rng.random() < 0.7 else super().result_rows()

    def is_fixed(self, rows):
        return all(axis.size.times[:2] == (0, 0) for axis in indexed.axes(rows))

    def shape(self, rows, dims):
        return [axis.size.at(dims) for axis in indexed.axes(rows)]

    def fits(self, dims):
        tensors = self.operands + [self.result]
        space = [self.sizes[name].at(dims) for name in indexed.letters(tensors)]
        shapes = [space] + [self.shape(rows, dims) for rows in tensors]
        return all(min(shape, default=0) >= 0 and np.prod(shape, dtype=float) <= MOST for shape in shapes)

    def name(self, i):
        return "x%d_%d" % (self.number, i)

    def how(self):
        fold, op = super().how()
        if self.lanes and len(self.operands) == 2:
            op = "add"
        return ("sum" if self.step or self.wide in INTEGERS else fold), op

    def text(self):
        expression = re.search(r"output y = (.*)\n", super().text()).group(1)
        cast = "%s(%%s)" % self.wide if self.dtype in WIDE else "%s"
        expression = re.sub(r"\bx(\d)\b", lambda m: cast % self.name(int(m.group(1))), expression)
        text = "".join("%s %s : %s [%s]%s\n" % (kind, self.name(i), self.dtype, written(rows), " = 1" * (kind == "param"))
                       for i, (kind, rows) in enumerate(zip(self.kinds, self.operands)))
        if not self.step:
            return text + "output y%d = %s\n" % (self.number, self.after % expression)
        return text + "param t%d : %s [%s] = 0\nroutine r%d() -> t%d {\n    t%d =+ %s\n}\n" % (
            self.number, self.wide, written(self.result), *[self.number] * 3, expression)

    def arrays(self, dims):
        """What the routine takes and gives, by name."""
        rng = np.random.default_rng(1)
        found = {}
        for i, rows in enumerate(self.operands):
            if self.kinds[i] == "input":
                values = rng.integers(0, 4, self.shape(rows, dims))
                found[self.name(i)] = stored(values, self.dtype)
        result = "%s%d" % ("t" if self.step else "y", self.number)
        found[result] = np.full(self.shape(self.result, dims), 77, DTYPES[self.wide])
        return found


def stored(values, dtype):
    if dtype == "bf16":
        return to_bf16(values.astype(np.float32))
    if dtype in RANGES:
        return packed(values)
    return to_f8(values, dtype) if dtype in FORMATS else values.astype(DTYPES[dtype])


def written(rows):
    return indexed.written(rows, indexed.sizes_item)


class Program:
    """Some statements that the compiler takes, for one of the processors."""

    def __init__(self, seed, known):
        rng = random.Random(seed)
        self.statements = []
        while len(self.statements) < TOGETHER:
            statement = Statement(rng, len(self.statements))
            fits = all(len(indexed.axes(rows)) <= 6 for rows in statement.operands + [statement.result])
            fits = fits and not (statement.lanes and len(statement.operands) != 2)
            if fits and tsrc("dim n\ndim m\n" + statement.text(), "-fsyntax-only").returncode == 0:
                self.statements.append(statement)
        self.options = ["-march=" + rng.choice(known), rng.choice(["-O2", "-O2", "-O3"]),
                        *rng.choice([[], ["--fp=strict"], ["--grain=1"], ["--checked"]])]
        self.gcc = rng.choice(["-O2", "-O3", "-O3"])
        self.text = "dim n\ndim m\n" + "".join(s.text() for s in self.statements)
        self.routines = {"r%d" % s.number: [s] for s in self.statements if s.step}
        if len(self.routines) < TOGETHER:
            self.routines["forward"] = [s for s in self.statements if not s.step]


def compile_c(program):
    """As compile_text of tsrlib.py, by way of C."""
    directory = tempfile.mkdtemp(dir=SCRATCH.name)
    text, library = os.path.join(directory, "m.c"), os.path.join(directory, "m.so")
    said = tsrc(program.text, "-o", text, "--prefix=m", *program.options)
    if said.returncode != 0:
        raise RuntimeError(said.stderr)
    subprocess.run(["gcc", "-shared", "-fPIC", program.gcc, program.options[0], "-o", library, text, "-lm"], check=True)
    with open(os.path.join(directory, "m.h"), encoding="utf8") as header:
        return library, header.read()


class Module:
    """A compiled program, called with arguments by name."""

    def __init__(self, path, header):
        self.library = ctypes.CDLL(path)
        self.params = {name: re.findall(r"(\w+)(?=,|$)", names)
                       for name, names in re.findall(r"^(?:int|size_t) m_(\w+)\((.*)\);", header, re.M)}

    def call(self, name, known, result=ctypes.c_int):
        """What is not known is NULL."""
        function = getattr(self.library, "m_" + name)
        function.restype = result
        return function(*(known.get(param) for param in self.params[name] if param != "void"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def run(module, program, dims, at_end):
    """The bytes of all results."""
    found = []

    def block(name):
        return guarded(module.call(name, known, ctypes.c_size_t), at_end)

    known = {name: ctypes.c_int64(value) for name, value in zip("nm", dims)}
    known["seed"] = ctypes.c_uint64(1)
    if "init" in module.params:
        state = block("state_size")
        known["state"] = pointer(state)
        if module.call("init", known) != 0:
            raise RuntimeError("init refuses")
    for name, statements in program.routines.items():
        arrays = {key: placed(array, at_end) for s in statements for key, array in s.arrays(dims).items()}
        known.update((key, pointer(array)) for key, array in arrays.items())
        workspace = block(name + "_workspace")
        code = module.call(name, {**known, "workspace": pointer(workspace)})
        if code != 0:
            raise RuntimeError("%s returns %d" % (name, code))
        found += [array.tobytes() for key, array in arrays.items() if key[0] in "ty"]
    return found


def child(module, program, out):
    """Calls the routines in both places; says to `out` where it is."""
    for dims in DIMS:
        if not all(s.fits(dims) for s in program.statements):
            continue
        os.write(out, b"at %d, %d " % dims)
        if run(module, program, dims, True) != run(module, program, dims, False):
            os.write(out, b"the results depend on what lies beside the arrays")
            return 1
    return 0


def wrong(path, header, program):
    """What is wrong; "": nothing."""
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            status = child(Module(path, header), program, writes)
        except Exception as error:
            os.write(writes, repr(error).encode())
        os._exit(status)
    os.close(writes)
    with os.fdopen(reads) as said:
        text = said.read()
    status = os.waitpid(process, 0)[1]
    ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
    return text[max(text.rfind("at "), 0):] + ended if status else ""


def marches():
    with open("/proc/cpuinfo") as info:
        flags = set(info.read().split())
    levels = (("native", "sse2"), ("x86-64", "sse2"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512vl"))
    return [march for march, flag in levels if flag in flags]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--c"]
    seed, count, known = int(arguments[0]), int(arguments[1]), arguments[2:] or marches()
    bad, by_c = 0, "--c" in sys.argv
    for trial in range(seed, seed + count):
        program = Program(trial, known)
        said = wrong(*(compile_c(program) if by_c else compile_text(program.text, program.options)), program)
        if said:
            bad += 1
            options = program.options + ["by gcc", program.gcc] * by_c
            print("seed %d: %s\n%s%s\n" % (trial, " ".join(options), program.text, said), flush=True)
    print("%d of %d programs touch what lies beside their arrays" % (bad, count))


if __name__ == "__main__":
    main()
