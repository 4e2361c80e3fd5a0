"""Cases of inference with known results, by the letter and number under which they are known: a program, and lines
that --dump shows of its shapes, index maps or loops, or the code of its error. The shapes of a case with @N in its name
are those of stage N. Every case runs under several orders of the constraints; ../../numbers/Inputs/cases.py has those
that are about numbers.

Not here, because their results are gradients or come from training: i10, i13, l3."""
import sys

from known import failures

CASES = [
    # specifications: modes, rows, letters
    ("a2", 'input x : [2, 3, 4]\noutput y = sum("a, b, c => b", x)', "y : f32 [3]"),
    ("a3", 'input x : [2, 3]\noutput y = sum("a, b, => b", x)', "y : f32 [3]"),
    ("a5", 'input x : [2, 3]\noutput y = permute("ab => ba", x)\noutput z = permute("ab,cd => cd,ab", x)', "y : f32 [3, 2]", "z : f32 [3, 2]"),
    ("a6", 'input x : [2 | 3 -> 4]\noutput y = sum("b|i->o => b|i->o", x)', "y : f32 [2 | 3 -> 4]"),
    ("a8", 'input x : [8]\noutput y = sum("2*o+k => o", x)', "E0216"),
    ("a9", 'input x : [9, 5]\noutput y = sum("2*o <+ 3*k, x => o, x", x) with (k = 3)', "y : f32 [2, 5]"),
    ("a11", 'input x : [2, 3]\noutput y = sum("i, j => i -> 2*i <+ j", x)', "y : f32 [2 -> 5]"),
    ("a12", 'input x : [2 | 3 -> 9]\noutput y = sum("batch|input->3*output <+ 1*kernel, => batch|input->output", x) with (kernel = 3)', "y : f32 [2 | 3 -> 3]"),
    ("a14", 'input x : [6, 2, 9]\noutput y = sum("2*i, regular, 3*strided => i, regular, strided", x)', "y : f32 [3, 2, 3]"),
    ("a17", 'input x : [2 | 3]\noutput y = sum("i => i", x)', "E0303"),
    ("a18", 'input x : [11]\noutput y = sum("10 => ", x)', "y : f32 []"),
    ("a20", 'input x : [2, 3]\noutput y = einsum("..d.., d; d, e => ..d.., e", x, x)', "E0135"),
    ("a21", 'input x : [2, 3]\noutput y = sum("..v.., v => v, ..v..", x)', "E0135"),
    # rows
    # an open row inside another: flanks add up, and leading axes stay at the left edge
    ("d2", 'input s : [4]\ninput z : [3, 5, 4]\nlet y = einsum("..r..; a, ..r.. => a, ..r..", s, {w : [3, ...]})\noutput q = z + y', "w : f32 [3, 4]", "y : f32 [3, 4]", "q : f32 [3, 5, 4]"),
    ("d2p", 'input s : [4]\ninput z : [3, 5, 4]\nlet y = einsum("..r..; a, ..r.. => a, ..r..", s, {w : [3, ...]})\nlet u = y + s\noutput q = z + u', "u : f32 [3, 4]", "q : f32 [3, 5, 4]"),
    ("d3", 'input s : []\ninput z : [7, 2]\nlet y = einsum("..r..; a, ..r.. => a, ..r..", s, {w : [7, ...]})\noutput q = z + y', "y : f32 [7]", "q : f32 [7, 2]"),
    # what a leaf takes of uses that differ
    ("d5", 'input s : [7]\nlet p = {p = 0}\noutput y = p + einsum("..r..; a => a, ..r..", s, {u : [3]})\noutput z = p + einsum("..r..; a => a, ..r..", s, {v : [5]})', "p : f32 [1, 7]"),
    ("d6", 'input s : [7]\ninput t : [11]\nlet p = {p = 0}\noutput y = p + einsum("..r..; a => a, ..r..", s, {u : [3]})\noutput z = p + einsum("..r..; a => a, ..r..", t, {v : [3]})', "p : f32 [3, 1]"),
    ("d6r", 'input s : [7]\ninput t : [8, 7]\nlet p = {p = 0}\noutput y = p + einsum("..r..; a, b => a, b, ..r..", s, {u : [3, 5]})\noutput z = p + einsum("..r..; a => a, ..r..", t, {v : [3]})', "p : f32 [3, 7]", "y : f32 [3, 5, 7]", "z : f32 [3, 8, 7]"),
    ("d8", 'input s : [7]\nlet p = {p}\noutput y = p + einsum("..r..; a => a, ..r..", s, {u : [4]})\noutput z = sum("a, ..r.. => ..r..", p) with (a = 4)', "p : f32 [4, 7]", "z : f32 [7]"),
    ("d9", 'input x : [3, 4, 7]\noutput y = sum("3^i, ..rho.., j => ..rho..", {p : [6, 4, 7]}) + sum("i, ..rho.., j => ..rho..", x)', "y : f32 [4]"),
    # shifted rows: the least material that fits all of them; a parameter has to be told
    ("d11", 'let p = offsets()\noutput y = einsum("a, ..r..; ..r.., b => a, b", p, p) with (a = 3)', "p : i32 [3]", "y : i32 [3, 3]"),
    ("d11w", 'let p = {p = 0}\noutput y = einsum("a, ..r..; ..r.., b => a, b", p, p) with (a = 3)', "E0307"),
    ("d17@4", 'let p = offsets()\noutput y = sum("a, ..r.. => a", p) with (a = 5)\noutput z = sum("..q.., b, c => b, c", p) with (b = 5, c = 3)', "y : i32 [] | [] -> [5]", "z : i32 [] | [] -> [5, 3]"),
    ("d17", 'let p = offsets()\noutput y = sum("a, ..r.. => a", p) with (a = 5)\noutput z = sum("..q.., b, c => b, c", p) with (b = 5, c = 3)', "p : i32 [5, 3]"),
    ("d17l", 'let p = offsets()\noutput y = sum("a, ..r.. => a", p) with (a = 5)\noutput z = sum("..q.., b, c => b, c", p) with (b = 7, c = 3)\noutput u = sum("d, e, f, ..r.. => d", p)', "p : i32 [5, 7, 3]"),
    ("d18", 'let p = {p = 0}\noutput y = einsum("a, ..r..; ..r.. => ..r..", p, {w}) with (a = 5)\noutput z = einsum("..q.., b, c; ..q.. => b, c", p, {k : [] = 1}) with (b = 5, c = 3)', "p : f32 [5, 3]", "w : f32 [3]"),
    ("d12", 'output y = einsum("..r.., a; ..r.., a => a", {u : [..., 3] = 0}, {v : [..., 5] = 0})', "E0301"),
    ("d14", 'input a : [3]\ninput b : [3]\noutput y = a + b', "y : f32 [3]"),
    ("d15", 'input a : [3, 5]\ninput b : [5]\noutput y = a + b', "y : f32 [3, 5]"),
    ("d21", 'let a = {a : [... -> 2]}\nlet b = {b : [... -> 2]}\noutput y = a * stack(output, b.T, b.T)\noutput z = b * stack(output, a.T, a.T)', "E0305"),
    ("d26", 'let w = {w : [... -> ...]}\noutput y = w * stack(output, w.T, w.T)', "E0305"),
    ("d27", 'input a : [3]\ninput b : [3, 2]\noutput y = a * b', "E0302"),
    # sizes
    ("e9", 'input x : [4611686018427387904]\noutput y = concat("i; j => i^j", x, x)', "E0347"),
    ("e11", 'input a : [x:2]\ninput b : [x:3]\noutput y = concat("a; b => a^b", a, b)', "y : f32 [x:5]"),
    ("e11c", 'input a : [x:2]\ninput b : [z:3]\noutput y = concat("a; b => a^b", a, b)', "E0304"),
    ("e11m", 'input a : [x:2]\ninput b : [3]\noutput y = concat("a; b => a^b", a, b)', "y : f32 [x:5]"),
    ("e13", 'input a : [x:4]\ninput b : [x:8]\noutput y = sum("i => 2*i,", a)\noutput z = sum("2*i, => i", b)', "y : f32 [x:8]", "z : f32 [x:4]"),
    ("e13v", 'input a : [x:6]\ninput k : [3]\noutput y = einsum("o <+ k; k => o", a, k)', "y : f32 [x:4]"),
    ("e14", 'input three : [3]\ninput five : [5]\nroutine r() -> out, other, a, b {\n  b =: 1\n  a =: id(b)\n  out =: three + a\n  other =: five + b\n}', "buffer a : f32 [1] out of r", "buffer b : f32 [1] out of r"),
    ("e16", 'input three : [3]\ninput five : [5]\nlet a = {a : [_]}\nlet b = {b : [_]}\noutput x = three + a\noutput y = a + b\noutput z = five + b', "E0301"),
    # a lower bound alone leaves a size open (3 and 1 would do) until leaves take what their uses have
    ("e20@3", 'input three : [3]\noutput y = three + {a : [_]}', "a : f32 [] | [] -> [?]"),
    ("e20", 'input three : [3]\noutput y = three + {a : [_]}', "a : f32 [3]"),
    ("f3", "output y = {w} * [3, 4, 5]", "E0307"),
    ("f4", "output y = [1, 2] + ({w} * [3, 4, 5])", "w : f32 [3 -> 2]"),
    # captured and given sizes
    ("g2", 'input x : [5, 7]\noutput y = (permute("ij => ji", x) .* i + j with (i, j))', "y : f32 [7, 5]"),
    ("g3", 'input x : [2, 3, 4]\ninput y : [3, 4, 5]\nlet z = einsum("a, ..r..; ..r.., b => a, b", x, y) with (r)\noutput q = z + {p : [r, 1, 1] = 0}', "q : f32 [12, 2, 5]"),
    ("g5", 'input x : [42]\nlet s = sum("v => ", x) with (v)\noutput y = sum("w => w", {p}) with (w = v)\noutput t = s', "y : f32 [42]"),
    ("g5e", 'output y = sum("v, w => v", {p : [50, _]}) with (v = 75)', "E0301"),
    ("g6", 'input x : [3, 4]\ninput y : [4, 5]\noutput z = einsum("pq; qr => pr", x, y)', "z : f32 [3, 5]"),
    ("g8", 'input x : [4, 6]\ninput y : [6, 4]\nlet z = einsum("ij; jk => ik", x, y) with (i, k)\nrequire i == k\noutput o = z', "o : f32 [4, 4]"),
    ("g9", 'input x : [3, 5, 7]\ninput y : [5, 7, 3]\nlet z = einsum("abc; bcd => ad", x, y) with (a, d, c = 7)\nrequire a == d\noutput o = z', "o : f32 [3, 3]"),
    ("g11", 'input x : [2, 4, 8]\nlet z = permute("..mix.., n => n, ..mix..", x) with (mix, n)\nrequire mix == n\noutput o = z', "o : f32 [8, 2, 4]"),
    ("g12", 'input c : [4, 5]\ninput d : [5, 6]\nlet t = permute("a,b=>b,a", c)\noutput y = einsum("e, d; e, f => d, f", t, d)', "y : f32 [4, 6]"),
    ("g14", 'let base = {base : [_, _]}\noutput t = permute("ab=>ba", base) with (a = 6, b = 8)\noutput m = einsum("ba; bc=>ac", permute("ab=>ba", base), {q : [_, 10]})', "base : f32 [6, 8]", "t : f32 [8, 6]", "q : f32 [8, 10]", "m : f32 [6, 10]"),
    ("g15", 'input a : [7, 8]\ninput b : [8, 9]\noutput y = einsum("xy; yz => xz", a, b)', "y : f32 [7, 9]"),
    ("g17", 'input a : [8]\nlet s = sum("i => ", a) with (i)\noutput h = sum("k => k", {w}) with (k = 2*i)\noutput t = s', "h : f32 [16]"),
    ("g17r", 'let h = {h : [16]}\noutput y = sum("2*i, => i", h)', "y : f32 [8]"),
    ("g18", 'input a : [4]\ninput b : [9]\nlet x = sum("i => ", a) with (i)\nlet y = sum("k => ", b) with (k)\nrequire k == 2*i\noutput z = x + y', "E0301"),
    ("g20", 'input a : [4]\noutput y = sum("0*i, => i", a)', "E0134"),
    ("g21", 'input a : [4]\nlet x = sum("i => ", a) with (i)\noutput y = sum("k => k", {w}) with (k = 2*i)\noutput z = x', "y : f32 [8]"),
    # concatenations
    ("h10", 'input a : [2]\ninput b : [3]\noutput y = sum(concat("a; b; c => a^b^c", a, b, a) + {d})', "d : f32 [7]"),
    ("h20", "output y = stack(output)", "E0206"),
    ("h22@3", 'let q = offsets()\noutput y = sum("a^b^c => a", q)\noutput z = sum("d^e => d", q)', "y : i32 [] | [] -> [a]", "z : i32 [] | [] -> [d]"),
    ("h22", 'let q = offsets()\nlet r = offsets()\nlet t = offsets()\noutput y = einsum("a^b^c; a; b => c", q, r, t)\noutput z = sum("d^e => d", q)\noutput v = sum("d^e => e", q)\noutput o = sum("6 => ", r) + sum("8 => ", t)', "y : i32 [1]", "z : i32 [17]", "v : i32 [17]", "q : i32 [17]"),
    ("h23p", 'let q = offsets()\noutput y = sum("a^b => b", q)\noutput z = sum("c^d => c", q) with (d = 4)', "q : i32 [5]", "y : i32 [5]", "z : i32 [1]"),
    ("h25", 'let q = offsets()\noutput y = sum("a^b => a", q) with (a = 5, b = 7)\noutput z = sum("2*o <+ k => o", q) with (k = 2)', "q : i32 [12]", "y : i32 [5]", "z : i32 [6]"),
    ("h26@3", 'let q = offsets()\noutput y = einsum("s^a^b; s => a", q, {u : [4]})\noutput z = einsum("s^c; s => c", q, {v : [4]})', "y : f32 [] | [] -> [a]", "z : f32 [] | [] -> [c]"),
    ("h26", 'let q = offsets()\noutput y = einsum("s^a^b; s => a", q, {u : [4]})\noutput z = einsum("s^c; s => c", q, {v : [4]})\noutput x = z + [1, 2, 3]', "q : i32 [7]", "y : f32 [3]"),
    ("h26p", 'let q = offsets()\noutput y = sum("s^p => p", q) with (s = 4)\noutput z = sum("s^q^r => q", q) with (s = 4)\noutput x = y + [1, 2, 3]', "q : i32 [7]", "z : i32 [3]"),
    ("h26s", 'let q = offsets()\noutput y = sum("s^a^b => a", q) with (s = 4)\noutput z = sum("c^s => c", q) with (s = 4)\noutput x = y + [1, 2, 3]', "q : i32 [7]", "z : i32 [3]"),
    ("h23", 'input x : [9]\ninput p : [4]\noutput y = einsum("a^b; a => b", x, p)', "y : f32 [5]"),
    ("h29", 'input x : [5]\ninput a : [7]\noutput y = einsum("a^b; a => a", x, a)', "E0344"),
    # index maps: is every cell written, and once? What that says of the clearing, and of the loops that fuse
    ("j2", 'input x : [5]\noutput y = sum("i => ii", x)', "space  i:5", "result [i, i]  cleared first"),
    ("j3", 'dim n\ninput x : [n, 2]\noutput y = sum("oh, wh => 2*oh <+ wh", x)', "result [2*oh + wh]"),
    ("j5", 'input x : [3]\noutput y = einsum("i; j => i <+ j", x, x)', "result [i + j]  cleared first"),
    ("j5k", 'input x : [3]\noutput y = einsum("o; k => 2*o <+ k", x, x)', "result [2*o + k]  cleared first"),
    ("j6", 'input x : [3, 2]\noutput y = sum("a, b => 3*a <+ 4*b", x)', "result [3*a + 4*b]  cleared first"),
    ("j8", 'input x : [3, 2]\noutput y = sum("oh, wh => 2*oh <+ wh", x)', "y : f32 [6]", "result [2*oh + wh]"),
    ("j11", 'input x : [3]\nlet up = 2 .* x\noutput y = up + 1', "y[i0] = (2 * x[i0]) + 1"),
    ("j12", 'input x : [40]\nlet full = einsum("i; j => i <+ j", x, x)\noutput y = 2 .* full + 1', "buffer full : f32 [79] temp at 0 of forward", "y[i0] = (2 * full[i0]) + 1"),
    ("i24", 'input x : [8]\noutput y = reduce(max, "2*o <+ k => o", x) with (k = 3)', "E0341"),
    # a slice of what is computed is computed where it is read
    ("k4", 'input x : [2 | 4, 3]\nlet up = x + 1\noutput y = 2 .* (up @ 1)', "y : f32 [4, 3]", "y[i1] = 2 * (x[i1 + 12] + 1)"),
    ("k13", "input x : [2 | 3]\noutput y = x @ 2", "E0306"),
    # whole operations
    ("r1", 'input a : [3 | 4 -> 2]\ninput b : [4]\noutput y = einsum("...|i->1; ...|...->i => ...|i", a, b)', "E0303"),
    ("r3", "input x : [3, 4]\ninput y : [4]\noutput z = x + y", "z : f32 [3, 4]"),
    ("r3e", "input x : [3, 4]\ninput y : [3]\noutput z = x + y", "E0301"),
    ("r4", "input x : [5 | 7]\noutput y = {w} * x + [1, 2, 3]", "w : f32 [7 -> 3]", "y : f32 [5 | 3]"),
    ("r6", 'fn conv(out)(x) = relu(einsum("... | oh =+ kh, ow =+ kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..", x, {w : [5, 5, ... -> out]}) + {b : [out]})\nfn pool(x) = reduce(max, "... | 2*oh <+ wh, 2*ow <+ ww, c => ... | oh, ow, c", x) with (wh = 2, ww = 2)\ninput x : [8 | 16, 16, 1]\nlet c1 = conv(6)\nlet c2 = conv(16)\nlet a = c1(x)\nlet b = pool(a)\nlet c = c2(b)\nlet d = pool(c)\nlet e = relu({w1 : [... -> 120]} * d + {b1})\nlet f = relu({w2 : [... -> 84]} * e + {b2})\noutput y = {w3 : [... -> 3]} * f + {b3}', "a : f32 [8 | 16, 16, 6]", "b : f32 [8 | 8, 8, 6]", "c : f32 [8 | 8, 8, 16]", "d : f32 [8 | 4, 4, 16]", "c1.w : f32 [5, 5, 1 -> 6]", "c2.w : f32 [5, 5, 6 -> 16]", "w1 : f32 [4, 4, 16 -> 120]", "w2 : f32 [120 -> 84]", "w3 : f32 [84 -> 3]", "y : f32 [8 | 3]"),
    ("r7", 'input x : [5, 5, 1]\noutput y = einsum("oh <+ kh, ow <+ kw, ..ic..; kh, kw, ..ic.. -> oc => oh, ow, oc", x, {w}) + {b : [4]} with (kh = 3, kw = 3)', "w : f32 [3, 3, 1 -> 4]"),
    ("r9", 'input x : [6, 6, 5]\noutput y = einsum("oh <+ kh, ow <+ kw, ic; kh, kw -> ic => oh, ow, ic", x, {dw}) with (kh = 3, kw = 3)', "dw : f32 [3, 3 -> 5]"),
    ("r10", 'input x : [4, 4, 3]\noutput y = einsum("2*oh <+ wh, 2*ow <+ ww, c; wh, ww => oh, ow, c", x, {k = 0}, op=add, reduce=max) with (wh = 2, ww = 2)', "k : f32 [2, 2]", "y : f32 [2, 2, 3]"),
    ("r15", 'let s = sum("...|..i.. -> ..o.. => 0", {w : [100 -> 40]}) with (i, o)\noutput y = s .* (6 / (i + o))', "y : f32 [1]"),
    ("r16", "input x : [12]\ninput y : [2 | 3 -> 1]\noutput z = reshape(x) + y", "z : f32 [2 | 3 -> 2]"),
    ("r18", 'input x : [3, 4]\noutput y = sum("ii => i", x)', "E0301"),
    ("r21", 'input x : [9]\noutput y = einsum("o =+ k; k => o", x, [1, 1, 1]) + einsum("o =+ k; k => o", x, [1, 1, 1, 1, 1])', "y : f32 [9]"),
    ("r22", "input x : [3, 4 | 5]\noutput y = x @ 2", "y : f32 [4 | 5]"),
]

print("%d cases, %d fail" % (len(CASES), failures(CASES, "shapes,proj,loops", (0, 1, 2, 7)[:int(sys.argv[2])])))
