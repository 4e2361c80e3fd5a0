"""Values in f64 that know their derivatives: NumPy and a tape, which share nothing with the compiler."""
import numpy as np


class Value:
    """An array, and how a gradient of it reaches what it was made from: pairs of a Value and a function."""

    def __init__(self, array, *parents):
        self.array, self.parents, self.grad = np.asarray(array, float), parents, None

    shape = property(lambda self: self.array.shape)

    def __add__(self, other):
        return pointwise(lambda a, b: a + b, lambda a, b: (1, 1), self, other)

    def __sub__(self, other):
        return pointwise(lambda a, b: a - b, lambda a, b: (1, -1), self, other)

    def __mul__(self, other):
        return pointwise(lambda a, b: a * b, lambda a, b: (b, a), self, other)

    def __truediv__(self, other):
        return pointwise(lambda a, b: a / b, lambda a, b: (1 / b, -a / b ** 2), self, other)


def fit(array, shape):
    """The sum over what was broadcast."""
    array = array.sum(tuple(range(array.ndim - len(shape))))
    array = array.sum(tuple(i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1), keepdims=True)
    return np.broadcast_to(array, shape)


def value(x):
    return x if isinstance(x, Value) else Value(x)


def pointwise(f, slopes, *operands):
    operands = [value(x) for x in operands]
    arrays = np.broadcast_arrays(*[x.array for x in operands])
    with np.errstate(all="ignore"):
        made, factors = f(*arrays), slopes(*arrays)

    def back(i):
        return lambda g: fit(g * factors[i], operands[i].shape)

    return Value(made, *[(x, back(i)) for i, x in enumerate(operands)])


def unary(f, slope):
    return lambda x: pointwise(f, lambda a: (slope(a),), x)


def logistic(a):
    return 1 / (1 + np.exp(-a))


tanh = unary(np.tanh, lambda a: 1 - np.tanh(a) ** 2)
exp = unary(np.exp, np.exp)
log = unary(np.log, lambda a: 1 / a)
sin = unary(np.sin, np.cos)
sigmoid = unary(logistic, lambda a: logistic(a) * (1 - logistic(a)))
relu = unary(lambda a: np.maximum(a, 0), lambda a: (a > 0) * 1.0)
absolute = unary(np.abs, np.sign)
square = unary(np.square, lambda a: 2 * a)
rsqrt = unary(lambda a: a ** -0.5, lambda a: -0.5 * a ** -1.5)


def where(mask, a, b):
    return pointwise(lambda x, y: np.where(mask, x, y), lambda x, y: (mask * 1.0, ~mask * 1.0), a, b)


def maximum(a, b):
    """Of equal numbers the first."""
    return where(value(a).array >= value(b).array, a, b)


def stop(x):
    return Value(x.array)


def einsum(spec, *operands):
    operands = [value(x) for x in operands]
    sides, result = spec.replace(" ", "").split("->")
    letters = sides.split(",")

    def back(i):
        others = [x.array for j, x in enumerate(operands) if j != i]
        names = [n for j, n in enumerate(letters) if j != i]
        kept = "".join(c for c in letters[i] if c in result or any(c in n for n in names))

        def f(g):
            made = np.einsum("%s->%s" % (",".join([result] + names), kept), g, *others)
            spread = np.expand_dims(made, tuple(k for k, c in enumerate(letters[i]) if c not in kept))
            return np.broadcast_to(spread, operands[i].shape)
        return f

    return Value(np.einsum(spec.replace(" ", ""), *[x.array for x in operands]), *[(x, back(i)) for i, x in enumerate(operands)])


def take(x, places):
    """Elements by their places in x, row by row; 0 where a place is below 0."""
    flat, places = x.array.reshape(-1), np.asarray(places)
    good = places >= 0
    made = np.where(good, np.append(flat, 0)[np.where(good, places, flat.size)], 0)

    def back(g):
        into = np.zeros(flat.size)
        np.add.at(into, places[good], g[good])
        return into.reshape(x.shape)

    return Value(made, (x, back))


def moved(x, f):
    """What f, a function that moves elements and repeats them, makes of x."""
    return take(x, f(np.arange(x.array.size).reshape(x.shape)))


def join(axis, *parts):
    """The parts, one after another along an axis."""
    parts, ends = [value(x) for x in parts], np.cumsum([0] + [value(x).shape[axis] for x in parts])

    def back(i):
        return lambda g: np.take(g, np.arange(ends[i], ends[i + 1]), axis)

    return Value(np.concatenate([x.array for x in parts], axis), *[(x, back(i)) for i, x in enumerate(parts)])


def stack(axis, *parts):
    return join(axis, *[moved(x, lambda a: np.expand_dims(a, axis)) for x in parts])


def greatest(x, axis):
    """The first of the greatest along an axis."""
    at = np.expand_dims(np.argmax(x.array, axis), axis)
    return moved(x, lambda a: np.take_along_axis(a, at, axis).squeeze(axis))


def backward(y):
    """Gradients of the number y, added to those that there are."""
    order, seen, stack_ = [], set(), [(y, False)]
    while stack_:
        node, done = stack_.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack_.append((node, True))
            stack_ += [(x, False) for x, _ in node.parents]
    new = {id(y): np.ones(y.shape)}
    for node in reversed(order):
        g = new.get(id(node), np.zeros(node.shape))
        for x, f in node.parents:
            new[id(x)] = new.get(id(x), 0) + f(g)
        node.grad = g if node.grad is None else node.grad + g
