"""Readable C has the bits of the shared object, whichever compiler makes code of it: same_bits.py TSRC SEED COUNT

Programs of forms within forms (nested.py), and sums of products, of which several roundings are possible, in f32 and f64, for
processors with and without fused multiply-add. A program's C is compiled by gcc without optimisation and with, and by clang
where there is one, for the processor that the program was compiled for; all are called on the same random inputs. Bits of
a NaN do not count."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import nested
import tsr

PROCESSORS = ["native", "native", "x86-64-v3", "x86-64-v4", "x86-64"]
OPTIONS = [[], [], [], [], ["--fp=fast"], ["--fp=strict"], ["--policy=none"], ["-O3"], ["--no-prepack"]]
COMPILERS = [["gcc", "-O0"], ["gcc", "-O2"], ["gcc", "-O3"], ["gcc", "-O3", "-ffp-contract=fast"], ["clang", "-O0"], ["clang", "-O2"]]
UNARY = ["-%s", "abs(%s)", "exp(%s)", "tanh(%s)", "sigmoid(%s)", "relu(%s)", "sin(%s)", "gelu(%s)", "erf(%s)", "log(abs(%s) + 0.5)",
         "sqrt(abs(%s))", "exp2(%s)", "softplus(%s)", "log1p(abs(%s))", "expm1(%s)", "atan(%s)", "asinh(%s)", "erfc(%s)"]


def expression(draw, names, depth):
    """Sums whose terms are products, or not."""
    if depth == 0 or draw.random() < 0.1:
        return draw.choice(names + ["0.3", "2"])
    parts = [expression(draw, names, depth - 1) for _ in range(2)]
    kind = draw.random()
    if kind < 0.12:
        return draw.choice(UNARY) % ("(%s)" % parts[0])
    if kind < 0.5:
        return "(%s .* %s)" % tuple(parts)
    return "(%s %s %s)" % (parts[0], draw.choice("+-"), parts[1])


def sums(draw):
    dtype, sizes = draw.choice(["f32", "f32", "f64"]), draw.sample(["n", "m", "3", "24", "70"], 2)
    shape, rows = "[%s, %s]" % tuple(sizes), draw.choice(["a, b => a", "a, b => b", "a, b => a, b"])
    lines = ["dim n", "dim m"] + ["input x%d : %s %s" % (i, draw.choice([dtype, dtype, dtype, "bf16"]), shape) for i in range(4)]
    names = ["%s(x%d)" % (dtype, i) for i in range(4)]
    made = expression(draw, names, draw.choice([2, 3, 4]))
    lines.append("output y = %s + 0 * %s" % (made, names[0]))
    lines.append('output z = sum("%s", %s)' % (rows, expression(draw, names, 2) + " .* " + names[1]))
    lines.append('output p = einsum("a, c; b, c => a, b", %s, %s)' % (draw.choice([names[2], "y"]), names[3]))
    return "\n".join(lines) + "\n"


def array_of(rng, tensor, dims):
    shape = [eval(size.replace("/", "//"), {"floor": int}, dims) for size in tensor.shape]
    if tensor.dtype in ("f32", "f64", "f16"):
        return (rng.standard_normal(shape) * 2).astype({"f32": "f4", "f64": "f8", "f16": "f2"}[tensor.dtype])
    if tensor.dtype == "bf16":
        return tsr.f32_to_bf16(rng.standard_normal(shape).astype("f4"))
    if tensor.dtype in ("f8e4m3", "f8e5m2"):
        return getattr(tsr, "f32_to_" + tensor.dtype)(rng.standard_normal(shape).astype("f4"))
    if tensor.dtype in ("i4", "u4"):
        return tsr.pack(rng.integers(0, 7, shape))
    low = 0 if tensor.dtype[0] in "ub" else -3
    return rng.integers(low, 2 if tensor.dtype == "bool" else 4, shape).astype(
        {"i8": "i1", "u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8", "bool": "?"}[tensor.dtype])


def results(path, seed, dims):
    """Of each routine without scalars, or the check that failed."""
    model, found = tsr.load(path, dims=dims, seed=seed, threads=2), []
    for name, routine in model.routines.items():
        rng = np.random.default_rng(seed)
        given = {t.name: array_of(rng, t, dims) for t in routine.inputs}
        given.update({t.name: 1 for t in routine.scalars})
        try:
            made = routine.run({**given, **{dim: dims[dim] for dim in routine.dims}})
        except tsr.CheckError as error:
            found.append((name, [str(error)]))
            continue
        found.append((name, list(made) if isinstance(made, tuple) else [made]))
    return found


def bits(array):
    if not isinstance(array, np.ndarray):
        return repr(array)
    return np.where(np.isnan(array), 1234, array).tobytes() if array.dtype.kind == "f" else array.tobytes()


def compiled(command, path):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        print("%s: status %d\n%s" % (" ".join(command), run.returncode, run.stderr[-1500:]))
    return path if run.returncode == 0 else None


def wrong_of(tsrc, seed, folder):
    """How many of the program's modules differ; None: it is no program."""
    draw = random.Random(seed)
    text = sums(draw) if seed % 2 else nested.program(seed)
    source, so, c = (os.path.join(folder, "m%d.%s" % (seed, end)) for end in ("tsr", "so", "c"))
    with open(source, "w", encoding="utf8") as out:
        out.write(text)
    march, options = draw.choice(PROCESSORS), draw.choice(OPTIONS)
    made = [tsrc, "-Wno-all", "--prefix=m", "-march=" + march, *options, source, "-o"]
    if subprocess.run(made + [so], capture_output=True).returncode:
        return None
    subprocess.run(made + [c], check=True, capture_output=True)
    dims = {name: draw.choice([1, 3, 5, 7, 16, 20, 33, 67] if seed % 2 else [1, 2, 3, 5, 8, 13]) for name in "nmg"}
    dims = {name: dims[name] for name in re.findall(r"^dim (\w+)", text, re.M)}
    expected, wrong = results(so, seed, dims), 0
    for number, compiler in enumerate(draw.sample([c for c in COMPILERS if shutil.which(c[0])], 3)):
        path = os.path.join(folder, "m%d_%d.so" % (seed, number))
        command = [*compiler, "-march=" + march, "-w", "-shared", "-fPIC", "-o", path, c, "-lm"]
        found = results(path, seed, dims) if compiled(command, path) else [("", [])]
        same = [(name, list(map(bits, arrays))) for name, arrays in found] == [
            (name, list(map(bits, arrays))) for name, arrays in expected]
        if not same:
            wrong += 1
            print("WRONG seed %d, %s %s %s %s" % (seed, " ".join(compiler), march, options, dims))
            for (name, mine), (_, other) in zip(expected, found):
                for at, (a, b) in enumerate(zip(mine, other)):
                    if bits(a) != bits(b):
                        print("  %s, result %d" % (name, at))
    return wrong


def main():
    tsrc, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        found = [wrong_of(tsrc, number, folder) for number in range(seed, seed + count)]
    made = [n for n in found if n is not None]
    print("%d programs, %d modules differ" % (len(made), sum(made)))
    sys.exit(sum(made) > 0 or not made)


if __name__ == "__main__":
    main()
