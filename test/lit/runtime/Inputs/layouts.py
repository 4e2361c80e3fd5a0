"""layouts.py TSR FAKE.so DIR: every layout in which NumPy writes an array of small integers gives the same
result, and what tsr writes is byte for byte what NumPy writes."""
import os
import struct
import subprocess
import sys

import numpy as np
from numpy.lib import format as npy

tsr, module, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
x = np.arange(8).reshape(2, 4) % 2
y = np.ones(9, "f4")
w = np.arange(12).reshape(3, 4) % 2 + 1
expected = x @ (np.arange(12).reshape(3, 4)).T + 2
np.save(f"{folder}/y.npy", y)


def run(*words):
    out = f"{folder}/z.npy"
    done = subprocess.run([tsr, "run", module, f"y={folder}/y.npy", "-o", f"z={out}", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    return np.load(out)


def check(what, *words, want=expected):
    got = run(*words)
    if got.dtype != np.float32 or not np.array_equal(got, want):
        sys.exit(f"{what}: {got}")


def tensors(path, arrays):
    header, data = [], b""
    for name, kind, a in arrays:
        raw = a.tobytes()
        header.append(f'"{name}":{{"dtype":"{kind}","shape":{list(a.shape)},"data_offsets":[{len(data)},{len(data) + len(raw)}]}}')
        data += raw
    text = ("{" + ",".join(header) + "}").encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


count = 0
for kind in "f4 f2 i1 u1 i2 u2 b1".split():
    for order in "<>":
        for layout in "CF":
            a = np.array(x, dtype=order + kind, order=layout)
            for version in (1, 0), (2, 0), (3, 0):
                path = f"{folder}/x.npy"
                with open(path, "wb") as out:
                    npy.write_array(out, a, version=version)
                check(f"{order}{kind} {layout} {version}", f"x={path}")
                count += 1
for save in np.savez, np.savez_compressed:
    for kind in "<f4", ">f4", "<f2", "|u1":
        save(f"{folder}/x.npz", first=y, x=np.asfortranarray(x.astype(kind)))
        check(f"{save} {kind}", f"x={folder}/x.npz:x")
        count += 1
for kind, a in ("F32", x.astype("f4")), ("F16", x.astype("f2")), ("U8", x.astype("u1")), ("BOOL", x.astype("b1")), (
        "BF16", (x.astype("f4").view("u4") >> 16).astype("u2")):
    tensors(f"{folder}/x.safetensors", [("y", "F32", y), ("x", kind, a)])
    check(kind, f"x={folder}/x.safetensors:x")
    count += 1

# Parameters: by dotted name, by a map with an order of axes, and NAME= before both.
ours = x @ w.T + 2
tensors(f"{folder}/p.safetensors", [("w", "F32", w.astype("f4")), ("b", "F32", np.ones(3, "f4"))])
np.savez(f"{folder}/p.npz", w=w.astype("f4"), b=np.ones(3, "f4"))
np.savez(f"{folder}/theirs.npz", **{"layer/kernel": w.T.astype("f4"), "layer/bias": np.ones(3, "f4")})
with open(f"{folder}/map", "w") as out:
    out.write("# ours = theirs\nw = layer/kernel [1, 0]  # turned\n\nb=layer/bias\n")
np.save(f"{folder}/x.npy", x.astype("f4"))
given = f"x={folder}/x.npy"
check("safetensors", given, f"--params={folder}/p.safetensors", want=ours)
check("npz", given, f"--params={folder}/p.npz", want=ours)
check("map", given, f"--params={folder}/theirs.npz", f"--params-map={folder}/map", want=ours)
fused = np.stack([w.T + 3, w.T], 1).reshape(4, 6).astype("f4")
tensors(f"{folder}/theirs.safetensors", [("net.fused", "F32", fused), ("net.b", "F32", np.ones((1, 3), "f4"))])
for part, text in enumerate((
        "prefix net.\nw = fused m, (1/2 o) => o, m\nb = b [0/1 o => o]", "w = net.w\nw = net.fused [m (1/2 o) => o m]\nb = net.b [() o => o]",
        "w = net.fused [m (1/2 o) => o m]\nw = net.b\nb = net.b [a b => (a b)]")):
    with open(f"{folder}/map", "w") as out:
        out.write(text)
    check(f"map {part}", given, f"--params={folder}/theirs.safetensors", f"--params-map={folder}/map", want=ours)
check("name first", given, f"--params={folder}/p.npz", "w=ones", want=x.sum(1, keepdims=True) + np.full((2, 3), 2))

run(given)
with open(f"{folder}/z.npy", "rb") as ours_file:
    ours = ours_file.read()
np.save(f"{folder}/again.npy", np.load(f"{folder}/z.npy"))
with open(f"{folder}/again.npy", "rb") as theirs_file:
    if ours != theirs_file.read():
        sys.exit("what tsr writes is not what NumPy writes")
print(f"{count} layouts")
