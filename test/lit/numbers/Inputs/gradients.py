"""gradients.py TSRC [PATTERN]: gradients against central differences of what they are gradients of. Each program below has an
output `y`, one number, and gets an output `d_NAME` for each of its inputs of floats, grad(y, NAME). Everything is in f64 and
away from kinks, but for those that a case is about, whose gradients are written out in KINKS. Each program also agrees with the
reference (--verify=run)."""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import tsr

TSRC = sys.argv[1]
PATTERN = sys.argv[2] if len(sys.argv) > 2 else "*"
STEP, WITHIN = 1e-5, 1e-6
UNARY = ("neg relu sat01 exp log exp2 log2 sin cos tan tanh sigmoid erf gelu sqrt rsqrt recip abs log1p expm1 atan sinh cosh asinh "
         "softplus erfc id").split()

# inputs, statements, dims of the call
CASES = {
    "functions": ("x : f64 [3, 2]", "output y = %s" % " + ".join("%d * sum(%s(x))" % (i + 1, op) for i, op in enumerate(UNARY))),
    "functions_inside_one": ("x : f64 [3, 2]", "let z = 0.5 * x - 0.3\noutput y = sum(asin(z)) + 2 * sum(acos(z)) + "
                             "3 * sum(atanh(z)) + 4 * sum(acosh(x + 1))"),
    "operators": ("a : f64 [3, 4]; b : f64 [4]", "let z = a + 2 * b - a .* b + a / b + a ** b + 2 * max(a, b) + 3 * min(a, b) + "
                  "atan2(a, b) + hypot(a, b) + a % b + copysign(a, b) + fma(a, b, a) + where(a < b, a, b) + relu_gate(a, b) + "
                  "sat01_gate(a - 0.5, b)\noutput y = sum(z .* z)"),
    "powers": ("a : f64 [3]", "output y = sum(a ** 2 + a ** 3 + a ** 0.5 + a ** (-1) + 2 ** a + a ** 1 + a ** 0)"),
    "broadcasts": ("x : f64 [4]; m : f64 [1, 4]; z : f64 [3, 1]; s : f64 []",
                   "let u = x + m + z - s\noutput y = sum(u) + sum(x) + sum(u .* u .* s) + 3 * s"),
    "constant_slopes": ("x : f64 [4]; b : f64 [2, 4]", "let r = sum(\"i => i, j\", x) with (j = 3)\noutput y = sum(x + b) + sum(r)"),
    "layer": ("x : f64 [n | 5]; w : f64 [5 -> 4]; b : f64 [4]", "let h = tanh(w * x + b)\noutput y = sum(h .* h .* h)", {"n": 3}),
    "empty_batch": ("x : f64 [n | 5]; w : f64 [5 -> 4]", "output y = sum(tanh(w * x) ** 2)", {"n": 0}),
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
    "products": ("x : f64 [4, 5]", "output y = sum(reduce(prod, \"i, j => i\", x) ** 2) + reduce(prod, \"i, j => \", x)"),
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
    "stopped": ("t : f64 [6]", "output y = sum(t ** 3) + sum(stop(t) - t + t - stop(t)) + sum(floor(t))"),
    "second": ("x : f64 [4]", "let g = grad(sum(x ** 3 .* sin(x)), x)\noutput y = sum(g .* g)"),
    "third": ("x : f64 [4]", "let g = grad(sum(exp(x) .* x), x)\nlet h = grad(sum(g .* g), x)\noutput y = sum(h .* x)"),
    "penalty": ("x : f64 [3 | 4]; w : f64 [4 -> 5]; v : f64 [5 -> 1]", "let g = grad(sum(v * tanh(w * x)), x)\n"
                "output y = sum((sqrt(sum(\"b | i => b\", g .* g)) - 1) ** 2)"),
    "direction": ("x : f64 [4]; w : f64 [4 -> 3]; c : f64 [3]", "let g = vjp(tanh(w * x), x, c)\noutput y = sum(g .* g)"),
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
    "max_of_equal": ("max(x, 2 * x - 1)", [1, 0, 2], [1, 1, 2]),
    "greatest_of_equal": ("reduce(max, \"i => \", x)", [2, 1, 2], [1, 0, 0]),
    "least_of_equal": ("reduce(min, \"i => \", x)", [2, 1, 1], [0, 1, 0]),
    "product_with_a_zero": ("reduce(prod, \"i => \", x)", [2, 0, 3], [0, 6, 0]),
    "product_with_two": ("reduce(prod, \"i => \", x)", [0, 0, 3], [0, 0, 0]),
    "root": ("sqrt(x)", [0, 1, 4], [np.inf, 0.5, 0.25]),
    "hypot": ("hypot(x, x - x)", [0, 3, -4], [0, 1, -1]),
}


def axes(text, dims):
    """Sizes in the order of storage: batch, output, input"""
    batch, rest = text.split("|") if "|" in text else ("", text)
    inputs, outputs = rest.split("->") if "->" in rest else ("", rest)
    return [dims.get(size.strip()) or int(dims.get(size.strip(), size)) for row in (batch, outputs, inputs) for size in row.split(",") if size.strip()]


def inputs_of(text, dims, rng):
    """(name, array) of each; floats of about 1, which no two share, integers below 3"""
    for name, dtype, shape in re.findall(r"(\w+) : (\w+) \[([^\]]*)\]", text):
        size = axes(shape, dims)
        yield name, rng.uniform(0.3, 1.6, size) if dtype[0] == "f" else rng.integers(0, 3, size).astype(np.int32)


def differences(call, arrays, name):
    """What y changes by, for each element of the input"""
    slopes = np.zeros(arrays[name].shape)
    for at in np.ndindex(*slopes.shape):
        values = []
        for sign in (1, -1):
            moved = arrays[name].copy()
            moved[at] += sign * STEP
            values.append(float(call(**dict(arrays, **{name: moved})).y))
        slopes[at] = (values[0] - values[1]) / (2 * STEP)
    return slopes


def program(folder, name, inputs, statements):
    floats = re.findall(r"(\w+) : f", inputs)
    dims = "".join("dim %s\n" % dim for dim in sorted(set(re.findall(r"[\[,|] ?([a-z]\w*)", inputs))))
    text = dims + "".join("input %s\n" % one.strip() for one in inputs.split(";")) + statements + "\n"
    text += "".join("output d_%s = grad(y, %s)\n" % (one, one) for one in floats)
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w", encoding="utf8") as out:
        out.write(text)
    return path, floats


def run(path):
    subprocess.run([TSRC, path, "-o", path[:-3] + "so"], check=True)
    checked = subprocess.run([TSRC, "--verify=run", path], capture_output=True, text=True)
    if checked.returncode:
        print(path, checked.stdout[-2000:], checked.stderr)
    return tsr.load(path[:-3] + "so").forward, checked.returncode != 0


def main():
    compared = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (inputs, statements, *rest) in CASES.items():
            if not fnmatch.fnmatch(name, PATTERN):
                continue
            path, floats = program(folder, name, inputs, statements)
            call, bad = run(path)
            arrays = dict(inputs_of(inputs, rest[0] if rest else {}, np.random.default_rng(1)))
            got = call(**arrays)
            for one in floats:
                gradient, slopes = getattr(got, "d_" + one), differences(call, arrays, one)
                compared += 1
                if not np.allclose(gradient, slopes, rtol=WITHIN, atol=WITHIN * (1 + np.abs(slopes).max(initial=0))):
                    bad = True
                    print(name, one, gradient, slopes, sep="\n")
            wrong += bad
        for name, (expression, x, gradient) in KINKS.items():
            if not fnmatch.fnmatch(name, PATTERN):
                continue
            path, _ = program(folder, "kink_" + name, "x : f64 [3]", "output y = sum(%s)" % expression)
            call, bad = run(path)
            got = call(x=np.array(x, float)).d_x
            compared += 1
            if bad or not np.array_equal(got, gradient):
                wrong += 1
                print(name, got, gradient)
    print("%d gradients, %d programs wrong" % (compared, wrong))


main()
