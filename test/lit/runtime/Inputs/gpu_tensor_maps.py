"""gpu_tensor_maps.py TSR DRIVER FOLDER: runs m.ptx over the driver beside m.so of the host, then copies of it whose plan says
something else of a tensor."""
import os
import re
import subprocess
import sys

import numpy as np

import tsr as package

tsr, driver, folder = sys.argv[1:]
os.chdir(folder)
ENV = dict(os.environ, TSR_LIBCUDA=driver, TSR_EMU_FUEL="30000000")


def run(module, m, *options):
    args = ["x=random:1", "w=random:2", "m=%d" % m, "-o", "y=y.npy", *options]
    result = subprocess.run([tsr, "run", module, *args], env=ENV, capture_output=True, text=True)
    if result.returncode:
        return result.stderr
    with open("y.npy", "rb") as file:
        return file.read()


sizes, graphs, launches = [0, 1, 130], 0, 0
for m in sizes:
    want = run("m.so", m)
    assert isinstance(want, bytes) and len(want) == 128 + 4 * 48 * m, want
    graphs += run("m.ptx", m) == want
    launches += run("m.ptx", m, "--no-graph") == want
print("m = %s: the bits of the host, %d graphs and %d times launch by launch" % (", ".join(map(str, sizes)), graphs, launches))

gpu, host, rng = package.load("m.ptx"), package.load("m.so"), np.random.default_rng(1)
for call in range(5):
    x, w = (package.f32_to_bf16(rng.standard_normal(shape).astype(np.float32)) for shape in ((70, 200), (200, 48)))
    got = gpu.forward(gpu.to_device(x), gpu.to_device(w)).numpy()
    assert np.array_equal(got, host.forward(x, w)), call
print("5 calls on arrays of the device: the bits of the host")

with open("m.ptx", encoding="utf8") as file:
    text = file.read()
text, n = re.subn(r"//tsr: digest .*\n", "", text)
assert n == 1
for name, old, new in [
    ("axes", "of 64 in 200 by 1 of 128", "of 64 in 200 by 1" + 4 * " of 1 in 1 by 8" + " of 128"),
    ("box", "of 64 in 200 by 1", "of 257 in 200 by 1"),
    ("type", "tensor %0", "tensor %2"),
    ("none", "tensor %0 of 64 in 200 by 1 of 128 in m by 200", "tensor %0"),
    ("buffer", "tensor %0", "tensor %9"),
    ("extent", "of 64 in 200 by 1", "of 64 by 1"),
    ("stride", "of 128 in m by 200", "of 128 in m by 199"),
    ("empty", "of 128 in m by 200", "of 0 in m by 200"),
]:
    assert text.count(old) == 1, name
    with open("changed.ptx", "w", encoding="utf8") as file:
        changed = text.replace(old, new)
        file.write(changed.replace("y f32", "y f64").replace("type f32", "type f64") if name == "type" else changed)
    told = run("changed.ptx", 2)
    print("%s: %s" % (name, re.sub(r".*(the plan|the map)", r"\1", told.strip()) if isinstance(told, str) else "runs"))
