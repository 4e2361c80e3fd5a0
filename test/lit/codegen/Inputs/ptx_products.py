"""ptx_products.py TSRC FOLDER: what the PTX of each tile of a product has in a round over 16 steps of the sum: how many products are
added, by how many reads of shared memory, of four elements all of them; bytes of shared memory, and whether something is on a
stack; with both operands along the tile, and along the sum."""
import re
import sys

from ptx_text import compiled, count

tsrc, folder = sys.argv[1:]
TILES = [(128, 8, 128, 8), (64, 8, 128, 8), (64, 8, 64, 4), (32, 4, 64, 4), (16, 4, 64, 4)]


def compiled_tile(tile, layout):
    sizes = {"i": "256", "j": "256", "k": "64"}
    shapes = [", ".join(sizes[letter] for letter in row.split(", ")) for row in layout.split("; ")]
    program = 'input a : [%s]\ninput b : [%s]\noutput y = einsum("%s => i, j", a, b)\n' % (*shapes, layout)
    return compiled(tsrc, folder, program, "y: tile i %d %d, j %d %d\n" % tile, "--target=cuda:sm_90")


for tile, layout in [(tile, "k, i; k, j") for tile in TILES] + [(TILES[1], "i, k; j, k")]:
    text, registers, stack = compiled_tile(tile, layout)
    assert stack == [0, 0] and registers <= 168, (tile, layout, registers, stack)
    # nvrtc, which orders by addresses in its process, may read an element or two again, other ones from run to run
    assert ".local" not in text and len(re.findall(r"ld\.shared\.[fu]32", text)) <= 3, (tile, layout)
    shared = sum(map(int, re.findall(r"^\s*\.shared \S+ \S+ \S+ ?\w+\[(\d+)\]", text, re.M)))
    assert count(text, "ld.global.f32") == 0 and count(text, "ld.global.v4.f32") > 0, (tile, layout)
    print("%d x %d of %s: %d products by %d reads, %d bytes" % (
        tile[0], tile[2], layout, count(text, "fma.rn.f32"), count(text, "ld.shared.v4.f32"), shared))
