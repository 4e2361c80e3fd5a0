"""One PyTorch operation in a process of its own: peer_torch.py THREADS WAY KIND WORDS... Prints JSON with the median
time of one call in nanoseconds.

WAY is eager, compiled, sdpa (the fused attention), or packed: the operations of oneDNN that PyTorch's compiler calls
for frozen weights, which are packed beforehand."""
import sys

import torch
import torch.nn.functional as F

import timing

threads, way, kind = int(sys.argv[1]), *sys.argv[2:4]
torch.set_num_threads(threads)
torch.manual_seed(0)
torch.set_grad_enabled(False)


def packed_conv(x, weight, bias, stride, padding, dilation, groups, after):
    words = [padding] * 2, [stride] * 2, [dilation] * 2, groups
    weight = torch.ops.mkldnn._reorder_convolution_weight(weight, *words, list(x.shape))
    return lambda: torch.ops.mkldnn._convolution_pointwise(x, weight, bias, *words, *after, "")


def conv(h, ci, co, k, stride, groups):
    x = torch.randn(1, ci, h, h).contiguous(memory_format=torch.channels_last)
    weight = torch.randn(co, ci // groups, k, k).contiguous(memory_format=torch.channels_last)
    bias = torch.randn(co)
    if way == "packed":
        after = ("relu", []) if groups == 1 else ("hardtanh", [0, 6])
        return packed_conv(x, weight, bias, stride, k // 2, 1, groups, after)
    finish = F.relu_ if groups == 1 else F.relu6
    return lambda: finish(F.conv2d(x, weight, bias, stride, k // 2, 1, groups))


def pictures(h, ci, co, k, stride, dilation):
    x, weight, bias = torch.randn(1, ci, h, h), torch.randn(co, ci, k, k), torch.randn(co)
    padding = k // 2 * dilation
    if way == "packed":
        return packed_conv(x, weight, bias, stride, padding, dilation, 1, ("none", []))
    return lambda: F.conv2d(x, weight, bias, stride, padding, dilation)


def transposed(axes, h, ci, co, k, stride):
    """As long as the picture times the stride"""
    x, weight, bias = torch.randn(1, ci, *[h] * axes), torch.randn(ci, co, *[k] * axes), torch.randn(co)
    padding, more = (k - stride + 1) // 2, (k - stride) % 2
    conv = F.conv_transpose1d if axes == 1 else F.conv_transpose2d
    return lambda: F.relu_(conv(x, weight, bias, stride, padding, more))


def linear(m, n, k):
    x, weight, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
    if way == "packed":
        weight = torch.ops.mkldnn._reorder_linear_weight(weight, m)
        return lambda: torch.ops.mkldnn._linear_pointwise(x, weight, bias, "relu", [], "")
    return lambda: F.relu_(F.linear(x, weight, bias))


def matmul(m, n, k):
    a, b, c = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
    return lambda: torch.mm(a, b, out=c)


def filters(h):
    x, w, v = torch.randn(1, 1, h, h), torch.randn(1, 1, 3, 3), torch.randn(1, 1, 5, 5)
    turned = w.transpose(2, 3).contiguous()

    def run():
        b = F.conv2d(F.conv2d(x, w, None, 1, 1), v, None, 1, 2)
        across, down = F.conv2d(b, w, None, 1, 1), F.conv2d(b, turned, None, 1, 1)
        return (across * across + down * down).sqrt()
    return run


def network(h):
    x, layers = torch.randn(1, 3, h, h), []
    for before, after, stride in ((3, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 1)):
        layers.append((torch.randn(after, before, 3, 3), torch.randn(after), stride))

    def run():
        y = x
        for weight, bias, stride in layers:
            y = F.relu_(F.conv2d(y, weight, bias, stride, 1))
        return F.max_pool2d(y, 2)
    return run


def attention(heads, t, d, causal):
    q, k, v = (torch.randn(heads, t, d) for _ in range(3))
    if way == "sdpa":
        q, k, v = q[None], k[None], v[None]
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
    if causal:
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        return lambda: torch.softmax((q @ k.transpose(1, 2) / d ** 0.5).masked_fill_(hidden, -torch.inf), -1) @ v
    return lambda: torch.softmax(q @ k.transpose(1, 2) / d ** 0.5, -1) @ v


def over_arrays(equation, *shapes):
    arrays = [torch.randn(*[int(v) for v in text.split("x")]) for text in shapes]
    if kind == "einsum":
        return lambda: torch.einsum(equation, *arrays).contiguous()
    source, result = equation.split("->")
    order = [source.index(c) for c in result]
    return lambda: arrays[0].permute(order).contiguous()


def four_bits(m, n, k):
    x, scale, data = torch.randn(m, k), torch.randn(n, k // 32, 1), torch.randint(256, (n, k // 2), dtype=torch.uint8)

    def layer():
        codes = torch.stack([data & 15, data >> 4], -1).view(n, k // 32, 32)
        return x @ ((codes.float() - 8) * scale).view(n, k).T

    return layer


def four_bits_row(m, n):
    x, data = torch.randn(n), torch.zeros(m, n // 2, dtype=torch.uint8)

    def put():
        codes = x.to(torch.int8) & 15
        data[7] = codes[::2] | codes[1::2] << 4
        return x.amin()

    return put


def reduction(operation, axes, m, n):
    x = torch.randn(m, n)
    if axes == "all":
        return x.sum if operation == "sum" else x.amax
    axis = 1 if axes == "rows" else 0
    return (lambda: x.sum(axis)) if operation == "sum" else lambda: x.amax(axis)


def make():
    if kind in ("einsum", "permute"):
        return over_arrays(*sys.argv[4:])
    sizes = [int(v) for v in sys.argv[4:]]
    several = {f.__name__: f for f in (conv, pictures, transposed, linear, matmul, filters, network, attention,
                                       four_bits, four_bits_row)}
    if kind in several:
        return several[kind](*sizes)
    if "_" in kind:
        return reduction(*kind.split("_"), *sizes)
    if kind in ("uniform", "normal"):
        return lambda: (torch.rand if kind == "uniform" else torch.randn)(sizes)
    x = torch.randn(sizes[:2])
    if kind == "one":
        return lambda: x + 1
    if kind == "softmax":
        return lambda: torch.softmax(x, -1)
    if kind == "layernorm":
        g, b = torch.randn(sizes[1]), torch.randn(sizes[1])
        return lambda: F.layer_norm(x, (sizes[1],), g, b)
    if kind == "gelu":
        return lambda: F.gelu(x)
    if kind == "rmsnorm":
        return lambda: F.rms_norm(x, (sizes[1],))
    if kind == "argmax":
        return lambda: x.argmax(1)
    if kind == "remainder":
        return lambda: x % 0.3
    if kind in ("exp", "sigmoid", "tanh", "sin", "log1p", "atan"):
        return lambda: getattr(torch, kind)(x)
    if kind == "sum":
        return lambda: x.sum(1)
    if kind == "chain":
        w, b, r = torch.randn(sizes[1]), torch.randn(sizes[1]), torch.randn(*sizes[:2])
        return lambda: F.gelu(x * w + b) * w + r
    sys.exit("unknown kind " + kind)


timing.report(torch.compile(make()) if way == "compiled" else make())
