"""Programs that are one edit away from correct: SEED COUNT.

Each generated program is edited in one place. It then compiles, or fails with status 1; anything else is a bug.
Of those that fail, the edited statement must be among the places that the messages show. A statement is one line.
"""
import collections
import random
import re
import sys

from generate import Generator
from runner import codes, places, tsrc


def spots(pattern, text, group=0):
    return [m.span(group) for m in re.finditer(pattern, text)]


def in_strings(text):
    return spots(r'(?<=")[^"\n]*(?=", )', text)


def replace_one(rng, text, found, new):
    """Replaces one of the found spans by new(old). None where there is none, or nothing changes."""
    if not found:
        return None
    start, end = rng.choice(found)
    word = new(text[start:end])
    return None if word is None or word == text[start:end] else (start, end, word)


def letters(text):
    return [(a + s, a + e) for a, b in in_strings(text) for s, e in spots(r"\b[a-z]\b", text[a:b])]


def edit_size(rng, text):
    found = [(a + s, a + e) for a, b in spots(r"(?<= : )(i32 )?\[.*\]", text)
             for s, e in spots(r"\b(\d+|[nm])\b", text[a:b])]
    return replace_one(rng, text, [f for f in found if text[f[0] - 1] != "i"],
                       lambda old: rng.choice(["6", "7", "n + 2", "1"]))


def edit_letter(rng, text):
    return replace_one(rng, text, letters(text), lambda old: rng.choice("abcdez"))


def edit_swap(rng, text):
    """Two letters of one side of a specification change places."""
    sides = [(a + s, a + e) for a, b in in_strings(text) for s, e in spots(r"[^;=]+", text[a:b])]

    def swap(side):
        two = spots(r"\b[a-z]\b", side)
        if len(two) < 2:
            return None
        (a, b), (c, d) = sorted(rng.sample(two, 2))
        return side[:a] + side[c:d] + side[b:c] + side[a:b] + side[d:]
    return replace_one(rng, text, sides, swap)


def edit_operator(rng, text):
    code = spots(r" (\.\*|\*|\+|-|<|max) (?=[a-z])", text, 1)
    strings = in_strings(text) + spots(r"\[.*?\]", text)
    outside = [c for c in code if not any(a <= c[0] < b for a, b in strings)]
    return replace_one(rng, text, outside, lambda old: rng.choice(["*", ".*", "+", "@", ".+"]))


def edit_separator(rng, text):
    strings = [(a + s, a + e) for a, b in in_strings(text) + spots(r"(?<= : )\[.*\]", text)
               for s, e in spots(r"\||->|;|,|=>", text[a:b])]
    return replace_one(rng, text, strings, lambda old: rng.choice(["|", "->", ",", ";", ""]))


def edit_row(rng, text):
    return replace_one(rng, text, spots(r"\.\.\.( [|,])?|\.\..\w+\.\.", text), lambda old: rng.choice(["", "..", "..."]))


def edit_mark(rng, text):
    return replace_one(rng, text, spots(r"<\+\??|=\+\??", text), lambda old: rng.choice(["<+", "=+", "+", "<+?", "=>"]))


def edit_axis(rng, text):
    found = [(a + s, a + e) for a, b in in_strings(text) for s, e in spots(r"[a-z0-9],? ?|, [a-z]", text[a:b])]
    return replace_one(rng, text, found, lambda old: "")


def edit_name(rng, text):
    found = spots(r"\b[xt]\d+\b|\b(relu|tanh|sum|einsum|concat|reshape|stack|gather|argmax|where)\b", text)
    return replace_one(rng, text, found, lambda old: rng.choice([old + "x", old[0] + "q" + old[1:], old.upper()]))


def edit_operand(rng, text):
    """Another tensor in a tensor's place, one argument fewer, or an operand transposed."""
    names = re.findall(r"\b[xt]\d+\b", text)
    uses = [s for s in spots(r"\b[xt]\d+\b", text) if text[s[1]:s[1] + 3] not in (" : ", " = ")]
    kind = rng.randrange(3)
    if kind == 0:
        return replace_one(rng, text, spots(r", [xt]\d+", text), lambda old: "")
    return replace_one(rng, text, uses, lambda old: rng.choice(names) if kind == 1 else old + ".T")


def edit_number(rng, text):
    found = spots(r"(?<=k = )\d|(?<=@ )\d|(?<=-> )\d(?=\])|(?<=\()\d(?=\))", text)
    return replace_one(rng, text, found, lambda old: rng.choice(["0", "7", "-1", "x"]))


EDITS = [edit_size, edit_size, edit_letter, edit_swap, edit_operator, edit_separator, edit_row, edit_mark, edit_axis,
         edit_name, edit_operand, edit_number]


def mutated(seed):
    """(kind, text, first line and last column of the edit) or None."""
    rng = random.Random(seed)
    text = Generator(seed).program().text
    for _ in range(20):
        edit = rng.choice(EDITS)
        found = edit(rng, text)
        if found:
            start, end, word = found
            line = text.count("\n", 0, start) + 1
            column = start - text.rfind("\n", 0, start)
            return edit.__name__[5:], text[:start] + word + text[end:], line, (column, column + max(len(word), 1))
    return None


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    failed, shown, exact, broken = 0, 0, 0, 0
    misses = collections.Counter()
    for trial in range(seed, seed + count):
        mutation = mutated(trial)
        if mutation is None:
            continue
        kind, text, line, (start, end) = mutation
        run = tsrc(text, "-fsyntax-only", "-fdiagnostics-format=json")
        if run.returncode not in (0, 1):
            broken += 1
            print("seed %d (%s at line %d): status %d\n%s%s" % (trial, kind, line, run.returncode, text, run.stderr))
        if run.returncode != 1:
            continue
        failed += 1
        here = [p for p in places(run.stderr) if p[0] <= line <= p[2]]
        shown += bool(here)
        exact += any((p[0], p[1]) <= (line, end) and (line, start) <= (p[2], p[3]) for p in here)
        if not here:
            misses[kind, codes(run.stderr)[0]] += 1
            if "--verbose" in sys.argv:
                print("seed %d (%s at %d:%d)\n%s" % (trial, kind, line, start, text))
                print(tsrc(text, "-fsyntax-only").stderr)
    for (kind, code), n in sorted(misses.items()):
        print("missed %d: %s, %s" % (n, kind, code))
    print("%d of %d edits fail; %d show the edited statement, %d the very place" % (failed, count, shown, exact))
    print("crashes: %d; at least 99 %%: %s" % (broken, "yes" if shown >= 0.99 * failed else "no"))


if __name__ == "__main__":
    main()
