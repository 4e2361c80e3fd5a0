"""Attention of few rows by a cluster's blocks as PTX: it has float64's numbers, and copies with one fault each are told. TSRC"""
import os
import subprocess
import sys
import tempfile

import numpy as np

from cluster_faults import barrier_faults, look_for, told_of

PROGRAM = """dim keys
input q : [2, 16]
input k : [2, keys | 16]
input v : [2, keys | 16]
let scores = einsum("h, d; h, t | d => h, t", q, k)
let e = exp(scores - reduce(max, "h, t => h, 0", scores))
output y = einsum("h, t; h, t | d => h, d", e / sum("h, t => h, 0", e), v)
"""


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


def tell(text, keys=70):
    rng = np.random.default_rng(keys)
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 16), (2, keys, 16), (2, keys, 16)))
    scores = np.einsum("hd,htd->ht", q, k).astype(np.float64)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    want = np.einsum("ht,htd->hd", weights / weights.sum(-1, keepdims=True), v) if keys else np.zeros((2, 16))
    return told_of(text, [keys], [q, k, v], want, 1e-5)


TEXT = compiled()
for n in (0, 1, 17, 64, 65, 150):
    if tell(TEXT, n) != "right":
        sys.exit("%d keys: %s" % (n, tell(TEXT, n)))
print("attention by a cluster has its numbers")
look_for(TEXT, barrier_faults(TEXT), tell)
