"""The same bits for any number of threads, cut into chunks or not, and for a row alone or in a batch."""
import numpy as np

from tsrlib import Model, pool_call

RNG = np.random.default_rng(11)
CONV = """
fn conv(x, w) = einsum("... | oh =+ kh, ow =+ kw, c; kh, kw, c -> o => ... | oh, ow, o", x, w)
fn pool(x) = reduce(max, "... | 2*oh <+ wh, 2*ow <+ ww, c => ... | oh, ow, c", x) with (wh = 2, ww = 2)
"""

# program, shapes of the inputs with n for the batch, shape of the result; the batch is the first axis
PROGRAMS = [
    ("input x : [n | 70]\ninput w : [70 -> 50]\noutput r = relu(w * x)", [("n", 70), (50, 70)], ("n", 50)),
    ("input x : [n, 33]\ninput w : [33, 70]\noutput r = einsum(\"ik; kj => ij\", x, w)", [("n", 33), (33, 70)],
     ("n", 70)),
    ("input x : [n, 5, 40]\ninput w : [n, 40, 6]\noutput r = einsum(\"bik; bkj => bij\", x, w)",
     [("n", 5, 40), ("n", 40, 6)], ("n", 5, 6)),
    ("input x : [n | 100]\nlet e = exp(x - reduce(max, \"... | v => ... | 0\", x))\n"
     "output r = e / sum(\"... | v => ... | 0\", e)", [("n", 100)], ("n", 100)),
    ("input x : [n | 300]\noutput r = tanh(x) .* 2 + sqrt(abs(x))", [("n", 300)], ("n", 300)),
    ("input x : [n, 300]\noutput r = sum(\"n, i => n\", x)", [("n", 300)], ("n",)),
    ("input x : [n, 20, 30]\noutput r = sum(\"n, i, j => n, j\", x)", [("n", 20, 30)], ("n", 30)),
    ("input x : [n, 20, 30]\noutput r = sum(\"n, i, j => n, j, i\", x .* x)", [("n", 20, 30)], ("n", 30, 20)),
    ("input x : [n | 3]\ninput y : [n | 4]\noutput r = einsum(\"... | a; ... | b => ... | a^b\", x, y)", [("n", 3), ("n", 4)], ("n", 7)),
    (CONV + "input x : [n | 12, 12, 3]\ninput w : [3, 3, 3 -> 8]\noutput r = pool(relu(conv(x, w)))",
     [("n", 12, 12, 3), (8, 3, 3, 3)], ("n", 6, 6, 8)),
]


def shape(axes, n):
    return tuple(n if a == "n" else a for a in axes)


def rows_alone(model, batch, inputs, axes, whole):
    """The rows whose bits depend on the batch."""
    for row in range(batch):
        mine = [x[row:row + 1] if a[0] == "n" else x for x, a in zip(inputs, axes)]
        alone, = model.forward([1], mine, [((1, *whole.shape[1:]), np.float32)])
        if not np.array_equal(alone[0], whole[row]):
            yield row


def run():
    calls = [(threads, pool_call(threads)) for threads in (1, 2, 3, 7)]
    compared = wrong = 0
    for source, axes, result in PROGRAMS:
        models = [Model("dim n\n" + source + "\n", ["--grain=%d" % grain]) for grain in (0, 1, 1000)]
        for n in (1, 2, 13, 70):
            inputs = [RNG.standard_normal(shape(a, n)).astype(np.float32) for a in axes]
            outputs = [(shape(result, n), np.float32)]
            models[0].call = None
            whole, = models[0].forward([n], inputs, outputs)
            for model in models[1:]:
                for threads, model.call in [(0, None), *calls]:
                    got, = model.forward([n], inputs, outputs)
                    compared += 1
                    if got.tobytes() != whole.tobytes():
                        wrong += 1
                        print("n = %d, %d threads: other bits\n%s" % (n, threads, source))
            if n == 13:
                for row in rows_alone(models[1], n, inputs, axes, whole):
                    wrong += 1
                    print("row %d alone: other bits\n%s" % (row, source))
    return compared, wrong


print("%d runs, %d wrong" % run())
