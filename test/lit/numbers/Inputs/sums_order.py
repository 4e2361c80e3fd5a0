"""Random sums and products: the bits are those of the order that --dump=sums prints.

usage: sums_order.py SEED PROGRAMS

tsrc --verify=sums adds in that order without loops (reference/in_order.c), and compares each float of the interpreter, of C and
of machine code with what comes out. Operands are inputs, so the bits of every sum are known. What is summed for a member of a
batch has one order in a batch of any size.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

TSRC = os.environ["TSRC"]
EXTENTS = [2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 33, 48, 50, 64, 67, 75, 107, 130, 200]
rng = random.Random(int(sys.argv[1]))


def some(names, least):
    return rng.sample(names, rng.randint(least, len(names)))


def statement(number, dims):
    """An input or two, and a sum of theirs over letters that the result lacks."""
    letters = [c for c in "abcd"][: rng.randint(2, 4)]
    sizes, steps = {}, 1
    for letter in rng.sample(letters, len(letters)):
        fits = [e for e in EXTENTS if e * steps <= 3000] or [2]
        sizes[letter] = rng.choice(fits)
        steps *= sizes[letter]
    if dims and rng.random() < 0.25:
        sizes[rng.choice(letters)] = "m"
    batch = rng.random() < 0.5
    one = rng.random() < 0.4
    first = rng.sample(letters, len(letters)) if one else some(letters, 1)
    second = None if one else some(letters, 1)
    if not one and not set(letters) <= set(first) | set(second):
        first = first + [c for c in letters if c not in first + second]
    result = some(letters, 0)
    if set(result) == set(letters):
        result = result[1:]
    batch_of = [True, rng.random() < 0.5] if batch else [False, False]
    dtype = "f64 " if rng.random() < 0.2 else ""
    lines, specs = [], []
    for i, axes in enumerate([first] if one else [first, second]):
        rows = "n | " if batch_of[i] else ""
        lines.append("input x%d%d : %s[%s%s]" % (number, i, dtype, rows, ", ".join(str(sizes[c]) for c in axes)))
        specs.append(rows + ", ".join(axes))
    spec = "%s => %s%s" % ("; ".join(specs), "n | " if batch else "", ", ".join(result))
    call = "sum" if one else "einsum"
    lines.append('output y%d = %s("%s", %s)' % (number, call, spec, ", ".join("x%d%d" % (number, i) for i in range(len(specs)))))
    return lines


def tsrc(directory, *words):
    run = subprocess.run([TSRC, "--no-cache", *words, "program.tsr"], cwd=directory, capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


compared = 0
for count in range(int(sys.argv[2])):
    text = "\n".join(["dim n", "dim m"] + [line for i in range(8) for line in statement(i, True)] + [""])
    march = rng.choice(["x86-64", "x86-64-v3", "native"])
    fp = rng.choice(["default", "strict"])
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "program.tsr"), "w") as out:
            out.write(text)
        status, report, messages = tsrc(directory, "-fsyntax-only", "-O0", "--verify=sums", "-march=" + march, "--fp=" + fp)
        exact = re.findall(r"(\d+) values, (\d+) bit for bit", report)
        orders = [tsrc(directory, "--stop=sums", "--dump=sums", "-march=" + march, *more)[1] for more in ([], ["-Dn=1"], ["-Dn=7"])]
    if status or not exact or any(a != b for a, b in exact):
        sys.exit("%s-march=%s --fp=%s\n%s%s" % (text, march, fp, report, messages))
    if orders[0] != orders[1] or orders[0] != orders[2]:
        sys.exit("%s-march=%s: another order in another batch\n%s" % (text, march, "\n".join(orders)))
    compared += sum(int(b) for _, b in exact)
print("%d programs add in their orders" % int(sys.argv[2]), "" if compared else "but nothing was compared")
