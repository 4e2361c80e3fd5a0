"""A program of programs.py or gradients.py in PyTorch, in a process of its own: peer_program.py THREADS MODE NAME, MODE eager,
compiled or ordered (products in the best of all orders, which opt_einsum finds once). Prints JSON with the median time of one call in nanoseconds."""
import functools
import sys

import torch
import torch.nn.functional as F

import gradients
import programs
import timing

threads, mode = int(sys.argv[1]), sys.argv[2]
program = {**programs.BY_NAME, **gradients.BY_NAME}[sys.argv[3]]
trained = getattr(program, "of", "").split()
torch.set_num_threads(threads)
torch.manual_seed(0)
torch.set_grad_enabled(bool(trained))


def array(text):
    shape, below, in_order = programs.parsed(text)
    if not below:
        return torch.randn(shape)
    ids = torch.randint(below, shape)
    return ids.sort()[0] if in_order else ids


@functools.cache
def expression(equation, *shapes):
    import opt_einsum
    return opt_einsum.contract_expression(equation, *shapes, optimize="optimal")


class Ordered:
    """torch.einsum whose order is found once"""

    @staticmethod
    def einsum(equation, *operands):
        return expression(equation, *[x.shape for x in operands])(*operands, backend="torch")


modules = {"torch": Ordered if mode == "ordered" else torch, "F": F, "functools": functools}
named = {name: array(text) for name, text in program.arrays.items()}
named |= {name: eval(text, {**modules, **named}) for name, text in program.given.items()}
arrays = list(named.values())
function = eval("lambda %s: %s" % (", ".join(named), program.torch), modules)
if mode == "compiled":
    function = torch.compile(function)


def backward():
    """Forward and backward, and with a rate a step of descent"""
    along = named[program.along] if program.along else None
    gradients = torch.autograd.grad(function(*arrays), leaves, along)
    if program.rate:
        with torch.no_grad():
            torch._foreach_add_(leaves, gradients, alpha=-program.rate)


leaves = [named[name].requires_grad_() for name in trained]
timing.report(backward if leaves else lambda: function(*arrays))
