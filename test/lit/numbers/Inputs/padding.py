"""padding.py MODULE: convolutions with padding, forwards and transposed, against sums over windows of padded arrays. With
PyTorch, against that too."""
import sys

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import tsr

try:
    import torch
except ImportError:
    torch = None
# the instance: its rank, stride, dilation, pad (None: (k - 1)*dilation/2), transposed: output_pad, or None
CASES = {"a": (2, 2, 1, 1, None), "b": (2, 2, 2, 2, None), "c": (2, 1, 1, 0, None), "d": (1, 3, 2, 3, None),
         "e": (2, 2, 1, 1, 0), "f": (1, 2, 3, 2, 0), "g": (1, 2, 1, None, None), "i": (2, 2, 1, 1, 1), "j": (1, 3, 1, 0, 2)}


def convolution(x, w, rank, stride, dilation, pad):
    """x : n, places, c; w : out, k, c"""
    span = (w.shape[1] - 1) * dilation + 1
    padded = np.pad(x, [(0, 0)] + [(pad, pad)] * rank + [(0, 0)])
    windows = sliding_window_view(padded, (span,) * rank, tuple(range(1, 1 + rank)))
    picked = windows[(slice(None),) + (slice(None, None, stride),) * rank + (slice(None),) +
                     (slice(None, None, dilation),) * rank]
    return np.einsum("nhwcij,oijc->nhwo" if rank == 2 else "ntci,oic->nto", picked, w)


def transposed(x, w, rank, stride, dilation, pad, more):
    """Zeros between the elements, and the kernel backwards over what that makes."""
    k = w.shape[1]
    size = [(extent - 1) * stride + 1 for extent in x.shape[1:-1]]
    wide = np.zeros([x.shape[0], *size, x.shape[-1]], np.float32)
    wide[(slice(None),) + (slice(None, None, stride),) * rank] = x
    around = (k - 1) * dilation
    whole = convolution(wide, np.flip(w, tuple(range(1, 1 + rank))), rank, 1, dilation, around)
    whole = np.pad(whole, [(0, 0)] + [(0, more)] * rank + [(0, 0)])
    return whole[(slice(None),) + (slice(pad, -pad or None),) * rank]


def by_torch(x, w, rank, stride, dilation, pad, back):
    functional = torch.nn.functional
    turned = back is not None
    name = "conv%s%dd" % ("_transpose" * turned, rank)
    w = np.moveaxis(w, -1, 0 if turned else 1)
    result = getattr(functional, name)(torch.tensor(np.moveaxis(x, -1, 1)), torch.tensor(np.ascontiguousarray(w)),
                                       stride=stride, dilation=dilation, padding=pad,
                                       **({"output_padding": back} if turned else {}))
    return np.moveaxis(result.numpy(), 1, -1)


def main():
    model = tsr.load(sys.argv[1])
    random = np.random.default_rng(1)
    wrong = count = 0
    for n, h, t in [(1, 5, 3), (2, 9, 10), (3, 12, 7), (2, 31, 64)]:
        weights = {name: random.standard_normal(value.shape).astype("f4") for name, value in model.params.items()}
        model.params.update(weights)
        images, signals = (random.standard_normal(shape).astype("f4") for shape in ((n, h, 9, 3), (n, t, 3)))
        got = model.forward(x=images, s=signals)
        for name, (rank, stride, dilation, pad, back) in CASES.items():
            w = weights[name + ".w"]
            pad = (w.shape[1] - 1) * dilation // 2 if pad is None else pad
            x = images if rank == 2 else signals
            want = convolution(x, w, rank, stride, dilation, pad) if back is None else \
                transposed(x, w, rank, stride, dilation, pad, back)
            others = [want] + ([by_torch(x, w, rank, stride, dilation, pad, back)] if torch else [])
            for other in others:
                other = other + weights.get(name + ".b", 0)
                y = got["y" + name]
                good = y.shape == other.shape and np.allclose(y, other, rtol=1e-4, atol=1e-4)
                wrong += not good
                if not good:
                    print(name, n, h, t, y.shape, other.shape)
            count += 1
    print("%d results, %d wrong" % (count, wrong))


if __name__ == "__main__":
    main()
