"""cumulate against NumPy, bit for bit in the order that language.md says: random shapes with axes of 0 and 1, any position
of the axis, all rows of operand and result, dims and numbers, each dtype, a line alone and among others."""
import sys

import numpy as np

from tsrlib import DTYPES, Model, draw_cuts, from_bf16, in_rows, to_bf16

SEED, COUNT = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(SEED)
AT_ONCE, RUN = 4096, 512
FUNCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def neutral(word, dtype):
    if word in ("sum", "prod"):
        return dtype(word == "prod")
    ends = (-np.inf, np.inf) if np.issubdtype(dtype, np.floating) else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return dtype(ends[word == "min"])


def scan(x, word):
    """Along the last axis: (what each place comes to, what comes to it before itself)."""
    f, start = FUNCTIONS[word], neutral(word, x.dtype.type)
    steps = np.concatenate([np.full(x.shape[:-1] + (1,), start, x.dtype), x], -1)
    done = f.accumulate(steps, -1, dtype=x.dtype)
    return done[..., 1:], done[..., :-1]


def expected(x, word, exclusive, reverse):
    """Of the last axis: one after another, or runs that begin anew and are raised."""
    x = x[..., ::-1] if reverse else x
    n, f = x.shape[-1], FUNCTIONS[word]
    if n <= AT_ONCE:
        y = scan(x, word)[exclusive]
    else:
        before, parts = np.full(x.shape[:-1] + (1,), neutral(word, x.dtype.type)), []
        for at in range(0, n, RUN):
            done, earlier = scan(x[..., at:at + RUN], word)
            parts.append(f(before, earlier if exclusive else done))
            before = f(before, done[..., -1:])
        y = np.concatenate(parts, -1)
    return y[..., ::-1] if reverse else y


def numbers(dtype, shape):
    if dtype in ("f32", "f64"):
        return (random.standard_normal(shape)).astype(DTYPES[dtype])
    if dtype == "bf16":
        return to_bf16(random.standard_normal(shape))
    if dtype == "f16":
        return random.standard_normal(shape).astype(np.float16)
    return random.integers(0 if dtype == "u8" else -3, 4, shape).astype(DTYPES[dtype])


def widened(x, dtype):
    wide = {"bf16": from_bf16, "f16": lambda x: x.astype(np.float32), "i8": lambda x: x.astype(np.int32),
            "u8": lambda x: x.astype(np.int32)}
    return wide[dtype](x) if dtype in wide else x


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def one(dtype):
    """A random specification, with symbolic sizes and with numbers."""
    naxes = int(random.integers(1, 4))
    letters, at = list("abc")[:naxes], int(random.integers(naxes))
    word, flags = str(random.choice(list(FUNCTIONS))), random.random(2) < 0.5
    cuts, to_cuts = draw_cuts(random.integers, naxes), draw_cuts(random.integers, naxes)
    order = [int(i) for i in random.permutation(naxes)]
    marked = [f"[{c}]" if i == at else c for i, c in enumerate(letters)]
    spec = in_rows(marked, cuts) + " => " + in_rows([letters[i] for i in order], to_cuts)
    words = "".join(", " + w for w, f in zip(("exclusive", "reverse"), flags) if f)
    call = f'output y = cumulate({word}, "{spec}", x{words})\n'
    long = AT_ONCE * 2 + int(random.integers(1, 600)) if random.random() < 0.3 else int(random.integers(2, 300))
    tries = [[int(random.choice([0, 1, 2, 5, 6, 17])) for _ in letters] for _ in range(4)]
    for sizes in tries[1:]:
        sizes[at] = int(random.choice([0, 1, 3, 70, AT_ONCE, long]))
    known = tries[-1]
    symbolic = Model("".join(f"dim d{c}\n" for c in letters) +
                     f"input x : {dtype} [{in_rows(['d' + c for c in letters], cuts)}]\n" + call)
    fixed = Model(f"input x : {dtype} [{in_rows(known, cuts)}]\n" + call)
    for sizes in tries:
        x = numbers(dtype, sizes)
        wide = np.moveaxis(widened(x, dtype), at, -1)
        want = np.moveaxis(expected(wide, word, *map(int, flags)), -1, at).transpose(order)
        outs = [(want.shape, want.dtype)]
        for model, dims in [(symbolic, sizes)] + [(fixed, [])] * (sizes is known):
            got, = model.forward(dims, [x], outs)
            assert same(got, want), (call, dtype, sizes, got, want)


def lines():
    """The bits of a line do not depend on how many there are, nor on how it lies."""
    model = Model('dim r\ndim n\ninput x : [r, n]\noutput y = cumulate(sum, "r, [t] => r, t", x)\n'
                  'output z = cumulate(sum, "r, [t] => t, r", x)\n')
    columns = Model('dim n\ndim r\ninput x : [n, r]\noutput y = cumulate(sum, "[t], r => t, r", x)\n'
                    'output z = cumulate(sum, "[t], r => t, r", x, exclusive)\n')
    for n in (300, AT_ONCE + 999):
        x = random.standard_normal((7, n)).astype(np.float32)
        y, z = model.forward([7, n], [x], [((7, n), np.float32), ((n, 7), np.float32)])
        assert same(y, np.ascontiguousarray(z.T)), n
        many = random.standard_normal((n, 130)).astype(np.float32)
        outs = [((n, 130), np.float32)] * 2
        for got, exclusive in zip(columns.forward([n, 130], [many], outs), (False, True)):
            assert same(got, np.ascontiguousarray(expected(many.T, "sum", exclusive, False).T)), n
        for r in range(7):
            alone = model.forward([1, n], [x[r:r + 1]], [((1, n), np.float32), ((n, 1), np.float32)])
            assert same(alone[0][0], y[r]) and same(alone[1][:, 0], y[r]), (n, r)


lines()
kinds = ["f32", "f32", "bf16", "i32", "f64", "f16", "i8", "u8"]
for i in range(COUNT):
    one(kinds[i % len(kinds)])
print("%d programs agree with NumPy" % COUNT)
