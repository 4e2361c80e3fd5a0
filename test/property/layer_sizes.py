"""Layers at the sizes of real nets, SEED COUNT: convolutions with margins and without, also a channel at a time, products and sums, with
their gradients, against NumPy in f64. Blocks, copies in panels, streams and parts for threads are chosen by sizes, so small
programs see few of them: a sum that goes in blocks of pictures was taken as often as there are blocks, and no small one was.
Each is made for a processor drawn at random of those that this one runs, or with the costs of another one; with THREADS=2
forward has the bits of one thread."""
import os
import random
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lit", "numbers", "Inputs"))
import tsrlib  # noqa: E402

MACHINES = {"avx512f": ["native", "x86-64-v4", "x86-64-v3"], "avx2": ["native", "x86-64-v3"], "": ["native", "x86-64"]}
COSTS = "like %s\nsum_block_steps 16\nspread_bytes 1M\nstream_line_cross 8\n"
WORK = 4e8  # products of a program, at most


def machines():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = file.read().split()
    return next(names for flag, names in MACHINES.items() if not flag or flag in flags)


class Case:
    """A program whose results are y and its gradients along c, and the same in NumPy."""

    def __init__(self, text, shapes, result, reference, work):
        self.text, self.shapes, self.result, self.reference, self.work = text, shapes, result, reference, work


def convolution(draw):
    n, h, k, step = draw(1, 2, 8, 16, 32, 64), draw(7, 8, 14, 28, 56), draw(1, 3, 3, 5, 7), draw(1, 1, 2)
    w, each, ins, outs = draw(h, h, h + step), draw(True, False), draw(3, 16, 32, 64, 96, 128, 192, 256), draw(8, 32, 64, 128)
    outs, rows, cols = ins if each else outs, -(-h // step), -(-w // step)
    kernel, taps, lanes = ((k, k, ins), "%d, %d, %d" % (k, k, ins), "nhwc,c->nhwc") if each else (
        (outs, k, k, ins), "%d, %d, %d -> %d" % (k, k, ins, outs), "nhwc,oc->nhwo")
    text = "input x : [%d | %d, %d, %d]\ninput w : [%s]\ninput c : [%d | %d, %d, %d]\n" % (n, h, w, ins, taps, n, rows, cols, outs)
    text += "let y = einsum(\"n | %d*h =+? a, %d*w =+? b, c; a, b, c%s => n | h, w, %s\", x, w)\n" % (
        step, step, "" if each else " -> o", "c" if each else "o")

    def reference(x, w, c):
        padded = np.zeros((n, step * rows + k, step * cols + k, ins))
        padded[:, k // 2:k // 2 + h, k // 2:k // 2 + x.shape[2]] = x
        y, dx, dw = np.zeros(c.shape), np.zeros(padded.shape), np.zeros(w.shape)
        for a in range(k):
            for b in range(k):
                part = (slice(None), slice(a, a + step * rows, step), slice(b, b + step * cols, step))
                tap = (a, b) if each else (slice(None), a, b)
                y += np.einsum(lanes, padded[part], w[tap], optimize=True)
                dx[part] += c * w[tap] if each else np.tensordot(c, w[tap], 1)
                dw[tap] = (padded[part] * c).sum((0, 1, 2)) if each else np.tensordot(c, padded[part], ((0, 1, 2), (0, 1, 2)))
        return [y, dx[:, k // 2:k // 2 + h, k // 2:k // 2 + x.shape[2]], dw]

    return Case(text, [(n, h, w, ins), kernel], (n, rows, cols, outs), reference, n * rows * cols * k * k * ins * (1 if each else outs))


def product(draw):
    """Two tensors of two to four axes of four letters, in any order, and any of them in the result."""
    size = {axis: draw(1, 2, 3, 5, 8, 17, 32, 33, 64, 100, 128, 200, 512, 768, 1000, 3072) for axis in "ijkl"}
    axes = [[axis for axis in draw.shuffled("ijkl") if draw(True, True, False)] or ["i"] for _ in range(2)]
    result = [axis for axis in draw.shuffled("ijkl") if axis in axes[0] + axes[1] and draw(True, True, False)]
    row = [", ".join(str(size[axis]) for axis in of) for of in (*axes, result)]
    text = "input x : [%s]\ninput w : [%s]\ninput c : [%s]\n" % tuple(row)
    text += "let y = einsum(\"%s; %s => %s\", x, w)\n" % tuple(", ".join(of) or "|" for of in (*axes, result))
    x, w, c = ("".join(of) for of in (*axes, result))

    def gradient(to, tensor, other, at, c_value):
        """What is summed alone has the same gradient all along it."""
        have = [axis for axis in to if axis in c + at]
        whole = np.einsum("%s,%s->%s" % (c, at, "".join(have)), c_value, other, optimize=True)
        return np.broadcast_to(whole.reshape([size[axis] if axis in have else 1 for axis in to]), tensor.shape)

    def reference(a, b, g):
        y = np.einsum("%s,%s->%s" % (x, w, c), a, b, optimize=True)
        return [y, gradient(x, a, b, w, g), gradient(w, b, a, x, g)]

    work = np.prod([float(size[axis]) for axis in set(x + w)])
    return Case(text, [tuple(size[a] for a in x), tuple(size[a] for a in w)], tuple(size[a] for a in c), reference, work)


class Draw:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, *of):
        return self.rng.choice(of)

    def shuffled(self, of):
        return self.rng.sample(of, len(of))


def options(draw, directory):
    machine = draw(*machines())
    path = os.path.join(directory, machine + ".target")
    with open(path, "w", encoding="ascii") as file:
        file.write(COSTS % machine)
    return [draw("-march=" + machine, "--target-file=" + path)]


def agrees(case, words, rng):
    text = case.text + "output y\noutput dx = vjp(y, x, c)\noutput dw = vjp(y, w, c)\n"
    shapes = [*case.shapes, case.result]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    want = case.reference(*(array.astype(np.float64) for array in inputs))
    model = tsrlib.Model(text, words)
    got = model.forward([], inputs, [(shape, np.float32) for shape in [case.result, *case.shapes]])
    for name, one, reference in zip(("y", "dx", "dw"), got, want):
        error = np.abs(one - reference).max() / max(1e-6, np.abs(reference).max())
        if not error < 1e-4:
            print("%s is off by %.2g of its greatest, %s\n%s" % (name, error, words, text))
            return False
    return True


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    draw, numbers, right, made = Draw(random.Random(seed)), np.random.default_rng(seed), 0, 0
    with tempfile.TemporaryDirectory() as directory:
        while made < count:
            case = draw(convolution, convolution, product)(draw)
            if case.work > WORK or sum(np.prod(shape, dtype=float) for shape in [*case.shapes, case.result]) > 2e7:
                continue
            made += 1
            right += agrees(case, options(draw, directory), numbers)
    print("%d programs agree, %d do not" % (right, made - right))


main()
