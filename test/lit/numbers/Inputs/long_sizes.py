"""N tensors of which each has a dim of its own: the axis that they are concatenated to, the state that holds them and
the workspace of what is made of them have sizes of N terms. Prints the program, or compares it with NumPy."""
import sys

import numpy as np

from tsrlib import Model, check


def joined(names, prefix):
    """Statements that concatenate all, 16 at a time, and the name of the whole."""
    while len(names) > 1:
        groups = [names[i:i + 16] for i in range(0, len(names), 16)]
        for k, group in enumerate(groups):
            letters = ["a%d" % i for i in range(len(group))]
            print_line('let %s%d_%d = concat("%s => %s", %s)' % (
                prefix, len(names), k, "; ".join(letters), "^".join(letters), ", ".join(group)))
        names = ["%s%d_%d" % (prefix, len(names), k) for k in range(len(groups))]
    return names[0]


def program(n):
    print_line("dim " + ", ".join("d%d" % i for i in range(n)))
    print_line("input x : [%s]" % " + ".join("d%d" % i for i in range(n)))
    for i in range(n):
        print_line("param p%d : [d%d]" % (i, i))
        print_line("let e%d = exp(p%d)" % (i, i))
        print_line('let s%d = sum("i => ", e%d / sum("i => ", e%d) .* p%d)' % (i, i, i, i))
    print_line("output y = x + " + joined(["p%d" % i for i in range(n)], "c"))
    print_line("output s = " + " + ".join("s%d" % i for i in range(n)))


def compare(n, text):
    random = np.random.default_rng(n)
    model = Model(text)
    for most in (1, 3, 40):
        dims = [int(d) for d in random.integers(1, most + 1, n)]
        values = [random.standard_normal(d).astype(np.float32) for d in dims]
        state, at = model.init(dims), 0
        for value in values:
            state[at:at + value.nbytes] = value.view(np.uint8)
            at += (value.nbytes + 63) // 64 * 64
        assert at == state.nbytes
        x = random.standard_normal(sum(dims)).astype(np.float32)
        y, s = model.forward(dims, [x], [((sum(dims),), np.float32), ((1,), np.float32)], state)
        check("y", y, x + np.concatenate(values))
        weights = [np.exp(v) / np.exp(v).sum() for v in values]
        check("s", s, [sum(float((w * v).sum()) for w, v in zip(weights, values))], 1e-4)
    print("%d terms: the same numbers" % n)


LINES = []
print_line = LINES.append
program(int(sys.argv[2]))
if sys.argv[1] == "print":
    print("\n".join(LINES))
else:
    compare(int(sys.argv[2]), "\n".join(LINES) + "\n")
