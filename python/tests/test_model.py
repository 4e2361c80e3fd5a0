"""Models called from Python, against NumPy."""

import gc
import inspect
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

import tsr

LAYER = "dim n; input x : [n | 4]; output y = relu({w : [... -> 3]} * x + {b = 0})"
HOST_DRIVER = Path(__file__).resolve().parents[2] / "test" / "lit" / "runtime" / "Inputs"
random = np.random.default_rng(7)


@pytest.fixture(scope="module")
def layer():
    return tsr.compile(LAYER)


def numbers(*shape):
    return random.standard_normal(shape).astype(np.float32)


def expected(model, x):
    return np.maximum(x @ model.params["w"].T + model.params["b"], 0)


def test_a_model_is_called_as_its_forward(layer):
    x = numbers(2, 4)
    np.testing.assert_array_equal(layer(x), layer.forward(x=x))
    with pytest.raises(tsr.ArgumentError, match="forward has no argument 'z': forward"):
        layer(z=x)
    with pytest.raises(AttributeError, match="no routine 'forward'; it has step"):
        tsr.compile("param p : [] = 0; routine step() { p =+ 1 }")()


def test_parameters_are_named_where_one_is_unknown(layer):
    with pytest.raises(KeyError, match="no parameter is called 'v': there are w, b"):
        layer.params["v"]
    assert layer.params.get("v") is None


@pytest.mark.parametrize("n", [5, 1, 0, 33, 5])
def test_any_batch_size_of_one_model(layer, n):
    x = numbers(n, 4)
    y = layer.forward(x=x)
    assert y.shape == (n, 3) and y.dtype == np.float32
    np.testing.assert_allclose(y, expected(layer, x), rtol=1e-5)


def test_results_are_new_arrays(layer):
    first = layer.forward(numbers(2, 4))
    kept = first.copy()
    layer.forward(numbers(2, 4))
    np.testing.assert_array_equal(first, kept)
    assert first.ctypes.data % 64 == 0 and first.flags.writeable


def test_results_go_into_given_arrays(layer):
    x, y = numbers(6, 4), np.empty((6, 3), np.float32)
    assert layer.forward.run({"x": x}, into={"y": y}) is y
    np.testing.assert_allclose(y, expected(layer, x), rtol=1e-5)
    for bad in (np.empty((5, 3), np.float32), np.empty((6, 3)), np.empty((3, 6), np.float32).T):
        with pytest.raises(tsr.ArgumentError, match="row by row"):
            layer.forward.run({"x": x}, into={"y": bad})
    with pytest.raises(tsr.ArgumentError, match="row by row"):
        layer.forward.run({"x": x}, into={"y": [[1.0]]})
    with pytest.raises(tsr.ArgumentError, match="no result 'z'"):
        layer.forward.run({"x": x}, into={"z": y})


def test_results_share_no_memory():
    square = tsr.compile("input x : [4, 4]\noutput y = einsum('ij; jk => ik', x, x), z = x + 1".replace("'", '"'))
    x, both = numbers(4, 4), np.empty((2, 4, 4), np.float32)
    with pytest.raises(tsr.ArgumentError, match="'y' is in the memory of 'x'"):
        square.forward.run({"x": x}, into={"y": x})
    with pytest.raises(tsr.ArgumentError, match="'z' is in the memory of 'y'"):
        square.forward.run({"x": x}, into={"y": both[0], "z": both[0]})
    np.testing.assert_allclose(square.forward.run({"x": x}, into={"y": both[0], "z": both[1]}).y, x @ x, rtol=1e-5)


def test_an_array_that_does_not_fit_is_told_with_its_dtype(layer):
    with pytest.raises(tsr.ArgumentError, match="axis 1 must be 4, not 3: .* came f32 array 5 x 3"):
        layer.forward(np.zeros((5, 3), np.float32))
    with pytest.raises(tsr.ArgumentError, match="'x': its lists are not all as long"):
        layer.forward([[1, 2, 3, 4], [1]])


def test_layouts_are_made_row_major_and_only_those_are_copied(layer):
    from tsr._arrays import as_array

    x = numbers(6, 4)
    assert as_array(x, "x", "f32") is x
    assert np.shares_memory(as_array(x[1:4], "x", "f32"), x)
    strided = numbers(6, 8)[:, ::2]
    np.testing.assert_allclose(layer.forward(strided), expected(layer, strided), rtol=1e-5)
    swapped = x.astype(">f4")
    np.testing.assert_array_equal(layer.forward(swapped), layer.forward(x))


def test_what_has_no_dtype_is_converted_and_what_has_one_is_not_rounded(layer):
    x = [[1, 2, 3, 4.5]]
    np.testing.assert_allclose(layer.forward(x), expected(layer, np.float32(x)), rtol=1e-5)
    layer.forward(np.arange(8).reshape(2, 4))
    layer.forward(np.array(x))
    with pytest.raises(tsr.ArgumentError, match=r"astype\(np.float32\)"):
        layer.forward(np.array([[0.1, 0, 0, 0]]))
    with pytest.raises(tsr.ArgumentError, match="x"):
        layer.forward(np.array([["a", "b", "c", "d"]]))


def test_arrays_of_other_libraries():
    class Dlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    class Convertible:
        def __array__(self, dtype=None):
            return np.full((2, 4), 2, dtype or np.float32)

    model = tsr.compile(LAYER)
    model.params["w"] = np.ones((3, 4))
    x = numbers(2, 4)
    np.testing.assert_array_equal(model.forward(Dlpack(x)), model.forward(x))
    np.testing.assert_array_equal(model.forward(Convertible()), np.full((2, 3), 8))


def test_wrong_arguments_are_told(layer):
    for arguments, text in [
        ({}, "input 'x' is missing: f32"),
        ({"x": numbers(2, 5)}, "axis 1 must be 4, not 5"),
        ({"x": numbers(4)}, "came f32 array 4"),
        ({"x": numbers(2, 4), "n": 3}, "n is 3 by n=3, but axis 0"),
        ({"x": numbers(2, 4), "z": 3}, "no argument 'z'"),
    ]:
        with pytest.raises(tsr.ArgumentError, match=text):
            layer.forward(**arguments)
    with pytest.raises(tsr.ArgumentError, match="given twice"):
        layer.forward(numbers(2, 4), x=numbers(2, 4))
    with pytest.raises(tsr.ArgumentError, match="takes 1 arrays"):
        layer.forward(numbers(2, 4), numbers(2, 4))
    with pytest.raises(AttributeError, match="no routine 'backward'; it has forward"):
        layer.backward


def test_parameters_are_a_mapping():
    model = tsr.compile(LAYER)
    assert dict(model.params).keys() == {"w", "b"} and len(model.params) == 2
    x, w = numbers(3, 4), numbers(3, 4)
    model.params["w"] = w  # before there is a state
    np.testing.assert_allclose(model.forward(x), np.maximum(x @ w.T, 0), rtol=1e-5)
    model.params.update(w=2 * w, b=[1, 2, 3])  # and after
    np.testing.assert_allclose(model.forward(x), np.maximum(2 * x @ w.T + [1, 2, 3], 0), rtol=1e-5)
    view = model.params["w"]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 0
    for name, value, text in [
        ("v", 1, "no parameter 'v'"),
        ("w", numbers(3), "is f32 .* not of shape"),
        ("w", numbers(4, 3), "not of shape"),
        ("b", np.array([0.1, 0, 0]), "astype"),
    ]:
        with pytest.raises(tsr.ArgumentError, match=text):
            model.params[name] = value
    with pytest.raises(tsr.ArgumentError, match="deleted"):
        del model.params["w"]
    with pytest.raises(KeyError):
        model.params["v"]


def test_parameters_from_files(tmp_path):
    model = tsr.compile(LAYER)
    w, x = numbers(3, 4), numbers(2, 4)
    np.savez(tmp_path / "theirs.npz", **{"layer.weight": w.T.copy()})
    (tmp_path / "a.map").write_text("w = layer.weight [i o => o i]\n")
    model.params["b"] = [1, 1, 1]
    model.load_params(tmp_path / "theirs.npz", map=tmp_path / "a.map")
    wanted = np.maximum(x @ w.T + 1, 0)
    np.testing.assert_allclose(model.forward(x), wanted, rtol=1e-5)
    model.save_state(tmp_path / "state")
    other = tsr.compile(LAYER)
    other.forward(x)
    other.load_state(tmp_path / "state")
    np.testing.assert_array_equal(other.forward(x), model.forward(x))
    np.savez(tmp_path / "b.npz", b=np.zeros(3, np.float32))
    other.load_params(tmp_path / "b.npz")  # w stays
    np.testing.assert_allclose(other.forward(x), np.maximum(x @ w.T, 0), rtol=1e-5)
    other.init(seed=3)
    again = tsr.compile(LAYER, seed=3)
    np.testing.assert_array_equal(other.params["w"], again.params["w"])
    assert not np.array_equal(other.params["w"], w)
    with pytest.raises(tsr.FileError, match="No such file"):
        model.load_params(tmp_path / "none.npz")
    with pytest.raises(OSError):
        tsr.load(tmp_path / "none.so")


def test_sizes_of_parameters_come_from_calls_or_from_dims():
    program = "dim m; dim n; input x : [n | m]; param w : [m -> 3] = 1; output y = w * einsum(\"n | i => n | i\", x)"
    model = tsr.compile(program)
    with pytest.raises(tsr.ArgumentError, match="dim m is not known"):
        model.params["w"]
    x = numbers(2, 5)
    np.testing.assert_allclose(model.forward(x), np.repeat(x.sum(1, keepdims=True), 3, 1), rtol=1e-4)
    assert model.params["w"].shape == (3, 5)
    with pytest.raises(tsr.ArgumentError, match="dim m is 6 by axis 1 of input 'x', but 5"):
        model.forward(numbers(2, 6))
    assert tsr.compile(program, dims={"m": 7}).params["w"].shape == (3, 7)


def test_several_results_scalars_and_routines_that_write_parameters():
    model = tsr.compile(
        """
        dim n
        input x : [n]
        param total : [] = 0
        output twice = 2 * x
        output signs = i32(sign(x))
        routine add(scale : f32, k : i32) -> total { total =+ scale .* sum(x) + k }
        routine ramp(step : i32) -> t { t =: range(n) .* step }
        """
    )
    x = np.array([1, -2, 3], np.float32)
    result = model.forward(x)
    assert isinstance(result, tsr.Outputs) and result.keys() == ("twice", "signs")
    twice, sign = result
    np.testing.assert_array_equal(twice, 2 * x)
    np.testing.assert_array_equal(result["signs"], [1, -1, 1])
    assert result.signs is sign and sign.dtype == np.int32 and dict(result).keys() == {"twice", "signs"}
    assert [name for name, array in result.items() if array is result[name]] == ["twice", "signs"]
    assert model.add(x, scale=0.5, k=3) == 4 and model.add(x, scale=0.5, k=3) == 8
    assert model.params["total"] == 8
    np.testing.assert_array_equal(model.ramp(step=3, n=4), [0, 3, 6, 9])
    for arguments, text in [({"step": 3}, "dim n"), ({"n": 4}, "scalar 'step' is missing"), ({"n": 4, "step": 0.5}, "step")]:
        with pytest.raises(tsr.ArgumentError, match=text):
            model.ramp(**arguments)
    with pytest.raises(tsr.ArgumentError, match="takes 1 arrays, not 3; scale=.. is given by its name"):
        model.add(0.5, 3, x)


def test_every_dtype():
    model = tsr.compile(
        """
        dim n
        input a : bf16 [n]
        input b : f16 [n]
        input c : i8 [n]
        input d : u8 [n]
        input e : f64 [n]
        output bf = bf16(2 * f32(a))
        output hf = f16(2 * f32(b))
        output i = i8(c + 1)
        output u = u8(d + 1)
        output wide = e / 3
        """
    )
    values = np.array([1, 2.5, -3, 0.1], np.float32)
    bits = tsr.f32_to_bf16(values)
    small = np.arange(4)
    got = model.forward(a=bits, b=values.astype(np.float16), c=small, d=small.astype(np.uint8), e=[1, 2, 3, 4])
    np.testing.assert_array_equal(tsr.bf16_to_f32(got.bf), 2 * tsr.bf16_to_f32(bits))
    np.testing.assert_array_equal(got.hf, 2 * values.astype(np.float16))
    np.testing.assert_array_equal(got.i, small + 1)
    np.testing.assert_array_equal(got.u, small + 1)
    np.testing.assert_array_equal(got.wide, np.array([1, 2, 3, 4]) / 3)
    assert [array.dtype.name for array in got] == ["uint16", "float16", "int8", "uint8", "float64"]
    with pytest.raises(tsr.ArgumentError, match="f32_to_bf16"):
        model.forward(a=values, b=values.astype(np.float16), c=small, d=small, e=values)
    with pytest.raises(tsr.ArgumentError, match="'c' is i8"):
        model.forward(a=bits, b=values.astype(np.float16), c=small + 200, d=small, e=values)


def test_wide_integers_and_truth_values():
    model = tsr.compile(
        """
        dim n
        input a : i64 [n]
        input b : u32 [n]
        input c : bool [n]
        output i = a + b
        output u = b .* 2
        output t = bool(a < b)
        output w = where(c, a, 0)
        """
    )
    a, b, c = [1 << 40, -5, 3], np.array([7, 2**32 - 1, 3], np.uint32), [True, False, True]
    got = model.forward(a=a, b=b, c=c)
    np.testing.assert_array_equal(got.i, np.array(a) + b)
    np.testing.assert_array_equal(got.u, b * np.uint32(2))
    assert got.t.tolist() == [False, True, False] and got.w.tolist() == [1 << 40, 0, 3]
    assert [array.dtype.name for array in got] == ["int64", "uint32", "bool", "int64"]
    with pytest.raises(tsr.ArgumentError, match="'c' is bool"):
        model.forward(a=a, b=b, c=[0, 1, 2])


def test_bf16_rounds_to_nearest_even():
    values = np.concatenate([numbers(1000), np.float32([np.inf, -np.inf, 0, -0.0, 1e-40, 3.4e38])])
    got = tsr.bf16_to_f32(tsr.f32_to_bf16(values)).astype(np.float64)
    every = tsr.bf16_to_f32(np.arange(1 << 16, dtype=np.uint16)).astype(np.float64)
    every = np.unique(every[np.isfinite(every)])
    finite = np.isfinite(got) & (abs(values) < every[-1])
    place = np.clip(np.searchsorted(every, values[finite]), 1, len(every) - 1)
    nearest = np.minimum(abs(every[place] - values[finite]), abs(every[place - 1] - values[finite]))
    np.testing.assert_array_equal(abs(got[finite] - values[finite]), nearest)
    np.testing.assert_array_equal(got[~finite], np.sign(values[~finite]) * np.inf)
    assert np.isnan(tsr.bf16_to_f32(tsr.f32_to_bf16(np.float32(np.nan))))
    assert tsr.bf16_to_f32(tsr.f32_to_bf16(np.float32(1 + 2**-8))) == 1
    assert tsr.bf16_to_f32(tsr.f32_to_bf16(np.float32(1 + 3 * 2**-8))) == 1 + 2**-6


def test_floats_of_eight_bits():
    model = tsr.compile("dim n; input a : f8e4m3 [n]; input b : f8e5m2 [n]; output y = f8e5m2(2 * f32(a)); output z = a + b")
    every = np.arange(256, dtype=np.uint8)
    a, b = tsr.f8e4m3_to_f32(every), tsr.f8e5m2_to_f32(every)
    for values, to_bits in ((a, tsr.f32_to_f8e4m3), (b, tsr.f32_to_f8e5m2)):
        known = ~np.isnan(values)
        np.testing.assert_array_equal(to_bits(values)[known], every[known])
        assert to_bits(np.nan) == 0x7F
    with np.errstate(invalid="ignore"):
        got = model.forward(every, every)
        np.testing.assert_array_equal(got.z, a + b)
        np.testing.assert_array_equal(tsr.f8e5m2_to_f32(got.y), tsr.f8e5m2_to_f32(tsr.f32_to_f8e5m2(2 * a)))
    np.testing.assert_array_equal(model.forward([1, 2.5], np.float32([0.5, 1])).z, [1.5, 3.5])
    assert tsr.f32_to_f8e4m3([464, 1e9, -np.inf, 2**-10, 3 * 2**-10]).tolist() == [0x7E, 0x7E, 0xFE, 0, 2]
    assert tsr.f32_to_f8e5m2([61439, 61440, -1e9]).tolist() == [0x7B, 0x7C, 0xFC]
    with pytest.raises(tsr.ArgumentError, match="f32_to_f8e4m3"):
        model.forward(np.float32([1.1]), [1])


def test_two_elements_a_byte():
    model = tsr.compile("dim n; input a : i4 [n]; param w : u4 [3 -> 3] = 9; output y = 2 .* a; output z = sum(\"i -> o => o\", w)")
    a = np.array([-8, 7, 0, -1, 5], np.int64)
    for given in (a, a.astype(np.float32), a.tolist(), tsr.pack(a), tsr.Packed([0x78, 0xF0, 0x05], [5])):
        np.testing.assert_array_equal(model.forward(a=given).y, 2 * a)
    np.testing.assert_array_equal(model.params["w"], np.full((3, 3), 9))
    w = np.arange(9).reshape(3, 3) + 7
    model.params["w"] = w
    np.testing.assert_array_equal(model.params["w"], w)
    np.testing.assert_array_equal(model.forward(a=a[:0]).z, w.sum(1))
    with pytest.raises(tsr.ArgumentError, match="one of -8 to 7"):
        model.forward(a=[8])
    given = tsr.compile("dim n; input a : i4 [n]; output y = a; output z = u4(a + 8)")
    np.testing.assert_array_equal(given.forward(a).y, a)
    np.testing.assert_array_equal(given.forward(a).z, a + 8)
    into = tsr.Packed(np.zeros(3, np.uint8), [5])
    given.forward.run({"a": a}, into={"y": into})
    np.testing.assert_array_equal(into.data, tsr.pack(a).data)
    with pytest.raises(tsr.ArgumentError, match="tsr.Packed of shape"):
        given.forward.run({"a": a}, into={"y": np.zeros(5, np.int8)})
    with pytest.raises(ValueError, match="3 bytes"):
        tsr.Packed([1, 2], [5])
    with pytest.raises(ValueError, match="whole numbers"):
        tsr.pack([-1, 15])


def test_checks_are_exceptions():
    model = tsr.compile("input table : [5, 2]; dim n; input ids : i32 [n |]; output rows = gather(table, ids)")
    table = numbers(5, 2)
    np.testing.assert_array_equal(model.forward(table, [4, 0]), table[[4, 0]])
    with pytest.raises(tsr.CheckError, match=r"program.tsr:1:\d+: .*\(code 16\)") as raised:
        model.forward(table, [4, 5])
    assert raised.value.code == 16 and raised.value.place.startswith("program.tsr:1:")


def test_threads_change_no_bit_and_call_side_by_side():
    program = "dim n; input x : [n | 256]; output y = {w : [... -> 64]} * tanh(x)"
    x = numbers(300, 256)
    models = [tsr.compile(program, threads=threads) for threads in (1, 2, None)]
    wanted = models[0].forward(x)
    for model in models[1:]:
        np.testing.assert_array_equal(model.forward(x), wanted)
    failures = []

    def work(rows):
        for _ in range(20):
            if not np.array_equal(models[1].forward(x[:rows]), wanted[:rows]):
                failures.append(rows)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (300, 300, 17, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_interpreter_runs_while_a_routine_does():
    model = tsr.compile("dim n; input x : [n | n]; output y = sum(\"n | i => n |\", sin(exp(tanh(x))))", threads=1)
    x = np.zeros((6000, 6000), np.float32)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.0005):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    model.forward(x)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during > 5


def test_a_child_of_a_fork_has_threads_of_its_own(layer):
    x = numbers(40, 4)
    wanted = layer.forward(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(layer.forward(x), wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_views_outlive_their_model():
    model = tsr.compile(LAYER)
    view = model.params["w"]
    kept = view.copy()
    del model
    gc.collect()
    np.testing.assert_array_equal(view, kept)


def test_a_constant_is_packed_without_parameters():
    table = numbers(64, 64)
    text = ", ".join("[" + ", ".join(f"{v:.8f}" for v in row) + "]" for row in table.T)
    model = tsr.compile(f"dim n; input x : [n | 64]; const c = [{text}]; output y = einsum('n | i; i, o => n | o', x, c)".replace("'", '"'))
    x = numbers(9, 64)
    np.testing.assert_allclose(model.forward(x), x @ table.T, atol=1e-4)


def test_signatures_and_text(layer):
    assert str(inspect.signature(layer.forward)) == "(x: 'f32 [n | 4]', *, n: int = None)"
    assert "forward(x: f32 [n | 4]) -> y: f32 [n | 3]" in layer.forward.__doc__
    assert "w: f32 [4 -> 3]" in repr(layer) and "forward" in dir(layer)
    assert layer.forward.inputs == (tsr.Tensor("x", "f32", "f32 [n | 4]", ("n", "4")),)
    assert (layer.name, layer.source, layer.dims) == ("program", "program.tsr", ("n",))
    with pytest.raises(Exception):
        pickle.dumps(layer)


def test_code_for_a_gpu(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(HOST_DRIVER))
    make = __import__("host_driver").make
    (tmp_path / "m.tsr").write_text("dim n; input x : [n | 2]; output y = {w : [... -> 3]} * x + {b : [3] = 0}")
    module, driver = make(tsr._library.compiler(), str(tmp_path / "m.tsr"), str(tmp_path))
    monkeypatch.setenv("TSR_LIBCUDA", "")
    model = tsr.load(module)
    x = np.random.default_rng(1).standard_normal((5, 2)).astype(np.float32)
    with pytest.raises(tsr.CheckError, match="TSR_LIBCUDA is empty"):
        model.forward(x=x)
    monkeypatch.setenv("TSR_LIBCUDA", driver)
    for n in (5, 2, 0):
        np.testing.assert_allclose(model.forward(x=x[:n]), x[:n] @ model.params["w"].T, rtol=1e-5, atol=1e-6)
    model.params["b"] = [1, 2, 3]
    np.testing.assert_allclose(model.forward(x=x), x @ model.params["w"].T + [1, 2, 3], rtol=1e-5, atol=1e-6)


def test_a_name_that_is_a_keyword():
    model = tsr.compile("input from : [3]\noutput y = 2 * from")
    np.testing.assert_array_equal(model.forward(**{"from": [1, 2, 3]}), [2, 4, 6])
    np.testing.assert_array_equal(model.forward([1, 2, 3]), [2, 4, 6])
    assert list(inspect.signature(model.forward).parameters) == ["from_"]
