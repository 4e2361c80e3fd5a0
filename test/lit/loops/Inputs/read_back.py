"""Dumps of loops are read back: each prints itself again, and passes make of it what they make of the program, but for
numbers behind names.

usage: read_back.py TSRC ROOT COUNT       COUNT: programs of test/lit, examples and bench to try; 0: all
"""
import concurrent.futures
import glob
import inspect
import os
import re
import subprocess
import sys
import tempfile

MACHINES = [["-march=x86-64-v3", "--grain=1"], ["-march=x86-64-v4"]]


def stages(tsrc):
    """Those of which the compiler says that it reads them."""
    return re.search(r'--from\)\n.*?-W "(.*?)"', run(tsrc, "--completion=bash")[1]).group(1).split()


def run(tsrc, *words):
    result = subprocess.run([tsrc, *words], capture_output=True, text=True, timeout=250)
    return result.returncode, result.stdout, result.stderr


def emit(tsrc, options, stem, source):
    """The texts of all stages that come; None: it does not compile."""
    kinds = stages(tsrc)
    kinds = kinds[kinds.index("kernels"):] if "--from=kernels" in options else kinds
    if run(tsrc, *options, "--emit=" + ",".join(kinds), "-o", stem, source)[0]:
        return None
    return {kind: open(stem + "." + kind).read() for kind in kinds}


def changed(text):
    return text != "(unchanged)\n"


def plain(text):
    """Without the numbers behind names: a pass numbers those that it joins, and the text may have done so before."""
    return re.sub(r"([A-Za-z_])[0-9]+\b", r"\1", text)


def differs(tsrc, options, folder, stage, text, loops):
    """Why the text does not print itself again; None: it does."""
    path = os.path.join(folder, "again." + stage)
    with open(path, "w") as out:
        out.write(loops + text if stage == "vector" else text)
    code, again, errors = run(tsrc, *options, "--from=" + stage, "--dump=" + stage, path)
    if code:
        return stage + ": " + errors
    for a, b in zip(text.split("\n"), again.split("\n")):
        if a != b:
            return "%s:\n  %s\n  %s" % (stage, a[:2000], b[:2000])
    return None if again == text else stage + ": another length"


def faults(tsrc, source):
    found, tried = [], 0
    for options in MACHINES:
        with tempfile.TemporaryDirectory() as folder:
            texts = emit(tsrc, options, os.path.join(folder, "first"), source)
            if not texts:
                continue
            tried += 1
            for stage, text in texts.items():
                why = changed(text) and differs(tsrc, options, folder, stage, text, texts["loops"])
                if why:
                    found.append("%s %s: %s" % (source, " ".join(options), why))
            kernels = os.path.join(folder, "first.kernels")
            later = emit(tsrc, options + ["--from=kernels"], os.path.join(folder, "later"), kernels)
            for stage in later or ["kernels"]:
                if not later or plain(texts[stage]) != plain(later[stage]):
                    found.append("%s %s: %s from kernels is another" % (source, " ".join(options), stage))
                    break
    return tried, found


def bench_programs(root, folder):
    """What bench measures, as files."""
    sys.path.insert(0, os.path.join(root, "bench"))
    import suites
    texts = {program.text for program in suites.typical.PROGRAMS}
    for suite in vars(suites).values():
        if inspect.isgeneratorfunction(suite) and not inspect.signature(suite).parameters:
            texts |= {case.program for case in suite() if isinstance(case, suites.Case)}
    for number, text in enumerate(sorted(texts)):
        path = os.path.join(folder, "bench%03d.tsr" % number)
        with open(path, "w") as out:
            out.write(text)
        yield path


def main():
    with tempfile.TemporaryDirectory() as folder:
        return check(folder, sys.argv[1], sys.argv[2], int(sys.argv[3]))


def check(folder, tsrc, root, count):
    sources = sorted(path for part in ("test/lit", "examples")
                     for path in glob.glob(os.path.join(root, part, "**/*.tsr"), recursive=True))
    sources += bench_programs(root, folder)
    step = max(1, len(sources) // count) if count else 1
    total, bad = 0, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for tried, found in pool.map(lambda source: faults(tsrc, source), sources[::step]):
            total += tried
            bad += len(found)
            for line in found:
                print(line)
    print("%d compilations, %d faults" % (total, bad))
    return bad > 0 or total == 0


if __name__ == "__main__":
    sys.exit(main())
