"""Random specifications against np.einsum: permutations, reductions, repeated letters, three rows, symbolic
sizes (0 and 1 among them), row variables, one to three operands."""
import sys

import numpy as np

from tsrlib import Model, check

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
LETTERS = "abcdefg"


def random_rows(letters):
    """Splits a list of letters into batch, input and output rows."""
    cut = sorted(rng.integers(0, len(letters) + 1, 2))
    return letters[:cut[0]], letters[cut[0]:cut[1]], letters[cut[1]:]


def spec_text(rows):
    batch, inputs, outputs = rows
    text = "".join(batch) + " | " if batch else ""
    text += "".join(inputs) + " -> " if inputs else ""
    return text + "".join(outputs)


def shape_text(rows, sizes):
    batch, inputs, outputs = ([sizes[l] for l in row] for row in rows)
    text = ", ".join(batch) + " | " if batch else ""
    text += ", ".join(inputs) + " -> " if inputs else ""
    return "[" + text + ", ".join(outputs) + "]"


def storage(rows):
    batch, inputs, outputs = rows
    return list(batch) + list(outputs) + list(inputs)


for trial in range(count):
    nletters = int(rng.integers(1, 6))
    letters = list(LETTERS[:nletters])
    values = {l: int(rng.choice([1, 2, 3, 4, 5, 7, 9, 16, 17])) for l in letters}
    symbolic = [l for l in letters if rng.random() < 0.3]
    for l in symbolic:
        if rng.random() < 0.15:
            values[l] = 0
    sizes = {l: "n" + l if l in symbolic else str(values[l]) for l in letters}
    noperands = int(rng.integers(1, 4))
    operands = []
    for _ in range(noperands):
        k = int(rng.integers(0, min(4, nletters) + 1))
        chosen = list(rng.permutation(letters))[:k]
        if chosen and rng.random() < 0.15:
            chosen.append(chosen[0])  # a diagonal
        operands.append(random_rows(chosen))
    used = sorted(set(l for rows in operands for l in storage(rows)))
    result = [l for l in rng.permutation(used) if rng.random() < 0.6] if used else []
    result = random_rows(list(result))
    dims = [l for l in symbolic if l in used]
    program = "".join("dim n%s\n" % l for l in dims)
    program += "".join("input x%d : %s\n" % (i, shape_text(rows, sizes)) for i, rows in enumerate(operands))
    spec = "; ".join(spec_text(rows) for rows in operands) + " => " + spec_text(result)
    names = ", ".join("x%d" % i for i in range(noperands))
    if noperands == 1:
        program += 'output y = sum("%s", x0)\n' % spec
    else:
        program += 'output y = einsum("%s", %s)\n' % (spec, names)
    arrays = [rng.standard_normal([values[l] for l in storage(rows)]).astype(np.float32) for rows in operands]
    formula = ",".join("".join(storage(rows)) for rows in operands) + "->" + "".join(storage(result))
    want = np.einsum(formula, *[a.astype(np.float64) for a in arrays])
    model = Model(program, ["-O%d" % rng.integers(0, 4)])
    got, = model.forward([values[l] for l in sorted(dims, key=dims.index)], arrays, [(want.shape, np.float32)])
    check("seed %d trial %d\n%s%s" % (seed, trial, program, values), got, want, 1e-4)
print("%d specifications agree with NumPy" % count)
