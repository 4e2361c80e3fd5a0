"""A program of programs.py in PyTorch, in a process of its own: peer_program.py THREADS MODE NAME, MODE eager or
compiled. Prints JSON with the median time of one call in nanoseconds."""
import sys

import torch
import torch.nn.functional as F

import programs
import timing

threads, mode, program = int(sys.argv[1]), sys.argv[2], programs.BY_NAME[sys.argv[3]]
torch.set_num_threads(threads)
torch.manual_seed(0)
torch.set_grad_enabled(False)


def array(text):
    extents, _, below = text.partition("<")
    shape = [int(extent) for extent in extents.split("x")]
    return torch.randint(int(below), shape) if below else torch.randn(shape)


arrays = [array(text) for text in program.arrays.values()]
function = eval("lambda %s: %s" % (", ".join(program.arrays), program.torch), {"torch": torch, "F": F})
if mode == "compiled":
    function = torch.compile(function)
timing.report(lambda: function(*arrays))
