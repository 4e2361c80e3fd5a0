"""box_faults.py TSRC FILE < LOOPS: loops with one fault of boxes each are refused, with the rule that they break. FILE is written."""
import re
import sys

from loop_faults import bound

TEXT = sys.stdin.read()

PLANTED = [
    ("of 16 in m by 48", "of 8 in m by 48", "iterations of boxes that do not store rows of one tensor"),
    (r"(through.*\n\s*)unroll q1 in 0..4", r"\1unroll q1 in 0..3", "iterations that do not store all of their box, and nothing else"),
    (r"\+ box\*32 \+ q1\*8 \+ j2\*2 \+ lane\]", "+ box*32 + q1*8 + j2*2 + lane + 8]", "iterations that do not store all of their box, and nothing else"),
    (r"row3\*1024", "row3*512", "boxes of warps in places that are not theirs alone"),
    (r"row3\*1024", "row3*1024 + columns*8192", "boxes of warps in places that are not theirs alone"),
    (r"p\*16 \+ i3 < m", "p*16 + i3 + 1 < m", "a box of which elements inside of the tensor may not be stored"),
    (r"q1\*8 \+ j2\*2 \+ 1 < 48", "q1*8 + j2*2 + 3 < 48", "a box of which elements inside of the tensor may not be stored"),
    ("of 32 in 48 by 1,", "of 64 in 48 by 1,", "a box that no instruction copies"),
    ("of 16 in m by 48", "of 16 in m + 1 by 48", "a box of a tensor that is larger than its buffer"),
    ("of 16 in m by 48", "of 16 in m by 46", "a box of elements that do not lie at multiples of 16 bytes"),
    (r"(y_boxes : f32 \[8192\] .*) swizzled", r"\1", "boxes that are not through a swizzled buffer of their type"),
    (r"y_boxes : f32 \[8192\]", "y_boxes : f32 [4096]", "boxes of warps in places that are not theirs alone"),
]

found = 0
for pattern, instead, rule in PLANTED:
    text, n = re.subn(pattern, instead, TEXT)
    run = bound(text)
    if n > 0 and run.returncode == 1 and rule in run.stderr:
        found += 1
    else:
        print(pattern, n, run.returncode, run.stderr)
print("%d of %d faults are found" % (found, len(PLANTED)))
