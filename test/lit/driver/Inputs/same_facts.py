"""Every failing example of base/diag.def, and generated programs with one edit each, as text, JSON and SARIF: the three tell the
same facts (code, severity, message, place and its end, notes, repairs and what they put in, in one order), and SARIF has the
fields that its standard requires."""
import json
import os
import re
import subprocess
import sys
import tempfile

tsrc, table, properties = sys.argv[1:4]
os.environ["TSRC"] = tsrc
sys.path.insert(0, properties)
from mutate import mutated  # noqa: E402

MUTATIONS, SHOWN = 12, 100  # the columns that text shows of a line
STRING = r'"(?:[^"\\]|\\.)*"'
FIELD = r"((?:%s\s*)+|NULL)" % STRING
ROW = re.compile(r"DIAG\((\w+),\s*(\w+),\s*%s,\s*%s,\s*%s,\s*%s,\s*%s\)" % ((FIELD,) * 5))
HEAD = re.compile(r"^(?:(.+?):(\d+):(\d+): )?(?:tsrc: )?(error|warning|note|help): (.*?)(?: \[([EW]\d{4})\])?$")


def value(field):
    return None if field.strip() == "NULL" else "".join(eval(s) for s in re.findall(STRING, field))


def messages(path, form, name):
    options = ["-Wall", "-O0"] + (["-W" + name] if name else []) + ["-ferror-limit=0"]
    run = subprocess.run([tsrc, *options, "-fdiagnostics-format=" + form, "-o", path + ".c", path],
                         capture_output=True, cwd=os.path.dirname(path))
    return run.stderr.decode("utf8", "replace")


def place(file, line, column, end_line, end_column):
    """Where something begins and ends; what goes beyond its line is shown to the end of that in text, so it ends nowhere."""
    if line is None:
        return None
    one = end_line is not None and int(end_line) == int(line)
    return file, int(line), int(column), max(int(end_column), int(column) + 1) if one else None  # a mark is one wide


def put_in(lines, start, end, replacement):
    """The line that a repair makes; None where it is not one line."""
    line = lines[start[0] - 1] if start[0] <= len(lines) else ""
    if start[0] != end[0] or not line.isascii() or "\n" in replacement:
        return None
    return (line[:start[1] - 1] + replacement + line[end[1] - 1:]).strip()


def shown(lines, i, line):
    """What follows a message in text: its line of the program, and how far the mark goes."""
    if i + 2 >= len(lines) or not re.match(r" *%s \| " % line, lines[i + 1]):
        return None, None
    mark = re.match(r" +\| ( *)([\^~+]+)", lines[i + 2])
    code = lines[i + 1].partition(" | ")[2]
    return code, len(mark[2]) if mark and len(code) < SHOWN else None


def mended(line):
    """The line that a repair makes, where all of it is shown."""
    return line.strip() if line and line.isascii() and len(line) < SHOWN else None


def facts_of_text(text, source):
    """(code, severity, message, place), [(message, place)], [(message, place without its end, the mended line)]"""
    facts, lines = [], text.splitlines()
    for i, line in enumerate(lines):
        head = HEAD.match(line)
        if not head:
            continue
        file, row, column, kind, message, code = head.groups()
        code_line, width = shown(lines, i, row)
        at = place(file, row, column, row if width else None, int(column) + width if width else None) if row else None
        if kind in ("error", "warning") and code:
            facts.append(((code, kind, message, at), [], []))
        elif kind == "note" and facts:
            facts[-1][1].append((message, at))
        elif kind == "help" and facts:
            facts[-1][2].append((message, at and at[:3], mended(code_line)))
    return facts


def facts_of_json(text, source):
    def at(o):
        return place(o["file"], o["line"], o["column"], o.get("endLine"), o.get("endColumn"))
    return [((d["code"], d["severity"], d["message"], at(d)), [(n["message"], at(n)) for n in d["notes"]],
             [(n["message"], at(n) and at(n)[:3], put_in(
                 source, (n["line"], n["column"]), (n["endLine"], n["endColumn"]), n["replacement"])) for n in d["fixes"]])
            for d in json.loads(text)]


def need(condition, what):
    if not condition:
        raise ValueError("SARIF: " + what)


def sarif_place(locations):
    if not locations:
        return None
    physical = locations[0]["physicalLocation"]
    uri, region = physical["artifactLocation"]["uri"], physical.get("region")
    need(isinstance(uri, str), "a uri")
    if region is None:
        return None
    need(region["startLine"] >= 1 and region["startColumn"] >= 1, "regions count from 1")
    need((region["endLine"], region["endColumn"]) >= (region["startLine"], region["startColumn"]), "regions end later")
    return place(uri, region["startLine"], region["startColumn"], region["endLine"], region["endColumn"])


def facts_of_sarif(text, source):
    log, facts = json.loads(text), []
    need(log["version"] == "2.1.0" and "$schema" in log and len(log["runs"]) == 1, "version, schema, one run")
    driver = log["runs"][0]["tool"]["driver"]
    need(driver["name"] == "tsrc", "the tool's name")
    need(len({r["id"] for r in driver["rules"]}) == len(driver["rules"]), "rules are unique")
    for r in log["runs"][0]["results"]:
        need(driver["rules"][r["ruleIndex"]]["id"] == r["ruleId"], "ruleIndex is that of ruleId")
        need(r["level"] in ("error", "warning", "note", "none"), "level")
        notes = [(n["message"]["text"], sarif_place([n])) if "physicalLocation" in n else (n["message"]["text"], None)
                 for n in r.get("relatedLocations", [])]
        fixes = []
        for fix in r.get("fixes", []):
            (change,) = fix["artifactChanges"]
            (replacement,) = change["replacements"]
            need("text" in replacement["insertedContent"], "inserted text")
            region = {"artifactLocation": change["artifactLocation"], "region": replacement["deletedRegion"]}
            at = sarif_place([{"physicalLocation": region}])
            deleted = replacement["deletedRegion"]
            fixes.append((fix["description"]["text"], at[:3], put_in(
                source, (deleted["startLine"], deleted["startColumn"]), (deleted["endLine"], deleted["endColumn"]),
                replacement["insertedContent"]["text"])))
        facts.append(((r["ruleId"], r["level"], r["message"]["text"], sarif_place(r.get("locations"))), notes, fixes))
    return facts


def same(one, other):
    """Ends and lines that a form does not show are not compared."""
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return one is None or other is None or one == other


def complete(text, full):
    """What text leaves out of a long message, and of one that a repair of another mends, it says that it does."""
    for one, other in zip(text, full):
        more = [re.match(r"-fdiagnostics-format=json has (\d+) more places?$", message) for message, _ in one[1]]
        if any(more):
            notes = [note for note, skip in zip(one[1], more) if not skip]
            rest = iter(other[1])
            if len(other[1]) == len(notes) + int(next(m for m in more if m)[1]) and \
                    all(any(same(note, there) for there in rest) for note in notes):
                one[1][:] = other[1]
        elif [message for message, _ in one[1]] == ["a repair of another error mends this one"]:
            one[1][:], one[2][:] = other[1], other[2]
    return text


def compare(label, name, program):
    """How many reports, and were they told in another way?"""
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/example.tsr"
        with open(path, "w", encoding="utf8", newline="") as out:
            out.write(program)
        try:
            text, as_json, as_sarif = (read(messages(path, form, name), program.split("\n")) for form, read in (
                ("text", facts_of_text), ("json", facts_of_json), ("sarif", facts_of_sarif)))
        except (ValueError, KeyError, IndexError) as error:
            print("%s: %s %s" % (label, type(error).__name__, error))
            return 0, True
    if as_json == as_sarif and same(complete(text, as_json), as_json) and (text or not label.startswith("E")):
        return len(text), False
    print("%s:\n text  %s\n json  %s\n sarif %s" % (label, text, as_json, as_sarif))
    return len(text), True


programs = [(code, value(name), value(bad)) for code, _, name, _, _, bad, _ in ROW.findall(
    re.sub(r"/\*.*?\*/", "", open(table, encoding="utf8").read(), flags=re.S)) if value(bad) is not None]
examples = len(programs)
programs += [("edit %d" % i, None, edit[1]) for i in range(MUTATIONS) for edit in [mutated(i)] if edit]
found = [compare(*program) for program in programs]
print("%d examples, %d edits, %d reports, %d told in another way" % (
    examples, len(programs) - examples, sum(n for n, _ in found), sum(bad for _, bad in found)))
