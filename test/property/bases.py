"""Correct programs of the kinds that people write, for mistakes.py: small, so that each compiles in milliseconds.

Each is one statement a line as a rule. Between them they have dims, sizes that come through configurations, functions,
instances, imports, windows, strides, integers, constants, `iterate`, `let ... in`, routines and states.
"""
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
EXAMPLES = ["mlp", "attention", "softmax", "accuracy", "edges", "digits", "models/lenet"]

TEXTS = {}

TEXTS["wires"] = """
dim n
input x : [n | 20]
fn layer(width)(x) = relu({w : [... -> width]} * x + {b : [width] = 0})
let first = layer(17)
let second = layer(12)
let skip = layer(12)
output y = second(first(x)) + skip(x)
"""

TEXTS["tied"] = """
dim s
dim vocab = 500
dim longest = 64
dim width = 24
input ids : i32 [s |]
param wte : [vocab, width]
param wpe : [longest, width]
let h = gather(wte, ids) + gather(wpe, sum("s => s |", range(s)))
let mixed = {mix : [width -> width]} * tanh(h)
output logits = einsum("s | d; v, d => s | v", mixed, wte)
"""

TEXTS["heads"] = """
dim b, t
dim heads = 4
dim width = 6
dim e = heads * width
input x : [b, t | e]
fn project()(x) = einsum("... | e; e -> h, d => ... | h, d", x, {w}) with (h = heads, d = width)
let q = project()
let k = project()
let v = project()
let scores = einsum("b, t | h, d; b, s | h, d => b, t | h, s", q(x), k(x)) / sqrt(width)
let peak = reduce(max, "b, t | h, s => b, t | h, 0", scores)
let attend = exp(scores - peak)
let total = sum("b, t | h, s => b, t | h, 0", attend)
let mixed = einsum("b, t | h, s; b, s | h, d => b, t | h, d", attend / total, v(x))
output y = x + {o : [heads, width -> e]} * mixed
"""

TEXTS["library"] = """
import nn
dim n, s
input x : [n, s | 24]
input label : i32 [n |]
let block = nn.transformer_block(4, 6, 48)
let norm = nn.layer_norm()
let head = nn.linear(5)
let pooled = sum("n, s | e => n | e", norm(block(x)))
let logits = head(pooled)
output probs = nn.softmax(logits)
output loss = nn.mean(nn.cross_entropy(logits, label))
"""

TEXTS["picture"] = """
import nn as layers
dim n
dim classes = 7
input image : [n | 20, 20, 3]
let stem = layers.conv2d(8, 3, 2)
let deep = layers.separable_conv2d(16)
let fc = layers.linear(classes)
let seen = layers.max_pool2d()(relu(stem(image)))
let pooled = layers.global_avg_pool2d(relu(deep(seen)))
output logits = fc(pooled)
"""

TEXTS["wave"] = """
dim n
input wave : [n | 66]
param filters : [5 -> 12]
let spectrum = einsum("n | 2*t <+? k; k -> c => n | t, c", wave, filters)
let power = sum("n | 4*t <+ k, c => n | t, c", spectrum .* spectrum) with (k = 3)
output loud = sum("n | t, c => n | c", power)
"""

TEXTS["stencil"] = """
dim h >= 3, w >= 3
input u : [h, w]
input rate : []
const kernel : [3, 3] = [[0, 1, 0], [1, -4, 1], [0, 1, 0]]
let lap = einsum("oh =+ kh, ow =+ kw; kh, kw => oh, ow", u, kernel)
output next = u + rate .* lap
output half = sum("2*i <+? p, 2*j <+? q => i, j", u) / 4 with (p = 2, q = 2)
"""

TEXTS["momentum"] = """
input x : [8 | 6]
input target : [8 | 3]
param w : [6 -> 3]
param speed : [6 -> 3] = 0
let error = w * x - target
let grad = einsum("n | i; n | o => i -> o", x, error)
output loss = sum(error .* error) / 8
routine step(rate : f32, decay : f32) -> loss {
    speed =: decay * speed - rate * grad
    forward loss
    w =+ speed
}
"""

TEXTS["recurrent"] = """
dim n
dim hidden = 10
input x : [5, n | 4]
fn cell(size)(h, v) = tanh({u : [size -> size]} * h + {w : [... -> size]} * v + {b : [size] = 0})
let start = sum("t, n | i => n | 0", x) .* {init : [hidden]}
let (last, all) = iterate(5, h = start, i) { let c = cell(hidden), next = c(h, x @ i) in (next, next) }
output y = {out : [hidden -> 2]} * last
output states = all
"""

TEXTS["statistics"] = """
dim n
input x : [n, 12]
fn mean(a) = sum("n, c => 0, c", a) / n with (n)
let centred = x - mean(x)
let variance = mean(centred .* centred)
let scaled = centred / sqrt(variance + 0.001)
let cov = einsum("n, a; n, b => a, b", scaled, scaled)
output distance = sum("a, b => a", cov .* cov)
output ranks = argmax("n, c => n", scaled)
"""

TEXTS["quantised"] = """
dim n
input q : u8 [n | 32]
input scale : [10]
param weight : i8 [32 -> 10]
param bias : [10]
let total = weight * q
let shift = sum("i -> o => o", weight)
output y = (total - 3 .* shift) .* scale + bias
"""

TEXTS["joined"] = """
dim n
input left : [n | 8, 8, 6]
input right : [n | 8, 8, 10]
input extra : [n | 8]
let both = concat("n | h, w, c; n | h, w, d => n | h, w, c^d", left, right)
let turned = permute("n | h, w, c => n | c, h, w", both)
let rows = sum("n | c, h, w => n | c, h", turned)
output y = {w : [16, 8 -> 5]} * rows
output z = stack(batch, sum("n | h, w, c => n | h", left), extra)
"""

TEXTS["pairs"] = """
dim m, n
input a : [m | 3]
input b : [n | 3]
input names : i32 [m |]
input table : [9, 3]
let dots = einsum("m | c; n | c => m, n |", a, b)
let far = sum("m | c => m, 0 |", a ** 2) + sum("n | c => 0, n |", b ** 2) - 2 * dots
let b_rows = sum("n | c => n, c", b)
let near = argmax("m, n | => m |", -far)
output moved = a + gather(b_rows, near) .* 0.5
output known = gather(table, names)
"""

TEXTS["mixture"] = """
dim n
dim experts = 4
input x : [n | 16]
let gate = {wg : [16 -> experts]} * x
let top = exp(gate - reduce(max, "n | e => n | 0", gate))
let share = top / sum("n | e => n | 0", top)
let up = relu(einsum("n | i; i -> e, h => n | e, h", x, {wu : [16 -> experts, 32]}))
let down = einsum("n | e, h; e, h -> o => n | e, o", up, {wd : [experts, 32 -> 16]})
output y = einsum("n | e; n | e, o => n | o", share, down)
"""

TEXTS["upsampled"] = """
dim n
input x : [n | 6, 6, 4]
fn up(x) = sum("n | h, w, c => n | 2*h, 2*w, c", x)
fn conv(out, k = 3)(x) =
    einsum("... | oh =+ kh, ow =+ kw, ..ic..; kh, kw, ..ic.. -> oc => ... | oh, ow, oc", x, {w})
    + {b : [out] = 0}  with (kh = k, kw = k, oc = out)
let c1 = conv(8)
let c2 = conv(3, 1)
output y = sigmoid(c2(relu(c1(up(x)))))
"""

TEXTS["filter"] = """
dim t
input prices : [t | 5]
input share : [5]
let value = sum("t | a => t |", prices .* share)
let gain = sum("i + 1 | a => i | a", prices) / sum("i^1 | a => i | a", prices) - 1
let worst = reduce(min, "t | a => a", gain)
output drop = min(worst, 0) .* share
output worth = value
"""

TEXTS["residual"] = """
dim n
dim deep = 3
input x : [n | 28, 28, 1]
fn linear(out)(x) = {w : [... -> out]} * x + {b : [out] = 0}
fn block(width, inner)(x) =
    let up = linear(inner), down = linear(width)
    in x + down(relu(up(x)))
let flat = linear(32)
let body = iterate(deep, h = flat(x)) { let layer = block(32, 64) in layer(h) }
let head = linear(10)
output logits = head(tanh(body))
"""


def programs():
    """name -> text; all compile."""
    found = {name: text.lstrip("\n") for name, text in TEXTS.items()}
    for name in EXAMPLES:
        with open(os.path.join(ROOT, name + ".tsr")) as source:
            found[os.path.basename(name)] = re.sub(r"^\s*#.*\n| +#.*", "", source.read(), flags=re.M)
    return found
