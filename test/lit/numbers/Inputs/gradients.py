"""gradients.py TSRC [PATTERN]: gradients of every kind of operation. Each program below has an output `y`, one number, and gets an
output `d_NAME` for each of its inputs of floats, grad(y, NAME), and `t_NAME`, jvp(y, NAME, cos(NAME)). --check-grad holds them against differences in the reference, and
one program of all of them is held against the reference as loops and back ends have it (--verify=run). At kinks, what compiled
code gives is what KINKS says. With OPTIONS, those of code for a GPU, the program of a third of them (TSR_LONG: of all) in f32 has the numbers that it has
in f64 on this CPU, and kinks are those of such code."""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import tsr

TSRC = sys.argv[1]
OPTIONS = os.environ.get("OPTIONS", "").split()
PATTERN = sys.argv[2] if len(sys.argv) > 2 else "*"
UNARY = ("neg relu sat01 exp log exp2 log2 sin cos tan tanh sigmoid erf erfc gelu sqrt rsqrt recip abs log1p expm1 atan sinh cosh asinh "
         "softplus id lgamma").split()

# inputs, statements
CASES = {
    "functions": ("x : f64 [3, 2]", "output y = %s" % " + ".join("%d * sum(%s(x))" % (i + 1, op) for i, op in enumerate(UNARY))),
    "digamma": ("x : f64 [9]", "output y = sum(lgamma(3 * x - 2) .* x) + sum(lgamma(x + 30))"),
    "functions_inside_one": ("x : f64 [3, 2]", "let z = 0.5 * x - 0.3\noutput y = sum(asin(z)) + 2 * sum(acos(z)) + "
                             "3 * sum(atanh(z)) + 4 * sum(acosh(x + 1))"),
    "operators": ("a : f64 [3, 4]; b : f64 [4]", "let z = a + 2 * b - a .* b + a / b + a ** b + 2 * max(a, b) + 3 * min(a, b) + "
                  "atan2(a, b) + hypot(a, b) + a % b + copysign(a, b) + fma(a, b, a) + where(a < b, a, b) + relu_gate(a, b) + "
                  "sat01_gate(a - 0.5, b)\noutput y = sum(z .* z)"),
    "powers": ("a : f64 [3]", "output y = sum(a ** 2 + a ** 3 + a ** 0.5 + a ** (-1) + 2 ** a + a ** 1 + a ** 0)"),
    "broadcasts": ("x : f64 [4]; m : f64 [1, 4]; z : f64 [3, 1]; s : f64 []",
                   "let u = x + m + z - s\noutput y = sum(u) + sum(x) + sum(u .* u .* s) + 3 * s"),
    "constant_slopes": ("x : f64 [4]; b : f64 [2, 4]", "let r = sum(\"i => i, j\", x) with (j = 3)\noutput y = sum(x + b) + sum(r)"),
    "slope_1_of_a_number": ("x : f64 [4]; s : f64 []", "output y = sum(x - s)"),
    "slope_1_of_factors": ("a : f64 [4]; b : f64 [4]; c : f64 [3, 4]", "output y = sum(fma(a, b, c))"),
    "direction_1": ("x : f64 [4]; w : f64 [4]", "let r = einsum(\"i; i => i, j\", x, w) with (j = 3)\n"
                    "output y = sum(vjp(r, x, 1) .* x) + sum(vjp(r, w, r) .* x)"),
    "layer": ("x : f64 [n | 5]; w : f64 [5 -> 4]; b : f64 [4]", "let h = tanh(w * x + b)\noutput y = sum(h .* h .* h)"),
    "transpose": ("w : f64 [4 -> 3]; x : f64 [3]", "output y = sum((w.T * x) ** 3)"),
    "three_operands": ("a : f64 [4, 5]; b : f64 [5, 3]; c : f64 [3, 4]",
                       "output y = sum(einsum(\"ij; jk; kl => il\", a, b, c) ** 2)"),
    "repeated_letters": ("a : f64 [4, 4]; b : f64 [3]", "let d = sum(\"ii => i\", a)\n"
                         "let r = sum(\"i => i, k\", b) with (k = 2)\noutput y = sum(d ** 2) + sum(r ** 3) + sum(b)"),
    "padded": ("x : f64 [2 | 7, 6, 2]; w : f64 [3, 3, 2 -> 3]", "output y = sum(einsum(\"... | oh =+ kh, ow =+ kw, c; "
               "kh, kw, c -> d => ... | oh, ow, d\", x, w) ** 2)"),
    "strided": ("x : f64 [2 | 8, 7, 2]; w : f64 [3, 2, 2 -> 3]", "output y = sum(einsum(\"... | 2*oh <+? kh, 2*ow <+? kw, c; "
                "kh, kw, c -> d => ... | oh, ow, d\", x, w) ** 2)"),
    "dilated": ("x : f64 [2 | 9, 9, 2]; w : f64 [3, 3, 2 -> 3]", "output y = sum(einsum(\"... | 2*oh =+? 2*kh, ow =+ 2*kw, c; "
                "kh, kw, c -> d => ... | oh, ow, d\", x, w) ** 2)"),
    "written_windows": ("x : f64 [2 | 4, 4, 2]; w : f64 [3, 3, 2 -> 3]", "output y = sum(einsum(\"... | ih, iw, c; kh, kw, c -> d "
                        "=> ... | 2*ih <+ kh, 2*iw =+ kw, d\", x, w) ** 2)"),
    "borders": ("x : f64 [9]; w : f64 [3]", "\n".join("let z%d = einsum(\"o =+ k; k => o\", x, w, border = %s)" % (i, border) for i, border
                in enumerate(["reflect", "edge", "wrap"])) + "\noutput y = sum(z0 ** 2) + sum(z1 ** 3) + sum(z2 ** 2)"),
    "pooled": ("x : f64 [2 | 6, 6, 2]", "output y = sum(reduce(max, \"... | 2*oh <+ wh, 2*ow <+ ww, c => ... | oh, ow, c\", x) ** 2) "
               "with (wh = 2, ww = 2)"),
    "pooled_padded": ("x : f64 [2 | 7, 7, 2]", "output y = sum(reduce(max, \"... | 2*oh =+? wh, 2*ow =+? ww, c => ... | oh, ow, c\", x) ** "
                      "2) with (wh = 3, ww = 3)"),
    "extremes": ("x : f64 [4, 5, 2]", "output y = sum(reduce(min, \"i, j, k => i\", x) ** 2) + sum(reduce(max, \"i, j, k => j\", x) ** 3)"),
    "extremes_across": ("x : f64 [9, 5, 3]", "output y = sum(reduce(max, \"i, j, k => k, j\", x) ** 2)"),
    "products": ("x : f64 [4, 5]", "output y = sum(reduce(prod, \"i, j => i\", x) ** 2) + reduce(prod, \"i, j => \", x)"),
    "greatest_of_sums": ("a : f64 [3, 4]; b : f64 [4, 2]", "let z = einsum(\"ik; kj => ij\", a, b, op = add, reduce = max)\n"
                         "output y = sum(z ** 3) + sum(einsum(\"ik; kj => j\", a, b, op = mul, reduce = min) ** 2)"),
    "combined": ("a : f64 [3, 4]; b : f64 [4, 2]; c : f64 [4]", "let z = einsum(\"ik; kj => ij\", a, b, op = sub)\n"
                 "let w = einsum(\"ik; kj; k => i\", a, b, c, op = max)\nlet v = einsum(\"ik; kj; k => j\", a, b, c, op = min, reduce = prod)\n"
                 "output y = sum(z ** 3) + sum(w ** 3) + sum(v ** 2) + sum(einsum(\"ik; kj => j\", a, b, op = div) ** 2) + "
                 "sum(einsum(\"ik; kj; k => j\", a, b, c, op = fma) ** 2) + sum(einsum(\"ik; kj; k => j\", a < 0.5, b, c, op = where) ** 2)"),
    "combined_many": ("a : f64 [3, 2]; b : f64 [2, 3]; c : f64 [3]; d : f64 [2]", "output y = sum(einsum(\"ik; kj; j; k => ij\", a, b, c, d, "
                      "op = add, reduce = max) ** 3) + sum(einsum(\"ik; kj; j; k => i\", a, b, c, d, reduce = max) ** 2)"),
    "slope_1_of_combined": ("a : f64 [3]; b : f64 [4]", "output y = sum(einsum(\"i; k => i\", a, b, op = add))"),
    "combined_windows": ("x : f64 [7]; w : f64 [3]", "output y = sum(einsum(\"o =+ k; k => o\", x, w, op = add, reduce = max) ** 2) + "
                         "sum(einsum(\"o =+ k; k => o\", x, w, op = add) ** 3) + sum(einsum(\"2*o =+? k; k => o\", x, w, op = sub, reduce = prod) ** 2)"),
    "products_of_windows": ("x : f64 [7]", "output y = sum(reduce(prod, \"2*o =+? k => o\", x) ** 2) with (k = 3)"),
    "parts_folded": ("x : f64 [5, 4]; z : f64 [3, 4]", "let r = reduce(max, \"i^j, k => k\", x) with (i = 2)\n"
                     "let q = reduce(prod, \"i^j, k => i\", x) with (i = 2)\n"
                     "output y = sum(r ** 3) + sum(q ** 2) + sum(einsum(\"i, k; j, k => i^j\", x, z, reduce = min) ** 2)"),
    "greatest_at": ("t : f64 [6 | 4]; u : f64 [5]; ids : i32 [6 |]; places : i32 [5, 2]", "\n".join(
        "let z%d = scatter(\"b | d; b | => [v], d\", t, ids, reduce = %s, mode = %s) with (v = 3)" % (i, *words)
        for i, words in enumerate([("max", "wrap"), ("min", "clamp"), ("prod", "wrap"), ("set", "skip")])) + "\nlet full = scatter(\"b | d; b | => [v], d\", "
        "t, ids, mode = wrap) with (v = 3)\nlet s = scatter(\"b; b, k => [v]\", u, places, reduce = set, mode = wrap) with (v = 3)\n"
        "let some = isinf(z0) + isinf(z1)\noutput y = sum(where(some > 0, 0, z0 ** 2 + z1 ** 3)) + sum(z2 ** 2) + sum(z3 ** 2) + sum(s ** 2) + sum(full)"),
    "cumulated_otherwise": ("t : f64 [5 | 4]", "\n".join(
        "let z%d = cumulate(%s, \"%s\", t%s)" % (i, *words) for i, words in enumerate([
            ("max", "b | [d] => b | d", ""), ("min", "[b] | d => d, b", ", reverse"), ("max", "b | [d] => b | d", ", exclusive"),
            ("min", "b | [d] => b | d", ", exclusive, reverse"), ("prod", "b | [d] => d, b", ""), ("prod", "[b] | d => b | d", ", reverse"),
            ("prod", "b | [d] => b | d", ", exclusive"), ("prod", "b | [d] => b | d", ", exclusive, reverse")])) +
        "\noutput y = sum(z0 ** 2) + sum(z1 ** 3) + sum(where(isinf(z2), 0, z2 ** 2)) + sum(where(isinf(z3), 0, z3 ** 2)) + "
        "sum(z4 ** 2) + sum(z5 ** 3) + sum(z6 ** 2) + sum(z7 ** 2)"),
    "slope_1_of_written": ("x : f64 [4]; w : f64 [3]", "output y = sum(einsum(\"i; k => i =+ k\", x, w))"),
    "softmax": ("x : f64 [4, 5]; c : f64 [4, 5]", "let e = exp(x - reduce(max, \"i, j => i, 0\", x))\n"
                "output y = sum(e / sum(\"i, j => i, 0\", e) .* c)"),
    "layer_norm": ("x : f64 [3 | 8]; g : f64 [8]", "let d = x - sum(\"... | i => ... | 0\", x) / 8\nlet v = sum(\"... | i => ... | 0\", d .* d) / 8\n"
                   "output y = sum((g .* d .* rsqrt(v + 0.001)) ** 3)"),
    "parts": ("a : f64 [4, 3]; b : f64 [2, 3]", "let c = concat(\"i, k; j, k => i^j, k\", a, b)\nlet s = stack(batch, a, 2 * a)\n"
              "output y = sum(c ** 3) + sum(s .* s)"),
    "slices": ("a : f64 [4 | 3]", "output y = sum((a @ 2) ** 3) + sum(sum(\"1, k => k\", to_output(a)) ** 2)"),
    "reshaped": ("t : f64 [6, 4]; c : f64 [3, 8]", "let z = permute(\"(a b), c => a, b, c\", t) with (a = 2)\n"
                 "output y = sum((reshape(t) .* c) ** 2) + sum(z ** 3)"),
    "read_at": ("t : f64 [3, 4]; ids : i32 [5 |]", "let z = gather(\"[v], d; b | => b | d\", t, ids, mode = wrap)\n"
                "output y = sum(gather(t, ids) ** 3) + sum(z .* z)"),
    "added_at": ("t : f64 [5 | 4]; ids : i32 [5 |]", "output y = sum(scatter(\"b | d; b | => [v], d\", t, ids) ** 3) with (v = 3)"),
    "skipped": ("t : f64 [5 | 4]; u : f64 [2, 4]; ids : i32 [5 |]", "output y = sum(scatter(\"b | d; b | => [v], d\", t, ids, mode = skip) "
                "** 3) + sum(gather(\"[v], d; b | => b | d\", u, ids, mode = skip) ** 2) with (v = 2)"),
    "summed_at": ("t : f64 [5]; ids : i32 [5, 2]", "output y = sum(scatter(\"b; b, k => [v]\", t, ids) ** 3) with (v = 3)"),
    "cumulated": ("t : f64 [5 | 4]", "output y = sum(cumulate(sum, \"b | [d] => b | d\", t) ** 3) + "
                  "sum(cumulate(sum, \"[b] | d => d, b\", t, exclusive) ** 3) + sum(cumulate(sum, \"[b] | d => d, b\", t, reverse) ** 2)"),
    "sorted": ("t : f64 [5, 4]; c : f64 [5, 4]", "let (best, at) = topk(2, \"b, d => b, k\", t)\n"
               "output y = sum(sort(\"b, [d] => b, d\", t) .* c) + sum(best .* best)"),
    "steps": ("x : f64 [6 | 3]; h0 : f64 [4]; w : f64 [4 -> 4]; u : f64 [3 -> 4]; b : f64 [4]",
              "let (h, all) = scan(6, h = h0, i) { let g = tanh(w * h + u * x @ i + b) in (g, g .* h) }\n"
              "output y = sum(h ** 3) + sum(all .* all)"),
    "steps_of_two": ("x : f64 [n | 3]; c0 : f64 [n | 3]; w : f64 [3 -> 3]; p : f64 [3]",
                     "let (h, c) = scan(4, (h, c) = (x, c0)) { (sigmoid(w * c + p) .* c, h - c) }\noutput y = sum(h ** 2) + sum(sin(c))"),
    "steps_in_steps": ("h0 : f64 [3]; x : f64 [4 | 3]; w : f64 [3 -> 3]; p : f64 [3]",
                       "let (h, all) = scan(4, h = h0, i) {\n    let (u, us) = scan(3, u = h, k) { let v = tanh(w * u + p .* h + k * x @ i) in (v, v) }\n"
                       "    let e = sum(\"k | d => | d\", us)\n    in (sigmoid(u + x @ i), e .* h) }\noutput y = sum(h ** 2) + sum(all ** 2)"),
    "steps_of_places": ("t : f64 [5 | 3]; h0 : f64 [3]; ids : i32 [4 |]",
                        "let h = scan(4, h = h0, i) { sin(h .* gather(\"[v] | d; => | d\", t, ids @ i, mode = wrap) + h) }\n"
                        "let g = scan(4, h = h0, i) { tanh(gather(\"[v] | d; => | d\", t, ids @ i) - h) }\noutput y = sum(h ** 2) + sum(g ** 3)"),
    "steps_that_forget": ("h0 : f64 [3]; x : f64 [4 | 3]", "let (h, all) = scan(4, h = h0, i) { (x @ i, h .* (x @ (3 - i))) }\n"
                          "output y = sum(h ** 2) + sum(all ** 3)"),
    "steps_of_other_shapes": ("h0 : f64 [2, 3]; w : f64 [6]", "let h = scan(3, h = h0) { scan(2, g = h) {\n    let f : [6] = reshape(sin(g))\n"
                              "    let k : [2, 3] = reshape(f .* w)\n    in k + h } }\noutput y = sum(h ** 2)"),
    "no_steps": ("h0 : f64 [3]; x : f64 [3]", "let h = scan(0, h = h0) { x .* h }\nlet g = scan(0, h = h0) { x }\noutput y = sum(h ** 2) + sum(g ** 3)"),
    "steps_down_hill": ("w0 : f64 [3]; x : f64 [5 | 3]; t : f64 [5 |]; rate : f64 []",
                        "fn loss(w) = sum((sum(\"n | d => n |\", w .* x) - t) ** 2)\n"
                        "let w = scan(3, w = w0) { w - 0.01 * rate .* grad(loss(w), w) }\noutput y = loss(w)"),
    "stopped": ("t : f64 [6]", "output y = sum(t ** 3) + sum(stop(t) - t + t - stop(t)) + sum(floor(t))"),
    "recomputed": ("x : f64 [5, 4]; w : f64 [4, 4]", "let a = tanh(w .* 2)\nfn layer(w)(x) = tanh(einsum(\"b, i; i, o => b, o\", exp(x), w))\n"
                   "let h = recompute(x + recompute(layer(w)(x)))\nlet s = recompute(reduce(max, \"b, o => b\", layer(a)(h)))\n"
                   "let g = recompute(grad(sum(layer(a)(h) ** 2), h))\noutput y = sum(s ** 2) + sum(h ** 3) + sum(g ** 2)"),
    "slope_1_of_places": ("t : f64 [3, 4]; u : f64 [5 | 4]; ids : i32 [5 |]", "output y = sum(gather(t, ids)) + sum(gather(\"[v], d; b | => b | d\", "
                          "t, ids, mode = skip)) + sum(scatter(\"b | d; b | => [v], d\", u, ids, mode = skip)) with (v = 3)"),
    "slope_1_of_lines": ("t : f64 [5 | 4]; u : f64 [6, 4]", "let (best, at) = topk(2, \"b, d => b, k\", u)\noutput y = sum(best) + "
                         "sum(sort(\"b, [d] => b, d\", u)) + sum(cumulate(sum, \"b | [d] => b | d\", t)) + sum(reshape(u : [3, 8]))"),
    "slope_1_of_parts": ("a : f64 [4 | 3]; x : f64 [6]", "let w = sum(\"o <+ k => o, k\", x) with (k = 3)\n"
                         "output y = sum(a @ 2) + sum(sum(\"1, k => k\", to_output(a))) + sum(w)"),
    "square": ("x : f64 [4, 4]; u : f64 [3, 3]; ids : i32 [3]", "output y = sum(reduce(max, \"i, j => j\", x) ** 2) + "
               "sum(reduce(prod, \"i, j => j\", x) ** 2) + sum(scatter(\"d, b; b => [v], d\", u, ids) ** 2) with (v = 3)"),
    "second": ("x : f64 [4]", "let g = grad(sum(x ** 3 .* sin(x)), x)\noutput y = sum(g .* g)"),
    "third": ("x : f64 [4]", "let g = grad(sum(exp(x) .* x), x)\nlet h = grad(sum(g .* g), x)\noutput y = sum(h .* x)"),
    "penalty": ("x : f64 [3 | 4]; w : f64 [4 -> 5]; v : f64 [5 -> 1]", "let g = grad(sum(v * tanh(w * x)), x)\n"
                "output y = sum((sqrt(sum(\"b | i => b\", g .* g)) - 1) ** 2)"),
    "direction": ("x : f64 [4]; w : f64 [4 -> 3]; c : f64 [3]", "let g = vjp(tanh(w * x), x, c)\noutput y = sum(g .* g)"),
    "of_directions": ("d : f64 [4]; c : f64 [4]; ids : i32 [4]", "let x = f64(ids) + 0.5\nlet z = x ** 3\nlet g = vjp(z, x, c)\n"
                      "let h = vjp(z, x, 2 * d)\noutput y = sum(g .* g) + sum(h .* h .* h)"),
    "of_a_direction": ("c : f64 [4]; ids : i32 [4]", "let x = f64(ids) + 0.5\nlet g = vjp(x ** 3, x, c)\noutput y = sum(g .* g)"),
    "named_inside": ("x : f64 [4]", "let h = 2 * x\nlet g = grad(sum(h .* h .* x), h)\noutput y = sum(g .* h)"),
    "in_a_function": ("x : f64 [2 | 4]", "fn energy(a) = sum(\"... | i => ...\", a ** 4)\nlet g = grad(sum(energy(x)), x)\noutput y = sum(g .* x)"),
    "repeated": ("x : f64 [3 | 4]; w : f64 [4 -> 4]", "output y = sum(iterate(3, h = x) { tanh(w * h) + h })"),
}

# at kinks: statements, input, gradient
KINKS = {
    "relu": ("relu(x)", [0, -1, 2], [0, 0, 1]),
    "abs": ("abs(x)", [0, -1, 2], [0, -1, 1]),
    "sat01": ("sat01(x)", [0, 1, 0.5], [0, 0, 1]),
    "power": ("x ** 0 + x ** 1", [0, -1, 2], [1, 1, 1]),
    "exponent": ("0 ** x", [0, 1, 2], [0, 0, 0]),
    "where": ("where(x > 0, log(x), x)", [0, -1, 2], [1, 1, 0.5]),
    "where_in_steps": ("scan(2, s = sqrt(x)) { where(s == s, s, 1) * 0.5 }", [-1, 4, 1], [0, 0.0625, 0.125]),
    "where_behind_steps": ("(let r = scan(2, s = x) { sqrt(s) } in where(r == r, r, 1))", [-1, 16, 1], [0, 0.03125, 0.25]),
    "where_of_specification": ("einsum(\"i; i; => i\", x > 0, log(x), 0, op = where)", [0, -1, 2], [0, 0, 0.5]),
    "where_of_powers": ("where(x > 0, x ** (-0.5), 0)", [0, 1, 4], [0, -0.5, -0.0625]),
    "where_of_products": ("where(x > 0, sum(x) .* recip(x), 0)", [0, 1, 2], [1.5, -1.5, 0.75]),
    "itself": ("x + grad(sum(x), x) + vjp(x, x, x)", [3, 1, 2], [2, 2, 2]),
    "max_of_equal": ("max(x, 2 * x - 1)", [1, 0, 2], [1, 1, 2]),
    "greatest_of_equal": ("reduce(max, \"i => \", x)", [2, 1, 2], [1, 0, 0]),
    "least_of_equal": ("reduce(min, \"i => \", x)", [2, 1, 1], [0, 1, 0]),
    "product_with_a_zero": ("reduce(prod, \"i => \", x)", [2, 0, 3], [0, 6, 0]),
    "product_with_two": ("reduce(prod, \"i => \", x)", [0, 0, 3], [0, 0, 0]),
    "greatest_of_equal_sums": ("einsum(\"i; k => k\", x, [1, 1], op = add, reduce = max)", [2, 1, 2], [2, 0, 0]),
    "greatest_of_equal_at": ("scatter(\"i; i => [v]\", x, [0, 1, 0], reduce = max) with (v = 2)", [2, 1, 2], [1, 1, 0]),
    "last_of_those_set": ("scatter(\"i; i => [v]\", x, [0, 1, 0], reduce = set) with (v = 2)", [2, 1, 2], [0, 1, 1]),
    "zeros_multiplied_at": ("scatter(\"i; i => [v]\", x, [0, 1, 0], reduce = prod) with (v = 2)", [0, 0, 2], [2, 1, 0]),
    "greatest_so_far": ("cumulate(max, \"i => i\", x)", [1, 1, 2], [2, 0, 1]),
    "least_from_there": ("cumulate(min, \"i => i\", x, reverse)", [2, 1, 1], [0, 0, 3]),
    "infinite_so_far": ("cumulate(max, \"i => i\", x)", [-np.inf, -np.inf, 2], [2, 0, 1]),
    "products_so_far": ("cumulate(prod, \"i => i\", x)", [2, 0, 3], [1, 8, 0]),
    "products_with_two": ("cumulate(prod, \"i => i\", x)", [0, 3, 0], [4, 0, 0]),
    "root": ("sqrt(x)", [0, 1, 4], [np.inf, 0.5, 0.25]),
    "hypot": ("hypot(x, x - x)", [0, 3, -4], [0, 1, -1]),
}


def declared(inputs, statements):
    """Names of the program's own, and those of them that are inputs of floats."""
    names = re.findall(r"(\w+) :", inputs) + ["y"] + re.findall(r"^(?:let|fn) (\w+)", statements, re.M)
    return names + re.findall(r"\w+", " ".join(re.findall(r"^let \(([^)]*)\)", statements, re.M))), re.findall(r"(\w+) : f", inputs)


def lines_of(inputs, statements):
    """Declarations, and statements with the gradients."""
    floats = declared(inputs, statements)[1]
    return ["input " + one.strip() for one in inputs.split(";")] + statements.split("\n") + [
        text % ((x,) * text.count("%s")) for x in floats for text in ("output d_%s = grad(y, %s)", "output t_%s = jvp(y, %s, cos(%s))")]


def renamed(lines, names, suffix):
    """The same program with other names, but in specifications."""
    own = r"\b([dt]_)?(%s)\b" % "|".join(names)
    return [re.sub(r'"[^"]*"|%s' % own, lambda m: m.group() if m.group().startswith('"') else m.group() + suffix, line) for line in lines]


def write(path, lines):
    with open(path, "w", encoding="utf8") as out:
        out.write("\n".join(lines) + "\n")
    return path


def tsrc(*args):
    run = subprocess.run([TSRC, "-Wno-all", *args], capture_output=True, text=True)
    if run.returncode:
        print(args, run.stdout[-2000:], run.stderr)
    return run


def check(name, path, floats):
    """How many of the gradients agree with differences somewhere."""
    run = tsrc("--check-grad", path)
    agree = set() if run.returncode else set(re.findall(r"(gradient|tangent) of y with respect to (\w+): agrees", run.stdout))
    both = {(kind, x) for kind in ("gradient", "tangent") for x in floats}
    if agree != both:
        print("%s: %s alone are compared" % (name, sorted(agree)))
    return len(agree & both)


def module_of(path, *options):
    module = path[:-4] + "-%d.so" % len(options)
    if tsrc("-O0", path, "-o", module, *options).returncode:
        sys.exit(1)
    return tsr.load(module)


def given(inputs, suffix, dtype):
    """Arrays for inputs, ids from 0 to 2."""
    random = np.random.default_rng(len(suffix))
    for name, of, sizes in re.findall(r"(\w+) : (\w+) \[(.*?)\]", inputs):
        shape = [3 if size == "n" else int(size) for size in re.findall(r"\w+", " ".join(sizes.split("->")[::-1]))]
        numbers = random.integers(0, 3, shape) if of == "i32" else random.uniform(0.2, 1, shape)
        yield name + suffix, numbers.astype(np.int32 if of == "i32" else dtype)


def differ(path, lines, inputs):
    """Gradients of the program in f32, compiled with OPTIONS, that are not near those in f64 on this CPU."""
    want, got = [module_of(write(path, text), *options).forward(**{name: x for one, suffix in inputs for name, x in given(one, suffix, dtype)})
                 for text, options, dtype in ((lines, (), np.float64), ([line.replace("f64", "f32") for line in lines], OPTIONS, np.float32))]
    wrong = [name for name in want.keys() if not np.allclose(got[name], want[name], rtol=2e-3, atol=2e-4)]
    print("of %d results in f32 wrong ones: %s" % (len(want), wrong or "none"))


def wrong_digamma(folder):
    """lgamma's slope where it is known: at whole numbers and halves, of either sign, and where it is 0."""
    whole = [(n, -0.57721566490153286 + sum(1 / k for k in range(1, n))) for n in (1, 2, 3, 7, 40, 1000)]
    halves = [(n + 0.5, -1.9635100260214235 + sum(2 / (2 * k - 1) for k in range(1, n + 1))) for n in (0, 1, 2, 9, 30)]
    below = [(1 - x, y) for x, y in halves] + [(0.25, -4.2274535333762654), (-0.75, -2.8941202000429321)]
    x, y = np.array(whole + halves + below + [(1.4616321449683623, 0)]).T
    text = "input x%d : f%d [%d]\noutput d%d = grad(sum(lgamma(x%d)), x%d)"
    path = write(os.path.join(folder, "g.tsr"), [text % (n, n, len(x), n, n, n) for n in (32, 64)])
    tsrc(path, "-o", path[:-3] + "so")
    got = tsr.load(path[:-3] + "so").forward(x32=x.astype(np.float32), x64=x)
    wrong = [abs(got.d64 - y) > 2e-15 * (1 + abs(y)), abs(got.d32 - y) > 1e-6 * (1 + abs(y))]
    if np.any(wrong):
        print("digamma", x[wrong[0] | wrong[1]], got.d64 - y, got.d32 - y)
    return int(np.sum(wrong))


def wrong_extremes(folder):
    """Sums of three operands are added up in the order of the fewest steps; their last places leave one first element each."""
    lines = ["dim m", "input a : f64 [5, m]", "input b : f64 [m, 5, m]", "input c : f64 [m, m]",
             "let least = einsum(\"ik; kij; jk => i\", a, 2 * b, tanh(c), op = add, reduce = min)", "output d_a = grad(sum(least), a)"]
    rng = np.random.default_rng(1)
    given = {name: rng.standard_normal(shape) for name, shape in (("a", (5, 40)), ("b", (40, 5, 40)), ("c", (40, 40)))}
    got = module_of(write(os.path.join(folder, "extremes.tsr"), lines), *OPTIONS).forward(**given)
    at = (given["a"][:, :, None] + 2 * given["b"].transpose(1, 0, 2) + np.tanh(given["c"].T)).min(2).argmin(1)
    if not np.array_equal(got, np.eye(40)[at]):
        print("least of three sums:", got.sum(1))
        return 1
    return 0


def main():
    agree = count = wrong = 0
    whole, all_inputs = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.tsr")
        for number, (name, (inputs, statements)) in enumerate(CASES.items()):
            if not fnmatch.fnmatch(name, PATTERN) or OPTIONS and number % 3 and "TSR_LONG" not in os.environ:
                continue
            names, floats = declared(inputs, statements)
            lines = lines_of(inputs, statements)
            agree += 0 if OPTIONS else check(name, write(path, ["dim n", *lines]), floats)
            count += 2 * len(floats)
            all_inputs.append((inputs, "_%d" % number))
            whole += renamed(lines, names, "_%d" % number)
        wrong += tsrc("--verify=run", *OPTIONS, write(path, ["dim n", *whole])).returncode != 0
        if OPTIONS:
            differ(path, ["dim n", *whole], all_inputs)
        lines = ["input x_relu : f64 [3]", "let stored = bf16(x_relu)", "let wide = f64(stored)", "let total = sum(wide .* wide)",
                 "output d_stored = grad(total, stored)", "output d_wide = grad(total, wide)"]
        for name, (expression, x, gradient) in KINKS.items():
            x = "x_" + name
            lines += ["input %s : f64 [3]" % x] * (name != "relu") + ["output d_%s = grad(sum(%s), %s)" % (name, re.sub(r"\bx\b", x, expression), x)]
        path = os.path.join(folder, "kinks.tsr")
        wrong += not OPTIONS and tsrc("--check-grad", write(path, lines)).returncode != 0
        got = module_of(write(path, lines), *OPTIONS).forward(**{"x_" + name: np.array(x, float) for name, (_, x, _) in KINKS.items()})
        for name, (_, _, gradient) in KINKS.items():
            if not np.array_equal(getattr(got, "d_" + name), gradient):
                wrong += 1
                print(name, getattr(got, "d_" + name), gradient)
        wrong += wrong_digamma(folder) + wrong_extremes(folder)
        if got.d_stored.dtype != np.float32 or got.d_wide.dtype != np.float64:
            wrong += 1
            print(got.d_stored.dtype, got.d_wide.dtype)
    if OPTIONS:
        print("%d are right at kinks, %d programs are wrong" % (len(KINKS), wrong))
        return
    print("%d of %d gradients and tangents agree with differences, %d are right at kinks, %d programs are wrong" % (agree, count, len(KINKS), wrong))


main()
