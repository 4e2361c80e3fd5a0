"""gpu_so.py TSRC FOLDER: the C functions of a module for a GPU do what those of one for a CPU do: arguments in registers and on
the stack, integers and floats; a state that is begun, packed, read and assigned to; without libtsr there is a code and a text."""
import ctypes
import os
import subprocess
import sys

import numpy as np

TSRC, FOLDER = sys.argv[1:3]
NO_DEVICE = 6
PROGRAM = """dim n
dim k
input a : [n | 3]
input b : [n | 3]
input c : f64 [n]
input d : i32 [k]
input e : [k]
param w : [3 -> 3]
param bias : [n | 3] = 0.5
output y = w * a + b + bias
output s = sum(f32(d) .* e)
routine many(p : f32, q : i32, r : f64, t : f32, u : f32, v : f32, x : f32, z : f32, o : f32, l : f32) -> m, g {
    m =: a .* p + b .* t + u - v + x - z + o .* l
    g =: c .* r + f64(q)
    bias =+ q
}
"""


class Call(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("message", ctypes.c_void_p),
                ("parallel", ctypes.c_void_p), ("pool", ctypes.c_void_p)]


def at(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def run(path, n, k):
    """All that the functions leave, in a process of this module."""
    module = ctypes.CDLL(path)
    module.m_state_size.restype = ctypes.c_size_t
    dims = ctypes.c_int64(n), ctypes.c_int64(k)
    size = module.m_state_size(dims[0])
    raw = np.zeros(size + 64, np.uint8)
    state = raw[-raw.ctypes.data % 64:][:size]
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((n, 3)).astype(np.float32) for _ in range(2))
    c, d, e = random.standard_normal(n), np.arange(k, dtype=np.int32), np.ones(k, np.float32)
    y, s, m, g = np.zeros((n, 3), np.float32), np.zeros(1, np.float32), np.zeros((n, 3), np.float32), np.zeros(n)
    message = ctypes.c_char_p()
    call = ctypes.byref(Call(2, 0, ctypes.addressof(message), None, None))
    spaces = [np.zeros(1 << 16, np.uint8) for _ in range(2)]
    room = ctypes.c_void_p(-(-spaces[0].ctypes.data // 64) * 64)
    f = ctypes.c_float

    def forward():
        return module.m_forward(call, *dims, at(a), at(b), at(d), at(e), at(y), at(s), at(state), room)

    def many():
        return module.m_many(call, dims[0], f(0.5), ctypes.c_int32(-3), ctypes.c_double(1.5), f(2), f(3), f(4), f(5), f(6), f(7), f(8),
                             at(a), at(b), at(c), at(m), at(g), at(state), room)

    codes = [module.m_init(dims[0], at(state), ctypes.c_uint64(7)), forward()]
    results = [y.copy(), s.copy()]
    w = state[:36].view(np.float32)
    w[:] = np.arange(9)  # the parameter that stands first
    codes += [module.m_pack(call, at(state)), forward(), many(), forward(), module.m_forward(call, ctypes.c_int64(-1), dims[1], *[None] * 8)]
    return codes, message.value.decode(), [*results, y, s, m, g]


with open(os.path.join(FOLDER, "m.tsr"), "w", encoding="utf8") as out:
    out.write(PROGRAM)
paths = {}
for kind, options in (("gpu", ["--target=" + os.environ.get("TARGET", "cuda")]), ("cpu", ["--no-prepack"])):
    paths[kind] = os.path.join(FOLDER, kind + ".so")
    subprocess.run([TSRC, os.path.join(FOLDER, "m.tsr"), "--prefix=m", "-o", paths[kind], *options], check=True)
if "LD_LIBRARY_PATH" in os.environ:
    for n, k in ((5, 4), (1, 1), (0, 3)):
        (codes, message, got), (want_codes, want_message, want) = (run(paths[kind], n, k) for kind in ("gpu", "cpu"))
        if codes != want_codes or message != want_message:
            sys.exit("%s %s, not %s %s" % (codes, message, want_codes, want_message))
        for x, z in zip(got, want):
            np.testing.assert_allclose(x, z, rtol=1e-5, atol=1e-5)
    print("functions agree: %s, %s" % (codes, message))
else:
    module = ctypes.CDLL(paths["gpu"])
    message = ctypes.c_char_p()
    code = module.m_pack(ctypes.byref(Call(2, 0, ctypes.addressof(message), None, None)), None)
    print("code %d: %s" % (code, message.value.decode()))
