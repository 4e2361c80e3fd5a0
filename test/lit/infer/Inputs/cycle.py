"""Axes in two parts: the second of each is one more than the first of the next, around. N of them, which is odd."""
import sys

n = int(sys.argv[1])
first = [i % 5 + 1 for i in range(n)]
for i in range(n):
    print("input x%d : [%d]" % (i, first[i] + first[(i + 1) % n] + 1))
    print('output y%d = sum("a%d^b%d => a%d,", x%d) with (a%d, b%d)' % ((i,) * 7))
for i in range(n):
    print("require b%d == a%d + 1" % (i, (i + 1) % n))
