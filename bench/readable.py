"""How fast readable C is beside the code that libgccjit makes: bench/readable.py [BUILD]

For each program: tsrc -o x.so, and tsrc -o x.c that `gcc -O3 -march=native` compiles. Both run in one process in turn,
on one thread and the same random inputs (readable.c); the least time of a call counts, of the processor's time, which
other work does not add to. What counts is the ratio: how many times as long the C takes. Functions are those of
base/ops.def, in f32 and f64; programs are those of the other suites that take a few milliseconds at most. Printed as a table of its
own, and part of run.py's."""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

import machine
import programs
import suites

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
COMPILER = "gcc -O3 -march=native"
DIFFERENCE_MOST = 1e-4  # relative to the greatest element of a result: sums and products that are rounded once or twice
ROWS = 'input x : %s [64 | 768]\n'
# Where functions are no NaN
INSIDE = {"acosh": "x + 2", "log": "x + 1.5", "log2": "x + 1.5", "lgamma": "x + 1.5", "sqrt": "x + 1", "rsqrt": "x + 1.5"}
CHAINS = ("gelu(sin(x))", "tanh(log(exp(x) + 1))", "x .* sigmoid(x)", "max(-0.5, min(0.5, x))", "where(x > 0, x, 0.01 * x)",
          "sqrt(abs(x) + 1) / (1 + exp(-x))", "0.5 * x .* (1 + erf(x / 1.414))")
CASTS = ("bf16", "f16", "f8e4m3", "f64", "i64", "i32", "i8", "u8", "bool")
# Of the other suites, by parts of the names
CHOSEN = {
    "products": "x64x64 100x100 128x128x 256x256x256 333x777 8x256 128x10x 4x4096 64x768x768", "narrow": "256x256x256 1024",
    "linear": "", "four_bits": "1x4096 4x4096", "contractions": "", "conv": "", "pictures": "", "transposed": "",
    "rows": "", "elementwise": "64x768", "random": "64x768", "reductions": "", "transposes": "", "attention": "256 128",
    "programs": "", "indexed": "",
}
WORK_MOST, BYTES_MOST = 3e8, 70e6


def functions():
    """One operation of arrays"""
    with open(os.path.join(ROOT, "base", "ops.def"), encoding="utf8") as rows:
        ops = re.findall(r'^OP\(\w+, *"(\w+)", *(\d), (\w), *(?:"(.*?)"|NULL)', rows.read(), re.M)
    for name, arity, kind, symbol in ops:
        if kind not in "FI" or name == "id":
            continue
        arguments = ", ".join([INSIDE.get(name, "x"), "z", "x"][:int(arity)])
        text = "%s(%s)" % (name, arguments)
        if symbol:
            text = symbol + "x" if arity == "1" else "%s %s z" % ("abs(x)" if name == "pow" else "x", symbol)
        for dtype in ("f32", "f64"):
            more = "input z : %s [64 | 768]\n" % dtype if arity != "1" else ""
            yield suites.Case("%s of %s" % (name, dtype), ROWS % dtype + more + "output y = %s\n" % text)


def chains():
    for text in CHAINS:
        yield suites.Case(text, ROWS % "f32" + "output y = %s\n" % text)


def casts():
    for dtype in CASTS:
        for source, result in ((dtype, "f32"), ("f32", dtype)):
            yield suites.Case("%s to %s" % (source, result), ROWS % source + "output y : %s = %s(x)\n" % (result, result))


def chosen(suite, words):
    for case in suites.OPERATIONS[suite]():
        small = case.flops <= WORK_MOST and case.nbytes <= BYTES_MOST
        if small and (not words or any(word in case.name for word in words.split())):
            yield case


def every():
    """(suite, case)"""
    for suite in (functions, chains, casts):
        yield from ((suite.__name__, case) for case in suite())
    for suite, words in CHOSEN.items():
        yield from ((suite, case) for case in chosen(suite, words))


class Tools:
    def __init__(self, build, directory, compiler):
        self.tsrc, self.directory, self.compiler = os.path.join(build, "tsrc"), directory, shlex.split(compiler)
        self.pair = os.path.join(directory, "readable")
        subprocess.run(["gcc", "-O2", "-std=c17", "-Dtypeof=__typeof__", "-I", ROOT, "-o", self.pair,
                        os.path.join(HERE, "readable.c"), os.path.join(build, "libtsr.a"), *machine.LIBTSR_NEEDS], check=True)

    def modules(self, name, case):
        stem = os.path.join(self.directory, name)
        with open(stem + ".tsr", "w", encoding="utf8") as out:
            out.write(case.program)
        for suffix in (".so", ".c"):
            subprocess.run([self.tsrc, "-I", os.path.join(ROOT, "lib"), stem + ".tsr", "-o", stem + suffix], check=True)
        subprocess.run([*self.compiler, "-w", "-shared", "-fPIC", "-o", stem + "_c.so", stem + ".c", "-lm"], check=True)
        return [stem + ".so", stem + "_c.so"]

    def times(self, name, case):
        """Nanoseconds of both"""
        below = ["%s<%d" % (array, programs.parsed(text)[1]) for array, text in case.indices.items()]
        words = [self.pair, *self.modules(name, case), *case.arguments, *below]
        found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        if not float(found["difference"]) <= DIFFERENCE_MOST:
            sys.exit("readable.py: %s: results differ by %s" % (case.name, found["difference"]))
        return found["ns"]


def measured(build, words="", compiler=COMPILER):
    """(suite, name, nanoseconds of both) of all programs whose names have `words`"""
    with tempfile.TemporaryDirectory() as directory:
        tools = Tools(build, directory, compiler)
        for number, (suite, case) in enumerate(every()):
            if words in suite + ": " + case.name:
                yield suite, case.name, tools.times("%s_%d" % (suite, number), case)


def rows(build):
    """Of run.py's table: what it is, its unit, and its value"""
    for suite, name, (ours, readable) in measured(build):
        yield "%s: %s" % (suite, name), "times", "%.2f" % (readable / ours)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"), help="where tsrc is")
    options.add_argument("--case", default="", help="only those whose names have this in them: `rows: ` is a suite's all")
    options.add_argument("--compiler", default=COMPILER, help="of the C: " + COMPILER)
    options.add_argument("--above", type=float, default=0, metavar="TIMES", help="tell the programs above that alone")
    options = options.parse_args()
    ratios = {}
    print("| program | ns | ns of the C | times |\n|---|---|---|---|")
    for suite, name, (ours, readable) in measured(options.build, options.case, options.compiler):
        ratios.setdefault(suite, []).append(readable / ours)
        if readable / ours > options.above:
            print("| %s: %s | %.0f | %.0f | %.2f |" % (suite, name, ours, readable, readable / ours), flush=True)
    for suite, of_suite in ratios.items():
        print("| **%s**, %d: geometric mean / worst | | | %.2f / %.2f |" % (
            suite, len(of_suite), statistics.geometric_mean(of_suite), max(of_suite)))


if __name__ == "__main__":
    main()
