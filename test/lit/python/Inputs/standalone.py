"""Compiles and runs a program that imports a library, with the package that PYTHONPATH has."""
import tsr
from tsr import _library

print(_library.compiler())
print(_library._found_library())
model = tsr.compile('import nn; input x : [5]; output y = sum(nn.softmax(x))')
print(model.forward([1, 2, 3, 4, 5]).round(5))
