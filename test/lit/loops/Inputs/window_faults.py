"""A convolution of a warpgroup from windows of a tensor, as loops, each time with one fault, and what is said of it:
window_faults.py TSRC FILE"""
from loop_faults import find, read

TEXT = read("windows.loops")
NO_MAP = "windows that no map of a tensor has"
NO_PLACE = "a place in windows that is not shown to be one that an instruction takes"
NO_BOX = "a box that no instruction copies"
ALONG, DOWN = "(round/2)%3 from -1 step 2 of 4 in 8 by 72", "(round/2)/3 from -1 step 2 of 4 in 8 by 576"
LAST, COUNT = "0 from 0 step 1 of n in n by 4608", "windows rows*128 of 128"

find((TEXT, [
    ("windows too far apart", ALONG, ALONG.replace("step 2", "step 9"), NO_MAP),
    ("windows that begin too far in front", ALONG, ALONG.replace("-1", "-129"), NO_MAP),
    ("windows that begin too far behind", DOWN, DOWN.replace("of 4", "of 80"), NO_MAP),
    ("windows of a size that is not known to be so few", DOWN, DOWN.replace("of 4", "of n"), NO_MAP),
    ("windows apart along the last axis", LAST, LAST.replace("step 1", "step 2"), NO_MAP),
    ("windows in front of the last axis", LAST, LAST.replace("from 0", "from -1"), NO_MAP),
    ("two axes", ", %s, %s" % (ALONG, DOWN), "", NO_MAP),
    ("a place in front of a window", ALONG, ALONG.replace("3 from", "3 - 1 from"), NO_PLACE),
    ("a place that is no number of an instruction", DOWN, DOWN.replace("3 from", "3 + 254 from"), NO_PLACE),
    ("a place of each round", DOWN, DOWN.replace("(round/2)/3", "round*16"), NO_PLACE),
    ("a place along the last axis", LAST, "1" + LAST[1:], NO_PLACE),
    ("an axis without windows", ALONG, "(round/2)%3 of 1 in 8 by 72", NO_BOX),
    ("windows of none", " " + COUNT, "", NO_BOX),
    ("channels with windows", "(round%2)*64 of 64 in 72 by 1, (round/2)%3", "(round%2)*64 from 0 step 1 of 64 in 72 by 1, (round/2)%3", NO_BOX),
    ("windows of boxes", "round/2 of 1 in 9 by 72]", "round/2 of 1 in 9 by 72] windows columns of 64", NO_BOX),
    ("more windows than a copy takes", COUNT, COUNT.replace("of 128", "of 512"), NO_BOX),
    ("fewer windows than are multiplied", COUNT, COUNT.replace("of 128", "of 64"), "a wait for what does not come before it"),
    ("a wider tensor", ALONG, ALONG.replace("in 8", "in 9"), "a box of a tensor that is larger than its buffer"),
    ("lines of 142 bytes", ALONG, ALONG.replace("by 72", "by 71"), "a box of elements that do not lie at multiples of 16 bytes"),
    ("no wait for windows", "            await y_full, turn*18 + round\n", "", "a product of what may not have been copied"),
    ("no wait for room", "          await y_empty, turn*18 + round - 8\n", "", "an arrival before all have seen the completion a ring before"),
    ("the windows of a turn", COUNT, "windows rows*128 + turn of 128", "the number of a turn in what is not of a ring"),
    ("windows that are all one", DOWN, DOWN.replace("step 2", "step 0"), "error: a number above 0 is expected here [E0610]"),
    ("windows without a number", COUNT, "windows rows*128", "error: 'of' is expected here, not 'at' [E0610]"),
]))
