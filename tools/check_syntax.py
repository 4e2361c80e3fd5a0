"""Holds the editors' syntax files against the compiler: check_syntax.py TSRC FILE.tsr...

Their words must be those of the compiler's tables. Then every token of the files, as --dump=tokens has them, must
be what the TextMate grammar, and Vim where there is one, make of its place. Prints how many tokens were compared."""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VIM = os.path.join(ROOT, "editors/vim/syntax/tsr.vim")
TEXTMATE = os.path.join(ROOT, "editors/vscode/syntaxes/tsr.tmLanguage.json")
CONSTANTS = {"inf", "nan", "pi"}
# The classes of words: of the TextMate grammar, of Vim.
CLASSES = {
    "keyword": ("keyword.control", ("tsrStatement", "tsrKeyword")),
    "type": ("storage.type", ("tsrType",)),
    "function": ("support.function", ("tsrFunction",)),
    "constant": ("constant.language", ("tsrConstant",)),
    "number": ("constant.numeric", ("tsrNumber",)),
    "string": ("string.quoted", ("tsrString",)),
    "name": ("variable", ("",)),
}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf8") as source:
        return source.read()


def compiler_words():
    types = set(re.findall(r'^DTYPE\(\w+,\s*"(\w+)"', read("base/dtype.def"), re.M))
    functions = set(re.findall(r'^OP\(\w+,\s*"(\w+)",\s*\d,\s*F', read("base/ops.def"), re.M))
    functions |= set(re.findall(r'^FORM\((\w+), \d+, \w+, \w+, "\1\(', read("frontend/forms.def"), re.M))
    keywords = set(re.findall(r"^TOKEN\(\w+,\s*\"'([a-z]+)'\"", read("lexer/tokens.def"), re.M))
    return {"keyword": keywords, "type": types, "function": functions - types, "constant": CONSTANTS}


def vim_words():
    words = {}
    for group, line in re.findall(r"^syntax keyword (\w+) (.*)$", read(VIM), re.M):
        words.setdefault(group, set()).update(line.split())
    return words


def textmate_words(rules):
    found = {}
    for rule in rules:
        alternatives = re.fullmatch(r"\\b\(([\w|]+)\)\\b", rule.get("match", ""))
        if alternatives:
            found[rule["name"]] = set(alternatives[1].split("|"))
    return found


def check_words(rules):
    bad = []
    textmate, vim = textmate_words(rules), vim_words()
    for kind, words in compiler_words().items():
        scope, groups = CLASSES[kind]
        theirs = {"TextMate": textmate[scope + ".tsr"], "Vim": set().union(*(vim[group] for group in groups))}
        for editor, has in theirs.items():
            bad += ["%s: '%s' is no %s" % (editor, word, kind) for word in sorted(has - words)]
            bad += ["%s: %s '%s' is missing" % (editor, kind, word) for word in sorted(words - has)]
    return bad


def textmate_scopes(rules, text):
    """The scope of each byte, as an editor finds it: the first rule that matches earliest; a string goes on to its end."""
    scopes = [""] * len(text)
    at = 0
    while at < len(text):
        found = None
        for rule in rules:
            match = re.compile(rule.get("match") or rule["begin"], re.M).search(text, at)
            if match and (found is None or match.start() < found[0].start()):
                found = match, rule
        if not found:
            break
        match, rule = found
        end = match.end()
        if "begin" in rule:
            end = re.compile(rule["end"]).search(text, match.end()).end()
        scopes[match.start() : end] = [rule["name"]] * (end - match.start())
        at = end
    return scopes


def vim_groups(path, places):
    """The group of each (line, column), from Vim itself; None where there is no Vim with syntax."""
    with tempfile.TemporaryDirectory() as directory:
        script, out = os.path.join(directory, "script.vim"), os.path.join(directory, "out")
        lines = ["set nocompatible", "syntax on", "syntax clear", "unlet! b:current_syntax", "source " + VIM]
        lines += ["let found = []"]
        lines += ['call add(found, synIDattr(synID(%d, %d, 1), "name"))' % place for place in places]
        lines += ['call writefile(found, "%s")' % out, "qall!"]
        with open(script, "w", encoding="utf8") as to:
            to.write("\n".join(lines))
        try:
            subprocess.run(["vim", "-N", "-u", "NONE", "-i", "NONE", "-es", "-S", script, path], timeout=60)
            with open(out, encoding="utf8") as found:
                return found.read().split("\n")
        except (OSError, subprocess.TimeoutExpired):
            return None


def kind_of(token, text, words):
    if token == "NUMBER":
        return "constant" if text in CONSTANTS else "number"
    if token == "STRING":
        return "string"
    for kind in ("keyword", "type", "function", "constant"):
        if text in words[kind]:
            return kind
    return "name" if token == "NAME" else None


def check_file(tsrc, path, rules, words):
    """What is wrong with the places of one file's tokens, and how many were compared."""
    with open(path, encoding="utf8") as source:
        text = source.read()
    starts = [0] + [at + 1 for at, byte in enumerate(text) if byte == "\n"]
    dump = subprocess.run([tsrc, "--dump=tokens", "--stop=tokens", path], capture_output=True, text=True).stdout
    tokens = [re.match(r"(\d+):(\d+) (\w+) ?(.*)", line).groups() for line in dump.splitlines() if line[:1].isdigit()]
    tokens = [(int(line), int(column), kind_of(token, word, words), word) for line, column, token, word in tokens]
    tokens = [token for token in tokens if token[2]]
    scopes = textmate_scopes(rules, text)
    groups = vim_groups(path, [token[:2] for token in tokens])
    bad = []
    for i, (line, column, kind, word) in enumerate(tokens):
        scope, wanted = CLASSES[kind]
        got = scopes[starts[line - 1] + column - 1]
        if not got.startswith(scope):
            bad.append("%s:%d:%d: TextMate takes the %s %s for '%s'" % (path, line, column, kind, word, got))
        if groups and groups[i] not in wanted:
            bad.append("%s:%d:%d: Vim takes the %s %s for '%s'" % (path, line, column, kind, word, groups[i]))
    return bad, len(tokens), groups is not None


def main():
    tsrc, files = sys.argv[1], sys.argv[2:]
    rules = json.loads(read(TEXTMATE))["patterns"]
    words = compiler_words()
    bad, total, by_vim = check_words(rules), 0, 0
    for path in files:
        wrong, n, vim = check_file(tsrc, path, rules, words)
        bad, total, by_vim = bad + wrong, total + n, by_vim + vim
    print("\n".join(bad[:20]))
    print("%d tokens of %d files compared, %d wrong; Vim saw %d files" % (total, len(files), len(bad), by_vim))
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
