"""Every failing example of base/diag.def as text, JSON and SARIF: the three tell the same facts (code, severity,
message, place, notes and repairs, in one order), and SARIF has the fields that its standard requires."""
import json
import os
import re
import subprocess
import sys
import tempfile

tsrc, table = sys.argv[1:3]
STRING = r'"(?:[^"\\]|\\.)*"'
FIELD = r"((?:%s\s*)+|NULL)" % STRING
ROW = re.compile(r"DIAG\((\w+),\s*(\w+),\s*%s,\s*%s,\s*%s,\s*%s,\s*%s\)" % ((FIELD,) * 5))
HEAD = re.compile(r"^(?:(.+?):(\d+):(\d+): )?(?:tsrc: )?(error|warning|note|help): (.*?)(?: \[([EW]\d{4})\])?$")


def value(field):
    return None if field.strip() == "NULL" else "".join(eval(s) for s in re.findall(STRING, field))


def messages(path, form, name):
    options = ["-Wall"] + (["-W" + name] if name else []) + ["-ferror-limit=0"]
    run = subprocess.run([tsrc, *options, "-fdiagnostics-format=" + form, "-o", path + ".so", path],
                         capture_output=True, cwd=os.path.dirname(path))
    return run.stderr.decode("utf8", "replace")


def place(file, line, column):
    """The end of a program is shown as no more than that in some forms: files and lines are compared as they are."""
    return (file, int(line), int(column)) if line is not None else None


def facts_of_text(text):
    """(code, severity, message, place), [(message, place)], [(message, place)]"""
    facts = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if not head:
            continue
        file, row, column, kind, message, code = head.groups()
        at = place(file, row, column) if row else None
        if kind in ("error", "warning") and code:
            facts.append(((code, kind, message, at), [], []))
        elif kind in ("note", "help") and facts:
            facts[-1][1 if kind == "note" else 2].append((message, at))
    return facts


def facts_of_json(text):
    def at(o):
        return place(o["file"], o["line"], o["column"])
    return [((d["code"], d["severity"], d["message"], at(d)), [(n["message"], at(n)) for n in d["notes"]],
             [(n["message"], at(n)) for n in d["fixes"]]) for d in json.loads(text)]


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
    return place(uri, region["startLine"], region["startColumn"])


def facts_of_sarif(text):
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
            fixes.append((fix["description"]["text"], sarif_place([{"physicalLocation": region}])))
        facts.append(((r["ruleId"], r["level"], r["message"]["text"], sarif_place(r.get("locations"))), notes, fixes))
    return facts


rows = ROW.findall(re.sub(r"/\*.*?\*/", "", open(table, encoding="utf8").read(), flags=re.S))
examples = reports = wrong = 0
for code, severity, name, title, long_text, bad, good in rows:
    if value(bad) is None:
        continue
    examples += 1
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/example.tsr"
        with open(path, "w", encoding="utf8", newline="") as out:
            out.write(value(bad))
        try:
            text, as_json, as_sarif = (read(messages(path, form, value(name))) for form, read in (
                ("text", facts_of_text), ("json", facts_of_json), ("sarif", facts_of_sarif)))
        except (ValueError, KeyError, IndexError) as error:
            wrong += 1
            print("%s: %s %s" % (code, type(error).__name__, error))
            continue
    reports += len(text)
    if not (text and text == as_json == as_sarif):
        wrong += 1
        print("%s:\n text  %s\n json  %s\n sarif %s" % (code, text, as_json, as_sarif))
print("%d examples, %d reports, %d told in another way" % (examples, reports, wrong))
