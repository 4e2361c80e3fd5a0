"""The table of stages in docs/inference.md has the rules of infer/close.c, word for word and in order."""
import os
import re
import sys

root = sys.argv[1]
source = open(os.path.join(root, "infer/close.c"), encoding="utf8").read()
document = open(os.path.join(root, "docs/inference.md"), encoding="utf8").read()
rules = re.findall(r'^\s*\{(\d), "([\w-]+)", \w+, \w+,\s*"([^"]+)"\}', source, re.M)
table = re.findall(r"^\| (\d) \| ([\w-]+) \| (.*) \|$", document, re.M)
table = [(stage, name, re.sub(r" \(.*?\)", "", says)) for stage, name, says in table]
assert rules, "no rules found"
for rule, row in zip(rules, table):
    assert rule == row, "%s\n%s" % (rule, row)
assert len(rules) == len(table), "%d rules, %d rows" % (len(rules), len(table))
