"""Tensor programs as functions on NumPy arrays.

>>> import tsr
>>> model = tsr.compile("dim n; input x : [n | 2]; output y = {w : [... -> 3]} * x")
>>> model.forward(x=[[1, 2], [3, 4]]).shape
(2, 3)

`compile` runs the compiler `tsrc` on a program, `load` takes a module that it made. A module's
routines are functions of the model; its parameters are a mapping.
"""

from tsr._compiler import CompileWarning, compile, graph, shapes
from tsr._device import DeviceArray
from tsr._errors import ArgumentError, CheckError, CompileError, Diagnostic, Error, FileError, Place
from tsr._half_bytes import Packed, pack
from tsr._model import Model, load
from tsr._parameters import Parameters
from tsr._picture import Graph
from tsr._routine import Routine
from tsr._small_floats import (
    bf16_to_f32,
    f8e4m3_to_f32,
    f8e5m2_to_f32,
    f32_to_bf16,
    f32_to_f8e4m3,
    f32_to_f8e5m2,
)
from tsr._tensors import Outputs, Tensor

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "CheckError",
    "CompileError",
    "CompileWarning",
    "DeviceArray",
    "Diagnostic",
    "Error",
    "FileError",
    "Graph",
    "Model",
    "Outputs",
    "Packed",
    "Parameters",
    "Place",
    "Routine",
    "Tensor",
    "bf16_to_f32",
    "compile",
    "f32_to_bf16",
    "f32_to_f8e4m3",
    "f32_to_f8e5m2",
    "f8e4m3_to_f32",
    "f8e5m2_to_f32",
    "graph",
    "load",
    "pack",
    "shapes",
]
