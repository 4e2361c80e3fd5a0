"""Operations of so many axes of size 2 that no two loops can be one: deep.py N prints the program that turns N of them
around; deep.py check MIB holds some of 18 axes against NumPy and compiles them with 24 and 30, in so many MiB (0: any)
and a minute of processor time."""
import resource
import sys

import numpy as np

from tsrlib import Model, check, compile_text

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def specs(n):
    """Operands and results: turned around; every second one added up, in both orders; a product along a third"""
    all_ = LETTERS[:n]
    third = n // 3
    yield [all_], all_[::-1]
    yield [all_], all_[1::2]
    yield [all_], all_[::2][::-1]
    yield [all_[:2 * third], all_[third:][::-1]], all_[:third][::-1] + all_[2 * third:]


def program(name, operands, result):
    lines = ["input x%d : [%s]\n" % (i, ", ".join("2" * len(o))) for i, o in enumerate(operands)]
    spec = "%s => %s" % ("; ".join(", ".join(o) for o in operands), ", ".join(result))
    return '%soutput %s = einsum("%s", %s)\n' % (
        "".join(lines), name, spec, ", ".join("x%d" % i for i in range(len(operands))))


def checked():
    random = np.random.default_rng(0)
    for operands, result in specs(18):
        arrays = [random.integers(-8, 9, (2,) * len(o)).astype(np.float32) for o in operands]
        want = np.einsum("%s->%s" % (",".join(operands), result), *arrays)
        got, = Model(program("y", operands, result)).forward((), arrays, [(want.shape, want.dtype)])
        check(result, got, want)
    print("%d programs of 18 axes agree" % len(list(specs(18))))


def compiled(mib):
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    if mib:
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
    few = [*specs(24), *list(specs(30))[:2]]
    for operands, result in few:
        compile_text(program("y", operands, result))
    print("%d programs of 24 and 30 axes compile" % len(few))


if sys.argv[1] == "check":
    checked()
    compiled(int(sys.argv[2]))
else:
    axes = LETTERS[:int(sys.argv[1])]
    print(program("far", [axes], axes[::-1]), end="")
