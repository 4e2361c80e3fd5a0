"""gpu.py TSRC TSR FOLDER: programs as code for a GPU, run by libtsr through a driver that is the host (host_driver.py), have
the results and the states that the code for a CPU has; one has those of NumPy."""
import ctypes
import os
import subprocess
import sys

import numpy as np

import tsr
from host_driver import make
from tsr._arrays import empty, entry_of
from tsr._library import library
from tsr._session import Module, Session

TSRC, TSR, FOLDER = sys.argv[1:4]
SOFTMAX = """dim n
input x : [n | 37]
let e = exp(x - reduce(max, "... | v => ... | 0", x))
output y = e / sum("... | v => ... | 0", e)
"""
STATE = """dim n
input x : [n | 40]
param w : [40 -> 7]
param b : [7]
param p : [n | ]
const ramp : [7] = [1, 2, 3, 4, 5, 6, 7]
output y = (w * x + b) .* ramp
routine biased(rate : f32) -> s { b =+ rate; s =: w * x + b }
routine counted(k : i32) -> o { p =+ k; o =: p .* x }
"""
FIRST = """input x : [3 | 5, 4]
fn linear(out)(x) = {w : [..i.. -> out] = sqrt(2 / i) * normal()} * x + {b : [out] = 0}
let a = linear(2)
output y = a(x) .* {gain = 1 + 0.1 * uniform()}
output z = a.w + {table : [20 -> 2] = einsum("o; i => i -> o", range(2), 0.5 + range(20))} * {seven : [5, 4 -> 20] = 7}
"""
WHOLE = """input x : [10]
param drawn : [10 -> 6]
param unit : [10 -> 6] = let r = normal() in r / sqrt(sum(r ** 2))
param centred = drawn - sum(drawn) / 60
param square : [6 -> 6] = unit * centred.T
output y = square * (unit * x)
"""
STEPS = """dim n
dim steps
input x : f32 [n]
let (last, other) = scan(steps, (a, b) = (x, 2 * x), i) { (a + 0.5 * b, b - 0.25 * a + i) }
output sums = last + 2 * other
"""
UNTIL = """dim n
input x : f32 [n]
let (root, count) = scan(20, r = 1) until (abs(r .* r - 2) < 1e-6) { (r + 2 / r) / 2 }
output moved = x .* root
output times = id(count)
"""
PLACED = """dim n, s
param cache : [n, 8]
input k : [s, 8]
routine step(pos : i64) -> total, row {
    cache =: k via "s, d => s + pos, d"
    total =: k * pos
    row =: sum("t^_, d => d", cache) with (t = pos + s)
}
routine back(pos : i32) -> row { row =: sum("pos^i, d => d", cache) }
"""
TAKEN = """dim n
input a : [n]
input b : [n]
input c : [n]
input at : i32 [n]
output y = gather("[i]; b => b", a + b .* c, at)
"""
PACKED = """dim n
input x : [n | 6]
param variance : [6] = 1 + range(6)
param gain : [6] = 2
param moving : [6]
param table : [300 -> 6]
let scale = gain / sqrt(variance + 0.5)
let shift = sum(scale .* scale) + sum(table * table.T) / 300
output y = x .* scale + shift + moving
routine moved(rate : f32) -> z { moving =+ rate * scale; z =: moving .* shift }
"""
# name, program, runs: words of each; a state goes from each to the next
CASES = [
    ("softmax", SOFTMAX, [["x=random:3", "n=9"], ["x=random:4", "n=1"], ["x=zeros", "n=0"]]),
    ("state", STATE, [["x=random:1", "n=3", "--seed=5"], ["biased", "x=random:2", "n=3", "rate=0.5"],
                      ["counted", "x=random:2", "n=3", "k=4"], ["counted", "x=random:2", "n=3", "k=-2"],
                      ["x=random:2", "n=3"]]),
    ("first", FIRST, [["x=random:1", "--seed=7"]]),
    ("whole", WHOLE, [["x=random:1", "--seed=7"], ["x=random:1"]]),
    ("packed", PACKED, [["x=random:1", "n=3"], ["moved", "rate=0.5"], ["x=random:1", "n=5"], ["x=random:2", "n=5"]]),
    ("steps", STEPS, [["x=random:1", "n=5", "steps=4"], ["x=random:1", "n=5", "steps=0"]]),
    ("taken", TAKEN, [["a=random:1", "b=random:2", "c=random:3", "at=zeros", "n=5"]]),
    ("until", UNTIL, [["x=random:1", "n=5"]]),
    ("placed", PLACED, [["step", "k=random:1", "n=9", "s=2", "pos=0"], ["step", "k=random:2", "n=9", "s=3", "pos=6"],
                        ["step", "k=zeros", "n=9", "s=0", "pos=9"], ["back", "n=9", "pos=7"], ["back", "n=9", "pos=9"]]),
]


def at(name, *more):
    return os.path.join(FOLDER, name, *more)


def run(module, words, driver, state):
    """The results by name, and the words behind them."""
    out = ["--save-state=" + state + ".new"] + (["--state=" + state] if os.path.exists(state) else [])
    done = subprocess.run([TSR, "run", module, *words, *out], capture_output=True, text=True,
                          env={**os.environ, "TSR_LIBCUDA": driver})
    if done.returncode:
        sys.exit("%s %s: %s" % (module, words, done.stderr))
    os.replace(state + ".new", state)
    text = done.stdout.replace("[", " ").replace("]", " ").replace(",", " ")
    lines = text.splitlines()
    return {lines[i].split(" ")[0]: np.array(lines[i + 1].split(), float) for i in range(0, len(lines), 2)}


def parameters(state):
    return np.frombuffer(open(state, "rb").read()[128:], np.float32)


def close(a, b):
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= 1e-5 + 1e-5 * np.abs(b)))


def compare(name, program, runs):
    os.makedirs(at(name), exist_ok=True)
    source, states = at(name, name + ".tsr"), [at(name, kind + ".state") for kind in ("gpu", "cpu")]
    with open(source, "w", encoding="utf8") as out:
        out.write(program)
    module, driver = make(TSRC, source, at(name))
    subprocess.run([TSRC, source, "--no-prepack", "-o", at(name, "m.so")], check=True)
    for words in runs:
        got = run(module, words, driver, states[0])
        want = run(at(name, "m.so"), words, "", states[1])
        if got.keys() != want.keys() or not all(close(got[k], want[k]) for k in got):
            sys.exit("%s %s: %s, not %s" % (name, words, got, want))
        if not close(*map(parameters, states)):
            sys.exit("%s %s: the states differ" % (name, words))


def against_numpy():
    x = np.random.default_rng(1).standard_normal((11, 37)).astype(np.float32)
    np.save(at("x.npy"), x)
    subprocess.run([TSR, "run", at("softmax", "m.ptx"), "x=" + at("x.npy"), "-o", "y=" + at("y.npy")], check=True,
                   env={**os.environ, "TSR_LIBCUDA": at("softmax", "libcuda.so")})
    e = np.exp(x - x.max(1, keepdims=True))
    if not close(np.load(at("y.npy")), e / e.sum(1, keepdims=True)):
        sys.exit("softmax: other numbers than NumPy's")


COUNTED = ("graph", "set", "launch graph", "allocate")


def again(name, calls, words=COUNTED):
    """Call after call of one model: the first launches, the second makes a graph, those behind use it."""
    log = at(name, "log")
    os.environ.update(TSR_LIBCUDA=at(name, "libcuda.so"), LOG=log)
    gpu, cpu = (tsr.load(at(name, "m." + suffix)) for suffix in ("ptx", "so"))
    for routine, arguments in calls:
        got, want = (getattr(model, routine)(**arguments) for model in (gpu, cpu))
        pairs = [(got, want)] if isinstance(got, np.ndarray) else list(zip(got, want))
        pairs += [(gpu.params[p], cpu.params[p]) for p in gpu.params]
        if not all(close(a, b) for a, b in pairs):
            sys.exit("%s.%s: %s" % (name, routine, pairs))
    del os.environ["LOG"]
    lines = open(log, encoding="utf8").read().splitlines()
    return [sum(line.startswith(word + " ") for line in lines) for word in words]


def repeated():
    x = np.random.default_rng(2).standard_normal((5, 40)).astype(np.float32)
    calls = []
    for i in range(4):  # one graph for each routine; its scalars are set where they change
        calls += [("forward", {"x": x}), ("biased", {"x": x, "rate": 0.5}), ("counted", {"x": x, "k": i})]
    print("state: %d graphs, %d nodes set, %d launches of graphs, %d blocks" % tuple(again("state", calls)))
    line = x[0]
    calls = [("forward", {"x": line[:n], "steps": steps}) for steps, n in [(3, 5), (3, 5), (6, 5), (3, 5), (3, 7)]]
    print("steps: %d graphs, %d nodes set, %d launches of graphs, %d blocks" % tuple(again("steps", calls)))
    calls = [("step", {"k": x[:2, :8], "n": 9, "pos": pos}) for pos in (0, 2, 4, 7)]
    print("placed: %d graphs, %d nodes set, %d launches of graphs, %d blocks" % tuple(again("placed", calls)))
    calls = [("forward", {"x": line})] * 3
    print("until: %d graphs, %d nodes set, %d launches of graphs, %d blocks" % tuple(again("until", calls)))


def staged():
    """Small arrays of the host go to the device in one copy, large ones each by itself; what checks note is set to 0 by a node."""
    for n, calls in ((5, 4), (200000, 1)):
        rng = np.random.default_rng(3)
        arrays = {name: rng.standard_normal(n).astype(np.float32) for name in "abc"}
        arrays["at"] = rng.integers(0, n, n).astype(np.int32)
        open(at("taken", "log"), "w", encoding="utf8").close()
        counts = again("taken", [("forward", arrays)] * calls, ("to device", "to host", "reset", "launch graph"))
        print("%d calls: %d copies to the device, %d back, %d resets, %d launches of graphs" % (calls, *counts))


class OnDevice:
    """The driver's device has the host's memory."""

    def __init__(self, array):
        self.array = empty(array.shape, array.dtype)
        self.array[...] = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3, "strides": None,
                                         "data": (self.array.ctypes.data, False)}


def lent():
    """Arrays of the device: nothing is copied, and a node is set anew where it takes an array that lies elsewhere."""
    log = at("log")
    open(log, "w", encoding="utf8").close()
    os.environ.update(TSR_LIBCUDA=at("softmax", "libcuda.so"), LOG=log)
    gpu = tsr.load(at("softmax", "m.ptx"))
    x = [OnDevice(np.random.default_rng(i).standard_normal((4, 37)).astype(np.float32)) for i in range(2)]
    y = [OnDevice(np.zeros((4, 37), np.float32)) for _ in range(2)]
    for i, o in ((0, 0), (0, 0), (0, 0), (1, 0), (1, 1), (1, 1), (0, 0)):
        y[o].array[...] = 0
        gpu.forward.run({"x": x[i]}, {"y": y[o]})
        e = np.exp(x[i].array - x[i].array.max(1, keepdims=True))
        if not close(y[o].array, e / e.sum(1, keepdims=True)):
            sys.exit("lent: other numbers than NumPy's")
    gpu.wait()
    del os.environ["LOG"]
    lines = open(log, encoding="utf8").read().splitlines()
    names = ("graph", "set", "launch graph", "allocate", "to")
    print("lent: %d graphs, %d nodes set, %d launches of graphs, %d blocks, %d copies" %
          tuple(sum(line.startswith(name + " ") for line in lines) for name in names))


def repacked():
    """What is computed of parameters is computed anew where they are set, on the device or on the host, and at no other call."""
    log = at("packed", "log")
    os.environ.update(TSR_LIBCUDA=at("packed", "libcuda.so"), LOG=log)
    gpu, cpu = (tsr.load(at("packed", "m." + suffix)) for suffix in ("ptx", "so"))
    rng, runs = np.random.default_rng(5), []
    for step in range(8):
        if step in (2, 5, 6):
            name = ("gain", "table")[step % 2]
            value = rng.standard_normal(np.shape(cpu.params[name])).astype(np.float32)
            gpu.params[name], cpu.params[name] = value, value
        if step == 6:
            gpu.init(3), cpu.init(3)
        x = rng.standard_normal((4, 6)).astype(np.float32)
        if not close(gpu.moved(rate=0.5), cpu.moved(rate=0.5)) or not close(gpu.forward(x), cpu.forward(x)):
            sys.exit("packed: call %d differs" % step)
        lines = open(log, encoding="utf8").read()
        runs.append(lines.count("__k_compose"))
    del os.environ["LOG"]
    print("packed:", runs)


def without_graph():
    """A session that asks for none."""
    os.environ.update(TSR_LIBCUDA=at("steps", "libcuda.so"), LOG=at("log"))
    session = Session(Module(at("steps", "m.ptx")), "forward")
    x = np.ones(3, np.float32)
    session.set_dims({"steps": 2})
    session.call("tsr_set_input", b"x", ctypes.byref(entry_of(x, "f32")))
    session.call("tsr_prepare")
    for graph in (0, 0, 1, 0):
        library().tsr_set_graph(ctypes.c_void_p(session.handle), graph)
        session.call("tsr_execute")
    lines = open(at("log"), encoding="utf8").read().splitlines()
    print("%d launches of graphs" % sum(line.startswith("launch graph ") for line in lines))


for case in CASES:
    compare(*case)
against_numpy()
repeated()
staged()
lent()
repacked()
without_graph()
print("%d programs agree" % len(CASES))
