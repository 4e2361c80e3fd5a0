"""The words of other libraries (frontend/foreign.def): each has one row, what is said to write compiles, and of functions
of NumPy it has NumPy's numbers: foreign.py TSRC TSR foreign.def FOLDER"""
import ast
import os
import re
import subprocess
import sys

import numpy as np

DECLARED = """import nn
dim n
let least = 0.5, greatest = 1, alpha = 2, temperature = 2
input x : [n, 4], y : [n, 4], a : [n, 4], b : [n, 4], c : [n, 4], v : [n], square : [4, 4], w : [4, 5], w4 : [4]
input k : i32 [n], ids : i32 [n], labels : i32 [n |], bags : i32 [n, 3 |], edges : [3], table : [10, 4], seed : i32 [], tokens : [n, 5 | 8]
input z : [n | 4], q : [n | 2, 3, 8], logits : [n | 10], picture : [n | 8, 8, 4], steps : [n | 6, 4], video : [n | 4, 4, 4, 4]
let mean = sum("i, j => j", x) / n
"""
VARIANTS = [{}, {"x": "z"}]  # what works on layers has its batch apart
N = 3


def read(path):
    """The rows: names, what takes their place, note, code."""
    text = open(path, encoding="utf8").read()
    texts = dict(re.findall(r"^#define (\w+) (\".*\")$", text, re.M))
    rows = []
    for row in re.findall(r"^FOREIGN\((.*)\)$", text, re.M):
        row = re.sub(r'\b[A-Z]+\b(?=(?:[^"\\]|\\.|"(?:[^"\\]|\\.)*")*$)', lambda m: texts.get(m[0], "None"), row)
        rows.append(ast.literal_eval("(%s)" % re.sub(r'" ; ?"', "", row)))
    return rows


tsrc, tsr, table, folder = sys.argv[1:]
rows = read(table)
words = [word.lower().replace("_", "") for row in rows for word in row[0].split()]
assert len(set(words)) == len(words), sorted(word for word in words if words.count(word) > 1)


def compile(codes, name, *options):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf8") as file:
        file.write(DECLARED + "".join("output %s = %s\n" % pair for pair in codes))
    return subprocess.run([tsrc, *options, path], capture_output=True, text=True)


def variant(code, other, number):
    """With parameters of its own."""
    return re.sub(r"\{(?=\w)", "{own%d_" % number, re.sub(r"\bx\b", other.get("x", "x"), code))


codes = [(row[0], row[3]) for row in rows if row[3]]
left = codes
for i, other in enumerate(VARIANTS):
    if not left:
        break
    lines = [("r%d" % j, variant(code, other, j)) for j, (_, code) in enumerate(left)]
    made = compile(lines, "codes%d.tsr" % i, "-fsyntax-only", "-ferror-limit=0")
    told = made.stderr
    first = DECLARED.count("\n") + 1
    failed = {int(line) - first for line in re.findall(r"codes\d\.tsr:(\d+):\d+: error", told)}
    left = [pair for j, pair in enumerate(left) if j in failed]
    assert left or made.returncode == 0, told
assert not left, (left, told)

rng = np.random.default_rng(1)
F = {name: rng.uniform(0.2, 2, shape).astype(np.float32) for name, shape in [
    ("x", (N, 4)), ("y", (N, 4)), ("a", (N, 4)), ("b", (N, 4)), ("v", (N,)), ("square", (4, 4)), ("w", (4, 5)), ("w4", (4,)),
    ("edges", (3,))]}
F["x"][0, :3] = [0, 1, 0.5]
F["k"], F["ids"] = np.array([1, 9, 14], np.int32), np.array([1, 3, 0], np.int32)
F["table"] = rng.uniform(-1, 1, (10, 4)).astype(np.float32)
x, y, a, b, v, square, w, w4, edges, k, ids, rows10 = F.values()
# what the code of a name computes, of the arrays above
NUMPY = {
    "pow": a ** b, "mod": a % b, "fmod": np.fmod(a, b), "floor_divide": a // b, "log10": np.log10(x, out=np.full_like(x, -np.inf), where=x > 0), "cbrt": np.cbrt(x), "sinc": np.sinc(x),
    "deg2rad": np.deg2rad(x), "rad2deg": np.rad2deg(x), "heaviside": np.heaviside(x, y), "logaddexp": np.logaddexp(a, b),
    "logical_xor": np.logical_xor(a, b), "isclose": np.isclose(a, b), "allclose": np.allclose(a, b), "clip": np.clip(x, 0.5, 1),
    "bitwise_and": k & 7, "ptp": np.ptp(x, 1), "cumsum": np.cumsum(x, 1), "cummax": np.maximum.accumulate(x, 1), "diff": np.diff(v),
    "trapezoid": np.trapz(v), "convolve": np.convolve(v, [1, 2, 1], "valid"), "polyval": np.polyval([3, 2, 1], v),
    "median": np.sort(x, 1)[:, 2], "argpartition": np.argsort(x, 1, kind="stable"), "searchsorted": np.searchsorted(np.sort(edges), v),
    "isin": np.isin(v, edges), "bincount": np.bincount(ids, minlength=10), "matrix_power": np.linalg.matrix_power(square, 4),
    "rot90": np.rot90(x), "unsqueeze": v[:, None], "repeat_interleave": np.repeat(v, 3), "pad": np.pad(v, 1), "flip": np.flip(v),
    "diag": np.diag(square), "diag_embed": np.diag(w4), "trace": np.trace(square), "eye": np.eye(N), "tril": np.tril(x),
    "linspace": np.linspace(0, 1, N), "vander": np.vander(v, 3, increasing=True), "kron": np.kron(w, square), "outer": np.outer(v, w4),
    "mv": x @ w4, "addmm": b + a @ square, "cdist": np.sqrt(((x[:, None] - y) ** 2).sum(2)), "dist": np.linalg.norm(a - b),
    "take": rows10[ids], "take_along_dim": np.take_along_axis(x, ids[:, None], 1)[:, 0], "count_nonzero": np.count_nonzero(x),
    "nanmean": np.nanmean(x), "norm": np.linalg.norm(x, axis=1), "var_mean": x.var(), "torch.std": x.var(0, ddof=1),
}
by_name = {word: row for row in rows for word in row[0].split()}
held = [(name, want) for name, want in NUMPY.items()]
made = compile([("r%d" % i, by_name[name][3]) for i, (name, _) in enumerate(held)], "held.tsr", "-O0", "-o", folder + "/held.so")
assert made.returncode == 0, made.stderr
for name, value in F.items():
    np.save("%s/%s.npy" % (folder, name), value)
arguments = ["%s=%s/%s.npy" % (name, folder, name) for name in F if re.search(r"\b%s\b" % name, " ".join(by_name[h][3] for h, _ in held))]
arguments += [o for i in range(len(held)) for o in ("-o", "r%d=%s/r%d.npy" % (i, folder, i))]
run = subprocess.run([tsr, "run", folder + "/held.so", *arguments], capture_output=True, text=True)
assert run.returncode == 0, run.stderr
wrong = []
for i, (name, want) in enumerate(held):
    got = np.load("%s/r%d.npy" % (folder, i))
    if got.shape != np.shape(want) or not np.allclose(got, want, 1e-5, 1e-6):
        wrong.append((name, got, want))
assert not wrong, wrong
print(f"{len(words)} words, {len(codes)} codes, {len(held)} as NumPy's")
