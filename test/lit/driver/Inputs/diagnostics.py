"""Holds the rows of base/diag.def, in one file, against the compiler: --explain has a text for every code, the failing example gives the
code, and the mended one compiles without it."""
import re
import subprocess
import sys
import tempfile

tsrc, table = sys.argv[1:3]
text = open(table, encoding="utf8").read()
text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
STRING = r'"(?:[^"\\]|\\.)*"'
FIELD = r"((?:%s\s*)+|NULL)" % STRING
ROW = re.compile(r"DIAG\((\w+),\s*(\w+),\s*%s,\s*%s,\s*%s,\s*%s,\s*%s\)" % ((FIELD,) * 5))


def value(field):
    if field.strip() == "NULL":
        return None
    return "".join(eval(s) for s in re.findall(STRING, field))


def compile_text(source, name):
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/example.tsr"
        with open(path, "w", encoding="utf8", newline="") as out:
            out.write(source)
        options = ["-Wall", "-O0"] + (["-W" + name] if name else [])
        run = subprocess.run([tsrc, *options, path, "-o", directory + "/m.c"], capture_output=True, text=True,
                             cwd=directory)
        return run.returncode, run.stderr


rows = ROW.findall(text)
if len(rows) != text.count("DIAG("):
    sys.exit("%d rows read, %d there" % (len(rows), text.count("DIAG(")))
examples = wrong = 0


def complain(what):
    global wrong
    wrong += 1
    print(what)


for code, severity, name, title, long_text, bad, good in rows:
    run = subprocess.run([tsrc, "--explain=" + code], capture_output=True, text=True)
    if run.returncode != 0 or value(title) not in run.stdout or len(value(long_text)) < 40:
        complain("%s: no long text" % code)
    if value(bad) is None:
        continue
    examples += 1
    status, messages = compile_text(value(bad), value(name))
    if "[%s]" % code not in messages or status != (1 if severity == "ERROR" else 0):
        complain("%s: the failing example gives status %d\n%s\n%s" % (code, status, value(bad), messages))
    if value(good) is not None:
        status, messages = compile_text(value(good), value(name))
        if "[%s]" % code in messages or status != 0:
            complain("%s: the mended example gives status %d\n%s\n%s" % (code, status, value(good), messages))
print("%d diagnostics, %d with examples, %d wrong" % (len(rows), examples, wrong))
