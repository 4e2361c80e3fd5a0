"""Random chains of small kernels over the same pieces: the same bits on any number of threads, joined or not."""
import sys

import numpy as np

from tsrlib import Model, pool_call

SEED, PROGRAMS = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(SEED)


def step(name, earlier, pieces, width):
    """A kernel of [pieces, width] and the shape of its own input, if any; some read pieces beside theirs, or all."""
    a, b = random.choice(earlier), random.choice(earlier)
    form = random.integers(7)
    if form == 0:
        return (f'einsum("h, d; h, d, g, e => g, e", {a}, w_{name})', (pieces, width, pieces, width))
    if form == 1:
        return (f'einsum("h, d; h, d, e => h, e", {a}, w_{name}) + {b}', (pieces, width, width))
    if form == 2:
        return (f'{b} + sum("o =+ k, d => o, d", {a}) with (k = 3)', None)
    if form == 3:
        return (f'einsum("h, d; t, h, d => h, t", {a}, w_{name})', (width, pieces, width))
    if form == 4:
        return (f'{a} / (1 + reduce(max, "h, d => h, 0", abs({b})))', None)
    if form == 5:
        return (f'einsum("h, d; t, h, d => t, h", {a}, w_{name})', (width, pieces, width))
    return (f'exp({a} - reduce(max, "h, d => h, 0", {a})) .* tanh({b})', None)


def program(pieces, width):
    lines, names, shapes = [f"input x : [{pieces}, {width}]"], ["x"], {"x": (pieces, width)}
    steps = []
    for i in range(int(random.integers(3, 9))):
        name = f"y{i}"
        value, array = step(name, names, pieces, width)
        if array:
            lines.append(f"input w_{name} : [{', '.join(map(str, array))}]")
            shapes["w_" + name] = array
        turned = "=> t, h" in value
        steps.append((name, value, (width, pieces) if turned else (pieces, width)))
        if not turned:
            names.append(name)
    results = []
    for i, (name, value, shape) in enumerate(steps):
        shown = random.random() < 0.5 or not any(name in later for _, later, _ in steps[i + 1:])
        lines.append(f"{'output' if shown else 'let'} {name} = {value}")
        results += [shape] if shown else []
    return "\n".join(lines) + "\n", list(shapes.values()), results


def run():
    calls = [(threads, pool_call(threads)) for threads in (1, 2, 3, 5)]
    compared = wrong = 0
    for _ in range(PROGRAMS):
        pieces, width = int(random.choice([4, 6, 8])), int(random.choice([16, 32, 33]))
        source, inputs, results = program(pieces, width)
        arrays = [(random.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype(np.float32) for s in inputs]
        wanted = [(r, np.float32) for r in results]
        plain = Model(source, ["--grain=0"])
        plain.call = None
        whole = plain.forward([], arrays, wanted)
        for grain in (500, 3000, 20000):
            model = Model(source, [f"--grain={grain}"])
            for threads, model.call in [(0, None), *calls]:
                got = model.forward([], arrays, wanted)
                compared += 1
                if any(a.tobytes() != b.tobytes() for a, b in zip(got, whole)):
                    wrong += 1
                    print(f"grain {grain}, {threads} threads: other bits\n{source}")
    return compared, wrong


print("%d runs, %d wrong" % run())
