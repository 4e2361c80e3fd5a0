"""Programs of random routines, with what they mean (routine_steps.py).

Right sides read their own target as often as not; what they read is there already, as a rule, or a new input of the
shape that is needed. Where a type needs a cast, it is written.
"""
import random
import re

import numpy as np

import routine_steps as steps
from indexed import SIZES, Axis, Item
from routine_steps import ACCS, INFIX, OPERATIONS, Expr, Spec, Tensor, convertible, key_of, read
from typed import WIDE, Array, Fold, apply, cast, dtype_of, is_float

DIMS = ((0, 1), (1, 0), (2, 3), (5, 4), (37, 19))
MOST = 60000  # elements of a tensor, points of a product space
UNARY = ("-", "abs", "relu", "exp", "sigmoid", "floor", "sign", "not")


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.inputs, self.params, self.lets, self.specs, self.count = [], [], [], [], 0
        self.routines = [self.routine("r%d" % i) for i in range(self.rng.choice([1, 1, 2, 3]))]
        self.fill = [Tensor("f_" + p.name, "input", p.dtype, p.rows) for p in self.params]
        self.dims = [dims for dims in DIMS if self.elements(dims) <= MOST]
        self.fixed = self.rng.random() < 0.25
        self.dims = self.dims[-1:] if self.fixed else self.dims

    def elements(self, dims):
        """Of the largest tensor, points of the largest product space."""
        tensors = self.inputs + self.params + [t for r in self.routines for t in r["results"]]
        return max([np.prod(steps.shape_at(t.rows, dims)) for t in tensors] + [s.points(dims) for s in self.specs])

    def fresh(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def dtype(self):
        return self.rng.choice(["f32"] * 6 + ["i32"] * 3 + ["f64", "bf16", "bf16", "f16", "i8", "u8"])

    # ---- what is read ----

    def pool(self):
        return self.inputs + self.params + self.own + [t for t in self.lets if self.is_fresh(t)]

    def is_fresh(self, let):
        """Is it what it was before the routine's first step?"""
        return let in self.forwarded or not let.reads & {t.name for t in self.written}

    def let(self, rows):
        """A tensor of the file, computed from inputs and parameters."""
        outside = self.own, self.scalars, self.now, self.written
        self.own, self.scalars, self.now, self.written = [], [], None, []
        value = self.applied("-", self.expr(rows, 1))  # the name of a parameter would be the parameter
        self.own, self.scalars, self.now, self.written = outside
        let = Tensor(self.fresh("y"), "let", value.dtype, rows)
        let.value = value
        let.reads = set(re.findall(r"p\d+", value.text)).union(*(t.reads for t in self.lets if t.name in value.text))
        self.lets.append(let)
        return let

    def leaf(self, rows, dtype=None):
        """A tensor of these rows: one that is there, as a rule, or a new input."""
        there = [t for t in self.pool() if t.key == key_of(rows) and dtype in (None, t.dtype)]
        if self.now and self.now in there and self.rng.random() < 0.4:
            return read(self.now)
        if there and self.rng.random() < 0.8:
            return read(self.rng.choice(there))
        if dtype is None and self.rng.random() < 0.15:
            let = self.let(rows)
            if self.is_fresh(let):
                return read(let)
        self.inputs.append(Tensor(self.fresh("x"), "input", dtype or self.dtype(), rows))
        return read(self.inputs[-1])

    def number(self):
        kind = self.rng.randrange(3)
        if kind == 2 and self.scalars:
            return read(self.rng.choice(self.scalars))
        text = self.rng.choice(["2", "3", "1", "0"]) if kind else self.rng.choice(["0.5", "2.0", "1.5"])
        value = np.array(float(text) if "." in text else int(text))
        dtype = "f32" if "." in text else "i32"
        return Expr(text, None, dtype, lambda env, dims: Array(value, dtype), number=True)

    def expr(self, rows, depth=2):
        """An expression of these rows."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.35:
            return self.leaf(rows)
        if kind < 0.5:
            return self.applied(self.rng.choice(UNARY), self.expr(rows, depth - 1))
        if kind < 0.6:
            return self.cast(self.expr(rows, depth - 1), self.dtype())
        if kind < 0.72:
            return self.summed(rows, depth - 1)
        if kind < 0.76:
            return self.turned(rows, depth - 1)
        a, b = self.expr(rows, depth - 1), self.number() if self.rng.random() < 0.3 else self.expr(rows, depth - 1)
        op = self.rng.choice(["+", "-", ".*", ".*", "/", "max", "min", "<", "&&"])
        return self.combined(op, a, b)

    def applied(self, op, a):
        return Expr("(-%s)" % a.text if op == "-" else "%s(%s)" % (op, a.text), a.rows, dtype_of(op, a.dtype),
                    lambda env, dims: apply(op, a.run(env, dims)))

    def combined(self, op, a, b):
        if b.number and not is_float(WIDE[a.dtype]) and "." not in b.text:
            b = Expr(b.text, None, "i32", b.run, True)
        dtype = dtype_of(op, a.dtype, b.dtype if not b.number or is_float(b.dtype) else a.dtype)
        text = "(%s %s %s)" % (a.text, op, b.text) if op in INFIX else "%s(%s, %s)" % (op, a.text, b.text)

        def run(env, dims):
            x, y = a.run(env, dims), b.run(env, dims)
            if b.number:
                y = cast(y, steps.join(x.dtype, y.dtype if is_float(y.dtype) else x.dtype))
            return apply(op, x, y.broadcast(x.values.shape))
        return Expr(text, a.rows, dtype, run)

    def turned(self, rows, depth):
        a = self.expr([rows[0], rows[2], rows[1]], depth)
        batch, inputs = (sum(len(item.axes) for item in rows[k]) for k in (0, 1))

        def run(env, dims):
            x = a.run(env, dims)
            order = list(range(x.values.ndim))
            order = order[:batch] + order[batch + inputs:] + order[batch:batch + inputs]
            return Array(x.values.transpose(order), x.dtype, x.err.transpose(order))
        return Expr("(%s).T" % a.text, rows, a.dtype, run)

    def cast(self, a, dtype):
        text = "%s(%s)" % (dtype, a.text)
        return Expr(text, a.rows, dtype, lambda env, dims: cast(a.run(env, dims), dtype), a.number)

    def summed(self, rows, depth):
        """A sum, product or extreme over one more axis, wherever it stands, perhaps of a product."""
        spec = Spec(self.rng).reduce(rows, self.rng.choice(SIZES))
        if not steps.fits(spec.operands[0]):
            return self.leaf(rows)
        fold, acc = self.rng.choice([("sum", "+"), ("sum", "+"), ("sum", "+"), ("max", "max"), ("prod", "*")])
        operands = [self.expr(spec.operands[0], depth)]
        form = "reduce(%s, \"%s\", %s)"
        if fold == "sum" and self.rng.random() < 0.6:
            spec.operands.append(spec.result)
            operands.append(self.expr(rows, 0))
            form = "einsum(\"%s\", %s)"
        dtype = steps.join(*(e.dtype for e in operands))
        texts = (spec.spec(), ", ".join(e.text for e in operands))

        def run(env, dims):
            arrays = [e.run(env, dims).broadcast(steps.shape_at(r, dims)) for e, r in zip(operands, spec.operands)]
            out = Fold(acc, dtype, steps.shape_at(rows, dims))
            spec.fold(out, arrays, steps.operation_of("*" if len(arrays) > 1 else "id"), dims)
            return out.result()
        return Expr(form % (texts if len(operands) > 1 else (fold, *texts)), rows, dtype, run)

    # ---- steps ----

    def routine(self, name):
        self.own, self.written, self.now = [], [], None
        self.forwarded = []
        made = [self.forward(t) for t in self.lets if self.rng.random() < 0.5]
        self.scalars = [Tensor(self.fresh("s"), "scalar", self.rng.choice(["f32", "f32", "i32", "f64"]), [[], [], []])
                        for _ in range(self.rng.choice([0, 1, 2]))]
        for _ in range(self.rng.choice([1, 2, 3, 4])):
            for _ in range(60):
                lists = (self.inputs, self.params, self.own, self.written, self.lets)
                before = [len(names) for names in lists]
                step = self.plain() if self.rng.random() < 0.4 else self.via()
                if step:
                    made.append(step)
                    break
                for names, length in zip(lists, before):
                    del names[length:]
            if self.lets and self.rng.random() < 0.3:
                made.append(self.forward(self.rng.choice(self.lets)))
        results = self.own + [t for t in self.written if t.kind == "param"] + self.forwarded
        self.rng.shuffle(results)
        return {"name": name, "scalars": self.scalars, "steps": made, "results": results}

    def forward(self, let):
        """From what is there now, but for what a step like this has evaluated before."""
        self.forwarded += [let] * (let not in self.forwarded)

        def run(env, dims):
            now = dict(env)
            for t in self.lets:
                if t is let or t.name not in self.evaluated:
                    now[t.name] = t.value.run(now, dims).broadcast(steps.shape_at(t.rows, dims))
            env[let.name] = now[let.name]
            self.evaluated.add(let.name)
        return "forward " + let.name, run

    def target(self, rows, dtype=None):
        """One to write, with these rows; a new one of the routine has `dtype`, that of its first right side."""
        there = [t for t in self.params + self.own if t.key == key_of(rows)]
        if there and self.rng.random() < 0.7:
            return self.rng.choice(there)
        if self.rng.random() < 0.5:
            self.params.append(Tensor(self.fresh("p"), "param", self.dtype(), rows))
            return self.params[-1]
        return Tensor(self.fresh("t"), "own", dtype, rows)

    def how(self):
        acc = self.rng.choice(ACCS)
        return acc, acc != ":" and self.rng.random() < 0.4

    def declare(self, target, acc, dtype):
        """False: the target does not take what has this dtype without a cast."""
        if target.dtype is None:
            target.dtype = dtype if acc == ":" else WIDE[dtype]
            self.own.append(target)
        self.written += [target] * (target not in self.written)
        return convertible(dtype, target.dtype) if acc == ":" else convertible(dtype, WIDE[target.dtype])

    def plain(self):
        rows = self.rng.choice(self.pool()).rows if self.pool() and self.rng.random() < 0.7 else self.rows()
        if not steps.fits(rows):
            return None
        target, (acc, clear) = self.target(rows), self.how()
        self.now = target if target.dtype else None
        value = self.number() if self.now and self.rng.random() < 0.15 else self.expr(rows)
        if value.number and WIDE[target.dtype] == "i32" and "." in value.text:
            return None
        dtype = WIDE[target.dtype] if value.number else value.dtype
        want = target.dtype if acc == ":" else target.dtype and WIDE[target.dtype]
        if want and not value.number and not convertible(dtype, want):
            value = self.cast(value, want)
            dtype = want
        if not self.declare(target, acc, dtype) and not value.number:
            return None
        text = "%s =%s%s %s" % (target.name, ":" * clear, acc, value.text)
        return text, lambda env, dims: steps.run_plain(env, dims, target, acc, clear, value)

    def rows(self):
        rows = [[], [], []]
        for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3])):
            size = self.rng.choice(SIZES)
            rows[self.rng.choice([0, 1, 2, 2, 2])].append(Item(str(size), Axis(size)))
        return rows

    def via(self):
        noperands = self.rng.choice([1, 1, 1, 2, 2, 3])
        spec = Spec(self.rng).draw(noperands)
        if not spec.good() or spec.block and noperands > 1:
            return None
        op, (acc, clear) = self.rng.choice(OPERATIONS[noperands]), self.how()
        target = self.target(spec.result)
        if not spec.determined(target.dtype is not None):
            return None
        self.now = target if target.dtype else None
        operands = [self.operand(rows) for rows in spec.operands]
        dtype = steps.value_dtype(op, spec, [e.dtype for e in operands])
        want = target.dtype if acc == ":" else target.dtype and WIDE[target.dtype]
        if want and not convertible(dtype, want) and op == "id":
            operands = [self.cast(operands[0], want)]
            dtype = steps.value_dtype(op, spec, [want])
        if not self.declare(target, acc, dtype):
            return None
        self.specs.append(spec)
        call = steps.call_text(op, [e.text for e in operands])
        text = '%s =%s%s %s via "%s"' % (target.name, ":" * clear, acc, call, spec.spec())
        return text, lambda env, dims: steps.run_via(env, dims, target, acc, clear, spec, op, operands)

    def operand(self, rows):
        return self.expr(rows, 1) if self.rng.random() < 0.3 else self.leaf(rows)

    # ---- text and values ----

    def text(self):
        lines = ["dim n", "dim m"]
        lines += ["%s %s : %s [%s]" % (t.kind, t.name, t.dtype, t.key) for t in self.inputs + self.params + self.fill]
        lines += ["let %s = %s" % (t.name, t.value.text) for t in self.lets]
        for r in self.routines:
            scalars = ", ".join("%s : %s" % (s.name, s.dtype) for s in r["scalars"])
            lines.append("routine %s(%s) -> %s {" % (r["name"], scalars, ", ".join(t.name for t in r["results"])))
            lines += ["\t" + text for text, _ in r["steps"]] + ["}"]
        if self.params:
            names = ", ".join(p.name for p in self.params)
            sets = " ".join("%s =: %s" % (p.name, f.name) for p, f in zip(self.params, self.fill))
            lines += ["routine fill() -> %s { %s }" % (names, sets), "routine look() -> %s { }" % names]
        return "\n".join(lines) + "\n"
