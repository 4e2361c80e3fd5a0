"""Random rearrangements with joined axes against NumPy: joined_axes.py SEED COUNT. Axes in all rows, sizes of 0 and 1,
symbolic and fixed, joined on both sides of the arrow, reordered, some added up; for one operand or two. With several
threads the same bits."""
import sys

import numpy as np

import tsrlib
from tsrlib import Model, draw_cuts, in_rows

LETTERS = "abcdef"


def grouped(random, axes):
    """Axes in order, some neighbours as one: lists of letters."""
    groups = []
    for letter in axes:
        if groups and len(groups[-1]) < 3 and random.random() < 0.5:
            groups[-1].append(letter)
        else:
            groups.append([letter])
    return groups


def spelled(random, group):
    if len(group) == 1:
        return group[0]
    return "&".join(group) if random.random() < 0.3 else "(%s)" % " ".join(group)


def tensor(random, axes, sizes, symbolic):
    """(specification, shape, extents) of a tensor with these axes in random rows, some joined."""
    groups = grouped(random, axes)
    cuts = draw_cuts(random.integers, len(groups))
    written = ["*".join((l.upper() if l in symbolic else str(sizes[l])) for l in g) for g in groups]
    extents = tuple(int(np.prod([sizes[l] for l in g])) for g in groups)
    return in_rows([spelled(random, g) for g in groups], cuts), in_rows(written, cuts), extents


def case(seed):
    random = np.random.default_rng(seed)
    letters = list(LETTERS[: random.integers(2, 6)])
    sizes = {l: int(random.choice([0, 1, 2, 3, 4, 5, 7], p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.1, 0.1])) for l in letters}
    symbolic = {l for l in letters if random.random() < 0.5 or sizes[l] == 0}
    operands = []
    for _ in range(random.integers(1, 3)):
        own = [l for l in random.permutation(letters) if random.random() < 0.8] or letters[:1]
        operands.append((own, *tensor(random, own, sizes, symbolic)))
    used = sorted({l for own, *_ in operands for l in own})
    kept = [l for l in random.permutation(used) if random.random() < 0.8]
    result, _, extents = tensor(random, kept, sizes, symbolic)
    lines = ["dim %s" % l.upper() for l in used if l in symbolic]
    lines += ["input x%d : [%s]" % (i, shape) for i, (_, _, shape, _) in enumerate(operands)]
    said = ", ".join("%s = %s" % (l, l.upper() if l in symbolic else sizes[l]) for l in used)
    form = "einsum" if len(operands) > 1 else "sum"
    operand = lambda i: ("relu(x%d)" if random.random() < 0.3 else "x%d") % i
    call = '%s("%s => %s", %s) with (%s)' % (form, "; ".join(o[1] for o in operands), result,
                                           ", ".join(operand(i) for i in range(len(operands))), said)
    lines.append("output y = " + ("exp(%s)" % call if random.random() < 0.3 else call))
    values = [random.integers(0, 5, extents_of).astype(np.float32) / 8 for *_, extents_of in operands]
    taken = [v.reshape([sizes[l] for l in own]) for v, (own, *_) in zip(values, operands)]
    want = np.einsum("%s->%s" % (",".join("".join(own) for own, *_ in operands), "".join(kept)), *taken)
    want = np.exp(want) if "exp(" in lines[-1] else want
    return "\n".join(lines) + "\n", [sizes[l] for l in used if l in symbolic], values, want.reshape(extents)


def run(text, dims, values, shape, threads):
    tsrlib.THREADS = threads
    return Model(text, ["-O0"]).forward(dims, values, [(shape, np.float32)])[0]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    wrong = 0
    for k in range(seed, seed + count):
        text, dims, values, want = case(k)
        got = run(text, dims, values, want.shape, 0)
        same = k % 5 or np.array_equal(got, run(text, dims, values, want.shape, 3), equal_nan=True)
        if not same or not np.allclose(got, want, rtol=1e-4, atol=1e-5):
            wrong += 1
            print("seed %d, dims %s\n%sgot %s\nwant %s" % (k, dims, text, got, want))
    print("%d programs, %d wrong" % (count, wrong))


if __name__ == "__main__":
    main()
