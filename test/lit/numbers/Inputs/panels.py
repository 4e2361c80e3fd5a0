"""Products whose right side is packed by blocks of columns, against NumPy: rows around the ends of blocks, known and
symbolic, with columns and rows left behind; a row alone and in a batch, and all schedules, give the same bits."""
import os
import re
import sys
import tempfile

import numpy as np

from tsrlib import Model, check

rng = np.random.default_rng(int(sys.argv[1]))
# Steps and columns; what is asked: the rows of a block and the columns of a block of each tile.
CASES = [(40, 533, "tile i 4 2 1, j 96 53; pack b; block i 24, j 192"), (33, 100, "tile i 4 2 1, j 16; pack b; prefetch a; block j 32"),
         (50, 64, "tile i 8 4 2 1, j 32; pack b; block i 16, j 32"), (1100, 533, "pack b")]
FORMS = {"ik; kj => ij": lambda b: b, "ik; jk => ij": lambda b: b.T}
ROWS = (0, 1, 4, 23, 24, 25, 48, 61)
BEHIND = 49  # whole blocks and one row


def program(rows, steps, columns, spec):
    right = (steps, columns) if "kj" in spec else (columns, steps)
    return ("%sinput a : [%s, %d]\ninput b : [%d, %d]\ninput bias : [%d]\n"
            "output y = relu(einsum(\"%s\", a, b) + bias)\n" % (
                "dim n\n" if rows == "n" else "", rows, steps, *right, columns, spec))


def model(text, schedule, options=()):
    with tempfile.NamedTemporaryFile("w", suffix=".sched", delete=False) as out:
        out.write("y: %s\n" % schedule)
    found = Model(text, ["--schedule=" + out.name, *options])
    os.unlink(out.name)
    return found


ran = 0
for steps, columns, schedule in CASES:
    for spec, turned in FORMS.items():
        b = rng.standard_normal((steps, columns)).astype(np.float32)
        bias = rng.standard_normal(columns).astype(np.float32)
        a = rng.standard_normal((max(ROWS), steps)).astype(np.float32)
        want = np.maximum(a.astype(np.float64) @ b + bias, 0)
        inputs = [np.ascontiguousarray(turned(b)), bias]
        symbolic = model(program("n", steps, columns, spec), schedule)
        for n in ROWS:
            got, = symbolic.forward([n], [a[:n], *inputs], [((n, columns), np.float32)])
            check("%s %s n=%d" % (spec, schedule, n), got, want[:n])
            whole = got if n == max(ROWS) else None
            ran += 1
        got, = symbolic.forward([1], [a[23:24], *inputs], [((1, columns), np.float32)])
        if not np.array_equal(got[0], whole[23]):
            sys.exit("a row alone differs: %s %s" % (spec, schedule))
        if "block i" in schedule:
            asked = re.sub(r"tile i (\d+)[ \d]*", r"tile i \1", schedule)
            got, = model(program(BEHIND, steps, columns, spec), asked).forward(
                [], [a[:BEHIND], *inputs], [((BEHIND, columns), np.float32)])
            check("%s %s known" % (spec, schedule), got, want[:BEHIND])
            if not np.array_equal(got, whole[:BEHIND]):
                sys.exit("a number of rows differs: %s %s" % (spec, schedule))
        known = Model(program(max(ROWS), steps, columns, spec), ["--grain=0"])
        got, = known.forward([], [a, *inputs], [(whole.shape, np.float32)])
        check("%s known" % spec, got, want)
        if "kj" in spec and not np.array_equal(got, whole):
            sys.exit("the bits depend on the schedule: %s %s" % (spec, schedule))
print("%d products in panels agree with NumPy" % ran)
