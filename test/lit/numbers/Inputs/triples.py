"""Random einsums of three operands, large enough to be multiplied in pairs, against all of their steps in NumPy: sums
of products, the other semirings, floats and integers, windows, strides, padding, diagonals, rows, sizes 0 and 1, dims.
Members of a batch have the same bits alone and among others, the number of members being a dim or a number."""
import re
import subprocess
import sys
import tempfile

import numpy as np

from tsrlib import TSRC, Model, check

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
RINGS = [("mul", "sum", "f32")] * 5 + [("mul", "sum", "i32"), ("mul", "sum", "f64"), ("add", "max", "f32"),
                                       ("add", "min", "f32"), ("min", "max", "i32"), ("max", "min", "f32"),
                                       ("add", "sum", "f32"), ("mul", "max", "f32"), ("add", "max", "i32")]
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
OPS = {"mul": np.multiply, "add": np.add, "min": np.minimum, "max": np.maximum}
FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def pick(*choices):
    return choices[rng.integers(len(choices))]


class Axis:
    """A letter, or a window stride*o (mark) dilation*k."""

    def __init__(self, letter, kernel=None, padded=False):
        self.letter, self.kernel, self.padded = letter, kernel, padded
        self.stride, self.dilation = (pick(1, 2), pick(1, 2)) if kernel else (1, 1)

    def text(self):
        if not self.kernel:
            return self.letter
        mark = "=+" if self.padded else "<+"
        return "%d*%s %s %d*%s" % (self.stride, self.letter, mark, self.dilation, self.kernel)

    def extent(self, size):
        """(what stands behind stride*o, the axis' size) under the letters' sizes."""
        more = 0 if self.padded or not self.kernel else 1 - self.stride + (size[self.kernel] - 1) * self.dilation
        return more, self.stride * size[self.letter] + more

    def declared(self, size, symbolic):
        more, whole = self.extent(size)
        return "%d*n%s + %d" % (self.stride, self.letter, more) if self.letter in symbolic else str(whole)

    def index(self, grid, size):
        if not self.kernel:
            return grid[self.letter]
        left = ((size[self.kernel] - 1) * self.dilation + 1) // 2 if self.padded else 0
        return self.stride * grid[self.letter] + self.dilation * grid[self.kernel] - left


def rows_of(axes, batch):
    """Batch letters stand in the batch row; the others are cut into output and input rows."""
    front = [a for a in axes if a.letter in batch]
    rest = [a for a in axes if a.letter not in batch]
    cut = pick(0, 0, len(rest) // 2)
    return front, rest[:cut], rest[cut:]


def row_text(rows, write):
    batch, inputs, outputs = (", ".join(write(a) for a in row) for row in rows)
    return (batch + " | " if batch else "") + (inputs + " -> " if inputs else "") + outputs


def storage(rows):
    return rows[0] + rows[2] + rows[1]


def brute(case, size, arrays):
    op, fold, _ = case["ring"]
    letters = sorted(size)
    grid = dict(zip(letters, np.ogrid[tuple(slice(size[l]) for l in letters)]))
    whole, valid = None, True
    for rows, array in zip(case["operands"], arrays):
        at = [a.index(grid, size) for a in storage(rows)]
        for i, n in zip(at, array.shape):
            valid = valid & (i >= 0) & (i < n)
        value = array[tuple(np.clip(i, 0, max(n - 1, 0)) for i, n in zip(at, array.shape))] if array.size else 0
        whole = value if whole is None else OPS[op](whole, value)
    neutral = {"sum": 0, "max": -np.inf, "min": np.inf}[fold]
    if case["ring"][2] == "i32":
        neutral = int(np.clip(neutral, -2 ** 31, 2 ** 31 - 1))
    whole = np.broadcast_to(np.where(valid, whole, neutral), [size[l] for l in letters])
    result = [a.letter for a in storage(case["result"])]
    reduced = tuple(i for i, l in enumerate(letters) if l not in result)
    total = FOLDS[fold].reduce(whole, axis=reduced, initial=neutral) if reduced else whole
    return total.transpose([[l for l in letters if l in result].index(l) for l in result])


def draw():
    ring = pick(*RINGS)
    names = list("abcdefg"[:rng.integers(2, 6)])
    most = {2: 90, 3: 40, 4: 18, 5: 9}[len(names)]
    size = {l: int(pick(1, 3, most // 2, most - 1, most, most)) for l in names}
    batch = [names[0]] if rng.random() < 0.4 else []
    windows = rng.random() < 0.3
    operands = []
    for _ in range(3):
        axes, kernels = [], names[1:]
        for l in rng.permutation(names)[:rng.integers(1, min(4, len(names)) + 1)]:
            others = [k for k in kernels if k != l and size[k] <= 9]
            if windows and others and l not in batch and rng.random() < 0.5:
                axes.append(Axis(l, pick(*others), rng.random() < 0.4))
            else:
                axes.append(Axis(l))
        if rng.random() < 0.1 and axes[0].letter not in batch:
            axes.append(Axis(axes[0].letter))
        operands.append(rows_of(axes, batch))
    used = {l for rows in operands for a in storage(rows) for l in (a.letter, a.kernel) if l}
    size = {l: n for l, n in size.items() if l in used}
    result = [Axis(l) for l in rng.permutation(sorted(used)) if l in batch or rng.random() < 0.5]
    kernels = {a.kernel for rows in operands for a in storage(rows) if a.kernel}
    symbolic = {l for l in sorted(used - kernels) if rng.random() < 0.3}
    return dict(ring=ring, operands=operands, result=rows_of(result, batch), size=size, batch=batch, kernels=kernels,
                symbolic=symbolic)


def program_of(case, symbolic):
    op, fold, dtype = case["ring"]
    text = "".join("dim n%s\n" % l for l in sorted(symbolic))
    for i, rows in enumerate(case["operands"]):
        text += "input x%d : %s [%s]\n" % (
            i, dtype, row_text(rows, lambda a: a.declared(case["size"], symbolic)))
    spec = "; ".join(row_text(rows, Axis.text) for rows in case["operands"])
    held = "".join(" with (%s = %d)" % (k, case["size"][k]) for k in sorted(case["kernels"]))
    return text + 'output y = einsum("%s => %s", x0, x1, x2, op=%s, reduce=%s)%s\n' % (
        spec, row_text(case["result"], Axis.text), op, fold, held)


def arrays_of(case, size):
    """Small integers, so that products and their sums are exact in any order."""
    shapes = [[a.extent(size)[1] for a in storage(rows)] for rows in case["operands"]]
    return [rng.integers(-3, 4, shape).astype(DTYPES[case["ring"][2]]) for shape in shapes]


def run(case, symbolic, size, arrays, options):
    shape = [size[a.letter] for a in storage(case["result"])]
    model = Model(program_of(dict(case, size=size), symbolic), options)
    return model.forward([size[l] for l in sorted(symbolic)], arrays, [(shape, DTYPES[case["ring"][2]])])[0]


def check_batch(case, got, size, arrays, options):
    """The first member alone, as a dim or a number, and the whole batch as the other of the two; one as a number only
    where a batch axis has others behind it."""
    letter = case["batch"][0]
    last = any([a.letter for a in storage(rows)][-1:] == [letter] for rows in case["operands"] + [case["result"]])
    at = [a.letter for a in storage(case["result"])].index(letter)
    one = [a[tuple(slice(1) if x.letter == letter else slice(None) for x in storage(rows))]
           for rows, a in zip(case["operands"], arrays)]
    others = case["symbolic"] - {letter}
    for symbolic in (others, others | {letter}):
        known = last and letter not in symbolic
        alone = run(case, symbolic | {letter} if known else symbolic, dict(size, **{letter: 1}), one, options)
        again = run(case, symbolic, size, arrays, options)
        if not (np.array_equal(again, got) and np.array_equal(alone, got.take([0], at))):
            print("a member has other bits in another batch\n" + program_of(case, symbolic))
            sys.exit(1)


def in_pairs(program):
    with tempfile.NamedTemporaryFile("w", suffix=".tsr") as file:
        file.write(program)
        file.flush()
        dump = subprocess.run([TSRC, "--dump=loops", "--stop=loops", file.name], capture_output=True, text=True)
    return bool(re.search(r"^buffer pair_", dump.stdout, re.M))


pairs = batches = 0
for trial in range(count):
    case = draw()
    size = dict(case["size"])
    strided = {a.letter for rows in case["operands"] for a in storage(rows) if a.kernel}
    for l in sorted(case["symbolic"] - strided):
        size[l] = pick(size[l], size[l], size[l], 0)
    arrays = arrays_of(case, size)
    options = ["-O0", "-march=" + pick("native", "x86-64-v3", "x86-64")]
    program = program_of(case, case["symbolic"])
    got = run(case, case["symbolic"], size, arrays, options)
    check("seed %d trial %d\n%s%s" % (seed, trial, program, size), got, brute(case, size, arrays), 1e-5)
    pairs += in_pairs(program)
    if case["batch"] and case["ring"][:2] == ("mul", "sum") and size.get(case["batch"][0], 0) > 1:
        batches += 1
        floats = [a if a.dtype.kind == "i" else (a * np.pi).astype(a.dtype) for a in arrays]
        check_batch(case, run(case, case["symbolic"], size, floats, options), size, floats, options)
print("%d einsums agree with NumPy" % count)
print("some in pairs, some in batches" if pairs and batches else "none in pairs or in batches")
