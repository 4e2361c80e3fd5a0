"""Runs tsrc on a text, and reads what it says."""
import json
import os
import subprocess

TSRC = os.environ.get("TSRC", "tsrc")


def tsrc(text, *options, timeout=10):
    """The finished process; status -1 where it does not end in time."""
    try:
        return subprocess.run([TSRC, *options, "-"], input=text, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], -1, "", "does not end\n")


def messages(text):
    return [m for m in json.loads(text or "[]") if m["severity"] == "error"]


def codes(text):
    return sorted(m["code"] for m in messages(text))


def places(text):
    """(line, column, last line, last column) of every error and of its notes."""
    found = []
    for message in messages(text):
        for place in [message] + message["notes"]:
            if place["line"] is not None:
                found.append((place["line"], place["column"], place["endLine"], place["endColumn"]))
    return found
