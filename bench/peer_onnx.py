"""Convolutions with the channels first, which is ONNX Runtime's own order, chains of them, and an LSTM, in a process of its own:
peer_onnx.py THREADS KIND WORDS... Prints JSON with the median time of one call in nanoseconds. Inputs and outputs are
bound beforehand, so that a call moves nothing else."""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import timing

threads, kind = int(sys.argv[1]), sys.argv[2]
sizes = [int(word) for word in sys.argv[3:]]
random = np.random.default_rng(1)
nodes, weights = [], []


def weight(*shape):
    name = "w%d" % len(weights)
    weights.append(numpy_helper.from_array(random.standard_normal(shape, dtype=np.float32), name))
    return name


def constant(value):
    name = "w%d" % len(weights)
    weights.append(numpy_helper.from_array(np.float32(value), name))
    return name


def add(op, *operands, **attributes):
    """One operation more; the name of its result"""
    name = "y%d" % len(nodes)
    nodes.append(helper.make_node(op, list(operands), [name], **attributes))
    return name


def window(x, w, k, stride=1, dilation=1, bias=None, groups=1):
    operands = (x, w, bias) if bias else (x, w)
    return add("Conv", *operands, kernel_shape=[k, k], strides=[stride] * 2, dilations=[dilation] * 2,
               pads=[k // 2 * dilation] * 4, group=groups)


def conv(h, ci, co, k, stride, groups):
    y = window("x", weight(co, ci // groups, k, k), k, stride, bias=weight(co), groups=groups)
    return (1, ci, h, h), add("Relu", y) if groups == 1 else add("Clip", y, constant(0), constant(6))


def pictures(h, ci, co, k, stride, dilation):
    return (1, ci, h, h), window("x", weight(co, ci, k, k), k, stride, dilation, weight(co))


def filters(h):
    w, v, turned = weight(1, 1, 3, 3), weight(1, 1, 5, 5), weight(1, 1, 3, 3)
    b = window(window("x", w, 3), v, 5)
    across, down = window(b, w, 3), window(b, turned, 3)
    return (1, 1, h, h), add("Sqrt", add("Add", add("Mul", across, across), add("Mul", down, down)))


def network(h):
    y = "x"
    for before, after, stride in ((3, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 1)):
        y = add("Relu", window(y, weight(after, before, 3, 3), 3, stride, bias=weight(after)))
    return (1, 3, h, h), add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])


def lstm(steps, batch, size):
    w, r, b = weight(1, 4 * size, size), weight(1, 4 * size, size), weight(1, 8 * size)
    return (steps, batch, size), add("LSTM", "x", w, r, b, hidden_size=size)


def session(shape, result):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info(result, TensorProto.FLOAT, [None] * 4)
    graph = helper.make_graph(nodes, kind, [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


shape, result = {"conv": conv, "pictures": pictures, "filters": filters, "network": network, "lstm": lstm}[kind](*sizes)
runner = session(shape, result)
binding = runner.io_binding()
binding.bind_cpu_input("x", random.standard_normal(shape, dtype=np.float32))
binding.bind_output(result)
timing.report(lambda: runner.run_with_iobinding(binding))
