"""Routines of a model as functions on arrays.

A routine's sizes follow from the arrays of a call. For each set of shapes a *plan* is made once, with a
session of libtsr that checks the arguments and works the dims out; calls then go to the routine itself,
with results in memory of NumPy's.
"""

from __future__ import annotations

import ctypes
import inspect
import keyword
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsr._arrays import DTYPES, as_array, empty, entry_of
from tsr._device import DeviceArray, device_array, is_on_device
from tsr._errors import ArgumentError, CheckError
from tsr._half_bytes import Packed, packed_bytes
from tsr._library import ABI, Arguments, ArrayEntry, Call, RoutineEntry, library
from tsr._session import Session, State, pools
from tsr._tensors import Outputs, Tensor, scalar_of, tensor_of

if TYPE_CHECKING:
    from tsr._model import Model


class _Plan(NamedTuple):
    """What a call with these shapes needs: the state, the dims, what results are like, how much scratch memory."""

    state: State
    dims: Any  # of the routine, in its order, as C takes them
    outputs: tuple[tuple[tuple[int, ...], np.dtype | None], ...]  # no dtype: two elements a byte
    workspace: int
    spare: list[np.ndarray]  # scratch memory of calls that are over


class Routine:
    """An entry point of a model, as a function: `y = model.forward(x=array)`.

    Inputs are positional in the order of `inputs` or by name; scalars, and dims that no array tells, by
    name. One result is an array, several are `Outputs`. Where an input or an array for a result is one of a
    device, by DLPack or `__cuda_array_interface__`, all are: nothing is copied, results are `DeviceArray`s, and
    the call is put into the model's stream and not waited for. Calls from several threads run side by side where
    the routine assigns to no parameter; the interpreter's lock is free meanwhile.
    """

    MOST_PLANS = 64

    def __init__(self, model: Model, entry: RoutineEntry) -> None:
        self._model, self._entry = model, entry
        self.name: str = entry.name.decode()
        self.inputs = tuple(tensor_of(entry.inputs[i]) for i in range(entry.ninputs))
        self.outputs = tuple(tensor_of(entry.outputs[i]) for i in range(entry.noutputs))
        self.scalars = tuple(scalar_of(entry.scalars[i]) for i in range(entry.nscalars))
        self.dims: tuple[str, ...] = tuple(model.dims[entry.dims[i]] for i in range(entry.ndims))
        self._names = tuple(tensor.name for tensor in self.outputs)
        self._plans: dict[Any, _Plan] = {}
        self.__name__ = self.__qualname__ = self.name
        self.__doc__ = f"{self!r}\n\nC: {entry.signature.decode()}" if entry.signature else repr(self)
        self.__signature__ = self._signature()

    def _signature(self) -> inspect.Signature:
        kinds = inspect.Parameter
        parts = [(t.name, kinds.POSITIONAL_OR_KEYWORD, t.type, kinds.empty) for t in self.inputs]
        parts += [(t.name, kinds.KEYWORD_ONLY, t.type, kinds.empty) for t in self.scalars]
        parts += [(name, kinds.KEYWORD_ONLY, int, None) for name in self.dims]
        # a keyword of Python's, such as an input named `from`, is shown with an underscore and given as **{"from": x}
        parameters = [
            kinds(name + "_" * keyword.iskeyword(name), kind, annotation=annotation, default=default)
            for name, kind, annotation, default in parts
        ]
        taken: set[str] = set()
        unique = [p for p in parameters if not (p.name in taken or taken.add(p.name))]
        return inspect.Signature(unique)

    def __repr__(self) -> str:
        takes = ", ".join(f"{t.name}: {t.type}" for t in (*self.inputs, *self.scalars))
        gives = ", ".join(f"{t.name}: {t.type}" for t in self.outputs)
        return f"{self.name}({takes}) -> {gives or 'nothing'}"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        if len(arrays) > len(self.inputs):
            by_name = f"; {self.scalars[0].name}=.. is given by its name" if self.scalars else ""
            raise ArgumentError(f"{self.name} takes {len(self.inputs)} arrays, not {len(arrays)}{by_name}: {self!r}")
        values = {tensor.name: value for tensor, value in zip(self.inputs, arrays)}
        twice = values.keys() & named.keys()
        if twice:
            raise ArgumentError(f"'{twice.pop()}' is given twice")
        return self.run({**values, **named})

    def run(self, arguments: Mapping[str, Any], into: Mapping[str, Any] | None = None) -> Any:
        """The call with its arguments in a mapping. `into` has arrays that results are written to, which
        must have their dtypes and sizes and lie row by row; such a call allocates nothing for them."""
        into = into or {}
        for name in into:
            if name not in self._names:
                raise ArgumentError(f"{self.name} has no result '{name}': {self!r}")
        on_device = any(is_on_device(arguments.get(t.name)) for t in self.inputs) or any(map(is_on_device, into.values()))
        dims = self._given_dims(arguments)
        inputs = [self._input(tensor, arguments, on_device) for tensor in self.inputs]
        key = (*(array.shape for array in inputs), *dims.items())
        plan = self._planned(key, inputs, dims)
        result = self._device_result if on_device else self._result
        arrays = [result(i, plan, into) for i in range(len(self.outputs))]
        if into and not on_device:
            self._check_apart(inputs, arrays)
        invoke = self._invoke_device if on_device else self._invoke
        invoke(plan, inputs, self._cells(arguments), arrays)
        if not on_device:
            arrays = [self._unpacked(i, array, into) for i, array in enumerate(arrays)]
        return arrays[0] if len(arrays) == 1 else Outputs(self._names, arrays)

    def _check_apart(self, inputs: list[np.ndarray], arrays: list[np.ndarray]) -> None:
        """A result in the memory of an input, or of another result, would be written while that is read. All lie row by
        row, so that their bounds tell."""
        others = [*zip((tensor.name for tensor in self.inputs), inputs), *zip(self._names, arrays)]
        for i, array in enumerate(arrays):
            for name, other in others[: len(inputs) + i]:
                if np.may_share_memory(_memory(array), _memory(other)):
                    raise ArgumentError(f"the array for '{self._names[i]}' is in the memory of '{name}'")

    def _unpacked(self, i: int, array: np.ndarray, into: Mapping[str, Any]) -> np.ndarray:
        """A new result of i4 or u4 with a byte for each element; others, and those of the caller's, as they are."""
        new = isinstance(array, Packed) and into.get(self._names[i]) is None
        return array.unpacked(self.outputs[i].dtype) if new else array

    def _input(self, tensor: Tensor, arguments: Mapping[str, Any], on_device: bool) -> np.ndarray | DeviceArray:
        if tensor.name not in arguments:
            raise ArgumentError(f"input '{tensor.name}' is missing: {tensor.type}")
        if on_device:
            return device_array(arguments[tensor.name], tensor.name, tensor.dtype, self._model)
        return as_array(arguments[tensor.name], tensor.name, tensor.dtype)

    def _given_dims(self, arguments: Mapping[str, Any]) -> dict[str, int]:
        """What is no tensor and no scalar must be a dim."""
        others = {tensor.name for tensor in (*self.inputs, *self.scalars)}
        dims = {name: value for name, value in arguments.items() if name not in others and value is not None}
        for name in dims:
            if name not in self._model.dims:
                raise ArgumentError(f"{self.name} has no argument '{name}': {self!r}")
        return {name: int(dims[name]) for name in self._model.dims if name in dims}

    def _cells(self, arguments: Mapping[str, Any]) -> list[Any]:
        """Scalars as C takes them: each in the first bytes of a cell of its own."""
        cells = []
        for scalar in self.scalars:
            if scalar.name not in arguments:
                raise ArgumentError(f"scalar '{scalar.name}' is missing: one {scalar.dtype}")
            cell = as_array(arguments[scalar.name], scalar.name, scalar.dtype)
            if cell.size != 1:
                raise ArgumentError(f"scalar '{scalar.name}' is one {scalar.dtype}, not {cell.size}")
            cells.append(cell)
        return cells

    def _planned(self, key: Any, inputs: list[np.ndarray], dims: dict[str, int]) -> _Plan:
        plan = self._plans.get(key)
        if plan is None or plan.state is not self._model._state:
            plan = self._plan(inputs, dims)
            with self._model._lock:
                while len(self._plans) >= self.MOST_PLANS:
                    del self._plans[next(iter(self._plans))]
                self._plans[key] = plan
        return plan

    def _plan(self, inputs: list[np.ndarray], dims: dict[str, int]) -> _Plan:
        session = Session(self._model._module, self.name)
        session.set_dims({**self._model._given_dims, **dims})
        for tensor, array in zip(self.inputs, inputs):
            session.call("tsr_set_input", tensor.name.encode(), ctypes.byref(entry_of(array, tensor.dtype)))
        for scalar in self.scalars:
            session.call("tsr_set_scalar", scalar.name.encode(), 0.0)
        session.call("tsr_resolve")
        state = self._model._state_for(session.known_dims())
        session.call("tsr_share_state", state.session.handle)
        session.call("tsr_prepare")
        found = session.known_dims()
        values = (ctypes.c_int64 * (len(self.dims) + 1))(*(found[name] for name in self.dims))
        workspace = self._model._size(self._entry.workspace, found)
        return _Plan(state, values, tuple(self._expected(session, t) for t in self.outputs), workspace, [])

    def _expected(self, session: Session, tensor: Tensor) -> tuple[tuple[int, ...], np.dtype | None]:
        entry = ArrayEntry()
        session.call("tsr_expected", tensor.name.encode(), ctypes.byref(entry))
        return tuple(entry.extents[: entry.rank]), DTYPES.get(tensor.dtype)

    def _result(self, i: int, plan: _Plan, into: Mapping[str, np.ndarray]) -> np.ndarray:
        extents, dtype = plan.outputs[i]
        array = into.get(self._names[i])
        if dtype is None:
            return self._packed_result(i, extents, array)
        if array is None:
            return empty(extents, dtype)
        fits = isinstance(array, np.ndarray) and array.shape == extents and array.dtype == dtype
        if not fits or not array.flags.carray:
            raise ArgumentError(
                f"the array for '{self._names[i]}' must be {dtype} of shape {extents}, row by row and writeable"
            )
        return array

    def _packed_result(self, i: int, extents: tuple[int, ...], array: Any) -> Packed:
        if array is None:
            return Packed(empty((packed_bytes(extents),), np.dtype(np.uint8)), extents)
        if not isinstance(array, Packed) or array.shape != extents or not array.data.flags.writeable:
            raise ArgumentError(f"the array for '{self._names[i]}' must be a writeable tsr.Packed of shape {extents}")
        return array

    def _invoke(self, plan: _Plan, inputs: list, cells: list, outputs: list[np.ndarray]) -> None:
        message = ctypes.c_char_p()
        what = Call(abi=ABI, message=ctypes.pointer(message))
        library().tsr_pool_call(pools.get(self._model.threads), ctypes.byref(what))
        plan.state.pack()
        workspace = plan.spare.pop() if plan.spare else empty((plan.workspace + 1,), np.dtype(np.uint8))
        try:
            arguments = Arguments(
                plan.dims,
                _pointers(cells),
                _pointers(inputs),
                _pointers(outputs),
                plan.state.address,
                workspace.ctypes.data,
                None,
            )
            module = self._model._module.handle
            code = library().tsr_run_routine(module, self._entry, ctypes.byref(what), ctypes.byref(arguments))
        finally:
            plan.spare.append(workspace)
        if code != 0:
            raise self._refusal(code, message.value)

    def _device_result(self, i: int, plan: _Plan, into: Mapping[str, Any]) -> DeviceArray:
        """An array of the device: that of the caller's, or a new one."""
        extents, name, dtype = plan.outputs[i][0], self._names[i], self.outputs[i].dtype
        if into.get(name) is None:
            return DeviceArray.empty(self._model, extents, dtype)
        array = device_array(into[name], name, dtype, self._model)
        if array.shape != extents:
            raise ArgumentError(f"the array for '{name}' must be of shape {extents}, not {array.shape}")
        return array

    def _invoke_device(self, plan: _Plan, inputs: list, cells: list, outputs: list[DeviceArray]) -> None:
        """Puts the call into the model's stream, and does not wait for it."""
        message = ctypes.c_char_p()
        what = Call(abi=ABI, message=ctypes.pointer(message))
        plan.state.pack()
        places = ((ctypes.c_void_p * (len(a) + 1))(*(x.pointer for x in a)) for a in (inputs, outputs))
        arguments = Arguments(plan.dims, _pointers(cells), *places, plan.state.address, None, self._model.stream)
        module = self._model._module.handle
        code = library().tsr_run_device(module, self._entry, ctypes.byref(what), ctypes.byref(arguments))
        if code != 0:
            raise self._refusal(code, message.value)

    def _refusal(self, code: int, message: bytes | None) -> CheckError:
        return self._model._refusal(code, message)


def _memory(array: np.ndarray | Packed) -> np.ndarray:
    return array.data if isinstance(array, Packed) else array


def _pointers(arrays: list[np.ndarray]) -> Any:
    return (ctypes.c_void_p * (len(arrays) + 1))(*(array.ctypes.data for array in arrays))
