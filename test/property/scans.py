"""Random loops at run time against the reference, which runs nodes as they are: scans.py TSRC SEED PROGRAMS [--keep DIR]

A program has a few loops, some in others, over carried tensors of one to three axes: products, windows, sums, what goes
along an axis, indices that a step computes, several carried values, stacked results, ends that come early, numbers of
steps that are numbers or dims. Each is run unscheduled, scheduled or for a GPU, by the interpreter and as what is made of
it, for several sizes."""
import random
import re
import subprocess
import sys
import tempfile

SIZES = {"m": "m", "k": "5", "j": "3"}


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.lines = []

    def name(self, stem):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def pick(self, *of):
        return self.random.choice(of)

    def input(self, shape, dtype=""):
        name = self.name("x")
        self.lines.append("input %s : %s[%s]" % (name, dtype, shape))
        return name

    # ---- values of shape [m, 5] in a step: `h` is one, `i` the step or None ----

    def leaf(self, h, i):
        if i and self.random.random() < 0.4:
            return "(%s @ %s)" % (self.input("n | m, 5"), self.pick(i, "(n - %s - 1)" % i))
        return self.pick(h, h, self.input("m, 5"), "0.5")

    def value(self, h, i, depth):
        if depth == 0:
            return self.leaf(h, i)
        a = lambda: self.value(h, i, depth - 1)
        w = self.input("5, 5")
        shift = "+ 0.1 * %s" % i if i else ""
        return self.random.choice([
            lambda: "tanh(%s + %s)" % (a(), a()),
            lambda: "(0.5 * %s - %s)" % (a(), a()),
            lambda: "tanh(einsum(\"r, c; c, d => r, d\", %s + %s, %s))" % (a(), self.input("m, 5"), w),
            lambda: "(0.3 * (sum(\"r =+ q, c => r, c\", %s + %s) with (q = 3)))" % (a(), self.input("m, 5")),
            lambda: "(%s + 0.1 * sum(\"r, c => r, 0\", %s + %s))" % (a(), a(), self.input("m, 5")),
            lambda: "(0.2 * cumulate(%s, \"r, [c] => r, c\", %s + %s))" % (
                self.pick("sum", "max"), a(), self.input("m, 5")),
            lambda: "(0.9 * sort(\"r, [c] => r, c\", %s + %s))" % (a(), self.input("m, 5")),
            lambda: "(0.5 * gather(\"[v], c; r | => r, c\", %s, argmax(\"r, v => r |\", %s + %s)))" % (
                self.input("5, 5"), a(), self.input("m, 5")),
            lambda: "(0.1 * (%s %s))" % (a(), shift),
            lambda: "exp(-abs(%s))" % a(),
            lambda: self.loop(h, i, depth - 1)[0],
        ])()

    def loop(self, start, i, depth):
        """The text of a loop that gives one tensor [m, 5], and of all that it stacks."""
        count, step, state = self.pick("n", "n", "3", "2"), self.name("i"), self.name("h")
        counts = step if count == "n" else None
        first = start if self.random.random() < 0.7 else self.pick("0", self.input("m, 5"))
        if self.random.random() < 0.3:
            other = self.name("g")
            body = "(%s, %s)" % (self.pick(other, self.value(other, counts, depth)), self.value(state, counts, depth))
            kept = self.name("k")
            return "(let (%s, %s) = scan(%s, (%s, %s) = (%s, %s), %s) { %s } in %s)" % (
                kept, self.name("k"), count, state, other, first, self.input("m, 5"), step, body, kept), None
        return "scan(%s, %s = %s, %s) { %s + %s }" % (
            count, state, first, step, self.value(state, counts, depth), self.input("m, 5")), None

    def output(self):
        kind = self.random.random()
        start = self.input("m, 5")
        if kind < 0.4:
            self.lines.append("output %s = %s" % (self.name("y"), self.loop(start, None, 2)[0]))
            return
        state, step, y = self.name("h"), self.name("i"), self.name("y")
        if kind < 0.75:
            all_, next_ = self.name("y"), self.name("t")
            self.lines.append("let (%s, %s) = scan(n, %s = %s, %s) { let %s = %s in (%s, %s) }" % (
                y, all_, state, start, step, next_, self.value(state, step, 2), next_,
                self.pick(next_, "sum(\"r, c => r\", %s)" % next_, self.value(next_, step, 1))))
            self.lines += ["output " + y, "output " + all_]
            return
        count = self.name("y")
        self.lines.append("let (%s, %s) = scan(%s, %s = %s, %s) until (%s > 2) { %s + 0.25 }" % (
            y, count, self.pick("n", "6"), state, start, step, step, self.value(state, None, 1)))
        self.lines += ["output " + y, "output " + count]


def program(seed):
    draw = Draw(seed)
    for _ in range(draw.pick(1, 1, 2)):
        draw.output()
    outputs = [line for line in draw.lines if not line.startswith("input")]
    inputs = [line for line in draw.lines if line.startswith("input")]
    used = [line for line in inputs if re.search(r"\b%s\b" % line.split()[1], " ".join(outputs))]
    return "\n".join(["dim n", "dim m", *used, *outputs]) + "\n"


def main():
    tsrc, seed, programs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    keep = sys.argv[5] if len(sys.argv) > 5 else None
    wrong = ran = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(programs):
            text = program(seed * 1000003 + number)
            path = "%s/p%d.tsr" % (keep or folder, number)
            with open(path, "w") as file:
                file.write(text)
            policy = {2: ["--policy=none"], 4: ["--target=cuda"]}.get(number % 6, [])
            out = folder + ("/p.cu" if "--target=cuda" in policy else "/p.so")
            run = subprocess.run([tsrc, "--verify=run", *policy, path, "-o", out], capture_output=True, text=True,
                                 timeout=300)
            said = run.stdout + run.stderr
            ran += said.count("so: agrees")
            if "DIFFER" in said or "bug:" in said or run.returncode not in (0, 1):
                wrong += 1
                print("WRONG seed %d number %d\n%s%s" % (seed, number, text, said))
            elif run.returncode:
                refused += 1
                if keep:
                    print(number, said.splitlines()[0])
    print("%d programs, %d refused, %s calls agree, %d wrong" % (programs, refused, "many" if ran else "no", wrong))
    if keep:
        print(ran)
    sys.exit(wrong > 0 or refused * 4 > programs)


if __name__ == "__main__":
    main()
