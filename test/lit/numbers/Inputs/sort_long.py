"""Lines of floats that are sorted in parts against NumPy's stable sort, bit for bit: lengths around what a network sorts, and
orders and equals that are odd to pivots; of integers likewise. Of one dtype, f4, f8, i4 or i8, where it is named."""
import sys

import numpy as np

from tsrlib import Model

random = np.random.default_rng(5)
ROOM, SAMPLE, MARGIN, LEVELS = 8192, 512, 24, 24


def hostile(n):
    """Samples are always the least that are left, so that parts hardly get shorter."""
    x, at, value = np.zeros(n), np.arange(n), 0
    leaf = ROOM - ROOM // MARGIN
    for _ in range(LEVELS + 1):
        sample = at[: SAMPLE * (len(at) // SAMPLE) : len(at) // SAMPLE]
        new = sample[x[sample] == 0]
        x[new] = value + 1 + np.arange(len(new))
        value += len(new)
        leaves = -(-len(at) // leaf)
        c = np.sort(x[sample])[leaves * 3 // 4 * SAMPLE // leaves]
        at = at[(x[at] == 0) | (x[at] > c)]
    x[x == 0] = value + 1 + random.permutation((x == 0).sum())
    return x


def special(n):
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 3e38, 1.0])
    return np.where(random.random(n) < 0.5, odd[random.integers(0, len(odd), n)], random.standard_normal(n))


KINDS = {
    "normal": random.standard_normal,
    "special": special,
    "sorted": lambda n: np.sort(random.standard_normal(n)),
    "reversed": lambda n: np.arange(n)[::-1] - n / 2,
    "equal": lambda n: np.full(n, -2.5),
    "two": lambda n: random.integers(0, 2, n),
    "few": lambda n: random.integers(-5, 6, n) / 4,
    "mostly zero": lambda n: np.maximum(random.standard_normal(n), 0),
    "skewed": lambda n: np.exp(40 * random.random(n) ** 3),
    "one apart": lambda n: np.where(np.arange(n) == n // 3, -1, 1),
    "teeth": lambda n: np.arange(n) % 512,
    "hostile": hostile,
}
WHOLE = {
    "any": lambda n, info: random.integers(info.min, info.max, n, endpoint=True),
    "ends": lambda n, info: random.choice([info.min, info.min + 1, -1, 0, info.max - 1, info.max], n),
    "ascending": lambda n, info: np.arange(n) + info.max - n + 1,
}


def check(dtype, descending, kinds, lengths, model, rows):
    for kind in kinds:
        for n in lengths:
            whole = (np.iinfo(dtype),) if kind in WHOLE else ()
            x = np.stack([(KINDS | WHOLE)[kind](n, *whole) for _ in range(rows)]).astype(dtype)
            keys = x if not descending else ~x if whole else -x
            wanted = np.take_along_axis(x, np.argsort(keys, 1, kind="stable"), 1)
            got = model.forward([rows, n], [x], [(x.shape, x.dtype)])[0]
            assert got.tobytes() == wanted.tobytes(), (dtype, descending, kind, n)


NAMES = {"f4": "f32", "f8": "f64", "i4": "i32", "i8": "i64"}
for dtype, descending in (("f4", False), ("f8", True), ("i4", True), ("i8", False)):
    if sys.argv[1:] not in ([], [dtype]):
        continue
    model = Model(f"dim r\ndim n\ninput x : {NAMES[dtype]} [r, n]\n"
                  f'output y = sort("r, [t] => r, t", x{", descending" * descending})\n')
    room = ROOM * 4 // int(dtype[1])
    if dtype[0] == "i":
        check(dtype, descending, WHOLE, [0, 1, room - 1, room, room + 1, 40001], model, 2)
        continue
    check(dtype, descending, ["normal", "special"], [0, 1, room - 1, room, room + 1], model, 2)
    check(dtype, descending, [k for k in KINDS if k != "hostile"], [20000], model, 1)
    if not descending:
        check(dtype, descending, ["hostile"], [60000], model, 1)
        check(dtype, descending, ["normal", "few"], [150001], model, 1)
print("long lines agree with NumPy")
