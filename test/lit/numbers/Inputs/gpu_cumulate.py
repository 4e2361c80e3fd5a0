"""gpu_cumulate.py SEED [few]: cumulate on a GPU against NumPy in f64, integers exactly: lines along memory and side by side, few and many, in
slices; every operation, in both directions; lengths 0, 1, around warps and rounds, known and not; what a schedule asks for.
PTX has the bits that the same text has on a host."""
import re
import subprocess
import sys

import numpy as np

import gpu_faults
from tsrlib import DTYPES, TSRC, Model, check, from_bf16, schedule, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))
FUNCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
KINDS = [("sum", 0, 0), ("sum", 1, 0), ("sum", 0, 1), ("max", 1, 1), ("prod", 0, 0), ("prod", 1, 1), ("min", 0, 0), ("max", 0, 1)]


def expected(x, at, kind):
    word, exclusive, reverse = kind
    x = np.moveaxis(x, at, -1)
    x = x[..., ::-1] if reverse else x
    least, most = (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max) if x.dtype.kind == "i" else (-np.inf, np.inf)
    start = np.full(x.shape[:-1] + (1,), {"sum": 0, "prod": 1, "max": least, "min": most}[word], x.dtype)
    all_ = FUNCTIONS[word].accumulate(np.concatenate([start, x], -1), -1, dtype=x.dtype)
    y = all_[..., :-1] if exclusive else all_[..., 1:]
    return np.moveaxis(y[..., ::-1] if reverse else y, -1, at)


def draw(dtype, shape, word):
    if dtype[0] in "iu":
        return rng.integers(-5, 6, shape).astype(DTYPES[dtype])
    x = rng.standard_normal(shape)
    return to_bf16(x) if dtype == "bf16" else (1 + 0.05 * x if word == "prod" else x).astype(DTYPES[dtype])


def wide(x, dtype):
    return from_bf16(x).astype(np.float64) if dtype == "bf16" else x if dtype[0] in "iu" else x.astype(np.float64)


def run(axes, at, dtype, kinds, tries, options=()):
    """axes: the sizes as the program has them, None for a dim."""
    letters = "abc"[:len(axes)]
    spec = ", ".join("[%s]" % c if i == at else c for i, c in enumerate(letters)) + " => " + ", ".join(letters)
    text = "".join("dim %s\n" % c for c, n in zip(letters, axes) if n is None)
    text += "".join("input x%d : %s [%s]\n" % (i, dtype, ", ".join(str(n) if n is not None else c for c, n in zip(letters, axes)))
                    for i in range(len(kinds)))
    for i, (word, *flags) in enumerate(kinds):
        words = "".join(", " + name for name, flag in zip(("exclusive", "reverse"), flags) if flag)
        text += 'output y%d = cumulate(%s, "%s", x%d%s)\n' % (i, word, spec, i, words)
    model = Model(text, options)
    for shape in tries:
        dims = [n for n, size in zip(shape, axes) if size is None]
        xs = [draw(dtype, shape, kind[0]) for kind in kinds]
        made = DTYPES["f32" if dtype == "bf16" else dtype]
        got = model.forward(dims, xs, [(shape, made)] * len(kinds))
        if model.ptx:
            ptx, model.ptx = model.ptx, None
            host = model.forward(dims, xs, [(shape, made)] * len(kinds))
            model.ptx = ptx
            assert all(np.asarray(a).tobytes() == b.tobytes() for a, b in zip(got, host)), (spec, dtype, shape, "other bits")
        for kind, x, y in zip(kinds, xs, got):
            check("%s %s %s %s" % (spec, dtype, kind, shape), np.asarray(y), expected(wide(x, dtype), at, kind),
                  1e-12 if dtype == "f64" else 1e-5)


def planted():
    """In the loops: other numbers, and a barrier that is left out is refused."""
    program = 'input x : [2, 5000]\noutput y = cumulate(sum, "r, [t] => r, t", x)\n'
    options = schedule("y: block t 256")
    x = draw("f32", (2, 5000), "sum")
    faults = [("a lane's sum is added to too many", "16 <= lane", "8 <= lane"), ("another lane's sum is added", r"\+ 30\)%32", "+ 31)%32"),
              ("warps behind count", r"if w < warp\d+\n *(before.*)\n", r"\1\n"), ("rounds begin anew", r"\n *carry\[.*", ""),
              ("places of a lane begin anew", r"\n *sum.* \+ .*", "")]
    gpu_faults.find_all(program, faults, [], [x], x.astype(np.float64).cumsum(-1), options, "bind", "sm_80", 1e-3)
    lines = gpu_faults.loops_of(program, options, "bind", "sm_80").split("\n")
    path = gpu_faults.path("barrier.loops")
    edited = ["\n".join(lines[:at] + lines[at + 1:]) for at, line in enumerate(lines) if line.strip() == "barrier"]
    side = gpu_faults.loops_of('input x : [300, 99000]\noutput y = cumulate(sum, "[t], r => t, r", x)\n', [], "bind", "sm_80")
    for text in edited + [re.sub(r"y\[round\*792000", "y[round*693000", side)]:  # the last: rounds that store one place
        with open(path, "w", encoding="utf8") as out:
            out.write(text)
        refused = subprocess.run([TSRC, "--target=cuda", "--from=bind", path, "-o", path + ".cu"], capture_output=True, text=True)
        assert text != side and refused.returncode == 1 and "without a barrier between" in refused.stderr, refused.stderr


FEW = len(sys.argv) > 2
run([None, None], 1, "f32", KINDS[:4] if FEW else KINDS, [(3, 70), (0, 5), (5, 0), (2, 1), (3, 2049), (1, 4130)])
run([None, None], 0, "f32", KINDS[:4], [(70, 3), (0, 5), (5, 0), (1, 33), (140, 40)])
run([None], 0, "f32", KINDS[:4], [(0,), (1,), (8192,), (20000,)])
if not FEW:
    run([3, None, None], 1, "i32", KINDS[:6], [(3, 31, 5), (3, 65, 1), (3, 0, 2), (3, 1100, 33)])
    run([None, None, None], 0, "f32", [KINDS[0], KINDS[7]], [(20, 3, 5), (0, 2, 2), (9, 1, 40)])
    run([None, None, 1], 0, "f32", KINDS[:1], [(70, 3, 1), (2, 0, 1)])
    run([9, 40], 1, "f64", [KINDS[0], KINDS[5]], [(9, 40)])
    run([2, 33, 70], 1, "bf16", [KINDS[1], KINDS[3]], [(2, 33, 70)])
    run([None, 3], 0, "i64", [KINDS[0], KINDS[3]], [(0, 3), (600, 3), (256, 3)])
    run([2, 16385], 1, "f32", [KINDS[2]], [(2, 16385)])
    run([4, 300], 1, "f32", [KINDS[0]], [(4, 300)], schedule("y0: block b 64 1024\n"))
    run([4, 300], 1, "f32", [KINDS[0]], [(4, 300)], schedule("y0: block off\n"))
    planted()
print("cumulated sums agree with NumPy")
