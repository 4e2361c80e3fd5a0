"""One NumPy operation in a process of its own: peer_numpy.py THREADS KIND WORDS... Prints JSON with the median time of
one call in nanoseconds; the threads are those of the environment."""
import sys

import numpy as np

import programs
import timing

kind, words = sys.argv[2], sys.argv[3:]
random = np.random.default_rng(0)
arrays = [random.standard_normal([int(v) for v in text.split("x")], dtype=np.float32) for text in words[1:] if "x" in text]


def drawn(text):
    """An array as programs.py has it"""
    shape, below, in_order = programs.parsed(text)
    if not below:
        return random.standard_normal(shape, dtype=np.float32)
    ids = random.integers(below, size=shape)
    return np.sort(ids) if in_order else ids


if kind == "matmul":
    m, n, k = (int(v) for v in words)
    a, b, c = (random.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n), (m, n)))
    timing.report(lambda: np.matmul(a, b, out=c))
elif kind == "one":
    x = np.ones((), np.float32)
    timing.report(lambda: x + 1)
elif kind == "four_bits":
    m, n, k = (int(v) for v in words)
    x, scale = (random.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (n, k // 32, 1)))
    data = random.integers(0, 256, (n, k // 2), dtype=np.uint8)

    def layer():
        codes = np.stack([data & 15, data >> 4], -1).reshape(n, k // 32, 32)
        return x @ ((codes.astype(np.float32) - 8) * scale).reshape(n, k).T

    timing.report(layer)
elif kind == "four_bits_row":
    m, n = (int(v) for v in words)
    x, data = random.standard_normal(n, dtype=np.float32), np.zeros((m, n // 2), np.uint8)

    def put():
        codes = x.astype(np.int8) & 15
        data[7] = codes[::2] | codes[1::2] << 4
        return x.min()

    timing.report(put)
elif kind == "einsum":
    path = np.einsum_path(words[0], *arrays, optimize="optimal")[0]
    timing.report(lambda: np.ascontiguousarray(np.einsum(words[0], *arrays, optimize=path)))
elif kind == "permute":
    source, result = words[0].split("->")
    order = [source.index(c) for c in result]
    timing.report(lambda: np.ascontiguousarray(arrays[0].transpose(order)))
elif kind in ("uniform", "normal"):
    shape = [int(v) for v in words]
    draw = random.random if kind == "uniform" else random.standard_normal
    timing.report(lambda: draw(shape, dtype=np.float32))
elif kind == "program":
    program = programs.BY_NAME[words[0]]
    named = {name: drawn(text) for name, text in program.arrays.items()}
    function = eval("lambda %s: %s" % (", ".join(named), program.numpy), {"np": np})
    timing.report(lambda: function(*named.values()))
elif kind == "example":
    import example_numpy
    import examples

    example = examples.BY_NAME[words[0]]
    named = {name: drawn(text) for name, text in example.arrays.items()} | example.dims
    timing.report(lambda: getattr(example_numpy, example.name)(named))
else:
    sys.exit("unknown kind " + kind)
