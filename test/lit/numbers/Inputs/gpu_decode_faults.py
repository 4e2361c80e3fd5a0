"""What is planted in the loops of attention in slices of keys, and races with nothing, makes other numbers: each of a list of edits
must. [cluster]: slices are blocks of a cluster."""
import sys

import numpy as np

import gpu_faults
from tsrlib import schedule

PROGRAM = """dim keys
input q : [2, 3 | 16]
input k : [keys | 2, 16]
input v : [keys | 2, 16]
let scores = where(range(keys) < to_batch(range(3)) + 63, einsum("h, s | d; t | h, d => h, s | t", q, k), -inf)
let e = exp(scores - reduce(max, "h, s | t => h, s | 0", scores))
output y = einsum("h, s | t; t | h, d => h, s | d", e / sum("h, s | t => h, s | 0", e), v)
"""
FAULTS = [
    ("a slice less", r"grid slice in 0\.\.\(floor\(\(keys \+ 63\)/64\)\)", r"grid slice in 0..(floor((keys + 62)/64))"),
    ("a key less in the last slice", r"(slice\*64 \+ time\d*\*64 \+ group\d*) < keys", r"\1 + 1 < keys"),
    ("keys behind the last one count", r"(local seen : f32 = )-inf", r"\g<1>0"),
    ("a key more is seen", r"i32\(slice\*64 \+ key\d*\) < ", r"i32(slice*64 + key - 1) < "),
    ("half of the lanes' parts", r"(for lane\d+ in 0\.\.)4", r"\g<1>2"),
    ("sums are not made smaller", r"exp\(tops2\[slice2\] - acc2\) \* parts1", r"1 * parts1"),
    ("totals are not made smaller", r"exp\(tops1\[slice1\] - acc2\) \* parts\[", r"1 * parts["),
    ("the last slice is not added", r"round2\*16 \+ slice2 < floor\(\(keys \+ 63\)/64\)", r"round2*16 + slice2 + 1 < floor((keys + 63)/64)"),
]
CLUSTER_FAULTS = [
    ("a round less", r"for (round\d*) in 0\.\.\(floor\(\(keys \+ 511\)/512\)\)", r"for \1 in 0..(floor((keys + 510)/512))"),
    ("a key less in the last slice", r"(round\d*\*512 \+ slice\d*\*64 \+ time\d*\*64 \+ group\d*) < keys", r"\1 + 1 < keys"),
    ("keys behind the last one count", r"(local seen : f32 = )-inf", r"\g<1>0"),
    ("what was summed is not made smaller", r"own_sums\[column, s\] \* factor\)", r"own_sums[column, s] * 1)"),
    ("the total is not made smaller", r"own_totals\[column, s\] \* factor\)", r"own_totals[column, s] * 1)"),
    ("the slice is not made smaller", r"\(sum \* factor1\)", r"(sum * 1)"),
    ("the greatest so far is forgotten", r"max\(own_tops\[column, s\], y_top\[s\]\)", r"y_top[s]"),
    ("a block's sums are not made smaller", r"exp\(tops2\[slice3\] - acc2\) \* parts1", r"1 * parts1"),
    ("the last block is not added", r"(unroll slice3 in 0\.\.)8(\n *acc4)", r"\g<1>7\2"),
    ("columns of another block", r"(parts1\[slice3\] = y_sums\[[^\n]*)rank\*2", r"\g<1>rank*1"),
]
cluster = "cluster" in sys.argv
keys = 513 if cluster else 65
rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 16), (keys, 2, 16), (keys, 2, 16)))
k[keys - 1:] *= 3
v[keys - 1:] += 1
scores = np.where(np.arange(keys) < np.arange(3)[:, None] + keys - 2, np.einsum("hsd,thd->hst", q, k), -np.inf).astype(np.float64)
weights = np.exp(scores - scores.max(-1, keepdims=True))
want = np.einsum("hst,thd->hsd", weights / weights.sum(-1, keepdims=True), v)
program = PROGRAM.replace("63", str(keys - 2))
options = schedule("y: row_block s 3; block t 64; cluster t 8\n") if cluster else ()
gpu_faults.find_all(program, CLUSTER_FAULTS if cluster else FAULTS, [keys], [q, k, v], want, options)
