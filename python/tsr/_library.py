"""libtsr by ctypes: the structures of runtime/tsr.h, its functions, and where the binaries are."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path

from tsr._errors import ArgumentError, CheckError, Error, FileError

ABI = 2
CHECK_FIRST = 16
RANK_MAX = 32
HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"  # of a source tree


class Call(Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("flags", c_uint32),
        ("message", POINTER(c_char_p)),
        ("parallel", c_void_p),
        ("pool", c_void_p),
    ]


class Size(Structure):
    _fields_ = [("code", POINTER(c_int64)), ("n", c_int64), ("text", c_char_p)]


class TensorEntry(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_char_p),
        ("type", c_char_p),
        ("nbatch", c_int32),
        ("noutput", c_int32),
        ("ninput", c_int32),
        ("line", c_int32),
        ("sizes", POINTER(Size)),
        ("labels", POINTER(c_char_p)),
        ("offset", Size),
    ]


class ScalarEntry(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_char_p)]


class DimEntry(Structure):
    _fields_ = [("name", c_char_p), ("at_least", c_int64)]


class CheckEntry(Structure):
    _fields_ = [("text", c_char_p), ("place", c_char_p)]


Invoke = ctypes.CFUNCTYPE(
    c_int, POINTER(Call), POINTER(c_int64), POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p), c_void_p, c_void_p
)


class RoutineEntry(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("signature", c_char_p),
        ("invoke", Invoke),
        ("ndims", c_int32),
        ("nscalars", c_int32),
        ("ninputs", c_int32),
        ("noutputs", c_int32),
        ("dims", POINTER(c_int32)),
        ("scalars", POINTER(ScalarEntry)),
        ("inputs", POINTER(TensorEntry)),
        ("outputs", POINTER(TensorEntry)),
        ("workspace", Size),
        ("params", POINTER(c_int32)),
        ("nparams", c_int64),
    ]


class ModuleEntry(Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("bytes", c_uint32),
        ("name", c_char_p),
        ("source", c_char_p),
        ("producer", c_char_p),
        ("target", c_char_p),
        ("features", c_char_p),
        ("ndims", c_int32),
        ("nparams", c_int32),
        ("nroutines", c_int32),
        ("nchecks", c_int32),
        ("dims", POINTER(DimEntry)),
        ("params", POINTER(TensorEntry)),
        ("routines", POINTER(RoutineEntry)),
        ("checks", POINTER(CheckEntry)),
        ("state", Size),
        ("init", c_void_p),
        ("pack", c_void_p),
    ]


class ErrorText(Structure):
    _fields_ = [("code", c_int), ("text", ctypes.c_char * 1024)]


class ArrayEntry(Structure):
    _fields_ = [
        ("dtype", c_char_p),
        ("rank", c_int32),
        ("pad", c_int32),
        ("extents", c_int64 * RANK_MAX),
        ("bytes", c_size_t),
        ("data", c_void_p),
    ]


class Arguments(Structure):
    _fields_ = [
        ("dims", POINTER(c_int64)),
        ("scalars", POINTER(c_void_p)),
        ("inputs", POINTER(c_void_p)),
        ("outputs", POINTER(c_void_p)),
        ("state", c_void_p),
        ("workspace", c_void_p),
        ("stream", c_void_p),
    ]


# name: (result, arguments before the tsr_error); a result of None has no tsr_error behind.
_SIGNATURES = {
    "tsr_open": (c_void_p, [c_char_p]),
    "tsr_session_new": (c_void_p, [c_void_p, c_char_p]),
    "tsr_set_dim": (c_int, [c_void_p, c_char_p, c_int64]),
    "tsr_set_input": (c_int, [c_void_p, c_char_p, POINTER(ArrayEntry)]),
    "tsr_set_param": (c_int, [c_void_p, c_char_p, POINTER(ArrayEntry)]),
    "tsr_set_scalar": (c_int, [c_void_p, c_char_p, c_double]),
    "tsr_load_params": (c_int, [c_void_p, c_char_p, c_char_p]),
    "tsr_load_state": (c_int, [c_void_p, c_char_p]),
    "tsr_resolve": (c_int, [c_void_p]),
    "tsr_expected": (c_int, [c_void_p, c_char_p, POINTER(ArrayEntry)]),
    "tsr_prepare": (c_int, [c_void_p]),
    "tsr_prepare_state": (c_int, [c_void_p]),
    "tsr_execute": (c_int, [c_void_p]),
    "tsr_share_state": (c_int, [c_void_p, c_void_p]),
    "tsr_param": (c_int, [c_void_p, c_char_p, POINTER(ArrayEntry)]),
    "tsr_pack": (c_int, [c_void_p]),
    "tsr_save_state": (c_int, [c_void_p, c_char_p]),
    "tsr_pool_new": (c_void_p, [c_int32]),
    "tsr_device_allocate": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "tsr_device_write": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "tsr_device_read": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
}
_PLAIN = {
    "tsr_close": (None, [c_void_p]),
    "tsr_table": (POINTER(ModuleEntry), [c_void_p]),
    "tsr_session_free": (None, [c_void_p]),
    "tsr_set_seed": (None, [c_void_p, c_uint64]),
    "tsr_has_param": (c_int, [c_void_p, c_char_p]),
    "tsr_dim_value": (c_int64, [c_void_p, c_char_p]),
    "tsr_size_value": (c_int, [POINTER(Size), POINTER(ModuleEntry), POINTER(c_int64), POINTER(c_int64)]),
    "tsr_pool_call": (None, [c_void_p, POINTER(Call)]),
    "tsr_state": (c_void_p, [c_void_p]),
    "tsr_run_routine": (c_int, [c_void_p, POINTER(RoutineEntry), POINTER(Call), POINTER(Arguments)]),
    "tsr_run_device": (c_int, [c_void_p, POINTER(RoutineEntry), POINTER(Call), POINTER(Arguments)]),
    "tsr_wait_device": (c_int, [c_void_p, POINTER(Call), c_void_p]),
    "tsr_device_free": (None, [c_void_p, c_void_p]),
}


def _found_library() -> str:
    places = [os.environ.get("TSR_LIBRARY"), HERE / "lib" / "libtsr.so", BUILD / "libtsr.so"]
    for place in places:
        if place and os.path.exists(place):
            return str(place)
    name = ctypes.util.find_library("tsr")
    if not name:
        raise FileError("libtsr.so is not installed; TSR_LIBRARY=/path/to/libtsr.so names it")
    return name


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """libtsr, its functions declared. Calls of it let go of the interpreter's lock."""
    lib = ctypes.CDLL(_found_library())
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, [*arguments, POINTER(ErrorText)]
    for name, (result, arguments) in _PLAIN.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def compiler() -> str:
    """The path of tsrc: TSRC, what came with this package, a source tree's, or the first on the PATH."""
    for place in (os.environ.get("TSRC"), HERE / "bin" / "tsrc", BUILD / "tsrc"):
        if place and os.path.exists(place):
            return str(place)
    found = shutil.which("tsrc")
    if not found:
        raise FileError("the compiler tsrc is not installed; TSRC=/path/to/tsrc names it")
    return found


_ARGUMENT_CODES = range(-8, -3)  # TSR_FAIL_ORDER to TSR_FAIL_NAME


def call(name: str, *arguments: object) -> int:
    """Calls a function of libtsr; raises what its tsr_error says. Returns a handle, or 0."""
    error = ErrorText()
    result = getattr(library(), name)(*arguments, ctypes.byref(error))
    if (_SIGNATURES[name][0] is c_void_p and result) or result == 0:
        return result
    text, code = error.text.decode(errors="replace"), error.code
    if code == -1:
        raise MemoryError(text)
    if code in _ARGUMENT_CODES:
        raise ArgumentError(text, code)
    if code > 0:
        raise CheckError(text, code)
    raise FileError(text, code) if code in (-2, -3) else Error(text, code)
