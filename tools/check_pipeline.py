"""A pass has a row, a dump and a verifier: check_pipeline.py ROOT

Reads the rows of driver/pipeline.c, and the tables of passes that they run, tensor/tensor.c, transform/transform.c and loops/vector/vector.c.
A row that makes something has a verifier, unless NO_VERIFIER says why not; each has a dump, which a document of SHOWN
shows as an example that is tested, and a test that asks for it by name, alone or among others. A pass has a row of its name,
and the manual page names each row."""
import glob
import os
import re
import sys

NO_VERIFIER = {"ast": "what a tree may not be are diagnostics of the parser and of the frontend"}
LONG = {"target"}  # a document shows how its dump begins
ROWS = {"memory": "loops"}  # a pass whose row has another name: what it makes is what all passes make
TABLES = ["tensor/tensor.c", "transform/transform.c", "loops/vector/vector.c"]
SHOWN = ["docs/ir.md", "docs/gpu-kernels.md"]
row = re.compile(r'^\t\{"(\w+)",\s*"\w+",\s*"[^"]*",\s*(\w+),\s*(\w+),\s*(\w+)', re.M)
entry = re.compile(r'^\t(?:\[\w+\]\s*=\s*)?\{"(\w+)",\s*\w+\}', re.M)


def read(path):
    with open(path, encoding="utf8") as source:
        return source.read()


def table(path, name, item):
    """The items of the array of that name"""
    text = read(path)
    begin = re.search(r"\b%s\[\w*\] = \{" % name, text).end()
    return item.findall(text[begin:text.index("\n};", begin)])


os.chdir(sys.argv[1])
rows = table("driver/pipeline.c", "pipeline", row)
passes = [name for path in TABLES for name in table(path, os.path.basename(path)[:-2] + "_passes", entry)]
names = {name for name, *_ in rows}
shown = {stage for path in SHOWN for words in re.findall(r"^```text .*?\bdump=(\S+)", read(path), re.M) for stage in words.split(",")}
with open("docs/man/tsrc.1", encoding="utf8") as page:
    listed = [line for line in page if line.startswith(("Write these kinds:", "Print a stage on standard output:"))]
manual = set.intersection(*[set(re.findall(r"\w+", line)) for line in listed])
asked = {stage for path in glob.glob("test/lit/**/*.*", recursive=True) if os.path.isfile(path) and path.endswith((".tsr", ".test", ".loops"))
         for words in re.findall(r"--dump=([\w,:]+)", read(path)) for stage in words.split(",")}
lacks = {
    "row": [name for name in passes if ROWS.get(name, name) not in names],
    "verifier": [name for name, run, verify, _ in rows if run != "NULL" and verify == "NULL" and name not in NO_VERIFIER],
    "dump": [name for name, _, _, dump in rows if dump == "NULL"],
    "tested example in " + " or ".join(SHOWN): [name for name, *_ in rows if name not in shown | LONG],
    "place in docs/man/tsrc.1": [name for name, *_ in rows if name not in manual],
    "test": [name for name, *_ in rows if name not in asked],
}
made = sum(run != "NULL" for _, run, *_ in rows)
verified = sum("NULL" not in (run, verify) for _, run, verify, _ in rows)
print("%-12s %4d rows, %d of which make something, %d of these with a verifier; %d passes in tables" % ("pipeline", len(rows), made, verified, len(passes)))
for what, found in lacks.items():
    if found:
        print("pipeline: without a %s: %s" % (what, " ".join(found)))
sys.exit(any(lacks.values()) or not rows or not passes)
