"""One PyTorch operation in a process of its own: peer_torch.py THREADS KIND WORDS... Prints JSON with the median
time of one call in nanoseconds."""
import os
import sys

os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import timing  # noqa: E402

threads, kind = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(threads)
torch.manual_seed(0)
torch.set_grad_enabled(False)


def conv(n, h, w, ci, co, k, stride, groups=1):
    x = torch.randn(n, ci, h, w).contiguous(memory_format=torch.channels_last)
    weight = torch.randn(co, ci // groups, k, k).contiguous(memory_format=torch.channels_last)
    bias = torch.randn(co)
    finish = F.relu_ if groups == 1 else F.relu6
    return lambda: finish(F.conv2d(x, weight, bias, stride, k // 2, 1, groups))


def pictures(h, ci, co, k, stride, dilation):
    x, weight, bias = torch.randn(1, ci, h, h), torch.randn(co, ci, k, k), torch.randn(co)
    return lambda: F.conv2d(x, weight, bias, stride, k // 2 * dilation, dilation)


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


def attention(heads, t, d):
    q, k, v = (torch.randn(heads, t, d) for _ in range(3))
    return lambda: torch.softmax(q @ k.transpose(1, 2) / d ** 0.5, -1) @ v


def over_arrays(equation, *shapes):
    arrays = [torch.randn(*[int(v) for v in text.split("x")]) for text in shapes]
    if kind == "einsum":
        return lambda: torch.einsum(equation, *arrays).contiguous()
    source, result = equation.split("->")
    order = [source.index(c) for c in result]
    return lambda: arrays[0].permute(order).contiguous()


def reduction(operation, axes, m, n):
    x = torch.randn(m, n)
    if axes == "all":
        return x.sum if operation == "sum" else x.amax
    axis = 1 if axes == "rows" else 0
    return (lambda: x.sum(axis)) if operation == "sum" else lambda: x.amax(axis)


def make():
    if kind in ("einsum", "permute"):
        return over_arrays(*sys.argv[3:])
    sizes = [int(v) for v in sys.argv[3:]]
    if "_" in kind:
        return reduction(*kind.split("_"), *sizes)
    if kind == "conv":
        return conv(*sizes)
    if kind == "pictures":
        return pictures(*sizes)
    if kind == "filters":
        return filters(*sizes)
    if kind == "network":
        return network(*sizes)
    if kind == "attention":
        return attention(*sizes)
    if kind in ("uniform", "normal"):
        return lambda: (torch.rand if kind == "uniform" else torch.randn)(sizes)
    x = torch.randn(*sizes[:2])
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
    if kind in ("exp", "sigmoid", "tanh", "sin"):
        return lambda: getattr(torch, kind)(x)
    if kind == "sum":
        return lambda: x.sum(1)
    if kind == "chain":
        w, b, r = torch.randn(sizes[1]), torch.randn(sizes[1]), torch.randn(*sizes[:2])
        return lambda: F.gelu(x * w + b) * w + r
    if kind == "linear":
        m, n, k = sizes
        a, weight, bias = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        return lambda: F.relu_(F.linear(a, weight, bias))
    sys.exit("unknown kind " + kind)


timing.report(make(), torch.__version__)
