"""Files of a folder that call each other in a circle: check_circles.py ROOT

For each folder with C sources: files, lines, the largest circle, that is the most files of which each reaches all others
through calls, functions of more than 60 lines, and the most declarations of a header, folders in it included. A header
counts with the .c file of its name; calls are found by name. A circle may have 8 files and a header 40 declarations."""
import glob
import os
import re
import sys

MOST, LONG, MOST_DECLARATIONS = 8, 60, 40
FOLDERS = ["."] + "base lexer grammar frontend infer reference tensor target sums loops loops/vector schedule transform transform/gpu lower lower/gen lower/nest lower/tile lower/along lower/naive codegen verify driver tune runtime runtime/cuda".split()
function = re.compile(r"^(static )?(?!typedef|struct|enum|union|extern)[A-Za-z_][\w\s*]*?\b(\w+)\(", re.M)
word = re.compile(r"\b([a-z_]\w+)\(")


def code(path):
    with open(path, encoding="utf8") as source:
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), source.read(), flags=re.S)
    return re.sub(r'//[^\n]*|"(\\.|[^"\\\n])*"', '""', text)


def functions(text):
    """[name, is it static, lines] of each definition"""
    found = []
    for m in function.finditer(text):
        brace, end = text.find("{", m.end()), text.find(";", m.end())
        if 0 <= brace and (end < 0 or brace < end):
            line = text[brace:text.find("\n", brace)]  # of a function on one line, all of it
            last = brace if line.endswith("}") else text.find("\n}", brace)
            found.append((m.group(2), bool(m.group(1)), text.count("\n", m.start(), last)))
    return found


def declarations(path):
    """Of types, constants, variables and functions, inline ones too, at the top of a header."""
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*$", "", code(path), flags=re.M)
    while "{" in text:
        text, before = re.sub(r"\{[^{}]*\}", "@", text), text
        if text == before:
            break
    return sum(1 for part in re.split(r";|@(?!\s*[\w;])", text) if part.strip())


def largest_circle(nodes, calls):
    """Tarjan's algorithm: the largest strongly connected component"""
    index, low, stack, largest = {}, {}, [], []

    def visit(at):
        nonlocal largest
        index[at] = low[at] = len(index)
        stack.append(at)
        for to in sorted(calls[at] & nodes):
            if to not in index:
                visit(to)
            if to in stack:
                low[at] = min(low[at], low[to])
        if low[at] == index[at]:
            part = stack[stack.index(at):]
            del stack[stack.index(at):]
            largest = max(largest, part, key=len)
    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return largest


os.chdir(sys.argv[1])
sys.setrecursionlimit(10000)
files = {folder: set(os.path.normpath(p) for p in glob.glob(folder + ("/*.c" if folder == "." else "/**/*.c"), recursive=True)) for folder in FOLDERS}
texts = {path: code(path) for group in files.values() for path in group}
defined = {path: functions(text) for path, text in texts.items()}
owner = {name: path for path, found in defined.items() for name, static, _ in found if not static}
own = {path: {name for name, _, _ in found} for path, found in defined.items()}
calls = {path: {owner[w] for w in word.findall(text) if w in owner and w not in own[path]} for path, text in texts.items()}
bad = 0
print("%-12s %6s %7s %15s %8s %15s" % ("folder", "files", "lines", "largest circle", "over %d" % LONG, "largest header"))
for folder, group in files.items():
    circle = largest_circle(group, calls)
    n, most = len(circle) if len(circle) > 1 else 0, MOST
    lengthy = [name for path in sorted(group) for name, _, lines in defined[path] if lines > LONG]
    headers = {path: declarations(path) for path in sorted(glob.glob(folder + ("/*.h" if folder == "." else "/**/*.h"), recursive=True))}
    declared = max(headers.values(), default=0)
    print("%-12s %6d %7d %15d %8d %15d" % (folder, len(group), sum(texts[p].count("\n") for p in group), n, len(lengthy), declared))
    for path in [path for path, count in headers.items() if count > MOST_DECLARATIONS]:
        print("%s: %d declarations, at most %d" % (path, headers[path], MOST_DECLARATIONS))
        bad += 1
    if n > most:
        print("%s: the largest circle has %d files, %d are counted: %s" % (folder, n, most, " ".join(sorted(circle))))
        bad += n > most
    for name in lengthy:
        print("%s: %s has more than %d lines" % (folder, name, LONG))
        bad += 1
sys.exit(bad > 0)
