"""Programs that are there: of test/lit, the examples, the documents and the suites of bench/."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import suites  # noqa: E402


def files():
    """Paths below the root; some are no programs by themselves, or are meant to fail."""
    found = [path for folder in ("test/lit", "examples", "lib")
             for path in glob.glob(os.path.join(ROOT, folder, "**", "*.tsr"), recursive=True)]
    return sorted(found)


def documents():
    """(name, text) of the programs in documents that are meant to compile."""
    for path in [os.path.join(ROOT, "README.md")] + sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(path, encoding="utf8") as text:
            for i, program in enumerate(re.findall(r"^```tsr\n(.*?)^```", text.read(), re.M | re.S)):
                yield "%s %d" % (os.path.relpath(path, ROOT), i + 1), program


def benchmarks():
    """(name, text) of what bench/ measures."""
    for suite, cases in suites.OPERATIONS.items():
        for case in cases():
            yield "bench %s %s" % (suite, case.name), case.program


def all_files(directory):
    """Paths of all programs; those that are no files are written to the directory."""
    paths = files()
    for i, (name, text) in enumerate([*documents(), *benchmarks()]):
        path = os.path.join(directory, "%03d_%s.tsr" % (i, re.sub(r"\W+", "_", name)))
        with open(path, "w", encoding="utf8") as out:
            out.write(text)
        paths.append(path)
    return paths
