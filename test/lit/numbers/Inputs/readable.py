"""Readable C, which gcc compiles, gives the bits of the compiled module where lanes are no neighbours: squares
transposed of all dtypes, elements some apart, those that are widened, small matrices whose sums of lanes are added up."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from tsrlib import DTYPES, SCRATCH, TSRC, Model

RNG = np.random.default_rng(41)
MARCHES = ("x86-64", "x86-64-v3", "native")
MOVED = ("f32", "f64", "i64", "u32", "bf16", "f16", "i8", "bool")
WIDENED = ("bf16", "i8", "u8", "i32", "f16")
# of f32: inputs with their shapes, expression of A, V and W, shape of the result
COMPUTED = [
    ({"a": (9, 16, 16), "v": (9, 16)}, "einsum(\"nij; nj => ni\", A, V)", (9, 16)),
    ({"a": (5, 8, 24), "v": (5, 24)}, "einsum(\"nij; nj => ni\", A, V)", (5, 8)),
    ({"a": (50, 68), "v": (68, 52)}, "einsum(\"ij; jk => ik\", A, V)", (50, 52)),
    ({"a": (4, 20, 36), "v": (4, 28, 36)}, "einsum(\"b, i, j; b, k, j => b, i, k\", A, V)", (4, 20, 28)),
    ({"a": (1000, 3)}, "reduce(max, \"i, j => i\", A)", (1000,)),
    ({"a": (3, 40, 44)}, "reduce(min, \"c, 2*h <+ i, 2*w <+ j => c, h, w\", A) with (i = 2, j = 2)", (3, 20, 22)),
    ({"a": (1, 8, 12, 18), "v": (8, 3, 4, 4), "w": (1, 3, 24, 36)},
     "relu(einsum(\"n, i, y, x; i, o, k, l => n, o, 2*y =+ k, 2*x =+ l\", A, V) + W)", (1, 3, 24, 36)),
    ({"a": (40, 70)}, "einsum(\"i <+ a, j <+ b; a, b => i, j\", A, [[0, 1, 0], [1, -4, 1], [0, 1, 0]])", (38, 68)),
    ({"a": (21, 33)}, "A .* 2 + permute(\"a, b => b, a\", permute(\"a, b => b, a\", abs(A)))", (21, 33)),
]


def bits_of(dtype, shape):
    if dtype == "bf16":
        return (RNG.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return RNG.integers(-100 if dtype[0] == "i" else 0, 100, shape).astype(DTYPES[dtype])


def program():
    """(text, inputs, outputs)"""
    lines, inputs, outputs = [], [], []
    for number, dtype in enumerate(MOVED):
        lines += ["input m%d : %s [20, 52]" % (number, dtype), "output t%d : %s = permute(\"a, b => b, a\", m%d)" % (
            number, dtype, number)]
        bits = RNG.integers(0, 2 if dtype == "bool" else 100, (20, 52))
        inputs.append(bits.astype(DTYPES[dtype]))
        outputs.append(((52, 20), DTYPES[dtype]))
    for number, (arrays, expression, shape) in enumerate(COMPUTED):
        for name, axes in arrays.items():
            lines.append("input %s%d : [%s]" % (name, number, ", ".join(map(str, axes))))
            inputs.append(RNG.standard_normal(axes).astype(np.float32))
        expression = re.sub(r"\b([AVW])\b", lambda name: "%s%d" % (name[1].lower(), number), expression)
        lines.append("output r%d = %s" % (number, expression))
        outputs.append((shape, np.float32))
    for number, dtype in enumerate(WIDENED):
        lines += ["input d%d : %s [8, 100]" % (number, dtype), "input e%d : %s [100, 84]" % (number, dtype),
                  "output w%d = einsum(\"ij; jk => ik\", f32(d%d), f32(e%d))" % (number, number, number)]
        inputs += [bits_of(dtype, (8, 100)), bits_of(dtype, (100, 84))]
        outputs.append(((8, 84), np.float32))
    return "\n".join(lines) + "\n", inputs, outputs


def compiled_c(text, march):
    """The shared object of the program's C."""
    directory = tempfile.mkdtemp(dir=SCRATCH.name)
    source = os.path.join(directory, "m.tsr")
    with open(source, "w", encoding="utf8") as out:
        out.write(text)
    subprocess.run([TSRC, source, "-march=" + march, "-o", os.path.join(directory, "m.c")], check=True)
    library = os.path.join(directory, "m.so")
    subprocess.run(["gcc", "-O2", "-march=" + march, "-w", "-shared", "-fPIC", "-o", library, os.path.join(directory, "m.c"),
                    "-lm"], check=True)
    return library


def run():
    wrong = 0
    text, inputs, outputs = program()
    for march in MARCHES:
        model = Model(text, ["-march=" + march])
        expected = model.forward([], inputs, outputs)
        model.library = ctypes.CDLL(compiled_c(text, march))
        for number, (mine, other) in enumerate(zip(expected, model.forward([], inputs, outputs))):
            if mine.tobytes() != other.tobytes():
                wrong += 1
                print("-march=%s: output %d of C differs" % (march, number))
            if number < len(MOVED) and not np.array_equal(mine, inputs[number].T):
                wrong += 1
                print("-march=%s: output %d is no transpose" % (march, number))
    print("%d processors, %d outputs, %d wrong" % (len(MARCHES), len(outputs), wrong))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    run()
