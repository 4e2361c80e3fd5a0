"""The schedules that are chosen for many programs: record_schedules.py TSRC [--check [--every=N]] [FOLDER...]

Writes test/schedules/FOLDER/NAME.sched, or, with --check, compares and prints what is chosen otherwise, by program and
kernel; with --every=N of every Nth file. A file has a section for each program and target: `## PROGRAM OPTIONS`, then the lines of --dump=schedule
without the estimates of cycles; a section that is the same as for the first target of the program says so. Only
--dump=schedule is asked for, of processors by name: the same text on any machine.

    lower     programs of test/lit/lower, also those that a test is split into; a line `# RECORD: OPTIONS` in one adds a
              section with these options
    examples  examples/, and its models as bench/ measures them
    bench     the suites of bench/ whose cases are programs"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = os.path.join(ROOT, "test", "schedules")
TARGETS = ("x86-64-v4", "x86-64-v3", "znver4", "sapphirerapids")
# What all sections of a program have, and options of further sections: two layers of twelve equal ones say the same.
MODELS = {"bert": ("-D layers=2", ["-D b=1 -D s=128"]), "gpt2": ("-D layers=2", ["-D s=1", "-D s=64 -D past=0"]),
          "resnet50": ("", ["-D n=1"]), "mobilenet_v2": ("", ["-D n=1"]), "lenet": ("", ["-D n=1"])}


def read(path):
    with open(path, encoding="utf8") as source:
        return source.read()


def programs_of(path):
    """(name, text) of the programs of a test, which may be split into files"""
    parts = re.split(r"^(?:#|//)--- (\S+)$", read(path), flags=re.M)
    if len(parts) == 1 and path.endswith(".tsr"):
        yield "", parts[0]
    for name, part in zip(parts[1::2], parts[2::2]):
        if name.endswith(".tsr"):
            yield name, part


def lower():
    """(file of the corpus, name of the program, its text, options of all sections, options of further sections)"""
    for path in sorted(glob.glob(ROOT + "/test/lit/lower/*.t*")):
        for name, text in programs_of(path):
            yield os.path.basename(path).rsplit(".", 1)[0], name, text, "", re.findall(r"^# RECORD: (.*)$", text, re.M)


def examples():
    for path in sorted(glob.glob(ROOT + "/examples/*.tsr") + glob.glob(ROOT + "/examples/models/*.tsr")):
        name = os.path.basename(path)[:-4]
        yield name, "", read(path), *MODELS.get(name, ("", []))


def bench():
    sys.path.insert(0, ROOT + "/bench")
    import suites
    for suite, cases in suites.OPERATIONS.items():
        for case in cases():
            yield suite, case.name, case.program, "", []


FOLDERS = {"lower": lower, "examples": examples, "bench": bench}
ONE_TARGET = {"bench"}  # of which only the first target is recorded


def schedule(tsrc, path, options):
    words = [tsrc, "-I", ROOT + "/lib", *options, "--dump=schedule", "--stop=schedule", path]
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode:
        return "does not compile: status %d\n" % run.returncode
    text = re.sub(r"[;,]? about \d+ cycles?", "", run.stdout)
    return re.sub(r"^(# for .*|\t# *)\n", "", text, flags=re.M)


def sections(tsrc, directory, number, task):
    """The sections of one program"""
    folder, file, name, text, always, more = task
    path = os.path.join(directory, "%d.tsr" % number)
    with open(path, "w", encoding="utf8") as out:
        out.write(text)
    targets = TARGETS[:1] if folder in ONE_TARGET else TARGETS
    made, first = [], None
    for options in ["-march=" + target for target in targets] + more:
        asked = " ".join(([] if "-march" in options else ["-march=" + TARGETS[0]]) + [options, always]).strip()
        found = schedule(tsrc, path, asked.split())
        same = first is not None and found == first
        made.append("## %s\n%s" % ((name + " " + asked).strip(), "as for the first\n" if same else found))
        first = found if first is None else first
    return "\n".join(made)


def made(tsrc, folders, every=1):
    """The corpus: its text by file, of every so many"""
    tasks = [(folder, *task) for folder in folders for task in FOLDERS[folder]()]
    files = sorted({task[:2] for task in tasks})[::every]
    tasks = [task for task in tasks if task[:2] in files]
    with tempfile.TemporaryDirectory() as directory, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(lambda at: sections(tsrc, directory, *at), enumerate(tasks)))
    files = {}
    for (folder, file, *_), text in zip(tasks, found):
        files.setdefault(os.path.join(folder, file + ".sched"), []).append(text)
    return {file: "\n".join(texts) for file, texts in files.items()}


def kernels(text):
    """Lines by section and kernel"""
    found, at, kernel = {}, "", ""
    for line in text.splitlines():
        if line.startswith("## "):
            at = line[3:]
        elif line.strip():
            kernel = line.split(":")[0] if not line.startswith("\t") else kernel
            found.setdefault((at, kernel), []).append(line)
    return found


def compare(file, old, new):
    """Prints what is chosen otherwise; how many kernels"""
    was, now, n = kernels(old), kernels(new), 0
    for key in dict.fromkeys([*was, *now]):
        if was.get(key) != now.get(key):
            print("%s (%s): %s" % (file, *key))
            print("".join("  - %s\n" % line for line in was.get(key, [])) +
                  "".join("  + %s\n" % line for line in now.get(key, [])), end="")
            n += 1
    return n


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    every = next((int(word[8:]) for word in sys.argv if word.startswith("--every=")), 1)
    tsrc, folders = os.path.abspath(words[0]), words[1:] or list(FOLDERS)
    corpus = made(tsrc, folders, every)
    there = {os.path.relpath(path, CORPUS) for folder in folders for path in glob.glob("%s/%s/*.sched" % (CORPUS, folder))}
    there = there if every == 1 else there & set(corpus)
    if "--check" in sys.argv:
        n = sum(compare(file, read(os.path.join(CORPUS, file)) if file in there else "", corpus.get(file, ""))
                for file in sorted(there | set(corpus)))
        if n:
            print("%d kernels are scheduled otherwise than test/schedules says. `make record-schedules` records them; "
                  "`git diff test/schedules` shows what to read before that is committed." % n)
        else:
            print("%d files of schedules, as recorded" % len(corpus))
        return n > 0
    for file in there - set(corpus):
        os.remove(os.path.join(CORPUS, file))
    for file, text in corpus.items():
        path = os.path.join(CORPUS, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if file not in there or read(path) != text:
            print("recorded test/schedules/" + file)
            with open(path, "w", encoding="utf8") as out:
                out.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
