"""What the PTX of one small program has, for ptx_products.py and ptx_tensor.py."""
import os
import re
import subprocess
import sys


def compiled(tsrc, folder, program, schedule, *options):
    """The PTX of the program, and of its kernel the registers and the bytes of stack and of instructions on it."""
    source, wanted, made = (os.path.join(folder, "m." + suffix) for suffix in ("tsr", "sched", "ptx"))
    with open(source, "w") as out:
        out.write(program)
    with open(wanted, "w") as out:
        out.write(schedule)
    run = subprocess.run([tsrc, "-v", source, "--schedule=" + wanted, "-o", made, *options], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    registers, *stack = map(int, re.search(r"(\d+) registers, (\d+) bytes of stack, (\d+) instr", run.stderr).groups())
    with open(made) as text:
        return text.read(), registers, stack


def count(text, instruction):
    """How many instructions begin so."""
    return len(re.findall(r"^\s*%s" % re.escape(instruction), text, re.M))
