"""Attention of few rows by a cluster's blocks as PTX: it has float64's numbers, and copies with one fault each are told. TSRC"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from driver import Driver, DriverError, Ptx

PROGRAM = """dim keys
input q : [2, 16]
input k : [2, keys | 16]
input v : [2, keys | 16]
let scores = einsum("h, d; h, t | d => h, t", q, k)
let e = exp(scores - reduce(max, "h, t => h, 0", scores))
output y = einsum("h, t; h, t | d => h, d", e / sum("h, t => h, 0", e), v)
"""
BARRIER = r"barrier\.cluster\.arrive\S*;\s*(?://[^\n]*\s*)*barrier\.cluster\.wait\S*;"
MEET = "another block of the cluster (wrote|read) with no barrier in between"
ENDED = "ends though another block of the cluster reads|a block of the cluster that has ended"
driver = Driver()


def compiled():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a.tsr", PROGRAM), ("a.sched", "y: row_block h 1; block t 16; cluster t 4\n")):
            with open(os.path.join(folder, name), "w", encoding="utf8") as file:
                file.write(text)
        made = os.path.join(folder, "a.ptx")
        subprocess.run([sys.argv[1], "--target=cuda:sm_90", "--schedule=" + os.path.join(folder, "a.sched"),
                        os.path.join(folder, "a.tsr"), "-o", made], check=True)
        with open(made, encoding="utf8") as file:
            return file.read()


def told_of(text, keys):
    """What is told of a program: a fault's message, or that its numbers are right or wrong."""
    rng = np.random.default_rng(keys)
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 16), (2, keys, 16), (2, keys, 16)))
    scores = np.einsum("hd,htd->ht", q, k).astype(np.float64)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    want = np.einsum("ht,htd->hd", weights / weights.sum(-1, keepdims=True), v) if keys else np.zeros((2, 16))
    try:
        got, = Ptx(None, driver, text).forward([keys], [q, k, v], [((2, 16), np.float32)])
        return "right" if np.abs(np.asarray(got) - want).max() < 1e-5 else "wrong"
    except DriverError as error:
        driver.call("cuDevicePrimaryCtxRelease_v2", 0)  # what has spoiled the context goes with it
        driver.__init__()
        return error.report


def changed(which, instead):
    match = list(re.finditer(BARRIER, TEXT))[which]
    return TEXT[:match.start()] + instead + TEXT[match.end():]


TEXT = compiled()
PLANTED = [
    ("no barrier before others read", changed(0, ""), "with no barrier in between"),
    ("a barrier of the block there", changed(0, "bar.sync 0;"), MEET),
    ("an end before others have read", changed(1, ""), ENDED),
    ("a barrier of the block there", changed(1, "bar.sync 0;"), ENDED),
    ("a cluster of other blocks", TEXT.replace(".reqnctapercluster 4", ".reqnctapercluster 2"), "shared memory|wrong"),
]
for n in (0, 1, 17, 64, 65, 150):
    if told_of(TEXT, n) != "right":
        sys.exit("%d keys: %s" % (n, told_of(TEXT, n)))
print("attention by a cluster has its numbers")
found = 0
for what, text, wanted in PLANTED:
    assert text != TEXT, what
    told = told_of(text, 70)
    found += bool(re.search(wanted, told))
    if not re.search(wanted, told):
        print(what + ":", told)
print("%d of %d faults are found" % (found, len(PLANTED)))
