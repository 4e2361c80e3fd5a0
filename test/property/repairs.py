"""Every repair that a message prints mends what the message says: FILES, or --mutations SEED COUNT.

Each replacement is applied alone; where a message offers several they are alternatives. Fewer such messages must then
stand on the line. Programs come from FILES (parts of a split file, CASES of a Python file, the failing examples of
diag.def) or are generated ones with one edit. --verbose shows repairs behind which something is left.
"""
import ast
import collections
import json
import os
import re
import sys

from mutate import mutated
from runner import tsrc

HEAVY = re.compile(r"[0-9]{8,}|(.)\1{400}")     # programs about limits


def apply(text, fix):
    """The program with the replacement in its place."""
    lines = text.encode().split(b"\n")
    start, end = (sum(len(line) + 1 for line in lines[:fix[l] - 1]) + column_bytes(lines[fix[l] - 1], fix[c])
                  for l, c in (("line", "column"), ("endLine", "endColumn")))
    data = text.encode()
    return (data[:start] + fix["replacement"].encode() + data[end:]).decode()


def column_bytes(line, column):
    return len(line.decode(errors="replace")[:column - 1].encode())


def messages(text):
    run = tsrc(text, "-fsyntax-only", "-fdiagnostics-format=json")
    return [m for m in json.loads(run.stderr or "[]")] if run.returncode in (0, 1) else None


def is_mended(message, before, after):
    """There are fewer such messages on that line, or none. Of a name that is not known the first use is told, and
    mended: the next one on the line may be told then."""
    keys = ["code", "line", "message"] + ["column"] * (message["code"] == "E0201")
    same = [sum(all(m[key] == message[key] for key in keys) for m in messages) for messages in (before, after)]
    return same[1] < same[0]


def check(text, tally, where):
    before = messages(text)
    errors = [m for m in before or [] if m["severity"] == "error"]
    for message in before or []:
        for fix in message.get("fixes", []):
            if fix["file"] not in ("<stdin>", "-"):
                continue
            mended = apply(text, fix)
            after = messages(mended)
            failed = None if after is None else [m for m in after if m["severity"] == "error"]
            if after is None or not is_mended(message, before, after):
                result = "useless"
            elif not failed:
                result = "compiles"
            elif len(failed) < len(errors):
                result = "fewer"
            else:
                result = "others"
            tally[message["code"], result] += 1
            if result in ("useless", "others") and "--verbose" in sys.argv:
                print("---- %s: %s: %s\n%s\n%s: %s\n  fix: %s -> %r\n%s" % (
                    where, result, message["code"], text, message["line"], message["message"], fix["message"],
                    fix["replacement"], "\n".join("  now %s %s: %s" % (m["code"], m["line"], m["message"]) for m in failed or [])))


def programs(path):
    with open(path) as source:
        text = source.read()
    if path.endswith(".py"):
        for case in ast.literal_eval(re.search(r"^CASES = (\[.*?^\])", text, re.S | re.M).group(1)):
            yield "%s %s" % (path, case[0]), case[1] + "\n"
    elif path.endswith(".def"):
        for bad in re.findall(r'^     ((?:"(?:[^"\\]|\\.)*"\s*)+),\s*(?:"(?:[^"\\]|\\.)*"\s*)+\)', text, re.M):
            yield path, ast.literal_eval("(" + bad + ")")
    elif path.endswith((".test", ".tsr")):
        parts = re.split(r"^#--- (.*)\n", text, flags=re.M)
        for name, part in zip(parts[1::2], parts[2::2]) if len(parts) > 1 else [("", text)]:
            if name.endswith(".tsr") or path.endswith(".tsr"):
                yield "%s %s" % (path, name), re.sub(r"^# [A-Z-]+: .*\n", "", part, flags=re.M)


def main():
    tally = collections.Counter()
    if "--mutations" in sys.argv:
        seed, count = (int(a) for a in sys.argv[sys.argv.index("--mutations") + 1:][:2])
        for trial in range(seed, seed + count):
            mutation = mutated(trial)
            if mutation:
                check(mutation[1], tally, "seed %d" % trial)
    else:
        for path in filter(os.path.isfile, sys.argv[1:]):
            for where, text in programs(path):
                if not HEAVY.search(text):
                    check(text, tally, where)
    for (code, result), n in sorted(tally.items()):
        print("%s: %s %d" % (code, result, n))
    count = collections.Counter()
    for (_, result), n in tally.items():
        count[result] += n
    print("%d repairs: %d make the program compile, %d leave other errors, %d do not mend what is said"
          % (count.total(), count["compiles"], count["fewer"] + count["others"], count["useless"]))


if __name__ == "__main__":
    main()
