"""What messages do for single mistakes that people make: SEED COUNT [--floors SHOWN MAIN MENDED FIRST] [--verbose KIND].

Each correct program of bases.py is edited in one place. Where the compiler refuses it, four things are asked: do the
messages show the edited line, in a repair too, is it the main place of the first one, does one of the repairs that they offer give the
program back, does the first of them. A repair gives it back where the text is the old one, or compiles to the same
shapes. The rates are printed for each kind of mistake.
"""
import collections
import json
import random
import re
import sys

from bases import programs
from repairs import apply
from runner import tsrc

COLUMNS = ["shown", "main", "mended", "first"]


def spots(pattern, text, group=0, within=None):
    """The spans of a pattern's group, or those in the spans `within`."""
    spans = [(0, len(text))] if within is None else within
    return [tuple(a + i for i in m.span(group)) for a, b in spans for m in re.finditer(pattern, text[a:b])]


def strings(text):
    return spots(r'"([^"]*=>[^"]*)"', text, 1)


def shapes(text):
    return spots(r":\s*(?:\w+ )?\[([^\]]*)\]", text, 1)


def outside(spans, text):
    """Those that lie in no string."""
    quoted = spots(r'"[^"]*"', text)
    return [s for s in spans if not any(a <= s[0] and s[1] <= b for a, b in quoted)]


def one(rng, text, found, new):
    """(start, end, what stands there instead) for one of the spans, or None."""
    if not found:
        return None
    start, end = rng.choice(found)
    word = new(text[start:end])
    return None if word is None or word == text[start:end] else (start, end, word)


def other_number(rng, text):
    numbers = sorted(set(re.findall(r"\b[1-9]\d*\b", text)))
    return lambda old: rng.choice([str(int(old) + 1), str(max(int(old) - 1, 1)), str(2 * int(old)), rng.choice(numbers)])


def declared(text, keywords):
    found = re.findall(r"^(?:%s) (\w+)" % keywords, text, re.M)
    if "dim" in keywords:
        for line in re.findall(r"^dim (.*)$", text, re.M):
            found += re.findall(r"(?:^|, )(\w+)", line)
    return sorted(set(found))


def uses(names, text):
    """Where the names stand, but for their declarations and in strings."""
    if not names:
        return []
    found = spots(r"\b(?:%s)\b" % "|".join(names), text)
    return [s for s in outside(found, text)
            if not re.search(r"(^(dim|input|param|const|let|fn|output|routine) |\.)$", text[:s[0]][-20:].split("\n")[-1])
            and not (text[:s[0]].split("\n")[-1].startswith("dim ") and text[s[1]:s[1] + 2] in (", ", "\n"))]


def typo(rng, name):
    i = rng.randrange(len(name))
    kinds = [name[:i] + name[i + 1:], name[:i] + name[i] + name[i:], name[:i] + rng.choice("aeinrst") + name[i + 1:],
             name[:i] + name[i + 1:i + 2] + name[i] + name[i + 2:]]
    word = rng.choice(kinds)
    return word if re.fullmatch(r"[A-Za-z_]\w*", word) else None


# ---- kinds ----

def size(rng, text):
    places = shapes(text) + spots(r"\bwith \(([^)]*)\)", text, 1)
    return one(rng, text, spots(r"(?<![\w.])[1-9]\d*\b", text, within=places), other_number(rng, text))


def swapped_letters(rng, text):
    """Two letters of one operand or result."""
    def swap(side):
        found = [s for s in spots(r"[a-z]\w*", side) if side[max(s[0] - 1, 0):s[0]] != "."]
        if len(found) < 2:
            return None
        (a, b), (c, d) = sorted(rng.sample(found, 2))
        return side[:a] + side[c:d] + side[b:c] + side[a:b] + side[d:]
    return one(rng, text, spots(r"(?:[^;=<>-]|->|<\+\??|=\+\??)+", text, within=strings(text)), swap)


def letter(rng, text):
    """Another letter, of the same specification or of none."""
    spec = rng.choice(strings(text) or [(0, 0)])
    found = spots(r"(?<![.\w])[a-z]\w*", text, within=[spec])
    names = [text[a:b] for a, b in found]
    return one(rng, text, found, lambda old: rng.choice(names + ["z", "u"]))


def swapped_operands(rng, text):
    term = r"[\w.]+(?:\([^()]*\))?|\{[^{}]*\}"
    products = [(m.start(), m.end()) for m in re.finditer(r"(?:%s) (?:\*|/|-) (?:%s)" % (term, term), text)]
    pairs = [(m.start(1), m.end(1)) for m in re.finditer(r'(?:", |\()(\w+(?:\([^()]*\))?, \w+(?:\([^()]*\))?)\)', text)]

    def swap(both):
        m = re.fullmatch(r"(%s)( [*/-] |, )(%s)" % (term, term), both)
        return m and m.group(3) + m.group(2) + m.group(1)
    return one(rng, text, outside(products + pairs, text), swap)


def row(rng, text):
    """`...`, `|` or `->` that is lost, another sign, or on the other side of an axis."""
    places = strings(text) + shapes(text)
    kind = rng.randrange(4)
    if kind == 0:
        return one(rng, text, spots(r"\.\.\. (?:\||->) |\.\.\.(?:, )?", text, within=places), lambda old: "")
    if kind == 1:
        return one(rng, text, spots(r" ?(?:\||->)", text, within=places), lambda old: rng.choice([",", "", " |", " ->"]))
    if kind == 2:
        return one(rng, text, spots(r", \w+ (?:\||->)", text, within=places),
                   lambda old: " %s %s," % (old.split()[-1], old.split()[1]))
    return one(rng, text, spots(r"(?:\||->) \w+,", text, within=places),
               lambda old: ", %s %s" % (old.split()[1][:-1], old.split()[0]))


def mark(rng, text):
    return one(rng, text, spots(r"<\+\??|=\+\??", text, within=strings(text)),
               lambda old: rng.choice(["<+", "<+?", "=+", "=+?", "+", ""]))


def stride(rng, text):
    found = spots(r"\b\w+\*(?=\w)", text, within=strings(text))
    return one(rng, text, found, lambda old: rng.choice(["", "2*", "3*", "4*"]))


def dims_name(rng, text):
    names = declared(text, "dim")
    return one(rng, text, uses(names, text), lambda old: typo(rng, old) if rng.random() < 0.5 else rng.choice(names))


def tensor_name(rng, text):
    names = declared(text, "input|param|const|let")
    return one(rng, text, uses(names, text), lambda old: typo(rng, old) if rng.random() < 0.5 else rng.choice(names))


def function_name(rng, text):
    names = declared(text, "fn") + ["einsum", "sum", "concat", "reduce", "gather", "relu", "tanh", "exp"]
    members = spots(r"(?<=\w\.)[a-z]\w+", text)
    return one(rng, text, outside(spots(r"\b(?:%s)(?=\()" % "|".join(names), text) + members, text),
               lambda old: typo(rng, old))


def punctuation(rng, text):
    """A comma, semicolon, quotation mark or bracket that is lost, or a comma for a semicolon."""
    if rng.random() < 0.3:
        return one(rng, text, spots(r'"|[()\[\]{}]', text), lambda old: "")
    return one(rng, text, spots(r"[,;]", text), lambda old: rng.choice(["", "", {",": ";", ";": ","}[old]]))


def lost_argument(rng, text):
    found = [(m.start(), m.end()) for m in re.finditer(r", [\w.]+(?:\([^()]*\))?(?=[,)])", text)]
    first = [(m.start(1), m.end(1)) for m in re.finditer(r"\w\((\w+, )\w", text)]
    only = [(m.start(1), m.end(1)) for m in re.finditer(r"\w\((\w+)\)", text)]
    return one(rng, text, outside(found + first + only, text), lambda old: "")


def lost_line(rng, text):
    return one(rng, text, spots(r"(?m)^(?:dim|input|param|const|let|import) .*\n(?=[a-z])", text), lambda old: "")


def dtype(rng, text):
    return one(rng, text, spots(r"(?<=: )(?:i32|u8|i8|f32) (?=\[)", text),
               lambda old: rng.choice([""] + {"i32 ": ["int32 ", "int ", "f32 "], "f32 ": ["float ", "float32 "],
                                              "u8 ": ["uint8 ", "i8 "], "i8 ": ["int8 ", "u8 "]}[old]))


def configuration(rng, text):
    """A number that a function is configured with."""
    calls = spots(r"= (?:\w+\.)?\w+\(([^()]*)\)", text, 1) + spots(r"^fn \w+\(([^()]*)\)\(", text, 1)
    return one(rng, text, spots(r"\b[1-9]\d*\b", text, within=outside(calls, text)), other_number(rng, text))


def dim(rng, text):
    """Another value of a dim, a number or another dim in its place."""
    names = declared(text, "dim")
    if rng.random() < 0.4:
        return one(rng, text, spots(r"(?m)^dim .*= ([1-9]\d*)", text, 1), other_number(rng, text))
    return one(rng, text, spots(r"\b(?:%s)\b" % "|".join(names or ["-"]), text, within=shapes(text)),
               lambda old: rng.choice(names + re.findall(r"\b[1-9]\d*\b", text)))


KINDS = [size, swapped_letters, letter, swapped_operands, row, mark, stride, dims_name, tensor_name, function_name,
         punctuation, lost_argument, lost_line, dtype, configuration, dim]


# ---- what is asked ----

def mistaken(seed, bases):
    """(kind, name of the base, text, lines that may be blamed) or None."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    for _ in range(40):
        name = rng.choice(sorted(bases))
        text = bases[name]
        edit = kind(rng, text)
        if edit is None:
            continue
        start, end, word = edit
        mutated = text[:start] + word + text[end:]
        if kind is lost_line:
            lost = re.findall(r"\w+", re.sub(r"=.*|:.*| as", "", text[start:end]))[1:]
            lines = {i for i, line in enumerate(mutated.split("\n"), 1)
                     if any(re.search(r"\b%s\b" % word, line) for word in lost)}
        else:
            line = text.count("\n", 0, start) + 1
            lines = set(range(line, line + word.count("\n") + 1))
        return kind.__name__, name, mutated, lines
    return None


def places_of(message):
    return [p for p in [message] + message["notes"] if p["line"] is not None and p["file"] in ("<stdin>", "-")]


def covers(place, lines):
    return any(place["line"] <= line <= place["endLine"] for line in lines)


def same_text(a, b):
    return re.sub(r"\s", "", a) == re.sub(r"\s", "", b)


def ask(text, lines, base, base_shapes):
    """COLUMNS as truth values, and the messages; None where the program is not refused."""
    run = tsrc(text, "-fsyntax-only", "-fdiagnostics-format=json")
    if run.returncode != 1:
        return None
    messages = [m for m in json.loads(run.stderr) if m["severity"] == "error"]
    shown = any(covers(p, lines) for m in messages for p in places_of(m) + m["fixes"])
    main = any(covers(p, lines) for p in places_of(messages[0])[:1])
    mended = []
    for fix in [f for m in messages for f in m["fixes"] if f["file"] in ("<stdin>", "-")]:
        again = apply(text, fix)
        if same_text(again, base):
            mended.append(True)
            continue
        trial = tsrc(again, "--dump=shapes")
        mended.append(trial.returncode == 0 and trial.stdout == base_shapes)
    return [shown, main, any(mended), mended[:1] == [True]]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    verbose = sys.argv[sys.argv.index("--verbose") + 1:][:1] if "--verbose" in sys.argv else []
    bases = programs()
    base_shapes = {name: tsrc(text, "--dump=shapes").stdout for name, text in bases.items()}
    tally, refused = collections.defaultdict(collections.Counter), collections.Counter()
    for trial in range(seed, seed + count):
        mistake = mistaken(trial, bases)
        if mistake is None:
            continue
        kind, name, text, lines = mistake
        answers = ask(text, lines, bases[name], base_shapes[name])
        if answers is None:
            continue
        refused[kind] += 1
        for column, answer in zip(COLUMNS, answers):
            tally[kind][column] += answer
        if kind in verbose and not all(answers):
            print("---- seed %d, %s: %s\n%s" % (trial, name, " ".join(c for c, a in zip(COLUMNS, answers) if not a), text))
            print(tsrc(text, "-fsyntax-only").stderr)
    print("%-18s %6s" % ("kind", "failed"), *["%7s" % c for c in COLUMNS])
    for kind in [k.__name__ for k in KINDS]:
        if refused[kind]:
            print("%-18s %6d" % (kind, refused[kind]), *["%6.0f%%" % (100 * tally[kind][c] / refused[kind]) for c in COLUMNS])
    all_rates = [100 * sum(t[c] for t in tally.values()) / refused.total() for c in COLUMNS]
    print("%-18s %6d" % ("all", refused.total()), *["%6.1f%%" % rate for rate in all_rates])
    if "--floors" in sys.argv:
        floors = [float(f) for f in sys.argv[sys.argv.index("--floors") + 1:][:len(COLUMNS)]]
        print("floors: %s" % ("yes" if all(r >= f for r, f in zip(all_rates, floors)) else "no"))


if __name__ == "__main__":
    main()
