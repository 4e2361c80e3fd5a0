"""Sums of rows by clusters of four blocks, which add up what each has in its shared memory: cluster.ptx has NumPy's numbers, and
copies of it with one fault each are told, or have other numbers."""
import os
import re
import sys

import numpy as np

from driver import Driver, DriverError, Ptx

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster.ptx"), encoding="utf8") as file:
    TEXT = file.read()
BARRIER = r"barrier\.cluster\.arrive\.aligned;\s*barrier\.cluster\.wait\.aligned;"
MAP = r"(mapa\.u64 %\w+, %\w+, )%\w+;"
MEET = "another block of the cluster (wrote|read) with no barrier in between"
ENDED = "ends though another block of the cluster reads|a block of the cluster that has ended"
driver = Driver()


def told_of(text, n, most=1 << 16):
    """What is told of a program: a fault's message, or that its numbers are right or wrong."""
    x = np.random.default_rng(n).integers(-8, 8, (n, 1024)).astype(np.float32)
    model = Ptx(None, driver, text)
    model.most = most
    try:
        got, = model.forward([n], [x], [((n, 128), np.float32)])
        return "right" if np.array_equal(got, x.reshape(n, 8, 128).sum(1)) else "wrong"
    except DriverError as error:
        driver.call("cuDevicePrimaryCtxRelease_v2", 0)  # what has spoiled the context goes with it
        driver.__init__()
        return error.report


def changed(pattern, which, instead):
    match = list(re.finditer(pattern, TEXT))[which]
    return TEXT[:match.start()] + match.expand(instead) + TEXT[match.end():]


PLANTED = [
    ("no barrier before others read", changed(BARRIER, 0, ""), "with no barrier in between"),
    ("a barrier of the block there", changed(BARRIER, 0, "bar.sync 0;"), MEET),
    ("no wait there", changed(r"barrier\.cluster\.wait\.aligned;", 0, ""), MEET + "|which thread"),
    ("an end before others have read", changed(BARRIER, 1, ""), ENDED),
    ("a barrier of the block there", changed(BARRIER, 1, "bar.sync 0;"), ENDED),
    ("an arrival that nobody awaits", changed(r"barrier\.cluster\.wait\.aligned;", 1, ""), ENDED),
    ("a block that there is not", changed(MAP, 0, r"\g<1>4;"), "shared memory"),
    ("another block's part", changed(MAP, 0, r"\g<1>1;"), "wrong"),
    ("a cluster of other blocks", TEXT.replace(".reqnctapercluster 4", ".reqnctapercluster 2"), "shared memory|wrong"),
]

for sizes in ((1,), (7,), (0,), (5, 8)):
    if told_of(TEXT, *sizes) != "right":
        sys.exit("%s: %s" % (sizes, told_of(TEXT, *sizes)))
print("clusters have their numbers")
found = 0
for what, text, wanted in PLANTED:
    told = told_of(text, 3)
    found += bool(re.search(wanted, told))
    if not re.search(wanted, told):
        print(what + ":", told)
print("%d of %d faults are found" % (found, len(PLANTED)))
