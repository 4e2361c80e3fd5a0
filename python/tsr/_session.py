"""What libtsr holds for a model: the module, sessions, the state that they share, and threads. Each is freed with its object."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Mapping

from tsr._library import ArrayEntry, ModuleEntry, call, library

UNKNOWN = -1


class Pools:
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


pools = Pools()


class Module:
    """A model of libtsr, closed with this object: after its sessions, whose finalizers refer to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.handle = call("tsr_open", os.fsencode(path))
        self.table: ModuleEntry = library().tsr_table(self.handle).contents
        self.dims = tuple(self.table.dims[i].name.decode() for i in range(self.table.ndims))
        weakref.finalize(self, library().tsr_close, self.handle)


def _free_session(handle: int, module: Module) -> None:
    library().tsr_session_free(handle)


class Session:
    """A session of libtsr, freed with this object."""

    def __init__(self, module: Module, routine: str) -> None:
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


class State:
    """The memory with all parameters, as one session made it. `packed` is false after a parameter was written."""

    def __init__(self, session: Session) -> None:
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
