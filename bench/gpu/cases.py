"""What the tables measure: programs, their arrays, and the same in PyTorch.

A case makes its arrays with `make(torch, device)`, which gives inputs and parameters by name, in the order of axes of the
program's arrays; `peer(inputs, parameters)` computes the results from them, in any type of floats. `small` sizes are for a
rehearsal without a GPU.
"""
import dataclasses
import os
from typing import Any, Callable

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCT = "dim m; dim k; dim n; input a : f32 [k -> m]; input b : f32 [n -> k]; output c = a * b"
LINEAR = "import nn; dim m; input x : [m | %d]; let layer = nn.linear(%d); output y = layer(x)"
HEAD = "dim m; input x : [m | %d]; param table : [%d, %d]; output y = einsum(\"m | e; v, e => m | v\", x, table)"
CONV = "import nn; dim n; input x : [n | %d, %d, %d]; let conv = nn.conv2d_no_bias(%d, %d, %d); output y = conv(x)"
CONV_16 = """dim n; input x : bf16 [n | %d, %d, %d]; input w : bf16 [%d, %d, %d -> %d]
output y = bf16(einsum("n | %d*oh =+? kh, %d*ow =+? kw, c; kh, kw, c -> oc => n | oh, ow, oc", f32(x), f32(w)))"""
SOFTMAX = "import nn; dim n; dim v; input x : [n | v]; output y = nn.softmax(x)"
NORM = "import nn; dim n; input x : [n | %d]; let norm = nn.layer_norm(); output y = norm(x)"
CHAIN = "import nn; dim n; dim v; input x : [n | v]; input w : [v]; input b : [v]; output y = nn.gelu_tanh(x .* w + b) .* x"
COLUMNS = "dim n; dim v; input x : [n | v]; output s = sum(\"n | v => | v\", x)"
ATTENTION = """import nn; dim h; dim s; input q : [h, s | 64]; input k : [h, s | 64]; input v : [h, s | 64]
let scores = einsum("h, s | e; h, t | e => h, s | t", q, k) / 8
output y = einsum("h, s | t; h, t | e => h, s | e", nn.softmax(scores), v)"""
PERCEPTRON = """import nn; dim n; input x : [n | %d]; let up = nn.linear(%d), down = nn.linear(%d)
output y = down(nn.gelu_tanh(up(x)))"""


@dataclasses.dataclass
class Case:
    table: str
    name: str
    program: str  # text, or the path of a file
    make: Callable[[Any, Any], tuple[dict, dict]]
    peer: Callable[[dict, dict], Any]
    flops: float = 0
    nbytes: float = 0
    compiled: bool = False  # is PyTorch's compiler worth its time?
    weights: str = ""  # a model of tools/make_weights.py, which both sides read
    sizes: tuple[str, ...] = ()  # of that model, as NAME=NUMBER
    heads: int = 12
    defines: tuple[str, ...] = ()
    dims: dict = dataclasses.field(default_factory=dict)  # that no array tells
    dtype: str = "f32"  # of all arrays
    target: str = "cuda"


def normal(torch, device, *shape, scale=1.0):
    return torch.randn(*shape, device=device) * scale


def products(small):
    for n in (512, 1024, 2048, 4096, 8192):
        n = n // 128 if small else n

        def make(torch, device, n=n):
            return {"a": normal(torch, device, n, n), "b": normal(torch, device, n, n)}, {}
        yield Case("fp32 products", "%d^3" % n, PRODUCT, make, lambda i, p: i["a"] @ i["b"], 2.0 * n**3, 12.0 * n * n)


def linear_case(table, name, m, k, n):
    def make(torch, device):
        return ({"x": normal(torch, device, m, k)},
                {"layer.w": normal(torch, device, n, k, scale=k**-0.5), "layer.b": normal(torch, device, n)})

    def peer(i, p):
        import torch.nn.functional as F
        return F.linear(i["x"], p["layer.w"], p["layer.b"])
    return Case(table, name, LINEAR % (k, n), make, peer, 2.0 * m * k * n, 4.0 * (m * k + k * n + m * n))


def head_case(m, k, n):
    def make(torch, device):
        return {"x": normal(torch, device, m, k)}, {"table": normal(torch, device, n, k, scale=k**-0.5)}
    return Case("shapes of GPT-2", "%d x %d x %d" % (m, n, k), HEAD % (k, n, k), make, lambda i, p: i["x"] @ p["table"].T,
                2.0 * m * k * n, 4.0 * (m * k + k * n + m * n))


def gpt2_shapes(small):
    shrink = 12 if small else 1
    for m in (1, 3) if small else (1, 16, 64, 256, 1024):
        for n, k in ((768, 768), (2304, 768), (3072, 768), (768, 3072)):
            n, k = n // shrink, k // shrink
            yield linear_case("shapes of GPT-2", "%d x %d x %d" % (m, n, k), m, k, n)
    for m in (1, 3) if small else (1, 64, 1024):
        yield head_case(m, 768 // shrink, 517 if small else 50257)


def convolutions(small):
    for size, ic, oc, k, stride, batch in ((56, 64, 64, 3, 1, 32), (28, 128, 128, 3, 1, 32), (56, 128, 128, 3, 2, 32),
                                           (14, 256, 256, 3, 1, 32), (7, 512, 512, 3, 1, 32), (56, 64, 64, 3, 1, 1),
                                           (14, 256, 256, 3, 1, 1), (224, 3, 64, 7, 2, 32)):
        if small:
            size, ic, oc, batch = min(size, 14), min(ic, 4), min(oc, 8), 1

        def make(torch, device, batch=batch, size=size, ic=ic, oc=oc, k=k):
            scale = (ic * k * k) ** -0.5
            return ({"x": normal(torch, device, batch, size, size, ic)},
                    {"conv.w": normal(torch, device, oc, k, k, ic, scale=scale)})

        def peer(i, p, k=k, stride=stride):
            """[n, h, w, c] is PyTorch's channels_last under its own order of axes."""
            import torch.nn.functional as F
            x, w = i["x"].permute(0, 3, 1, 2), p["conv.w"].permute(0, 3, 1, 2)
            return F.conv2d(x, w, None, stride, k // 2).permute(0, 2, 3, 1)
        out = size // stride
        yield Case("convolutions", "%d x %d^2 %d -> %d, %dx%d%s" % (batch, size, ic, oc, k, k, " / 2" if stride == 2 else ""),
                   CONV % (size, size, ic, oc, k, stride), make, peer, 2.0 * batch * out * out * ic * oc * k * k,
                   4.0 * (batch * size * size * ic + k * k * ic * oc + batch * out * out * oc))


def convolutions_16(small):
    """Of bf16, on sm_90a: by warpgroups, from windows that TMA copies."""
    for size, ic, oc, k, stride in ((56, 64, 64, 3, 1), (28, 128, 128, 3, 1), (56, 128, 128, 3, 2), (14, 256, 256, 3, 1),
                                    (7, 512, 512, 3, 1), (56, 256, 512, 1, 2)):
        batch = 1 if small else 32
        if small:
            size, ic, oc = min(size, 14), 16, 16

        def make(torch, device, batch=batch, size=size, ic=ic, oc=oc, k=k):
            scale = (ic * k * k) ** -0.5
            return ({"x": normal(torch, device, batch, size, size, ic).bfloat16(),
                     "w": normal(torch, device, oc, k, k, ic, scale=scale).bfloat16()}, {})

        def peer(i, p, k=k, stride=stride):
            import torch.nn.functional as F
            return F.conv2d(i["x"].permute(0, 3, 1, 2), i["w"].permute(0, 3, 1, 2), None, stride, k // 2).permute(0, 2, 3, 1)
        out = (size - 1) // stride + 1
        yield Case("convolutions, bf16", "%d x %d^2 %d -> %d, %dx%d%s" % (batch, size, ic, oc, k, k, " / 2" if stride == 2 else ""),
                   CONV_16 % (size, size, ic, k, k, ic, oc, stride, stride), make, peer, 2.0 * batch * out * out * ic * oc * k * k,
                   2.0 * (batch * size * size * ic + k * k * ic * oc + batch * out * out * oc), dtype="bf16", target="cuda:sm_90a")


def rows(small):
    def soft(i, p):
        return i["x"].softmax(-1)

    def norm(i, p):
        import torch.nn.functional as F
        return F.layer_norm(i["x"], i["x"].shape[-1:], p["norm.gain"], p["norm.bias"])

    def chain(i, p):
        import torch.nn.functional as F
        return F.gelu(i["x"] * i["w"] + i["b"], approximate="tanh") * i["x"]
    for n, v in ((3, 1024), (2, 4096), (5, 33)) if small else ((4096, 1024), (8192, 4096), (512, 32768), (32768, 768)):
        def x_alone(torch, device, n=n, v=v):
            return {"x": normal(torch, device, n, v)}, {}

        def with_gain(torch, device, n=n, v=v):
            return ({"x": normal(torch, device, n, v)},
                    {"norm.gain": normal(torch, device, v), "norm.bias": normal(torch, device, v)})

        def with_scale(torch, device, n=n, v=v):
            return {"x": normal(torch, device, n, v), "w": normal(torch, device, v),
                    "b": normal(torch, device, v)}, {}
        size, nbytes = "%d x %d" % (n, v), 8.0 * n * v
        yield Case("rows", "softmax " + size, SOFTMAX, x_alone, soft, 0, nbytes, True)
        yield Case("rows", "layer norm " + size, NORM % v, with_gain, norm, 0, nbytes, True)
        yield Case("rows", "gelu(x*w + b)*x " + size, CHAIN, with_scale, chain, 0, nbytes, True)


def columns(small):
    for n, v in ((300, 7), (9, 100)) if small else ((4096, 1024), (8192, 4096), (32768, 768), (100352, 64)):
        def make(torch, device, n=n, v=v):
            return {"x": normal(torch, device, n, v)}, {}
        yield Case("column sums", "%d x %d" % (n, v), COLUMNS, make, lambda i, p: i["x"].sum(0), 0, 4.0 * n * v)


def attention(small):
    def peer(i, p):
        import torch.nn.functional as F
        return F.scaled_dot_product_attention(i["q"][None], i["k"][None], i["v"][None])[0]
    for h, s in ((2, 20),) if small else ((12, 1024), (96, 1024), (16, 4096)):
        def make(torch, device, h=h, s=s):
            return {name: normal(torch, device, h, s, 64) for name in "qkv"}, {}
        yield Case("attention", "%d heads, %d positions, width 64" % (h, s), ATTENTION, make, peer, 4.0 * h * s * s * 64,
                   16.0 * h * s * 64)


def perceptron(small):
    n, k, hidden = (3, 40, 64) if small else (1024, 1024, 4096)

    def make(torch, device):
        return ({"x": normal(torch, device, n, k)},
                {"up.w": normal(torch, device, hidden, k, scale=k**-0.5), "up.b": normal(torch, device, hidden),
                 "down.w": normal(torch, device, k, hidden, scale=hidden**-0.5), "down.b": normal(torch, device, k)})

    def peer(i, p):
        import torch.nn.functional as F
        return F.linear(F.gelu(F.linear(i["x"], p["up.w"], p["up.b"]), approximate="tanh"), p["down.w"], p["down.b"])
    yield Case("perceptron", "%d x %d -> %d -> %d" % (n, k, hidden, k), PERCEPTRON % (k, hidden, k), make, peer, 4.0 * n * k * hidden,
               4.0 * (2 * k * hidden + 2 * n * k), True)


def models(small):
    layers, heads, width, vocab = (2, 2, 8, 37) if small else (12, 12, 64, 50257)
    side = 64 if small else 224
    folder, body = os.path.join(ROOT, "examples", "models"), 85e6
    gpt2_sizes = tuple("%s=%d" % pair for pair in (("layers", layers), ("heads", heads), ("width", width), ("vocab", vocab)))

    def gpt2(s, past):
        def make(torch, device):
            return {"ids": torch.randint(0, vocab, (s,), dtype=torch.int32, device=device),
                    "keys": normal(torch, device, layers, past, heads, width),
                    "values": normal(torch, device, layers, past, heads, width)}, {}
        return make

    def pictures(n):
        return lambda torch, device: ({"image": normal(torch, device, n, side, side, 3)}, {})
    for name, s, past in (("prefill of 64", 64, 0), ("a token after 64", 1, 64)):
        s = min(s, 7) if small else s
        yield Case("models", "GPT-2, " + name, folder + "/gpt2.tsr", gpt2(s, past), None, s * 2 * (body + 50257 * 768),
                   4 * (body + 50257 * 768), True, "gpt2", gpt2_sizes, heads, gpt2_sizes + (("s=1",) if s == 1 else ()))
    for n in (1, 32):
        sizes = ("width=4", "classes=10") if small else ()
        n = min(n, 2) if small else n
        yield Case("models", "ResNet-50, %d picture%s" % (n, "s" if n > 1 else ""), folder + "/resnet50.tsr", pictures(n), None,
                   n * 8.178e9, 4 * 25.6e6, n == 1, "resnet50", sizes, 12, sizes + (("size=%d" % side,) if small else ()))


def all_cases(small=False):
    return [case for group in (rows, columns, products, gpt2_shapes, convolutions, convolutions_16, attention, perceptron, models)
            for case in group(small)]
