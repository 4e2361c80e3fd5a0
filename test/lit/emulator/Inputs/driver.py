"""The driver library through ctypes, and programs in PTX run by the plan in front of them: what test/ptx is tested with.

    model = Ptx("net.ptx")
    probs, = model.forward([2, 5], [x], [((2, 5), np.float32)])

Every buffer is an allocation of its own, so that what lies beside it is no memory. DRIVER names the library; where it has
tsr_emu_report, errors tell what the emulator saw."""
import ctypes
import os
import re

import numpy as np

INT32_MAX = 2**31 - 1
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "f16": np.float16, "bf16": np.uint16, "i8": np.int8,
          "u8": np.uint8, "i64": np.int64, "u32": np.uint32, "u64": np.uint64, "i16": np.int16, "u16": np.uint16,
          "bool": np.bool_, "f8e4m3": np.uint8, "f8e5m2": np.uint8, "u4x32": "V16"}
POINTER, SIZE = ctypes.c_uint64, ctypes.c_size_t


class DriverError(Exception):
    def __init__(self, name, code, report):
        super().__init__("%s: %d%s" % (name, code, ": " + report if report else ""))
        self.code, self.report = code, report


class Driver:
    """A device with its primary context, which is the thread's."""

    def __init__(self, library=None):
        self.library = ctypes.CDLL(library or os.environ["DRIVER"])
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code != 0:
            raise DriverError(name, code, self.report())

    def report(self):
        """What the emulator told last, or nothing."""
        if not hasattr(self.library, "tsr_emu_report"):
            return ""
        self.library.tsr_emu_report.restype = ctypes.c_char_p
        return self.library.tsr_emu_report().decode()

    def alloc(self, nbytes):
        at = POINTER()
        self.call("cuMemAlloc_v2", ctypes.byref(at), SIZE(max(nbytes, 1)))
        return at.value

    def free(self, at):
        self.call("cuMemFree_v2", POINTER(at))

    def put(self, at, array):
        array = np.ascontiguousarray(array)
        self.call("cuMemcpyHtoD_v2", POINTER(at), array.ctypes.data_as(ctypes.c_void_p), SIZE(array.nbytes))

    def get(self, at, shape, dtype):
        array = np.empty(shape, dtype)
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), POINTER(at), SIZE(array.nbytes))
        return array

    def module(self, text):
        """Of PTX; the error says what the driver's log has."""
        log, handle = ctypes.create_string_buffer(1000), ctypes.c_void_p()
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p).value, len(log))
        text = text.encode() if isinstance(text, str) else text
        code = self.library.cuModuleLoadDataEx(ctypes.byref(handle), text, 2, options, values)
        if code != 0:
            raise DriverError("cuModuleLoadDataEx", code, log.value.decode())
        return handle

    def symbol(self, module, name):
        """(address, bytes) of a variable."""
        at, nbytes = POINTER(), SIZE()
        self.call("cuModuleGetGlobal_v2", ctypes.byref(at), ctypes.byref(nbytes), module, name.encode())
        return at.value, nbytes.value

    def tensor_map(self, at, extents, strides, box, dtype=9, swizzle=3):
        """For a kernel's parameter: 128 bytes at a multiple of as many. The innermost axis first. dtype: 9 bf16, 6 f16, 7 f32, 11 tf32."""
        each = 4 if dtype in (7, 11) else 2
        room, n = (ctypes.c_ubyte * 256)(), len(extents)
        made = (ctypes.c_ubyte * 128).from_buffer(room, -ctypes.addressof(room) % 128)
        self.call("cuTensorMapEncodeTiled", made, dtype, n, ctypes.c_void_p(at), (ctypes.c_uint64 * n)(*extents),
                  (ctypes.c_uint64 * n)(*[each * s for s in strides[1:]]), (ctypes.c_uint32 * n)(*box),
                  (ctypes.c_uint32 * n)(*[1] * n), 0, swizzle, 2, 0)
        return made

    def window_map(self, at, extents, strides, low, high, box, dtype=9, steps=(1, 1, 1), swizzle=3):
        """Of windows: box is elements of the innermost axis, and how many windows."""
        each = 4 if dtype in (7, 11) else 2
        room, n = (ctypes.c_ubyte * 256)(), len(extents)
        made = (ctypes.c_ubyte * 128).from_buffer(room, -ctypes.addressof(room) % 128)
        self.call("cuTensorMapEncodeIm2col", made, dtype, n, ctypes.c_void_p(at), (ctypes.c_uint64 * n)(*extents),
                  (ctypes.c_uint64 * n)(*[each * s for s in strides[1:]]), (ctypes.c_int * n)(*low), (ctypes.c_int * n)(*high),
                  ctypes.c_uint32(box[0]), ctypes.c_uint32(box[1]), (ctypes.c_uint32 * n)(1, *steps[:n - 2], 1), 0, swizzle, 2, 0)
        return made

    def launch(self, module, name, grid, block, args, shared=0):
        """args: ctypes values, or integers, which are 64 bits. Waits for its end."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, 8, shared)
        args = [a if isinstance(a, (ctypes._SimpleCData, ctypes.Array)) else ctypes.c_int64(a) for a in args]
        places = (ctypes.c_void_p * max(len(args), 1))(*[ctypes.addressof(a) for a in args])
        sizes = [*grid, *[1] * (3 - len(grid)), *block, *[1] * (3 - len(block))]
        self.call("cuLaunchKernel", function, *map(ctypes.c_uint, sizes), ctypes.c_uint(shared), None, places, None)
        self.call("cuStreamSynchronize", None)


def size_of(text, dims):
    """A SIZE of a plan: quotients are exact, or stand in floor()."""
    return eval(text.replace("/", "//").replace("^", "**"), {"floor": lambda x: x}, dims)


AXIS = re.compile(r"(?: windows (.*?) low (-?\d+) step (\d+))? of (\d+) in (.*?) by (.*?)(?= of \d| windows |$)")


class Buffer:
    """[%ID] NAME DTYPE SIZE, and where it is."""

    def __init__(self, kind, line):
        match = re.match(r"(%\d+) (\S+) (\w+) (.+?)(?: at (.+?))?(?: symbol (\w+))?"
                         r"(?: (?:line|uniform|value) .*| computed type.*)?$", line)
        self.kind, (self.id, self.name, self.dtype, self.elements, self.at, self.symbol) = kind, match.groups()
        self.packed = self.dtype in ("i4", "u4")  # two a byte
        self.itemsize = 1 if self.packed else np.dtype(DTYPES[self.dtype]).itemsize


def bytes_of(buffer, dims):
    n = size_of(buffer.elements, dims)
    return (n + 1) // 2 if buffer.packed else n * buffer.itemsize


class Routine:
    def __init__(self, name):
        self.name, self.buffers, self.scalars, self.dims, self.steps = name, [], [], [], []


class Plan:
    """grammar: codegen/cuda_text.h. Guards and first values are not looked at."""

    def __init__(self, text):
        self.shared, self.routines = [], {}
        open_steps = []
        for line in re.findall(r"^//tsr: (.*)$", text, re.M):
            word, _, rest = line.partition(" ")
            if word in ("param", "const", "packed"):
                self.shared.append(Buffer(word, rest))
            elif word in ("routine", "start", "pack"):
                name = {"start": "", "pack": None}.get(word, rest.split(" workspace ")[0])
                routine = self.routines[name] = Routine(name)
                open_steps = [routine.steps]
            elif word == "dims" and self.routines:
                routine.dims = rest.split(", ")
            elif word == "scalar":
                routine.scalars.append(rest.split(" "))
            elif word in ("in", "out", "temp"):
                routine.buffers.append(Buffer(word, rest))
            elif word == "launch":
                match = re.match(r"(\S+) blocks (.*?)(?: most (\d+))? threads (\d+)(?: shared (\d+))? args ?(.*?)(?: from .*)?$", rest)
                open_steps[-1].append(("launch", *match.groups()))
            elif word == "for":
                open_steps[-1].append(("for", rest, []))
                open_steps.append(open_steps[-1][-1][2])
            elif word == "end":
                open_steps.pop()


class Ptx:
    def __init__(self, path, driver=None, text=None):
        self.text = text if text is not None else open(path, encoding="utf8").read()
        self.plan, self.driver = Plan(self.text), driver or Driver()
        self.module = self.driver.module(self.text)
        self.most = 1 << 16  # blocks of a grid: each goes on to those behind

    def forward(self, dims, inputs, outputs, state=None, routine="forward"):
        """As tsrlib.Model: dims, inputs in order, (shape, dtype) of the outputs, the state's bytes."""
        plan = self.plan.routines[routine]
        names = dict(zip(plan.dims, map(int, dims)))
        taken, places = [], {}

        def new(nbytes):
            taken.append(self.driver.alloc(nbytes))
            return taken[-1]
        try:
            self.place(plan, names, places, new, state)
            if state is not None and None in self.plan.routines:
                self.run(self.plan.routines[None].steps, names, places)
            scalars = iter(inputs)
            for (name, dtype), value in zip(plan.scalars, scalars):
                names[name] = np.asarray(value).astype(DTYPES[dtype])
            for buffer, array in zip([b for b in plan.buffers if b.kind == "in"], scalars):
                self.driver.put(places[buffer.id][0], array)
            self.routine(plan, names, places)
            made = [places[b.id][0] for b in plan.buffers if b.kind == "out"]
            return [self.driver.get(at, shape, dtype) for at, (shape, dtype) in zip(made, outputs)]
        finally:
            for at in taken:
                self.driver.library.cuMemFree_v2(POINTER(at))

    def place(self, plan, names, places, new, state):
        """Memory for each buffer; parameters are in the state."""
        base = 0
        if state is not None:
            base = new(state.nbytes)
            self.driver.put(base, state)
        for b in self.plan.shared:
            if b.kind == "packed":
                at = new(bytes_of(b, names))
            else:
                at = self.driver.symbol(self.module, b.symbol)[0] if b.symbol else base + size_of(b.at, names)
            places[b.id] = (at, b)
        for b in plan.buffers:
            places[b.id] = (new(bytes_of(b, names)), b)

    def routine(self, plan, names, places):
        status, _ = self.driver.symbol(self.module, "tsr_status")
        self.driver.put(status, np.zeros(1, np.int32))
        self.run(plan.steps, names, places)
        code = int(self.driver.get(status, 1, np.int32)[0])
        if code != 0:
            raise RuntimeError("code %d" % (INT32_MAX - code))

    def run(self, steps, names, places):
        for step in steps:
            if step[0] == "for":
                self.loop(step[1], step[2], names, places)
                continue
            _, name, blocks, most, threads, shared, args = step
            blocks = min(size_of(blocks, names), self.most, int(most or self.most))
            if blocks > 0:
                self.driver.launch(self.module, name, [blocks], [int(threads)],
                                   [self.argument(a, names, places) for a in args.split(", ") if a], int(shared or 0))

    def argument(self, text, names, places):
        if text.startswith(("tensor %", "result %")):
            at, buffer = places[text[7:].partition(" ")[0]]
            return self.map(at, [[size_of(word or "0", names) for word in axis] for axis in AXIS.findall(text)],
                            {"bf16": 9, "f16": 6, "f32": 7 if text.startswith("result") else 11}[buffer.dtype])
        name, _, offset = text.partition(" + ")
        if name in places:
            at, buffer = places[name]
            return at + (size_of(offset, names) if offset else 0) * buffer.itemsize
        if isinstance(names[name], int):
            return names[name]
        return np.ctypeslib.as_ctypes_type(names[name].dtype)(names[name].item())

    def map(self, at, axes, dtype):
        """axes: windows, low, step, box, extent, stride."""
        windows, lows, steps, boxes, extents, strides = zip(*axes)
        extents, strides = [max(e, 1) for e in extents], [s or 8 for s in strides]
        if not any(steps):
            return self.driver.tensor_map(at, extents, strides, boxes, dtype)
        high = [low + (n - 1) * step - (e - 1) for n, low, step, e in zip(windows, lows, steps, extents)]
        return self.driver.window_map(at, extents, strides, lows[1:-1], high[1:-1], boxes, dtype, steps[1:-1])

    def loop(self, words, steps, names, places):
        """STEP ("count" SIZE | "scalar" NAME) [until ID] [exchange ID ID, ...]"""
        words, _, exchanges = words.partition(" exchange ")
        words, _, until = words.partition(" until ")
        name, kind, count = words.split(" ", 2)
        for step in range(int(names[count]) if kind == "scalar" else size_of(count, names)):
            self.run(steps, {**names, name: step}, places)
            if until and self.driver.get(places[until][0], 1, DTYPES[places[until][1].dtype])[0]:
                break
            for pair in exchanges.split(", ") if exchanges else []:
                a, b = pair.split(" ")
                places[a], places[b] = (places[b][0], places[a][1]), (places[a][0], places[b][1])
