"""Edits of the loops of a kernel on a GPU, each of which must make other numbers."""
import ctypes
import os
import re
import subprocess

import numpy as np

from tsrlib import SCRATCH, TSRC, Model


def tsrc(*args, gpu="sm_90"):
    run = subprocess.run([TSRC, "--target=cuda:" + gpu, *args], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def path(name):
    return os.path.join(SCRATCH.name, name)


def library(loops, number, stage, gpu):
    with open(path("f.loops"), "w", encoding="utf8") as out:
        out.write(loops)
    tsrc("--from=" + stage, "--prefix=m", path("f.loops"), "-o", path("f.cu"), gpu=gpu)
    made = path("f%d.so" % number)
    subprocess.run(["cc", "-std=c99", "-w", "-fPIC", "-shared", "-o", made, "-x", "c", path("f.cu"), "-lm"], check=True)
    return ctypes.CDLL(made)


def loops_of(program, options, stage, gpu):
    with open(path("a.tsr"), "w", encoding="utf8") as file:
        file.write(program)
    return tsrc("--dump=" + stage, "--stop=" + stage, *options, path("a.tsr"), gpu=gpu)


def find_all(program, faults, dims, arrays, want, options=(), stage="attention", gpu="sm_90", near=1e-4):
    """faults: (what it is, pattern, replacement), in the dump of the stage. Says how many are found; stops at one that is not."""
    text = loops_of(program, options, stage, gpu)
    model = Model(program, list(options))

    def is_right(loops, number):
        model.library = library(loops, number, stage, gpu)
        got, = model.forward(dims, arrays, [(want.shape, np.float32)])
        return bool(np.abs(got - want).max() < near)

    assert is_right(text, 0)
    for i, (name, old, new) in enumerate(faults):
        edited = re.sub(old, new, text)
        assert edited != text, name
        assert not is_right(edited, i + 1), name
    print("%d of %d faults are found" % (len(faults), len(faults)))
