"""Loops for a GPU as text, each time with one fault, and what is said of it: SCRIPT TSRC FILE, where FILE is written."""
import os
import subprocess
import sys


def read(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf8") as file:
        return file.read()


def bound(text, target="cuda:sm_90a"):
    """The text read back"""
    with open(sys.argv[2], "w", encoding="utf8") as file:
        file.write(text)
    return subprocess.run([sys.argv[1], "--from=bind", "--target=" + target, "--dump=bind", "--stop=bind", sys.argv[2]],
                          capture_output=True, text=True)


def find(*cases, target="cuda:sm_90a"):
    """Of texts with their faults (name, what stands there, what instead, the rule of kernel y or all that is told) says how
    many are found. A text without a fault prints itself."""
    found = 0
    for text, wrong in cases:
        whole = bound(text, target)
        if whole.returncode or whole.stdout != text:
            print("without a fault:", whole.stdout, whole.stderr)
        for name, old, new, rule in wrong:
            if text.count(old) != 1:
                sys.exit("%s: stands %d times there" % (name, text.count(old)))
            told = bound(new(text) if callable(new) else text.replace(old, new), target)
            wanted = rule if rule.endswith("]") else "error: kernel y: %s [E0611]" % rule
            if told.returncode == 1 and wanted in told.stderr:
                found += 1
            else:
                print("%s: %s" % (name, told.stderr.split("\n")[0]))
    print("%d of %d faults are found" % (found, sum(len(wrong) for _, wrong in cases)))
