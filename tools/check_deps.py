"""Who includes whom: holds every #include "folder/..." against the table in docs/ARCHITECTURE.md. A row of a folder in a
folder names folders, and headers of the outer folder."""
import glob
import os
import re
import sys

FOLDERS = ("base lexer grammar frontend infer reference tensor target sums loops schedule transform lower codegen verify driver "
           "tune runtime").split()
table = {}
for line in open(sys.argv[1]):
    row = re.match(r"^(%s)(/[a-z]+)?:\s*([a-z/. ]*)$" % "|".join(FOLDERS), line)
    if row:
        folder = row.group(1) + (row.group(2) or "")
        table[folder] = set(row.group(3).split()) | {folder}


def row_of(folder):
    while folder and folder not in table:
        folder = os.path.dirname(folder)
    return folder


bad = 0
for path in sorted(p for folder in FOLDERS for p in glob.glob(folder + "/**/*.*", recursive=True)):
    if not path.endswith((".c", ".h", ".re", ".y")):
        continue
    row = row_of(os.path.dirname(path))
    if not row:
        sys.exit("%s: its folder has no row" % path)
    for number, line in enumerate(open(path, encoding="utf8"), 1):
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not include:
            continue
        other = include.group(1)
        outer = other.split("/")[0] if "/" in other else row
        if not {outer, os.path.dirname(other), other} & (table[row] | {"gen"}):  # gen: made by the build from allowed sources
            print("%s:%d: %s/ may not include %s" % (path, number, row, other))
            bad += 1
foreign = {"libgccjit.h": "codegen", "zip.h": "base"}
for path in sorted(glob.glob("*.[ch]") + glob.glob("[!.]*/**/*.[ch]", recursive=True)):
    if path.startswith("build/"):
        continue
    for number, line in enumerate(open(path, encoding="utf8"), 1):
        include = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        home = include and foreign.get(include.group(1))
        if home and not path.startswith((home, "test/")):
            print("%s:%d: <%s> belongs to %s/" % (path, number, include.group(1), home))
            bad += 1
sys.exit(1 if bad or not table else 0)
