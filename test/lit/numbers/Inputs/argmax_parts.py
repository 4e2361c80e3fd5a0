"""The index of the greatest and of the least of all elements, in parts, against NumPy: ties, NaN, infinities, sizes around a part."""
import os
import sys

import numpy as np

from tsrlib import Model, to_bf16

SEED = int(sys.argv[1])
PART = 65536
random = np.random.default_rng(SEED)
THREADS = os.environ.get("THREADS", "0")


def first_greatest(x):
    """The first of equals, never a NaN; 0 where nothing is greater than -inf."""
    whole = np.where(np.isnan(x), -np.inf, x)
    return int(np.argmax(whole)) if whole.size and whole.max() > -np.inf else 0


def arrays(n):
    x = random.integers(-4, 5, n).astype(np.float32)      # the same number in every part
    yield x
    yield np.where(random.random(n) < 0.5, np.nan, x).astype(np.float32)
    yield np.full(n, -np.inf, np.float32)
    yield np.full(n, np.nan, np.float32)
    if n:
        x = random.standard_normal(n).astype(np.float32)
        for at in {0, n - 1, int(random.integers(n)), min(n - 1, PART), min(n - 1, PART - 1)}:
            one = x.copy()
            one[at] = np.inf if at % 2 else 99
            one[int(random.integers(n))] = np.nan
            yield one
        yield np.where(x > 0, np.float32(0), np.float32(-0.0))


def run():
    count = 0
    sizes = [0, 1, 63, 64, 65, PART - 1, PART, PART + 1, 2 * PART - 65, 2 * PART, 3 * PART + 17]
    model = Model('dim n\ninput x : [n]\noutput y = argmax("a => ", x)\noutput z = argmin("a => ", x)\n')
    known = Model(f'input x : [{sizes[-1]}]\noutput y = argmax("a => ", x)\noutput z = argmin("a => ", x)\n')
    narrow = Model('dim n\ninput x : bf16 [n]\noutput y = argmax("a => ", x)\n')
    scalar = [((), np.int32)]
    for n in sizes:
        for x in arrays(n):
            want = [first_greatest(x), first_greatest(-x)]
            got = [int(r) for r in model.forward([n], [x], 2 * scalar)]
            assert got == want, (n, got, want)
            if n == sizes[-1]:
                got = [int(r) for r in known.forward([], [x], 2 * scalar)]
                assert got == want, ("known", got, want)
            rounded = to_bf16(x)
            wide = (rounded.astype(np.uint32) << 16).view(np.float32)
            got = int(narrow.forward([n], [rounded], scalar)[0])
            assert got == first_greatest(wide), ("bf16", n, got)
            count += 1
    return count


print("%d arrays agree with NumPy" % run())
