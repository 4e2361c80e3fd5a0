"""The compiler, run as a child process: programs to models, shapes, pictures."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Mapping, Sequence, Union

from tsr._errors import CompileError, Diagnostic, Error, diagnostic_of
from tsr._library import compiler
from tsr._model import Model, load
from tsr._picture import Graph

Program = Union[str, "os.PathLike[str]"]


class CompileWarning(UserWarning):
    """A warning of the compiler."""


def _is_path(program: Program) -> bool:
    return not isinstance(program, str) or (program.endswith(".tsr") and "\n" not in program)


def _run(arguments: Sequence[str], cwd: str | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([compiler(), *arguments], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _diagnostics(text: str) -> list[Diagnostic]:
    start = text.find("[\n")
    try:
        return [diagnostic_of(entry) for entry in json.loads(text[start:])] if start >= 0 else []
    except json.JSONDecodeError:
        return []


def _compile(program: Program, name: str, arguments: Sequence[str], directory: str) -> str:
    """Runs tsrc on the program; its standard output. Raises CompileError, passes warnings on."""
    cwd = None
    path = os.fspath(program)
    arguments = [*arguments]
    if not _is_path(program):
        Path(directory, f"{name}.tsr").write_text(os.fspath(program), encoding="utf-8")
        arguments += ["-I", os.getcwd()]
        path, cwd = f"{name}.tsr", directory
    done = _run([*arguments, "-fdiagnostics-format=json", "--", path], cwd)
    found = _diagnostics(done.stderr)
    if done.returncode == 1:
        text = _run([*arguments, "-fdiagnostics-color=never", "--", path], cwd).stderr.strip()
        raise CompileError(text or done.stderr.strip(), found)
    if done.returncode != 0:
        raise Error(done.stderr.strip() or f"tsrc ended with status {done.returncode}", done.returncode)
    for diagnostic in found:
        place = f"{diagnostic.place}: " if diagnostic.place.file else ""
        warnings.warn(f"{place}{diagnostic.message} [{diagnostic.code}]", CompileWarning, stacklevel=4)
    return done.stdout


def _definitions(dims: Mapping[str, int] | None) -> list[str]:
    return [word for name, value in (dims or {}).items() for word in ("-D", f"{name}={int(value)}")]


def compile(
    program: Program,
    *,
    D: Mapping[str, int] | None = None,
    output: str | os.PathLike[str] | None = None,
    name: str = "program",
    march: str = "native",
    optimize: int = 2,
    fp: str = "default",
    grain: int | None = None,
    max_workspace: int | str | None = None,
    schedule: str | os.PathLike[str] | None = None,
    prepack: bool = True,
    cache: bool = True,
    include: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Model:
    """Compiles a program and loads it.

    program: text, or the path of a `.tsr` file. D fixes dims, as `-D` does. `output` keeps the module
    there (and its header beside it); otherwise nothing stays on disk. `name` is what messages call a
    program that is text. The options from `march` to `include` are those of `tsrc`, `options` any others;
    `dims`, `seed` and `threads` those of `load`.

    Raises CompileError with all messages; warnings of the compiler are CompileWarning.
    """
    arguments = [*_definitions(D), f"-march={march}", f"-O{optimize}", f"--fp={fp}", *options]
    arguments += [f"--grain={grain}"] if grain is not None else []
    arguments += [f"--max-workspace={max_workspace}"] if max_workspace is not None else []
    arguments += [f"--schedule={os.path.abspath(schedule)}"] if schedule is not None else []
    arguments += [] if prepack else ["--no-prepack"]
    arguments += [] if cache else ["--no-cache"]
    for folder in include:
        arguments += ["-I", os.path.abspath(folder)]
    with tempfile.TemporaryDirectory(prefix="tsr-") as directory:
        module = os.path.join(directory, "module.so") if output is None else os.path.abspath(output)
        _compile(program, name, [*arguments, "-o", module], directory)
        model = load(module, dims=dims, seed=seed, threads=threads)
    model._draw = lambda: graph(program, D=D, name=name)
    return model


def shapes(program: Program, *, D: Mapping[str, int] | None = None, name: str = "program") -> dict[str, str]:
    """The inferred type of every tensor that has a name: {"y": "f32 [n | 3]"}."""
    with tempfile.TemporaryDirectory(prefix="tsr-") as directory:
        lines = _compile(program, name, [*_definitions(D), "--dump=shapes"], directory).splitlines()
    return dict(line.split(" : ", 1) for line in lines if " : " in line)


def graph(program: Program, *, D: Mapping[str, int] | None = None, name: str = "program") -> Graph:
    """The tensor graph with its shapes, as a picture that a notebook shows."""
    with tempfile.TemporaryDirectory(prefix="tsr-") as directory:
        path = os.path.join(directory, "graph.dot")
        _compile(program, name, [*_definitions(D), "-o", path], directory)
        return Graph(Path(path).read_text(encoding="utf-8"))
