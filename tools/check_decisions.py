"""What is decided before code is emitted: check_decisions.py ROOT

Counts what a schedule that is decided first does not have: there are none.

    words      pairs of words of schedule/schedule.def of which the one's needs, its last field, name the other:
               "prefetch" needs "a parameter that is packed". Inflections count, the word itself does not.
    folder     functions of type bool that emit: they make a statement (stmt_* of loops/build.h) themselves, or call
               one that does; and those that return a statement, or NULL. Their answer is most often "it did not work",
               which is decided too late.

Limits: needs are read as the text that people see, not as the code that checks them. Calls are found by name,
in the file and else among the functions of its folder that are not static: one through a pointer is missed. A failure
that is a code is missed; a function that answers something else ("was anything changed?") is counted."""
import glob
import os
import re
import sys

FOLDERS = ["lower", "transform", "loops/vector"]  # with the folders in them
ENDINGS = "(?:s|es|ed|ped|d|ing|ping)?"
row = re.compile(r'^CHOICE\(\w+, "(\w+)",.*?\)$', re.S | re.M)
function = re.compile(r"^(?!typedef|struct|enum|union|extern)(static )?(?:inline )?([A-Za-z_][\w\s*]*?)\b(\w+)\([^;{}]*\)\s*\{", re.M)
call = re.compile(r"\b([a-z_]\w+)\(")


def code(path):
    with open(path, encoding="utf8") as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    return re.sub(r'//[^\n]*|"(\\.|[^"\\\n])*"', '""', text)


def named(path):
    """(word, other word that its needs name)"""
    with open(path, encoding="utf8") as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    needs = {m.group(1): re.findall(r'"([^"]*)"', m.group())[-1] for m in row.finditer(text)}
    return [(word, other) for word, text in needs.items() for other in needs
            if other != word and re.search(r"\b%s%s\b" % (other, ENDINGS), text)]


def functions(text):
    """(is it static, type, name, body) of each definition"""
    for m in function.finditer(text):
        line = text[m.end():text.find("\n", m.end())]
        end = line.find("}") if line.endswith("}") else text.find("\n}", m.end()) - m.end()
        yield bool(m.group(1)), m.group(2).strip(), m.group(3), text[m.end():m.end() + end]


def emitting(folder):
    """Functions of type bool that emit, as path and name"""
    bodies = {(path, name): (static, kind, body) for path in sorted(glob.glob(folder + "/**/*.c", recursive=True))
              for static, kind, name, body in functions(code(path))}
    found = {at: (static, kind, set(call.findall(body))) for at, (static, kind, body) in bodies.items()}
    nulls = {at for at, (_, _, body) in bodies.items() if any("NULL" in told for told in re.findall(r"\breturn\b[^;]*;", body))}
    public = {name: at for at, (static, _, _) in found.items() for name in [at[1]] if not static}
    calls = {at: {(at[0], c) if (at[0], c) in found else public.get(c) for c in called}
             for at, (_, _, called) in found.items()}
    emits = {at for at, (_, _, called) in found.items() if any(c.startswith("stmt_") for c in called)}
    while True:
        more = {at for at, called in calls.items() if called & emits} - emits
        if not more:
            return sorted(at for at in emits if found[at][1] == "bool" or (found[at][1].startswith(("Stmt *", "const Stmt *")) and at in nulls))
        emits |= more


def report(label, found, what):
    """Prints the number; are there any?"""
    print("%-12s %4d %s" % (label, len(found), what))
    if found:
        print("%s: there may be none: %s" % (label, " ".join(map(":".join, found))))
    return len(found) > 0


os.chdir(sys.argv[1])
bad = report("words", named("schedule/schedule.def"), "pairs of words of which one needs the other")
for folder in FOLDERS:
    bad += report(folder, emitting(folder), "functions that emit and answer yes or no, or NULL")
sys.exit(bad > 0)
