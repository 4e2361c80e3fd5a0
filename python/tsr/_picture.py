"""What a notebook shows: the graph of a program, and a model's routines and parameters as a table."""

from __future__ import annotations

import shutil
import subprocess
from html import escape
from typing import Iterable, Sequence

from tsr._errors import FileError


class Graph:
    """A tensor graph in the language of Graphviz, whose `dot` draws it where it is installed."""

    def __init__(self, dot: str) -> None:
        self.dot = dot

    def svg(self) -> str:
        """The picture, as SVG. Raises FileError where Graphviz is not installed."""
        tool = shutil.which("dot")
        if tool is None:
            raise FileError("Graphviz is not installed: its program 'dot' draws graphs")
        done = subprocess.run([tool, "-Tsvg"], input=self.dot, capture_output=True, text=True, check=True)
        return done.stdout[done.stdout.index("<svg") :]

    def _repr_html_(self) -> str:
        if shutil.which("dot"):
            return self.svg()
        return f"<pre>{escape(self.dot)}</pre>"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table, every cell text; "" without rows."""
    lines = ["".join(f"<td><code>{escape(cell)}</code></td>" for cell in row) for row in rows]
    if not lines:
        return ""
    head = "".join(f"<th>{escape(word)}</th>" for word in header)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"

