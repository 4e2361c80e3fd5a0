"""Prints, for each folder, how many lines of C the tests ran, and the functions that none called.

Usage: coverage.py BUILD   after `make coverage` ran the tests with a BUILD that counts (gcc --coverage)
"""
import collections
import json
import pathlib
import subprocess
import sys


def reports(build):
    """What gcov says of every source, object by object; an object that never ran has no counts and no report."""
    for data in sorted(pathlib.Path(build).glob("**/*.gcda")):
        text = subprocess.run(["gcov", "--json-format", "--stdout", str(data)], check=True,
                              capture_output=True, text=True).stdout
        for line in text.splitlines():
            yield from json.loads(line)["files"]


def collect(build):
    """(source, line) -> most runs; (source, function) -> most calls. A header's lines belong to many objects."""
    lines, functions = collections.Counter(), collections.Counter()
    for report in reports(build):
        source = report["file"]
        if source.startswith(("/", "test/", build)):
            continue
        for line in report["lines"]:
            key = source, line["line_number"]
            lines[key] = max(lines[key], line["count"])
        for function in report["functions"]:
            key = source, function["name"]
            functions[key] = max(functions[key], function["execution_count"])
    return lines, functions


def main():
    lines, functions = collect(sys.argv[1])
    total, run = collections.Counter(), collections.Counter()
    for (source, _), count in lines.items():
        folder = source.split("/")[0] if "/" in source else "main"
        for name in (folder, "all"):
            total[name] += 1
            run[name] += count > 0
    for source, name in sorted(key for key, count in functions.items() if count == 0):
        print(f"never called: {source}: {name}")
    for name in sorted(total):
        print(f"{name:10} {run[name]:6} of {total[name]:6} lines  {100 * run[name] / total[name]:5.1f} %")


if __name__ == "__main__":
    main()
