"""ptx_attention.py TSRC FOLDER: what the PTX of attention has: how many products are added, by how many reads of four elements of
shared memory, how many barriers; bytes of shared memory that are asked for, and whether something is on a stack."""
import re
import sys

from ptx_text import compiled, count

tsrc, folder = sys.argv[1:]
PROGRAM = """dim b
dim rows
dim keys
input q : [b | rows, %d]
input k : [b | keys, %d]
input v : [b | keys, %d]
let scores = einsum("b | s, d; b | t, d => b | s, t", q, k)
let e = exp(scores - reduce(max, "b | s, t => b | s, 0", scores))
output y = einsum("b | s, t; b | t, d => b | s, d", e / sum("b | s, t => b | s, 0", e), v)
"""

NARROW = """dim rows
dim keys
input q : bf16 [rows, %d]
input k : bf16 [keys, %d]
input v : bf16 [keys, %d]
let scores = einsum("s, d; t, d => s, t", f32(q), f32(k))
let e = exp(scores - reduce(max, "s, t => s, 0", scores))
let p = bf16(e / sum("s, t => s, 0", e))
output y = einsum("s, t; t, d => s, d", f32(p), f32(v))
"""

for width, rows in (64, 64), (128, 32):
    text, registers, stack = compiled(tsrc, folder, PROGRAM % (width, width, width), "y: row_block s %d\n" % rows, "--target=cuda:sm_80")
    assert stack == [0, 0] and registers <= 255 and ".local" not in text, (width, registers, stack)
    assert count(text, "fma.rn.f32") >= 2 * 32 and count(text, "ld.shared.v4") >= 4 and count(text, "atom") == 0
    print("%d elements: %d barriers, shared memory %s" % (width, count(text, "bar.sync"), re.search(r" shared (\d+) |$", text).group(1)))
for width in 64, 128:
    text, registers, stack = compiled(tsrc, folder, NARROW % (width, width, width), "y: row_block s 64\n", "--target=cuda:sm_80")
    assert stack == [0, 0] and registers <= 255 and ".local" not in text, (width, registers, stack)
    print("%d elements of bf16: %d products of matrices, %d loads of them, shared memory %s" % (
        width, count(text, "mma.sync"), count(text, "ldmatrix"), re.search(r" shared (\d+) |$", text).group(1)))
