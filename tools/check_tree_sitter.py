"""Holds editors/tree-sitter against the compiler: check_tree_sitter.py TSRC MUTANTS FILE.tsr...

The grammar must be free of conflicts, its words must be the compiler's, and the queries may name only what it has.
The trees of test/corpus must be what stands there. A file is refused where the compiler's parser refuses it, else its
leaves must be the tokens that --dump=tokens has; the same of MUTANTS files with one token changed at random."""
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

import check_syntax
import tree_sitter

HERE = os.path.join(check_syntax.ROOT, "editors/tree-sitter")
# What the parser says of a text; other messages are of texts that it could read.
REFUSES = re.compile(r":(\d+):(\d+): error: .*\[E01(?:01|02|03|04|05|07|15|16|17|18|19)\]$", re.M)


def check_words(grammar):
    """The grammar's words against lexer/tokens.def: contextual keywords are not reserved."""
    table = check_syntax.read("lexer/tokens.def").split("#ifdef SPEC_TOKEN")[0]
    rows = re.findall(r"^TOKEN\(\w+,\s*\"'(.+)'\",\s*(\w)\)", table, re.M)
    words = {text: kind for text, kind in rows if re.fullmatch(r"[a-z_]+", text)}
    reserved = {text for text, kind in words.items() if kind != "C"} | check_syntax.CONSTANTS
    symbols = {text for text, kind in rows if kind != "X"} | check_syntax.CONSTANTS
    theirs = grammar.strings - {'"', "=:"}
    only = "'%s' is %s only in one of grammar.js, tokens.def"
    return [only % (text, "a token") for text in sorted(symbols ^ theirs)] + [
        only % (text, "reserved") for text in sorted(reserved ^ grammar.reserved)]


def check_query(grammar, path):
    with open(path, encoding="utf8") as file:
        text = re.sub(r";[^\n]*", "", file.read().replace('";"', '"semicolon"'))
    names = path[len(HERE) + 1 :]
    sets = {kind: set(re.findall(r'"(\w+)"', words))
            for kind, words in re.findall(r"#any-of\? @([\w.]+)([^)]*)\)", text)}
    plain = re.sub(r"\(#[^)]*\)", "", text)
    bad = ["%s: no node '%s'" % (names, name) for name in set(re.findall(r"\((\w+)", plain)) - grammar.nodes]
    bad += ["%s: no field '%s'" % (names, name) for name in set(re.findall(r"(\w+):", plain)) - grammar.fields]
    strings = {word.replace("semicolon", ";") for word in re.findall(r'"([^"]+)"', plain)}
    bad += ["%s: no token '%s'" % (names, word) for word in strings - grammar.strings]
    if path.endswith("highlights.scm"):
        compiler = check_syntax.compiler_words()
        wanted = {"type.builtin": compiler["type"], "function.builtin": compiler["function"]}
        bad += ["%s: %s '%s' is only here, or only in the compiler" % (names, kind, word)
                for kind, words in wanted.items() for word in sorted(words ^ sets.get(kind, set()))]
        bad += ["%s: '%s' has no colour" % (names, word)
                for word in sorted(grammar.keywords - strings - check_syntax.CONSTANTS - {"_"})]
    return bad


def check_corpus(grammar, path):
    """Cases as `tree-sitter test` reads them: a title between lines of `=`, a text, `---`, its tree."""
    with open(path, encoding="utf8") as file:
        cases = re.findall(r"^=+\n(.*)\n=+\n((?:.*\n)*?)---+\n((?:(?!===).*\n)*)", file.read(), re.M)
    bad = [] if cases else ["%s has no cases" % path]
    for title, text, tree in cases:
        parsed = tree_of(grammar, text)
        got = tree_sitter.expression(parsed) if parsed else "no tree"
        if got != re.sub(r"\s+", " ", tree).strip():
            bad.append("%s: %s" % (title, got))
    return bad


def compiler_refuses(tsrc, path):
    said = subprocess.run([tsrc, "--stop=ast", path], capture_output=True, text=True, errors="replace")
    return [(int(line), int(column)) for line, column in REFUSES.findall(said.stderr)]


def tree_of(grammar, text):
    try:
        return grammar.parse(text)
    except tree_sitter.SyntaxProblem:
        return None


def line_column(text, at):
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def check_file(grammar, tsrc, path):
    with open(path, encoding="utf8", newline="") as file:
        text = file.read().removeprefix("\ufeff")
    tree = tree_of(grammar, text)
    leaves = tree_sitter.leaves(tree) if tree else []
    places = [(line_column(text, start), line_column(text, end)) for start, end in leaves]
    in_specification = lambda place: any(start < place < end for start, end in places)
    if not all(map(in_specification, compiler_refuses(tsrc, path))):
        return ["%s: the compiler's parser refuses this" % path] if tree else []
    if not tree:
        return ["%s: the compiler's parser takes this" % path]
    dump = subprocess.run([tsrc, "--dump=tokens", "--stop=tokens", path], capture_output=True, text=True).stdout
    wanted = [(int(line), int(column)) for line, column in re.findall(r"^(\d+):(\d+) (?!END)", dump, re.M)]
    got = [start for start, _ in places]
    wrong = [pair for pair in zip(got, wanted) if pair[0] != pair[1]]
    if wrong or len(got) != len(wanted):
        return ["%s: %d leaves, %d tokens, first differing %s" % (path, len(got), len(wanted), wrong[:1])]
    return []


def mutant(draw, text, places, words):
    """The text with a token doubled, replaced, or exchanged with the next one, or both of them left out."""
    i = draw.randrange(len(places) - 1)
    (start, end), (second, last) = places[i : i + 2]
    token, other = text[start:end], text[second:last]
    between = text[end:second] or " "
    new = draw.choice([" ", token + " " + token + between + other, other + between + token,
                       draw.choice(words) + between + other, token + between + draw.choice(words) + " " + other])
    return text[:start] + " " + new + " " + text[last:]


def check_mutants(grammar, tsrc, paths, n):
    draw, bad, refused = random.Random(1), [], 0
    texts = []
    for path in paths:
        with open(path, encoding="utf8") as file:
            text = file.read()
        tree = tree_of(grammar, text)
        if tree and tree.children and len(text) < 4000 and not compiler_refuses(tsrc, path):
            texts.append((text, tree_sitter.leaves(tree)))
    words = sorted(grammar.strings - {'"'}) + ["x", "2", "1.5", '"i => i"', "...", "..r.."]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "mutant.tsr")
        for _ in range(n):
            text = mutant(draw, *draw.choice(texts), words)
            with open(path, "w", encoding="utf8") as file:
                file.write(text)
            refuses = bool(compiler_refuses(tsrc, path))
            refused += refuses
            if refuses != (tree_of(grammar, text) is None):
                bad.append("the compiler %s this, the grammar does not:\n%s" % (["takes", "refuses"][refuses], text))
    return bad, refused


def main():
    tsrc, mutants, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    grammar = tree_sitter.Grammar(os.path.join(HERE, "grammar.js"))
    bad = ["conflict: " + text for text in grammar.conflicts] + check_words(grammar)
    for path in sorted(glob.glob(os.path.join(HERE, "queries/*.scm"))):
        bad += check_query(grammar, path)
    for path in sorted(glob.glob(os.path.join(HERE, "test/corpus/*.txt"))):
        bad += check_corpus(grammar, path)
    for path in files:
        bad += check_file(grammar, tsrc, path)
    wrong, refused = check_mutants(grammar, tsrc, files, mutants)
    bad += wrong
    print("\n".join(bad[:20]))
    print("%d files, %d changed ones of which %d are refused: %d wrong" % (len(files), mutants, refused, len(bad)))
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
