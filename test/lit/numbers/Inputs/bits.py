"""A row has the bits that it has alone, at every length of its sums from 1 to 67: sums with products are rounded the same
way in vectors and in what vectors leave. Where the order of a sum does not follow the batch, a batch that is written
gives the bits of a symbolic one."""
import sys

import numpy as np

from tsrlib import Model

RNG = np.random.default_rng(23)
BATCH = 9
SOFTMAX = "let e = exp(s - reduce(max, \"... | v => ... | 0\", s))\nlet p = e / sum(\"... | v => ... | 0\", e)\n"

# program, shapes of the inputs with n for the batch and f for the length, shape of the result
PROGRAMS = [
    ("input x : [n, f]\ninput w : [f, 10]\noutput r = einsum(\"ik; kj => ij\", x, w)", [("n", "f"), ("f", 10)], ("n", 10)),
    ("input x : [n, f]\ninput w : [21, f]\noutput r = relu(einsum(\"ik; jk => ij\", x, w) - 1)", [("n", "f"), (21, "f")],
     ("n", 21)),
    ("input x : [n, f]\ninput w : [f]\noutput r = einsum(\"ik; k => i\", x, w)", [("n", "f"), ("f",)], ("n",)),
    ("input x : [n, f]\noutput r = sum(\"i, k => i\", x .* x .* 2 + x)", [("n", "f")], ("n",)),
    ("input x : [n, f]\noutput r = sum(\"i, k => i\", exp(x))", [("n", "f")], ("n",)),
    ("input x : [n, 7, f]\ninput w : [3, f, 5]\noutput r = einsum(\"b, o =+ k, c; k, c, d => b, o, d\", x, w)",
     [("n", 7, "f"), (3, "f", 5)], ("n", 7, 5)),
    ("input q : [n, 4, 8]\ninput k : [n, f, 8]\ninput v : [n, f, 8]\nlet s = einsum(\"n, i, d; n, j, d => n, i | j\", q, k)\n"
     + SOFTMAX + "output r = einsum(\"n, i | j; n, j, d => n, i, d\", p, v)", [("n", 4, 8), ("n", "f", 8), ("n", "f", 8)],
     ("n", 4, 8)),
    ("input x : [n | f]\nlet c = x - sum(\"... | v => ... | 0\", x) / 50\nlet s = sum(\"... | v => ... | 0\", c .* c)\n"
     "output r = c / sqrt(s / 50 + 0.25) .* 3 + c", [("n", "f")], ("n", "f")),
]
SUMS_OF_ROWS = (2, 3, 4, 7)


def shape(axes, n, f):
    return tuple({"n": n, "f": f}.get(a, a) for a in axes)


def differing_rows(models, axes, result, f):
    """`models` by the size of the batch that is written in them; None: any."""
    inputs = [RNG.standard_normal(shape(a, BATCH, f)).astype(np.float32) for a in axes]
    wide = shape(result, BATCH, f)
    whole, = models[None].forward([BATCH, f], inputs, [(wide, np.float32)])
    if BATCH in models:
        fixed, = models[BATCH].forward([f], inputs, [(wide, np.float32)])
        if fixed.tobytes() != whole.tobytes():
            yield "with the batch written"
    for row in range(BATCH):
        mine = [x[row:row + 1] if a[0] == "n" else x for x, a in zip(inputs, axes)]
        for n in {None, 1} & set(models) if row % 4 == 0 else ():  # 9 rows are a tile of 8 and one of 1
            alone, = models[n].forward([1, f] if n is None else [f], mine, [((1, *wide[1:]), np.float32)])
            if alone[0].tobytes() != whole[row].tobytes():
                yield "row %d alone%s" % (row, " with the batch written" if n else "")


def run():
    compared = wrong = 0
    for march in ("x86-64", "x86-64-v3", "native"):
        for number, (source, axes, result) in enumerate(PROGRAMS):
            models = {None: Model("dim n\ndim f\n" + source + "\n", ["-march=" + march])}
            for n in (1, BATCH) if march != "x86-64" and number not in SUMS_OF_ROWS else ():
                models[n] = Model("dim f\n" + source.replace("[n", "[%d" % n) + "\n", ["-march=" + march])
            for f in range(1, 68):
                found = list(differing_rows(models, axes, result, f))
                compared += 1
                wrong += bool(found)
                if found:
                    print("program %d on %s, length %d: %s" % (number, march, f, ", ".join(found[:3])))
    print("%d lengths, %d wrong" % (compared, wrong))
    return wrong


sys.exit(run() != 0)
