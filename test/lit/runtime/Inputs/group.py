"""group.py LIBTSR RANKS: processes with a device each, over the emulator of the driver and a library that stands for NCCL, have the
sums, gathered arrays and broadcasts that NumPy has, bit for bit; also in a graph, twice."""
import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "emulator", "Inputs"))
from driver import Driver  # noqa: E402

LIBRARY = ctypes.CDLL(sys.argv[1])
SIZE = ctypes.c_size_t
LIBRARY.tsr_group_sum_workspace.restype = SIZE
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "i64": np.int64, "u32": np.uint32}
SIZES = [0, 1, 2, 7, 4099]


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class Member(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("ranks", ctypes.c_int32)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class Exchange(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p), ("n", SIZE), ("source", ctypes.c_void_p), ("to", ctypes.c_void_p),
                ("workspace", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


def good(code, error):
    if code:
        sys.exit("code %d: %s" % (code, error.text.decode()))


def new_id():
    made, error = Id(), Error()
    good(LIBRARY.tsr_group_new_id(ctypes.byref(made), ctypes.byref(error)), error)
    return bytes(made).hex()


def join(text, rank, ranks):
    group, error, made = ctypes.c_void_p(), Error(), Id.from_buffer_copy(bytes.fromhex(text))
    code = LIBRARY.tsr_group_join(ctypes.byref(made), Member(rank, ranks), ctypes.byref(group), ctypes.byref(error))
    return code, group, error


def array_of(dtype, n, rank, more=0):
    """What a member has: numbers whose sum depends on the order."""
    random = np.random.default_rng([n, rank, more])
    if dtype == "bf16":
        return (random.standard_normal(n).astype(np.float32) * 2.0 ** random.integers(-8, 8, n)).astype(np.float32).view(np.uint32).__rshift__(16).astype(np.uint16)
    if dtype[0] in "iu":
        return random.integers(0, 2**31 - 1, n).astype(DTYPES[dtype])
    return (random.standard_normal(n) * 2.0 ** random.integers(-8, 8, n)).astype(DTYPES[dtype])


def summed(dtype, parts):
    """In the order of the ranks; halves in f32, rounded once."""
    wide = {"f16": np.float32, "bf16": np.float32}.get(dtype, DTYPES[dtype])
    lift = (lambda a: (a.astype(np.uint32) << 16).view(np.float32)) if dtype == "bf16" else (lambda a: a.astype(wide))
    total = lift(parts[0])
    with np.errstate(over="ignore"):
        for part in parts[1:]:
            total = (total + lift(part)).astype(wide)
    if dtype != "bf16":
        return total.astype(DTYPES[dtype])
    bits = total.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


class Rank:
    def __init__(self, text, rank, ranks):
        self.driver, self.rank, self.ranks = Driver(os.environ["TSR_LIBCUDA"]), rank, ranks
        code, self.group, error = join(text, rank, ranks)
        good(code, error)
        self.stream = ctypes.c_void_p()
        self.driver.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def place(self, array):
        at = self.driver.alloc(array.nbytes)
        self.driver.put(at, array)
        return at

    def do(self, name, dtype, n, source, to, workspace=0, *more):
        error, what = Error(), Exchange(dtype.encode(), n, source, to, workspace, self.stream)
        good(getattr(LIBRARY, "tsr_group_" + name)(self.group, ctypes.byref(what), *more, ctypes.byref(error)), error)

    def wait(self):
        self.driver.call("cuStreamSynchronize", self.stream)
        error = Error()
        good(LIBRARY.tsr_group_check(self.group, ctypes.byref(error)), error)

    def sums(self):
        for dtype in DTYPES:
            for n in SIZES:
                parts = [array_of(dtype, n, r) for r in range(self.ranks)]
                at, want = self.place(parts[self.rank]), summed(dtype, parts)
                space = self.driver.alloc(LIBRARY.tsr_group_sum_workspace(self.group, dtype.encode(), SIZE(n)))
                to = at if n % 2 else self.driver.alloc(want.nbytes)  # in place, or not
                self.do("sum", dtype, n, at, to, space)
                self.wait()
                got = self.driver.get(to, want.shape, want.dtype)
                assert got.tobytes() == want.tobytes(), (dtype, n, got, want)

    def moves(self):
        for n in SIZES:
            parts = [array_of("f32", n, r) for r in range(self.ranks)]
            at, whole = self.place(parts[self.rank]), self.driver.alloc(4 * n * self.ranks)
            self.do("gather", "f32", n, at, whole)
            for root in range(self.ranks):
                to = self.driver.alloc(4 * n)
                self.do("broadcast", "f32", n, at if root == self.rank else None, to, 0, ctypes.c_int32(root))
                self.wait()
                assert np.array_equal(self.driver.get(to, (n,), np.float32), parts[root])
            assert np.array_equal(self.driver.get(whole, (n * self.ranks,), np.float32), np.concatenate(parts))

    def graph(self):
        """A sum and what gathers it, captured; replays take what the arrays hold then."""
        n, graph, ready = 4099, ctypes.c_void_p(), ctypes.c_void_p()
        at, to, whole = self.driver.alloc(4 * n), self.driver.alloc(4 * n), self.driver.alloc(4 * n * self.ranks)
        space = self.driver.alloc(LIBRARY.tsr_group_sum_workspace(self.group, b"f32", SIZE(n)))
        self.driver.call("cuStreamBeginCapture_v2", self.stream, 0)
        self.do("sum", "f32", n, at, to, space)
        self.do("gather", "f32", n, at, whole)
        self.driver.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.driver.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        for step in range(3):
            parts = [array_of("f32", n, r, step) for r in range(self.ranks)]
            self.driver.put(at, parts[self.rank])
            self.driver.call("cuGraphLaunch", ready, self.stream)
            self.wait()
            assert self.driver.get(to, (n,), np.float32).tobytes() == summed("f32", parts).tobytes()
            assert np.array_equal(self.driver.get(whole, (n * self.ranks,), np.float32), np.concatenate(parts))

    def elsewhere(self):
        """From threads whose context is another one, or none, which have it behind; in a stream of the group's."""
        driver, now = ctypes.CDLL(os.environ["TSR_LIBCUDA"]), ctypes.c_void_p()
        n, parts = 7, [array_of("f32", 7, r) for r in range(self.ranks)]
        at, to, whole = self.place(parts[self.rank]), self.driver.alloc(4 * n), self.driver.alloc(4 * n * self.ranks)
        space = self.driver.alloc(LIBRARY.tsr_group_sum_workspace(self.group, b"f32", SIZE(n)))

        def calls(context):
            driver.cuCtxSetCurrent(ctypes.c_void_p(context))
            self.do("sum", "f32", n, at, to, space)
            self.do("gather", "f32", n, at, whole)
            self.do("broadcast", "f32", n, at, at, 0, ctypes.c_int32(0))
            driver.cuCtxGetCurrent(ctypes.byref(now))
            assert now.value == context, (now, context)

        for context in None, member_context(driver):
            self.driver.put(at, parts[self.rank])
            with ThreadPoolExecutor(1) as threads:
                threads.submit(calls, context).result()
            self.wait()
            assert self.driver.get(to, (n,), np.float32).tobytes() == summed("f32", parts).tobytes()

    def refusals(self):
        """Alike on all ranks: nothing goes out."""
        def refused(code, words, name, what, *more):
            error = Error()
            got = getattr(LIBRARY, "tsr_group_" + name)(self.group, ctypes.byref(what), *more, ctypes.byref(error))
            assert got == code and words in error.text.decode(), (got, error.text)
        at = self.driver.alloc(64)
        refused(-5, "no array of 'f33' goes between GPUs", "sum", Exchange(b"f33", 4, at, at, at, None))
        refused(-5, "no sums of 'u8' go between GPUs", "sum", Exchange(b"u8", 4, at, at, at, None))
        refused(3, "`to` is NULL", "gather", Exchange(b"f32", 4, at, None, None, None))
        refused(-9, "there is no rank %d of %d" % (self.ranks, self.ranks), "broadcast", Exchange(b"f32", 4, at, at, None, None), ctypes.c_int32(self.ranks))
        refused(2, "too many", "gather", Exchange(b"f64", 2**61, at, at, None, None))
        if self.ranks > 1:
            refused(3, "`workspace` is NULL", "sum", Exchange(b"f32", 4, at, at, None, None))


def leaves_no_context():
    """A thread without a context has none behind a group, whose context ends with it; and what it had, where it had one."""
    driver, now = ctypes.CDLL(os.environ["TSR_LIBCUDA"]), ctypes.c_void_p()
    for context in None, member_context(driver):
        driver.cuCtxSetCurrent(ctypes.c_void_p(context))
        code, group, error = join(new_id(), 0, 1)
        good(code, error)
        LIBRARY.tsr_group_leave(group)
        driver.cuCtxGetCurrent(ctypes.byref(now))
        assert now.value == context, (now, context)


def member_context(driver):
    made, before = ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuCtxGetCurrent(ctypes.byref(before))
    assert driver.cuCtxCreate_v2(ctypes.byref(made), 0, 0) == 0
    driver.cuCtxSetCurrent(before)
    return made.value


def main():
    if len(sys.argv) == 3:
        made, ranks = new_id(), int(sys.argv[2])
        runs = [subprocess.Popen([sys.executable, __file__, sys.argv[1], str(ranks), str(r), made]) for r in range(ranks)]
        sys.exit(max(run.wait() != 0 for run in runs))
    ranks, rank, text = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    member = Rank(text, rank, ranks)
    member.sums()
    member.moves()
    member.graph()
    member.elsewhere()
    member.refusals()
    if rank == 0 and os.environ.get("DIES"):
        os._exit(0)
    if os.environ.get("DIES"):
        at = member.driver.alloc(64)
        member.do("sum", "f32", 4, at, at, at)
        member.driver.call("cuStreamSynchronize", member.stream)
        error = Error()
        print("%d, %s" % (LIBRARY.tsr_group_check(member.group, ctypes.byref(error)), error.text.decode()))
    LIBRARY.tsr_group_leave(member.group)
    if ranks == 1:
        leaves_no_context()
    if rank == 0:
        print("%d members agree with NumPy" % ranks)


main()
