"""Compares `output NAME = EXPRESSION   # NUMPY` in the blocks of a document with NumPy: from_numpy.py TSRC FILE.md"""
import os
import re
import sys

tsrc, path = sys.argv[1:]
root = os.path.dirname(os.path.dirname(os.path.abspath(path)))
os.environ.update(TSRC=tsrc, TSR_LIBRARY=os.path.join(os.path.dirname(tsrc), "libtsr.so"))
sys.path.insert(0, os.path.join(root, "python"))

import numpy as np  # noqa: E402
import tsr  # noqa: E402

SIZES = {"n": 4, "m": 3}


def given(program, draw):
    """An array for each input of the program."""
    arrays = {}
    for name, dtype, shape in re.findall(r"^input (\w+) : (i32 )?\[(.*)\]", program, re.M):
        extents = [SIZES.get(size) or int(size) for size in shape.split(", ")]
        numbers = draw.integers(0, 4, extents).astype(np.int32) if dtype else draw.normal(size=extents)
        arrays[name] = numbers if dtype else numbers.astype(np.float32)
    return arrays


draw = np.random.default_rng(1)
compared = 0
with open(path, encoding="utf8") as document:
    programs = re.findall(r"^```tsr\n(.*?)^```", document.read(), re.M | re.S)
for program in programs:
    arrays = given(program, draw)
    results = tsr.compile(program).forward(**arrays)
    for name, theirs in re.findall(r"^output (\w+) = .*?  +# (.*)$", program, re.M):
        wanted = np.asarray(eval(theirs, {"np": np, **SIZES}, arrays))
        ours = getattr(results, name)
        assert ours.shape == wanted.shape, (name, theirs, ours.shape, wanted.shape)
        assert np.allclose(ours, wanted, atol=1e-5), (name, theirs, ours, wanted)
        compared += 1
print(compared, "lines have the numbers of NumPy")
assert compared > 40
