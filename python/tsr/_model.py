"""Models: a loaded module with its parameters and routines. All calls share one state, which holds the parameters."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tsr._arrays import as_array, entry_of, view_of
from tsr._device import DeviceArray
from tsr._errors import ArgumentError, CheckError
from tsr._library import ABI, CHECK_FIRST, Call, Size, library
from tsr._parameters import Parameters
from tsr._picture import Graph, table
from tsr._routine import Routine
from tsr._session import UNKNOWN, Module, Session, State
from tsr._tensors import tensor_of


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
        self._module = Module(path)
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
        self._params = {t.name: t for t in (tensor_of(self._table.params[i]) for i in range(self._table.nparams))}
        self._pending: dict[str, np.ndarray] = {}
        self._state: State | None = None
        self._lock = threading.RLock()
        entries = (self._table.routines[i] for i in range(self._table.nroutines))
        self.routines: dict[str, Routine] = {r.name: r for r in (Routine(self, entry) for entry in entries)}
        self.params = Parameters(self)

    def __getattr__(self, name: str) -> Routine:
        routines = self.__dict__.get("routines", {})
        if name in routines:
            return routines[name]
        raise AttributeError(f"the module has no routine '{name}'; it has {', '.join(routines) or 'none'}")

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The routine `forward`."""
        return self.forward(*arrays, **named)

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

    def _new_session(self, dims: Mapping[str, int]) -> Session:
        session = Session(self._module, next(iter(self.routines)))
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
            self._state, self._pending = State(session), {}

    def _state_for(self, dims: Mapping[str, int]) -> State:
        """The state; made now where there is none, for these dims where its sizes need them."""
        with self._lock:
            if self._state is None:
                session = self._new_session(dims)
                for name, array in self._pending.items():
                    entry = entry_of(array, self._params[name].dtype)
                    session.call("tsr_set_param", name.encode(), ctypes.byref(entry))
                session.call("tsr_prepare_state")
                self._state, self._pending = State(session), {}
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
