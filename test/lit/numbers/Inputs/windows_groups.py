"""Convolutions of bytes and of bf16, which take several channels a lane, against the same ones of i32 and f32, which do
not: padded and valid, strides, dilations, pictures of any size; a picture has the bits that it has alone."""
import random
import sys

import numpy as np

from tsrlib import Model, from_bf16, to_bf16

random.seed(9)
RNG = np.random.default_rng(9)
WIDE = {"u8": "i32", "i8": "i32", "bf16": "f32"}
PAIRS = [("bf16", "bf16"), ("u8", "i8"), ("i8", "i8"), ("i8", "u8")]
TEXT = """dim n
%(dims)sinput x : %(x)s [n | %(h)s, %(w)s, %(i)d]
%(source)s k : %(k)s [%(kh)d, %(kw)d, %(i)d -> %(o)d]
output y = einsum("... | %(s)d*oh %(op)s %(d)d*kh, %(s)d*ow %(op)s %(d)d*kw, i; kh, kw, i -> o => ... | oh, ow, o", x, k)
"""


def operand(dtype, shape):
    """What is stored, and the same for the wide program."""
    if dtype == "bf16":
        bits = to_bf16(RNG.standard_normal(shape).astype(np.float32))
        return bits, from_bf16(bits)
    info = np.iinfo(dtype.replace("u8", "uint8").replace("i8", "int8"))
    x = RNG.integers(info.min, info.max + 1, shape).astype(info.dtype)
    return x, x.astype(np.int32)


def case(number, march):
    types = PAIRS[number % len(PAIRS)]
    symbolic = random.random() < 0.4
    size = random.choice([(9, 11), (14, 14), (17, 30), (6, 56)])
    case = dict(kh=random.choice([1, 3, 3, 5]), kw=random.choice([1, 3, 3, 5]), i=random.choice([2, 3, 4, 6, 16, 33, 64]),
                o=random.choice([16, 32, 41, 64]), s=random.choice([1, 1, 2]), d=random.choice([1, 1, 2]),
                op=random.choice(["=+", "=+", "<+"]), dims="dim h\ndim w\n" if symbolic else "",
                h="h" if symbolic else size[0], w="w" if symbolic else size[1], source="input")
    case["kh"] = case["kh"] if size[0] > 4 * case["d"] or case["op"] == "=+" else 1
    reach = [(1 + (case[a] - 1) * case["d"]) for a in ("kh", "kw")]
    if any((n if case["op"] == "=+" else n - r) % case["s"] for n, r in zip(size, reach)):
        case["s"] = 1
    texts = [TEXT % dict(case, x=x, k=k) for x, k in (types, [WIDE[t] for t in types])]
    x, k = operand(types[0], (3, *size, case["i"])), operand(types[1], (case["o"], case["kh"], case["kw"], case["i"]))
    out = [(-(-n // case["s"]) if case["op"] == "=+" else (n - r) // case["s"] + 1) for n, r in zip(size, reach)]
    if min(out) < 1:
        return
    real = types[0] == "bf16"

    def run(text, x, k):
        dims = [len(x), *size] if symbolic else [len(x)]
        return Model(text, ["-march=" + march]), dims, x, k

    def outputs(model, dims, x, k):
        return model.forward(dims, [x, k], [((len(x), *out, case["o"]), np.float32 if real else np.int32)])[0]

    narrow, wide = run(texts[0], x[0], k[0]), run(texts[1], x[1], k[1])
    got, want = outputs(*narrow), outputs(*wide)
    scale = np.abs(want).max() + 1
    if not (np.all(np.abs(got - want) <= 1e-5 * scale) if real else np.array_equal(got, want)):
        print("wrong: %s %s\n%s" % (march, size, texts[0]))
        sys.exit(1)
    model, dims, _, _ = narrow
    for p in range(3):
        alone = outputs(model, [1, *dims[1:]], x[0][p:p + 1], k[0])
        if not np.array_equal(alone[0], got[p]):
            print("picture %d has other bits alone: %s\n%s" % (p, march, texts[0]))
            sys.exit(1)


FLAGS = open("/proc/cpuinfo").read().split()
MARCHES = ["native", "x86-64-v3"] + ["znver4"] * ("avx512_bf16" in FLAGS)  # whatever processor of them this is
for number in range(int(sys.argv[1])):
    case(number, MARCHES[number // len(PAIRS) % len(MARCHES)])
print("convolutions agree")
