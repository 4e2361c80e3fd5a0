"""Warnings of slips in generated programs, which are right: SEED COUNT.

A dim or a `let` is warned of where its name stands once in the text, and nowhere else. A letter that is said to stand
in one operand alone, or in the result alone, does, and `...` that is said to be missing there is. How many there are of
each kind is printed, for a thousand programs.
"""
import collections
import re
import sys

from generate import Generator
from runner import tsrc

SLIPS = {"W0204", "W0306", "W0307", "W0308", "W0309", "W0310", "W0402"}
WARNING = re.compile(r"<stdin>:(\d+):(\d+): warning: (.*) \[(W\d+)\]")


def without_texts(text):
    return re.sub(r'"[^"]*"', '""', text)


def unused_names(text):
    """Names of dims and lets that stand once outside specifications."""
    words = collections.Counter(re.findall(r"[A-Za-z_]\w*", without_texts(text)))
    declared = re.findall(r"^(?:dim|let) ([A-Za-z_]\w*)", text, re.M)
    return {name for name in declared if words[name] == 1}


def specification(line, column):
    """The text around a column, counted from 1."""
    start = line.rindex('"', 0, column - 1)
    return line[start + 1:line.index('"', column - 1)]


def letters(spec):
    """The letters of each operand, and of the result."""
    several = re.search(r"[,*+^&<]|=(?!>)", spec)
    tensors = re.sub(r"\.\.\w+\.\.", " ", spec).replace("=>", ";").split(";")
    found = [re.findall(r"[A-Za-z_]\w*" if several else r"[A-Za-z]", tensor) for tensor in tensors]
    return found[:-1], found[-1]


def is_wrong(program, line, column, message, code):
    """What is wrong with the warning, or None."""
    if code == "W0204":
        return None  # all of them are compared below
    spec = specification(program.text.splitlines()[line - 1], column)
    operands, result = letters(spec)
    name = re.search(r"'([^']*)'", message).group(1)
    having = sum(name in operand for operand in operands)
    if code == "W0307" and having == 1 and name not in result:
        return None
    if code == "W0306" and having == 0 and name in result:
        return None
    if code == "W0309" and "..." in spec and spec.partition("=>")[2].strip():
        return None
    return "%s in '%s': %s" % (code, spec, message)


def check(program, counts):
    """What is wrong with the warnings of a program, as text."""
    run = tsrc(program.text, "-fsyntax-only")
    told, wrong = set(), []
    for line, column, message, code in WARNING.findall(run.stderr):
        if code not in SLIPS:
            continue
        counts[code] += 1
        if code == "W0204":
            told.add(re.search(r"'([^']*)'", message).group(1))
        wrong.append(is_wrong(program, int(line), int(column), message, code))
    wrong = [text for text in wrong if text]
    if run.returncode == 0 and told != unused_names(program.text):
        wrong.append("told of %s, not of %s" % (sorted(told), sorted(unused_names(program.text))))
    return "\n".join(wrong)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    counts, failures = collections.Counter(), 0
    for trial in range(seed, seed + count):
        program = Generator(trial).program()
        wrong = check(program, counts)
        if wrong:
            failures += 1
            print("seed %d\n%s%s\n" % (trial, program.text, wrong))
    print("%d of %d programs are warned of what they have" % (count - failures, count))
    print("of a thousand: " + ", ".join("%s %d" % (code, 1000 * counts[code] // count) for code in sorted(SLIPS)))


if __name__ == "__main__":
    main()
