"""Edits of the loops of attention on a GPU, each of which must make other numbers."""
import ctypes
import os
import re
import subprocess

import numpy as np

from tsrlib import SCRATCH, TSRC, Model


def tsrc(*args):
    run = subprocess.run([TSRC, "--target=cuda:sm_90", *args], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def path(name):
    return os.path.join(SCRATCH.name, name)


def library(loops, number):
    with open(path("f.loops"), "w", encoding="utf8") as out:
        out.write(loops)
    tsrc("--from=attention", "--prefix=m", path("f.loops"), "-o", path("f.cu"))
    made = path("f%d.so" % number)
    subprocess.run(["cc", "-std=c99", "-w", "-fPIC", "-shared", "-o", made, "-x", "c", path("f.cu"), "-lm"], check=True)
    return ctypes.CDLL(made)


def find_all(program, faults, dims, arrays, want, options=()):
    """faults: (what it is, pattern, replacement). Says how many are found; stops at one that is not."""
    with open(path("a.tsr"), "w", encoding="utf8") as file:
        file.write(program)
    text = tsrc("--dump=attention", "--stop=attention", *options, path("a.tsr"))
    model = Model(program, list(options))

    def is_right(loops, number):
        model.library = library(loops, number)
        got, = model.forward(dims, arrays, [(want.shape, np.float32)])
        return bool(np.abs(got - want).max() < 1e-4)

    assert is_right(text, 0)
    for i, (name, old, new) in enumerate(faults):
        edited = re.sub(old, new, text)
        assert edited != text, name
        assert not is_right(edited, i + 1), name
    print("%d of %d faults are found" % (len(faults), len(faults)))
