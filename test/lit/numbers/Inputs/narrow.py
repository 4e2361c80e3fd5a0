"""Random expressions of bytes, whose integers are computed in narrow types, against NumPy at all pairs of bytes: from the
library's code and from its readable C."""
import ctypes
import os
import subprocess
import sys

import numpy as np

from tsrlib import SCRATCH, TSRC, Model

SEED, RESULTS = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(SEED)
BYTES = np.arange(256)
INPUTS = {"a": ("u8", "256, 1", BYTES.astype(np.uint8)[:, None]), "b": ("u8", "1, 256", BYTES.astype(np.uint8)[None]),
          "c": ("i8", "256, 1", BYTES.astype(np.uint8).view(np.int8)[:, None]), "d": ("i8", "1, 256", BYTES.astype(np.uint8).view(np.int8)[None]),
          "t": ("bool", "1, 256", (BYTES % 3 == 0)[None])}
KINDS = {"u8": np.uint8, "i8": np.int8, "bool": np.bool_, "i32": np.int32}


def pick(*of):
    return of[random.integers(len(of))]


def leaf():
    form = random.integers(8)
    if form == 0:
        number = int(pick(0, 1, 2, 3, 5, 40, 127, 128, 255, 256, 300))
        return str(number), np.float64(number), False
    if form == 1:
        return "0.5 .* a", 0.5 * INPUTS["a"][2], True
    name = pick(*INPUTS)
    return name, INPUTS[name][2].astype(np.float64), False


def comparison(a, b):
    (x, u, _), (y, v, _) = a, b
    text, holds = pick((">", u > v), ("<=", u <= v), ("==", u == v), ("!=", u != v), ("&&", (u != 0) & (v != 0)), ("||", (u != 0) | (v != 0)))
    return f"(({x}) {text} ({y}))", holds.astype(np.float64), True


def choice(test, a, b):
    return f"where({test[0]}, {a[0]}, {b[0]})", np.where(test[1] != 0, a[1], b[1]), a[2] or b[2] or np.ndim(a[1]) == np.ndim(b[1]) == 0


def value(depth):
    """Its text, its exact numbers, and whether the language has a float."""
    if depth == 0:
        return leaf()
    a, b = value(depth - 1), value(pick(0, depth - 1))
    (x, u, f), (y, v, g) = a, b
    number = int(pick(1, 2, 3, 7, 9, 16, 100, 255))
    return pick(
        lambda: (f"(({x}) + ({y}))", u + v, f or g), lambda: (f"(({x}) - ({y}))", u - v, f or g), lambda: (f"(({x}) .* ({y}))", u * v, f or g),
        lambda: (f"min({x}, {y})", np.minimum(u, v), f or g), lambda: (f"max({x}, {y})", np.maximum(u, v), f or g),
        lambda: (f"abs({x})", np.abs(u), f), lambda: (f"(-({x}))", -u, f), lambda: (f"relu({x})", np.maximum(u, 0), f),
        lambda: comparison(a, b), lambda: choice(comparison(a, b), a, leaf()), lambda: choice(comparison(leaf(), b), b, a),
        lambda: (f"(({x}) % {number})", np.mod(u, number), f), lambda: (f"floor(({x}) / {number})", np.floor(u / number), True))()


def cast(kind, text, numbers, is_float):
    limits = (0, 1) if kind == "bool" else (np.iinfo(KINDS[kind]).min, np.iinfo(KINDS[kind]).max)
    if kind == "bool":
        return f"bool({text})", numbers != 0
    if is_float:
        divisor = int(pick(1, 2, 9, 200))
        return f"{kind}(({text}) / {divisor})", np.clip(np.trunc(numbers / divisor), *limits).astype(KINDS[kind])
    return f"{kind}({text})", numbers.astype(np.int64).astype(KINDS[kind])


results = []
while len(results) < RESULTS:
    text, numbers, is_float = value(3)
    if np.shape(numbers) != (256, 256) or np.abs(numbers).max() >= 2**20:
        continue
    kind = pick("u8", "u8", "i8", "bool", "i32")
    results.append((kind, *cast(kind, text, numbers, is_float)))

# floats beside the ends of bytes, where they are cut off towards zero, clamped, and 0 for NaN
ENDS = np.array([np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, 2.0**31, 2.0**32 + 512, -2.0**31 - 512, 1e30, -1e30]
                + [end + d for end in (-128, -1, 0, 127, 255) for d in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)], np.float32)
INPUTS["e"] = ("f32", str(2 * ENDS.size), np.concatenate([ENDS, ENDS[::-1]]))
for kind in "u8", "i8":
    cut = np.trunc(np.nan_to_num(INPUTS["e"][2].astype(np.float64), nan=0))
    wanted = np.clip(cut, np.iinfo(KINDS[kind]).min, np.iinfo(KINDS[kind]).max).astype(KINDS[kind])
    results.append((kind, f"{kind}(e)", wanted))
    results.append((kind, f"{kind}(f64(e))", wanted))

source = "".join(f"input {name} : {kind} [{shape}]\n" for name, (kind, shape, _) in INPUTS.items())
source += "".join(f"output r{i} = {text}\n" for i, (_, text, _) in enumerate(results))
path = os.path.join(SCRATCH.name, "n")
with open(path + ".tsr", "w", encoding="utf8") as out:
    out.write(source)
subprocess.run([TSRC, path + ".tsr", "-o", path + ".c"], check=True)
subprocess.run(["gcc", "-O1", "-march=native", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", path + ".so", path + ".c", "-lm"],
               check=True)
model, readable = Model(source, ["-O2"]), Model(source, ["-O2"])
readable.library = ctypes.CDLL(path + ".so")
for name in "n_forward", "n_forward_workspace":
    setattr(readable.library, name.replace("n_", "m_", 1), getattr(readable.library, name))
wrong = 0
for of in model, readable:
    outputs = [(wanted.shape, KINDS[kind]) for kind, _, wanted in results]
    for got, (kind, text, wanted) in zip(of.forward([], [INPUTS[name][2] for name in INPUTS], outputs), results):
        if got.tobytes() != wanted.tobytes():
            wrong += 1
            at = tuple(np.argwhere(got != wanted)[0])
            print(text, "at", at, ":", got[at], "for", wanted[at])
print(2 * len(results), "results,", wrong, "wrong")
