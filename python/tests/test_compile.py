"""Compiling from Python: text and files, options, messages, pictures."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import tsr

ROOT = Path(__file__).resolve().parents[2]
WRONG = "input x : [3]\ninput y : [4]\noutput z = x + y\n"


def test_a_file_with_imports_and_dims(tmp_path):
    (tmp_path / "half.tsr").write_text("fn half(x) = x / 2\n")
    path = tmp_path / "model.tsr"
    path.write_text('import "half.tsr"\ndim n = 2\ninput x : [n]\noutput y = half.half(x)\n')
    model = tsr.compile(path, D={"n": 3}, output=tmp_path / "kept.so")
    np.testing.assert_array_equal(model.forward([2, 4, 6]), [1, 2, 3])
    assert (tmp_path / "kept.h").exists()
    np.testing.assert_array_equal(tsr.load(tmp_path / "kept.so").forward([2, 4, 6]), [1, 2, 3])


def test_a_file_that_is_made_anew_is_loaded_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alive = []
    for factor in range(2, 8):
        for output in tmp_path / "m.so", "m.so":
            model = tsr.compile(f"input x : [2]; output y = {factor} * x", output=output)
            again = tsr.load(output)
            alive += [(model, factor), (again, factor)]
    for model, factor in alive:  # those of before go on computing what they did
        np.testing.assert_array_equal(model([1, 2]), [factor, 2 * factor])


def test_text_finds_imports_beside_the_program_that_runs(tmp_path, monkeypatch):
    (tmp_path / "half.tsr").write_text("fn half(x) = x / 2\n")
    monkeypatch.chdir(tmp_path)
    model = tsr.compile('import "half.tsr"\ninput x : [2]\noutput y = half.half(x)')
    np.testing.assert_array_equal(model.forward([2, 4]), [1, 2])
    assert [path.name for path in tmp_path.iterdir()] == ["half.tsr"]


def test_options_reach_the_compiler():
    program = "input x : [8]\noutput y = exp(x)"
    model = tsr.compile(program, march="x86-64", optimize=1, fp="strict", cache=False, name="net", options=["-g"])
    assert model.name == "net"
    np.testing.assert_allclose(model.forward(np.zeros(8, np.float32)), np.ones(8))
    with pytest.raises(tsr.Error, match="--fp"):
        tsr.compile(program, fp="loose")
    with pytest.raises(tsr.CompileError, match="workspace"):
        tsr.compile("input x : [999]\noutput y = sum(\"i => \", tanh(sum(\"i, j => i\", x + {w : [999, 999]})))", max_workspace=1)


def test_mistakes_have_places_and_repairs():
    with pytest.raises(tsr.CompileError, match=r"program.tsr:3:16: error: .*\[E0301\]") as raised:
        tsr.compile(WRONG)
    error = raised.value
    assert error.code == "E0301" and (error.place.line, error.place.column) == (3, 16)
    first = error.diagnostics[0]
    assert first.severity == "error" and any(place.line == 1 for _, place in first.notes)
    assert {replacement for _, replacement, _ in first.fixes} == {"3", "4"}
    with pytest.raises(tsr.CompileError, match="cannot read"):
        tsr.compile("none.tsr")


def test_warnings_are_warnings():
    program = "dim n; dim m; input x : [n]; input y : [m]; output z = x + y"
    with pytest.warns(tsr.CompileWarning, match=r"program.tsr:1:\d+: 'n' and 'm' meet here"):
        tsr.compile(program)
    with pytest.raises(tsr.CompileError):
        tsr.compile(program, options=["-Werror"])


def test_shapes():
    assert tsr.shapes(ROOT / "examples/mlp.tsr", D={"hidden": 5}) == {
        "x": "f32 [n | 8]",
        "first.w": "f32 [8 -> 5]",
        "first.b": "f32 [5]",
        "second.w": "f32 [5 -> 3]",
        "second.b": "f32 [3]",
        "y": "f32 [n | 3]",
    }


def test_the_compiler_is_found_or_named(monkeypatch):
    monkeypatch.setenv("TSRC", "/nowhere/tsrc")
    monkeypatch.setattr("tsr._library.BUILD", Path("/nowhere"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(tsr.FileError, match="TSRC="):
        tsr.compile("output y = 1")


def test_a_notebook_shows_tables_and_the_graph():
    model = tsr.compile("dim n; input x : [n | 2]; output y = {w : [... -> 3]} * x")
    html = model._repr_html_()
    assert "<td><code>f32 [n | 2]</code></td>" in html and "<td><code>f32 [2 -&gt; 3]</code></td>" in html
    picture = tsr.graph("input a : [3]; output b = tanh(a)")
    assert picture.dot.startswith("digraph") and "tanh" in picture.dot
    if shutil.which("dot"):
        assert html.count("<svg") == 1 and picture.svg().startswith("<svg")
    else:
        assert "digraph" in picture._repr_html_()
        with pytest.raises(tsr.FileError, match="Graphviz"):
            picture.svg()


def test_the_graph_without_graphviz(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    picture = tsr.Graph("digraph { a -> b }")
    assert picture._repr_html_() == "<pre>digraph { a -&gt; b }</pre>"


def test_the_readme_of_the_package():
    """Its program runs, and prints what stands below it."""
    text = (ROOT / "python/README.md").read_text()
    blocks = text.split("```python\n")[1:]
    lines = []
    scope = {"print": lambda *words: lines.append(" ".join(map(str, words)))}
    wanted = []
    for block in blocks:
        code, _, rest = block.partition("```\n")
        exec(compile(code, "README.md", "exec"), scope)
        if rest.startswith("```text\n"):
            wanted += rest[len("```text\n") :].partition("```")[0].splitlines()
    assert "\n".join(lines).splitlines() == wanted
