"""Small typical programs, one row each: what they are called, the text, the arrays by name, PyTorch's words for the
same, and the work of a call.

An array is its extents, or `EXTENTS<N` for indices below N, `EXTENTS<N sorted` for such in order. The work is the bytes
that are read and written once, or the operations of arithmetic ("flops"). `n` of a text is the first extent of the first
array. `given` is what PyTorch gets besides the arrays, made from them beforehand; `numpy` says the same in NumPy, `np` and
the arrays at hand; `c` names a program of bench/ that does it in C."""
import dataclasses


@dataclasses.dataclass
class Program:
    name: str
    text: str
    arrays: dict
    torch: str
    nbytes: float = 0
    flops: float = 0
    given: dict = dataclasses.field(default_factory=dict)
    numpy: str = ""
    c: str = ""
    peers: tuple = ()  # others, as cases name them (suites.py)


def parsed(array):
    """Extents, the number that indices are below or None, and whether they are sorted"""
    extents, _, below = array.partition("<")
    below, _, order = below.partition(" ")
    return [int(extent) for extent in extents.split("x") if extent], int(below) if below else None, order == "sorted"


def ordered(name):
    """PyTorch with the products in the best order, for programs whose words are torch.einsum"""
    return (("program", "PyTorch opt_einsum", "ordered", name),)


M = 1 << 20
PAIR = {"x": "512x1024", "t": "512x1024"}
MEANS = """let m = sum("%(r)s", x) / %(n)d
let d = x - m
output y = d .* rsqrt(sum("%(r)s", d .* d) / %(n)d + 1e-5)
"""

PROGRAMS = [
    # losses and norms: one number of many
    Program("mean squared error", "input x : [512, 1024]\ninput t : [512, 1024]\nlet d = x - t\n"
            "output y = sum(d .* d) / 524288\n", PAIR, "F.mse_loss(x, t)", 4 * M),
    Program("Huber loss", "input x : [512, 1024]\ninput t : [512, 1024]\nlet d = abs(x - t)\n"
            "output y = sum(where(d < 1, 0.5 * d .* d, d - 0.5)) / 524288\n", PAIR, "F.huber_loss(x, t)", 4 * M),
    Program("logistic loss", "input x : [512, 1024]\ninput t : [512, 1024]\n"
            "output y = sum(relu(x) - x .* t + log(1 + exp(-abs(x)))) / 524288\n", PAIR,
            "F.binary_cross_entropy_with_logits(x, t)", 4 * M),
    Program("cross entropy of 50257", "import nn\ndim n\ninput x : [n | 50257]\ninput ids : i32 [n |]\n"
            "output y = nn.cross_entropy(x, ids)\n", {"x": "32x50257", "ids": "32<50257"},
            "F.cross_entropy(x, ids, reduction='none')", 32 * 50257 * 4),
    Program("variance", "input x : [512, 512]\nlet m = sum(x) / 262144\noutput y = sum((x - m) ** 2) / 262143\n",
            {"x": "512x512"}, "x.var()", M),
    Program("clipped gradient", "input x : [262144]\noutput y = x .* min(1, 1 / (sqrt(sum(x .* x)) + 1e-6))\n",
            {"x": "262144"}, "x * (1 / (x.norm() + 1e-6)).clamp(max=1)", 2 * M),
    Program("scaled to [0, 1]", "input x : [1024, 1024]\nlet low = reduce(min, \"i, j => 0, 0\", x)\n"
            "output y = (x - low) / (reduce(max, \"i, j => 0, 0\", x) - low)\n", {"x": "1024x1024"},
            "(lambda low, high: (x - low) / (high - low))(*x.aminmax())", 8 * M),
    # few cells, short rows
    Program("sums of 4 columns", "input x : [262144, 4]\noutput y = sum(\"i, j => j\", x)\n", {"x": "262144x4"},
            "x.sum(0)", 4 * M),
    Program("sums of rows of 4", "input x : [262144, 4]\noutput y = sum(\"i, j => i\", x)\n", {"x": "262144x4"},
            "x.sum(1)", 5 * M),
    Program("greatest of rows of 3", "input x : [100000, 3]\noutput y = reduce(max, \"i, j => i\", x)\n",
            {"x": "100000x3"}, "x.amax(1)", 1600000),
    Program("softmax of rows of 10", "import nn\ndim n\ninput x : [n | 10]\noutput y = nn.softmax(x)\n",
            {"x": "16384x10"}, "x.softmax(1)", 16384 * 80),
    Program("softmax of rows of 4", "import nn\ninput x : [100000 | 4]\noutput y = nn.softmax(x)\n", {"x": "100000x4"}, "x.softmax(1)", 3200000),
    Program("points times a matrix", "input x : [100000, 3]\ninput w : [3, 3]\noutput y = einsum(\"n, c; d, c => n, d\", x, w)\n",
            {"x": "100000x3", "w": "3x3"}, "x @ w.T", 1800000),
    Program("points as unit vectors", "input x : [100000, 3]\noutput y = x / sqrt(sum(\"n, c => n, 0\", x .* x))\n",
            {"x": "100000x3"}, "F.normalize(x, dim=1)", 900000),
    Program("covariance of points", "input x : [100000, 3]\noutput y = einsum(\"n, i; n, j => i, j\", x, x)\n",
            {"x": "100000x3"}, "x.T @ x", 1800000),
    Program("planes of colours as pixels", "input x : [3, 100000]\noutput y = permute(\"c, n => n, c\", x)\n",
            {"x": "3x100000"}, "x.T.contiguous()", 300000),
    Program("first of 1024 rows", "input x : [1024, 256]\noutput y = argmax(\"i, j => j\", x)\n", {"x": "1024x256"},
            "x.argmax(0)", M),
    # along an axis
    Program("sums up to each place of rows", "input x : [1024, 4096]\noutput y = cumulate(sum, \"r, [t] => r, t\", x)\n",
            {"x": "1024x4096"}, "x.cumsum(1)", 32 * M),
    Program("sums up to each row", "input x : [4096, 1024]\noutput y = cumulate(sum, \"[t], c => t, c\", x)\n",
            {"x": "4096x1024"}, "x.cumsum(0)", 32 * M),
    Program("sums up to each of 8192 rows", "input x : [8192, 1024]\noutput y = cumulate(sum, \"[t], c => t, c\", x)\n",
            {"x": "8192x1024"}, "x.cumsum(0)", 64 * M),
    Program("sums up to each of 16M", "input x : [16777216]\noutput y = cumulate(sum, \"t => t\", x)\n",
            {"x": "16777216"}, "x.cumsum(0)", 128 * M),
    Program("sorted rows of 4096", "input x : [64, 4096]\noutput y = sort(\"r, [t] => r, t\", x)\n", {"x": "64x4096"},
            "x.sort(1)[0]", 2 * M),
    Program("sorted rows of 16", "input x : [16384, 16]\noutput y = sort(\"r, [t] => r, t\", x)\n", {"x": "16384x16"},
            "x.sort(1)[0]", 2 * M, numpy="np.sort(x, 1)"),
    Program("two of 16", "input x : [16384, 16]\nlet (v, i) = topk(2, \"r, t => r, k\", x)\noutput v\noutput i\n",
            {"x": "16384x16"}, "x.topk(2, 1)", M),
    Program("order of rows of 4096", "input x : [64, 4096]\noutput y = argsort(\"r, [t] => r, t\", x)\n",
            {"x": "64x4096"}, "x.argsort(1)", 2 * M),
    Program("top 64 of rows of 4096", "input x : [64, 4096]\nlet (v, i) = topk(64, \"r, t => r, k\", x)\n"
            "output v\noutput i\n", {"x": "64x4096"}, "x.topk(64, 1)", M),
    # normalisation over other axes
    Program("batch norm, training", "input x : [16, 28, 28, 64]\n" + MEANS % {"r": "n, h, w, c => 0, 0, 0, c", "n": 12544},
            {"x": "16x28x28x64"}, "F.batch_norm(x.permute(0, 3, 1, 2), None, None, training=True)", 16 * 784 * 512),
    Program("group norm", "input x : [8, 32, 8, 28, 28]\n" + MEANS % {"r": "n, g, c, h, w => n, g, 0, 0, 0", "n": 6272},
            {"x": "8x32x8x28x28"}, "F.group_norm(x.view(8, 256, 28, 28), 32)", 8 * 256 * 784 * 8),
    Program("rows of length 1", "dim n\ninput x : [n | 256]\n"
            "output y = x .* rsqrt(sum(\"b | i => b | 0\", x .* x) + 1e-6)\n", {"x": "4096x256"}, "F.normalize(x, dim=1)",
            8 * M),
    Program("softmax of channels", "input x : [8, 64, 32, 32]\n"
            "let e = exp(x - reduce(max, \"n, c, h, w => n, 0, h, w\", x))\n"
            "output y = e / sum(\"n, c, h, w => n, 0, h, w\", e)\n", {"x": "8x64x32x32"}, "x.softmax(1)", 8 * 65536 * 8),
    Program("masked softmax", "input x : [12, 256, 256]\nlet seen = sum(\"s => s, 0\", range(256)) >= range(256)\n"
            "let m = where(seen, x / 8, -inf)\nlet e = exp(m - reduce(max, \"h, i, j => h, i, 0\", m))\n"
            "output y = e / sum(\"h, i, j => h, i, 0\", e)\n", {"x": "12x256x256"},
            "(x / 8).masked_fill(torch.ones(256, 256).triu(1).bool(), -float('inf')).softmax(-1)", 12 * 65536 * 8),
    # windows
    Program("average of 2x2, channels last", "import nn\ninput x : [4 | 64, 64, 64]\noutput y = nn.avg_pool2d()(x)\n",
            {"x": "4x64x64x64"}, "F.avg_pool2d(x.permute(0, 3, 1, 2), 2)", 5 * M),
    Program("greatest of 2x2, channels first", "input x : [4, 64, 64, 64]\n"
            "output y = reduce(max, \"n, c, 2*h <+ i, 2*w <+ j => n, c, h, w\", x) with (i = 2, j = 2)\n",
            {"x": "4x64x64x64"}, "F.max_pool2d(x, 2)", 5 * M),
    Program("greatest of 3x3 in steps of 2, channels first", "input x : [8, 32, 64, 64]\n"
            "output y = reduce(max, \"n, c, 2*i =+ a, 2*j =+ b => n, c, i, j\", x) with (a = 3, b = 3)\n",
            {"x": "8x32x64x64"}, "F.max_pool2d(x, 3, 2, 1)", 5 * M),
    Program("moving average of 16", "input x : [64, 16384]\noutput y = sum(\"b, o <+ k => b, o\", x) / 16 with (k = 16)\n",
            {"x": "64x16384"}, "F.avg_pool1d(x, 16, 1)", 8 * M),
    *[Program(f"sums of 3x3, margins of {words}", f"input x : [8, 512, 512]\n"
              f"output y = sum(\"n, h =+[1] a, w =+[1] b => n, h, w\", x{border}) with (a = 3, b = 3)\n", {"x": "8x512x512"},
              f"9 * F.avg_pool2d({pads}, 3, 1{more})", 16 * M)
      for words, border, pads, more in (("zeros", "", "x", ", 1"),
                                        ("reflections", ", border = reflect", "F.pad(x[:, None], [1, 1, 1, 1], 'reflect')", ""))],
    Program("5-point stencil", "input x : [1024, 1024]\n"
            "output y = einsum(\"i <+ a, j <+ b; a, b => i, j\", x, [[0, 1, 0], [1, -4, 1], [0, 1, 0]])\n",
            {"x": "1024x1024"}, "x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]", 8 * M),
    Program("Laplacian by shifts", "input x : [1024, 1024]\n"
            "output y = sum(\"1^i, j => i^1, j\", x) + sum(\"i^1, j => 1^i, j\", x) + "
            "sum(\"i, 1^j => i, j^1\", x) + sum(\"i, j^1 => i, 1^j\", x) - 4 * x\n", {"x": "1024x1024"},
            "F.conv2d(x[None, None], cross, padding=1)[0, 0]", 8 * M,
            given={"cross": "torch.tensor([[[[0., 1, 0], [1, -4, 1], [0, 1, 0]]]])"}),
    Program("27-point stencil", "input x : [96, 96, 96]\ninput w : [3, 3, 3]\n"
            "output y = einsum(\"i =+ a, j =+ b, k =+ c; a, b, c => i, j, k\", x, w)\n", {"x": "96x96x96", "w": "3x3x3"},
            "F.conv3d(x[None, None], w[None, None], padding=1)", flops=54.0 * 96 ** 3),
    # pictures whose channels are scaled by what all their places have
    Program("squeeze and excite, then narrow", "dim n\ninput x : [n | 28, 28, 144]\nparam a : [144 -> 6]\nparam b : [6 -> 144]\n"
            "param w : [144 -> 40]\nlet s = sigmoid(b * relu(a * (sum(\"n | i, j, c => n | c\", x) / 784)))\n"
            "let scaled = x .* sum(\"n | c => n | 0, 0, c\", s)\n"
            "output y = einsum(\"n | i, j, c; c -> o => n | i, j, o\", scaled, w)\n",
            {"x": "1x28x28x144", "a": "6x144", "b": "144x6", "w": "40x144"},
            "(x * torch.sigmoid(torch.relu(x.mean((1, 2)) @ a.T) @ b.T)[:, None, None]) @ w.T", flops=2.0 * 784 * 144 * 40),
    # products of many
    Program("chain of eight", "dim n\ninput x : [n, 32, 16]\ninput a : [32, 24]\ninput b : [24, 40]\ninput c : [40, 16, 8]\n"
            "input d : [8, 64]\ninput e : [64, 12]\ninput f : [12, 48]\ninput g : [48]\n"
            "output y = einsum(\"n, i, j; i, k; k, l; l, j, m; m, o; o, p; p, q; q => n, o\", x, a, b, c, d, e, f, g)\n",
            {"x": "256x32x16", "a": "32x24", "b": "24x40", "c": "40x16x8", "d": "8x64", "e": "64x12", "f": "12x48",
             "g": "48"}, "torch.einsum('nij,ik,kl,ljm,mo,op,pq,q->no', x, a, b, c, d, e, f, g)", 256 * 32 * 16 * 4,
            peers=ordered("chain of eight")),
    Program("tensor train of five", "dim n\ninput x : [n, 8, 8, 8]\ninput a : [8, 10, 4]\ninput b : [4, 8, 10, 4]\n"
            "input c : [4, 8, 10]\ninput s : [10]\n"
            "output y = einsum(\"n, u, v, w; u, i, p; p, v, j, q; q, w, k; k => n, i, j, k\", x, a, b, c, s)\n",
            {"x": "128x8x8x8", "a": "8x10x4", "b": "4x8x10x4", "c": "4x8x10", "s": "10"},
            "torch.einsum('nuvw,uip,pvjq,qwk,k->nijk', x, a, b, c, s)", 128 * 1512 * 4,
            peers=ordered("tensor train of five")),
    # tables
    Program("bag of embeddings", "dim n\ninput ids : i32 [n, 16 |]\nparam w : [10000, 64]\n"
            "output y = sum(\"n, k | d => n | d\", gather(w, ids))\n", {"ids": "512x16<10000", "w": "10000x64"},
            "F.embedding_bag(ids, w, mode='sum')", 512 * 16 * 64 * 4),
    Program("two of eight experts", "input ids : i32 [2]\ninput x : [1024]\nparam w : [8 | 1024 -> 4096]\n"
            "output y = einsum(\"i; k | i -> h => k | h\", x, gather(\"[v] | i -> h; k => k | i -> h\", w, ids))\n",
            {"ids": "2<8", "x": "1024", "w": "8x4096x1024"}, "torch.einsum('i,khi->kh', x, w[ids])",
            flops=2.0 * 2 * 1024 * 4096),
    Program("one of 100", "import nn\ninput ids : i32 [4096 |]\noutput y = nn.one_hot(100)(ids)\n", {"ids": "4096<100"},
            "F.one_hot(ids, 100)", 4096 * 100 * 4),
    Program("histogram of 16", "input x : [65536]\n"
            "output y = sum(\"i, b => b\", sum(\"i => i, 0\", floor(x)) == range(16))\n", {"x": "65536"},
            "torch.histc(x, 16, 0, 16)", 65536 * 4),
    # loops at run time
    *[Program(f"LSTM of 256, 128 steps, batch {b}",
              f"import nn\ninput x : [128, {b} | 256]\nparam wx : [256 -> 4, 256]\nparam wh : [256 -> 4, 256]\n"
              "param b : [4, 256]\nlet z = wx * x + b\nlet (h, c, y) = scan(128, (h, c) = (0, 0), i) {\n"
              "  let (n, m) = nn.lstm_gates(wh * h + (z @ i), c) in (n, m, n) }\noutput y\n",
              {"x": f"128x{b}x256", "wx": "4x256x256", "wh": "4x256x256", "b": "4x256"},
              f"torch.lstm(x, (x.new_zeros(1, {b}, 256), x.new_zeros(1, {b}, 256)), [wx.reshape(1024, 256), "
              "wh.reshape(1024, 256), b.reshape(1024), torch.zeros(1024)], True, 1, 0.0, False, False, False)[0]",
              flops=2.0 * 128 * b * 512 * 1024, peers=(("onnx", "lstm", 128, b, 256),)) for b in (1, 16)],
    # copies and broadcasts
    Program("greatest less least of pixels", "input x : u8 [512, 512, 3]\n"
            "output y = u8(reduce(max, \"h, w, c => h, w\", x) - reduce(min, \"h, w, c => h, w\", x))\n",
            {"x": "512x512x3"}, "x.byte().amax(2) - x.byte().amin(2)", 512 * 512 * 5),
    Program("picture to channels first", "input x : u8 [512, 512, 3]\ninput m : [3]\ninput s : [3]\n"
            "output y = permute(\"h, w, c => c, h, w\", (f32(x) / 255 - m) / s)\n",
            {"x": "512x512x3", "m": "3", "s": "3"},
            "((x.byte().float() / 255 - m) / s).permute(2, 0, 1).contiguous()", 512 * 512 * 15),
    Program("every other column", "input x : [1024, 1024]\noutput y = sum(\"i, 2*j => i, j\", x)\n", {"x": "1024x1024"},
            "x[:, ::2].clone()", 6 * M),
    Program("twice as large", "input x : [16, 64, 64, 32]\n"
            "output y = einsum(\"n, h, w, c; a, b => n, 2*h <+ a, 2*w <+ b, c\", x, [[1, 1], [1, 1]])\n",
            {"x": "16x64x64x32"}, "F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2)", 16 * 4096 * 32 * 20),
    Program("channels scaled", "input x : [8, 64, 56, 56]\ninput g : [64, 1, 1]\ninput b : [64, 1, 1]\n"
            "output y = relu(x .* g + b)\n", {"x": "8x64x56x56", "g": "64x1x1", "b": "64x1x1"}, "torch.relu(x * g + b)",
            8 * 3136 * 64 * 8),
    Program("step of Adam", "input p : [262144]\ninput g : [262144]\ninput m : [262144]\ninput v : [262144]\n"
            "let a = 0.9 * m + 0.1 * g\nlet b = 0.999 * v + 0.001 * g .* g\noutput a\noutput b\n"
            "output q = p - 0.001 * a / (sqrt(b) + 1e-8)\n", dict.fromkeys("pgmv", "262144"),
            "(lambda a, b: (a, b, p - 0.001 * a / (b.abs().sqrt() + 1e-8)))(0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g)",
            7 * M),
    Program("gates of an LSTM", "input z : [256 | 4, 512]\ninput c : [256 | 512]\n"
            "let i = sum(\"n | 0, d => n | d\", z)\nlet f = sum(\"n | 1, d => n | d\", z)\n"
            "let g = sum(\"n | 2, d => n | d\", z)\nlet o = sum(\"n | 3, d => n | d\", z)\n"
            "let s = sigmoid(f) .* c + sigmoid(i) .* tanh(g)\noutput s\noutput h = sigmoid(o) .* tanh(s)\n",
            {"z": "256x4x512", "c": "256x512"},
            "(lambda i, f, g, o: (lambda s: (s, o.sigmoid() * s.tanh()))(f.sigmoid() * c + i.sigmoid() * g.tanh()))"
            "(*z.unbind(1))", 256 * 512 * 28),
    # distances
    Program("gray from RGB", "input x : [1024, 1024, 3]\nconst luma = [0.299, 0.587, 0.114]\n"
            "output y = einsum(\"i, j, c; c => i, j\", x, luma)\n", {"x": "1024x1024x3"},
            "x @ torch.tensor([0.299, 0.587, 0.114])", 16 * M),
    *[Program(f"2000 bodies that attract each other, {words}", f"input p : [{shape}]\ninput m : [2000]\n"
              f"let d = sum(\"{p} => {j}\", p) - sum(\"{q} => {i}\", p)\n"
              f"let w = rsqrt(sum(\"{ij} => i, j\", d .* d) + 1e-3) ** 3\n"
              f"output a = einsum(\"i, j; j; {ij} => {q}\", w, m, d)\n", {"p": shape.replace(", ", "x"), "m": "2000"},
              torch, flops=20 * 2000 * 2000)
      for words, shape, p, q, i, j, ij, torch in (
          ("rows of x", "3, 2000", "x, j", "x, i", "x, i, 0", "x, 0, j", "x, i, j",
           "(lambda d: (((d * d).sum(0) + 1e-3).rsqrt() ** 3 * m * d).sum(2))(p[:, None, :] - p[:, :, None])"),
          ("rows of bodies", "2000, 3", "j, x", "i, x", "i, 0, x", "0, j, x", "i, j, x",
           "(lambda d: ((((d * d).sum(2) + 1e-3).rsqrt() ** 3 * m)[:, :, None] * d).sum(1))(p[None] - p[:, None])"))],
    Program("distances of 64 centres", "input x : [2048, 16]\ninput c : [64, 16]\n"
            "output y = sum(\"n, k, i => n, k\", abs(sum(\"n, i => n, 0, i\", x) - sum(\"k, i => 0, k, i\", c)))\n",
            {"x": "2048x16", "c": "64x16"}, "torch.cdist(x, c, 1)", flops=3.0 * 2048 * 64 * 16),
    Program("nearest of 64 centres", "input x : [2048, 16]\ninput c : [64, 16]\n"
            "let d = sum(\"k, i => k\", c .* c) - 2 * einsum(\"n, i; k, i => n, k\", x, c)\n"
            "output y = argmax(\"n, k => n\", -d)\n", {"x": "2048x16", "c": "64x16"},
            "((c * c).sum(1) - 2 * (x @ c.T)).argmin(1)", flops=2.0 * 2048 * 64 * 16),
    Program("cosines", "input x : [4096, 128]\ninput z : [4096, 128]\nlet d = sum(\"n, i => n\", x .* z)\n"
            "output y = d .* rsqrt(sum(\"n, i => n\", x .* x) .* sum(\"n, i => n\", z .* z))\n",
            {"x": "4096x128", "z": "4096x128"}, "F.cosine_similarity(x, z)", 4 * M),
    Program("1000 products of 16x16", "input a : [1000, 16, 16]\ninput x : [1000, 16]\n"
            "output y = einsum(\"nij; nj => ni\", a, x)\n", {"a": "1000x16x16", "x": "1000x16"},
            "torch.bmm(a, x[:, :, None])", flops=512000.0),
]

ROWS = {"x": "1000000x64", "ids": "1000000<100000"}
SUM_OF_ROWS = ("input x : [1000000, 64]\ninput ids : i32 [1000000]\n"
               "output y = scatter(\"e, d; e => [v], d\", x, ids) with (v = 100000)\n")
ALONG = "input x : [%s]\noutput y = %s(\"%s\", x)\n"

# read and added where indices say, and along an axis
INDEXED = [
    Program("scatter-add of 1M rows of 64 into 100k", SUM_OF_ROWS, ROWS,
            "torch.zeros(100000, 64).scatter_add_(0, ids[:, None].expand(-1, 64), x)", 285.6e6),
    Program("index-add of 1M rows of 64 into 100k", SUM_OF_ROWS, ROWS, "torch.zeros(100000, 64).index_add_(0, ids, x)",
            285.6e6),
    Program("sums of sorted segments of 1M rows of 64", SUM_OF_ROWS, {**ROWS, "ids": "1000000<100000 sorted"},
            "F.embedding_bag(every, x, starts, mode='sum')", 285.6e6,
            given={"every": "torch.arange(1000000)", "starts": "torch.searchsorted(ids, torch.arange(100000))"}),
    Program("histogram of 16M", "input ids : i32 [16777216]\n"
            "output y = scatter(\"; e => [v]\", i32(1), ids) with (v = 1024)\n", {"ids": "16777216<1024"},
            "torch.zeros(1024, dtype=torch.int32).scatter_add_(0, ids, ones)", 64 * M,
            given={"ones": "torch.ones(16777216, dtype=torch.int32)"}, numpy="np.bincount(ids, minlength=1024)"),
    Program("weighed histogram of 16M", "input x : [16777216]\ninput ids : i32 [16777216]\n"
            "output y = scatter(\"e; e => [v]\", x, ids) with (v = 1024)\n", {"x": "16777216", "ids": "16777216<1024"},
            "torch.zeros(1024).scatter_add_(0, ids, x)", 128 * M, numpy="np.bincount(ids, x, 1024)"),
    Program("1M messages of 64 along the edges of 100k nodes", "dim n\ninput x : [n | 64]\ninput source : i32 [1000000]\n"
            "input to : i32 [1000000]\noutput y = scatter(\"e | d; e => [v] | d\", gather(\"[v] | d; e => e | d\", x, source), to)"
            " with (v = n)\n", {"x": "100000x64", "source": "1000000<100000", "to": "1000000<100000"},
            "torch.zeros_like(x).index_add_(0, to, x[source])", 1000000 * 264.0),
    Program("1M rows of 64", "input x : [100000, 64]\ninput ids : i32 [1000000]\n"
            "output y = gather(\"[v], d; e => e, d\", x, ids)\n", {"x": "100000x64", "ids": "1000000<100000"},
            "torch.index_select(x, 0, ids, out=y)", 285.6e6, given={"y": "torch.empty(1000000, 64)"}, numpy="x[ids]"),
    Program("one of each row of 10", "input x : [1000000, 10]\ninput ids : i32 [1000000]\n"
            "output y = gather(\"b, [v]; b => b\", x, ids)\n", {"x": "1000000x10", "ids": "1000000<10"},
            "x.gather(1, ids[:, None])", 48e6, numpy="np.take_along_axis(x, ids[:, None], 1)"),
    Program("one of each row of 1000", "input x : [100000, 1000]\ninput ids : i32 [100000]\n"
            "output y = gather(\"b, [v]; b => b\", x, ids)\n", {"x": "100000x1000", "ids": "100000<1000"},
            "x.gather(1, ids[:, None])", 100000 * 72, numpy="np.take_along_axis(x, ids[:, None], 1)"),
    Program("greatest of 1M rows of 64 into 100k", SUM_OF_ROWS.replace("x, ids", "x, ids, reduce = max"), ROWS,
            "torch.zeros(100000, 64).scatter_reduce_(0, ids[:, None].expand(-1, 64), x, 'amax', include_self=False)", 285.6e6),
    Program("last of 1M rows of 64 into 100k", SUM_OF_ROWS.replace("x, ids", "x, ids, reduce = set"), ROWS,
            "torch.zeros(100000, 64).index_put_((ids,), x)", 285.6e6),
    Program("8 of 512 rows of each of 256", "input x : [256, 512, 64]\ninput ids : i32 [256, 8]\n"
            "output y = gather(\"b, [s], d; b, k => b, k, d\", x, ids)\n", {"x": "256x512x64", "ids": "256x8<512"},
            "x[every, ids]", 256 * 8 * 516, given={"every": "torch.arange(256)[:, None]"},
            numpy="x[np.arange(256)[:, None], ids]"),
    Program("1M points of a picture", "input x : [2048, 2048]\ninput v : i32 [1000000]\ninput u : i32 [1000000]\n"
            "output y = gather(\"[y], [x]; p; p => p\", x, v, u)\n",
            {"x": "2048x2048", "v": "1000000<2048", "u": "1000000<2048"}, "x[v, u]", 76e6, numpy="x[v, u]"),
    Program("sums up to each place of rows of 4096", "input x : [1024, 4096]\noutput y = cumulate(sum, \"r, [t] => r, t\", x)\n",
            {"x": "1024x4096"}, "x.cumsum(1)", 32 * M, numpy="np.cumsum(x, 1)"),
    Program("sums up to each place of 16M", "input x : [16777216]\noutput y = cumulate(sum, \"t => t\", x)\n",
            {"x": "16777216"}, "x.cumsum(0)", 128 * M, numpy="np.cumsum(x)"),
    Program("sums from the end of rows of 4096", "input x : [1024, 4096]\n"
            "output y = cumulate(sum, \"r, [t] => r, t\", x, exclusive, reverse)\n", {"x": "1024x4096"},
            "x.flip(1).cumsum(1).flip(1) - x", 32 * M, numpy="np.cumsum(x[:, ::-1], 1)[:, ::-1] - x"),
    Program("sorted 64 rows of 4096", ALONG % ("64, 4096", "sort", "r, [t] => r, t"), {"x": "64x4096"}, "x.sort(1)[0]", 2 * M,
            numpy="np.sort(x, 1)"),
    Program("sorted 16M", ALONG % ("16777216", "sort", "t => t"), {"x": "16777216"}, "x.sort()[0]", 128 * M,
            numpy="np.sort(x)"),
    Program("sorted 1M", ALONG % ("1048576", "sort", "t => t"), {"x": "1048576"}, "x.sort()[0]", 8 * M, numpy="np.sort(x)"),
    Program("order of 1M", ALONG % ("1048576", "argsort", "t => t"), {"x": "1048576"}, "x.argsort()", 8 * M, numpy="np.argsort(x)"),
    Program("top 64 of 1M", "input x : [1048576]\nlet (v, i) = topk(64, \"t => k\", x)\noutput v\noutput i\n", {"x": "1048576"},
            "x.topk(64)", 4 * M, numpy="np.argpartition(x, -64)[-64:]"),
    Program("order of 64 rows of 4096", ALONG % ("64, 4096", "argsort", "r, [t] => r, t"), {"x": "64x4096"},
            "x.argsort(1)", 2 * M, numpy="np.argsort(x, 1)"),
    Program("top 64 of 64 rows of 4096", "input x : [64, 4096]\nlet (v, i) = topk(64, \"r, t => r, k\", x)\noutput v\noutput i\n",
            {"x": "64x4096"}, "x.topk(64, 1)", M, numpy="np.argpartition(x, -64, 1)[:, -64:]"),
    Program("5-point stencil 512x512, 1000 steps", "input x : [512, 512]\n"
            "fn flow(u) = (sum(\"y =+[1, 1] a, x => y, x\", u) with (a = 3)) + "
            "(sum(\"y, x =+[1, 1] b => y, x\", u) with (b = 3)) - 6 * u\n"
            "output y = scan(1000, u = x) { u + 0.2 * flow(u) }\n", {"x": "512x512"},
            "functools.reduce(lambda u, _: u + 0.2 * F.conv2d(u[None, None], cross, padding=1)[0, 0], range(1000), x)",
            flops=7.0 * 512 * 512 * 1000, c="stencil",
            given={"cross": "torch.tensor([[[[0., 1, 0], [1, -4, 1], [0, 1, 0]]]])"}),
    Program("262144 equations u' = u - u^3, 1000 steps", "input x : [262144]\n"
            "output y = scan(1000, u = x) { u + 0.01 * (u - u .* u .* u) }\n", {"x": "262144"},
            "functools.reduce(lambda u, _: u + 0.01 * (u - u * u * u), range(1000), x)", flops=5.0 * 262144 * 1000),
]
BY_NAME = {program.name: program for program in PROGRAMS + INDEXED}
