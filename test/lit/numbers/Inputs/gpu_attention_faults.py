"""What is planted in the loops of attention, and races with nothing, makes other numbers: each of a list of edits must."""
import numpy as np

import gpu_faults

PROGRAM = """dim rows
dim keys
input q : [rows | 16]
input k : [keys | 16]
input v : [keys | 16]
let scores = where(range(keys) < to_batch(range(rows)) + 4, einsum("s | d; t | d => s | t", q, k), -inf)
let e = exp(scores - reduce(max, "s | t => s | 0", scores))
output y = einsum("s | t; t | d => s | d", e / sum("s | t => s | 0", e), v)
"""
FAULTS = [
    ("keys behind the last one count", r"(local seen : f32 = )-inf", r"\g<1>0"),
    ("a sum is not made smaller", r"(sums\[thread\d+, lane\d+, \S+ \+ \S+, \S+ \+ \S+\]) \* factor", r"\1 * 1"),
    ("a total is not made smaller", r"\* factor\) \+ sum", r"* 1) + sum"),
    ("the maximum is forgotten", r"(\n\s+top\[part\d+, row\d*, 0\]) = most\d*", r"\1 = -inf"),
    ("one round less", r"for round in 0\.\.min\(max\(rows1 \+ 2, 0\)", r"for round in 0..min(max(rows1 + 1, 0)"),
    ("a key less is seen", r"i32\((round\*\d+ [^)]*)\) < ", r"i32(\1 + 1) < "),
    ("half of the weights", r"(y_parts\[\S+ \+ \S+ \+ \S+\]) \+ y_parts\[\S+ \+ \S+ \+ \S+ \+ \d+\]", r"\1"),
    ("keys of the round before", r"(k\[min\(round\*\d+ \+ part\d+\*\d+ \+ thread\d+) \+ 64", r"\1"),
]


rng = np.random.default_rng(1)
s, t = 70, 72
arrays = [rng.standard_normal(shape).astype(np.float32) * scale for shape, scale in (((s, 16), 2), ((t, 16), 2), ((t, 16), 1))]
arrays[1][64:] *= 3
scores = np.where(np.arange(t) < np.arange(s)[:, None] + 4, arrays[0] @ arrays[1].T, -np.inf).astype(np.float64)
weights = np.exp(scores - scores.max(1, keepdims=True))
want = weights / weights.sum(1, keepdims=True) @ arrays[2]
gpu_faults.find_all(PROGRAM, FAULTS, [s, t], arrays, want)
