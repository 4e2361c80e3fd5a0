"""The state of a model whose parameters are written by hand."""
import ctypes
import re

import numpy as np

from tsrlib import aligned


def place(model, name):
    return int(re.search(r"byte (\d+): %s " % name, model.header).group(1))


def write(model, state, name, array):
    data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    state[place(model, name):][:data.size] = data


def pack(model, state):
    return model.library.m_pack(None, ctypes.c_void_p(state.ctypes.data))


def new_state(model):
    size = model.library.m_state_size
    size.restype = ctypes.c_size_t
    return aligned(size())
