"""The highest byte of the workspace that a routine touches is the formula's last, within the alignment of 64: the
workspace ends where memory ends, begins where memory begins, and is filled with two patterns."""
import ctypes
import mmap
import os
import sys

import numpy as np

from tsrlib import Model

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "examples")
PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Bytes that end at a page that may not be touched; the page before the first one may not be either."""

    def __init__(self, size):
        pages = (size + PAGE - 1) // PAGE * PAGE
        self.map = mmap.mmap(-1, pages + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        for page in (start, start + PAGE + pages):
            if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0) != 0:
                sys.exit("mprotect fails")
        self.first = PAGE + pages - size
        self.bytes = np.frombuffer(self.map, np.uint8, size, self.first)
        self.address = start + self.first


def source(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf8") as text:
        return text.read()


# Text, shapes of inputs and outputs for dims, dims to run with.
PROGRAMS = {
    "products": ("dim n\ninput a : [n, 10, 10]\ninput b : [10, 10]\nlet p = einsum(\"nij; jk => nik\", a, b)\n"
                 "let q = einsum(\"nij; jk => nik\", p, b)\noutput y = einsum(\"nij; njk => nik\", p, q)\n",
                 lambda n: ([(n, 10, 10), (10, 10)], [(n, 10, 10)]), [(1,), (3,), (17,), (64,)]),
    "softmax": ("dim n\ninput x : [n | 5]\nfn softmax(x) =\n    let e = exp(x - reduce(max, \"... | v => ... | 0\", x))\n"
                "    in e / sum(\"... | v => ... | 0\", e)\noutput p = softmax(softmax(x))\n",
                lambda n: ([(n, 5)], [(n, 5)]), [(1,), (13,), (16,), (100,)]),
    "panel": ("input a : [300, 100]\ninput b : [100, 90]\noutput y = einsum(\"ik; kj => ij\", a, b)\n",
              lambda: ([(300, 100), (100, 90)], [(300, 90)]), [()]),
    "fixed": ("input x : [31 | 33]\nlet h = {u : [33 -> 65]} * x\nlet g = {v : [65 -> 33]} * relu(h)\n"
              "output y = x + {w : [33 -> 33]} * (g - sum(\"i | j => 0 | j\", g))\n",
              lambda: ([(31, 33)], [(31, 33)]), [()]),
    "attention": (source("attention.tsr"), lambda b, s: ([(b, s, 64)], [(b, s, 64)]), [(1, 1), (2, 7), (3, 33)]),
    "lenet": (source("models/lenet.tsr"), lambda n: ([(n, 28, 28, 1)], [(n, 10)]), [(1,), (2,), (5,)]),
}
# A part of the workspace for each thread: one thread touches one.
if "--grain=0" in sys.argv:
    PROGRAMS["blocks"] = ("input a : [300, 700]\ninput b : [700, 900]\noutput y = einsum(\"ik; kj => ij\", a, b)\n",
                          lambda: ([(300, 700), (700, 900)], [(300, 900)]), [()])


def touched(model, dims, inputs, outputs, state):
    """(bytes of the workspace, the highest that is touched, counted from 1)"""
    function = model.library.m_forward_workspace
    function.restype = ctypes.c_size_t
    size = function(*[ctypes.c_int64(d) for d in dims])
    if size == 0:
        return 0, 0
    workspace, high = Guarded(size), 0
    arrays = [np.random.default_rng(1).standard_normal(s).astype(np.float32) for s in inputs]
    results = [np.zeros(s, np.float32) for s in outputs]
    words = [ctypes.c_int64(d) for d in dims] + [a.ctypes.data_as(ctypes.c_void_p) for a in arrays + results]
    for pattern in (0xa5, 0x3c):
        workspace.bytes[:] = pattern
        code = model.library.m_forward(None, *words, ctypes.c_void_p(state.ctypes.data) if state is not None else None,
                                       ctypes.c_void_p(workspace.address))
        if code:
            sys.exit("code %d" % code)
        changed = np.flatnonzero(workspace.bytes != pattern)
        high = max(high, int(changed[-1]) + 1 if len(changed) else 0)
    return size, high


def main():
    bad = ran = most = 0
    for name, (text, shapes, runs) in PROGRAMS.items():
        model = Model(text, sys.argv[1:])
        state = model.init() if "m_state_size" in model.header else None
        for dims in runs:
            size, high = touched(model, dims, *shapes(*dims), state)
            ran, most = ran + 1, max(most, size)
            if not size - 64 < high <= size:
                bad += size > 0
                print("%s%s: %d bytes of workspace, %d touched" % (name, dims, size, high))
    print("%d runs, the largest workspace has %d bytes: %d differ from their formula" % (ran, most, bad))
    sys.exit(1 if bad else 0)


main()
