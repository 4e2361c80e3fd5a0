"""Numbers about hardware stand in target/ alone: check_target.py ROOT

Reads the enumerators and #defines of lower/, transform/, loops/ and codegen/ that are numbers. One whose name, or the comment above or
beside it, speaks of hardware (caches, lines, lanes, vectors, registers, cycles, threads ...) belongs into
target/target.def, unless tools/target_allowed.txt says what else it is. Of the others, those of 16 and more are counted: a
threshold that was found by measuring is likely among them. Their number may only fall."""
import glob
import os
import re
import sys

MOST = {"sums": 1, "lower": 22, "transform": 9}  # of 16 and more: as many as there were when they were counted last
FOLDERS = ["sums", "lower", "transform", "loops", "codegen"]
LARGE = 16
WORDS = ("cache caches line lines way ways page pages lane lanes vector vectors register registers port ports cycle cycles "
         "latency fma simd prefetch prefetched fetch thread threads processor processors machine").split()
item = re.compile(r"/\*.*?\*/|^[ \t]*#define +(\w+) +([^\n/]+)|\benum\b[^{};()]*\{", re.S | re.M)
number = re.compile(r"[\d\sxXa-fA-FuUlL()+*<|-]+")


def value_of(text):
    """The number that an expression of digits, + - * | << is; None: it is none"""
    text = re.sub(r"\((u?int\d+_t)\)|(?<=\d)[uUlL]+\b", "", text).strip()
    if not number.fullmatch(text) or not re.search(r"\d", text):
        return None
    try:
        return int(eval(text, {"__builtins__": {}}))
    except (SyntaxError, NameError, TypeError):
        return None


def numbers_of(path):
    """(name, value, comment) of each enumerator with a value, and of each #define of a number"""
    with open(path, encoding="utf8") as source:
        text = source.read()
    before, end, found, at = "", 0, [], 0
    while True:
        m = item.search(text, at)
        if not m:
            return found
        at = m.end()
        if m.group().startswith("/*"):
            before, end = m.group(), m.end()
            continue
        above = before if text[end:m.start()].strip() == "" and "\n\n" not in text[end:m.start()] else ""
        if m.group(1):
            beside = re.match(r"[^\n]*", text[at:]).group()
            found.append((m.group(1), value_of(m.group(2)), above + beside))
            end = at
            continue
        close = text.find("}", at)
        body, rest = text[at:close], re.match(r"[^\n]*", text[close:]).group()
        at = close
        end = close + len(rest)  # a comment serves the enumerations below it, up to an empty line
        for line in re.finditer(r"(\w+)\s*=\s*([^,/\n]+)[^\n]*", body):
            own = re.search(r"/\*.*", line.group())
            for name, value in re.findall(r"(\w+)\s*=\s*([^,/]+)", re.sub(r"/\*.*", "", line.group())):
                found.append((name, value_of(value), above + (own.group() if own else "") + rest))


os.chdir(sys.argv[1])
allowed = {}
with open("tools/target_allowed.txt", encoding="utf8") as rows:
    for row in rows:
        if row.strip() and not row.startswith("#"):
            path, name, why = row.split(None, 2)
            allowed[path, name] = why.strip()
bad, seen, large = 0, set(), {}
for folder in FOLDERS:
    for path in sorted(glob.glob(folder + "/**/*.[ch]", recursive=True)):
        for name, value, comment in numbers_of(path):
            if value is None:
                continue
            if (os.path.basename(path), name) in allowed:
                seen.add((os.path.basename(path), name))
                continue
            words = set(re.findall(r"[a-z]+", (name.replace("_", " ") + " " + comment).lower())) & set(WORDS)
            if words:
                print("%s: %s = %d speaks of hardware (%s): its place is target/target.def; or "
                      "tools/target_allowed.txt says what it is" % (path, name, value, ", ".join(sorted(words))))
                bad += 1
            elif value >= LARGE:
                large.setdefault(folder, []).append("%s:%s" % (path, name))
for path, name in sorted(set(allowed) - seen):
    print("tools/target_allowed.txt: %s has no number %s" % (path, name))
    bad += 1
for folder in FOLDERS:
    n, most = len(large.get(folder, [])), MOST.get(folder)
    print("%-10s %6d numbers of %d and more that speak of no hardware%s"
          % (folder, n, LARGE, "" if most is None else " (at most %d)" % most))
    if most is not None and n < most:
        print("%s: fewer than were counted: lower MOST in tools/check_target.py" % folder)
    if most is not None and n > most:
        print("%s: more than were counted: %s" % (folder, " ".join(large[folder])))
        bad += 1
print("%-10s %6d numbers that seem to be of hardware and are not, by tools/target_allowed.txt" % ("allowed", len(seen)))
sys.exit(bad > 0)
