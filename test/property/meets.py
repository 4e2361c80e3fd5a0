"""Reshapes that meet against a search of all sizes: SEED COUNT ORDERS.

Two or three reshapes of known totals, whose axes a specification counts and partly says. They meet in sums, where an
axis of 1 broadcasts, and in specifications that give two of them one letter; products of some of their axes are required
to be a number. What follows is solved first; an axis that meets a known size takes it; of all sizes that remain, those
with the fewest axes that broadcast count, and of these the least, in the order of the program. Under every order of the
constraints the shapes are those, and where there are no such sizes there is an error.
"""
import math
import random

from totals import count_right

SIZES = [1, 2, 2, 3, 3, 4, 5, 6]


class Program:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.rng = rng
        self.names = "rst"[: rng.choice([2, 2, 3])]
        self.axes = {a: ["%s%d" % (a, i) for i in range(rng.choice([1, 2, 2, 3]))] for a in self.names}
        self.sizes = {axis: rng.choice(SIZES) for a in self.names for axis in self.axes[a]}
        self.groups, self.same, self.links = [], [], []
        for left, right in zip(self.names, self.names[1:]):
            rng.choice([self.sum, self.sum, self.letter])(left, right)
        self.totals = {}
        for a in self.names:
            self.totals[a] = 1
            for axis in self.axes[a]:
                self.totals[a] *= self.sizes[axis]
            if rng.random() < 0.1:
                self.totals[a] *= rng.choice([2, 3, 7])  # now and then no sizes are left
        self.factors = {a: self.axes[a] for a in self.names}  # by total
        for i in range(rng.choice([0, 0, 1, 2])):
            self.require("q%d" % i)
        self.said = {axis: size for axis, size in self.sizes.items() if rng.random() < 0.2}
        self.order = list(range(len(self.links) + len(self.names)))
        rng.shuffle(self.order)

    def sum(self, left, right):
        """The sizes of the right where the two meet are those of the left, or one of the two is 1."""
        meet = list(zip(reversed(self.axes[left]), reversed(self.axes[right])))
        for a, b in meet:
            self.sizes[b] = self.sizes[a]
            if self.rng.random() < 0.15:
                self.sizes[self.rng.choice([a, b])] = 1
        self.groups += meet
        form = self.rng.choice(["%s + %s", "relu(%s) .* %s", "2 .* %s - %s"])
        self.links.append("output z%d = %s" % (len(self.links), form % (left, right)))

    def letter(self, left, right):
        a, b = self.rng.choice(self.axes[left]), self.rng.choice(self.axes[right])
        self.sizes[b] = self.sizes[a]
        self.same.append((a, b))
        rows = "; ".join(", ".join(self.axes[side]).replace(b, a) for side in (left, right))
        self.links.append('output z%d = einsum("%s => %s,", %s, %s)' % (len(self.links), rows, a, left, right))

    def require(self, name):
        """The product of some axes, of whatever tensors; one may stand there twice."""
        axes = self.rng.choices([axis for a in self.names for axis in self.axes[a]], k=self.rng.choice([2, 2, 3]))
        self.factors[name] = axes
        self.totals[name] = math.prod(self.sizes[axis] for axis in axes) * self.rng.choice([1] * 9 + [2])

    def text(self):
        text = "".join("input x_%s : [%d]\nlet %s = reshape(x_%s)\n" % (a, self.totals[a], a, a) for a in self.names)
        lines = []
        for a in self.names:
            said = ["%s = %d" % (axis, self.said[axis]) for axis in self.axes[a] if axis in self.said]
            said += [axis for axis in self.axes[a] if axis not in self.said and axis in self.captured()]
            said = " with (%s)" % ", ".join(said) if said else ""
            lines.append('output y_%s = sum("%s => %s,", %s)%s' % (a, ", ".join(self.axes[a]), self.axes[a][0], a, said))
        lines += self.links
        text += "\n".join(lines[i] for i in self.order) + "\n"
        for name in self.required():
            sizes = [str(self.said.get(axis, axis)) for axis in self.factors[name]]
            text += "require %s == %d\n" % ("*".join(sizes), self.totals[name])
        return text

    def required(self):
        return [name for name in self.factors if name not in self.names]

    def captured(self):
        return {axis for name in self.required() for axis in self.factors[name]}

    # ---- the reference ----

    def classes(self):
        """A class of each axis: those that a specification calls by one letter are one."""
        of = {axis: axis for a in self.names for axis in self.axes[a]}
        for a, b in self.same:
            old, new = of[b], of[a]
            for axis in of:
                of[axis] = new if of[axis] == old else of[axis]
        return of

    def fits(self, sizes, of, known):
        """The number of axes that were chosen to broadcast; None: a sum does not fit."""
        count = 0
        for pair in self.groups:
            met = [sizes[of[axis]] for axis in pair]
            most = max(met)
            if any(n not in (1, most) for n in met):
                return None
            count += sum(sizes[of[axis]] == 1 != most for axis in pair if of[axis] not in known)
        return count

    def follow(self, known, of):
        """What follows from the known sizes; False: a contradiction."""
        while True:
            before = dict(known)
            for a, axes in self.factors.items():
                rest, open_ = self.totals[a], [of[axis] for axis in axes if of[axis] not in known]
                for axis in axes:
                    size = known.get(of[axis], 1)
                    if rest % size:
                        return False
                    rest //= size
                if not open_ and rest != 1:
                    return False
                if len(set(open_)) == 1:
                    rest = next((n for n in range(1, rest + 1) if n ** len(open_) >= rest), rest)
                    if math.prod(known.get(of[axis], rest) for axis in axes) != self.totals[a]:
                        return False
                if len(set(open_)) == 1 or rest == 1:  # nothing is left for the open ones
                    known.update(dict.fromkeys(open_, rest))
            if known == before:
                return True

    def bound(self, known, of):
        """What open axes meet: one size, or several."""
        met = {}
        for pair in self.groups:
            sizes = {known[of[axis]] for axis in pair if known.get(of[axis], 1) != 1}
            for axis in pair:
                if of[axis] not in known and sizes:
                    met.setdefault(of[axis], set()).update(sizes)
        return {axis: sizes.pop() if len(sizes) == 1 else 1 for axis, sizes in met.items()}

    def expect(self):
        of = self.classes()
        known = {of[axis]: size for axis, size in self.said.items()}
        if any(known[of[axis]] != size for axis, size in self.said.items()) or not self.follow(known, of):
            return None
        while met := self.bound(known, of):
            known.update(met)
            if not self.follow(known, of):
                return None
        order = list(dict.fromkeys(of[axis] for a in self.names for axis in self.axes[a]))
        best = None
        for sizes in self.solutions(known, order, 0, of):
            count = self.fits(sizes, of, known)
            if count is None:
                continue
            key = (count, [sizes[axis] for axis in order])
            best = min(best, key) if best else key
        if best is None:
            return None
        sizes = dict(zip(order, best[1]))
        return {a: [sizes[of[axis]] for axis in self.axes[a]] for a in self.names}

    def solutions(self, known, order, i, of):
        if i == len(order):
            if all(self.totals[a] == math.prod(known[of[axis]] for axis in axes) for a, axes in self.factors.items()):
                yield known
            return
        if order[i] in known:
            yield from self.solutions(known, order, i + 1, of)
            return
        rest = min(self.totals[a] for a in self.names if any(of[axis] == order[i] for axis in self.axes[a]))
        for size in range(1, rest + 1):
            now = {**known, order[i]: size}
            if rest % size == 0 and self.follow(now, of):
                yield from self.solutions(now, order, i + 1, of)


def fine(program, expected, got):
    if not expected:
        return isinstance(got, list)
    return isinstance(got, dict) and all(got[a] == shape for a, shape in expected.items())


if __name__ == "__main__":
    count_right(Program, fine, "with sizes")
