"""What functions take at the ends of their arguments: bench/ends.py [BUILD]

For each function, in f32 and f64 and each class of arithmetic: nanoseconds for 4096 times 0.7 (0.7 ** 1.3), and how many
times as long they take where the result is 0, infinite or NaN, at the worst argument, and elsewhere: arguments that are
subnormal count there. Processors of Intel take some 150 cycles for an operation that underflows. Printed as a table of
its own, and part of run.py's."""
import argparse
import json
import os
import subprocess
import tempfile

import machine

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = "exp log exp2 log2 sin cos tan tanh sigmoid erf gelu sqrt rsqrt recip".split()
FORMS = {"power": "x ** z"}
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


def shown(dtype, times):
    usual, ends, others = times[0][2], [], []
    for argument, kind, ns in times:
        at_end = kind in ENDS and not argument.startswith(SUBNORMAL[dtype])
        (ends if at_end else others).append((ns / usual, argument))
    return "%.0f; %.2f at %s; others %.2f at %s" % (usual, *max(ends), *max(others))


def rows(build):
    """Of run.py's table: what it is, its unit, and its value"""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["gcc", "-O2", "-I", os.path.join(HERE, ".."), "-o", directory + "/ends",
                        os.path.join(HERE, "ends.c"), build + "/libtsr.a", *machine.LIBTSR_NEEDS], check=True)
        for dtype in ("f32", "f64"):
            for arithmetic in CLASSES:
                for name, times in measured(build, directory, dtype, arithmetic).items():
                    yield "%s of %s, %s" % (FORMS.get(name, name), dtype, arithmetic), "ns", shown(dtype, times)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build", nargs="?", default=os.path.join(HERE, "..", "build"), help="where tsrc is")
    print("| function | unit | usual; times as long at 0, infinities and NaN; elsewhere |\n|---|---|---|")
    for row in rows(options.parse_args().build):
        print("| %s | %s | %s |" % row, flush=True)


if __name__ == "__main__":
    main()
