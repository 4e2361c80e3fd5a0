"""Axes that are written as parts in several ways: SEED COUNT ORDERS.

An axis is made of parts of which some sizes are said; it is read as parts in other ways: by place, with a part cut further,
or with some parts skipped, and `with` says some of the sizes there. What is known in a place is known of all that stand in
it, and the whole is known where one of all these says all of its sizes. All sizes that follow are the program's; where one
does not follow, or what is said disagrees, there is an error, or sizes under which every way has the same sum (tsrc
checks that itself). Reads that ask for nothing mean the whole, whatever else reads the axis; those that are added up are
equal parts of it. No order of the statements, or of the constraints, changes anything.
"""
import random
import re
import sys

from runner import tsrc


class Made:
    """Parameters, or tensors of known size, in a row; reads that say sizes of parts in place."""

    def __init__(self, rng):
        self.sizes = [rng.randint(1, 6) for _ in range(rng.choice([2, 2, 3]))]
        self.said = [rng.random() < 0.4 for _ in self.sizes]
        self.lines, self.wrong = [], False
        names = "pqr"[: len(self.sizes)]
        for name, size, said in zip(names, self.sizes, self.said):
            self.lines.append("param %s : [%s]" % (name, size if said else "_"))
        letters = "abc"[: len(self.sizes)]
        self.concat = 'let w = concat("%s => %s", %s)' % ("; ".join(letters), "^".join(letters), ", ".join(names))
        self.known = list(self.said)
        self.reads = [self.read(rng, i) for i in range(rng.randint(1, 3))]
        self.whole = rng.random() < 0.3
        if self.whole:
            self.reads.append("input z : [%d]\noutput y = w + z" % sum(self.sizes))
        if self.whole and sum(self.known) == len(self.known) - 1:
            self.known = [True] * len(self.known)

    def read(self, rng, at):
        """One of its sizes at least is said. A part whose size the program says may be cut in two."""
        items, sizes, place = [], [], []
        for i, size in enumerate(self.sizes):
            if self.said[i] and size > 1 and rng.random() < 0.3:
                first = rng.randint(1, size - 1)
                for n in (first, size - first):
                    place.append(None)
                    items.append(str(n) if rng.random() < 0.5 else "u%d_%d" % (at, len(items)))
                    sizes.append(n)
            else:
                place.append(i)
                items.append("u%d_%d" % (at, len(items)))
                sizes.append(size)
        says = [p is None or rng.random() < 0.4 for p in place]
        if not any(says):
            says[rng.randrange(len(says))] = True
        letters = [i for i, item in enumerate(items) if not item.isdigit()]
        if not letters:
            return "# nothing"
        bound = ["%s = %d" % (items[i], sizes[i]) for i in letters if says[i]]
        for i in range(len(items)):
            if place[i] is not None and says[i]:
                self.known[place[i]] = True
        kept = rng.choice(letters)
        text = 'output v%d = sum("%s => %s,", w)' % (at, "^".join(items), items[kept])
        return text + (" with (%s)" % ", ".join(bound) if bound else "")

    def statements(self, order):
        return self.lines + [self.concat] + order

    def fine(self, run):
        if not all(self.known):
            return run.returncode == 1
        return all(re.search(r"^%s : f32 \[%d\]$" % (name, size), run.stdout, re.M) for name, size in zip("pqr", self.sizes))


class Free:
    """Reads of an input that ask for nothing, of which some are added up or multiplied."""

    def __init__(self, rng):
        self.n = rng.choice([2, 2, 3])
        self.unit = rng.choice(["1", "2", "5", "n", "2*n"])
        self.letters = "abc"[: self.n]
        self.lines = ["dim n", "input x : [%d*%s]" % (self.n, self.unit)]
        self.sizes, self.reads = {}, []
        self.equal = rng.random() < 0.6
        reads = [self.part(a) for a in self.letters]
        rng.shuffle(reads)
        if self.equal:
            forms = ["relu(%s) .* %s", "%s + tanh(%s)", "2 .* %s - %s", 'einsum("i; i => i", %s, %s)']
            value = rng.choice(forms) % (reads[0], reads[1])
            self.reads.append("output y = " + (value if self.n == 2 else "%s + %s" % (value, reads[2])))
            self.sizes["y"] = self.unit
        else:
            for i, read in enumerate(reads[: rng.randint(1, self.n)]):
                self.reads.append("output y%d = %s" % (i, read))
                self.sizes["y%d" % i] = "%d*%s" % (self.n, self.unit)

    def part(self, letter):
        return 'sum("%s => %s", x)' % ("^".join(self.letters), letter)

    def statements(self, order):
        return self.lines + order

    def fine(self, run):
        shapes = dict(re.findall(r"^(\w+) : f32 \[(.*)\]$", run.stdout, re.M))
        return not re.search("requires", run.stdout) and all(
            name in shapes and eval(shapes[name], {"n": 7}) == eval(size, {"n": 7}) for name, size in self.sizes.items())


def main():
    seed, count, orders = (int(a) for a in sys.argv[1:4])
    solved, refused, bad = 0, 0, 0
    for trial in range(seed, seed + count):
        rng = random.Random(trial)
        program = rng.choice([Made, Made, Free])(rng)
        for order in range(orders + 1):
            reads = list(program.reads)
            rng.shuffle(reads)
            text = "\n".join(program.statements(reads)) + "\n"
            run = tsrc(text, "--dump=shapes,guards", "-Wno-defaulted-dim", *(["--shuffle=%d" % order] if order else []))
            if run.returncode not in (0, 1) or not program.fine(run):
                bad += 1
                print("seed %d, order %d\n%s\n%s%s" % (trial, order, text, run.stdout, run.stderr))
                break
        solved += run.returncode == 0
        refused += run.returncode == 1
    print("%d with sizes, %d refused, %d are wrong" % (solved, refused, bad))


if __name__ == "__main__":
    main()
