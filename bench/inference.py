"""How the compiler's own time and memory grow with the program: bench/inference.py TSRC

Transformers of 12, 48 and 192 blocks and chains of 1,000 and 10,000 operations, up to and including projections
and the checker; such chains, and products one after the other, to loops; and the whole way to a shared object for
12 blocks. Then how much more processor time four times as many operations, parameters, windows, sums and routines take
to the end of each stage: 4 is linear, and somewhat more is the caches."""
import os
import re
import subprocess
import sys
import tempfile

TSRC = sys.argv[1] if len(sys.argv) > 1 else "build/tsrc"
BLOCK = '''dim n
dim t
input x : [n, t | 768]
fn softmax(x) = let e = exp(x - reduce(max, "... | ..o.., v => ... | ..o.., 0", x))
                in e / sum("... | ..o.., v => ... | ..o.., 0", e)
fn project()(x) = einsum("... | i; i -> h, d => ... | h, d", x, {w : [_ -> 12, 64]})
fn block()(x) =
  let wq = project(), wk = project(), wv = project(),
      s = einsum("b, s | h, d; b, t | h, d => b, s | h, t", wq(x), wk(x)) / 8,
      a = einsum("b, s | h, t; b, t | h, d => b, s | h, d", softmax(s), wv(x)),
      o = x + einsum("... | h, d; h, d -> o => ... | o", a, {wo : [12, 64 -> 768]})
  in o + {w2 : [3072 -> 768]} * gelu({w1 : [768 -> 3072]} * o + {b1}) + {b2}
output y = iterate(%d, h = x) { block()(h) }
'''


def chain(n):
    steps = "".join("let a%d = relu(a%d + x)\n" % (i + 1, i) for i in range(n))
    return "dim n\ninput x : [n | 64]\nlet a0 = x\n%soutput y = a%d\n" % (steps, n)


def products(n):
    steps = "".join("let a%d = {w%d : [64 -> 64]} * a%d\n" % (i + 1, i, i) for i in range(n))
    return "dim n\ninput x : [n | 64]\nlet a0 = x\n%soutput y = a%d\n" % (steps, n)


def chain_of(step, start="x"):
    """n steps, each of which reads the one before it."""
    def program(n):
        steps = "".join("let a%d = %s\n" % (i + 1, step.format(i=i, a="a%d" % i)) for i in range(n))
        return "dim n >= 100000\ninput x : [n | 64]\nlet a0 = %s\n%soutput y = a%d\n" % (start, steps, n)
    return program


def routines(n):
    steps = "".join("routine r%d(s : f32) -> t { t =: x .* s  t =+ %d }\n" % (i, i) for i in range(n))
    return "dim n\ninput x : [n]\n" + steps


GROWTH = {
    "pointwise": chain,
    "parameters": chain_of("{a} .* {{g{i}}} + {{b{i}}}"),
    "products": products,
    "sums": chain_of('{a} - sum("... | i => ... | 0", {a})'),
    "windows": chain_of('sum("o <+ k | i => o | i", {a}) with (k = 3)'),
    "concatenations": chain_of('concat("i; j => i^j", {a}, [1, 2])', "x @ 0"),
    "routines": routines,
}


def processor_time(text, stage):
    with tempfile.TemporaryDirectory() as directory:
        source = directory + "/program.tsr"
        with open(source, "w", encoding="utf8") as out:
            out.write(text)
        child = subprocess.Popen([TSRC, "--stop=" + stage, source])
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit("%s fails" % TSRC)
        return usage.ru_utime + usage.ru_stime


def growth(name, program, n=2500):
    grown = []
    for stage in ("graph", "proj", "loops"):
        few, many = (min(processor_time(program(k), stage) for _ in range(3)) for k in (n, 4 * n))
        grown.append("%s %.2f s, %.1f times" % (stage, many, many / few))
    print("%-26s %s" % ("%d %s" % (4 * n, name), "  ".join(grown)), flush=True)


def run(name, text, options):
    with tempfile.TemporaryDirectory() as directory:
        source = directory + "/program.tsr"
        with open(source, "w", encoding="utf8") as out:
            out.write(text)
        child = subprocess.Popen([TSRC, "--time-report", source, *(options or ["-o", directory + "/m.so"])],
                                 stderr=subprocess.PIPE, text=True)
        report = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(report)
        stages = re.findall(r"^(\w+)\s+([\d.]+) ms", report, re.M)
        print("%-26s %s  peak %d MiB" % (name, "  ".join("%s %s ms" % s for s in stages), usage.ru_maxrss // 1024))


for blocks in (12, 48, 192):
    run("%d blocks" % blocks, BLOCK % blocks, ["--stop=proj"])
for length in (1000, 10000):
    run("%d operations" % length, chain(length), ["--stop=proj"])
for length in (1000, 10000):
    run("%d operations to loops" % length, chain(length), ["--stop=loops"])
    run("%d products to loops" % length, products(length), ["--stop=loops"])
run("12 blocks to .so", BLOCK % 12, [])
for kind, make in GROWTH.items():
    growth(kind, make)
