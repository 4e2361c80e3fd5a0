"""Products of bytes and of bf16 where the length of the sum, the columns or all extents are dims, for sizes around groups,
lines, vectors and none: against NumPy, and for bf16 with the bits that a member of a batch has alone."""
import sys

import numpy as np

from tsrlib import Model, from_bf16, to_bf16

RNG = np.random.default_rng(5)
COLUMNS = [0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 47, 64, 71, 129]
LENGTHS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 63, 64, 66, 131]
FORMS = ["mk,kn->mn", "mk,nk->mn", "km,kn->mn", "mkl,lkn->mn"]
SIZES = {"m": 51, "n": 41, "k": 67, "l": 4}
TYPES = {"u8": np.uint8, "i8": np.int8}


def operand(dtype, shape):
    """What is stored, and its value."""
    if dtype == "bf16":
        bits = to_bf16(RNG.standard_normal(shape).astype(np.float32))
        return bits, from_bf16(bits).astype(np.float64)
    info = np.iinfo(TYPES[dtype])
    x = np.where(RNG.random(shape) < 0.2, RNG.choice([info.min, info.max], shape),
                 RNG.integers(info.min, info.max + 1, shape)).astype(TYPES[dtype])
    return x, x.astype(np.int64)


def agree(what, got, want, scale, real):
    if not (np.all(np.abs(got - want) <= 2e-6 * (scale + 1)) if real else np.array_equal(got, want)):
        print("%s: wrong\ngot %s\nwant %s" % (what, got, want))
        sys.exit(1)


def sizes_of(dims, form):
    """Each value of a dim with some of the others."""
    values = {"k": LENGTHS, "n": COLUMNS, "m": [51, 1, 7]}
    count = max(len(values[dim]) for dim in dims)
    return [dict(SIZES, **{dim: values[dim][(i + len(form)) % len(values[dim])] for dim in dims}) for i in range(count)]


def products(form, types, dims, march):
    source, result = form.split("->")
    real = types[0] == "bf16"
    text = "".join("dim %s\n" % dim for dim in dims)
    for name, letters, dtype in zip("xw", source.split(","), types):
        text += "input %s : %s [%s]\n" % (name, dtype, ", ".join(c if c in dims else str(SIZES[c]) for c in letters))
    spec = "%s => %s" % ("; ".join(", ".join(c) for c in source.split(",")), ", ".join(result))
    model = Model(text + 'output y = einsum("%s", x, w)\n' % spec, ["-march=" + march])
    for sizes in sizes_of(dims, form):
        arrays = [operand(t, [sizes[c] for c in letters]) for t, letters in zip(types, source.split(","))]
        got, = model.forward([sizes[dim] for dim in dims], [a[0] for a in arrays],
                             [((sizes["m"], sizes["n"]), np.float32 if real else np.int32)])
        agree("%s %s %s %s" % (form, types, sizes, march), got, np.einsum(form, *[a[1] for a in arrays]),
              np.einsum(form, *[np.abs(a[1]) for a in arrays]), real)


BATCH = """dim s
dim k
input x : bf16 [s | 24, k]
input w : bf16 [k, 40]
output y = einsum("... | m, k; k, n => ... | m, n", x, w)
"""


def batch(march):
    model = Model(BATCH, ["-march=" + march])
    for k in 1, 2, 7, 64, 65:
        (x, _), (w, _) = operand("bf16", (3, 24, k)), operand("bf16", (k, 40))
        run = lambda part: model.forward([len(part), k], [part, w], [((len(part), 24, 40), np.float32)])[0]
        together = run(x)
        for i in range(3):
            if not np.array_equal(run(x[i:i + 1])[0], together[i]):
                print("member %d of a batch has other bits alone, k = %d, %s" % (i, k, march))
                sys.exit(1)


FLAGS = open("/proc/cpuinfo").read().split()
MARCHES = ["native", "x86-64-v3"] + ["znver4"] * ("avx512_bf16" in FLAGS)  # whatever processor of them this is
count = 0
for march in MARCHES:
    for i, form in enumerate(FORMS):
        for j, types in enumerate([("u8", "i8"), ("i8", "i8"), ("u8", "u8"), ("bf16", "bf16")]):
            count += 1
            if (i + j + len(march)) % 2:  # half of them on one processor, the others on the next
                continue
            products(form, types, ("k", "n", "mnk")[(i + count) % 3], march)
    batch(march)
print("%s products agree" % ("some" if count < 32 else "all"))
