"""One model in a process of its own: peer_model.py THREADS WEIGHTS.safetensors WAY MODEL NUMBERS...

WAY is eager, compile (torch.compile, its weights frozen where TORCHINDUCTOR_FREEZING=1) or onnx (exported once beside
the weights, then run by ONNX Runtime). Prints JSON with the median time of one call in nanoseconds.
"""
import contextlib
import os
import sys

import numpy as np

import timing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_models  # noqa: E402

threads, path, way, name = int(sys.argv[1]), *sys.argv[2:5]
numbers = [int(v) for v in sys.argv[5:]]


def inputs():
    """Arrays by name"""
    random = np.random.default_rng(0)
    if name == "gpt2":
        s, past = numbers
        cache = random.standard_normal((2, 12, past, 12, 64), dtype=np.float32)
        return {"ids": random.integers(0, 50257, s), "keys": cache[0], "values": cache[1]}
    if name == "bert":
        return {"ids": random.integers(0, 30522, numbers), "types": random.integers(0, 2, numbers),
                "mask": np.ones(numbers, np.int64)}
    size = (28, 28, 1) if name == "lenet" else (224, 224, 3)
    return {"image": random.standard_normal((numbers[0], *size), dtype=np.float32)}


def torch_model():
    import torch
    import models_torch
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    arrays = [torch.tensor(array) for array in inputs().values()]
    return models_torch.Model(name, check_models.read_weights(path)), arrays


def run_torch():
    import torch
    model, arrays = torch_model()
    if way == "compile":
        model = torch.compile(model)
    with torch.inference_mode():
        timing.report(lambda: model(*arrays), warm_up=5e8)


def run_onnx():
    import onnxruntime
    file = "%s.%s.onnx" % (path.removesuffix(".safetensors"), "_".join(map(str, numbers)))
    if not os.path.exists(file):
        import torch
        model, arrays = torch_model()
        with contextlib.redirect_stdout(sys.stderr):
            torch.onnx.export(model, tuple(arrays), file + ".tmp", dynamo=True, external_data=False)
        os.rename(file + ".tmp", file)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    feeds = dict(zip([i.name for i in session.get_inputs()], inputs().values()))
    timing.report(lambda: session.run(None, feeds), warm_up=5e8)


run_onnx() if way == "onnx" else run_torch()
