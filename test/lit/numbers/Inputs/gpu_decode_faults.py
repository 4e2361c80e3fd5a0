"""What is planted in the loops of attention in slices of keys, and races with nothing, makes other numbers: each of a list of edits
must."""
import numpy as np

import gpu_faults

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
rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 16), (65, 2, 16), (65, 2, 16)))
k[64:] *= 3
v[64:] += 1
scores = np.where(np.arange(65) < np.arange(3)[:, None] + 63, np.einsum("hsd,thd->hst", q, k), -np.inf).astype(np.float64)
weights = np.exp(scores - scores.max(-1, keepdims=True))
want = np.einsum("hst,thd->hsd", weights / weights.sum(-1, keepdims=True), v)
gpu_faults.find_all(PROGRAM, FAULTS, [65], [q, k, v], want)
