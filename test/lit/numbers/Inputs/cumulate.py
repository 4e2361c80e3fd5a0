"""cumulate against NumPy, bit for bit in the order that language.md says: random shapes with axes of 0 and 1, any position
of the axis, all rows of operand and result, dims and numbers, each dtype, a line alone and among others, of several runs
(COUNT 0) any number of them on any number of threads."""
import sys

import numpy as np

from tsrlib import DTYPES, Model, draw_cuts, from_bf16, in_rows, pool_call, to_bf16

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
    floats = a.dtype.kind == "f"
    equal = a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=floats)
    return equal and not (floats and (np.signbit(a) != np.signbit(b))[~np.isnan(a)].any())


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


def long_lines(axes, at, dtype, tries, dims):
    """Lines of several runs: every operation in one program, the same bits on any number of threads, and on none."""
    letters = [f"[{c}]" if i == at else c for i, c in enumerate("abc"[:axes])]
    spec = ", ".join(letters) + " => " + ", ".join("abc"[:axes])
    calls, kinds = "", []
    for word in FUNCTIONS:
        flags = random.random(2) < 0.5
        kinds.append((word, *map(int, flags)))
        words = "".join(", " + w for w, f in zip(("exclusive", "reverse"), flags) if f)
        calls += f'output {word}_ = cumulate({word}, "{spec}", x{words})\n'
    sizes = [f"d{c}" if dims else str(n) for c, n in zip("abc", tries[0])]
    head = "".join(f"dim d{c}\n" for c in "abc"[:axes]) if dims else ""
    model = Model(head + f"input x : {dtype} [{', '.join(sizes)}]\n" + calls, ["--grain=1"])
    for shape in tries if dims else tries[:1]:
        x = numbers(dtype, shape)
        if x.dtype.kind == "f" and x.size:
            x.flat[:: 7] = -0.0
        wide = np.moveaxis(widened(x, dtype), at, -1)
        wants = [np.moveaxis(expected(wide, *kind), -1, at) for kind in kinds]
        for threads in (0, 1, 2, 3, 7):
            model.call = pool_call(threads) if threads else None
            gots = model.forward(list(shape) if dims else [], [x], [(w.shape, w.dtype) for w in wants])
            for kind, got, want in zip(kinds, gots, wants):
                assert same(got, want), (kind, spec, dtype, shape, threads, dims)


def all_long_lines():
    """One line, few lines and many, lines beside one another; a whole number of runs, one place more, and none."""
    most = AT_ONCE + 1
    long_lines(1, 0, "f32", [(most,), (AT_ONCE + RUN,), (3 * AT_ONCE + 77,), (AT_ONCE,), (1,), (0,)], True)
    long_lines(1, 0, "f64", [(2 * AT_ONCE,)], False)
    long_lines(2, 1, "bf16", [(3, most), (1, AT_ONCE + 700), (0, most), (9, 30)], True)
    long_lines(2, 1, "i32", [(2, most + RUN)], False)
    long_lines(2, 1, "f32", [(9, most)], False)
    long_lines(2, 0, "f32", [(most, 5), (AT_ONCE + RUN, 300), (5000, 0), (0, 5), (3, 70)], True)
    long_lines(2, 0, "f16", [(most + 2 * RUN, 6)], False)
    long_lines(2, 0, "u8", [(most, 520)], False)
    long_lines(3, 1, "f32", [(2, most, 4), (1, 5 * 1024, 3), (3, AT_ONCE, 2)], True)


if COUNT == 0:
    all_long_lines()
else:
    lines()
kinds = ["f32", "f32", "bf16", "i32", "f64", "f16", "i8", "u8"]
for i in range(COUNT):
    one(kinds[i % len(kinds)])
print("%d programs agree with NumPy" % COUNT)
