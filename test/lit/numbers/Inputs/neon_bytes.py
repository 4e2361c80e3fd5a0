"""neon_bytes.py COUNT: products of bytes on processors of aarch64 with dot products of both kinds, of one, without; exact."""
import random
import sys

import numpy as np

from tsrlib import Model, byte_product

RNG = np.random.default_rng(7)
random.seed(7)
TYPES = [(a, b) for a in ("u8", "i8") for b in ("u8", "i8")]


def wrong(march, types):
    m, n, k = random.choice([3, 16, 17, 40]), random.choice([4, 20, 33, 64]), random.choice([7, 64, 130])
    along = random.random() < 0.5
    text, given, want = byte_product(RNG, types, m, n, k, along)
    y, = Model(text, ["-march=" + march]).forward([], given, [((m, n), np.int32)])
    if not np.array_equal(y, want):
        print("%s: %s: %d of %d are wrong" % (march, (types, m, n, k, along), (y != want).sum(), y.size))
        return 1
    return 0


marches = ["armv8-a", "armv8.2-a+dotprod", "armv8.6-a"]
print("%d wrong products of bytes" % sum(wrong(marches[i % 3], TYPES[i % 4]) for i in range(int(sys.argv[1]))))
