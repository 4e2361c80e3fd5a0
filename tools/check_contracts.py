"""What a caller must keep to is said where it reads it: check_contracts.py ROOT

Counts functions of headers without a comment, and those whose comment in the header does not say `Requires` while
their definition has a REQUIRE, or an assert, that names a parameter, or indexes an array by a number that it is passed
and compares with nothing: there are none of either. Ids (NodeId, BufferId, ...) and enumerators are always those of
what they are passed with, which no comment repeats.

Limits: a comment above counts for all declarations that follow it without a blank line between them, a comment behind
a declaration for this one alone. An order of calls is not seen."""
import glob
import os
import re
import sys

FOLDERS = ["base", "lexer", "grammar", "frontend", "infer", "tensor", "schedule", "lower", "loops", "transform", "codegen",
           "runtime", "reference", "driver", "target", "tune", "sums", "verify"]  # with the folders in them
declaration = re.compile(r"^(?!typedef|VEC\()[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}]*)\)[^;{}()]*;", re.M)
function = re.compile(r"^(?!static|typedef|struct|enum|union)[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}]*)\)\s*\{", re.M)
comment = re.compile(r"^/[*/]", re.M)  # not one within a structure
number = re.compile(r"^\s*(?:const )?(?:u?int\d*(?:_t)?|size_t|unsigned) (\w+)$")
required = re.compile(r"\b(?:REQUIRE|assert)\(([^;]*)\);")


def read(path):
    with open(path, encoding="utf8") as source:
        return source.read()


def declared(text):
    """name: its declaration with the comment above it, of the same paragraph"""
    return {m.group(1): text[max(text.rfind("\n\n", 0, m.start()), text.rfind("/*", 0, m.start()), 0):m.end()]
            for m in declaration.finditer(text)}


def uncommented(path):
    """Names of functions that a header declares without a comment above them or behind them"""
    text = read(path)
    for m in declaration.finditer(text):
        above = text[max(text.rfind("\n\n", 0, m.start()), 0):m.start()]
        behind = text[m.start():text.find("\n", m.end())]
        if not comment.search(above) and "/*" not in behind and "//" not in behind:
            yield m.group(1)


def indexes(body, name):
    """Does it index an array by the number, and compare it with nothing?"""
    compared = r"\b%s\s*(?:[<>]=?|[=!]=)|[<>]=?\s*%s\b" % (name, name)
    return "[%s]" % name in body and not re.search(compared, body)


def demanding(text):
    """Names of functions that require something of a parameter"""
    for m in function.finditer(text):
        line = text[m.end():text.find("\n", m.end())]
        body = line if line.endswith("}") else text[m.end():text.find("\n}", m.end())]
        names = {name for part in m.group(2).split(",") for name in re.findall(r"(\w+)(?:\[\w*\])?\s*$", part)}
        if any(names & set(re.findall(r"\w+", told)) for told in required.findall(body)):
            yield m.group(1)
        elif any(indexes(body, found.group(1)) for found in map(number.match, m.group(2).split(",")) if found):
            yield m.group(1)


def missing(folder):
    """(header, name), in order"""
    files = sorted(glob.glob(folder + "/**/*.[ch]", recursive=True))
    found = {name for path in files for name in demanding(read(path))}
    return [(path, name) for path in files if path.endswith(".h") for name, text in declared(read(path)).items()
            if name in found and "Requires" not in text]


os.chdir(sys.argv[1])
silent = [at for folder in FOLDERS for at in missing(folder)]
for at in silent:
    print("%s: %s requires something of its caller, and does not say so" % at)
bare = [(path, name) for folder in FOLDERS for path in sorted(glob.glob(folder + "/**/*.h", recursive=True))
        for name in uncommented(path)]
for at in bare:
    print("%s: %s has no comment" % at)
print("contracts      %d functions of headers that require what their comment does not say, %d without a comment"
      % (len(silent), len(bare)))
sys.exit(bool(silent or bare))
