"""window_faults.py TSR DRIVER FOLDER: m.ptx, a convolution from windows that TMA copies, has the bits of m.so of the host in four
orders; copies of its code or of its plan with one fault each are told, or have other numbers, in the order that shows it."""
import os
import re
import subprocess
import sys

tsr, driver, folder = sys.argv[1:]
os.chdir(folder)
with open("m.ptx", encoding="utf8") as file:
    TEXT = re.sub(r"//tsr: digest .*\n", "", file.read())
COPY = re.compile(r"(\.im2col\.\S* \[%\w+\], \[%\w+, \{)(%\w+), (%\w+), (%\w+), (%\w+)(\}\], \[%\w+\]), \{(%\w+), (%\w+)\};")
WAIT = re.compile(r"mbarrier\.try_wait\.parity\.shared::cta\.b64 tsr_p, \[%\w+\], (?:%\w+|\d+);\s*@!tsr_p bra \w+;")


def run(module, order="forward"):
    """The numbers, or what is told."""
    env = dict(os.environ, TSR_LIBCUDA=driver, TSR_EMU_SCHEDULE=order, TSR_EMU_FUEL="60000000")
    result = subprocess.run([tsr, "run", module, "x=random:1", "w=random:2", "n=30", "-o", "y=y.npy"], env=env, capture_output=True)
    if result.returncode:
        return result.stderr.decode()
    with open("y.npy", "rb") as file:
        return file.read()


def plan(old, new):
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new)


def moved(axis, by):
    """A copy begins elsewhere along the axis."""
    def one(m):
        at = list(m.groups()[1:5])
        move = "{ .reg .b32 tsr_x; add.s32 tsr_x, %s, %d; cp.async.bulk.tensor.4d.shared::cluster.global" % (at[axis], by)
        at[axis] = "tsr_x"
        return move + m.group(1) + ", ".join(at) + m.group(6) + ", {%s, %s}; }" % m.groups()[6:]
    return re.sub(r"cp\.async\.bulk\.tensor\.4d\.shared::cluster\.global" + COPY.pattern, one, TEXT)


def placed(a, b):
    """What a copy reads of its windows."""
    return COPY.sub(lambda m: "%s%s, %s, %s, %s%s, {%s, %s};" % (*m.groups()[:6], a(m), b(m)), TEXT)


def waits(copies):
    """Without those in front of copies, or of products."""
    def one(match):
        behind = re.search(r"cp\.async\.bulk|wgmma\.mma_async", TEXT[match.end():])
        return "" if behind and behind.group().startswith("cp") == copies else match.group()
    return WAIT.sub(one, TEXT)


ALONG, DOWN = "windows 3 low -1 step 2 of 128 in 6 by 72", "windows 4 low -1 step 2 of 1 in 8 by 432"
LAST = "windows n low 0 step 1 of 1 in n by 3456"
WINDOW = "copies windows from"
# What is planted, the text that has it, the order that shows it, what has to be told; "": other numbers.
PLANTED = [
    ("places of a window the other way round", placed(lambda m: m.group(8), lambda m: m.group(7)), "forward", ""),
    ("the place of another channel block", moved(0, 8), "reverse", ""),
    ("windows one further", moved(1, 1), "forward", WINDOW),
    ("windows two further", moved(1, 2), "random:1", WINDOW),
    ("windows in front of the first", moved(2, -2), "forward", WINDOW),
    ("windows of another picture", moved(3, 1), "forward", ""),
    ("a place that has too many bits", placed(lambda m: "300", lambda m: m.group(8)), "forward", WINDOW),
    ("a copy of a box by a map of windows", COPY.sub(lambda m: "%s%s, %s, %s, %s%s;" % (m.group(1).replace(".im2col", ""), *m.groups()[1:6]), TEXT),
     "forward", "copies a box by a map of windows"),
    ("no wait for windows", waits(False), "forward", ""),
    ("no wait for room", waits(True), "reverse", ""),
    ("windows by a map of boxes", plan(" %s %s %s," % (ALONG, DOWN, LAST), " of 128 in 6 by 72 of 1 in 8 by 432 of 1 in n by 3456,"), "forward",
     "copies a box by a map of windows, or windows by one of boxes"),
    ("fewer windows", plan(ALONG, ALONG.replace("128", "64")), "forward", ""),
    ("one window less along an axis", plan(ALONG, ALONG.replace("windows 3", "windows 2")), "forward", WINDOW),
    ("windows that begin elsewhere", plan(DOWN, DOWN.replace("-1", "1")), "forward", WINDOW),
    ("windows side by side", plan(DOWN, DOWN.replace("step 2", "step 1")), "forward", WINDOW),
    ("a smaller picture", plan(DOWN, DOWN.replace("in 8", "in 7")), "forward", ""),
    ("other lines", plan(ALONG, ALONG.replace("by 72", "by 80")), "forward", ""),
    ("windows that begin too far outside", plan(DOWN, DOWN.replace("-1", "-300")), "forward", "the map of x: CUDA_ERROR_INVALID_VALUE"),
    ("a plan of windows too far apart", plan(DOWN, DOWN.replace("step 2", "step 9")), "forward", "the plan is damaged: a number is above 8"),
    ("a plan of windows that are one", plan(DOWN, DOWN.replace("step 2", "step 0")), "forward", "the plan is damaged: windows of an axis that are all one"),
    ("a plan of an axis without windows", plan(DOWN, "of 1 in 8 by 432"), "forward", "the plan is damaged: all axes of a tensor but the first have windows, or none"),
    ("a plan of channels with windows", plan("of 64 in 72 by 1 windows 3", "windows 1 low 0 step 1 of 64 in 72 by 1 windows 3"), "forward",
     "the plan is damaged: the first axis of a tensor has windows"),
    ("a plan of two axes", plan(" %s %s," % (DOWN, LAST), ","), "forward", "the plan is damaged: a tensor with windows has fewer than 3 axes"),
    ("a plan of a result with windows", plan("tensor %0", "result %0"), "forward", "the plan is damaged: a result has no windows"),
    ("a plan of windows from nowhere", plan(DOWN, DOWN.replace(" low -1", "")), "forward", "the plan is damaged: 'low' is missing"),
]

want = run("m.so")
for order in ("forward", "reverse", "random:1", "random:2"):
    if run("m.ptx", order) != want or isinstance(want, str):
        print("without a fault: other bits,", order)
found = 0
for name, text, order, what in PLANTED:
    if text == TEXT:
        print(name, "is not planted")
    with open("changed.ptx", "w", encoding="utf8") as file:
        file.write(text)
    told = run("changed.ptx", order)
    if told != want and what in (told if isinstance(told, str) else ""):
        found += 1
    else:
        print("%s: %s" % (name, told if isinstance(told, str) else "the same numbers" if told == want else "other numbers"))
print("%d of %d faults are found" % (found, len(PLANTED)))
