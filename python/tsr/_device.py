"""Arrays in the memory of a GPU: other libraries', by DLPack or `__cuda_array_interface__`, and libtsr's own.

Nothing is copied and nothing is converted: an array has the tensor's dtype and lies row by row. No other
library is asked for anything but its array.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from tsr._arrays import DTYPES, as_array
from tsr._errors import ArgumentError
from tsr._library import call, library

if TYPE_CHECKING:
    from tsr._model import Model

_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_DLPACK_DTYPES = {
    (2, 32): "f32",
    (2, 64): "f64",
    (2, 16): "f16",
    (4, 16): "bf16",
    (0, 64): "i64",
    (0, 32): "i32",
    (0, 8): "i8",
    (1, 32): "u32",
    (1, 8): "u8",
    (6, 8): "bool",
    (10, 8): "f8e4m3",
    (12, 8): "f8e5m2",
}


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def is_on_device(value: Any) -> bool:
    """Is it an array of a GPU?"""
    if isinstance(value, DeviceArray) or hasattr(value, "__cuda_array_interface__"):
        return True
    asked = getattr(value, "__dlpack_device__", None)
    return asked is not None and int(asked()[0]) in _DEVICES


def _row_by_row(shape: Sequence[int], strides: Sequence[int], step: int = 1) -> bool:
    """Do elements follow each other in such steps? Strides of axes with one element say nothing, nor do those of none."""
    if 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


class DeviceArray:
    """An array of the device: `pointer`, `shape`, `dtype` (such as "f32"). `numpy()` is a copy on the host, behind all
    calls of the model before it. Other libraries take it by `__cuda_array_interface__`."""

    def __init__(self, pointer: int, shape: Sequence[int], dtype: str, owner: Any, model: Model | None = None) -> None:
        self.pointer, self.shape, self.dtype = pointer, tuple(shape), dtype
        self._owner, self._model = owner, model

    @classmethod
    def empty(cls, model: Model, shape: Sequence[int], dtype: str) -> DeviceArray:
        """What it holds is undefined. The memory is given back with the object."""
        at, module = ctypes.c_void_p(), model._module
        if dtype not in DTYPES:
            raise ArgumentError(f"an array of {dtype} is given by the caller: a result has two elements a byte")
        nbytes = int(np.prod(shape, dtype=np.int64)) * DTYPES[dtype].itemsize
        call("tsr_device_allocate", module.handle, nbytes, ctypes.byref(at))
        array = cls(at.value, shape, dtype, None, model)
        weakref.finalize(array, _free, module, at.value)
        return array

    @classmethod
    def copy_of(cls, model: Model, value: Any, dtype: str | None = None) -> DeviceArray:
        if dtype is None:
            found = np.asarray(value).dtype
            dtype = next((name for name, known in DTYPES.items() if known == found), None)
            if dtype is None:
                raise ArgumentError(f"an array of {found} has no dtype of the language")
        host = as_array(value, "the array", dtype)
        array = cls.empty(model, host.shape, dtype)
        call("tsr_device_write", model._module.handle, array.pointer, host.ctypes.data, host.nbytes)
        return array

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * DTYPES[self.dtype].itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": DTYPES[self.dtype].str,
            "data": (self.pointer if self.nbytes else 0, False),
            "strides": None,
            "version": 3,
            "stream": None if self._model is None else self._model.stream or 1,
        }

    def numpy(self) -> np.ndarray:
        """A copy; elements of bf16, f8e4m3 and f8e5m2 are their bits. A CheckError where the call that made it failed."""
        if self._model is None:
            raise ArgumentError("the array is another library's")
        self._model.wait()
        host = np.empty(self.shape, DTYPES[self.dtype])
        call("tsr_device_read", self._model._module.handle, host.ctypes.data, self.pointer, host.nbytes)
        return host

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}, {self.shape})"


def _free(module: Any, pointer: int) -> None:
    library().tsr_device_free(module.handle, pointer)


def _from_dlpack(value: Any, model: Model) -> DeviceArray | None:
    """The producer has its work done before what is put into the model's stream from now on."""
    capsule = value.__dlpack__(stream=model.stream or 1)
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = _Tensor.from_address(pointer_of(capsule, b"dltensor"))
    shape = tuple(t.shape[: t.ndim])
    dtype = _DLPACK_DTYPES.get((t.code, t.bits)) if t.lanes == 1 else None
    if t.strides and not _row_by_row(shape, t.strides[: t.ndim]):
        return None
    return DeviceArray((t.data or 0) + t.byte_offset, shape, dtype or "another dtype", (value, capsule))


def _from_interface(value: Any, model: Model) -> DeviceArray | None:
    found = value.__cuda_array_interface__
    if found.get("stream") not in (None, model.stream or 1):
        model.wait(found["stream"])  # what the array is made by
    kind, shape = np.dtype(found["typestr"]), tuple(found["shape"])
    dtype = next((name for name, known in DTYPES.items() if known == kind), str(kind))
    strides = found.get("strides")
    if strides is not None and not _row_by_row(shape, strides, kind.itemsize):
        return None
    return DeviceArray(found["data"][0], shape, dtype, value)


def device_array(value: Any, name: str, dtype: str, model: Model) -> DeviceArray:
    """`value` as an array of the device with that dtype, for the model's stream; its memory stays its owner's."""
    if isinstance(value, DeviceArray):
        array: DeviceArray | None = value
        if value._model is not None and value._model is not model and value._model.stream != model.stream:
            value._model.wait()
    elif not is_on_device(value):
        raise ArgumentError(f"'{name}' is an array of the host, and another one is of a device: all are of one kind")
    else:
        array = _from_dlpack(value, model) if hasattr(value, "__dlpack__") else _from_interface(value, model)
    if array is None:
        raise ArgumentError(f"'{name}' does not lie row by row; arrays of a device are not copied")
    bits = not hasattr(value, "__dlpack__") and DTYPES.get(array.dtype) == DTYPES.get(dtype, "none")  # of bf16 and f8
    if array.dtype != dtype and not bits:
        raise ArgumentError(f"'{name}' is {dtype}, and this array is {array.dtype}; arrays of a device are not converted")
    return array
