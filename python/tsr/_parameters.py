"""The parameters of a model, as a mapping of arrays."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tsr._arrays import view_of
from tsr._errors import ArgumentError
from tsr._half_bytes import Packed

if TYPE_CHECKING:
    from tsr._model import Model


class Parameters(MutableMapping[str, np.ndarray]):
    """The parameters of a model by dotted name.

    Reading gives a read-only view of the model's memory, which shows what is set later; setting copies. A
    parameter cannot be deleted.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise KeyError(f"no parameter is called '{name}': there are {', '.join(self) or 'none'}")
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
