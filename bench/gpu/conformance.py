"""Programs on the device against the code for a CPU, which `make check` holds against the reference in f64:
conformance.py TSRC FOLDER PROGRAM...

Dims get small numbers, several sets of them until the program takes one; arrays are random. Every routine is called three
times, so that the second makes a graph and the third replays it, on arrays of the host and, where there are no parameters, on
some of the device. A line for each program; the exit status is 1 where one differs.
"""
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
import tsr  # noqa: E402

TSRC, FOLDER = sys.argv[1:3]
SIZES = ((6, 6), (4, 8), (8, 3), (2, 2), (12, 1), (5, 7))  # of a set: the dims in turn
OPTIONS = {"gpt2.tsr": ["layers=2", "heads=2", "width=8", "vocab=37", "longest=40"],
           "gpt2_decode.tsr": ["layers=2", "heads=2", "width=8", "vocab=37", "longest=40"],
           "bert.tsr": ["layers=2", "heads=2", "width=8", "vocab=37", "longest=40"],
           "resnet50.tsr": ["size=32", "width=4", "classes=10"], "mobilenet_v2.tsr": ["size=32", "classes=10"]}
random = np.random.default_rng(1)


def extent(size, dims):
    return int(eval(size.replace("/", "//"), {"floor": lambda x: x}, dims))


def array(tensor, dims):
    shape = [extent(size, dims) for size in tensor.shape]
    if tensor.dtype in ("i4", "u4"):
        return random.integers(0, 7, shape)
    kind = tsr._arrays.DTYPES[tensor.dtype]
    if kind.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if tensor.dtype in ("bf16", "f8e4m3", "f8e5m2"):
        return getattr(tsr, "f32_to_" + tensor.dtype)(random.uniform(-1, 1, shape).astype(np.float32))
    return (random.uniform(-1, 1, shape) if kind.kind == "f" else random.integers(0, 2, shape)).astype(kind)


def arguments(model, routine, sizes):
    dims = {name: sizes[i % len(sizes)] for i, name in enumerate(model.dims)}
    made = {t.name: array(t, dims) for t in routine.inputs}
    made.update({s.name: 2 if s.dtype[0] in "iu" else 0.5 for s in routine.scalars})
    return {**made, **{name: dims[name] for name in routine.dims}}


def listed(result):
    return [result] if isinstance(result, (np.ndarray, tsr.DeviceArray)) else list(result)


def numbers(value, dtype):
    value = value.numpy() if isinstance(value, tsr.DeviceArray) else value
    back = getattr(tsr, dtype + "_to_f32", None)
    return np.asarray(back(value) if back else value, np.float64)


def compare(routine, got, want):
    for tensor, a, b in zip(routine.outputs, listed(got), listed(want)):
        a, b = numbers(a, tensor.dtype), numbers(b, tensor.dtype)
        scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
        loose = {"f16": 2e-3, "bf16": 2e-2, "f8e4m3": 0.13, "f8e5m2": 0.3}.get(tensor.dtype, 1e-4)
        with np.errstate(invalid="ignore"):
            near = ~(np.abs(a - b) > loose * scale)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | near
        if a.shape != b.shape or not np.all(same & (np.isnan(a) == np.isnan(b))):
            raise AssertionError("%s.%s: %d of %d numbers differ" % (routine.name, tensor.name, np.sum(~same), a.size))


def call_device(routine, given, want, gpu):
    """The last call on arrays of the device; with parameters, which it may have changed, its results are not looked at."""
    kinds = {t.name: t.dtype for t in routine.inputs}
    if not kinds or any(t.dtype in ("i4", "u4") for t in (*routine.inputs, *routine.outputs)):
        return
    got = routine.run({n: gpu.to_device(v, kinds[n]) if n in kinds else v for n, v in given.items()})
    gpu.wait()
    if not gpu.params:
        compare(routine, got, want)


def call_both(gpu, cpu, name, sizes):
    """Of arrays that the CPU takes; its refusal is that of the device."""
    for call in range(3):
        given = arguments(cpu, cpu.routines[name], sizes)
        try:
            want = cpu.routines[name].run(given)
        except tsr.CheckError as refused:
            try:
                gpu.routines[name].run(given)
            except tsr.CheckError as error:
                if error.code == refused.code:
                    return False
            raise AssertionError("%s: the CPU refuses with code %d, the device does not" % (name, refused.code))
        compare(gpu.routines[name], gpu.routines[name].run(given), want)
    call_device(gpu.routines[name], given, want, gpu)
    return True


def check(program, number):
    stem = os.path.join(FOLDER, "program%d" % number)
    words = [w for o in OPTIONS.get(os.path.basename(program), ()) for w in ("-D", o)]
    for suffix, options in ((".ptx", ["--target=cuda"]), (".so", ["--no-prepack"])):
        done = subprocess.run([TSRC, "-I", os.path.join(ROOT, "lib"), *words, program, *options, "-o", stem + suffix],
                              capture_output=True, text=True)
        if done.returncode:
            return "is not compiled: " + done.stderr.strip().split("\n")[0]
    called = 0
    for sizes in SIZES:
        gpu, cpu = (tsr.load(stem + suffix, seed=3) for suffix in (".ptx", ".so"))
        for name in gpu.routines:
            try:
                called += call_both(gpu, cpu, name, sizes)
            except (tsr.ArgumentError, ZeroDivisionError):
                continue  # no such sizes
        if called:
            return None
    return "no sizes were found"


wrong = 0
for i, path in enumerate(sys.argv[3:]):
    try:
        why = check(path, i)
    except Exception as error:
        why, wrong = "WRONG: " + str(error).strip().split("\n")[0][:200], wrong + 1
    print("%-28s %s" % (os.path.basename(path), "agrees" if why is None else why), flush=True)
print("%d programs, %d wrong" % (len(sys.argv[3:]), wrong))
sys.exit(wrong > 0)
