"""gpu_examples.py TSRC FOLDER PROGRAM...: the PTX of programs, run by libtsr over the driver that TSR_LIBCUDA names, has the
results of code for a CPU, on random inputs of several sizes, call after call; then their parameters are the same."""
import os
import subprocess
import sys

import numpy as np

import tsr

TSRC, FOLDER = sys.argv[1:3]
SIZES = {"n": [2, 2, 0, 2], "h": [5, 5, 4, 5], "w": [6, 6, 3, 6], "classes": [5, 5, 37, 5], "steps": [3, 3, 1, 3],
         "b": [1, 1, 2, 1], "s": [4, 4, 3, 4]}
random = np.random.default_rng(1)


def inputs(routine, call):
    """Arrays for sizes that differ from call to call; shapes are dims and numbers, with signs."""
    dims = {name: sizes[call % len(sizes)] for name, sizes in SIZES.items()}
    made = {}
    for tensor in routine.inputs:
        shape = [int(eval(size, {"floor": None}, dims)) for size in tensor.shape]
        made[tensor.name] = random.standard_normal(shape).astype(np.float32)
    known = {d for t in routine.inputs for s in t.shape for d in dims if d in s}
    return {**made, **{d: dims[d] for d in routine.dims if d not in known}}


def both(source):
    name = os.path.splitext(os.path.basename(source))[0]
    made = [os.path.join(FOLDER, name + suffix) for suffix in (".ptx", ".so")]
    subprocess.run([TSRC, source, "--target=cuda", "-o", made[0]], check=True)
    subprocess.run([TSRC, source, "--no-prepack", "-o", made[1]], check=True)
    return [tsr.load(path, seed=3) for path in made]


def compare(source):
    gpu, cpu = both(source)
    for name in gpu.routines:
        for call in range(4):
            arguments = inputs(gpu.routines[name], call)
            got, want = (model.routines[name](**arguments) for model in (gpu, cpu))
            got, want = ([r] if isinstance(r, np.ndarray) else r for r in (got, want))
            for a, b in zip(got, want):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg="%s: %s %s" % (source, name, arguments))
    for param in gpu.params:
        np.testing.assert_allclose(gpu.params[param], cpu.params[param], rtol=1e-6, err_msg=source)


for program in sys.argv[3:]:
    compare(program)
print("%d programs agree" % len(sys.argv[3:]))
