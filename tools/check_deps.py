"""Who includes whom: holds every #include "folder/..." against the table in docs/ARCHITECTURE.md."""
import glob
import os
import re
import sys

table = {}
for line in open(sys.argv[1]):
    row = re.match(r"^(base|lexer|grammar|frontend|infer|reference|tensor|loops|schedule|transform|lower|codegen|verify|driver|runtime):\s*([a-z ]*)$", line)
    if row:
        table[row.group(1)] = set(row.group(2).split()) | {row.group(1)}

bad = 0
for folder in table:
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.endswith((".c", ".h", ".re", ".y")):
            continue
        for number, line in enumerate(open(path, encoding="utf8"), 1):
            include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not include:
                continue
            other = include.group(1).split("/")[0] if "/" in include.group(1) else folder
            if other not in table[folder] | {"gen"}:  # gen: made by the build from allowed sources
                print("%s:%d: %s/ may not include %s" % (path, number, folder, include.group(1)))
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
