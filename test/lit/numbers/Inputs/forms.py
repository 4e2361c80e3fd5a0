"""Every form of expression and specification of language.md in odd combinations, against NumPy: one module for all
sizes, one for each pair of sizes that `-D` fixes; then against the interpreter. Words: only the forms that have one."""
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np

from tsrlib import TSRC, Model

SIZES = ((5, 3), (4, 1), (2, 7))
HEAD = """dim n
dim m
input x : [n]
input y : [m]
input a : [n | m]
input t : [n, m | 4]
input e : [n, 1 | 1]
input w : [m -> n]
input u : [3, m -> n, 2]
input s : []
input c : [2 | 3, 4]
input h : [4*n]
input q : [3]
input table : [6, m]
input ids : i32 [n |]
input jds : i32 [m, 2 |]
"""
SHAPES = dict(x="n", y="m", a="n,m", t="n,m,4", e="n,1,1", w="n,m", u="n,2,3,m", s="", c="2,3,4", h="4*n", q="3",
              table="6,m", ids="n", jds="m,2")


def sizes_of(name, n, m):
    return eval("(%s,)" % SHAPES[name], {"n": n, "m": m}) if SHAPES[name] else ()


def inputs_of(n, m):
    """Small integers and halves, so that sums are exact and comparisons meet equals."""
    random = np.random.default_rng(100 * n + m)
    d = {name: (random.integers(-8, 9, sizes_of(name, n, m)) / 4).astype(np.float32) for name in SHAPES}
    d["ids"], d["jds"] = (random.integers(0, 6, sizes_of(name, n, m)).astype(np.int32) for name in ("ids", "jds"))
    return SimpleNamespace(n=n, m=m, **d)


def padded(x, k, stride, dilation, neutral):
    """x read along its last axis as `stride*o =+? dilation*k`: a new last axis for the window."""
    left, steps = ((k - 1) * dilation + 1) // 2, -(-x.shape[-1] // stride)
    wide = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(left, k * dilation + stride)], constant_values=neutral)
    return np.stack([wide[..., j * dilation:][..., :stride * steps:stride] for j in range(k)], -1)


def valid(x, k, stride=1, dilation=1):
    """x read along its last axis as `stride*o <+? dilation*k`."""
    steps = (x.shape[-1] - (k - 1) * dilation - 1) // stride + 1
    return np.stack([x[..., j * dilation:][..., :stride * (steps - 1) + 1:stride] for j in range(k)], -1)


def placed(size, at, values, fill=0):
    out = np.full(size, fill, np.float32)
    out[at] = values
    return out


E = np.einsum
FORMS = [
    # pointwise, broadcasting per row
    ("a + y .* s - 1", lambda d: d.a + d.y * d.s - 1),
    ("t .* e + 2 ** e", lambda d: d.t * d.e + 2 ** d.e),
    ("where(a > y, y, s)", lambda d: np.where(d.a > d.y, d.y, d.s)),
    ("fma(a, y, s) - max(a, y) .* min(s, y)", lambda d: d.a * d.y + d.s - np.maximum(d.a, d.y) * np.minimum(d.s, d.y)),
    ("-a ** 2 % 3", lambda d: -(d.a ** 2) % 3),
    ("(a <= y) && !(a == s) || (y != 0)", lambda d: ((d.a <= d.y) & ~(d.a == d.s) | (d.y != 0)) * 1.0),
    ("i32(a .* 10) % 3 / 2", lambda d: np.trunc(d.a * 10).astype(np.int32) % 3 / 2),
    ("w .* x + w", lambda d: d.w * d.x[:, None] + d.w),
    ("w.T - y", lambda d: d.w.T - d.y[:, None]),
    ("let two = a + a, g = two .* y in relu(g) - two", lambda d: np.maximum(2 * d.a * d.y, 0) - 2 * d.a),
    ("(if 2 * 3 == 6 then a else s)", lambda d: d.a),
    ("f32(f64(a) + 0.5) .* recip(2 + y .* y)", lambda d: (d.a + 0.5) / (2 + d.y * d.y)),
    # compose and transpose
    ("w * y", lambda d: d.w @ d.y),
    ("w * a - (w * a).T.T", lambda d: 0 * (d.a @ d.w.T)),
    ("u * stack(output, y, -y, y .* y)", lambda d: E("noij,ij", d.u, np.stack([d.y, -d.y, d.y * d.y]))),
    ("w * w.T * x", lambda d: d.w @ d.w.T @ d.x),
    ("w * (w.T * x)", lambda d: d.w @ d.w.T @ d.x),
    ("y.T * w.T", lambda d: d.y @ d.w.T),
    ("(y.T * y) .* (x.T * x) + s", lambda d: (d.y @ d.y) * (d.x @ d.x) + d.s),
    ("(n + m) * w.T * 2", lambda d: (d.n + d.m) * d.w.T * 2),
    ("x * y.T", lambda d: np.outer(d.x, d.y)),
    ("(w * a) .* 2 + w * (a @ 0)", lambda d: 2 * d.a @ d.w.T + d.w @ d.a[0]),
    # slices
    ("t @ 1 @ 0", lambda d: d.t[1, 0]),
    ("-t @ 0 + t @ 1", lambda d: d.t[1] - d.t[0]),
    ("(c @ 1).T", lambda d: d.c[1]),
    # einsum
    ('einsum("i|j; j->i => i", a, w)', lambda d: (d.a * d.w).sum(1)),
    ('einsum("b | j; j -> i => i | b", a, w)', lambda d: d.w @ d.a.T),
    ('einsum("i|j; j; i => ", a, y, x)', lambda d: d.x @ d.a @ d.y),
    ('einsum("i|j; k|j => k->i", a, a)', lambda d: d.a @ d.a.T),
    ('einsum("i|j; j->k; k => i, j", a, w, x)', lambda d: d.a * (d.w.T @ d.x)),
    ('einsum("i|j; j->k => i|k", a, w, op=add, reduce=max)', lambda d: (d.a[:, None] + d.w).max(2)),
    ('einsum("i|j; j->k => k|i", a, w, op=max, reduce=min)', lambda d: np.maximum(d.a[:, None], d.w).min(2).T),
    ('einsum("i|j; j; i => j", a, y, x, op=fma, reduce=prod)', lambda d: (d.a * d.y + d.x[:, None]).prod(0)),
    ('einsum("i|j; j; i => i", a > 0, y, x, op=where)', lambda d: np.where(d.a > 0, d.y, d.x[:, None]).sum(1)),
    ('einsum("i|j; => j", a, s, op=sub, reduce=prod)', lambda d: (d.a - d.s).prod(0)),
    ('einsum("j; i|j => i", y, 1 + a .* a, op=div)', lambda d: (d.y / (1 + d.a * d.a)).sum(1)),
    ('einsum("i; i => ", x, x, op=min, reduce=prod)', lambda d: d.x.prod()),
    ('sum("i->i => i", w * w.T)', lambda d: (d.w * d.w).sum(1)),
    ('sum("i->i => ", w * w.T) - sum(w .* w)', lambda d: np.float32(0)),
    ('sum("1, i => 0, i", table)', lambda d: d.table[1:2]),
    ('let m = sum("i | j => i | 0", a) in a - m + 3 .* sum("i | j => i | j", m)',
     lambda d: d.a + 2 * d.a.sum(1, keepdims=True)),
    ('sum("_ | 2, i => i | 0", c)', lambda d: d.c[:, 2].sum(0)[None]),
    ('einsum("i; j => j, 0, i", x, y)', lambda d: E("i,j->ji", d.x, d.y)[:, None]),
    ('sum("..b.. | ..o.. => ..o.. | ..b..", t)', lambda d: d.t.transpose(2, 0, 1)),
    ('einsum("... | ..o..; ..o.. => ... | 0", a, y)', lambda d: (d.a @ d.y)[:, None]),
    ('einsum("b, ..v.. | o; b | ..r.. => ..r.. | o, ..v..", t, a)', lambda d: E("bmo,br->rom", d.t, d.a)),
    ('sum("i => ii", x) + einsum("i; j => ij", x, 1 + x)', lambda d: np.diag(d.x) + np.outer(d.x, 1 + d.x)),
    ('permute("ij | k => j | ki", t)', lambda d: d.t.transpose(1, 2, 0)),
    # reductions and argmax
    ('reduce(prod, "..b.. | v => | ..b..", a)', lambda d: d.a.prod(1)),
    ('reduce(max, "..., r | v => ... | v", t) - reduce(min, "r, ... | v => ... | v", permute("bc | v => cb | v", t))',
     lambda d: d.t.max(1) - d.t.min(1)),
    ('reduce(min, "..b.. | ..i.. -> ..o.. => ", u)', lambda d: d.u.min()),
    ('argmax("i|j => i|", a)', lambda d: d.a.argmax(1)),
    ('argmax("i -> j => i", w)', lambda d: d.w.argmax(0)),
    ('argmin("i -> j => i", w)', lambda d: d.w.argmin(0)),
    ('argmin("i|j => i|", u32(10 * abs(a)))', lambda d: (10 * abs(d.a)).astype(np.uint32).argmin(1)),
    ('argmin("i|j => i|", a) - argmax("i|j => i|", a)', lambda d: d.a.argmin(1) - d.a.argmax(1)),
    ('f32(argmax("b, r | v => v | r", t)) + 0.5', lambda d: d.t.argmax(0).T + 0.5),
    # affine axes
    ('einsum("2*o <+? 3*k; k => o", h, q)', lambda d: valid(d.h, 3, 2, 3) @ d.q),
    ('einsum("o =+ k, p =+ 2*l; k; l => p, o", table, q, [1, 2])',
     lambda d: E("pokl,k,l->po", padded(padded(d.table.T, 3, 1, 1, 0).transpose(1, 2, 0), 2, 1, 2, 0)
                 .transpose(2, 0, 1, 3), d.q, np.array([1, 2]))),
    ('sum("3*o =+? 2*k => o", h) with (k = 3)', lambda d: padded(d.h, 3, 3, 2, 0).sum(-1)),
    ('reduce(prod, "... | o =+ k => ... | o", a) with (k = 3)', lambda d: padded(d.a, 3, 1, 1, 1).prod(-1)),
    ('reduce(min, "..b.. | 2*o =+? k => o | ..b..", a) with (k = 2)', lambda d: padded(d.a, 2, 2, 1, np.inf).min(-1).T),
    ('reduce(max, "4*o <+ k => o", h) with (k = 4)', lambda d: d.h.reshape(d.n, 4).max(1)),
    ('sum("2*i, => i", h)', lambda d: d.h[::2]),
    ('sum("4*i + 3 => i", h)', lambda d: d.h[3::4]),
    ('sum("i + 2 => i", h)', lambda d: d.h[2:]),
    ('einsum("i; j => i <+ j", x, y)', lambda d: np.convolve(d.x, d.y)),
    ('einsum("i; j => 2*i <+ j", x, q)', lambda d: np.convolve(placed(2 * d.n - 1, np.s_[::2], d.x), d.q)),
    # writes with steps and offsets: the rest is what the reduction starts from
    ('sum("i => 3*i + 1", x)', lambda d: placed(3 * d.n, np.s_[1::3], d.x)),
    ('reduce(max, "i|j => 2*j, i + 1", a)', lambda d: placed((2 * d.m, d.n + 1), np.s_[::2, 1:], d.a.T, -np.inf)),
    ('reduce(prod, "i => 2*i,", y)', lambda d: placed(2 * d.m, np.s_[::2], d.y, 1)),
    ('reduce(min, "i|j => 1^j", a)', lambda d: np.concatenate([[np.inf], d.a.min(0)])),
    ('sum("i => 2^i^1", x) + 1', lambda d: np.pad(d.x, (2, 1)) + 1),
    # concatenations, stacks, literals
    ('concat("i; j; k => k^i^j", x, y, q)', lambda d: np.concatenate([d.q, d.x, d.y])),
    ('concat("i|j; j->k => i^k | j", a, w)', lambda d: np.concatenate([d.a, d.w])),
    ('concat("i, j; k, l => i^k, j^l", table, [[s, 2]])',
     lambda d: np.block([[d.table, np.zeros((6, 2))], [np.zeros((1, d.m)), np.array([[d.s, 2]])]])),
    ('reduce(max, "i|j => 1^j^2", a .* 2)', lambda d: np.pad(2 * d.a.max(0), (1, 2), constant_values=-np.inf)),
    ('reduce(prod, "1^p | j => p^1", a)', lambda d: np.append(d.a[1:].prod(1), 1)),
    ('sum("2^i => i", concat("i; j => i^j", q, x))', lambda d: np.concatenate([d.q, d.x])[2:]),
    ('sum("i^1 => i", h) .* sum("1^i => i", h)', lambda d: d.h[:-1] * d.h[1:]),
    ('stack(input, y, y + 1)', lambda d: np.stack([d.y, d.y + 1], 1)),
    ('stack(output, a, -a, a .* s)', lambda d: np.stack([d.a, -d.a, d.a * d.s], 1)),
    ('concat("i|j; j->k => i^k", i8(a .* 60), i8(w .* 60))',    # sums in i32 and in f32
     lambda d: np.concatenate([np.trunc(v * 60).astype(np.int32).sum(1) for v in (d.a, d.w)])),
    ('concat("i|j; j->k => i^k", bf16(a + 300), f16(w) .* 1024)',
     lambda d: np.concatenate([(2 * np.rint((d.a + 300) / 2)).sum(1), 1024 * d.w.sum(1)])),
    ('f32(concat("i|j; j->k => i^k, j", bf16(a), bf16(w)))', lambda d: np.concatenate([d.a, d.w])),
    ("([s, 1, 2] : rgb) .* ([1, 2, 3] : rgb)", lambda d: np.array([1, 2, 3]) * [d.s, 1, 2]),
    ("[([1, s] : col), ([s, 2] : col)] : row", lambda d: np.array([[1, d.s], [d.s, 2]])),
    ('einsum("row, col; col => row", [[1, 2], [s, 4]] : row, [1, s] : col)',
     lambda d: np.array([1 + 2 * d.s, d.s + 4 * d.s])),
    ('stack(batch, a, -a) .* [| [| 1 |], [| 2 |] |]', lambda d: np.stack([d.a, -2 * d.a])),
    ("[x, 2 .* x] + [[1], [2]]", lambda d: np.stack([d.x + 1, 2 * d.x + 2])),
    ("[| y, [| y, -2 .* y |] @ 1 |]", lambda d: np.stack([d.y, -2 * d.y])),
    ("(y, y .* y) * [1, 2]", lambda d: d.y + 2 * d.y * d.y),
    ("[[s, 1], [2, s]] .* [s, 3]", lambda d: np.array([[d.s * d.s, 3], [2 * d.s, d.s * 3]])),
    ("[(1, 2), (s, 3)] * [s, 3]", lambda d: np.array([d.s + 6, d.s * d.s + 9])),
    # reshape, range, offsets
    ('sum("i, j => j", reshape(h)) with (j = 4)', lambda d: d.h.reshape(d.n, 4).sum(0)),
    ('reshape(t) .* einsum("i|j; k => i, j, k", a, [1, 2, 3, 4])',
     lambda d: d.t * d.a[..., None] * np.arange(1, 5)),
    ("reshape(h) + stack(output, x, x, x, x)", lambda d: d.h.reshape(4, d.n) + d.x),
    ("range(2*n) .* reshape(stack(output, x, x))", lambda d: np.arange(2 * d.n) * np.concatenate([d.x, d.x])),
    ("range(n)", lambda d: np.arange(d.n, dtype=np.int32)),
    ("h + reshape(range(4*n))", lambda d: d.h + np.arange(4 * d.n)),
    ("ids % (1 + argmax(\"... | v => ... | \", a))", lambda d: d.ids % (1 + d.a.argmax(1))),
    ("a + offsets()", lambda d: d.a + np.arange(d.a.size).reshape(d.a.shape)),
    ('einsum("i|j; i, j => j", a, offsets())', lambda d: (d.a * np.arange(d.a.size).reshape(d.a.shape)).sum(0)),
    # captures and relations
    ('sum("... | v => ... | 0", a) / v - n with (v)', lambda d: d.a.mean(1, keepdims=True) - d.n),
    ('sum("..b.. | ..o.. => ", t) / (b + o) with (b, o)', lambda d: d.t.sum() / (d.n * d.m + 4)),
    ('(sum("p <+ k => p", x) with (k = 2, p)) + range(p)', lambda d: valid(d.x, 2).sum(1) + np.arange(d.n - 1)),
    ('let f = sum("z <+ k => z", x) with (k = 2, z)\nf .* z - z ** 2',
     lambda d: valid(d.x, 2).sum(1) * (d.n - 1) - (d.n - 1) ** 2),
    ('(sum("i, j => i", reshape(h)) with (j = 2)) + (sum("j, i => i", reshape(h)) with (j = 2))',
     lambda d: d.h.reshape(-1, 2).sum(1) + d.h.reshape(2, -1).sum(0)),
    ("require n + 2 >= 1\nx .* n", lambda d: d.x * d.n),
    # gather
    ("gather(table, ids)", lambda d: d.table[d.ids]),
    ("gather(table .* 2, (jds + 1) % 6)", lambda d: 2 * d.table[(d.jds + 1) % 6]),
    ('gather(u, ids % n) * stack(output, y, y, y)', lambda d: E("boij,j->bo", d.u[d.ids % d.n], d.y)),
    ('einsum("b | j; b | j => | b", gather(table, ids), a)', lambda d: (d.table[d.ids] * d.a).sum(1)),
    ('gather(permute("b | m => b, m", gather(table, ids)), ids % n)', lambda d: d.table[d.ids][d.ids % d.n]),
]
# steps that make `out`: what a step adds to, where it writes, by which indices it reads
ROUTINES = [
    ('out =:+ id(x) via "i => 2*i,"\nout =+ -x via "i => 2*i + 1"', lambda d: np.stack([d.x, -d.x], 1).reshape(-1)),
    ('out =: concat("i; j => i^j", q, x)\nout =+ id(x) via "i => 3^i"', lambda d: np.concatenate([d.q, 2 * d.x])),
    ('out =: id(a)\nout =+ a * y via "i|j; j => i|0"', lambda d: d.a + placed(d.a.shape, np.s_[:, 0], d.a @ d.y)),
    ('out =:+ a * w via "i|j; j->k => k|i"', lambda d: (d.a @ d.w.T).T),
    ('out =: id(y)\nout =max id(a) via "i|j => j"', lambda d: np.maximum(d.y, d.a.max(0))),
    ('out =: id(y)\nout =min a + w via "i|j; j->i => j"', lambda d: np.minimum(d.y, (d.a + d.w.T.T).min(0))),
    ('out =: id(x)\nout =* id(a) via "i|j => i"', lambda d: d.x * d.a.prod(1)),
    ('out =: id(x)\nout =- id(a) via "i|j => i"\nout =/ 2', lambda d: (d.x - d.a.sum(1)) / 2),
    ('out =:+ id(x) via "i => ii"\nout =+ s', lambda d: np.diag(d.x) + d.s),
    ('out =:+ id(a) via "i|j => 2*j, i + 1"', lambda d: placed((2 * d.m, d.n + 1), np.s_[::2, 1:], d.a.T)),
    ('out =:max id(a) via "i|1^j => j, i"', lambda d: d.a[:, 1:].T),
    ('out =: id(y) via "j => j^2"\nout =+ 1', lambda d: np.append(d.y, [0, 0]) + 1),
]


def program(forms):
    """All forms as results of one program, and its routines."""
    text = HEAD
    for number, (form, _) in enumerate(forms):
        *before, last = form.split("\n")
        text += "".join(line + "\n" for line in before) + "output r%d = %s\n" % (number, last)
    for number, (steps, _) in enumerate(ROUTINES):
        text += "routine s%d() -> out {\n%s\n}\n" % (number, steps)
    return text


def run(model, d, wants, routine="forward"):
    head = re.search(r"int m_%s\((.*?)\)" % routine, model.header, re.S)[1]
    taken = [a.split()[-1].lstrip("*") for a in head.split(",")]
    outputs = [(w.shape, np.int32 if w.dtype.kind == "i" else np.float32) for w in wants]
    return model.forward([vars(d)[t] for t in taken if t in "nm"], [vars(d)[t] for t in taken if t in SHAPES], outputs,
                         routine=routine)


def verified(text):
    """Whether the back ends agree with the interpreter on random inputs; what is said if they do not."""
    run = subprocess.run([TSRC, "--verify=run", "-Wno-dims-meet", "-"], input=text, capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def differs(form, got, want):
    if got.shape == want.shape and np.allclose(got, want, rtol=1e-5, atol=1e-5):
        return set()
    print("%s\ngot %s\nwant %s" % (form, got, want))
    return {form}


def main():
    forms = [f for f in FORMS if not sys.argv[1:] or any(a in f[0] for a in sys.argv[1:])]
    text, wrong = program(forms), set()
    whole = Model(text, ["-O0", "-Wno-dims-meet"])
    for n, m in SIZES:
        d = inputs_of(n, m)
        wants = [np.asarray(numpy(d)) for _, numpy in forms]
        known = [Model(text, ["-O0", "-Dn=%d" % n, "-Dm=%d" % m])] if (n, m) != SIZES[0] else []
        for model in (whole, *known):
            for (form, _), got, want in zip(forms, run(model, d, wants), wants):
                wrong |= differs(form, got, want)
            for k, (steps, numpy) in enumerate(ROUTINES):
                want = np.asarray(numpy(d))
                wrong |= differs(steps, run(model, d, [want], "s%d" % k)[0], want)
    print("%d forms and %d routines, %d wrong" % (len(forms), len(ROUTINES), len(wrong)))
    print(verified(text) or "the back ends agree")


main()
