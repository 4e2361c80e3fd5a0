"""Models: a loaded module, its parameters, and its routines as functions on arrays.

A routine's sizes follow from the arrays of a call. For each set of shapes a *plan* is made once, with a
session of libtsr that checks the arguments and works the dims out; calls then go to the routine itself,
with results in memory of NumPy's. All plans share one state, which holds the parameters.
"""

from __future__ import annotations

import ctypes
import inspect
import keyword
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from tsr._arrays import DTYPES, as_array, empty, entry_of, view_of
from tsr._device import DeviceArray, device_array, is_on_device
from tsr._errors import ArgumentError, CheckError
from tsr._half_bytes import Packed
from tsr._library import (
    ABI,
    CHECK_FIRST,
    Arguments,
    ArrayEntry,
    Call,
    ModuleEntry,
    RoutineEntry,
    ScalarEntry,
    Size,
    TensorEntry,
    call,
    library,
)
from tsr._picture import Graph, table

UNKNOWN = -1


class Tensor(NamedTuple):
    """An input, result, parameter or scalar of a module; `shape` are sizes in storage order, such as "2*n"."""

    name: str
    dtype: str
    type: str
    shape: tuple[str, ...]


def _tensor_of(entry: TensorEntry) -> Tensor:
    rank = entry.nbatch + entry.noutput + entry.ninput
    sizes = tuple(entry.sizes[axis].text.decode() for axis in range(rank))
    return Tensor(entry.name.decode(), entry.dtype.decode(), entry.type.decode(), sizes)


def _scalar_of(entry: ScalarEntry) -> Tensor:
    dtype = entry.dtype.decode()
    return Tensor(entry.name.decode(), dtype, dtype, ())


class Outputs(tuple):
    """The results of a routine that has several: a tuple, whose members have names too."""

    _names: tuple[str, ...]

    def __new__(cls, names: tuple[str, ...], arrays: list[np.ndarray]) -> Outputs:
        self = super().__new__(cls, arrays)
        self._names = names
        return self

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self._names:
            raise KeyError(key)
        return super().__getitem__(self._names.index(key))

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(name)
        return self[name]

    def keys(self) -> tuple[str, ...]:
        """The results' names, in order; `dict(outputs)` works."""
        return self._names

    def __repr__(self) -> str:
        return "Outputs(" + ", ".join(f"{name}={array!r}" for name, array in zip(self._names, self)) + ")"


class _Pools:
    """Threads, one pool for each number of them. A pool is of no use in the child of a fork, which makes its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[int, int | None] = {}
        os.register_at_fork(after_in_child=self.__init__)

    def get(self, threads: int) -> int | None:
        """The handle of a pool of so many threads, 0: one for each CPU; None: one thread."""
        if threads == 1:
            return None
        with self._lock:
            if threads not in self._made:
                self._made[threads] = call("tsr_pool_new", threads)
            return self._made[threads]


_pools = _Pools()


class _Module:
    """A model of libtsr, closed with this object: after its sessions, whose finalizers refer to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.handle = call("tsr_open", os.fsencode(path))
        self.table: ModuleEntry = library().tsr_table(self.handle).contents
        self.dims = tuple(self.table.dims[i].name.decode() for i in range(self.table.ndims))
        weakref.finalize(self, library().tsr_close, self.handle)


def _free_session(handle: int, module: _Module) -> None:
    library().tsr_session_free(handle)


class _Session:
    """A session of libtsr, freed with this object."""

    def __init__(self, module: _Module, routine: str) -> None:
        self.module = module
        self.handle = call("tsr_session_new", module.handle, routine.encode())
        weakref.finalize(self, _free_session, self.handle, module)

    def call(self, name: str, *arguments: object) -> None:
        call(name, self.handle, *arguments)

    def set_dims(self, dims: Mapping[str, int]) -> None:
        for name, value in dims.items():
            self.call("tsr_set_dim", name.encode(), int(value))

    def known_dims(self) -> dict[str, int]:
        found = {name: library().tsr_dim_value(self.handle, name.encode()) for name in self.module.dims}
        return {name: value for name, value in found.items() if value != UNKNOWN}


class _State:
    """The memory with all parameters, as one session made it. `packed` is false after a parameter was written."""

    def __init__(self, session: _Session) -> None:
        self.session = session
        self.packed = True
        self.lock = threading.Lock()
        self.address = library().tsr_state(session.handle)

    def pack(self) -> None:
        with self.lock:
            if not self.packed:
                self.session.call("tsr_pack")
                self.packed = True

    def entry(self, name: str) -> ArrayEntry:
        entry = ArrayEntry()
        self.session.call("tsr_param", name.encode(), ctypes.byref(entry))
        return entry


class Parameters(MutableMapping[str, np.ndarray]):
    """The parameters of a model by dotted name.

    Reading gives a read-only view of the model's memory, which shows what is set later; setting copies. A
    parameter cannot be deleted.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise KeyError(name)
        state = self._model._state_for({})
        view, dtype = view_of(state.entry(name), state.session), self._model._params[name].dtype
        return view.unpacked(dtype) if isinstance(view, Packed) else view

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def update(self, *others: Any, **named: Any) -> None:
        """Sets several parameters at once, from mappings or pairs: all of them, or none after an error."""
        values: dict[str, Any] = {}
        for other in (*others, named):
            values.update(other)
        self._model._set_params(values)

    def __delitem__(self, name: str) -> None:
        raise ArgumentError(f"'{name}': a parameter cannot be deleted")

    def __contains__(self, name: object) -> bool:
        return name in self._model._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._model._params)

    def __len__(self) -> int:
        return len(self._model._params)

    def __repr__(self) -> str:
        return "Parameters(" + ", ".join(f"{t.name}: {t.type}" for t in self._model._params.values()) + ")"


class _Plan(NamedTuple):
    """What a call with these shapes needs: the state, the dims, what results are like, how much scratch memory."""

    state: _State
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
        self.inputs = tuple(_tensor_of(entry.inputs[i]) for i in range(entry.ninputs))
        self.outputs = tuple(_tensor_of(entry.outputs[i]) for i in range(entry.noutputs))
        self.scalars = tuple(_scalar_of(entry.scalars[i]) for i in range(entry.nscalars))
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
            raise ArgumentError(f"{self.name} takes {len(self.inputs)} arrays, not {len(arrays)}: {self!r}")
        values = {tensor.name: value for tensor, value in zip(self.inputs, arrays)}
        twice = values.keys() & named.keys()
        if twice:
            raise ArgumentError(f"'{twice.pop()}' is given twice")
        return self.run({**values, **named})

    def run(self, arguments: Mapping[str, Any], into: Mapping[str, Any] | None = None) -> Any:
        """The call with its arguments in a mapping. `into` has arrays that results are written to, which
        must have their dtypes and sizes and lie row by row; such a call allocates nothing for them."""
        into = into or {}
        on_device = any(is_on_device(arguments.get(t.name)) for t in self.inputs) or any(map(is_on_device, into.values()))
        inputs = [self._input(tensor, arguments, on_device) for tensor in self.inputs]
        dims = self._given_dims(arguments)
        key = (*(array.shape for array in inputs), *dims.items())
        plan = self._planned(key, inputs, dims)
        result = self._device_result if on_device else self._result
        arrays = [result(i, plan, into) for i in range(len(self.outputs))]
        invoke = self._invoke_device if on_device else self._invoke
        invoke(plan, inputs, self._cells(arguments), arrays)
        if not on_device:
            arrays = [self._unpacked(i, array, into) for i, array in enumerate(arrays)]
        return arrays[0] if len(arrays) == 1 else Outputs(self._names, arrays)

    def _unpacked(self, i: int, array: np.ndarray, into: Mapping[str, Any]) -> np.ndarray:
        """A new result of i4 or u4 with a byte for each element; others, and those of the caller's, as they are."""
        given = isinstance(array, Packed) and into.get(self._names[i]) is None
        return array.unpacked(self.outputs[i].dtype) if given else array

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
        session = _Session(self._model._module, self.name)
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

    def _expected(self, session: _Session, tensor: Tensor) -> tuple[tuple[int, ...], np.dtype]:
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
        if array.shape != extents or array.dtype != dtype or not array.flags.carray:
            raise ArgumentError(
                f"the array for '{self._names[i]}' must be {dtype} of shape {extents}, row by row and writeable"
            )
        return array

    def _packed_result(self, i: int, extents: tuple[int, ...], array: Any) -> Packed:
        if array is None:
            return Packed(empty(((math.prod(extents) + 1) // 2,), np.dtype(np.uint8)), extents)
        if not isinstance(array, Packed) or array.shape != extents or not array.data.flags.writeable:
            raise ArgumentError(f"the array for '{self._names[i]}' must be a writeable tsr.Packed of shape {extents}")
        return array

    def _invoke(self, plan: _Plan, inputs: list, cells: list, outputs: list[np.ndarray]) -> None:
        message = ctypes.c_char_p()
        what = Call(abi=ABI, message=ctypes.pointer(message))
        library().tsr_pool_call(_pools.get(self._model.threads), ctypes.byref(what))
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


def _pointers(arrays: list[np.ndarray]) -> Any:
    return (ctypes.c_void_p * (len(arrays) + 1))(*(array.ctypes.data for array in arrays))


class Model:
    """A loaded module. Its routines are attributes, `model.forward`, and members of `model.routines`.

    name, source, producer, target: what the module says of itself. dims: the names of its dims. params: its
    parameters, a mapping. stream: the CUstream, as a number, that calls on arrays of a device go to; 0: the default
    one.
    """

    _draw: Callable[[], Graph] | None = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dims: Mapping[str, int] | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self._module = _Module(path)
        self._table = self._module.table
        self.name: str = self._table.name.decode()
        self.source: str = self._table.source.decode()
        self.producer: str = self._table.producer.decode()
        self.target: str = self._table.target.decode()
        self.dims: tuple[str, ...] = self._module.dims
        self.threads = 0 if threads is None else int(threads)
        self.seed = int(seed)
        self.stream = 0
        self._given_dims = dict(dims or {})
        self._params = {t.name: t for t in (_tensor_of(self._table.params[i]) for i in range(self._table.nparams))}
        self._pending: dict[str, np.ndarray] = {}
        self._state: _State | None = None
        self._lock = threading.RLock()
        entries = (self._table.routines[i] for i in range(self._table.nroutines))
        self.routines: dict[str, Routine] = {r.name: r for r in (Routine(self, entry) for entry in entries)}
        self.params = Parameters(self)

    def __getattr__(self, name: str) -> Routine:
        routines = self.__dict__.get("routines", {})
        if name in routines:
            return routines[name]
        raise AttributeError(f"the module has no routine '{name}'; it has {', '.join(routines) or 'none'}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.routines]

    def __repr__(self) -> str:
        lines = [f"<model {self.name}, from {self.source}, for {self.target}>"]
        lines += [f"  {routine!r}" for routine in self.routines.values()]
        lines += [f"  {tensor.name}: {tensor.type}" for tensor in self._params.values()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (routine.name, role, tensor.name, tensor.type)
            for routine in self.routines.values()
            for role, tensors in (("takes", (*routine.inputs, *routine.scalars)), ("gives", routine.outputs))
            for tensor in tensors
        ]
        params = [(tensor.name, tensor.type) for tensor in self._params.values()]
        return (
            table(f"{self.name}, from {self.source}", ("routine", "", "tensor", "type"), rows)
            + table("parameters", ("name", "type"), params)
            + (self.graph._repr_html_() if self.graph else "")
        )

    @property
    def graph(self) -> Graph | None:
        """The graph of the program that `tsr.compile` made the model from; None for a module that was loaded."""
        return self._draw() if self._draw else None

    # ---- arrays of a device ----

    def to_device(self, value: Any, dtype: str | None = None) -> DeviceArray:
        """A copy of the array on the device of the model, whose code is for a GPU. dtype: that of the tensor which it is
        for, where NumPy has none of it ("bf16")."""
        return DeviceArray.copy_of(self, value, dtype)

    def wait(self, stream: int | None = None) -> None:
        """Waits for the calls on arrays of a device, or for all of another stream; a CheckError of the first call that has
        failed since the last time."""
        message = ctypes.c_char_p()
        what = Call(abi=ABI, message=ctypes.pointer(message))
        code = library().tsr_wait_device(self._module.handle, ctypes.byref(what), self.stream if stream is None else stream)
        if code != 0:
            raise self._refusal(code, message.value)

    def _refusal(self, code: int, message: bytes | None) -> CheckError:
        text, place, check = (message or b"").decode(), "", code - CHECK_FIRST
        if 0 <= check < self._table.nchecks:
            entry = self._table.checks[check]
            text, place = text or entry.text.decode(), entry.place.decode()
        return CheckError(f"{place}{': ' if place else ''}{text} (code {code})", code, place)

    # ---- parameters ----

    def load_params(self, path: str | os.PathLike[str], map: str | os.PathLike[str] | None = None) -> None:
        """Parameters from a .safetensors, .npz or .gguf file, by dotted name, or as a map says what is whose.
        Those that the file lacks stay as they are."""
        where = None if map is None else os.fsencode(map)
        self._remake("tsr_load_params", os.fsencode(path), where)

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """All parameters, from a file that save_state or `tsr run --save-state` wrote."""
        with self._lock:
            self._state, self._pending = None, {}
            self._remake("tsr_load_state", os.fsencode(path))

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Writes all parameters to a file for load_state."""
        self._state_for({}).session.call("tsr_save_state", os.fsencode(path))

    def init(self, seed: int = 0) -> None:
        """Gives all parameters what the program says they start with, from this seed."""
        with self._lock:
            self.seed, self._state, self._pending = int(seed), None, {}

    def _new_session(self, dims: Mapping[str, int]) -> _Session:
        session = _Session(self._module, next(iter(self.routines)))
        library().tsr_set_seed(session.handle, ctypes.c_uint64(self.seed & 0xFFFFFFFFFFFFFFFF))
        session.set_dims({**dims, **self._given_dims})
        return session

    def _remake(self, function: str, *arguments: object) -> None:
        """A state anew: from the file, then from what was set, then from the state that there was."""
        with self._lock:
            old = self._state
            session = self._new_session(old.session.known_dims() if old else {})
            session.call(function, *arguments)
            kept = dict(self._pending)
            if old is not None:
                kept = {name: view_of(old.entry(name), old.session) for name in self._params}
            for name, array in kept.items():
                if not library().tsr_has_param(session.handle, name.encode()):
                    entry = entry_of(array, self._params[name].dtype)
                    session.call("tsr_set_param", name.encode(), ctypes.byref(entry))
            session.call("tsr_prepare_state")
            self._state, self._pending = _State(session), {}

    def _state_for(self, dims: Mapping[str, int]) -> _State:
        """The state; made now where there is none, for these dims where its sizes need them."""
        with self._lock:
            if self._state is None:
                session = self._new_session(dims)
                for name, array in self._pending.items():
                    entry = entry_of(array, self._params[name].dtype)
                    session.call("tsr_set_param", name.encode(), ctypes.byref(entry))
                session.call("tsr_prepare_state")
                self._state, self._pending = _State(session), {}
            return self._state

    def _set_params(self, values: Mapping[str, Any]) -> None:
        arrays = {}
        for name, value in values.items():
            if name not in self._params:
                raise ArgumentError(f"the module has no parameter '{name}'")
            tensor = self._params[name]
            arrays[name] = as_array(value, name, tensor.dtype)
            if arrays[name].ndim != len(tensor.shape):
                raise ArgumentError(f"parameter '{name}' is {tensor.type}, not of shape {arrays[name].shape}")
        with self._lock:
            if self._state is None:
                self._pending.update({name: array.copy() for name, array in arrays.items()})
                return
            entries = {name: self._state.entry(name) for name in arrays}
            for name, entry in entries.items():
                if arrays[name].shape != tuple(entry.extents[: entry.rank]):
                    raise ArgumentError(
                        f"parameter '{name}' is {self._params[name].type}, array {entry.extents[: entry.rank]}, "
                        f"not of shape {arrays[name].shape}"
                    )
            for name, entry in entries.items():
                ctypes.memmove(entry.data, arrays[name].ctypes.data, entry.bytes)
            self._state.packed = False

    # ---- sizes ----

    def _size(self, size: Size, dims: Mapping[str, int]) -> int:
        """The value of a size of the table for these dims."""
        values = (ctypes.c_int64 * (len(self.dims) + 1))(*(dims.get(name, UNKNOWN) for name in self.dims))
        out = ctypes.c_int64()
        code = library().tsr_size_value(ctypes.byref(size), ctypes.byref(self._table), values, ctypes.byref(out))
        if code != 0:
            raise ArgumentError(f"the size {size.text.decode()} cannot be computed for {dict(dims)}", code)
        return out.value


def load(
    path: str | os.PathLike[str],
    *,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Model:
    """Loads a module that `tsrc` made. A module is code: load those that you trust.

    dims: values of dims that no array tells, such as those of parameters. seed: for the initialisers of
    parameters that are not set. threads: at most so many run a call, None: one for each CPU; results do
    not depend on it.
    """
    return Model(path, dims=dims, seed=seed, threads=threads)
