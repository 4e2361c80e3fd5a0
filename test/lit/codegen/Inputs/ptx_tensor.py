"""ptx_tensor.py TSRC FOLDER: what the PTX of each tile by tensor cores has in a round: how many products of matrices, by how many
loads of them, and whether something is on a stack; with operands as they lie in a file, and transposed; and, where sizes
are known, whether copies are asynchronous, and of how many bytes."""
import re
import sys

from ptx_text import compiled, count

tsrc, folder = sys.argv[1:]
NARROW = [(128, 64, 128, 64), (64, 32, 64, 32), (32, 16, 64, 32), (16, 16, 64, 16)]
DIMS = {"i": "m", "j": "n", "k": "s"}
KNOWN = {"i": "256", "j": "256", "k": "256"}
WIDE = [(64, 32, 128, 64), (64, 32, 64, 32), (16, 16, 64, 16)]


def compiled_tile(kind, tile, layout, sizes):
    first, second = (row.translate(str.maketrans(sizes)) for row in layout.split("; "))
    dtype = "f32" if "tf32" in kind else kind
    options = ["--f32-matmul=" + kind] if "tf32" in kind else []
    program = '%sinput a : %s [%s]\ninput b : %s [%s]\ninput c : [%s]\noutput y = relu(einsum("%s => i, j", a, b) + c)\n' % (
        "".join("dim %s\n" % size for size in sizes.values() if size.isalpha()), dtype, first, dtype, second, sizes["j"], layout)
    return compiled(tsrc, folder, program, "y: tile i %d %d, j %d %d\n" % tile, "--target=cuda:sm_80", *options)


# edges, of sizes that are not known, make most of what is compiled: of the largest tile of a kind alone
for kind, tile, layout, sizes in ([("bf16", NARROW[0], "i, k; k, j", DIMS), ("f16", NARROW[1], "k, i; j, k", DIMS)] +
                                  [(kind, WIDE[0], "i, k; j, k", DIMS) for kind in ("tf32", "3xtf32")] +
                                  [("bf16", tile, "i, k; k, j", KNOWN) for tile in NARROW] +
                                  [(kind, tile, "i, k; j, k", KNOWN) for kind in ("tf32", "3xtf32") for tile in WIDE]):
    text, registers, stack = compiled_tile(kind, tile, layout, sizes)
    assert stack == [0, 0] and registers <= 255, (kind, tile, layout, registers, stack)
    assert ".local" not in text, (kind, tile, layout)
    print("%s %d x %d of %s: %d products, %d + %d loads, %s" % (
        kind, tile[0], tile[2], layout, count(text, "mma.sync.aligned"), count(text, "ldmatrix.sync.aligned.m8n8.x4"),
        count(text, "ldmatrix.sync.aligned.m8n8.x2"), " and ".join("asynchronous by " + n for n in sorted(set(re.findall(r"cp\.async\.c[ag]\.shared\.global \S+ \S+ (\d+)", text)))) or "by threads"))

program = """dim n
input x : bf16 [n | 14, 14, 64]
input w : bf16 [3, 3, 64 -> 128]
output y = relu(einsum("n | 1*p =+? a, 1*q =+? b, c; a, b, c -> j => n | p, q, j", f32(x), f32(w)))
"""
text, registers, stack = compiled(tsrc, folder, program, "y: tile q 64 32, j 64 32\n", "--target=cuda:sm_80")
assert stack == [0, 0] and registers <= 128 and ".local" not in text, (registers, stack)
assert not re.search(r"\b(div|rem)\.[su](32|64)", text)
print("bf16 convolution: %d products, asynchronous by %s" % (count(text, "mma.sync.aligned"), " and ".join(sorted(set(re.findall(r"cp\.async\.c[ag]\.shared\.global \S+ \S+ (\d+)", text))))))

# 288 threads, so that a thread has 224 registers
for kind, columns, layout in [("bf16", 64, "i, k; k, j"), ("f16", 128, "k, i; j, k"), ("bf16", 192, "i, k; j, k"), ("bf16", 256, "i, k; k, j")]:
    first, second = (row.translate(str.maketrans(KNOWN)) for row in layout.split("; "))
    program = 'input a : %s [%s]\ninput b : %s [%s]\ninput c : [256]\noutput y = relu(einsum("%s => i, j", f32(a), f32(b)) + c)\n' % (
        kind, first, kind, second, layout)
    text, registers, stack = compiled(tsrc, folder, program, "y: tile i 128 16, j %d %d\n" % (columns, columns), "--target=cuda:sm_90a")
    assert stack == [0, 0] and registers <= 224 and ".local" not in text, (kind, columns, registers, stack)
    print("%s 128 x %d of %s: wgmma of m64n%dk16, by TMA" % (kind, columns, layout, columns)
          if ".m64n%dk16.f32.%s.%s " % (columns, kind, kind) in text and "cp.async.bulk.tensor.2d" in text else "none")
