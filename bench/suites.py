"""What is measured: a suite is a function that yields cases.

A case is a program and the work of one call: `flops`, or `nbytes` of what is read and written once. `peers` are
commands by kind (contestants.py): ("gemm", layout, m, n, k), ("torch", kind, sizes...), ("numpy", kind, ...)."""
import dataclasses
import math

import examples as worth_reading
import gradients as derived
import programs as typical


@dataclasses.dataclass
class Case:
    name: str
    program: str
    flops: float = 0
    nbytes: float = 0
    peers: tuple = ()
    arguments: tuple = ()
    bounded: bool = True  # by the peak of f32
    rounds: int = 1       # at least: more of what waits for memory, which serves other machines as well
    indices: dict = dataclasses.field(default_factory=dict)  # inputs of whole numbers, as in programs.py


def products():
    shapes = [(s, s, s) for s in (16, 32, 64, 100, 128, 255, 256, 512, 1000, 1024, 2048)]
    shapes += [(333, 777, 555), (32, 4096, 1024), (4, 4096, 1024), (8, 256, 256), (128, 10, 784), (1, 4096, 4096)]
    shapes += [(64, n, k) for n, k in ((2304, 768), (768, 768), (3072, 768), (768, 3072), (50257, 768))]  # GPT-2
    for m, n, k in shapes:
        program = 'input a : [%d, %d]\ninput b : [%d, %d]\noutput c = einsum("ij; jk => ik", a, b)\n' % (m, k, k, n)
        yield Case("a*b %dx%dx%d" % (m, n, k), program, 2.0 * m * n * k, rounds=3 if m == 1 else 1,
                   peers=(("gemm", "nn", m, n, k), ("torch", "matmul", m, n, k), ("numpy", "matmul", m, n, k)))


def narrow():
    """Products of bf16 in f32, of bytes in i32"""
    for kind, a, b in (("bf16", "bf16", "bf16"), ("u8i8", "u8", "i8"), ("i8i8", "i8", "i8")):
        for m, n, k in ((256, 256, 256), (512, 512, 512), (8, 1024, 1024)):
            program = 'input a : %s [%d, %d]\ninput b : %s [%d, %d]\noutput c = einsum("ij; jk => ik", a, b)\n' % (
                a, m, k, b, k, n)
            yield Case("%s a*b %dx%dx%d" % (kind, m, n, k), program, 2.0 * m * n * k, bounded=False,
                       peers=(("narrow", kind, m, n, k),))


def linear():
    for m, n, k in ((1, 1000, 1000), (8, 256, 256), (32, 768, 768), (64, 3072, 768), (128, 128, 784), (512, 512, 512)):
        program = "dim n\ninput x : [n | %d]\nparam w : [%d -> %d]\nparam b : [%d]\noutput y = relu(w * x + b)\n" % (
            k, k, n, n)
        yield Case("relu(w*x + b) %dx%dx%d" % (m, n, k), program, 2.0 * m * n * k, arguments=("n=%d" % m,),
                   peers=(("torch", "linear", m, n, k), ("packed", "linear", m, n, k), ("gemm", "nt", m, n, k)))


FOUR_BITS = """dim n
input x : [n | %(k)d]
param w : u4 [%(g)d, 32 -> %(n)d]
param s : f16 [%(g)d -> %(n)d]
output y = einsum("g, k -> o; g -> o => g, k -> o", w - 8, s) * reshape(x : [n | %(g)d, 32])
"""


GROUP_SUMS = FOUR_BITS[:FOUR_BITS.index("output")] + """output y = einsum("g, k -> o; g -> o; b | g, k => b | o",
    w - 8, s, reshape(x : [n | %(g)d, 32]))
"""

ZERO_POINTS = GROUP_SUMS.replace("w - 8", "w - z").replace("output", "param z : u4 [%(g)d, 1 -> %(n)d]\noutput")
ZERO_POINTS_I32 = ZERO_POINTS.replace("z : u4", "z : i32")
BYTES = """dim n
input x : i8 [n | %(g)d, 32]
input t : f32 [n | %(g)d]
param w : u4 [%(g)d, 32 -> %(n)d]
param s : f16 [%(g)d -> %(n)d]
let p = einsum("b | g, k; g, k -> o => b | g, o", x, w)
output y = einsum("b | g, o; g -> o; b | g => b | o", f32(p), s, t)
"""
# What a step of a routine stores; the least is a result that costs little.
FOUR_BITS_ROW = """input x : [1, %(n)d]
param cache : i4 [%(m)d, %(n)d]
routine put(i : i32) -> least { cache =: i4(x) via "s, d => s + i, d"  least =: reduce(min, "s, d => ", x) }
"""


def four_bits():
    """Weights of four bits in groups of 32, past rows of f32, scaled or with sums of groups scaled, less a number or
    zero points of groups, or past rows of bytes in whole numbers; peers make floats of them at each call. Rows of four bits that a step stores"""
    for program, name, m, n, k in ((FOUR_BITS, "", 1, 4096, 4096), (GROUP_SUMS, ", sums scaled", 1, 4096, 4096),
                                   (FOUR_BITS, "", 1, 11008, 4096), (GROUP_SUMS, ", sums scaled", 1, 11008, 4096),
                                   (ZERO_POINTS, ", zero points", 1, 4096, 4096),
                                   (ZERO_POINTS, ", zero points", 16, 4096, 4096),
                                   (ZERO_POINTS_I32, ", zero points in i32", 1, 4096, 4096),
                                   (BYTES, ", past bytes", 1, 4096, 4096), (BYTES, ", past bytes", 1, 11008, 4096),
                                   (BYTES, ", past bytes", 4, 4096, 4096), (GROUP_SUMS, ", sums scaled", 4, 4096, 4096),
                                   (FOUR_BITS, "", 4, 4096, 4096), (FOUR_BITS, "", 64, 4096, 4096)):
        yield Case("four bits %dx%dx%d%s" % (m, n, k, name), program % {"g": k // 32, "n": n, "k": k}, 2.0 * m * n * k,
                   n * k / 2 + n * k / 16 + 4 * m * (n + k), arguments=("n=%d" % m,),
                   peers=(("numpy", "four_bits", m, n, k), ("torch", "four_bits", m, n, k)))
    m, n = 4096, 4096
    yield Case("four bits, row %dx%d" % (m, n), FOUR_BITS_ROW % {"m": m, "n": n}, nbytes=4.5 * n,
               arguments=("put", "i=7"), peers=(("numpy", "four_bits_row", m, n), ("torch", "four_bits_row", m, n)))


CONV = """input x : [1 | %(h)d, %(h)d, %(ci)d]
param w : [%(k)d, %(k)d, %(ci)d -> %(co)d]
param b : [%(co)d]
output y = relu(einsum("n | %(s)d*oh =+ kh, %(s)d*ow =+ kw, i; kh, kw, i -> o => n | oh, ow, o", x, w) + b)
"""
DEPTHWISE = """input x : [1 | %(h)d, %(h)d, %(ci)d]
param w : [%(k)d, %(k)d, %(ci)d]
param b : [%(ci)d]
output y = min(relu(einsum("n | %(s)d*oh =+ kh, %(s)d*ow =+ kw, c; kh, kw, c => n | oh, ow, c", x, w) + b), 6)
"""
# Height of the input, channels in and out, kernel, stride: every convolution of ResNet-50 v1.5.
RESNET = ((224, 3, 64, 7, 2), (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1),
          (56, 256, 128, 1, 1), (56, 128, 128, 3, 2), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2), (28, 512, 128, 1, 1),
          (28, 128, 128, 3, 1), (28, 512, 256, 1, 1), (28, 256, 256, 3, 2), (14, 256, 1024, 1, 1),
          (28, 512, 1024, 1, 2), (14, 1024, 256, 1, 1), (14, 256, 256, 3, 1), (14, 1024, 512, 1, 1),
          (14, 512, 512, 3, 2), (7, 512, 2048, 1, 1), (14, 1024, 2048, 1, 2), (7, 2048, 512, 1, 1), (7, 512, 512, 3, 1))
# Height, channels, stride: every depthwise convolution of MobileNetV2.
MOBILENET = ((112, 32, 1), (112, 96, 2), (56, 144, 1), (56, 144, 2), (28, 192, 1), (28, 192, 2), (14, 384, 1),
             (14, 576, 1), (14, 576, 2), (7, 960, 1))


def conv():
    for h, ci, co, k, s in RESNET:
        flops = 2.0 * ((h + s - 1) // s) ** 2 * ci * co * k * k
        yield Case("conv %dx%d s%d %d->%d at %d" % (k, k, s, ci, co, h), CONV % locals(), flops,
                   peers=tuple((peer, "conv", h, ci, co, k, s, 1) for peer in ("torch", "packed", "onnx")))
    for h, ci, s in MOBILENET:
        k = 3
        flops = 2.0 * ((h + s - 1) // s) ** 2 * ci * k * k
        yield Case("depthwise %dx%d s%d %d at %d" % (k, k, s, ci, h), DEPTHWISE % locals(), flops,
                   peers=tuple((peer, "conv", h, ci, ci, k, s, ci) for peer in ("torch", "packed", "onnx")))


PICTURES = """input x : [1 | %(ci)d, %(h)d, %(h)d]
param w : [%(ci)d, %(k)d, %(k)d -> %(co)d]
param b : [%(co)d, 1, 1]
output y = einsum("n | i, %(s)d*oh =+ %(d)d*kh, %(s)d*ow =+ %(d)d*kw; i, kh, kw -> o => n | o, oh, ow", x, w) + b
"""
# Height, channels in and out, kernel, stride, dilation.
CHANNELS_FIRST = ((224, 3, 64, 7, 2, 1), (224, 3, 16, 3, 1, 1), (112, 16, 16, 3, 1, 1), (112, 16, 64, 3, 2, 1),
                  (56, 64, 64, 3, 1, 1), (56, 64, 64, 5, 1, 1), (56, 64, 64, 3, 1, 2), (56, 64, 64, 3, 2, 1),
                  (56, 64, 1, 3, 1, 1), (32, 16, 64, 3, 1, 1), (28, 128, 128, 3, 1, 1), (14, 256, 256, 3, 1, 1),
                  (7, 512, 512, 3, 1, 1), (224, 1, 16, 3, 1, 1), (224, 1, 3, 5, 1, 1), (224, 1, 1, 3, 1, 1),
                  (224, 1, 1, 5, 1, 1), (224, 1, 1, 7, 1, 1), (1024, 1, 1, 5, 1, 1))


TRANSPOSED = """input x : [1 | %(ci)d, %(places)s]
param w : [%(ci)d, %(co)d, %(kernel)s]
param b : [%(co)d%(ones)s]
output y = relu(einsum("n | i, %(read)s; i, o, %(steps)s => n | o, %(written)s", x, w) + b)
"""
# Axes of the picture, height, channels in and out, kernel, stride: DCGAN, U-Net, a decoder, HiFi-GAN.
UPSAMPLED = ((2, 4, 512, 256, 4, 2), (2, 8, 256, 128, 4, 2), (2, 32, 64, 32, 4, 2), (2, 32, 64, 3, 4, 2),
             (2, 28, 128, 64, 2, 2), (2, 64, 64, 32, 2, 2), (2, 28, 64, 64, 3, 2), (1, 32, 512, 256, 16, 8),
             (1, 256, 256, 128, 16, 8))


def transposed():
    """Transposed convolutions with the channels first"""
    for axes, h, ci, co, k, s in UPSAMPLED:
        mark = "=+" if k > s else "<+"
        words = dict(ci=ci, co=co, places=", ".join([str(h)] * axes), kernel=", ".join([str(k)] * axes),
                     ones=", 1" * axes, read=", ".join("yx"[-axes:]), steps=", ".join("kl"[-axes:]),
                     written=", ".join("%d*%s %s %s" % (s, y, mark, l) for y, l in zip("yx"[-axes:], "kl"[-axes:])))
        yield Case("transposed %s s%d %d->%d at %d" % ("x".join([str(k)] * axes), s, ci, co, h), TRANSPOSED % words,
                   2.0 * h ** axes * ci * co * k ** axes, peers=(("torch", "transposed", axes, h, ci, co, k, s),))


# Chains, whose pictures the program makes itself.
FILTERS = """input x : [%(h)d, %(h)d]
param w : [3, 3]
param v : [5, 5]
let a = einsum("y =+ i, x =+ j; i, j => y, x", x, w)
let b = einsum("y =+ i, x =+ j; i, j => y, x", a, v)
let across = einsum("y =+ i, x =+ j; i, j => y, x", b, w)
let down = einsum("y =+ i, x =+ j; j, i => y, x", b, w)
output y = sqrt(across .* across + down .* down)
"""
NETWORK = """input x : [1 | 3, %(h)d, %(h)d]
fn conv(out)(x) = relu(einsum("n | i, y =+ k, x =+ l; i, k, l -> o => n | o, y, x", x, {w : [..., 3, 3 -> out]}) + {b : [out, 1, 1]})
fn down(out)(x) = relu(einsum("n | i, 2*y =+ k, 2*x =+ l; i, k, l -> o => n | o, y, x", x, {w : [..., 3, 3 -> out]}) + {b : [out, 1, 1]})
let c1 = conv(16)
let c2 = conv(16)
let c3 = down(32)
let c4 = conv(32)
let c5 = conv(64)
output y = reduce(max, "n | c, 2*y <+ i, 2*x <+ j => n | c, y, x", c5(c4(c3(c2(c1(x)))))) with (i = 2, j = 2)
"""


def network_flops(h):
    return 2.0 * 9 * (h * h * (3 * 16 + 16 * 16) + (h // 2) ** 2 * (16 * 32 + 32 * 32 + 32 * 64))


def pictures():
    """Convolutions with the channels before the picture, filters of gray pictures, and chains of both"""
    for h, ci, co, k, s, d in CHANNELS_FIRST:
        out = (h + s - 1) // s
        dilated = " d%d" % d if d > 1 else ""
        yield Case("conv %dx%d s%d%s %d->%d at %d" % (k, k, s, dilated, ci, co, h), PICTURES % locals(),
                   2.0 * out ** 2 * ci * co * k * k,
                   peers=tuple((peer, "pictures", h, ci, co, k, s, d) for peer in ("torch", "packed", "onnx")))
    for h in (224, 1024):
        yield Case("gray 3x3, 5x5, two 3x3 at %d" % h, FILTERS % {"h": h}, 2.0 * h * h * (9 + 25 + 9 + 9),
                   peers=(("torch", "filters", h), ("onnx", "filters", h)))
    for h in (112, 56):
        yield Case("five 3x3 and a pool at %d" % h, NETWORK % {"h": h}, network_flops(h),
                   peers=(("torch", "network", h), ("onnx", "network", h)))


# The equation as NumPy writes it and the extents of its letters: from the Tensor Contraction Code Generator's
# collection (coupled cluster methods, transforms, machine learning), then batched products and those of three operands.
CONTRACTIONS = (
    ("aebf,dfce->abcd", dict.fromkeys("abcdef", 24)), ("aebf,fdec->abcd", dict.fromkeys("abcdef", 24)),
    ("aecf,bfde->abcd", dict.fromkeys("abcdef", 24)), ("eafb,cfde->abcd", dict.fromkeys("abcdef", 24)),
    ("dbea,ec->abcd", dict.fromkeys("abcde", 40)), ("ebad,ce->abcd", dict.fromkeys("abcde", 40)),
    ("efbad,cf->abcde", dict(dict.fromkeys("abcde", 16), f=32)),
    ("dega,gfbc->abcdef", dict(dict.fromkeys("abcdef", 12), g=24)),
    ("dfgb,geac->abcdef", dict(dict.fromkeys("abcdef", 12), g=24)),
    ("acd,dbc->ab", dict(a=312, b=296, c=24, d=40)), ("bda,dc->abc", dict(a=96, b=84, c=72, d=128)),
    ("adc,bd->abc", dict(a=72, b=96, c=84, d=128)),
    ("bij,bkj->bik", dict(b=48, i=96, j=64, k=96)), ("bihd,bjhd->bhij", dict(b=2, h=12, i=128, j=128, d=64)),
    ("ab,bc,cd->ad", dict.fromkeys("abcd", 200)), ("bi,ijo,bj->bo", dict(b=64, i=100, j=100, o=50)),
    ("ijk,jr,kr->ir", dict.fromkeys("ijk", 100) | dict(r=50)),
)


def spec(operands, result):
    """ab,bc->ac in tsr's notation"""
    return "%s => %s" % ("; ".join(", ".join(o) for o in operands), ", ".join(result))


def shape(letters, extents):
    return "[%s]" % ", ".join(str(extents[c]) for c in letters)


def steps(letters, extents):
    return math.prod(extents[c] for c in letters)


def fewest_steps(operands, result, extents):
    """Of three operands in pairs, else of all at once."""
    if len(operands) == 2:
        return steps(set("".join(operands)), extents)
    orders = []
    for i, last in enumerate(operands):
        pair = set("".join(operands[:i] + operands[i + 1:]))
        orders.append(steps(pair, extents) + steps(pair & set(last + result) | set(last), extents))
    return min(orders)


def contractions():
    for equation, extents in CONTRACTIONS:
        operands, result = equation.split("->")
        operands = operands.split(",")
        names = "xwv"[:len(operands)]
        program = "".join("input %s : %s\n" % (name, shape(o, extents)) for name, o in zip(names, operands))
        program += 'output y = einsum("%s", %s)\n' % (spec(operands, result), ", ".join(names))
        sizes = ["x".join(str(extents[c]) for c in o) for o in operands]
        peer = ("einsum", equation, *sizes)
        yield Case(equation, program, 2.0 * fewest_steps(operands, result, extents),
                   peers=(("torch", *peer), ("numpy", *peer)))


# The axes' new order, and their extents.
TRANSPOSES = (("ab->ba", (1024, 1024)), ("ab->ba", (200, 200)), ("ab->ba", (100, 20000)), ("abc->cba", (96, 128, 112)),
              ("abc->bac", (128, 12, 64)), ("abc->acb", (64, 200, 200)), ("abcd->dcba", (32, 40, 24, 48)),
              ("abcd->badc", (32, 40, 24, 48)), ("abcd->acdb", (8, 64, 56, 56)), ("abcd->adbc", (8, 56, 56, 64)))


def transposes():
    for order, sizes in TRANSPOSES:
        source, result = order.split("->")
        program = "input x : [%s]\n" % ", ".join(map(str, sizes))
        program += 'output y = permute("%s", x)\n' % spec([source], result)
        text = "x".join(map(str, sizes))
        peer = ("permute", order, text)
        yield Case("%s %s" % (order, text), program, nbytes=8.0 * math.prod(sizes),
                   peers=(("torch", *peer), ("numpy", *peer)))


def reductions():
    for kind, operation in (("sum", "sum"), ("max", "max")):
        for axes, result in (("rows", "i"), ("columns", "j"), ("all", "")):
            for m, n in ((1024, 1024), (200, 300)):
                program = 'input x : [%d, %d]\noutput y = reduce(%s, "i, j => %s", x)\n' % (
                    m, n, operation, result)
                yield Case("%s of %s %dx%d" % (kind, axes, m, n), program, nbytes=4.0 * m * n,
                           peers=(("torch", kind + "_" + axes, m, n),))


def rows():
    text = "input x : [%d | %d]\n"
    programs = {
        "softmax": "import nn\n" + text + "output y = nn.softmax(x)\n",
        "layernorm": "import nn\n" + text + "let norm = nn.layer_norm()\noutput y = norm(x)\n",
        "rmsnorm": "import nn\n" + text + "let norm = nn.rms_norm()\noutput y = norm(x)\n",
        "argmax": text + 'output y = argmax("... | v => ... | ", x)\n',
        "sum": text + 'output y = sum("... | v => ... | ", x)\n',
    }
    for kind, program in programs.items():
        for m, n in ((1024, 1024), (64, 768)):
            folded = kind in ("argmax", "sum")  # one number of a row
            yield Case("%s %dx%d" % (kind, m, n), program % (m, n), nbytes=(4.0 if folded else 8.0) * m * n,
                       peers=(("torch", kind, m, n),) + (() if folded else (("compiled", kind, m, n),)))


COMPILED = ("gelu", "chain")  # a few, as each takes seconds


def elementwise():
    text = "input x : [%d | %d]\n"
    programs = {
        "gelu": text + "output y = gelu(x)\n",
        "exp": text + "output y = exp(x)\n",
        "sigmoid": text + "output y = sigmoid(x)\n",
        "tanh": text + "output y = tanh(x)\n",
        "sin": text + "output y = sin(x)\n",
        "log1p": text + "output y = log1p(x)\n",
        "atan": text + "output y = atan(x)\n",
        "remainder": text + "output y = x %% 0.3\n",
        "chain": text + "input w : [%d]\ninput b : [%d]\ninput r : [%d | %d]\noutput y = gelu(x .* w + b) .* w + r\n",
    }
    for kind, program in programs.items():
        for m, n in ((1024, 1024), (64, 768)):
            yield Case("%s %dx%d" % (kind, m, n), program % ((m, n, n, n, m, n) if kind == "chain" else (m, n)),
                       nbytes=(12.0 if kind == "chain" else 8.0) * m * n,
                       peers=(("torch", kind, m, n),) + ((("compiled", kind, m, n),) if kind in COMPILED else ()))


def random():
    for kind in ("uniform", "normal"):
        program = 'input seed : i32 []\noutput y = einsum("i | j => i | j", %s(seed)) with (i = %d, j = %d)\n'
        for m, n in ((1024, 1024), (64, 768)):
            yield Case("%s %dx%d" % (kind, m, n), program % (kind, m, n), nbytes=4.0 * m * n,
                       peers=(("torch", kind, m, n), ("numpy", kind, m, n)))


CAUSAL = 'where(range(%d) <= sum("s => s | ", range(%d)), scores, -inf)'


def attention():
    """A causal one counts the products that it needs alone"""
    for heads, t, d, causal in ((8, 256, 64, 0), (12, 128, 64, 0), (8, 1024, 64, 0), (8, 1024, 64, 1)):
        program = """import nn
input q : [%d, %d | %d]
input k : [%d, %d | %d]
input v : [%d, %d | %d]
let scores = einsum("h, s | d; h, t | d => h, s | t", q, k) / sqrt(%d)
let seen = %s
output y = einsum("h, s | t; h, t | d => h, s | d", nn.softmax(seen), v)
""" % ((heads, t, d) * 3 + (d, CAUSAL % (t, t) if causal else "scores"))
        yield Case("%sattention %dx%dx%d" % ("causal " * causal, heads, t, d), program,
                   4.0 * heads * (t * (t + 1) // 2 if causal else t * t) * d,
                   peers=tuple((peer, "attention", heads, t, d, causal) for peer in ("torch", "sdpa")))


def typical_case(p, peers):
    extent = typical.parsed(next(iter(p.arrays.values())))[0][0]
    indices = {name: array for name, array in p.arrays.items() if "<" in array}
    return Case(p.name, p.text, p.flops, p.nbytes, arguments=("n=%d" % extent,) if "dim n" in p.text else (), indices=indices,
                peers=(("program", "PyTorch", "eager", p.name),) + peers)


def programs():
    """Typical small programs, against PyTorch eager and compiled, einsums in opt_einsum's order, and ONNX Runtime"""
    for p in typical.PROGRAMS:
        yield typical_case(p, (("program", "PyTorch compiled", "compiled", p.name),) + p.peers)


def indexed():
    """What is read and added where indices say, along an axis, or from step to step, against PyTorch, NumPy and C"""
    for p in typical.INDEXED:
        yield typical_case(p, ((("numpy", "program", p.name),) if p.numpy else ()) + ((("c", p.c),) if p.c else ()))


def gradients():
    """Forward and backward, against PyTorch eager and compiled"""
    for p in derived.GRADIENTS:
        case = typical_case(p, (("program", "PyTorch compiled", "compiled", p.name),))
        yield dataclasses.replace(case, arguments=("train",)) if p.rate else case


def examples():
    """The programs of examples/, against the same in NumPy"""
    for e in worth_reading.EXAMPLES:
        yield Case(e.what, e.text, arguments=e.arguments, indices={name: e.arrays[name] for name in e.indices},
                   peers=(("numpy", "example", e.name),))


def calls():
    """What it costs to call a program that does nothing much, in nanoseconds"""
    yield Case("call of x + 1, one element", "input x : []\noutput y = x + 1\n",
               peers=(("torch", "one"), ("numpy", "one")))


OPERATIONS = {suite.__name__: suite for suite in (
    products, narrow, linear, four_bits, contractions, conv, pictures, transposed, rows, elementwise, random, reductions,
    transposes, attention, programs, indexed, gradients,
    calls)}
READING = {"examples": examples}  # programs that stand elsewhere
