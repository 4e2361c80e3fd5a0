"""Random routines against NumPy: SEED COUNT [-v].

A program (routine_programs.py) has inputs, parameters of every dtype, tensors of the file and one to three routines of
several steps: plain ones and ones with `via`, of every accumulation. Its routines are called one after another on one
state, at several values of the dims, 0 and 1 among them; after each call the results and the parameters are compared
with what routine_steps.py makes of them, and with those of two and of four threads, bit by bit.
"""
import ctypes
import os
import random
import re
import sys

import numpy as np

import indexed
import routine_steps as steps
from routine_programs import Program
from typed import Array, is_float
from tsrlib import DTYPES, CompileError, aligned, compile_text, from_bf16, pool_call, to_bf16

# Places that two operands fill, or none; sizes that are no sizes, or others where inference chose.
REFUSED = indexed.REFUSED + ("E0306", "E0341")


# ---- what is compiled ----

def to_bits(a):
    """As the module has it."""
    if a.dtype == "bf16":
        return to_bf16(a.values.astype(np.float32)).reshape(a.values.shape)
    return a.values.astype(DTYPES[a.dtype])


def from_bits(bits, dtype):
    return from_bf16(bits).astype(float) if dtype == "bf16" else bits.astype(float if is_float(dtype) else np.int64)


class Module:
    def __init__(self, text, options):
        path, self.header = compile_text(text, ["--grain=1", *options])
        self.library = ctypes.CDLL(path)

    def arguments(self, function):
        """[(type, name)] of a C function of the header."""
        found = re.search(r"\b%s\((.*?)\);" % function, self.header)[1].replace("const ", "")
        return [tuple(argument.rsplit(" ", 1)) for argument in found.split(", ") if argument != "void"]

    def shapes(self, routine):
        """name -> the shape of a result, as the header has it."""
        line = re.search(r"^/\* %s: (.*)$" % routine, self.header, re.M)[1]
        return dict(re.findall(r"(\w+) \w+ \[([^\]]*)\]", line))

    def run(self, routine, values, results, call):
        """values: what arguments are called -> number or array; results: name -> array that is filled in."""
        given, dims = [], []
        for kind, name in self.arguments("m_" + routine):
            pointer, name = name.startswith("*"), name.lstrip("*")
            if name in ("call", "workspace"):
                given.append(call if name == "call" else None)
            elif pointer:
                array = results[name] if name in results else values[name]
                given.append(ctypes.c_void_p(array.ctypes.data))
            elif kind == "int64_t":
                dims.append(ctypes.c_int64(values[name]))
                given.append(dims[-1])
            else:
                types = {"float": ctypes.c_float, "double": ctypes.c_double, "int32_t": ctypes.c_int32}
                given.append(types[kind](values[name]))
        workspace = getattr(self.library, "m_%s_workspace" % routine)
        workspace.restype = ctypes.c_size_t
        space = aligned(workspace(*dims))
        given[-1] = ctypes.c_void_p(space.ctypes.data)
        return getattr(self.library, "m_" + routine)(*given)

    def state(self, values):
        if "m_state_size" not in self.header:
            return aligned(1)
        dims = [ctypes.c_int64(values[name]) for _, name in self.arguments("m_state_size")]
        self.library.m_state_size.restype = ctypes.c_size_t
        state = aligned(self.library.m_state_size(*dims))
        self.library.m_init(*[ctypes.c_int64(values[n]) for k, n in self.arguments("m_init") if k == "int64_t"],
                            ctypes.c_void_p(state.ctypes.data), ctypes.c_uint64(1))
        return state


def numbers(rng, dtype, shape):
    if dtype == "u8":
        return Array(rng.integers(0, 4, shape), dtype)
    values = rng.integers(-3, 4, shape)
    return Array(values / 2 if is_float(dtype) and rng.random() < 0.7 else values, dtype)


class Run:
    """The calls of a program at one value of the dims."""

    def __init__(self, program, module, dims, calls):
        self.program, self.module, self.dims, self.calls = program, module, dims, calls
        self.rng = np.random.default_rng(sum(dims) + len(program.inputs))
        self.env = {}
        self.compared = self.wild = 0

    def shape(self, tensor):
        return steps.shape_at(tensor.rows, self.dims)

    def values(self, scalars):
        for t in self.program.inputs + self.program.fill:
            self.env[t.name] = numbers(self.rng, t.dtype, self.shape(t))
        for s in scalars:
            self.env[s.name] = numbers(self.rng, s.dtype, ())
        values = {name: np.array(to_bits(a), order="C") for name, a in self.env.items()}
        values.update({s.name: values[s.name].item() for s in scalars}, n=self.dims[0], m=self.dims[1])
        return values

    def called(self, name, values, results):
        """The results of the routine, the same of one, two and four threads; what is wrong else."""
        before, first = self.state.copy(), None
        for call in self.calls:
            self.state[:] = before
            got = {t.name: np.full(self.shape(t), 77, DTYPES[t.dtype]) for t in results}
            code = self.module.run(name, dict(values, state=self.state), got, call)
            if code:
                return None, "%s returns %d" % (name, code)
            now = [a.tobytes() for a in got.values()] + [self.state.tobytes()]
            if first not in (None, now):
                return None, "%s gives other bits with more threads" % name
            first = now
        return got, None

    def differs(self, name, got, results):
        for t in results:
            want, have = self.env[t.name], from_bits(got[t.name], t.dtype)
            bound = np.where(np.isfinite(want.err), want.err * 4, np.inf)
            with np.errstate(all="ignore"):
                good = (have == want.values) | (np.isnan(have) & np.isnan(want.values)) | \
                    (np.abs(have - want.values) <= bound) | np.isinf(bound)
            self.compared += good.size
            self.wild += int(np.isinf(bound).sum())
            if not good.all():
                return "%s: %s is\n%s\nexpected\n%s\nwithin %s" % (name, t.name, have, want.values, want.err.max())
        return None

    def one(self, name, body, scalars, results):
        values = self.values(scalars)
        got, wrong = self.called(name, values, results)
        body(self.env, self.dims)
        wrong = wrong or self.differs(name, got, results)
        if wrong or not self.program.params:
            return wrong
        got, wrong = self.called("look", values, self.program.params)
        return wrong or self.differs("the state after " + name, got, self.program.params)

    def fill(self, env, dims):
        for p, f in zip(self.program.params, self.program.fill):
            env[p.name] = env[f.name]

    def routine(self, r):
        def body(env, dims):
            self.program.evaluated = set()  # in this call
            for t in r["results"]:
                if t.kind == "own":
                    env[t.name] = Array(np.zeros(self.shape(t)), t.dtype)
            for t in self.program.lets:
                env[t.name] = t.value.run(env, dims).broadcast(self.shape(t))
            for _, step in r["steps"]:
                step(env, dims)
        return self.one(r["name"], body, r["scalars"], r["results"])

    def wrong(self):
        self.state = self.module.state({"n": self.dims[0], "m": self.dims[1]})
        if self.program.params:
            wrong = self.one("fill", self.fill, [], self.program.params)
            if wrong:
                return wrong
        order = random.Random(sum(self.dims)).choices(self.program.routines, k=2) + self.program.routines
        return next(filter(None, (self.routine(r) for r in order)), None)


def other_shapes(program, module):
    """A result that is not of the shape that its steps were drawn for: sizes that they leave open."""
    for r in program.routines:
        shown = module.shapes(r["name"])
        for t in r["results"]:
            for dims in program.dims:
                rows = re.sub(r"->|\|", ",", shown[t.name])
                sizes = [eval(s, {"n": dims[0], "m": dims[1]}) for s in rows.split(",") if s.strip()]
                batch, inputs, outputs = ([a.size.at(dims) for item in row for a in item.axes] for row in t.rows)
                if sizes != batch + inputs + outputs:
                    return True
    return False


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    threads = () if "GPU_SO" in os.environ else (2, 4)  # on a device the state is there: it is not set back
    calls = [ctypes.c_void_p(None)] + [ctypes.byref(pool_call(n)) for n in threads]
    ran = bad = open_sizes = refused = compared = wild = 0
    for trial in range(seed, seed + count):
        program = Program(trial)
        try:
            fixed = ["-Dn=%d" % program.dims[0][0], "-Dm=%d" % program.dims[0][1]] if program.fixed else []
            module = Module(program.text(), [*os.environ.get("OPTION", "-O0").split(), "-Wno-dims-meet", *fixed])
        except CompileError as error:
            refused += 1
            if not any("[%s]" % code in str(error) for code in REFUSED):
                bad += 1
                print("seed %d\n%s" % (trial, error))
            continue
        if other_shapes(program, module):
            open_sizes += 1
            continue
        ran += 1
        for dims in program.dims:
            run = Run(program, module, dims, calls)
            wrong = run.wrong()
            compared, wild = compared + run.compared, wild + run.wild
            if wrong:
                bad += 1
                print("seed %d\n%sat %s: %s" % (trial, program.text(), dims, wrong))
                break
    print("%d of %d programs ran, %d are wrong" % (ran, count, bad))
    if "-v" in sys.argv:
        print("%d refused, %d of other shapes; %d elements, nothing known of %d" % (refused, open_sizes, compared, wild))


if __name__ == "__main__":
    main()
