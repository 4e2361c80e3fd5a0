"""Programs of which it is known what --dump prints: (name, program, line...). A line stands in the dump, alone or before a
place in parentheses; after `!` no line contains it; E0... is the code of an error. `@N` in a name: the shapes are those
of stage N."""
import subprocess
import sys

TSRC = sys.argv[1]


def stands(line, run):
    if line.startswith("E0"):
        return run.returncode == 1 and "[%s]" % line in run.stderr
    if line.startswith("!"):
        return run.returncode == 0 and line[1:] not in run.stdout
    said = map(str.strip, run.stdout.splitlines())
    return run.returncode == 0 and any(s == line or s.startswith(line + " (") for s in said)


def agrees(name, program, lines, options):
    run = subprocess.run([TSRC, *options, "-fsyntax-only", "-"], input=program + "\n", capture_output=True, text=True)
    if all(stands(line, run) for line in lines):
        return True
    print("%s, %s: %s\n%s\n%s%s" % (name, " ".join(options), lines, program, run.stdout, run.stderr))
    return False


def failures(cases, dump, orders):
    """How many cases are not as known under one of these orders of the constraints; prints the first run of each."""
    failed = 0
    for name, program, *lines in cases:
        stage = name.partition("@")[2]
        shown = "--dump=" + ("shapes:" + stage if stage else dump)
        under = [[shown] + (["--shuffle=%d" % order, "--verify"] if order else []) for order in orders]
        failed += not all(agrees(name, program, lines, options) for options in under)
    return failed
