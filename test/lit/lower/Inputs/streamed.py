"""Calls LIBRARY PREFIX ... of streamed.tsr with results at several addresses, on one thread and on three: each has the
numbers that NumPy has, and nothing beside them is stored."""
import ctypes
import sys
import threading

import numpy as np

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, TASK, ctypes.c_void_p)
GUARD = 3.25


class Call(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("message", ctypes.c_void_p),
                ("parallel", PARALLEL), ("pool", ctypes.c_void_p)]


def on_three(_pool, n, task, arg):
    def run(first):
        for chunk in range(first, n, 3):
            task(arg, chunk)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def room(elements, place):
    """As many elements, `place` of them behind the beginning of a line, with guards around."""
    whole = np.full(elements + 64, GUARD, np.float32)
    first = -whole.ctypes.data // 4 % 16 + 16 + place
    return whole, whole[first:first + elements]


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


rng = np.random.default_rng(1)
ids = rng.integers(0, 70, 500, dtype=np.int32)
some = rng.integers(0, 70, 40, dtype=np.int32)
table = rng.random((70, 64), dtype=np.float32)
x = rng.random(3333, dtype=np.float32)
parallel = PARALLEL(on_three)
for path, prefix in zip(sys.argv[1::2], sys.argv[2::2]):
    library = ctypes.CDLL(path)
    size = getattr(library, prefix + "_forward_workspace")
    size.restype = ctypes.c_size_t
    workspace = np.zeros(size(ctypes.c_int64(40)) + 64, np.uint8)
    workspace = workspace[-workspace.ctypes.data % 64:]
    for place, n in (0, 3), (1, 40), (4, 40), (15, 40):
        for call in (None, ctypes.byref(Call(2, 0, None, parallel, None))):
            made = [room(elements, place) for elements in (500 * 64, n * 64, 3333, 1)]
            code = getattr(library, prefix + "_forward")(call, ctypes.c_int64(n), pointer(ids), pointer(some), pointer(table), pointer(x),
                                                         *[pointer(part) for _, part in made], None, pointer(workspace))
            assert code == 0, code
            wanted = [table[ids].ravel(), table[some[:n]].ravel(), np.exp(x.astype(np.float64)), np.array([x.sum(dtype=np.float64)])]
            for (whole, part), right in zip(made, wanted):
                assert np.allclose(part, right, rtol=1e-5), (path, place)
                assert (whole == GUARD).sum() == 64, (path, place)
