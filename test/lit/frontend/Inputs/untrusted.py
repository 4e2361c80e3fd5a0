"""Programs of less than 100 KB that ask for much: each ends with its message, within seconds of processor time and half a GiB."""
import os
import resource
import subprocess
import sys

MOST_SECONDS, MOST_KB = 4, 500_000


def twice(first, call, last):
    functions = [first] + [f"fn f{i}(x) = {call.format(i - 1)}" for i in range(1, 60)]
    return "\n".join(["input x : [3]", *functions, last])


NESTED = "f(" * 40 + "x" + ")" * 40
PROGRAMS = {
    "tuples": (f"input x : [3]\nfn f(x) = (x, x)\noutput (a, b) = {NESTED}", "E0236"),
    "a tuple as a tensor": (f"input x : [3]\nfn f(x) = (x, x)\noutput y = relu({NESTED})", "E0236"),
    "a tuple in an error": (f"input x : [3]\nfn f(x) = (x, x)\nlet t : [3] = {NESTED}\noutput y = x", "E0236"),
    "tuples in tuples": ("input x : [3]\nlet t0 = (x, x)\n" + "".join(f"let t{i} = (t{i - 1}, x)\n" for i in range(1, 4000))
                         + "output y = t3999 + 1", "E0305"),
    "calls": (twice("fn f0(x) = x + 1", "f{0}(x) + f{0}(x)", "output y = f59(x)"), "E0236"),
    "calls of nothing": (twice("fn f0(x) = x", "let a = f{0}(x) in f{0}(a)", "output y = f59(x)"), "E0236"),
    "numbers": (twice("fn f0(x) = x + 1", "f{0}(x) + f{0}(x)", "output y = x + f59(1)"), "E0236"),
    "copies": ("input x : [3]\noutput y = iterate(100000, h = x) { h + 1 }", "E0236"),
    "results of copies": ("input x : [3]\nlet (a, b) = iterate(100000, h = x) { (h, h) }\noutput a, b", "E0932"),
    "operands": ("input x : [3]\noutput y = stack(output, " + ", ".join(["x"] * 20000) + ")", "E0932"),
    "letters": (f'input x : [3]\noutput y = sum("{"a" * 60000} => a", x)', "E0137"),
    "letters as NumPy's": (f'input x : [3]\noutput y = sum("{"a" * 30},{"a" * 60000}->a", x)', "E0132"),
    "brackets": ("input x : [3]\noutput y = " + "(" * 30000 + "x" + ")" * 30000, "E0109"),
    "sums": ("input x : [3]\noutput y = " + " + ".join(["x"] * 20000), "E0109"),
}

tsrc, folder = sys.argv[1:]
path = os.path.join(folder, "untrusted.tsr")
for name, (program, code) in PROGRAMS.items():
    assert len(program) < 100_000, name
    with open(path, "w") as file:
        file.write(program + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run([tsrc, "-fsyntax-only", path], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert ended.returncode == 1 and f"[{code}]" in ended.stderr, (name, ended.returncode, ended.stderr[:300])
    assert seconds < MOST_SECONDS, (name, seconds)
    assert after.ru_maxrss < MOST_KB, (name, after.ru_maxrss)
print(f"{len(PROGRAMS)} programs end soon")
