"""Random einsums of four to sixteen operands against NumPy: many.py SEED COUNT. Letters in any rows and any order, some
twice in an operand, sizes of 0 and 1, symbolic and fixed; sums of products, and greatest sums. The programs of a run are
routines of one."""
import sys

import numpy as np

import tsrlib
from tsrlib import Model, draw_cuts, in_rows

LETTERS = "abcdefgh"
random = np.random.default_rng(int(sys.argv[1]))


def case(number):
    """(inputs, step, what NumPy makes of the inputs)"""
    n = int(random.integers(4, 17))
    letters = LETTERS[: random.integers(2, len(LETTERS) + 1)]
    greatest = random.random() < 0.2
    operands = ["".join(random.choice(list(letters), random.integers(0, 4))) for _ in range(n)]
    used = sorted(set("".join(operands)))
    kept = [l for l in random.permutation(used) if random.random() < 0.4] if used else []
    spelled = [in_rows(list(o), draw_cuts(random.integers, len(o))) for o in operands]
    shapes = [in_rows([l.upper() if l in SYMBOLIC else str(SIZES[l]) for l in o], draw_cuts_of(s)) for o, s in
              zip(operands, spelled)]
    result = in_rows(kept, draw_cuts(random.integers, len(kept)))
    names = ["x%d_%d" % (number, i) for i in range(n)]
    inputs = list(zip(names, shapes, [tuple(SIZES[l] for l in o) for o in operands]))
    call = 'einsum("%s => %s", %s%s)' % ("; ".join(spelled), result, ", ".join(names),
                                       ", op = add, reduce = max" if greatest else "")
    return inputs, call, lambda arrays: expected(operands, kept, arrays, greatest), tuple(SIZES[l] for l in kept)


def draw_cuts_of(spelled):
    """Where rows begin in what in_rows has spelled."""
    batch, rest = spelled.split(" | ")
    into, out = rest.split(" -> ")
    count = lambda row: len([a for a in row.split(", ") if a.strip()])
    return [count(batch), count(batch) + count(out)]


def expected(operands, kept, arrays, greatest):
    used = sorted(set("".join(operands)))
    space = tuple(SIZES[l] for l in used)
    total = np.zeros(space) if greatest else np.ones(space)
    for letters, array in zip(operands, arrays):
        own = sorted(set(letters))
        part = np.einsum("%s->%s" % (letters, "".join(own)), array.astype(np.float64))
        part = part.reshape([SIZES[l] if l in own else 1 for l in used])
        total = total + part if greatest else total * part
    gone = tuple(i for i, l in enumerate(used) if l not in kept)
    total = total.max(gone, initial=-np.inf) if greatest else total.sum(gone)
    left = [l for l in used if l in kept]
    return total.transpose([left.index(l) for l in kept])


for _ in range(int(sys.argv[2])):
    SIZES = {l: int(random.choice([0, 1, 2, 3, 4, 5], p=[0.03, 0.2, 0.3, 0.27, 0.1, 0.1])) for l in LETTERS}
    SYMBOLIC = {l for l in LETTERS if random.random() < 0.4 or SIZES[l] == 0}
    cases = [case(i) for i in range(4)]
    text = "".join("dim %s\n" % l.upper() for l in LETTERS if l in SYMBOLIC)
    text += "".join("input %s : [%s]\n" % (name, shape) for inputs, *_ in cases for name, shape, _ in inputs)
    text += "".join("routine r%d() -> y%d { y%d =: %s }\n" % (i, i, i, c[1]) for i, c in enumerate(cases))
    model = Model(text, ["-O0", "-Wno-all"])
    for i, (inputs, _, want, extents) in enumerate(cases):
        arrays = [(random.integers(-4, 5, shape) / 4).astype(np.float32) for *_, shape in inputs]
        shapes = " ".join(shape for _, shape, _ in inputs)
        dims = [SIZES[l] for l in LETTERS if l in SYMBOLIC and l.upper() in shapes]
        got = model.forward(dims, arrays, [(extents, np.float32)], routine="r%d" % i)[0]
        wanted = want(arrays)
        scale = max(1.0, np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
        if not np.allclose(got, wanted, rtol=1e-4, atol=1e-5 * scale):
            sys.exit("%s\n%s\ngives %s\nfor   %s" % (text, SIZES, got, wanted))
print(sys.argv[2], "programs agree with NumPy")
