"""Runs shared objects of c-four-bits.tsr on the same random arrays: four_bits.py TSR STEM MODULE SAME OTHER... SAME
gives the bits of MODULE; the others are compiled for processors that may round where that one does not, and give the
same of whole numbers."""
import subprocess
import sys

import numpy as np

tsr, stem, module, *others = sys.argv[1:]
random = np.random.default_rng(1)
shapes = {"x": (1, 64), "v": (2, 33)}


def save(name, array):
    np.save("%s.%s.npy" % (stem, name), array)


def results(path):
    inputs = ["%s=%s.%s.npy" % (name, stem, name) for name in ("x", "v", "w", "s", "d")]
    outputs = [word for name in "yz" for word in ("-o", "%s=%s.%s.npy" % (name, stem, name))]
    subprocess.run([tsr, "run", path, *inputs, *outputs], check=True)
    return [np.load("%s.%s.npy" % (stem, name)).tobytes() for name in "yz"]


save("w", random.integers(0, 16, (6, 2, 32)).astype(np.uint8))
save("d", random.integers(-8, 8, (6, 33)).astype(np.int8))
for whole in (False, True):
    for name, shape in shapes.items():
        drawn = random.integers(-8, 8, shape) if whole else random.standard_normal(shape)
        save(name, drawn.astype(np.float32))
    save("s", (random.integers(1, 9, (6, 2)) if whole else random.random((6, 2))).astype(np.float16))
    ours = results(module)
    for path in others if whole else others[:1]:
        if results(path) != ours:
            sys.exit("%s: other bits than %s" % (path, module))
print(len(others), "agree")
