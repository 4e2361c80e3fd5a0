"""Texts of loops, each wrong in one line, with what is said of it: read_errors.py TSRC"""
import subprocess
import sys

TEXT = """dims n
buffer x : f32 [n] in of forward
buffer y : f32 [n] out of forward
buffer t : f32 [4] temp of forward

kernel y(x f32 in -> y f32 out)
  for i in 0..n
    local a : f32 = x[i]
    y[i] = a * 2

routine forward(x : f32 [n]) -> y : f32 [n]
  run y
"""

# a line, what stands there instead, the message
WRONG = [
    (1, "dims n, n", "1:9: error: a dim of this name stands above [E0610]"),
    (1, "dims n >= -1", "1:6: error: a dim is from 0 to 2^31 [E0610]"),
    (2, "buffer x : f33 [n] in of forward", "2:12: error: a type is expected here, not 'f33' [E0610]"),
    (2, "buffer x : f32 [m] in of forward", "2:17: error: no loop around this and no dim is named 'm' [E0610]"),
    (2, "buffer x : f32 [n] in of backward", "2:26: error: there is no routine of this name [E0610]"),
    (2, "buffer x : f32 [n] inside", "2:20: error: in, out, param, const, temp or packed is expected here [E0610]"),
    (2, "buffer x : f32 [2*n] in of forward", "11:25: error: the buffer of this is f32 with 2*n elements [E0610]"),
    (2, "buffer x : f32 [9999999999999999999] in of forward", "2:17: error: a number that is too large [E0610]"),
    (2, "buffer x : f32 [n/0] in of forward", "2:20: error: a size that is too large or has too many terms [E0610]"),
    (2, "buffer x : f32 [n] const as [n] = 1", "2:29: error: a constant has as many elements as a number says [E0610]"),
    (4, "buffer t : f32 [2] const as [2] = 1", "6:1: error: the constant has 2 elements [E0610]"),
    (4, "check 0: n must equal \0 2", "4:23: error: an index is expected here, not '' [E0610]"),
    (4, "check 0: an index in t\0 is outside [0, 4)", "4:10: error: the text of a check has a byte 0 [E0610]"),
    (4, "buffer t : u4 [4] temp of forward\n\nkernel u(-> t u4 temp)\n  for i in 0..4 step 2\n    t[i + 1] = 1\n",
     "8:5: error: kernel u: a store of half a byte [E0611]"),
    (4, "check 1: n must equal 2", "4:7: error: checks are numbered from 0, in order [E0610]"),
    (6, "kernel y(x i32 in -> y f32 out)", "6:10: error: the buffer 'x' is f32 in [E0610]"),
    (7, "  for i in 0,n", "7:13: error: '..' is expected here, not ',' [E0610]"),
    (7, "  for i in 0..n step 0", "7:22: error: a number above 0 is expected here [E0610]"),
    (7, "  for i in 0..n quickly", "7:17: error: the end of the line is expected here [E0610]"),
    (7, "  vector i in 0..n", "7:3: error: kernel y: lanes that are no small constant [E0611]"),
    (7, "  for i in 0..n outlined of 4", "7:3: error: kernel y: masked lanes of another loop [E0611]"),
    (8, "    local a : f32 = x[i + int(key(i))]", "8:31: error: an integer is expected here [E0610]"),
    (8, "    local a : f32 = key(x[i])", "8:21: error: this is i32, and what is around it f32 [E0610]"),
    (8, "   local a : f32 = x[i]\n    y[i] = 1", "9:5: error: a line that begins neither where the one before does nor in a loop [E0610]"),
    (8, "    local a : f32 [2, 2, 2, 2, 2, 2, 2] = 0", "8:39: error: a local has 6 axes and 1048576 elements at most [E0610]"),
    (8, "    local a : f32 [2 | 16, 16] matrix_a of m8n8k8 = 0", "8:44: error: a matrix instruction is expected here [E0610]"),
    (8, "    local a : f64 = x[i]", "8:21: error: this is f32, and what is around it f64 [E0610]"),
    (8, "    local a : i8 = 300", "8:20: error: a number that is no i8 [E0610]"),
    (8, "    local a : f32 = z[i]", "8:21: error: no buffer is named 'z' here [E0610]"),
    (8, "    local a : f32 = b", "8:21: error: no local and no scalar is named 'b' here [E0610]"),
    (8, "    local a : f32 = exq(x[i])", "8:21: error: no operation is named so [E0610]"),
    (8, "    local a : f32 = x[sin(i)]", "8:23: error: no function of indices is named so [E0610]"),
    (8, "    local a : f32 = x[int(x[i])]", "8:27: error: an integer is expected here [E0610]"),
    (8, "    local a : f32 = fast_exp(1)", "8:21: error: an operation on numbers alone, which is a number [E0610]"),
    (8, "    local a : f32 = zip_words(x[i], x[i])", "8:21: error: no operation on f32 [E0610]"),
    (8, "    local a : f32 = " + "(" * 1000, "8:919: error: this is nested more than 900 times [E0610]"),
    (9, "    y[i] max a * 2", "9:14: error: '=' is expected here, not 'a' [E0610]"),
    (9, "    b = a * 2", "9:5: error: no local is named 'b' here [E0610]"),
    (9, "    y[i] = t[0]", "6:8: error: kernel y: a temporary is read that no kernel has stored yet [E0611]"),
    (9, "    x[i] = a", "9:5: error: kernel y: a store into what is read only [E0611]"),
    (9, "    check 0 <= i < n, check 3\n    y[i] = a", "9:5: error: kernel y: an unknown check [E0611]"),
    (11, "routine forward() -> y : f32 [n]", "11:9: error: the routine has buffers that it neither takes nor gives [E0610]"),
    (11, "routine forward(x : f32 [n], z : f32 [n]) -> y : f32 [n]",
     "11:41: error: the routine has fewer buffers that are 'in' [E0610]"),
    (12, "  run z", "12:7: error: no kernel is named so [E0610]"),
    (12, "  guard 0", "12:9: error: no check of sizes has this number [E0610]"),
    (12, "  walk y", "12:3: error: 'run' is expected here, not 'walk' [E0610]"),
    (12, "  run y\nloops", "13:1: error: a dump of loops is expected here, whose lines begin with dims, state, buffer, check, kernel or "
     "routine [E0610]"),
    (12, "  workspace 0 bytes\n  run y", "1:1: error: a routine has its workspace here, as in what --dump=loops prints, "
     "not --dump=kernels [E0610]"),
]

# the first stage, all of the text or changed lines, the message; an index is tried where loops are finished
OTHERS = [
    ("loops", TEXT, "1:1: error: no routine has a workspace here, as in what --dump=loops prints [E0610]"),
    ("loops", TEXT.replace("run y", "workspace 0 bytes\n  run y").replace("x[i]", "x[i + 1]"),
     "8:5: error: kernel y: an index of x is 1, outside [0, 1), n = 1 [E0611]"),
    ("parallel", TEXT.replace("x[i]", "x[i + 1]"),
     "8:5: error: kernel y: an index of x is 1, outside [0, 1), n = 1 [E0611]"),
    ("fusion", "(unchanged)\n",
     "1:1: error: the loops are in the dump of the stage that changed them last [E0610]"),
    ("loops", "buffer c : f32 [2000] const as [2000] = ...\nbuffer y : f32 [1] out of f\n\nkernel y(c f32 const -> y f32 out)\n"
     "  y[0] = c[0]\n\nroutine f() -> y : f32 [1]\n  workspace 0 bytes\n  run y\n",
     "1:1: error: the elements of a large constant are left out of this text: no code can be made of it [E0612]"),
]


def changed(line, other):
    lines = TEXT.split("\n")
    lines[line - 1] = other
    return "\n".join(lines)


def main():
    cases = [("kernels", changed(line, other), message) for line, other, message in WRONG] + OTHERS
    bad = 0
    for stage, text, message in cases:
        run = subprocess.run([sys.argv[1], "-march=x86-64-v3", "--from=" + stage, "--emit=c", "-o", "/dev/null", "-"],
                             input=text, capture_output=True, text=True)
        first = run.stderr.split("\n")[0]
        if run.returncode != 1 or not first.endswith(":" + message):
            print("%d, %s\n  for %s" % (run.returncode, first, message))
            bad += 1
    print("%d errors, %d wrong" % (len(cases), bad))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
