"""Whole models against NumPy: SEED COUNT.

Each model is compiled for one CPU and another, with its dims symbolic and fixed, by libgccjit and as C that traps where
its behaviour is undefined; the interpreter runs some. A module runs in a process of its own on arrays between pages
that nobody may touch, the state and inputs read-only, outputs and the workspace full of NaN: serially, with chunks
backward, on 2 and 3 threads, in a workspace that was used before, and by two callers at once. All that has the same
bits, a row alone has those of the row in the batch, and nothing else is written.
"""
import ctypes
import itertools
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np

from model_forms import FORMS
from models import EPS, RUNS, Model, axes, from_bf16, shape, to_bf16
from tsrlib import DTYPES, TSRC, Call

CPUS = ["native"] * 4 + ["x86-64", "x86-64-v2", "haswell", "x86-64-v4", "skylake-avx512", "znver4", "sapphirerapids"]
PAGE = mmap.PAGESIZE
CANARY, BAD_CPU = 0x5c, 1
LIBC = ctypes.CDLL(None)
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, TASK, ctypes.c_void_p)


class Wrong(Exception):
    pass


class OtherCpu(Exception):
    """The module was compiled for instructions that this processor lacks."""


class Memory:
    """Bytes that end, or begin, at a page that may not be touched."""

    def __init__(self, nbytes, at_end=True, fill=0xff, align=64):
        body = max(-(-nbytes // PAGE), 1) * PAGE
        self.map = mmap.mmap(-1, body + 2 * PAGE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.protect(0, PAGE, 0)
        self.protect(PAGE + body, PAGE, 0)
        self.body = np.frombuffer(self.map, np.uint8)[PAGE:PAGE + body]
        self.start = (body - nbytes) // align * align if at_end else 0
        self.bytes = self.body[self.start:self.start + nbytes]
        self.body[:] = CANARY
        self.bytes[:] = fill
        self.pointer = ctypes.c_void_p(self.base + PAGE + self.start)

    def protect(self, start, nbytes, rights):
        assert LIBC.mprotect(ctypes.c_void_p(self.base + start), ctypes.c_size_t(nbytes), rights) == 0

    def read_only(self):
        self.protect(PAGE, self.body.size, mmap.PROT_READ)
        return self

    def intact(self):
        outside = self.body[:self.start], self.body[self.start + self.bytes.size:]
        return all((part == CANARY).all() for part in outside)


def checked(code):
    if code == BAD_CPU:
        raise OtherCpu
    if code:
        raise Wrong("code %d" % code)


def stored(tensor, run):
    array = tensor.values[run].array
    return np.ascontiguousarray(to_bf16(array) if tensor.dtype == "bf16" else array.astype(DTYPES[tensor.dtype]))


def loaded(memory, tensor, sizes):
    array = memory.bytes.view(DTYPES[tensor.dtype]).reshape(sizes)
    return (from_bf16(array) if tensor.dtype == "bf16" else array).astype(float)


def filled(array):
    memory = Memory(array.nbytes, align=array.itemsize)
    memory.bytes[:] = array.view(np.uint8).reshape(-1) if array.size else 0
    return memory.read_only()


def pool(threads):
    """Runs chunks on so many threads; 0: on one, backward."""
    def parallel(_, count, task, arg):
        places = iter(range(count) if threads else range(count - 1, -1, -1))

        def work():
            for place in places:
                task(arg, place)
        helpers = [threading.Thread(target=work) for _ in range(threads - 1)]
        for helper in helpers:
            helper.start()
        work()
        for helper in helpers:
            helper.join()
    return Call(abi=2, parallel=ctypes.cast(keep(PARALLEL(parallel)), ctypes.c_void_p))


def keep(thing, kept=[]):  # noqa: B006
    kept.append(thing)
    return thing


class Module:
    """A compiled model: calls of its routine as its header declares them."""

    def __init__(self, path, model):
        self.library, self.model = ctypes.CDLL(path), model
        with open(path[:-3] + ".h", encoding="utf8") as header:
            self.header = header.read()
        arguments = re.search(r"int m_forward\(const tsr_call \*call, (.*)\);", self.header).group(1)
        self.names = re.findall(r"(\w+)(?:,|$)", arguments)
        for size in (self.library.m_forward_workspace, self.library.m_state_size):
            size.restype = ctypes.c_size_t
        self.inputs = [t for t in model.inputs if t.text in self.names]
        self.calls = {"serial": None, "backward": pool(0), "2 threads": pool(2), "3 threads": pool(3)}
        self.used = Memory(1 << 22)

    def dims(self, values):
        return [ctypes.c_int64(values[name]) for name in self.names if name in values]

    def state(self, at_end, fill):
        state = Memory(self.library.m_state_size(), at_end, fill)
        for tensor in self.model.params:
            place = re.search(r"byte (\d+): %s " % tensor.text, self.header)
            data = stored(tensor, 0)
            if place and data.size:
                state.bytes[int(place.group(1)):][:data.nbytes] = data.view(np.uint8).reshape(-1)
        checked(self.library.m_pack(None, state.pointer))
        return state.read_only()

    def call(self, values, inputs, sizes, state, how="serial", at_end=True, fill=0xff, workspace=None):
        """The memories of the outputs. sizes: a shape for each."""
        outputs = [Memory(int(np.prod(s)) * DTYPES[t.dtype]().itemsize, at_end, fill, DTYPES[t.dtype]().itemsize)
                   for t, s in zip(self.model.outputs, sizes)]
        dims = self.dims(values)
        nbytes = self.library.m_forward_workspace(*dims)
        if workspace is None or nbytes > workspace.bytes.size:
            workspace = Memory(nbytes, at_end, fill)
        arrays = dict(zip([t.text for t in self.inputs] + [t.text for t in self.model.outputs], inputs + outputs))
        arrays.update(state=state, workspace=workspace)
        call = self.calls[how]
        code = self.library.m_forward(None if call is None else ctypes.byref(call), *dims,
                                      *(arrays[name].pointer for name in self.names if name not in values))
        checked(code)
        if not all(memory.intact() for memory in outputs + [state, workspace]):
            raise Wrong("something else is written")
        return outputs

    # ---- what is compared ----

    def run(self, run):
        model = self.model
        values = {name: axis.sizes[run] for name, axis in model.dims.items()}
        sizes = [shape(axes(t), run) for t in model.outputs]
        inputs = [filled(stored(t, run)) for t in self.inputs]
        state = self.state(True, 0xff)
        first = self.call(values, inputs, sizes, state)
        for tensor, memory, size in zip(model.outputs, first, sizes):
            compare(tensor, tensor.values[run], loaded(memory, tensor, size))
        for how, at_end, fill in (("backward", False, 0x42), ("2 threads", True, 0x7f), ("3 threads", False, 0xff)):
            yield how
            same(first, self.call(values, inputs, sizes, self.state(at_end, fill), how, at_end, fill))
        yield "a used workspace"
        same(first, self.call(values, inputs, sizes, state, workspace=self.used))
        yield "two callers"
        made = []
        other = threading.Thread(target=lambda: made.append(self.call(values, inputs, sizes, state)))
        other.start()
        same(first, self.call(values, inputs, sizes, state))
        other.join()
        same(first, made[0] if made else [])
        yield "rows alone"
        self.rows(run, values, state, dict(zip([t.text for t in model.outputs], first)))

    def rows(self, run, values, state, whole):
        chosen = self.model.rows_alone()
        count = values["n"] if chosen and "n" in self.names else 0
        for row in sorted({0, count // 2, count - 1}) if count else ():
            inputs = [filled(stored(t, run)[row:row + 1] if axes(t)[:1] == [self.model.dims["n"]] else stored(t, run))
                      for t in self.inputs]
            sizes = [(1,) + shape(axes(t)[1:], run) if t in chosen else shape(axes(t), run) for t in self.model.outputs]
            alone = self.call(dict(values, n=1), inputs, sizes, state)
            for tensor, memory in zip(self.model.outputs, alone):
                if tensor in chosen and not np.array_equal(whole[tensor.text].bytes.reshape(count, -1)[row],
                                                           memory.bytes):
                    raise Wrong("%s: row %d of %d has other bits alone" % (tensor.text, row, count))


def same(first, other):
    if len(first) != len(other) or any(not np.array_equal(a.bytes, b.bytes) for a, b in zip(first, other)):
        raise Wrong("other bits than serially")


def compare(tensor, want, got):
    finite = np.isfinite(want.array)
    near = np.where(finite, want.array, 0)
    bound = 0 if want.digits is not None else 2 * want.err + 4 * EPS.get(tensor.dtype, 0) * np.abs(near)
    with np.errstate(invalid="ignore"):
        wrong = ~np.where(finite, np.abs(got - near) <= bound, got == want.array)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise Wrong("%s: %d of %d are wrong, the first at %s: %r, expected %r" % (
            tensor.text, wrong.sum(), wrong.size, at, got[at], want.array[at]))


def in_child(path, model, runs):
    """What is wrong with the module; the child says what it begins, and then what it finds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(100)
        say = os.fdopen(writing, "w", buffering=1)
        try:
            module = Module(path, model)
            for run in runs:
                where = {name: axis.sizes[run] for name, axis in model.dims.items()}
                for step in itertools.chain(["serially"], module.run(run)):
                    say.write("%s %s\n" % (where, step))
        except OtherCpu:
            pass
        except BaseException as wrong:  # the child must not go on as its parent
            say.write("wrong: %s %s\n" % (type(wrong).__name__, str(wrong).replace("\n", " ")))
        say.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as heard:
        said = heard.read().splitlines()
    status = os.waitpid(child, 0)[1]
    if status:
        return "signal %d in %s" % (status, said[-1:])
    return "%s in %s" % (said[-1], said[-2]) if said and said[-1].startswith("wrong") else None


def command(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=200)
    return "%s\nstatus %d\n%s" % (" ".join(arguments), done.returncode, done.stderr) if done.returncode else None


def wrong_way(model, way, rng, folder):
    """What is wrong with the model compiled in one way."""
    source, path = os.path.join(folder, "m.tsr"), os.path.join(folder, way + ".so")
    runs = range(RUNS if model.dims else 1)
    options = ["-O1", "-march=" + rng.choice(CPUS), "--grain=%d" % rng.choice([1, 1, 200, 20000])]
    options += [rng.choice(["--no-prepack", "--fp=strict", "--policy=none"])] if rng.random() < 0.25 else []
    if way == "fixed":
        runs = [rng.choice(runs)]
        options += ["-D%s=%d" % (name, axis.sizes[runs[0]]) for name, axis in model.dims.items()]
    if way == "interpreter":
        return command(TSRC, source, "-fsyntax-only", "--verify=run", *options, "-march=native")
    if way == "c":
        text = os.path.join(folder, "c.c")
        wrong = command(TSRC, source, "-o", text, *options) or command(
            TSRC, source, "-o", path[:-3] + ".h", *options) or command(
            "gcc", "-O1", "-w", "-ffp-contract=off", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error",
            "-shared", "-fPIC", text, "-o", path, "-lm")
    else:
        wrong = command(TSRC, source, "-o", path, *options)
    wrong = wrong or in_child(path, model, runs)
    return "%s %s: %s" % (way, " ".join(options), wrong) if wrong else None


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    wrong = 0
    for trial in range(seed, seed + count):
        model, rng = Model(trial, FORMS), random.Random(trial)
        ways = ["plain"] + ["fixed"] * (model.dims != {}) + [["c"], ["interpreter"], []][trial % 3]
        with tempfile.TemporaryDirectory(prefix="models") as folder:
            with open(os.path.join(folder, "m.tsr"), "w", encoding="utf8") as out:
                out.write(model.text)
            for way in ways:
                what = wrong_way(model, way, rng, folder)
                if what:
                    wrong += 1
                    print("seed %d\n%s%s" % (trial, model.text, what))
    print("%d models, %d runs are wrong" % (count, wrong))


if __name__ == "__main__":
    main()
