"""Cases with known results, a group per program: run through libgccjit and compared number by number, and every
back end compared with the projections (--verify=run). An input written `x = 2|3->4` counts 0, 1, 2, ... in
storage order; given numbers stand as they are, others are computed by NumPy."""
import os
import subprocess
import sys
import tempfile

import numpy as np

from tsrlib import OPTIONS, TSRC, Model, check


def rows_of(text):
    """2|3->4 as (batch, input, output) sizes."""
    batch, rest = text.split("|") if "|" in text else ("", text)
    inputs, output = rest.split("->") if "->" in rest else ("", rest)
    return [[int(s) for s in row.split(",") if s.strip()] for row in (batch, inputs, output)]


def shape_text(rows):
    batch, inputs, output = (", ".join(map(str, row)) for row in rows)
    return "[%s%s%s]" % (batch + " | " if batch else "", inputs + " -> " if inputs else "", output)


def counted(text):
    batch, inputs, output = rows_of(text)
    return counting(*batch, *output, *inputs)


def counting(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def run_group(group, inputs, cases):
    """inputs: name -> (declared rows, array); cases: (name, lines, expected)."""
    lines, arrays = [], []
    for name, (rows, array) in inputs.items():
        dtype = "i32 " if array.dtype == np.int32 else ""
        lines.append("input %s : %s%s" % (name, dtype, shape_text(rows_of(rows))))
        arrays.append(array)
    outputs = []
    for name, text, want in cases:
        want = np.asarray(want)
        want = want if want.dtype == np.int32 else want.astype(np.float32)
        *before, last = text.split("\n")
        lines += before + ["output %s = %s" % (name, last)]
        outputs.append((name, want))
    text = "\n".join(lines) + "\n"
    model = Model(text)
    state = model.init() if "m_init(" in model.header else None
    results = model.forward((), arrays, [(w.shape, w.dtype) for _, w in outputs], state)
    for (name, want), got in zip(outputs, results):
        check("%s/%s" % (group, name), got, want)
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "m.tsr")
        with open(source, "w", encoding="utf8") as out:
            out.write(text)
        run = subprocess.run([TSRC, "--verify=run", *OPTIONS, source], capture_output=True, text=True)
        if run.returncode != 0:
            print("%s: %s%s" % (group, run.stdout, run.stderr))
            sys.exit(1)
    return len(outputs)


def given(**declared):
    return {name: (rows, counted(rows)) for name, rows in declared.items()}


def numbers(**declared):
    return {name: (rows, np.array(values)) for name, (rows, values) in declared.items()}


def f32(*values):
    return np.array(values, dtype=np.float32)


def specifications():
    inputs = given(a="2|3->4", w="2|4->5", r="2,3|4,5->6,7", p="3,4", c="3|4->2", d="3|1->4",
                   e="3|2,3->4", q="2->3", v="4->3", m="3,3", three="3", four="4", two="2",
                   src="2|3,4", adj="2|3,3")
    inputs.update(numbers(pred=("4", f32(1, 0, 1, 0)), tens=("4", f32(10, 20, 30, 40)),
                          ones=("4", f32(1, 2, 3, 4)), eye=("2,2", np.eye(2, dtype=np.float32)),
                          t2=("2,2", f32(10, 20, 30, 40).reshape(2, 2)),
                          o2=("2,2", f32(1, 2, 3, 4).reshape(2, 2))))
    x = {name: array for name, (_, array) in inputs.items()}
    a, w, r, c, d, e = (x[n] for n in "awrcde")  # in storage order: batch, output, input
    es = np.einsum
    return inputs, [
        ("b1", 'permute("b|i->o => o|b->i", a)', es("boi->oib", a)),
        ("b2", 'permute("ab|cd->ef => cf|ae->db", r)', es("abefcd->cfdbae", r)),
        ("b4", 'sum("ab|cd->ef => c|a->d", r)', es("abefcd->cda", r)),
        ("b5", 'einsum("i; j => i->j", two + 1, three)', [[0, 0], [1, 2], [2, 4]]),
        ("b7", 'einsum("b|i->o; b|i->o => b|i->o", a, a)', a * a),
        ("b8", 'einsum("b|h->o; b|i->h => b|i->o", w, a)', es("boh,bhi->boi", w, a)),
        ("b10", 'einsum("b|i->h; b|h->o => i->o", a, w)', es("bhi,boh->oi", a, w)),
        ("b11", 'einsum("a|i->h; b|h->o => i->o", a, w)', es("ahi,boh->oi", a, w)),
        ("b13", 'permute("b|...->o => o|...->b", a)', es("boi->obi", a)),
        ("b14", 'permute("...b|...i->...o => ...i|...o->...b", r)', es("pbsoqi->pisbqo", r)),
        ("b16", 'sum("...|...->...o => o", a)', [42, 60, 78, 96]),
        ("b17", 'sum("...|...->...o => o", p)', [12, 15, 18, 21]),
        ("b19", 'einsum("...|i->...; ...|...->i => ...|i", c, d)', es("boi,bij->bi", c, d)),
        ("b20", 'einsum("i->...; j->... => ...ij", q, v)',
         [[[0, 0, 0, 0], [0, 1, 2, 3]], [[8, 10, 12, 14], [12, 15, 18, 21]], [[32, 36, 40, 44], [40, 45, 50, 55]]]),
        ("b22", 'sum("...|...->... => ...|...->0", a)', np.array([[18, 22, 26], [66, 70, 74]])[:, None, :]),
        ("b23", 'sum("...|...->... => 0", q)', [15]),
        ("b25", 'einsum("...|i->1; ...|...->i => ...|i", c, d)',
         [[0, 5, 12, 21], [48, 65, 84, 105], [160, 189, 220, 253]]),
        ("b26", 'einsum("...|i->1; ...|j...->i => ...|ij", c, e)', es("bi,bijk->bij", c[:, 1], e)),
        ("b29", 'sum("ii => i", m)', [0, 4, 8]),
        ("b31", 'einsum("i; j => i->j", three, four)', [[0, 0, 0], [0, 1, 2], [0, 2, 4], [0, 3, 6]]),
        ("b34", 'einsum("i;i;i=>i", pred, tens, ones, op=where)', [10, 2, 30, 4]),
        ("b35", 'einsum("ij;ij;ij=>i", eye, t2, o2, op=where)', [12, 43]),
        ("b40", 'einsum("..g.. | i, f; ..g.. | j, f => ..g.. | i, j, f", src, src)', es("gif,gjf->gijf", x["src"], x["src"])),
        ("b41", 'einsum("..g.. | v, u; ..g.. | u, f => ..g.. | v, f", adj, src)', es("gvu,guf->gvf", x["adj"], x["src"])),
        ("r12", 'sum("...|..len.. => ...|0", src) with (len)', x["src"].sum((1, 2))[:, None]),
        ("r12d", "{size : [1] = 0} + len", [12]),
        ("r13", 'einsum("g | s, f; g | t, f => g, s | t", src, src)',
         es("gsf,gtf->gst", x["src"], x["src"])),
        ("r19", 'reduce(max, "ij=>i", 0 - p)', (-x["p"]).max(1)),
        ("r19s", 'sum("ij=>i", p)', x["p"].sum(1)),
    ]


def written_axes():
    inputs = given(five="5", four="4", g="3,4")
    five = inputs["five"][1]
    sparse = np.zeros((4, 3), np.float32)
    sparse[:, 1] = range(4)
    fixed = np.zeros((3, 2, 4), np.float32)
    fixed[:, 1] = counting(3, 4)
    return inputs, [
        ("c1", 'sum("i=>ii", five)', np.diag(five)),
        ("c3", 'let sparse = sum("i=>i1", four)\nsum("i2=>i", sparse)', sparse[:, 2]),
        ("c3b", "id(sparse)", sparse),
        ("c4", 'sum("ij=>i1j", g)', fixed),
        ("c6", 'sum("i=>i0j", four)', counting(4)[:, None, None]),
        ("c7", 'sum("i=>ii", five) + 1', np.diag(five) + 1),
        ("c7r", 'let spread = sum("i=>ii", five)\nspread + (five + 1)', np.diag(five) + five + 1),
    ]


def leaves():
    x = counting(3, 5, 3)
    one = {"x": ("3,5,3", x), "pad": ("2,3", counting(2, 3) + 1)}
    return one, [
        ("e17", 'x + permute("a,b,..r.. => ..r..,b,a", x)', x + x.transpose(2, 1, 0)),
        ("f6", "({hey = 7} * ([2] : q)) + ([1] : p)", [15]),
        ("f7", "2 .* {hey7 = 7}", 14),
        ("f9", "0.5 .* ({w20 : [_ -> _] = 1} * range(20)) + range(20)", 95 + np.arange(20)),
        ("f12", "[[pad, pad], {c = 2}]", np.stack([np.stack([counting(2, 3) + 1] * 2), np.full((2, 2, 3), 2)])),
        ("h13", "[| pad, pad |]", np.stack([counting(2, 3) + 1] * 2)),
        ("h17", "[pad]", counting(2, 3)[None] + 1),
    ]


def blocks():
    inputs = given(u="2,2", v3="3,3", seven="7")
    inputs.update(numbers(a=("3", f32(1, 2, 3)), b=("2", f32(4, 5)), z5=("5", np.zeros(5, np.float32)),
                          ten=("2", f32(10, 20)), thirty=("3", f32(30, 40, 50)), sixty=("2", f32(60, 70)),
                          s1=("1", f32(9)), big=("7", f32(10, 20, 30, 40, 50, 60, 70)),
                          c4=("3", f32(4, 5, 6))))
    seven = inputs["seven"][1]
    return inputs, [
        ("h1", 'concat("a; b => a^b", a, b)', [1, 2, 3, 4, 5]),
        ("h2", 'concat("a; b; c => a^b^c", ten, thirty, sixty)', [10, 20, 30, 40, 50, 60, 70]),
        ("h4", 'concat("a; b; c => a^b^c", s1, a, b)', [9, 1, 2, 3, 4, 5]),
        ("h4b", 'concat("a; b; c => a^b^c", b, a, s1)', [4, 5, 1, 2, 3, 9]),
        ("h5", 'concat("a; b => a^b", concat("a; b => a^b", ten, thirty), sixty)', [10, 20, 30, 40, 50, 60, 70]),
        ("h7", 'concat("i; m; k => i^m^k", sum("ii => i", u), sum("ii => i", v3), sixty) + 0 .* seven',
         [0, 3, 0, 4, 8, 60, 70]),
        ("h8", 'z5 + concat("a; b => a^b", b, a)', [4, 5, 1, 2, 3]),
        ("h11", 'concat("a; b; c => a^b^c", sixty, a, b) + concat("a; b; c => a^b^c", ten, thirty, sixty)',
         [70, 90, 31, 42, 53, 64, 75]),
        ("h14", "(a, c4)", [[1, 4], [2, 5], [3, 6]]),
        ("h16", "[(a, c4), (a, c4)]", [[[1, 4], [2, 5], [3, 6]]] * 2),
        ("h19", "([1, 2], [3, 4])", [[1, 3], [2, 4]]),
        ("h28", 'concat("i; j => i^j", a, [0, 0])', [1, 2, 3, 0, 0]),
        ("skip", 'sum("3^a => a", seven)', seven[3:]),
        ("cut", 'sum("a^3 => a", seven)', seven[:4]),
        ("left", 'sum("1^i => i", seven)', seven[1:]),
        ("pad", 'sum("i => 1^i", seven)', np.concatenate([[0], seven])),
        ("r24", 'a + sum("a^b => a", big)', [11, 22, 33]),
        ("r24b", 'a + sum("a^b => b", big)', [51, 62, 73]),
    ]


def windows():
    r9 = counting(9, 9)
    i44 = counting(4, 4)
    inputs = {"im": ("9,9,1", r9[:, :, None]), "im4": ("4,4,1", i44[:, :, None]), "im2": ("7,7,2", counting(7, 7, 2)),
              "rgb": ("4,4,3", counting(4, 4, 3)), "neg": ("4,4", i44 - 16), "ones": ("4,4", np.ones((4, 4), np.float32)),
              "ker": ("2,2", f32(0, 0, 0, 10).reshape(2, 2)), "a": ("3", f32(1, 2, 3)), "b": ("3", f32(4, 5, 6)),
              "s32": ("3,2", counting(3, 2) + 10), "dw": ("6,6,5", counting(6, 6, 5)), "dk": ("3,3,5", counting(3, 3, 5))}

    def pool(x, w, s):
        n = (x.shape[0] - w) // s + 1
        return np.array([[x[s * i:s * i + w, s * j:s * j + w].max((0, 1)) for j in range(n)] for i in range(n)])

    def same(x, f, neutral):
        y = np.pad(x, 1, constant_values=neutral)
        return np.array([[f(y[i:i + 3, j:j + 3]) for j in range(4)] for i in range(4)])

    dw, dk = inputs["dw"][1], inputs["dk"][1]
    deep = sum(dw[i:i + 4:3, j:j + 4:3] * dk[i, j] for i in range(3) for j in range(3))
    return inputs, [
        ("i4", 'einsum("2*oh <+ kh, 2*ow <+ kw, c; kh, kw => oh, ow, c", im, {k4 : [3, 3] = 1})',
         sum(r9[i:i + 7:2, j:j + 7:2] for i in range(3) for j in range(3))[:, :, None]),
        ("i6", 'reduce(max, "2*oh <+ kh, 2*ow <+ kw, c => oh, ow, c", im4) with (kh = 2, kw = 2)',
         np.array([[5, 7], [13, 15]])[:, :, None]),
        ("i7", 'reduce(max, "2*oh <+ kh, 2*ow <+ kw, c => oh, ow, c", im2) with (kh = 3, kw = 3)',
         pool(counting(7, 7, 2), 3, 2)),
        ("i9", 'reduce(max, "2*oh <+ kh, 2*ow <+ kw, c => oh, ow, c", rgb) with (kh = 2, kw = 2)',
         [[[15, 16, 17], [21, 22, 23]], [[39, 40, 41], [45, 46, 47]]]),
        ("i12", 'einsum("2*oh <+ kh, 2*ow <+ kw; kh, kw => oh, ow", ones, ker, op=add, reduce=max)', np.full((2, 2), 11)),
        ("i15", 'reduce(max, "oh =+ kh, ow =+ kw => oh, ow", neg) with (kh = 3, kw = 3)',
         same(i44 - 16, np.max, -np.inf)),
        ("i15s", 'sum("oh =+ kh, ow =+ kw => oh, ow", neg) with (kh = 3, kw = 3)', same(i44 - 16, np.sum, 0)),
        ("i21", 'sum("i => 2*i,", a)', [1, 0, 2, 0, 3, 0]),
        ("i22", 'einsum("o <+ k; k => o", {x6 : [6] = 1}, a)', [6, 6, 6, 6]),
        ("i22r", 'einsum("o; k => o <+ k", [1, 1, 1, 1], a)', [1, 3, 6, 6, 5, 3]),
        ("i25", 'einsum("3*oh <+ kh, 3*ow <+ kw, ..ic..; kh, kw, ..ic.. => oh, ow, ..ic..", dw, dk)', deep),
        ("i28", 'sum("oh, wh => 2*oh <+ wh", s32)', [10, 11, 12, 13, 14, 15]),
        ("shift", 'sum("i + 1 => i", a)', [2, 3]),
        ("j6", 'sum("a, b => 3*a <+ 4*b", s32)', [10, 0, 0, 12, 11, 0, 14, 13, 0, 0, 15]),
        ("j9", 'einsum("i; j => i <+ j", a, b)', np.convolve([1, 2, 3], [4, 5, 6])),
    ]


def programs():
    inputs = given(images="2|4,3", x23="2,3")
    inputs.update(numbers(lit=("2|3", f32(1, 2, 3, 4, 5, 6).reshape(2, 3)), up=("4", f32(1, 2, 3, 4)),
                          tens=("4", f32(10, 20, 30, 40)), w31=("2->1", f32(-3, 1).reshape(1, 2)),
                          x20=("2", f32(2, 0)), a32=("3->2", f32(1, 2, 3, 4, 5, 6).reshape(2, 3)),
                          b13=("1->3", f32(1, 0, 1).reshape(3, 1)), trit=("3", f32(-1, 0, 2)),
                          steps=("5", f32(0, 1, 3, 6, 10)), odd=("3", np.array([0, 2, 1], np.int32)),
                          rope=("4", f32(5, 6, 7, 8))))
    return inputs, [
        ("k1", "images @ 1", counting(2, 4, 3)[1]),
        ("k4", "let more = images + 1\n2 .* (more @ 1)", 2 * (counting(2, 4, 3)[1] + 1)),
        ("k2", "2 .* (lit @ 0)", [2, 4, 6]),
        ("k2b", "2 .* (lit @ 1)", [8, 10, 12]),
        ("l1", "let z = 5\n3 .* z ** 2 - 4 .* z + 5", 60),
        ("l4", "w31 * x20 + [6.7]", [0.7]),
        ("l6", "where(1, 2, 3) + 10 .* where(0, 2, 3)", 32),
        ("l7", "fma(up, tens, 0.5)", [10.5, 40.5, 90.5, 160.5]),
        ("l9", "a32 * b13", np.array([[4], [10]])),
        ("l10", "where(trit == 0, 5, where(0 < trit, 1, 0))", [0, 5, 1]),
        ("l12", 'f32(einsum("i; j => i, j", range(3), range(3), op=sub) == 0)', np.eye(3)),
        ("l12t", 'f32(einsum("i; j => i, j", range(3), range(3), op=sub) <= 0)', np.triu(np.ones((3, 3)))),
        ("l12m", 'where(einsum("j; i => i, j", range(3), [2, 1], op=sub) < 0, x23, 0)', [[0, 1, 0], [3, 0, 0]]),
        ("l13", 'let low = f32(einsum("i; o => i, o", range(4), range(4), op=sub) <= 0)\neinsum("i, o; i => o", low, up)', [1, 3, 6, 10]),
        ("l13f", 'einsum("i; i, o => o", up, f32(einsum("i; o => i, o", range(4), range(4), op=add) == 3))', [4, 3, 2, 1]),
        ("l13d", 'sum("1^i => i", steps) - sum("i^1 => i", steps)', [1, 2, 3, 4]),
        ("l13r", 'concat("i; j => i^j", sum("1^i => i", up), sum("i^3 => i", up))', [2, 3, 4, 1]),
        ("l15", 'einsum("i; i, o => o", up, f32(einsum("i; o => i, o", range(4), range(3), op=sub) == 0))', [1, 2, 3]),
        ("l16", 'let turn = [1, 0.01]\nlet even = sum("2*i, => i", rope)\nlet od = sum("2*i + 1 => i", rope)\n'
         'sum("i => 2*i,", even .* cos(turn) - od .* sin(turn)) + sum("i => 2*i + 1", even .* sin(turn) + od .* cos(turn))',
         [-2.3473, 7.4492, 6.9197, 8.0696]),
        ("l18", 'f32(einsum("t; c => t, c", odd, range(3), op=sub) == 0)', np.eye(3)[[0, 2, 1]]),
    ]


def routines():
    """Steps that write a part of what they set."""
    inputs = given(three="3", big="7")
    inputs["later"] = ("3", f32(4, 5, 6))
    lines = ["input %s : %s" % (name, shape_text(rows_of(rows))) for name, (rows, _) in inputs.items()]
    cases = [
        ("i19", ["=:+ id(three) via \"..., i => ..., 2*i\"", "=+ id(later) via \"..., i => ..., 2*i + 1\""],
         ("three", "later"), [0, 4, 1, 5, 2, 6]),
        ("r25", ["=: big", "=: id(later) via \"a => a^b\""], ("big", "later"), [4, 5, 6, 3, 4, 5, 6]),
        ("r25c", ["=: big", "=:+ id(later) via \"a => a^b\""], ("big", "later"), [4, 5, 6, 0, 0, 0, 0]),
    ]
    for name, steps, _, _ in cases:
        lines += ["routine %s() -> t {" % name] + ["    t %s" % step for step in steps] + ["}"]
    model = Model("\n".join(lines) + "\n")
    for name, _, reads, want in cases:
        got, = model.forward((), [inputs[r][1] for r in reads], [((len(want),), np.float32)], routine=name)
        check("routines/%s" % name, got, np.array(want, np.float32))
    return len(cases)


total = routines()
for make in (specifications, written_axes, leaves, blocks, windows, programs):
    total += run_group(make.__name__, *make())
print("%d cases have their numbers" % total)
