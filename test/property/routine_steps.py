"""Steps of routines, as docs/language.md says what they mean: a walk over all tuples of indices, in NumPy.

A step reads expressions of one shape each: one of its target's, or the operands of an operation with a specification.
"""
import itertools

import numpy as np

import indexed
from indexed import OUTPUT, Item, Size, axes, plain, str_item, view, written
from typed import WIDE, Array, Fold, apply, cast, dtype_of, join, neutral

ACCS = (":", "+", "-", "*", "/", "**", "max", "min", "&&", "||")
MOST = 3000  # points of a product space, elements of a tensor
LARGE = (6, 5)
OPERATIONS = {1: ["id", "id", "id", "-", "exp", "abs", "relu", "sqrt", "sigmoid", "floor", "sign", "not", "recip"],
              2: ["*", "*", "*", ".*", "+", "-", "/", "max", "min", "<", "==", "&&"], 3: ["where", "fma"]}
INFIX = ("*", ".*", "+", "-", "/", "<", "==", "&&", ">", "||")


def key_of(rows):
    """What a tensor's shape is: the same text, the same shape."""
    return written(rows, indexed.sizes_item)


def shape_at(rows, dims):
    return tuple(axis.size.at(dims) for axis in axes(rows))


def fits(rows):
    return len(axes(rows)) <= 5 and np.prod([max(s, 1) for s in shape_at(rows, LARGE)]) <= MOST


class Tensor:
    def __init__(self, name, kind, dtype, rows):
        self.name, self.kind, self.dtype, self.rows, self.key = name, kind, dtype, rows, key_of(rows)


class Expr:
    """text: as a program writes it; run(env, dims): an Array of the shape of `rows`, or of one number (rows None)."""

    def __init__(self, text, rows, dtype, run, number=False):
        self.text, self.rows, self.dtype, self.run, self.number = text, rows, dtype, run, number
        self.key = rows if rows is None else key_of(rows)


def read(tensor):
    return Expr(tensor.name, tensor.rows, tensor.dtype, lambda env, dims: env[tensor.name])


def convertible(value, target):
    """Does a step convert `value` to `target` without a cast?"""
    return value == target or (WIDE[target] == target and join(value, target) == target)


# ---- what a step does to its target ----

def meet(env, target, acc, clear, value, reached):
    """target ACC= value where `reached`; `value` is of the target's shape."""
    dtype = target.dtype
    old = env[target.name]
    if clear:
        old = Array(np.full(old.values.shape, neutral(acc, dtype)), dtype)
    new = cast(value, dtype)
    if acc != ":":
        new = cast(apply({"*": ".*"}.get(acc, acc), cast(old, WIDE[dtype]), value, dtype=WIDE[dtype]), dtype)
    env[target.name] = Array(np.where(reached, new.values, old.values), dtype, np.where(reached, new.err, old.err))


def run_plain(env, dims, target, acc, clear, expr):
    value = expr.run(env, dims).broadcast(shape_at(target.rows, dims))
    meet(env, target, acc, clear, value, True)


# ---- specifications ----

class Spec(indexed.Program):
    """The letters, operands and result of a specification."""

    def __init__(self, rng):
        self.rng, self.sizes, self.rows, self.groups, self.names = rng, {}, {}, [], list("abcdefgh")
        self.operands, self.result = [], [[], [], []]
        rng.shuffle(self.names)

    def draw(self, noperands):
        """Of every kind; or one that its own target can be the operand of."""
        mirrored = self.rng.random() < 0.4
        if mirrored:
            self.mirror()
        self.operands += [self.tensor() for _ in range(noperands - len(self.operands))]
        if not mirrored:
            self.result = self.result_rows()
        self.block = any("^" in item.text for row in self.result for item in row)
        return self

    def reduce(self, rows, size):
        """One operand, and a result of these rows, which lacks one of its letters."""
        names = iter("stuvwxyz")
        for row, to in zip(rows, self.result):
            for size_of in [axis.size for item in row for axis in item.axes]:
                name = next(names)
                self.sizes[name] = size_of
                to.append(Item(name, plain(name, size_of)))
        self.sizes["r"] = size
        operand = [self.rng.sample(row, len(row)) for row in self.result]
        row = self.rng.choice([operand[0], operand[1], operand[2], operand[2]])
        row.insert(self.rng.randint(0, len(row)), Item("r", plain("r", size)))
        self.operands.append(operand)
        return self

    def mirror(self):
        """One operand and a result of its shape, whose axes are turned or moved."""
        size = self.rng.choice(indexed.SIZES[:3] + indexed.SIZES[8:11])
        kinds = self.rng.choice([[OUTPUT], [OUTPUT], [OUTPUT] * 2, [0, OUTPUT], [OUTPUT, 1]])
        names, skipped = [self.names.pop() for _ in kinds], self.rng.choice([0, 0, 1, 2])
        operand, result, turned = [[], [], []], [[], [], []], self.rng.sample(names, len(names))
        for name in names:
            self.sizes[name] = size
        for kind, first, second in zip(kinds, names, turned):
            for rows, name in ((operand, first), (result, second)):
                parts = [(name, size), (str(skipped), Size(0, 0, skipped))]
                self.rng.shuffle(parts)
                rows[kind].append(self.joined(name, parts) if skipped else Item(name, plain(name, size)))
        whole = result[OUTPUT][-1].axes[0].size
        if whole.times[2] > 0 and self.rng.random() < 0.4:
            result[OUTPUT][-1] = Item("0", indexed.Axis(whole, ({}, Size(0, 0, 0), False)))
        self.operands.append(operand)
        self.result = result

    def joined(self, name, parts):
        start = parts[0][1] if parts[1][0] == name else Size(0, 0, 0)
        self.join({name})
        return Item("^".join(text for text, _ in parts),
                    indexed.Axis(parts[0][1].plus(parts[1][1]), ({name: 1}, start, False)))

    def spec(self):
        operands = "; ".join(written(rows, str_item) for rows in self.operands)
        return "%s => %s" % (operands, written(self.result, str_item))

    def good(self):
        return all(map(fits, self.operands + [self.result])) and all(
            min([s for s in shape_at(rows, dims)] + [0]) >= 0 for rows in self.operands + [self.result]
            for dims in indexed.DIMS) and self.points(LARGE) <= 4 * MOST

    def points(self, dims):
        return np.prod([max(self.sizes[name].at(dims), 1) for name in indexed.letters(self.operands + [self.result])])

    def moves(self):
        """Is every element of the result one of an operand's, so that a type of storage stays as it is?"""
        kept = {name for row in self.result for item in row for axis in item.axes for index in axis.indices
                for name in index[0]}
        windows = any(len(index[0]) > 1 for axis in axes(self.result) for index in axis.indices)
        placed = {item.text for row in self.result for item in row}  # row variables, however many axes they are
        return not windows and all(
            all(keeps(axis, item, kept) for axis in item.axes) and (item.text in placed or not item.text.startswith(".."))
            for rows in self.operands for row in rows for item in row)

    def determined(self, known_result):
        """Do the sizes of the operands, and of the result where it has some, give every letter one?"""
        known, tensors = set(), self.operands + [self.result] * known_result
        items = [item for rows in tensors for row in rows for item in row]
        for _ in range(6):
            for item in items:
                known |= solved(item, known)
        return indexed.letters(self.operands + [self.result]) <= known

    # ---- what it means ----

    def pieces(self):
        """Views of the result and of the operands, for each choice of parts that gives the result a place and a
        value."""
        grouped = set().union(*self.groups)
        for choice in itertools.product(*map(sorted, self.groups)):
            views = [view(rows, lambda name: name not in grouped or name in choice)
                     for rows in [self.result] + self.operands]
            here = [i for i, indices in enumerate(views[1:]) if indices is not None]
            if views[0] is not None and len(here) == len(self.operands):
                yield views[0], views[1:]

    def grids(self, views, dims):
        names = sorted({name for indices in views for index in indices for name in index[0]})
        space = [self.sizes[name].at(dims) for name in names]
        return space, dict(zip(names, np.indices(space))) if names else {}

    def reached(self, shape, dims):
        """The elements that the letters of the result reach."""
        elements = np.zeros(shape, bool)
        for result, _ in self.pieces():
            space, grids = self.grids([result], dims)
            places, inside = places_of(shape, result, space, grids, dims)
            elements[tuple(p[inside] for p in places)] |= inside.any()
        return elements

    def fold(self, out, arrays, combine, dims):
        for result, operands in self.pieces():
            space, grids = self.grids([result] + operands, dims)
            to, inside = places_of(out.values.shape, result, space, grids, dims)
            taken = []
            for array, indices in zip(arrays, operands):
                places, within = places_of(array.values.shape, indices, space, grids, dims)
                inside &= within
                taken.append((array, places))
            if not inside.any():
                continue
            values = [a.at(tuple(p[inside] for p in places)).broadcast((int(inside.sum()),)) for a, places in taken]
            out.add(tuple(p[inside] for p in to), combine(*values))


def keeps(axis, item, kept):
    names = {name for index in axis.indices for name in index[0]}
    if "^" in item.text:
        return bool(names & kept)
    return names <= kept


def solved(item, known):
    """The letters that the size of the item's axis gives, beside those that are known."""
    names = [{name for index in axis.indices for name in index[0]} for axis in item.axes]
    if item.text.startswith(".."):
        return set().union(*names)
    left = names[0] - known
    if "=+" in item.text:  # the kernel is no part of the size
        return {item.text.split()[0].split("*")[1]}
    if "<+?" in item.text and left and item.text.split()[0].split("*")[1] not in left:
        return set()
    return left if len(left) == 1 else set()


def places_of(shape, indices, space, grids, dims):
    inside, places = np.ones(space, bool), []
    for extent, (coefs, offset, padded) in zip(shape, indices):
        place = sum((c * grids[name] for name, c in coefs.items()), np.full(space, offset.at(dims)))
        if padded:
            inside &= (place >= 0) & (place < extent)
        places.append(place)
    return places, inside


def run_via(env, dims, target, acc, clear, spec, operation, operands):
    arrays = [e.run(env, dims).broadcast(shape_at(rows, dims)) for e, rows in zip(operands, spec.operands)]
    shape = shape_at(target.rows, dims)
    out = Fold(acc, value_dtype(operation, spec, [e.dtype for e in operands]), shape)
    spec.fold(out, arrays, operation_of(operation), dims)
    meet(env, target, acc, clear, out.result(), spec.reached(shape, dims))


def call_text(op, texts):
    if op in INFIX and len(texts) == 2:
        return (" %s " % op).join(texts)
    if op == "-":
        return "-" + texts[0]
    return "%s(%s)" % (op, ", ".join(texts))


def operation_of(op):
    name = {"*": ".*"}.get(op, op)
    return lambda *arrays: arrays[0] if name == "id" else apply(name, *arrays)


def value_dtype(op, spec, dtypes):
    """The dtype of what meets the target: that of storage only where elements are moved and nothing else."""
    if op == "id":
        return dtypes[0] if spec.moves() else WIDE[dtypes[0]]
    return dtype_of({"*": ".*"}.get(op, op), *dtypes)

