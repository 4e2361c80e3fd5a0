"""Targets that no processor is like: targets.py TSRC ROOT N [SEED]

Draws numbers of target.def anywhere in their ranges, often at their ends, and compiles a program of test/lit/lower for them:
the loops are verified, and the interpreter's numbers agree with the reference. What a target file may say is never a bug of
the compiler."""
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

tsrc, root, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
VECTORS = {"x86-64": [16], "x86-64-v3": [32], "x86-64-v4": [32, 64]}
GIVEN = ("vector_bytes", "bf16_pairs", "matrix_tiles")  # what instructions there are says which they may be


def rows():
    """(name, value, least, most) of each number"""
    text = open(os.path.join(root, "target", "target.def"), encoding="utf8").read()
    for name, *numbers in re.findall(r"^NUMBER\((\w+), ([^,]+), ([^,]+), ([^,]+),", text, re.M):
        if name not in GIVEN:
            yield (name, *[eval(n) for n in numbers])


def number(value, least, most):
    """An end of the range, near the value, or anywhere by magnitude"""
    kind = draw.random()
    if kind < 0.3:
        return draw.choice([least, most])
    if kind < 0.8:
        return max(least, min(most, int((value or least) * 2 ** draw.uniform(-4, 4))))
    return int(max(least, 1) * (most / max(least, 1)) ** draw.random())


table = list(rows())
files = sorted(glob.glob(os.path.join(root, "test/lit/lower/*.tsr")))
def is_plain(path):
    """Does the file compile as it is?"""
    with open(path, encoding="utf8") as source:
        text = source.read()
    return "split-file" not in text and "RUN: not" not in text


programs = [path for path in files if is_plain(path)]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "drawn.target")
    for case in range(count):
        march, program = draw.choice(sorted(VECTORS)), draw.choice(programs)
        lines = ["like " + march, "vector_bytes %d" % draw.choice(VECTORS[march])]
        lines += ["%s %d" % (row[0], number(*row[1:])) for row in draw.sample(table, draw.choice([1, 3, 10, 40, len(table)]))]
        with open(path, "w", encoding="utf8") as out:
            out.write("\n".join(lines) + "\n")
        how = ["--verify=run"] if draw.random() < 0.2 else ["--stop=loops", "--dump=loops"]
        run = subprocess.run([tsrc, *how, "--no-cache", "--target-file=" + path, program], capture_output=True, text=True)
        if run.returncode:
            sys.exit("%s %s: status %d\n%s\n%s" % (program, how[0], run.returncode, run.stderr[-1000:], "\n".join(lines)))
print("%d targets" % count)
