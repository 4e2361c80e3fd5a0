"""Convolutions with the channels first and chains of them in ONNX Runtime: peer_onnx.py THREADS KIND WORDS... Prints
JSON with the median time of one call in nanoseconds. Inputs and outputs are bound beforehand, so that a call moves
nothing else."""
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


def add(op, *operands, **attributes):
    """One operation more; the name of its result"""
    name = "y%d" % len(nodes)
    nodes.append(helper.make_node(op, list(operands), [name], **attributes))
    return name


def conv(x, w, k, stride=1, dilation=1, bias=None):
    operands = (x, w, bias) if bias else (x, w)
    return add("Conv", *operands, kernel_shape=[k, k], strides=[stride] * 2, dilations=[dilation] * 2,
               pads=[k // 2 * dilation] * 4)


def pictures(h, ci, co, k, stride, dilation):
    return (1, ci, h, h), conv("x", weight(co, ci, k, k), k, stride, dilation, weight(co))


def filters(h):
    w, v, turned = weight(1, 1, 3, 3), weight(1, 1, 5, 5), weight(1, 1, 3, 3)
    b = conv(conv("x", w, 3), v, 5)
    across, down = conv(b, w, 3), conv(b, turned, 3)
    return (1, 1, h, h), add("Sqrt", add("Add", add("Mul", across, across), add("Mul", down, down)))


def network(h):
    y = "x"
    for before, after, stride in ((3, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 1)):
        y = add("Relu", conv(y, weight(after, before, 3, 3), 3, stride, bias=weight(after)))
    return (1, 3, h, h), add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])


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


shape, result = {"pictures": pictures, "filters": filters, "network": network}[kind](*sizes)
runner = session(shape, result)
binding = runner.io_binding()
binding.bind_cpu_input("x", random.standard_normal(shape, dtype=np.float32))
binding.bind_output(result)
timing.report(lambda: runner.run_with_iobinding(binding), onnxruntime.__version__)
