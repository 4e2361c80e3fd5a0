"""Checks the programs in a document: doc_examples.py TSRC FILE.md [--write]

A block ```tsr must compile; ```tsr error E0123 must fail with that code. The blocks that follow it must be what
is printed for it, as example.tsr:

    ```shapes                      tsrc --dump=shapes
    ```text WORDS                  tsrc --WORDS            (dump=proj, explain-shape=w, explain-closed)
    ```text messages               the messages
    ```sched                       written beside it, for ```text schedule=example.sched
    ```text run WORDS              tsr run example.so WORDS
    ```c with "net.h"              main.c beside the program, for commands
    ```c, ```python                compiles with example.h and example.o, and libtsr where it includes <tsr.h>, and
                                   runs; runs beside example.so and net.tsr, the same program, with the package tsr
    ```sh run                      commands of a shell beside the program as net.tsr, build/ and examples/, with tsrc and tsr
    ```text output                 what that printed
    ```c header                    comments and declarations of the header, with the prefix net

Prints how many were checked; --write puts what was printed into the document."""
import os
import re
import subprocess
import sys
import tempfile

tsrc, path = os.path.abspath(sys.argv[1]), sys.argv[2]
build = os.path.dirname(tsrc)
tsr = os.path.join(build, "tsr")
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
runtime = os.path.join(root, "runtime")
os.environ.update(PATH=build + ":" + os.environ["PATH"], PYTHONPATH=os.path.join(root, "python"), TSRC=tsrc, TSR_LIBRARY=os.path.join(build, "libtsr.so"))


def call(directory, *words):
    run = subprocess.run(words, capture_output=True, text=True, cwd=directory)
    return run.returncode, run.stdout, run.stderr


def compile_status(directory, words):
    """Did the compiler do what it should, and what it said; `tsr error` wants status 1 and the code."""
    status, out, messages = call(directory, tsrc, "-O0", "example.tsr", "-o", "example.so")
    if words[:1] == ["error"]:
        return status == 1 and "[%s]" % words[1] in messages, messages
    return status == 0, out + messages


def run_host(directory, kind, body):
    """A C, Python or shell program beside the compiled example: did it work, and what it printed."""
    source = "host." + kind
    with open(os.path.join(directory, source), "w", encoding="utf8") as out:
        out.write(body)
    commands = [["sh", "-e", source] if kind == "sh" else [sys.executable, source]]
    if kind == "c":
        call(directory, tsrc, "-O0", "example.tsr", "-o", "example.o")
        commands = [["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "example.o", "-lm", "-o", "host"],
                    ["./host"]]
        if "#include <tsr.h>" in body:
            library = os.path.join(directory, "libtsr.so.0")  # as it is installed
            os.symlink(os.path.join(build, "libtsr.so"), library)
            commands[0] += ["-I" + runtime, library, "-Wl,-rpath," + directory, "-pthread"]
    text = ""
    for command in commands:
        status, out, messages = call(directory, *command)
        text += out + messages
        if status:
            return False, text
    return True, text


def in_header(directory, body):
    """Are the parts of an excerpt in the header, whatever the line breaks? And the header."""
    call(directory, tsrc, "--prefix=net", "example.tsr", "-o", "example.h")
    header = open(os.path.join(directory, "example.h"), encoding="utf8").read()
    flat = " ".join(header.split())
    return all(" ".join(part.split()) in flat for part in re.split(r"/\*|\*/", body)), header


def printed(directory, kind, words):
    if kind == "shapes":
        return call(directory, tsrc, "--dump=shapes", "example.tsr")[1]
    if words == ["messages"]:
        return call(directory, tsrc, "-fsyntax-only", "example.tsr")[2]
    if words[0] == "run":
        return "".join(call(directory, tsr, "run", "example.so", *words[1:])[1:])
    options = [word if word[0] == "-" else "--" + word for word in words]
    return "".join(call(directory, tsrc, *options, "example.tsr")[1:])


class Examples:
    def __init__(self, directory):
        self.directory, self.program, self.output = directory, None, ""
        self.checked = self.bad = 0

    def check(self, block):
        """One block; returns it with the body that it should have."""
        kind, rest, body = block.groups()
        words = rest.split()
        if kind == "tsr":
            self.program = got = body
            for name in ("example.tsr", "net.tsr"):
                with open(os.path.join(self.directory, name), "w", encoding="utf8") as out:
                    out.write(body)
            good, messages = compile_status(self.directory, words)
        elif kind == "sched":
            with open(os.path.join(self.directory, "example.sched"), "w", encoding="utf8") as out:
                out.write(body)
            return block[0]
        elif self.program and kind == "c" and '#include "net.h"' in body:
            with open(os.path.join(self.directory, "main.c"), "w", encoding="utf8") as out:
                out.write(body)
            return block[0]
        elif self.program and kind == "c" and words == ["header"]:
            good, messages = in_header(self.directory, body)
            got = body
        elif self.program and (kind in ("c", "python") or (kind, rest) == ("sh", " run")):
            good, messages = run_host(self.directory, kind, body)
            got, self.output = body, messages
        elif words == ["output"]:
            got = messages = self.output
            good = got == body
        elif self.program and (kind == "shapes" or (kind == "text" and words)):
            got = messages = printed(self.directory, kind, words)
            good = got == body
        else:
            self.program = None
            return block[0]
        self.checked += 1
        if not good:
            self.bad += 1
            print("%s: ```%s%s\n%s---- printed\n%s" % (path, kind, rest, body, messages))
        return "```%s%s\n%s```" % (kind, rest, got)


text = open(path, encoding="utf8").read()
with tempfile.TemporaryDirectory() as directory:
    os.symlink(build, os.path.join(directory, "build"))
    os.symlink(os.path.join(root, "examples"), os.path.join(directory, "examples"))
    examples = Examples(directory)
    mended = re.sub(r"^```(\w+)([^\n]*)\n(.*?)^```$", examples.check, text, flags=re.S | re.M)
if sys.argv[3:] == ["--write"]:
    open(path, "w", encoding="utf8").write(mended)
print("%d examples of %s checked, %d wrong" % (examples.checked, os.path.basename(path), examples.bad))
sys.exit(1 if examples.bad or not examples.checked else 0)
