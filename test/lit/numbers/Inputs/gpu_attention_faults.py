"""What is planted in the loops of attention, and races with nothing, makes other numbers: each of a list of edits must."""
import ctypes
import os
import re
import subprocess

import numpy as np

from tsrlib import SCRATCH, TSRC, Model

PROGRAM = """dim rows
dim keys
input q : [rows | 16]
input k : [keys | 16]
input v : [keys | 16]
let scores = where(range(keys) < to_batch(range(rows)) + 4, einsum("s | d; t | d => s | t", q, k), -inf)
let e = exp(scores - reduce(max, "s | t => s | 0", scores))
output y = einsum("s | t; t | d => s | d", e / sum("s | t => s | 0", e), v)
"""
FAULTS = [
    ("keys behind the last one count", r"(local seen : f32 = )-inf", r"\g<1>0"),
    ("a sum is not made smaller", r"(sums\[thread\d+, lane\d+, \S+ \+ \S+, \S+ \+ \S+\]) \* factor", r"\1 * 1"),
    ("a total is not made smaller", r"\* factor\) \+ sum", r"* 1) + sum"),
    ("the maximum is forgotten", r"(\n\s+top\[part\d+, row\d*, 0\]) = most\d*", r"\1 = -inf"),
    ("one round less", r"for round in 0\.\.min\(max\(rows1 \+ 2, 0\)", r"for round in 0..min(max(rows1 + 1, 0)"),
    ("a key less is seen", r"i32\((round\*\d+ [^)]*)\) < ", r"i32(\1 + 1) < "),
    ("half of the weights", r"(y_parts\[\S+ \+ \S+ \+ \S+\]) \+ y_parts\[\S+ \+ \S+ \+ \S+ \+ \d+\]", r"\1"),
    ("keys of the round before", r"(k\[min\(round\*\d+ \+ part\d+\*\d+ \+ thread\d+) \+ 64", r"\1"),
]


def tsrc(*args):
    run = subprocess.run([TSRC, "--target=cuda", *args], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def path(name):
    return os.path.join(SCRATCH.name, name)


def library(loops, number):
    with open(path("f.loops"), "w", encoding="utf8") as out:
        out.write(loops)
    tsrc("--from=attention", "--prefix=m", path("f.loops"), "-o", path("f.cu"))
    made = path("f%d.so" % number)
    subprocess.run(["cc", "-std=c99", "-w", "-fPIC", "-shared", "-o", made, "-x", "c", path("f.cu"), "-lm"], check=True)
    return ctypes.CDLL(made)


with open(path("a.tsr"), "w", encoding="utf8") as file:
    file.write(PROGRAM)
text = tsrc("--dump=attention", "--stop=attention", path("a.tsr"))
model = Model(PROGRAM)
rng = np.random.default_rng(1)
s, t = 70, 72
arrays = [rng.standard_normal(shape).astype(np.float32) * scale for shape, scale in (((s, 16), 2), ((t, 16), 2), ((t, 16), 1))]
arrays[1][64:] *= 3
scores = np.where(np.arange(t) < np.arange(s)[:, None] + 4, arrays[0] @ arrays[1].T, -np.inf).astype(np.float64)
weights = np.exp(scores - scores.max(1, keepdims=True))
want = weights / weights.sum(1, keepdims=True) @ arrays[2]


def is_right(loops, number):
    model.library = library(loops, number)
    got, = model.forward([s, t], arrays, [((s, 16), np.float32)])
    return bool(np.abs(got - want).max() < 1e-4)


assert is_right(text, 0)
for i, (name, old, new) in enumerate(FAULTS):
    edited = re.sub(old, new, text)
    assert edited != text, name
    assert not is_right(edited, i + 1), name
print("%d of %d faults are found" % (len(FAULTS), len(FAULTS)))
