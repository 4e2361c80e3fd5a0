"""Sums of rows by clusters of four blocks, which add up what each has in its shared memory: cluster.ptx has NumPy's numbers, and
copies of it with one fault each are told, or have other numbers."""
import os
import sys

import numpy as np

from cluster_faults import ENDED, MEET, barrier_faults, changed, look_for, told_of

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster.ptx"), encoding="utf8") as file:
    TEXT = file.read()
WAIT = r"barrier\.cluster\.wait\.aligned;"
MAP = r"(mapa\.u64 %\w+, %\w+, )%\w+;"


def tell(text, n=3, most=1 << 16):
    x = np.random.default_rng(n).integers(-8, 8, (n, 1024)).astype(np.float32)
    return told_of(text, [n], [x], x.reshape(n, 8, 128).sum(1), most=most)


PLANTED = barrier_faults(TEXT) + [
    ("no wait there", changed(TEXT, WAIT, 0, ""), MEET + "|which thread"),
    ("an arrival that nobody awaits", changed(TEXT, WAIT, 1, ""), ENDED),
    ("a block that there is not", changed(TEXT, MAP, 0, r"\g<1>4;"), "shared memory"),
    ("another block's part", changed(TEXT, MAP, 0, r"\g<1>1;"), "wrong"),
]

for sizes in ((1,), (7,), (0,), (5, 8)):
    if tell(TEXT, *sizes) != "right":
        sys.exit("%s: %s" % (sizes, tell(TEXT, *sizes)))
print("clusters have their numbers")
look_for(TEXT, PLANTED, tell)
