"""What a module says of its arrays, and the results of a call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tsr._library import ScalarEntry, TensorEntry


class Tensor(NamedTuple):
    """An input, result, parameter or scalar of a module; `shape` are sizes in storage order, such as "2*n"."""

    name: str
    dtype: str
    type: str
    shape: tuple[str, ...]


def tensor_of(entry: TensorEntry) -> Tensor:
    rank = entry.nbatch + entry.noutput + entry.ninput
    sizes = tuple(entry.sizes[axis].text.decode() for axis in range(rank))
    return Tensor(entry.name.decode(), entry.dtype.decode(), entry.type.decode(), sizes)


def scalar_of(entry: ScalarEntry) -> Tensor:
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

    def items(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Each name with its result, in order."""
        return tuple(zip(self._names, self))

    def __repr__(self) -> str:
        return "Outputs(" + ", ".join(f"{name}={array!r}" for name, array in zip(self._names, self)) + ")"
