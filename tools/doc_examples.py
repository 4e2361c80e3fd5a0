"""Checks the programs in a document: doc_examples.py TSRC FILE.md

A block ```tsr must compile; ```shapes right after it is what --dump=shapes prints; ```tsr error E0123 must fail
with that code. Prints how many were checked."""
import os
import re
import subprocess
import sys
import tempfile

tsrc, path = sys.argv[1:3]
text = open(path, encoding="utf8").read()
blocks = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", text, re.S | re.M)
checked = bad = 0
for i, (kind, rest, body) in enumerate(blocks):
    if kind != "tsr":
        continue
    checked += 1
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "example.tsr")
        with open(source, "w", encoding="utf8") as out:
            out.write(body)
        run = subprocess.run([tsrc, "--dump=shapes", "-o", os.path.join(directory, "m.so"), source],
                             capture_output=True, text=True)
    want_error = re.match(r"\s*error\s+(\w+)", rest)
    if want_error:
        good = run.returncode == 1 and "[%s]" % want_error.group(1) in run.stderr
    else:
        good = run.returncode == 0
        if good and i + 1 < len(blocks) and blocks[i + 1][0] == "shapes":
            good = run.stdout == blocks[i + 1][2]
    if not good:
        bad += 1
        print("%s:\n%s---- status %d\n%s%s" % (path, body, run.returncode, run.stdout, run.stderr))
print("%d examples of %s checked, %d wrong" % (checked, os.path.basename(path), bad))
sys.exit(1 if bad or not checked else 0)
