"""Schedules of programs: SEED COUNT [FILE...], or `corpus`.

The dump of a schedule is a schedule that gives the same loops, under --policy=none too, where it says all that is
chosen, and for a processor of which every cost is another one, so that nothing is chosen by cost: of every FILE, of the programs below, of random
attention and of random convolutions with steps, whose picture is copied, staged or read where it is; or of all programs
of the repository, for one machine or another. A dump that is changed in one to three places compiles and computes the
same numbers, or fails with status 1 and one of the three codes of schedules; COUNT changes of each program. Bytes
changed at random do the same, without numbers.
"""
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "numbers", "Inputs"))
from tsrlib import CompileError, Model  # noqa: E402
import corpus  # noqa: E402

TSRC = os.environ.get("TSRC", "tsrc")
ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
CODES = {"E0605", "E0606", "E0607"}
with open(os.path.join(ROOT, "schedule", "schedule.def"), encoding="utf8") as choice_rows:
    LOOPS = re.findall(r'^CHOICE\(\w+, "(\w+)", LOOP', choice_rows.read(), re.M)  # words whose items are loops, with numbers
OFF = ["tile", "vector", "pack", "block", "order", "transpose_tile", "fuse_rows", "parallel", "fuse", "stage", "pad", "group", "over_read",
       "store_along", "inline", "transpose", "unroll", "row_block", "halo", "horizontal", "interchange", "compute_at"]

# Program, shapes of the inputs, shapes of the outputs; n is 5.
PROGRAMS = [
    ("input a : [40, 37]\ninput b : [37, 50]\noutput y = relu(einsum(\"ik; kj => ij\", a, b) + 1)\n",
     [(40, 37), (37, 50)], [(40, 50)]),
    ("dim n\ninput x : [n | 20]\ninput w : [30 | 20]\noutput y = einsum(\"n | k; o | k => n | o\", x, w)\n",
     [(5, 20), (30, 20)], [(5, 30)]),
    ("dim n\ninput x : [n | 9, 10, 4]\ninput w : [| 3, 3, 4, 8]\noutput y = einsum(\"b | oh =+ kh, ow =+ kw, c; kh, kw, c, o"
     " => b | oh, ow, o\", x, w)\n", [(5, 9, 10, 4), (3, 3, 4, 8)], [(5, 9, 10, 8)]),
    ("input a : [6, 70, 3]\noutput s = sum(\"i, j, k => k, i\", a)\noutput t = einsum(\"ijk => kji\", a)\n"
     "output m = reduce(max, \"i, j, k => j\", a)\n", [(6, 70, 3)], [(3, 6), (3, 70, 6), (70,)]),
    ("dim n\ninput x : [n | 90]\nlet m = reduce(max, \"... | v => ... | 0\", x)\nlet e = exp(x - m)\n"
     "output p = e / sum(\"... | v => ... | 0\", e)\nlet d = x .* x\noutput q = d + p\n", [(5, 90)], [(5, 90), (5, 90)]),
    ("dim n\ninput q : [n, 3 | 16]\ninput k : [n, 3 | 16]\nlet s = einsum(\"i, h | d; j, h | d => h, i | j\", q, k)\n"
     "output y = tanh(s)\n", [(5, 3, 16), (5, 3, 16)], [(3, 5, 5)]),
    ("dim n\ninput x : [n | 8, 32]\ninput w : [8, 32, 96]\ninput s : [8, 96]\nlet p = einsum(\"b | g, k; g, k, o => b | g, o\", x, w)\n"
     "output y = einsum(\"b | g, o; g, o => b | o\", p, s)\n", [(5, 8, 32), (8, 32, 96), (8, 96)], [(5, 96)]),
    ("input x : [6, 100]\ninput w : [20, 6, 9]\noutput y = einsum(\"c, 4*t <+? k; o, c, k => o, t\", x, w)\n",
     [(6, 100), (20, 6, 9)], [(20, 23)]),
    ("input x : [4, 13, 34]\ninput w : [16, 4, 3, 3]\noutput y = relu(einsum(\"c, 2*y =+? a, 2*x =+? b; o, c, a, b => o, y, x\","
     " x, w))\n", [(4, 13, 34), (16, 4, 3, 3)], [(16, 7, 17)]),
    ("dim n\ninput x : [7 | n, 30]\nlet (h, y) = scan(7, a = x @ 0, i) { let g = 0.5 * a + tanh(x @ i) in (g, g .* a) }\n"
     "output h\noutput y\n", [(7, 5, 30)], [(5, 30), (7, 5, 30)]),
    ("dim n\ninput x : [n | 9, 10, 40]\ninput w : [3, 3, 40]\ninput c : [n | 9, 10, 40]\nlet y = einsum(\"n | h =+ a, w =+ b, i; a, b, i"
     " => n | h, w, i\", x, w)\noutput dx = vjp(y, x, c)\noutput dw = vjp(y, w, c)\n",
     [(5, 9, 10, 40), (3, 3, 40), (5, 9, 10, 40)], [(5, 9, 10, 40), (3, 3, 40)]),
    ("dim n\ninput x : [n | 9, 8, 6]\ninput w : [3, 3, 6 -> 20]\ninput c : [n | 9, 8, 20]\nlet y = einsum(\"n | h =+ a, w =+ b, i; a, b, i"
     " -> o => n | h, w, o\", x, w)\noutput dx = vjp(y, x, c)\noutput dw = vjp(y, w, c)\n",
     [(5, 9, 8, 6), (20, 3, 3, 6), (5, 9, 8, 20)], [(5, 9, 8, 6), (20, 3, 3, 6)]),
]
MACHINES = ["x86-64-v4", "x86-64-v3", "x86-64"]
# Numbers of a target that are no cost: what instructions there are, how the code of a choice is made, and what gradients compute
# again, which is decided before there is a schedule.
FACTS = {"vector_bytes", "line_bytes", "l3_bytes", "stream_bytes", "registers", "bf16_pairs", "matrix_tiles", "matrix_rows",
         "matrix_row_bytes", "masked_bytes", "recompute_steps", "recompute_row",
         "grain", "grain_copies", "load_anywhere", "prefetch_ahead",
         "prefetch_height", "fast_path_strip", "fast_path_trips", "math_loop_trips", "transpose_nodes",
         "sort_ranks", "sort_ranks_vector", "sort_exchanges", "sort_digits", "sort_network", "sort_network_vector", "sort_parts_vector",
         "sort_parts_sample", "sort_parts_levels", "sort_parts_margin", "sort_parts_block", "sort_bits",
         "sort_bits_long", "select_group", "select_group_least",
         "row_statements", "row_block_transposed", "thread_block", "thread_parts", "thread_rest", "thread_row", "thread_slots"}


def strided(rng):
    """A convolution with steps and dilation, channels first or last."""
    rank = rng.choice([1, 2])
    step, mark = rng.choice([1, 2, 3, 4]), rng.choice(["<+?", "=+?"])
    kernel, ins, outs = rng.choice([1, 2, 3, 5, 9]), rng.choice([1, 3, 8, 16, 64]), rng.choice([1, 5, 16, 64])
    size = [str(rng.choice([20, 33, 56, 100, "n"])) for _ in range(rank)]
    picture = ["%d*%s %s %s%s" % (step, y, mark, rng.choice(["", "2*"]), a) for y, a in zip("yx", "ab")][:rank]
    axes = [["c", *picture], [str(ins), *size], [*"yx"[:rank]], [*"ab"[:rank]]]
    if rng.random() < 0.5:
        parts = (axes[1], [outs, ins] + [kernel] * rank, axes[0], ["o", "c", *axes[3]], ["o", *axes[2]])
    else:
        parts = (size + [str(ins)], [kernel] * rank + [ins, outs], [*picture, "c"], [*axes[3], "c", "o"], [*axes[2], "o"])
    x, w, a, b, r = (", ".join(map(str, part)) for part in parts)
    return "dim n\ninput x : [%s]\n%s w : [%s]\noutput y = %s einsum(\"%s; %s => %s\", x, w)\n" % (
        x, rng.choice(["input", "param"]), w, rng.choice(["", "1 +"]), a, b, r)


def attention(rng):
    """Queries of one or several lengths of keys, some of which are parameters, with one softmax."""
    text, outputs = "dim n\ndim m\n", ""
    for b in range(rng.randint(1, 2)):
        rows, heads = rng.choice(["n", "m", "1", "5", "64", "128"]), rng.choice([1, 4, 8])
        depth, parts = rng.choice([8, 24, 64]), range(rng.randint(1, 2))
        text += "input q%d : [%s | %d, %d]\n" % (b, rows, heads, depth)
        for p in parts:
            keys, of = rng.choice(["n", "m", "5", "128"]), rng.choice(["", " / 8"])
            for name, width in (("k", depth), ("v", 16)):
                kind = rng.choice(["param", "input", "input"]) if keys.isdigit() else "input"
                text += "%s %s%d%d : [%s | %d, %d]\n" % (kind, name, b, p, keys, heads, width)
            text += "let a%d%d = einsum(\"s | h, d; t | h, d => s | h, t\", q%d, k%d%d)%s\n" % (b, p, b, b, p, of)
        most = ["reduce(max, \"s | h, t => s | h, 0\", a%d%d)" % (b, p) for p in parts]
        text += "let m%d = %s\n" % (b, most[0] if len(most) == 1 else "max(%s, %s)" % tuple(most))
        text += "".join("let e%d%d = exp(a%d%d - m%d)\n" % (b, p, b, p, b) for p in parts)
        outputs += "output y%d = (%s) / (%s)\n" % (
            b, " + ".join("einsum(\"s | h, t; t | h, d => s | h, d\", e%d%d, v%d%d)" % (b, p, b, p) for p in parts),
            " + ".join("sum(\"s | h, t => s | h, 0\", e%d%d)" % (b, p) for p in parts))
    return text + outputs


def dump(words):
    run = subprocess.run([TSRC, *words], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout, run.stderr


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())
    return path


def costs_changed(directory, machine, factor):
    """A target file with each cost so many times as large, as far as its range goes."""
    path = os.path.join(directory, "%s-%s.target" % (machine, factor))
    if os.path.exists(path):
        return path
    ranges = {}
    with open(os.path.join(ROOT, "target", "target.def")) as rows:
        for row in re.finditer(r"^NUMBER\((\w+), [^,]+, ([^,]+), ([^,]+),", rows.read(), re.M):
            ranges[row[1]] = [eval(number) for number in row.groups()[1:]]
    source = write(directory, "target.tsr", "input x : [2]\noutput y = x\n")
    text = dump(["-march=" + machine, "--dump=target", "--stop=target", source])[1]
    lines = ["like " + machine]
    for name, digits, unit in re.findall(r"^(\w+) +(\d+)([KM]?)\b", text, re.M):
        if name not in FACTS:
            number = int(int(digits) * {"": 1, "K": 1 << 10, "M": 1 << 20}[unit] * factor)
            lines.append("%s %d" % (name, min(max(number, ranges[name][0]), ranges[name][1])))
    write(directory, os.path.basename(path) + ".new", "\n".join(lines) + "\n")
    os.replace(path + ".new", path)
    return path


def choices(both):
    """The schedule and the loops of a dump without what stands behind #."""
    return re.sub(r"\n?\s*#.*", "", both)


def round_trip(directory, source, machine="native", factor=None):
    """Does the dump ask for itself? With a factor: also alone, where costs are so many times as large? None where the
    program does not compile."""
    words = ["--dump=schedule,loops", "--stop=loops", source]
    status, both, errors = dump(["-march=" + machine, *words])
    if status:
        return None
    schedule = both[:re.search(r"^(dims .*|state .* bytes)$", both, re.M).start()]
    path = "--schedule=" + write(directory, os.path.basename(source) + ".sched", schedule)
    if factor is None:
        got = dump(["-march=" + machine, path, *words])
    else:
        got = dump(["--policy=none", path, "--target-file=" + costs_changed(directory, machine, factor), *words])
    if got[0] == 0 and got[2] == errors and choices(got[1]) == choices(both):
        return True
    print("%s: its schedule gives other loops\n%s%s%s" % (source, schedule, got[1][:len(schedule)], got[2]))
    return False


def all_programs():
    """Does every dump ask for itself?"""
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths = corpus.all_files(directory)
        factors = [0.25, None, 4]
        trips = list(pool.map(lambda i: round_trip(directory, paths[i], MACHINES[i % len(MACHINES)],
                                                   factors[(i // len(MACHINES)) % len(factors)]),
                              range(len(paths))))
    print("%d dumps ask for themselves, %d do not" % (trips.count(True), trips.count(False)))
    return False not in trips


def changed(rng, schedule):
    lines = [line for line in schedule.splitlines() if "#" not in line]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        name, _, rest = lines[at].partition(":")
        clauses = [c.strip() for c in rest.split(";") if c.strip()]
        words = sorted(set(re.findall(r"[a-z]\w*", schedule)) - {"moves", "bytes", "cycles", "for", "by", "about"})
        kind = rng.randrange(7)
        if not clauses or kind == 0:
            clauses.append("%s off" % rng.choice(OFF))
        elif kind == 1:
            clauses.remove(rng.choice(clauses))
        elif kind == 2:
            clauses = [re.sub(r"\d+$", lambda _: str(rng.choice([1, 2, 3, 4, 6, 7, 8, 16, 24, 32, 48, 100])),
                              clauses[0])] + clauses[1:]
        elif kind == 3:
            k = rng.randrange(len(clauses))
            word, _, items = clauses[k].partition(" ")
            items = items.split(", ")
            rng.shuffle(items)
            clauses[k] = word + " " + ", ".join(items)
        elif kind == 4:
            clauses = [c for c in clauses if c.startswith(("order", "parallel"))]
            clauses.append("%s %s" % (rng.choice(OFF), rng.choice(words)))
        elif kind == 5:
            items = ["%s %d" % (rng.choice(words), rng.choice([1, 2, 3, 4, 6, 8, 16, 100])) for _ in range(rng.randint(1, 2))]
            clauses.append("%s %s" % (rng.choice(LOOPS), ", ".join(items)))
        else:
            clauses = [rng.choice(["tile", "pack", "vector", "parallel", "fuse", "order", "stage", "pad", "group", "inline",
                                   "over_read", "store_along", "collapse", "row_block", "halo"])]
        lines[at] = "%s: %s" % (name, "; ".join(clauses))
    return "\n".join(lines) + "\n"


def corrupted(rng, schedule):
    text = bytearray(schedule.encode())
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(text))
        text[at:at + rng.randrange(2)] = rng.choice([b"", b"\0", b"#", b";", b",", b":", b"@", b"\n", b"9" * 30, b"\xff"])
    return bytes(text)


def refuses(error):
    """Is it an error that a schedule may give?"""
    codes = set(re.findall(r"\[(E\d{4})\]", error))
    return error.startswith("status 1\n") and codes and codes <= CODES


def run_one(text, options, shapes, inputs):
    model = Model(text, ["--grain=2000", *options])
    dims = [5] if text.startswith("dim") else []
    return model.forward(dims, inputs, [(s, np.float32) for s in shapes])


def check_program(rng, directory, case, count):
    """(schedules that gave numbers, that were refused, that were wrong)"""
    text, ins, outs = case
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ins]
    choose = random.Random(int(rng.integers(1 << 30)))
    want = run_one(text, [], outs, inputs)
    source = write(directory, "m.tsr", text)
    schedule = dump(["--dump=schedule", "--stop=schedule", "--grain=2000", source])[1]
    good = refused = wrong = 0
    for _ in range(count):
        other = changed(choose, schedule)
        path = write(directory, "m.sched", other)
        try:
            alone = ["--policy=none"] if choose.random() < 0.5 else []
            got = run_one(text, ["--schedule=" + path, *alone], outs, inputs)
        except CompileError as error:
            refused += 1
            if not refuses(str(error)):
                wrong += 1
                print("%s%s%s" % (text, other, error))
            continue
        good += 1
        if not all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(got, want)):
            wrong += 1
            print("%s%sother numbers" % (text, other))
    for _ in range(count):
        path = write(directory, "m.sched", corrupted(choose, schedule))
        status, _, errors = dump(["--schedule=" + path, "--dump=loops", source])
        if status != 0 and not (status == 1 and refuses("status 1\n" + errors)):
            wrong += 1
            print("%s: status %d\n%s" % (open(path, "rb").read(), status, errors))
    return good, refused, wrong


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(seed)
    total = np.zeros(3, int)
    with tempfile.TemporaryDirectory() as directory:
        sources = sys.argv[3:] + [write(directory, "p%d.tsr" % i, p[0]) for i, p in enumerate(PROGRAMS)]
        trips = [round_trip(directory, source) for source in sources]
        choose = random.Random(seed)
        for i in range(6 * count):
            source = write(directory, "s%d.tsr" % i, (attention if i % 3 == 2 else strided)(choose))
            trips.append(round_trip(directory, source, choose.choice(MACHINES), choose.choice([None, 0.25, 4])))
        for case in PROGRAMS:
            total += check_program(rng, directory, case, count)
    print("%d dumps ask for themselves, %d do not" % (trips.count(True), trips.count(False)))
    print("%d changed schedules gave numbers, %d were refused, %d were wrong" % tuple(total))
    sys.exit(1 if total[2] or False in trips else 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["corpus"]:
        sys.exit(0 if all_programs() else 1)
    main()
