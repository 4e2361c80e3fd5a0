"""Gradients, forward and backward in a call, as programs.py has programs: `of` are those of PyTorch's tensors that
gradients are taken of, along the tensor `along`, or of one number. With `rate` they are a step of training."""
import dataclasses

import programs


@dataclasses.dataclass
class Gradient(programs.Program):
    of: str = ""
    along: str = ""
    rate: float = 0


def backward(name, text, arrays, torch, of, made="", given=None, **work):
    """Of y along c; `made` are PyTorch's names of what `given` makes"""
    outputs = "output y\n" + "".join("output d%s = vjp(y, %s, c)\n" % (v, v) for v in of.split())
    given = given or {}
    return Gradient(name, text + outputs, arrays, torch, given=given, of=made or of, along="d" if "d" in given else "c", **work)


def training(name, text, arrays, torch, params, given):
    """A step of descent along the gradients of the number `loss`; `params` are ours, in `given` theirs"""
    steps = "".join("    %s =- 0.01 * grad(loss, %s)\n" % (p, p) for p in params.split())
    routine = "routine train() -> loss {\n    forward loss\n%s}\n" % steps
    return Gradient(name, text + routine, arrays, torch, given=given, of=params, rate=0.01)


def pictures(name, how, torch, n, h, c, out, step=1, kernel=3):
    """Channels last on both sides; w as PyTorch wants it. Without `out`, a kernel a channel"""
    o, oh, each = out or c, h // step, kernel * kernel * (c if out else 1)
    text = "input x : [%d | %d, %d, %d]\ninput w : [%d, %d, %d%s]\ninput c : [%d | %d, %d, %d]\nlet y = %s\n" % (
        n, h, h, c, kernel, kernel, c, " -> %d" % out if out else "", n, oh, oh, o, how)
    arrays = {"x": "%dx%dx%dx%d" % (n, h, h, c), "w": ("%dx" % out if out else "") + "%dx%dx%d" % (kernel, kernel, c),
              "c": "%dx%dx%dx%d" % (n, oh, oh, o)}
    axes = "permute(0, 3, 1, 2)" if out else "permute(2, 0, 1)[:, None]"
    given = {"p": "x.permute(0, 3, 1, 2)", "q": "w.%s.contiguous(memory_format=torch.channels_last)" % axes,
             "d": "c.permute(0, 3, 1, 2)"}
    return backward(name, text, arrays, torch, "x w", "p q", given, flops=6.0 * n * oh * oh * o * each)


def pool(name, how, torch, n, h, c):
    text = "import nn\ninput x : [%d | %d, %d, %d]\ninput c : [%d | %d, %d, %d]\nlet y = %s\n" % (
        n, h, h, c, n, h // 2, h // 2, c, how)
    return backward(name, text, {"x": "%dx%dx%dx%d" % (n, h, h, c), "c": "%dx%dx%dx%d" % (n, h // 2, h // 2, c)}, torch, "x",
                    "p", {"p": "x.permute(0, 3, 1, 2)", "d": "c.permute(0, 3, 1, 2)"}, nbytes=10.0 * n * c * h * h)


def conv(step):
    return "einsum(\"n | %d*h =+ a, %d*w =+ b, i; a, b, i -> o => n | h, w, o\", x, w)" % (step, step)


def attention(heads, t, d):
    qkv = "%dx%dx%d" % (heads, t, d)
    return backward("attention %dx%dx%d" % (heads, t, d), "import nn\n" + "".join(
        "input %s : [%d, %d | %d]\n" % (v, heads, t, d) for v in "qkvc") +
        "let scores = einsum(\"h, s | d; h, t | d => h, s | t\", q, k) / sqrt(%d)\n"
        "let y = einsum(\"h, s | t; h, t | d => h, s | d\", nn.softmax(scores), v)\n" % d,
        dict.fromkeys("qkvc", qkv), "F.scaled_dot_product_attention(q[None], k[None], v[None])[0]", "q k v",
        flops=12.0 * heads * t * t * d)


def lstm(steps, n, d):
    """Gates in PyTorch's order"""
    gate = "sum(\"... | %d, d => ... | d\", g)"
    text = ("input x : [%d, %d | %d]\ninput h0 : [%d | %d]\ninput u : [%d -> 4, %d]\ninput w : [%d -> 4, %d]\ninput c : [%d, %d | %d]\n"
            "let z = u * x\nlet (h, m, y) = scan(%d, (h, m) = (h0, h0), i) {\n    let g = (z @ i) + w * h\n"
            "    let k = sigmoid(%s) .* m + sigmoid(%s) .* tanh(%s)\n    let r = sigmoid(%s) .* tanh(k)\n    in (r, k, r)\n}\n" % (
                steps, n, d, n, d, d, d, d, d, steps, n, d, steps, gate % 1, gate % 0, gate % 2, gate % 3))
    return backward("LSTM of %d, %d steps, batch %d" % (d, steps, n), text,
                    {"x": "%dx%dx%d" % (steps, n, d), "h0": "%dx%d" % (n, d), "u": "4x%dx%d" % (d, d), "w": "4x%dx%d" % (d, d),
                     "c": "%dx%dx%d" % (steps, n, d)},
                    "torch.lstm(x, (h0[None], h0[None]), [p, q], False, 1, 0.0, False, False, False)[0]", "x u w", "x p q",
                    {"p": "u.view(%d, %d)" % (4 * d, d), "q": "w.view(%d, %d)" % (4 * d, d)}, flops=6.0 * steps * n * 8 * d * d)


def of_params(**shapes):
    """PyTorch's tensors, which need no data of ours"""
    return {name: "torch.randn(%s) * 0.05" % shape for name, shape in shapes.items()}


NORM = "input x : [%s]\ninput g : [%d]\ninput b : [%d]\ninput c : [%s]\n"
CHANNELS = "sum(\"n, h, w, c => 0, 0, 0, c\", %s) / 12544"
LOGITS = "import nn\ninput x : [128 | 1000]\nlet l = nn.log_softmax(x)\n"
LENET = """import nn
input x : [64 | 28, 28, 1]
input ids : i32 [64 |]
param w1 : [5, 5, 1 -> 6] = nn.he(25)
param b1 : [6] = 0
param w2 : [5, 5, 6 -> 16] = nn.he(150)
param b2 : [16] = 0
param w3 : [5, 5, 16 -> 120] = nn.he(400)
param b3 : [120] = 0
param w4 : [120 -> 84] = nn.he(120)
param b4 : [84] = 0
param w5 : [84 -> 10] = nn.he(84)
param b5 : [10] = 0
let pool = nn.max_pool2d()
let p = pool(relu(einsum("n | h =+ a, w =+ b, c; a, b, c -> o => n | h, w, o", x, w1) + b1))
let q = pool(relu(einsum("n | h <+ a, w <+ b, c; a, b, c -> o => n | h, w, o", p, w2) + b2))
let loss = sum(nn.cross_entropy(w5 * relu(w4 * relu(w3 * q + b3) + b4) + b5, ids)) / 64
"""
MLP = """import nn
input x : [128 | 784]
input ids : i32 [128 |]
param w1 : [784 -> 512] = nn.he(784)
param b1 : [512] = 0
param w2 : [512 -> 512] = nn.he(512)
param b2 : [512] = 0
param w3 : [512 -> 10] = nn.he(512)
param b3 : [10] = 0
let loss = sum(nn.cross_entropy(w3 * relu(w2 * relu(w1 * x + b1) + b2) + b3, ids)) / 128
"""
BLOCK = """import nn
input x : [4, 64 | 768]
input g1 : [768]
input h1 : [768]
input wq : [768 -> 12, 64]
input wk : [768 -> 12, 64]
input wv : [768 -> 12, 64]
input wo : [12, 64 -> 768]
input g2 : [768]
input h2 : [768]
input up : [768 -> 3072]
input bu : [3072]
input down : [3072 -> 768]
input bd : [768]
input c : [4, 64 | 768]
fn norm(x) = let m = x - nn.mean_output(x) in m .* rsqrt(nn.mean_output(m .* m) + 1e-5)
let a = norm(x) .* g1 + h1
let q = einsum("n, s | e; e -> h, d => n, s | h, d", a, wq)
let k = einsum("n, s | e; e -> h, d => n, s | h, d", a, wk)
let v = einsum("n, s | e; e -> h, d => n, s | h, d", a, wv)
let p = nn.softmax(einsum("n, s | h, d; n, t | h, d => n, s | h, t", q, k) / 8)
let h = x + wo * einsum("n, s | h, t; n, t | h, d => n, s | h, d", p, v)
let y = h + down * gelu(up * (norm(h) .* g2 + h2) + bu) + bd
"""
BLOCK_ARRAYS = {
    "x": "4x64x768", "c": "4x64x768", **dict.fromkeys(("wq", "wk", "wv"), "12x64x768"), "wo": "768x12x64", "up": "3072x768",
    "bu": "3072", "down": "768x3072", **dict.fromkeys(("g1", "h1", "g2", "h2", "bd"), "768")}
HEADS = "F.linear(a, %s.view(768, 768)).view(4, 64, 12, 64).transpose(1, 2)"

GRADIENTS = [
    backward("linear layer 128x3072x768", "input x : [128 | 768]\ninput w : [768 -> 3072]\ninput b : [3072]\n"
             "input c : [128 | 3072]\nlet y = w * x + b\n", {"x": "128x768", "w": "3072x768", "b": "3072", "c": "128x3072"},
             "F.linear(x, w, b)", "x w b", flops=6.0 * 128 * 3072 * 768),
    pictures("convolution 3x3", conv(1), "F.conv2d(p, q, padding=1)", 16, 28, 64, 64),
    pictures("convolution 3x3 in steps of 2", conv(2), "F.conv2d(p, q, stride=2, padding=1)", 8, 56, 64, 128, 2),
    pictures("convolution 1x1", "einsum(\"n | h, w, i; 0, 0, i -> o => n | h, w, o\", x, w)", "F.conv2d(p, q)", 16, 28, 128,
             128, kernel=1),
    pictures("depthwise convolution 3x3", "einsum(\"n | h =+ a, w =+ b, c; a, b, c => n | h, w, c\", x, w)",
             "F.conv2d(p, q, padding=1, groups=128)", 16, 28, 128, 0),
    pool("greatest of 2x2", "nn.max_pool2d()(x)", "F.max_pool2d(p, 2)", 16, 56, 64),
    pool("greatest of 3x3 in steps of 2", "nn.max_pool2d_padded()(x)", "F.max_pool2d(p, 3, 2, 1)", 16, 56, 64),
    pool("average of 2x2", "nn.avg_pool2d()(x)", "F.avg_pool2d(p, 2)", 16, 56, 64),
    backward("batch norm", NORM % ("16, 28, 28, 64", 64, 64, "16, 28, 28, 64") + "let m = x - %s\n" % CHANNELS % "x" +
             "let y = m .* rsqrt(%s + 1e-5) .* g + b\n" % CHANNELS % "m .* m",
             {"x": "16x28x28x64", "g": "64", "b": "64", "c": "16x28x28x64"}, "F.batch_norm(p, None, None, g, b, True)", "x g b",
             "p g b", {"p": "x.permute(0, 3, 1, 2)", "d": "c.permute(0, 3, 1, 2)"}, nbytes=16.0 * 12544 * 64),
    Gradient("cross entropy, probabilities", LOGITS + "input t : [128 | 1000]\nlet y = -sum(t .* l) / 128\noutput y\n"
             "output dx = grad(y, x)\n", {"x": "128x1000", "t": "128x1000"}, "F.cross_entropy(x, t)", 12.0 * 128000, of="x"),
    Gradient("cross entropy, labels", LOGITS + "input ids : i32 [128]\nlet y = -sum(gather(\"b | [v]; b => b\", l, ids)) / 128\n"
             "output y\noutput dx = grad(y, x)\n", {"x": "128x1000", "ids": "128<1000"}, "F.cross_entropy(x, ids)", 8.0 * 128000,
             of="x"),
    Gradient("cross entropy of 50257", "import nn\ninput x : [32 | 50257]\ninput ids : i32 [32 |]\n"
             "let y = sum(nn.cross_entropy(x, ids)) / 32\noutput y\noutput dx = grad(y, x)\n",
             {"x": "32x50257", "ids": "32<50257"}, "F.cross_entropy(x, ids)", 8.0 * 32 * 50257, of="x"),
    backward("softmax 512x1000", "import nn\ninput x : [512 | 1000]\ninput c : [512 | 1000]\nlet y = nn.softmax(x)\n",
             {"x": "512x1000", "c": "512x1000"}, "x.softmax(1)", "x", nbytes=16.0 * 512000),
    backward("layer norm 512x768", "import nn\n" + NORM % ("512 | 768", 768, 768, "512 | 768") + "let m = x - nn.mean_output(x)\n"
             "let y = m .* rsqrt(nn.mean_output(m .* m) + 1e-5) .* g + b\n",
             {"x": "512x768", "g": "768", "b": "768", "c": "512x768"}, "F.layer_norm(x, (768,), g, b)", "x g b",
             nbytes=16.0 * 512 * 768),
    backward("perceptron with gelu 128x768x3072", "input x : [128 | 768]\ninput u : [768 -> 3072]\ninput a : [3072]\n"
             "input v : [3072 -> 768]\ninput b : [768]\ninput c : [128 | 768]\nlet y = v * gelu(u * x + a) + b\n",
             {"x": "128x768", "u": "3072x768", "a": "3072", "v": "768x3072", "b": "768", "c": "128x768"},
             "F.linear(F.gelu(F.linear(x, u, a)), v, b)", "x u a v b", flops=12.0 * 128 * 768 * 3072),
    attention(12, 128, 64),
    attention(12, 1024, 64),
    lstm(128, 1, 256),
    lstm(128, 16, 256),
    backward("embedding of 4096 ids", "input w : [10000 | 256]\ninput ids : i32 [4096]\ninput c : [4096 | 256]\n"
             "let y = gather(\"[v] | d; n => n | d\", w, ids)\n", {"w": "10000x256", "ids": "4096<10000", "c": "4096x256"},
             "F.embedding(ids, w)", "w", nbytes=4.0 * 256 * (3 * 4096 + 10000)),
    training("LeNet, step of training", LENET, {"x": "64x28x28x1", "ids": "64<10"},
             "(lambda q: F.cross_entropy(F.linear(F.relu(F.linear(F.relu(F.linear(q.flatten(1), w3, b3)), w4, b4)), w5, b5), ids))"
             "(F.max_pool2d(F.relu(F.conv2d(F.max_pool2d(F.relu(F.conv2d(x.view(64, 1, 28, 28), w1, b1, padding=2)), 2), w2, b2)), 2))",
             "w1 b1 w2 b2 w3 b3 w4 b4 w5 b5", of_params(w1="6, 1, 5, 5", b1="6", w2="16, 6, 5, 5", b2="16", w3="120, 400", b3="120",
                                                       w4="84, 120", b4="84", w5="10, 84", b5="10")),
    training("perceptron 784-512-512-10, step of training", MLP, {"x": "128x784", "ids": "128<10"},
             "F.cross_entropy(F.linear(F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)), w3, b3), ids)",
             "w1 b1 w2 b2 w3 b3", of_params(w1="512, 784", b1="512", w2="512, 512", b2="512", w3="10, 512", b3="10")),
    backward("transformer block 4x64x768", BLOCK, BLOCK_ARRAYS,
             "(lambda h: h + F.linear(F.gelu(F.linear(F.layer_norm(h, (768,), g2, h2), up, bu)), down, bd))((lambda a: x + "
             f"F.linear(F.scaled_dot_product_attention({HEADS % 'wq'}, {HEADS % 'wk'}, {HEADS % 'wv'}).transpose(1, 2)"
             ".reshape(4, 64, 768), wo.view(768, 768)))(F.layer_norm(x, (768,), g1, h1)))",
             "x g1 h1 wq wk wv wo g2 h2 up bu down bd", flops=6.0 * 256 * (12 * 768 * 768 + 2 * 64 * 768)),
]
BY_NAME = {program.name: program for program in GRADIENTS}
