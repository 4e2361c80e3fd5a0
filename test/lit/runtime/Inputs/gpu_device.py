"""gpu_device.py TSRC FOLDER: routines on arrays of a device, over the emulator of the driver: by the functions of a .so and through
the Python package, in several streams and contexts, have the results that they have on arrays of the host."""
import ctypes
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "emulator", "Inputs"))
from driver import Driver  # noqa: E402

import tsr  # noqa: E402

TSRC, FOLDER = sys.argv[1:3]
DRIVER = Driver(os.environ["TSR_LIBCUDA"])
PROGRAM = """dim n
dim k
input x : [n | 40]
input at : i32 [k |]
param w : [40 -> 7]
param b : [7]
let e = w * x + b
output y = e / sum("... | v => ... | 0", exp(e))
output picked = gather("[n] | d; k | => k | d", x, at)
routine biased(rate : f32) -> s { b =+ rate; s =: w * x + b }
"""
RANDOM = np.random.default_rng(1)


class Interface:
    """An array of another library: __cuda_array_interface__ alone."""

    def __init__(self, array, **more):
        self.array, self.at = array, DRIVER.alloc(array.nbytes)
        DRIVER.put(self.at, array)
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (self.at, False),
                                         "strides": None, "version": 3, **more}

    def get(self):
        return DRIVER.get(self.at, self.array.shape, self.array.dtype)


class Capsule:
    """Another library's by DLPack: a tensor of the device 2, CUDA."""
    CODES = {"f": 2, "i": 0, "u": 1}

    def __init__(self, array, strides=None):
        self.inner, self.stream = Interface(array), None
        self.strides = strides

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        array, self.stream = self.inner.array, stream
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = self.strides or [s // array.itemsize for s in array.strides]
        self.steps = (ctypes.c_int64 * array.ndim)(*steps)
        self.tensor = tsr._device._Tensor(self.inner.at, 2, 0, array.ndim, self.CODES[array.dtype.kind],
                                          8 * array.itemsize, 1, self.shape, self.steps, 0)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def stream():
    made = ctypes.c_void_p()
    DRIVER.call("cuStreamCreate", ctypes.byref(made), 1)
    return made.value


def near(got, want):
    got = got.numpy() if isinstance(got, tsr.DeviceArray) else got
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def refused(kind, what, *words):
    try:
        what()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
    else:
        sys.exit("nothing is refused: %s" % (words,))


def arguments(n, k):
    x = RANDOM.standard_normal((n, 40)).astype(np.float32)
    return x, RANDOM.integers(0, max(n, 1), k).astype(np.int32)


def models():
    """Of the code for the device and of that for a CPU, with the same parameters."""
    both = [tsr.load(os.path.join(FOLDER, name)) for name in ("m.ptx", "cpu.so")]
    params = {"w": RANDOM.standard_normal((7, 40)).astype(np.float32), "b": RANDOM.standard_normal(7).astype(np.float32)}
    for model in both:
        model.params.update(params)
    return both


def python_calls():
    """Call after call, so that graphs replay: other arrays, other scalars, other sizes, other streams, host calls between."""
    gpu, cpu = models()
    for step, (n, k) in enumerate([(5, 4)] * 4 + [(3, 1)] * 3 + [(5, 4)] * 2 + [(0, 0)]):
        x, at = arguments(n, k)
        gpu.stream = 0 if step % 3 == 0 else stream()
        wrap = (Interface, Capsule, gpu.to_device)[step % 3]
        got, want = gpu.forward(wrap(x), wrap(at)), cpu.forward(x, at)
        near(got.y, want.y)
        near(got.picked, want.picked)
        device = wrap(x)
        for rate in (0.5, step):
            near(gpu.biased(x=device, rate=rate), cpu.biased(x=x, rate=rate))
        if step % 4 == 1:
            near(gpu.forward(x, at).y, cpu.forward(x, at).y)  # on arrays of the host, between
        near(gpu.params["b"], cpu.params["b"])
    return gpu, cpu


def chain(gpu, cpu):
    """A result is the next call's input, in another stream; results go where the caller says; none of it is waited for."""
    x, at = arguments(6, 6)
    places = [Interface(np.zeros((6, 40), np.float32)) for _ in range(2)]
    first, index = gpu.to_device(x), gpu.to_device(at)
    gpu.stream = stream()
    held = [gpu.forward.run({"x": first, "at": index}, {"picked": places[0]})]  # freeing it would wait
    gpu.stream = stream()
    held += gpu.forward.run({"x": places[0], "at": index}, {"picked": places[1]})
    gpu.wait()
    near(places[0].get(), x[at])
    near(places[1].get(), x[at][at])


def checks(gpu, cpu):
    """An index outside: told by the wait, once; the call has written nothing, those behind it have."""
    x, at = arguments(5, 4)
    wrong = np.array([0, 5, 1, 2], np.int32)
    place, good = Interface(np.full((4, 40), 7, np.float32)), Interface(np.zeros((4, 40), np.float32))
    gpu.forward.run({"x": gpu.to_device(x), "at": gpu.to_device(wrong)}, {"picked": place})
    gpu.forward.run({"x": gpu.to_device(x), "at": gpu.to_device(at)}, {"picked": good})
    refused(tsr.CheckError, gpu.wait, "m.tsr:", "an index in at is outside [0, n)", "(code 16)")
    gpu.wait()
    assert np.all(place.get() == 7)
    near(good.get(), x[at])
    result = gpu.forward(gpu.to_device(x), gpu.to_device(wrong)).picked
    refused(tsr.CheckError, result.numpy, "outside")
    for i in range(150):  # more than are remembered
        last = gpu.forward(gpu.to_device(x), gpu.to_device(wrong if i == 3 else at))
    refused(tsr.CheckError, gpu.wait, "outside")
    near(last.picked, x[at])


def refusals(gpu, cpu):
    x, at = arguments(5, 4)
    device, index = gpu.to_device(x), gpu.to_device(at)
    refused(tsr.ArgumentError, lambda: gpu.forward(device, at), "'at' is an array of the host")
    refused(tsr.ArgumentError, lambda: gpu.forward(Interface(x.astype(np.float64)), index), "'x' is f32", "f64")
    refused(tsr.ArgumentError, lambda: gpu.forward(Capsule(x.astype(np.float64)), index), "'x' is f32", "f64")
    refused(tsr.ArgumentError, lambda: gpu.forward(Capsule(x, [1, 5]), index), "does not lie row by row")
    refused(tsr.ArgumentError, lambda: gpu.forward(Interface(x, strides=(4, 20)), index), "does not lie row by row")
    refused(tsr.ArgumentError, lambda: gpu.forward(Interface(x[:, :39].copy()), index), "40")
    moved = Interface(x)
    moved.__cuda_array_interface__["data"] = (moved.at + 4, False)
    refused(tsr.CheckError, lambda: gpu.forward(moved, index), "x is not aligned to 16 bytes")
    moved.__cuda_array_interface__["data"] = (-(-x.ctypes.data // 16) * 16, False)
    refused(tsr.CheckError, lambda: gpu.forward(moved, index), "x is no memory of a device")
    refused(tsr.CheckError, lambda: cpu.forward.run({"x": device, "at": index}, {"y": Interface(np.zeros((5, 7), np.float32)),
            "picked": Interface(np.zeros((4, 40), np.float32))}), "code of a CPU takes arrays of the host")
    refused(tsr.ArgumentError, lambda: gpu.forward.run({"x": device, "at": index}, {"y": device}), "must be of shape (5, 7)")


def capture(line, *calls):
    """The graph that a stream's calls make, and what each call has returned."""
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    DRIVER.call("cuStreamBeginCapture_v2", ctypes.c_void_p(line), 0)
    try:
        results = [call() for call in calls]
    finally:
        DRIVER.call("cuStreamEndCapture", ctypes.c_void_p(line), ctypes.byref(graph))
    DRIVER.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
    return ready, results


def captured_refusals():
    """What a graph of the caller's cannot have is refused, and what was captured before stays."""
    gpu, _ = models()
    x, at = arguments(5, 4)
    device, index = gpu.to_device(x), gpu.to_device(at)
    places = {"y": Interface(np.zeros((5, 7), np.float32)), "picked": Interface(np.zeros((4, 40), np.float32))}
    s = {"s": Interface(np.zeros((5, 7), np.float32))}
    gpu.stream = stream()
    words = "the stream is being captured, and routine %s cannot be: "
    forward, biased = words % "forward", words % "biased"
    capture(gpu.stream, lambda: refused(tsr.CheckError, lambda: gpu.forward.run({"x": device, "at": index}, places), forward + "call it once before"))
    gpu.forward.run({"x": device, "at": index}, places)
    gpu.biased.run({"x": device, "rate": 1}, s)
    capture(gpu.stream, lambda: refused(tsr.CheckError, lambda: gpu.forward.run({"x": device, "at": index}, places), forward + "it needs a workspace"),
            lambda: refused(tsr.CheckError, lambda: gpu.biased.run({"x": device, "rate": 1}, s), biased + "it assigns to parameters"))
    gpu.params["b"] = np.zeros(7, np.float32)
    capture(gpu.stream, lambda: refused(tsr.CheckError, lambda: gpu.forward.run({"x": device, "at": index}, places), forward + "call it once before"))
    gpu.wait()


def captured_calls():
    """Two calls in a graph of the caller's: its replays compute what the arrays hold then; a check that fails is told by the wait."""
    module = ctypes.CDLL(os.path.join(FOLDER, "gpu.so"))
    module.m_state_size.restype = module.m_forward_device_workspace.restype = ctypes.c_size_t
    cpu, message = tsr.load(os.path.join(FOLDER, "cpu.so")), ctypes.c_char_p()
    call = ctypes.byref(Call(2, 0, ctypes.addressof(message), None, None))
    raw = np.zeros(module.m_state_size() + 64, np.uint8)
    state = raw[-raw.ctypes.data % 64:].ctypes.data_as(ctypes.c_void_p)
    module.m_init(state, ctypes.c_uint64(0))
    n, k, line = ctypes.c_int64(5), ctypes.c_int64(4), ctypes.c_void_p(stream())
    space = ctypes.c_void_p(DRIVER.alloc(module.m_forward_device_workspace(n, k)))
    x, at = arguments(5, 4)
    first = [Interface(a) for a in (x, at, np.zeros((5, 7), np.float32), np.full((4, 40), 7, np.float32))]
    second = [Interface(a) for a in (x[::-1].copy(), at, np.zeros((5, 7), np.float32), np.zeros((4, 40), np.float32))]

    def forward(arrays):
        return module.m_forward_device(call, n, k, *[ctypes.c_void_p(a.at) for a in arrays], state, space, line)

    codes = [forward(first), module.m_wait_device(call, line)]
    graph, more = capture(line.value, lambda: forward(first), lambda: forward(second))
    codes += more
    for step in range(3):
        x, at = arguments(5, 4)
        DRIVER.put(first[0].at, x)
        DRIVER.put(second[1].at, at)
        DRIVER.put(second[3].at, np.zeros((4, 40), np.float32))
        DRIVER.call("cuGraphLaunch", graph, line)
        codes.append(module.m_wait_device(call, line))
        near(first[2].get(), cpu.forward(x, at).y)
        near(second[3].get(), second[0].get()[at])
        if step == 0:  # calls outside of it go on
            codes += [forward(second), module.m_wait_device(call, line)]
    DRIVER.put(second[1].at, np.array([0, 1, 5, 2], np.int32))
    DRIVER.put(second[3].at, np.full((4, 40), 9, np.float32))
    DRIVER.call("cuGraphLaunch", graph, line)
    codes += [module.m_wait_device(call, line), module.m_wait_device(call, line)]
    assert np.all(second[3].get() == 9) and "outside" in message.value.decode()
    forward(second)  # a call that fails, one that sees it, and a replay that fails: two waits tell of both
    DRIVER.call("cuStreamSynchronize", line)
    codes.append(forward(first))
    DRIVER.call("cuGraphLaunch", graph, line)
    codes += [module.m_wait_device(call, line) for _ in range(3)]
    print("captured: %s" % codes)


def contexts():
    """In a context of the caller's; the state goes where it is used, with what was assigned to it."""
    gpu, cpu = models()
    before, own = ctypes.c_void_p(), ctypes.c_void_p()
    DRIVER.call("cuCtxGetCurrent", ctypes.byref(before))
    DRIVER.call("cuCtxCreate_v2", ctypes.byref(own), 0, 0)
    x, at = arguments(4, 3)
    for context in (own, own, own, before, own, before, before):
        DRIVER.call("cuCtxSetCurrent", context)
        gpu.stream = stream()
        near(gpu.biased(x=gpu.to_device(x), rate=1.5), cpu.biased(x=x, rate=1.5))
        near(gpu.forward(Interface(x), Interface(at)).y, cpu.forward(x, at).y)
        near(gpu.params["b"], cpu.params["b"])
        near(gpu.biased(x=x, rate=2), cpu.biased(x=x, rate=2))  # of the host: in the primary one
        now = ctypes.c_void_p()
        DRIVER.call("cuCtxGetCurrent", ctypes.byref(now))
        assert now.value == context.value
    DRIVER.call("cuCtxSetCurrent", before)
    DRIVER.call("cuCtxDestroy_v2", own)
    new = ctypes.c_void_p()
    DRIVER.call("cuCtxCreate_v2", ctypes.byref(new), 0, 0)  # it may have the address of the last one
    gpu.stream = 0
    near(gpu.forward(Interface(x), Interface(at)).y, cpu.forward(x, at).y)
    DRIVER.call("cuCtxSetCurrent", before)


class Call(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("message", ctypes.c_void_p),
                ("parallel", ctypes.c_void_p), ("pool", ctypes.c_void_p)]


def c_functions():
    """Those of the header, with a workspace of the caller's and without."""
    module = ctypes.CDLL(os.path.join(FOLDER, "gpu.so"))
    module.m_state_size.restype = module.m_forward_device_workspace.restype = ctypes.c_size_t
    cpu = tsr.load(os.path.join(FOLDER, "cpu.so"))
    message = ctypes.c_char_p()
    call = ctypes.byref(Call(2, 0, ctypes.addressof(message), None, None))
    raw = np.zeros(module.m_state_size() + 64, np.uint8)
    state = raw[-raw.ctypes.data % 64:]
    at_state = state.ctypes.data_as(ctypes.c_void_p)
    codes = [module.m_init(at_state, ctypes.c_uint64(0))]
    size = module.m_forward_device_workspace(ctypes.c_int64(5), ctypes.c_int64(4))
    spaces = [None, ctypes.c_void_p(DRIVER.alloc(size)), ctypes.c_void_p(DRIVER.alloc(size)), None]
    for step in range(9):
        x, at = arguments(5, 4)
        arrays = [Interface(a) for a in (x, at, np.zeros((5, 7), np.float32), np.zeros((4, 40), np.float32))]
        places = [ctypes.c_void_p(a.at) for a in arrays]
        line = ctypes.c_void_p(stream())
        codes += [module.m_forward_device(call, ctypes.c_int64(5), ctypes.c_int64(4), *places, at_state, spaces[step // 2 % 4], line),
                  module.m_wait_device(call, line)]
        near(arrays[2].get(), cpu.forward(x, at).y)
        near(arrays[3].get(), x[at])
    arrays[1] = Interface(np.full(4, -1, np.int32))
    places = [ctypes.c_void_p(a.at) for a in arrays]
    codes += [module.m_forward_device(call, ctypes.c_int64(5), ctypes.c_int64(4), *places, at_state, None, None),
              module.m_wait_device(call, None)]
    text = message.value.decode()
    for bad in ([ctypes.c_int64(-1), ctypes.c_int64(4), *places, at_state, None],
                [ctypes.c_int64(5), ctypes.c_int64(4), None, *places[1:], at_state, None],
                [ctypes.c_int64(5), ctypes.c_int64(4), *places, None, None],
                [ctypes.c_int64(5), ctypes.c_int64(4), *places, at_state, ctypes.c_void_p(8)]):
        codes.append(module.m_forward_device(call, *bad, None))
    codes.append(module.m_forward_device(call, ctypes.c_int64(5), ctypes.c_int64(4), *places, at_state, ctypes.c_void_p(DRIVER.alloc(size - 1)), None))
    print("small: " + message.value.decode())
    many = ctypes.c_int64(60_000_000)  # x has 2.4e9 elements, and memory for few
    codes.append(module.m_forward_device(call, many, ctypes.c_int64(4), *places, at_state, None, None))
    print("large: %s, workspace of %d bytes" % (message.value.decode(), module.m_forward_device_workspace(many, ctypes.c_int64(4))))
    unknown = module.m_forward_device_workspace(ctypes.c_int64(-1), ctypes.c_int64(1))
    print("C: %s, %s, workspace of %d bytes, %s" % (codes, text, size, "none" if unknown == 2**64 - 1 else unknown))


def compile_all():
    source = os.path.join(FOLDER, "m.tsr")
    with open(source, "w", encoding="utf8") as out:
        out.write(PROGRAM)
    for name, options in (("m.ptx", ["--target=cuda"]), ("gpu.so", ["--target=cuda", "--prefix=m"]), ("cpu.so", ["--no-prepack"])):
        subprocess.run([TSRC, source, "-o", os.path.join(FOLDER, name), *options], check=True)


if not os.path.exists(os.path.join(FOLDER, "m.ptx")):
    compile_all()
both = python_calls()
chain(*both)
checks(*both)
refusals(*both)
contexts()
captured_refusals()
if "LD_LIBRARY_PATH" in os.environ:
    c_functions()
    captured_calls()
print("arrays of the device: all agree")
