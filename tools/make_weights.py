"""Random weights for a compiled model: make_weights.py TSR MODULE.so OUT.safetensors [SEED]

Names and arrays are those that `tsr info` prints, one array at a time, so memory stays small. Sums of products keep
their scale: matrices are normal / sqrt(inputs of one output); gains and variances are near 1, the rest near 0.
"""
import json
import re
import subprocess
import sys

import numpy as np

PARAM = re.compile(r"  param (\S+) : f32 \[(.*)\]  \(array ([\dx ]+)\)")


def parameters(tsr, module):
    """(name, sizes of the array, inputs of one output) of every parameter"""
    text = subprocess.run([tsr, "info", module], check=True, capture_output=True, text=True).stdout
    for name, shape, array in PARAM.findall(text):
        sizes = [int(size) for size in array.split(" x ")]
        inputs = shape.split("->")[0].split("|")[-1] if "->" in shape else ""
        fan_in = int(np.prod([int(size.split(":")[-1]) for size in inputs.split(",")])) if inputs else 0
        yield name, sizes, fan_in


def values(random, name, sizes, fan_in):
    normal = random.standard_normal(sizes, dtype=np.float32)
    last = name.split(".")[-1]
    if fan_in:
        return normal / np.float32(np.sqrt(fan_in))
    if last == "var":
        return np.float32(0.5) + random.random(sizes, dtype=np.float32)
    if last == "w":                       # a kernel of one channel
        return normal / np.float32(np.sqrt(sizes[0] * sizes[1]))
    return np.float32(last == "gain") + np.float32(0.1) * normal


def header(params):
    entries, end = {}, 0
    for name, sizes, _ in params:
        start, end = end, end + 4 * int(np.prod(sizes))
        entries[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [start, end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def main():
    tsr, module, path = sys.argv[1:4]
    random = np.random.default_rng(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    params = list(parameters(tsr, module))
    with open(path, "wb") as out:
        out.write(header(params))
        for param in params:
            out.write(values(random, *param).tobytes())


if __name__ == "__main__":
    main()
