"""KIND N prints a program whose sizes have N terms, products of two dims each."""
import math
import sys


def grid(n):
    """The products, and the statements that declare their dims."""
    m = math.isqrt(n - 1) + 1
    rows = (n + m - 1) // m
    print("dim " + ", ".join("a%d" % i for i in range(rows)))
    print("dim " + ", ".join("b%d" % i for i in range(min(m, n))))
    return [("a%d" % (i // m), "b%d" % (i % m)) for i in range(n)]


def axis(n):
    terms = ["%s*%s" % pair for pair in grid(n)]
    print("let s0 = " + terms[0])
    for i in range(1, n):
        print("let s%d = s%d + %s" % (i, i - 1, terms[i]))
    print("input x : [s%d]" % (n - 1))
    print("output y = 2*x + 1")


def state(n):
    for i, pair in enumerate(grid(n)):
        print("param p%d : [%s, %s]" % ((i,) + pair))
        print('let s%d = sum("i, j => ", p%d)' % (i, i))
    for i in range(0, n, 100):
        print("output y%d = %s" % (i, " + ".join("s%d" % k for k in range(i, min(n, i + 100)))))


def product(n):
    m = math.isqrt(n - 1) + 1
    print("dim " + ", ".join("a%d, b%d" % (i, i) for i in range(m)))
    print("input x : [%s, %s]" % (" + ".join("a%d" % i for i in range(m)), " + ".join("b%d" % i for i in range(m))))
    print("output y = 2*x + 1")


{"axis": axis, "state": state, "product": product}[sys.argv[1]](int(sys.argv[2]))
