"""What functions take at the ends of their arguments: bench/ends.py [BUILD]

For each function, in f32 and f64 and each class of arithmetic: nanoseconds for 4096 times 0.7 (0.7 ** 1.3), and how many
times as long they take where the result is 0, infinite or NaN, at the worst argument, and elsewhere: arguments that are
subnormal count there. Processors of Intel take some 150 cycles for an operation that underflows. Printed as a table of
its own, and part of run.py's."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import machine

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = """exp expm1 exp2 log log1p log2 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid softplus erf
erfc gelu lgamma sqrt rsqrt recip""".split()
FORMS = {"power": "x ** z", "arc": "atan2(x, z)", "long": "hypot(x, z)"}
CLASSES = ("default", "fast", "strict")
ENDS = ("0", "infinite", "NaN")
SUBNORMAL = {"f32": "1e-40", "f64": "1e-310"}  # of the arguments


def program(dtype):
    names = FUNCTIONS + list(FORMS) + (["f16", "bf16"] if dtype == "f32" else [])
    return "input x : %s [4096]\ninput z : %s [4096]\n" % (dtype, dtype) + "".join(
        "routine %s_() -> y_%s { y_%s =: %s }\n" % (n, n, n, FORMS.get(n, n + "(x)")) for n in names)


def measured(build, directory, dtype, arithmetic):
    """[argument, kind of the result, nanoseconds] of each function"""
    stem = "%s/%s_%s" % (directory, dtype, arithmetic)
    with open(stem + ".tsr", "w", encoding="utf8") as out:
        out.write(program(dtype))
    subprocess.run([build + "/tsrc", "--fp=" + arithmetic, stem + ".tsr", "-o", stem + ".so"], check=True)
    text = subprocess.run([directory + "/ends", stem + ".so"], check=True, capture_output=True, text=True).stdout
    return {name.rstrip("_"): times for name, times in json.loads(text).items()}


def slowest(dtype, times):
    """(times as long as usual, argument) where the result is 0, infinite or NaN, and elsewhere"""
    usual, ends, others = times[0][2], [], []
    for argument, kind, ns in times:
        at_end = kind in ENDS and not argument.startswith(SUBNORMAL[dtype])
        (ends if at_end else others).append((ns / usual, argument))
    return max(ends), max(others)


def functions(build, classes):
    """(name, dtype, class of arithmetic, times) of all functions"""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["gcc", "-O2", "-I", os.path.join(HERE, ".."), "-o", directory + "/ends",
                        os.path.join(HERE, "ends.c"), build + "/libtsr.a", *machine.LIBTSR_NEEDS], check=True)
        for dtype in ("f32", "f64"):
            for arithmetic in classes:
                for name, times in measured(build, directory, dtype, arithmetic).items():
                    yield FORMS.get(name, name), dtype, arithmetic, times


def rows(build):
    """Of run.py's table: what it is, its unit, and its value"""
    for name, dtype, arithmetic, times in functions(build, CLASSES):
        ends, others = slowest(dtype, times)
        yield ("%s of %s, %s" % (name, dtype, arithmetic), "ns",
               "%.0f; %.2f at %s; others %.2f at %s" % (times[0][2], *ends, *others))


def above(build, most):
    """Functions of the language's own arithmetic that take more than `most` times their usual time where the result is 0,
    infinite or NaN: each at its best of up to three measurements, since other work makes a machine slow."""
    best = {}
    for _ in range(3):
        for name, dtype, arithmetic, times in functions(build, ("default", "fast")):
            what = "%s of %s, %s" % (name, dtype, arithmetic)
            best[what] = min(best.get(what, (math.inf, "")), slowest(dtype, times)[0])
        if max(best.values())[0] <= most:
            break
    return ["%s: %.2f times at %s" % (what, *worst) for what, worst in best.items() if worst[0] > most]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build", nargs="?", default=os.path.join(HERE, "..", "build"), help="where tsrc is")
    options.add_argument("--at-most", type=float, metavar="TIMES",
                         help="no table: fail where a function takes more than so many times its usual time")
    options = options.parse_args()
    if options.at_most:
        slow = above(options.build, options.at_most)
        print("\n".join(slow) or "no function takes more than %g times its usual time" % options.at_most)
        sys.exit(bool(slow))
    print("| function | unit | usual; times as long at 0, infinities and NaN; elsewhere |\n|---|---|---|")
    for row in rows(options.build):
        print("| %s | %s | %s |" % row, flush=True)


if __name__ == "__main__":
    main()
