"""gpu_memory.py SEED: what is bound by memory on a GPU: chains in wide accesses, copies through squares, sums down columns, in rows
and in slices, matrices times vectors; sizes 0, 1, odd, whole multiples of what threads take at once, known and not."""
import sys

import numpy as np

from tsrlib import Model, check, from_bf16, to_bf16

rng = np.random.default_rng(int(sys.argv[1]))
LENGTHS = [0, 1, 3, 4, 5, 31, 32, 33, 100, 130]


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def some(n):
    """Pairs of lengths, each length once among them."""
    first, second = list(rng.permutation(LENGTHS)), list(rng.permutation(LENGTHS))
    return list(zip(map(int, first), map(int, second)))[:n]


def chains():
    """Flat, in rows of any length, in rows that begin anywhere, of known sizes; numbers of 2 and 4 bytes; results that are rows of
    something longer."""
    model = Model("""dim n
dim c
input x : [n | c]
input b : [c]
input s : [n | 1]
input h : bf16 [n | c]
input i : i32 [n | c]
output flat = exp(x) * 2 + x
output rows = (x + b) .* s - exp(b)
output narrow = bf16(f32(h) * 2)
output whole = (i + 3) .* i
""")
    for n, c in some(8):
        x, b, s = draw(n, c), draw(c), draw(n, 1)
        h, i = to_bf16(draw(n, c)), rng.integers(-100, 100, (n, c)).astype(np.int32)
        got = model.forward([n, c], [x, b, s, h, i], [((n, c), np.float32)] * 2 + [((n, c), np.uint16), ((n, c), np.int32)])
        check("flat", got[0], np.exp(x) * 2 + x)
        check("rows", got[1], (x + b) * s - np.exp(b))
        check("narrow", from_bf16(got[2]), from_bf16(h) * 2)
        check("whole", got[3], (i + 3) * i)
    known = Model("""dim n
input x : [n | 3, 12]
input b : [12]
input w : [n | 3, 10]
output y = x * 2 + b
output z = w .* w
""")
    for n in (0, 1, 5):
        x, b, w = draw(n, 3, 12), draw(12), draw(n, 3, 10)
        y, z = known.forward([n], [x, b, w], [((n, 3, 12), np.float32), ((n, 3, 10), np.float32)])
        check("known", y, x * 2 + b)
        check("flat of known", z, w * w)


def members():
    """Of a batch along a dim each member has the bits that it has alone, wherever in the batch it stands."""
    model = Model("""dim n
input x : [n | 3, 37]
input long : [n | 2500]
input w : [37, 20]
output chain = x .* x + exp(x) .* x - x .* 0.3 + x
output product = einsum("n | a, k; k, j => n | a, j", x, w)
output own = einsum("n | a, k; n | b, k => n | a, b", x, x)
output columns = sum("n | a, k => n | k", x)
output rows = sum("n | k => n |", long .* long)
output shares = exp(long) / sum("n | k => n | 0", exp(long))
output sums = cumulate(sum, "n | [k] => n | k", long)
""")
    n = 6
    x, long, w = draw(n, 3, 37), draw(n, 2500), draw(37, 20)

    def bits(rows):
        shapes = [(3, 37), (3, 20), (3, 3), (37,), (), (2500,), (2500,)]
        return model.forward([len(rows)], [x[rows], long[rows], w], [((len(rows), *shape), np.float32) for shape in shapes])

    together, alone = bits(list(range(n))), [bits([i]) for i in range(n)]
    check("rows of members", together[4], (long.astype(np.float64) ** 2).sum(-1))
    for i in range(n):
        for number, (all_, one) in enumerate(zip(together, alone[i])):
            assert all_[i].tobytes() == one[0].tobytes(), "result %d of member %d has other bits alone" % (number, i)


def squares():
    """One operand across, two of them with another one beside, batches, numbers of two bytes."""
    model = Model("""dim n
dim m
input x : [n | m]
input z : [n | m]
input b : [m | n]
input h : bf16 [3 | n, m]
output y = exp(einsum("i | j => j | i", x)) * 2 - b .* einsum("i | j => j | i", z)
output t = permute("b | i, j => b | j, i", h)
""")
    for n, m in some(8):
        x, z, b, h = draw(n, m), draw(n, m), draw(m, n), to_bf16(draw(3, n, m))
        y, t = model.forward([n, m], [x, z, b, h], [((m, n), np.float32), ((3, m, n), np.uint16)])
        check("across", y, np.exp(x.T) * 2 - b * z.T)
        check("batches", t.astype(np.int32), h.swapaxes(1, 2).astype(np.int32))


def columns():
    """Sums, maxima and products with one row and three, of few and many rows, in slices and not, with something before and behind."""
    model = Model("""dim n
dim c
input x : [n | c]
input y : [n, 2 | c]
input v : [n]
input w : [n | 40]
input z : [3, c]
output sums = exp(sum("i | j => j", x) / 8) + 1
output most = reduce(max, "i, k | j => j", y)
output vector = einsum("i; i | j => j", v, w)
output dots = einsum("a, k; n | k => a, n", z, x)
""")
    for n, c in some(6) + [(700, 40), (513, 1)]:
        arrays = x, y, v, w, z = draw(n, c), draw(n, 2, c), draw(n), draw(n, 40), draw(3, c)
        results = [(shape, np.float32) for shape in ((c,), (c,), (40,), (3, n))]
        got = model.forward([n, c], arrays, results)
        check("sums", got[0], np.exp(x.sum(0, dtype=np.float64) / 8) + 1)
        check("most", got[1], y.max((0, 1), initial=-np.inf))
        check("vector", got[2], v.astype(np.float64) @ w)
        check("dots", got[3], z.astype(np.float64) @ x.T)
        again = model.forward([n, c], arrays, results)
        assert all(np.array_equal(a.view(np.uint32), b.view(np.uint32)) for a, b in zip(got, again)), "another order"


def none():
    """Of known sizes, some of them 0."""
    model = Model("""dim n
input x : [n, 0 | 64]
input z : [0 | n]
output sums = sum("i, k | j => k | j", x)
output rows = z - sum("... | v => ... | 0", z)
output whole = exp(x)
output turned = permute("i, k | j => j | i, k", x)
""")
    shapes = [(0, 64), (0, 70), (70, 0, 64), (64, 70, 0)]
    model.forward([70], [draw(70, 0, 64), draw(0, 70)], [(shape, np.float32) for shape in shapes])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def rows():
    """Sums of rows and what is computed with them: a softmax, of two parts too, and norms over one axis and two, where rows are
    kept or not."""
    model = Model("""dim n
dim c
dim p
input x : [n | c]
input z : [n | p]
input u : [n, 2 | 132]
input w : [n | 3, 77]
input g : [132]
let most = reduce(max, "... | v => ... | 0", x)
let e = exp(x - most)
output soft = e / sum("... | v => ... | 0", e)
let both = max(most, reduce(max, "... | v => ... | 0", z))
let a = exp(x - both)
let b = exp(z - both)
let all = sum("... | v => ... | 0", a) + sum("... | v => ... | 0", b)
output first = a / all
output second = b / all
let d = u - sum("... | v => ... | 0", u) / 132
output norm = d / sqrt(sum("... | v => ... | 0", d .* d) / 132 + 1e-5) .* g
output kept = d
let f = w - sum("... | k, v => ... | 0, 0", w) / 231
output whole = f / sqrt(sum("... | k, v => ... | 0, 0", f .* f) / 231 + 1e-5)
""")
    for n, c, p in [(0, 3, 4), (2, 1, 1), (3, 70, 130), (1, 1028, 5), (2, 33, 2050), (2, 2050, 1024)]:
        x, z, u, w, g = draw(n, c), draw(n, p), draw(n, 2, 132), draw(n, 3, 77), draw(132)
        shapes = [(n, c), (n, c), (n, p), (n, 2, 132), (n, 2, 132), (n, 3, 77)]
        got = model.forward([n, c, p], [x, z, u, w, g], [(shape, np.float32) for shape in shapes])
        joined = softmax(np.concatenate([x, z], 1).astype(np.float64))
        d, f = u - u.mean(-1, keepdims=True, dtype=np.float64), w - w.mean((1, 2), keepdims=True, dtype=np.float64)
        check("softmax", got[0], softmax(x.astype(np.float64)))
        check("first part", got[1], joined[:, :c])
        check("second part", got[2], joined[:, c:])
        check("norm", got[3], d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g)
        check("kept", got[4], d)
        check("two axes", got[5], f / np.sqrt((f * f).mean((1, 2), keepdims=True) + 1e-5))


def vectors():
    """Rows that a warp or several have: of matrices of any element, times one vector and up to eight, with tails of 4, 8 and 16
    elements and without, of sums over two axes, with something before and behind, and of rows alone."""
    model = Model("""dim n
input w : [n | 100]
input h : bf16 [n | 264]
input f : f16 [n | 2, 66]
input q : i8 [n | 2112]
input d : [n | 1348]
input s : [n]
input x : [8, 100]
input y : [3, 264]
input z : [2, 66]
input v : [1, 2112]
output rows = relu(einsum("n | k; m, k => n, m", w, x) + 1)
output turned = einsum("n | k; m, k => m, n", f32(h), y)
output halves = einsum("n | a, b; a, b => n", f32(f), z) .* s
output bytes = einsum("n | k; m, k => m, n", f32(q), v) / 127
output most = reduce(max, "n | k => n", d .* d)
output inner = sum("n | k => n", d / 4)
""")
    for n in (0, 1, 7, 8, 37):
        w, h, f, q = draw(n, 100), to_bf16(draw(n, 264)), draw(n, 2, 66).astype(np.float16), rng.integers(-128, 128, (n, 2112))
        d, s, x, y, z, v = draw(n, 1348), draw(n), draw(8, 100), draw(3, 264), draw(2, 66), draw(1, 2112)
        arrays = [w, h, f, q.astype(np.int8), d, s, x, y, z, v]
        results = [(shape, np.float32) for shape in ((n, 8), (3, n), (n,), (1, n), (n,), (n,))]
        got = model.forward([n], arrays, results)
        check("rows", got[0], np.maximum(w.astype(np.float64) @ x.T + 1, 0))
        check("turned", got[1], y.astype(np.float64) @ from_bf16(h).T)
        check("halves", got[2], np.einsum("nab,ab->n", f.astype(np.float64), z) * s)
        check("bytes", got[3], v.astype(np.float64) @ q.T / 127)
        check("most", got[4], (d * d).max(-1, initial=-np.inf))
        check("inner", got[5], d.sum(-1, dtype=np.float64) / 4)
        again = model.forward([n], arrays, results)
        assert all(np.array_equal(a.view(np.uint32), b.view(np.uint32)) for a, b in zip(got, again)), "another order"


def lengths():
    """The same of lengths that are known at run time only, where rows begin anywhere, or at multiples of 16 bytes."""
    model = Model("""dim n
dim k
input w : [n | k]
input h : bf16 [n | k]
input f : f16 [n | 3, k]
input q : i8 [n | k]
input x : [2, k]
input z : [3, k]
output rows = relu(einsum("n | k; m, k => n, m", w, x) + 1)
output turned = einsum("n | k; m, k => m, n", f32(h), x)
output halves = einsum("n | a, b; a, b => n", f32(f), z)
output bytes = einsum("n | k; m, k => m, n", f32(q), x) / 127
output most = reduce(max, "n | k => n", w .* w)
output single = sum("m, k => m", x)
""")
    for n, k in ((3, 0), (0, 8), (1, 1), (9, 31), (2, 264), (5, 1030), (2, 2048)):
        w, h, f, q = draw(n, k), to_bf16(draw(n, k)), draw(n, 3, k).astype(np.float16), rng.integers(-128, 128, (n, k))
        x, z = draw(2, k), draw(3, k)
        got = model.forward([n, k], [w, h, f, q.astype(np.int8), x, z],
                            [(shape, np.float32) for shape in ((n, 2), (2, n), (n,), (2, n), (n,), (2,))])
        check("rows", got[0], np.maximum(w.astype(np.float64) @ x.T + 1, 0))
        check("turned", got[1], x.astype(np.float64) @ from_bf16(h).T)
        check("halves", got[2], np.einsum("nab,ab->n", f.astype(np.float64), z))
        check("bytes", got[3], x.astype(np.float64) @ q.T / 127)
        check("most", got[4], (w * w).max(-1, initial=-np.inf))
        check("single", got[5], x.sum(-1, dtype=np.float64))


def scatters():
    """Rows, matrices and numbers that are added at indices, of few and many places, known and not, left out where there is no such
    place: the bits of one thread that goes through them in their order."""
    model = Model("""dim n
dim m
dim v
dim c
input flat : [n | 12]
input odd : [n | 5]
input any : [n | c]
input single : [n]
input two : [m, n | 2, 4]
input at : i32 [n |]
input at_two : i32 [m, n |]
input at_any : i32 [n |]
output rows = scatter("b | d; b | => [k], d", flat, at) with (k = 7)
output few = scatter("b | d; b | => [k], d", odd, at, mode = skip) with (k = 3)
output places = scatter("b | d; b | => [k], d", any, at_any) with (k = v)
output numbers = scatter("b; b | => [k]", single, at, mode = wrap) with (k = 600)
output matrices = scatter("a, b | d, e; a, b | => [k], d, e", two, at_two) with (k = 1100)
output held = scatter("b | d; b | => [k], d", flat, at, mode = clamp) with (k = 5)
""")

    def added(shape, at, x):
        whole = np.zeros(shape, np.float32)
        for i, row in zip(at.ravel(), x.reshape(at.size, *x.shape[at.ndim:])):
            if 0 <= i < shape[0]:
                whole[i] += row
        return whole

    for n, m, v, c in ((0, 3, 1, 4), (1, 1, 2, 1), (70, 2, 65, 8), (300, 1, 200, 1030), (2100, 1, 64, 3)):
        flat, odd, wide, single, two = draw(n, 12), draw(n, 5), draw(n, c), draw(n), draw(m, n, 2, 4)
        at, at_two, at_any = rng.integers(0, 7, n), rng.integers(0, 1100, (m, n)), rng.integers(0, v, n)
        got = model.forward([n, m, v, c], [flat, odd, wide, single, two, *(i.astype(np.int32) for i in (at, at_two, at_any))],
                            [(shape, np.float32) for shape in ((7, 12), (3, 5), (v, c), (600,), (1100, 2, 4), (5, 12))])
        want = [added((7, 12), at, flat), added((3, 5), at, odd), added((v, c), at_any, wide), added((600,), at, single),
                added((1100, 2, 4), at_two, two), added((5, 12), at.clip(0, 4), flat)]
        for name, one, other in zip(("rows", "few", "places", "numbers", "matrices", "held"), got, want):
            if not np.array_equal(one, other):
                sys.exit("%s of %d at %d places of %d: other bits" % (name, n, v, c))


chains()
squares()
columns()
scatters()
none()
rows()
vectors()
lengths()
members()
print("all have their numbers")
