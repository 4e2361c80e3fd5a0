"""Sums down columns and joined rows of a GPU under schedules that are drawn: threads and slices of a column, and which kernels are joined.
What is drawn is made as asked, or refused; its dump makes the same loops with --policy=none, and its numbers are those of float64. SEED COUNT"""
import os
import subprocess
import sys

import numpy as np

from tsrlib import SCRATCH, TSRC, Model, schedule

rng = np.random.default_rng(int(sys.argv[1]))
FUSED = {"sum": "exp", "sum_2": "squares", "y": "sum", "z": "sum_2"}


def draw_program():
    """A sum of a matrix's columns, one with a factor, a softmax without its greatest, and a row over the sum of its squares."""
    n, v = int(rng.integers(65, 300)), int(rng.integers(1, 80))
    rows = ["n", str(n)][rng.integers(2)]
    text = ("dim n\n" if rows == "n" else "") + """input x : [%s | %d]
output s = sum("n | v => | v", x)
output t = 1 + sum("n | v => | v", x .* exp(x))
let e = exp(x)
output y = e / sum("... | v => ... | 0", e)
let squares = x .* x
output z = x / (1 + sum("... | v => ... | 0", squares))
""" % (rows, v)
    return text, n, v, rows == "n"


def draw_words():
    lines = []
    for name in "st":
        words = ["", "block off", "block", "block n1 %d" % 2 ** rng.integers(6), "block n1 %d %d" % (2 ** rng.integers(6), rng.integers(1, 65))]
        lines.append("%s: %s" % (name, words[rng.integers(len(words))]))
    for name in "yz":
        lines.append("%s: %s" % (name, ["", "fuse_rows off", "fuse_rows"][rng.integers(3)]))
    return "\n".join(lines) + "\n"


def loops(path, *options):
    return subprocess.run([TSRC, "--target=cuda", "--dump=bind", "--stop=bind", *options, path], capture_output=True, text=True, check=True).stdout


def check(number):
    text, n, v, symbolic = draw_program()
    path, words = os.path.join(SCRATCH.name, "w%d.tsr" % number), draw_words()
    with open(path, "w", encoding="utf8") as out:
        out.write(text)
    asked = schedule(words)
    run = subprocess.run([TSRC, "--target=cuda", "--dump=schedule", *asked, path], capture_output=True, text=True)
    if run.returncode:
        assert run.returncode == 1 and "E0607" in run.stderr, (text, words, run.stderr)
        return 0
    assert loops(path, *asked) == loops(path, "--policy=none", *schedule(run.stdout)), (text, words, run.stdout)
    model, x = Model(text, asked), rng.standard_normal((n, v)).astype(np.float32)
    got = model.forward([n] if symbolic else [], [x], [((v,), np.float32), ((v,), np.float32), ((n, v), np.float32), ((n, v), np.float32)])
    wide = x.astype(np.float64)
    want = [wide.sum(0), 1 + (wide * np.exp(wide)).sum(0), np.exp(wide) / np.exp(wide).sum(1, keepdims=True),
            wide / (1 + (wide ** 2).sum(1, keepdims=True))]
    for result, right in zip(got, want):
        assert np.abs(np.asarray(result) - right).max() <= 1e-5 * np.abs(right).max() + 1e-6, (text, words)
    return 1


made = sum(check(number) for number in range(int(sys.argv[2])))
assert made > int(sys.argv[2]) // 3
print("schedules are made as asked, or refused")
