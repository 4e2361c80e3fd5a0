"""Programs that ask much of inference: KIND N prints one of size N; TSRC --all N compiles one of each kind and
says how it ends; each has a GiB of memory, except in a build for the sanitizers, which reserve more."""
import random
import resource
import subprocess
import sys


def shifted_rows(n):
    """Equations between rows that are shifted against each other, all open until the stages."""
    yield "let p = offsets()"
    for i in range(n):
        yield 'output y%d = einsum("a, ..r..; ..r.., b => a, b", p, p) with (a = 3)' % i


def parts(n):
    """One axis written as N concatenations of which each is open."""
    yield "let q = offsets()"
    for i in range(n):
        yield 'output y%d = sum("a^b^c => b", q)' % i


def many_parts(n):
    yield "input x : [%d]" % (2 * n)
    yield 'output y = sum("%s => a0", x) with (%s)' % (
        "^".join("a%d" % i for i in range(n)), ", ".join("a%d = 2" % i for i in range(n)))


def letters(n):
    """Letters that only results have, and parameters that hang on them: each error tells them."""
    yield "input x : [3]"
    yield "let y0 = x"
    for i in range(n):
        yield 'let y%d = sum("i => i, j%d", x) + {w%d : [_, _]}' % (i + 1, i, i)
    yield "output y = " + " + ".join("y%d" % (i + 1) for i in range(min(n, 400)))


def dims(n):
    for i in range(n):
        yield "dim d%d" % i
    for i in range(n):
        yield "input x%d : [d%d]" % (i, i)
    for i in range(n - 1):
        yield "output y%d = x%d + x%d" % (i, i, i + 1)


def guards(n):
    yield "dim n"
    yield "input x : [n]"
    for i in range(n):
        yield "require n >= %d" % (i * 7 % n)
    yield "output y = x"


def divisors(n):
    yield "dim n"
    yield "dim m"
    yield "input x : [n, m]"
    for i in range(n):
        yield "require n + m >= %d * m" % (i + 2)
        yield "require n divides %d" % (720720 * (i + 1))
    yield "output y = x"


def nesting(n):
    yield "input x : [3]"
    yield "output y = " + "relu(" * n + "x" + ")" * n


def chain(n):
    yield "input x : [3]"
    yield "let y0 = x"
    for i in range(n):
        yield "let y%d = {w%d : [... -> 3]} * y%d" % (i + 1, i, i)
    yield "output y = y%d + [1, 2, 3, 4]" % n


def circle(n):
    """Rows that would each have to be longer than the next."""
    for i in range(n):
        yield "let w%d = {w%d : [... -> 2]}" % (i, i)
    for i in range(n):
        yield "output y%d = w%d * stack(output, w%d.T, w%d.T)" % (i, i, (i + 1) % n, (i + 1) % n)


def captures(n):
    yield "dim n"
    yield "input x0 : [n]"
    for i in range(n):
        yield 'let x%d = concat("i; j => i^j", x%d, [1]) with (i = n + %d)' % (i + 1, i, i)
    yield "output y = x%d" % n


def broadcasts(n):
    """Every operand meets every other through one result."""
    for i in range(n):
        yield "let w%d = {w%d : [_]}" % (i, i)
    for i in range(n):
        yield "output y%d = w%d + w%d" % (i, i, (i * 7 + 1) % n)
    yield "output z = w0 + [1, 2, 3]"


def equations(n):
    """A chain: the first dim is the last one and n."""
    for i in range(n):
        yield "dim d%d" % i
    for i in range(n - 1):
        yield "require d%d == d%d + 1" % (i, i + 1)
    yield "input x : [d0]"
    yield "output y = x"


def systems(n):
    """Relations between many dims, drawn at random."""
    draw = random.Random(n)

    def linear():
        return " + ".join("%d*d%d" % (draw.randint(1, 99), draw.randrange(n)) for _ in range(3))
    for i in range(n):
        yield "dim d%d" % i
    for _ in range(n // 2):
        yield "require %s >= %s" % (linear(), linear())
        yield "require %s == %s" % (linear(), linear())
        yield "require %d divides %s" % (draw.randint(2, 10 ** 9), linear())
    yield "input x : [%s]" % ", ".join("d%d" % i for i in range(min(n, 32)))
    yield "output y = x"


def rank(n):
    yield "input x : [%s]" % ", ".join(["2"] * n)
    yield "output y = x"


def polynomial(n):
    """A product of sums has a term for every choice."""
    n = min(n, 30)
    yield "dim %s" % ", ".join("d%d" % i for i in range(n))
    yield "input x : [%s]" % " * ".join("(d%d + %d)" % (i, i + 1) for i in range(n))
    yield "output y = x"


def powers(n):
    yield "dim n"
    yield "let a0 = n + 1"
    for i in range(n):
        yield "let a%d = a%d * a%d" % (i + 1, i, i)
    yield "input x : [a%d]" % n
    yield "output y = x"


def halves(n):
    """Windows over windows: what rounds, rounds again."""
    yield "dim n"
    yield "input x0 : [n]"
    for i in range(n):
        yield 'let x%d = sum("2*o <+? k => o", x%d) with (k = 3)' % (i + 1, i)
    yield "output y = x%d" % n


def names(n):
    yield "dim %s" % ("n" * 255)
    yield "input x : [%s]" % ("n" * 255)
    for i in range(n):
        yield "output %s%d = x" % ("y" * 250, i)


def blocks(n):
    """Three axes of which each is cut: a piece for every choice of parts."""
    parts = ["^".join("%s%d" % (c, i) for i in range(32)) for c in "abc"]
    yield "input x : [%d, %d, %d]" % (n, n, n)
    yield 'output y = sum("%s => %s", x)' % (", ".join(parts), ", ".join(reversed(parts)))


def copies(n):
    yield "input x : [3]"
    yield "output y = iterate(%d, h = x) { h + {w} }" % n


def mistakes(n):
    """An error of every statement, each traced to where its sizes come from."""
    for i in range(n):
        yield "input x%d : [3]" % i
        yield "output y%d = x%d + [1, 2]" % (i, i)


def products(n):
    """Each dim is a difference of products of later ones: what replaces the first has too high a degree."""
    for i in range(n // 4):
        yield "dim a%d" % i
    yield "input x : [3]"
    for i in range(n // 4 - 3):
        yield "require a%d + a%d == a%d * a%d" % (i, i + 1, i + 2, i + 3)
    yield "output y = x .* (%s)" % " + ".join("a%d" % i for i in range(50))


def inside(n):
    """An axis of three parts meets one of them: only dims of 0 fit."""
    yield "dim n"
    for name in "xyz":
        yield "input %s : [%d*n]" % (name, n)
    yield 'output w = concat("a; b; c => a^b^c", x, y, z) + x'


KINDS = [shifted_rows, parts, many_parts, letters, dims, guards, divisors, nesting, chain, circle, captures, broadcasts,
         equations, systems, rank, polynomial, powers, halves, names, blocks, copies, mistakes,
         products, inside]


def bound_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def compile_all(tsrc, n):
    for kind in KINDS:
        run = subprocess.run([tsrc, "-fsyntax-only", "-"], input="\n".join(kind(n)) + "\n", capture_output=True, text=True,
                             preexec_fn=None if "asan" in tsrc else bound_memory)
        errors = [line for line in run.stderr.splitlines() if ": error: " in line]
        print("%s: status %d%s" % (kind.__name__, run.returncode, "," + errors[0][-8:] if errors else ""))


if __name__ == "__main__":
    if sys.argv[2] == "--all":
        compile_all(sys.argv[1], int(sys.argv[3]))
    else:
        print("\n".join(globals()[sys.argv[1]](int(sys.argv[2]))))
