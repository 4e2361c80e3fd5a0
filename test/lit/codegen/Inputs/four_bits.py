"""Runs shared objects of c-four-bits.tsr or c-four-bit-words.tsr on the same random arrays: four_bits.py TSR STEM MODULE SAME
OTHER... SAME gives the bits of MODULE; the others are compiled for processors that may round where that one does not, and
give the same of whole numbers."""
import re
import subprocess
import sys

import numpy as np

tsr, stem, module, *others = sys.argv[1:]
random = np.random.default_rng(1)
table = subprocess.run([tsr, "info", module], check=True, capture_output=True, text=True).stdout
shapes = {name: tuple(map(int, array.split(" x ")))
          for name, array in re.findall(r"(?:input|param) (\w) : .*\(array (.*)\)", table)}


def save(name, array):
    np.save("%s.%s.npy" % (stem, name), array)


def results(path):
    inputs = ["%s=%s.%s.npy" % (name, stem, name) for name in shapes]
    outputs = [word for name in "yz" for word in ("-o", "%s=%s.%s.npy" % (name, stem, name))]
    subprocess.run([tsr, "run", path, *inputs, *outputs], check=True)
    return [np.load("%s.%s.npy" % (stem, name)).tobytes() for name in "yz"]


save("w", random.integers(0, 16, shapes["w"]).astype(np.uint8))
save("d", random.integers(-8, 8, shapes["d"]).astype(np.int8))
for whole in (False, True):
    for name in ("x", "v"):
        drawn = random.integers(-8, 8, shapes[name]) if whole else random.standard_normal(shapes[name])
        save(name, drawn.astype(np.float32))
    save("s", (random.integers(1, 9, shapes["s"]) if whole else random.random(shapes["s"])).astype(np.float16))
    ours = results(module)
    for path in others if whole else others[:1]:
        if results(path) != ours:
            sys.exit("%s: other bits than %s" % (path, module))
print(len(others), "agree")
