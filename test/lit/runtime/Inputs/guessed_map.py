"""Holds what `tsr map` guesses against a map that was written: guessed_map.py TSR MODULE WEIGHTS MAP.

Prints how many of the module's parameters get the array that the map has for them."""
import re
import subprocess
import sys

tsr, module, weights, path = sys.argv[1:]


def lines_of(text):
    """(ours, theirs) of each line, theirs behind the prefix."""
    prefix, found = "", []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["prefix"]:
            prefix = words[1]
        elif len(words) > 2 and words[1] == "=":
            found.append((words[0], prefix + words[2]))
    return found


def theirs_of(name, lines):
    """The names that the lines have for a parameter."""
    found = []
    for ours, theirs in lines:
        match = re.fullmatch(re.sub(r"\\\{(\w)\\\}", r"(?P<\1>\\d+)", re.escape(ours)), name)
        if match:
            found.append(re.sub(r"\{(\w)(?:\+(\d+))?\}", lambda hole: str(int(match[hole[1]]) + int(hole[2] or 0)), theirs))
    return found


info = subprocess.run([tsr, "info", module], capture_output=True, text=True, check=True).stdout
names = re.findall(r"^  param (\S+) :", info, re.M)
guess = lines_of(subprocess.run([tsr, "map", module, weights], capture_output=True, text=True).stdout)
written = lines_of(open(path, encoding="utf8").read())
right = 0
for name in names:
    ours, wanted = theirs_of(name, guess)[:1], theirs_of(name, written)
    good = bool(ours) and any(ours[0] == one or one.endswith("." + ours[0]) for one in wanted)
    right += good
    if not good:
        print("%s: guessed %s, wanted %s" % (name, ours, wanted))
print("%d of %d right" % (right, len(names)))
