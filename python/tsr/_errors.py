"""What goes wrong, as exceptions: each has the code of the compiler, of libtsr or of the module."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence


class Place(NamedTuple):
    """A stretch of source text; lines and columns count from 1, the end is exclusive."""

    file: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None

    def __str__(self) -> str:
        return "" if self.file is None else f"{self.file}:{self.line}:{self.column}"


class Diagnostic(NamedTuple):
    """One message of the compiler. `notes` are (message, place); `fixes` (message, replacement, place)."""

    code: str
    severity: str
    message: str
    place: Place
    notes: Sequence[tuple[str, Place]]
    fixes: Sequence[tuple[str, str, Place]]


class Error(Exception):
    """Any failure of this package. `code` is what the compiler or the library calls it."""

    def __init__(self, message: str, code: int | str = 0) -> None:
        super().__init__(message)
        self.code = code


class CompileError(Error, ValueError):
    """The program is refused. `diagnostics` has every message, `code` and `place` are the first error's."""

    def __init__(self, text: str, diagnostics: Sequence[Diagnostic]) -> None:
        first = next((d for d in diagnostics if d.severity == "error"), None)
        super().__init__(text, first.code if first else "")
        self.diagnostics = tuple(diagnostics)
        self.place = first.place if first else Place(None, None, None, None, None)


class ArgumentError(Error, TypeError, ValueError):
    """An argument has no such name, is missing, or has another dtype, rank or size."""


class FileError(Error, OSError):
    """A file cannot be read or written, or is not what it should be."""


class CheckError(Error, ValueError):
    """The routine refused to run: `code` as in C, `place` the source of the check, "" where it has none."""

    def __init__(self, message: str, code: int, place: str = "") -> None:
        super().__init__(message, code)
        self.place = place


def place_of(entry: dict[str, Any]) -> Place:
    return Place(entry["file"], entry["line"], entry["column"], entry["endLine"], entry["endColumn"])


def diagnostic_of(entry: dict[str, Any]) -> Diagnostic:
    """From an entry of `tsrc -fdiagnostics-format=json`."""
    return Diagnostic(
        entry["code"],
        entry["severity"],
        entry["message"],
        place_of(entry),
        tuple((note["message"], place_of(note)) for note in entry["notes"]),
        tuple((fix["message"], fix["replacement"], place_of(fix)) for fix in entry["fixes"]),
    )
