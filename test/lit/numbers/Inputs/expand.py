"""Elementwise operations over a short last axis, whose operands are spread along or beside it, against NumPy: chains,
functions, sums of them, dims, storage types. A member of a batch has the bits that it has alone."""
import sys

import numpy as np

from tsrlib import Model, check, draw_cuts, in_rows

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)


def pick(*choices):
    return choices[rng.integers(len(choices))]


def operand(size):
    """Extents, each that of the result or 1; one that ends in the last two axes is likely."""
    kept = [rng.random() < 0.25 for _ in size]
    kept[-2], kept[-1] = pick((True, False), (False, True), (True, True), (False, False))
    return [n if k else 1 for n, k in zip(size, kept)]


def declared(shape, size, symbolic, cuts):
    return in_rows(["n%d" % i if i in symbolic and n == size[i] and n != 1 else n for i, n in enumerate(shape)], cuts)


def run():
    for number in range(count):
        naxes = int(rng.integers(3, 5))
        size = [int(pick(2, 3, 9, 16, 21)) for _ in range(naxes)]
        size[-1] = int(pick(2, 3, 4, 5, 7, 8, 15, 16))
        symbolic = {i for i in range(naxes - 1) if rng.random() < 0.4}
        dtype = pick("f32", "f32", "f64", "f16")
        shapes = [size, operand(size), operand(size)]
        text = "".join("dim n%d\n" % i for i in sorted(symbolic))
        cuts = pick((naxes, naxes), draw_cuts(rng.integers, naxes))
        for name, shape in zip("xmr", shapes):
            text += "input %s : %s [%s]\n" % (name, dtype, declared(shape, size, symbolic, cuts))
        text += 'let z = x - m\noutput y = exp(%s)\n' % pick("z .* r", "z .* r + m .* z", "r - z")
        folded = rng.random() < 0.5
        if folded:
            letters = "abcd"[:naxes]
            text += 'output s = sum("%s => a, %s", z .* z)\n' % (in_rows(letters, cuts), letters[-1])
        model = Model(text, ["-march=" + pick("x86-64", "x86-64-v3", "native")])
        numpy_type = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[dtype]
        arrays = [rng.standard_normal(shape).astype(numpy_type) for shape in shapes]
        x, m, r = (a.astype(np.float64) for a in arrays)
        what = text[text.index("exp(") + 4:text.index("\n", text.index("exp(")) - 1].replace(".*", "*")
        want = [np.exp(eval(what, {"z": x - m, "r": r, "m": m}))]
        if folded:
            want.append(((x - m) ** 2).sum(tuple(range(1, naxes - 1))))
        outputs = [(w.shape, np.float64 if dtype == "f64" else np.float32) for w in want]
        results = model.forward([size[i] for i in sorted(symbolic)], arrays, outputs)
        for result, w in zip(results, want):
            check(text, result, w, 1e-10 if dtype == "f64" else 1e-4)
        if 0 in symbolic and cuts[0] > 0 and shapes[1][0] == 1 and shapes[2][0] == 1:
            one = model.forward([1 if i == 0 else size[i] for i in sorted(symbolic)], [arrays[0][-1:], *arrays[1:]],
                                [((1, *o[0][1:]), o[1]) for o in outputs])
            if any(a.tobytes() != b[-1:].tobytes() for a, b in zip(one, results)):
                sys.exit("a member alone has other bits\n" + text)
    print("%d operations agree with NumPy" % count)


run()
