"""Files that are cut, or whose bytes are changed, spliced and repeated: SEED COUNT.

Arrays, files of parameters, maps, states, checkpoints, schedules and PTX are read or refused: status 0 or 1, with a message where it is
1, and no report of a sanitizer. A module is code, and what a changed one does is not said; one that is cut anywhere is
refused, or is whole for all that the loader maps.
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

TSRC, TSR = os.environ["TSRC"], os.environ["TSR"]
PROGRAM = """dim n
input x : [n | 8]
input ids : i32 [n | ]
param w : bf16 [8 -> 70]
param b : [70]
param table : [50, 70]
output y = relu(w * x + b) + gather(table, ids)
"""
TRAINS = """dim n
input x : [n | 8]
param w : [8 -> 2]
let loss = sum((w * x) ** 2)
routine train() -> loss {
    backward loss
    for p in params(loss) { p.m =: 0.9 * p.m + p.grad p =- 0.01 * p.m }
}
"""
JUNK = [b"9" * 20, b"-1", b"1e9", b"[", b"]", b"{", b"}", b'"', b"\\", b"\\u0000", b"\0", b"\xff", b",", b":", b"(",
        b"<f4", b">f8", b"|O", b"F64", b"18446744073709551615", b"4294967296", b"\n", b"off", b"tile i 0", b"#", b";", b"\r"]
PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lit", "emulator", "Inputs", "gather.ptx")
GGUF = struct.Struct("<4sIQQ")
LENGTHS = (0, 1, 7, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64 - 1)


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, timeout=60)


def safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def gguf(path, tensors, metadata=b"", count=0):
    """tensors: by name, (type, shape, bytes)."""
    table, data = metadata, b""
    for name, (kind, shape, content) in tensors.items():
        data += bytes(-len(data) % 32)
        table += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", len(shape))
        table += struct.pack("<%dQ" % len(shape), *shape[::-1]) + struct.pack("<IQ", kind, len(data))
        data += content
    text = GGUF.pack(b"GGUF", 3, len(tensors), count) + table
    with open(path, "wb") as out:
        out.write(text + bytes(-len(text) % 32) + data)


def make(folder, rng):
    """The files, undamaged, by name; and how each is read."""
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    with open(at("m.tsr"), "w", encoding="utf8") as out:
        out.write(PROGRAM)
    np.save(at("x.npy"), np.ones((4, 8), np.float32))
    np.save(at("ids.npy"), np.arange(4, dtype=np.int32))
    with open(at("x.csv"), "w", encoding="utf8") as out:
        out.write('a,"b, c",d,e,f,g,h,"i"\n' + "1,-2.5,\t3e2,nan,inf,.5, 6 ,\"7\"\r\n" * 4)
    np.savez(at("p.npz"), b=np.ones(70, np.float32), table=np.ones((50, 70), np.float32))
    np.savez_compressed(at("q.npz"), b=np.ones(70, np.float32))
    safetensors(at("p.safetensors"), {"w": ("BF16", np.zeros((70, 8), np.uint16)),
                                      "b": ("F32", np.ones(70, np.float32))})
    words = b"".join(struct.pack("<Q", 3) + b"abc" for i in range(4))
    gguf(at("p.gguf"), {"w": (30, (70, 8), bytes(1120)), "table": (0, (50, 70), bytes(14000)),
                        "b": (8, (70, 32), bytes(34 * 70))},
         struct.pack("<Q", 1) + b"v" + struct.pack("<IIQ", 9, 8, 4) + words, 1)
    with open(at("p.map"), "w", encoding="utf8") as out:
        out.write("prefix x.\nw = w [0, 1]\nb = b [(0/1 b) => b]\nb = c [a (b c) => (a b) c]\n")
    with open(at("g.map"), "w", encoding="utf8") as out:
        out.write("b = b.d [b 1 => b]\n")
    assert run(TSRC, at("m.tsr"), "-O0", "-o", at("m.so")).returncode == 0
    call = [TSR, "run", at("m.so")]
    given = call + ["x=" + at("x.npy"), "ids=" + at("ids.npy")]
    assert run(*given, "--save-state=" + at("p.state")).returncode == 0
    with open(at("m.sched"), "wb") as out:
        out.write(run(TSRC, at("m.tsr"), "--dump=schedule", "--stop=schedule").stdout)
    with open(at("t.tsr"), "w", encoding="utf8") as out:
        out.write(TRAINS)
    assert run(TSRC, at("t.tsr"), "-O0", "-o", at("t.so")).returncode == 0
    train = [TSR, "train", at("t.so"), "x=" + at("x.npy"), "--batch=2", "--shuffle=1"]
    assert run(*train, "--save=" + at("t.safetensors")).returncode == 0
    shutil.copy(PTX, at("m.ptx"))
    return {"t.safetensors": lambda f: train + ["--epochs=2", "--resume=" + f],
            "m.ptx": lambda f: [TSR, "info", f],
            "x.npy": lambda f: call + ["x=" + f, "ids=" + at("ids.npy")],
            "x.csv": lambda f: call + ["x=" + f + rng.choice(["", ":a..i", ":d,d,a,e..i,a"]), "ids=" + at("ids.npy")],
            "ids.npy": lambda f: call + ["x=" + at("x.npy"), "ids=" + f],
            "p.npz": lambda f: given + ["--params=" + f],
            "q.npz": lambda f: given + ["--params=" + f],
            "p.safetensors": lambda f: given + ["--params=" + f],
            "p.gguf": lambda f: given + ["--params=" + f, "--params-map=" + at("g.map")],
            "p.map": lambda f: given + ["--params=" + at("p.safetensors"), "--params-map=" + f],
            "p.state": lambda f: given + ["--state=" + f],
            "m.sched": lambda f: [TSRC, at("m.tsr"), "--schedule=" + f, "--dump=loops", "--stop=loops"],
            "m.so": lambda f: [TSR, "info", f]}


def damaged(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        at = rng.randrange(min(len(data), 400) if rng.random() < 0.8 else len(data)) if data else 0
        kind = rng.randrange(7)
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:at + rng.randrange(4)] = rng.choice(JUNK)
        elif kind == 2 and data:
            data[at] = rng.choice([0, 255, 127, 128, 1])
        elif kind == 3:
            del data[rng.randrange(len(data) + 1):]
        elif kind == 4:
            data[at:at] = data[at:at + rng.randrange(64)]
        elif kind == 5:
            del data[at:at + rng.randrange(16)]
        elif len(data) >= 8:
            data[:8] = struct.pack("<Q", rng.choice(LENGTHS + (len(data), len(data) - 8)))
    return bytes(data)


def wrong(done):
    report = b"Sanitizer" in done.stderr or b"runtime error" in done.stderr
    silent = done.returncode == 1 and not done.stderr
    return done.returncode not in (0, 1) or report or silent


def main():
    rng, count, bad, refused = random.Random(int(sys.argv[1])), int(sys.argv[2]), 0, 0
    with tempfile.TemporaryDirectory(prefix="damaged") as folder:
        files = make(folder, rng)
        for trial in range(count):
            name = rng.choice(list(files))
            with open(os.path.join(folder, name), "rb") as whole:
                data = whole.read()
            data = data[:rng.randrange(len(data))] if name == "m.so" else damaged(rng, data)
            path = os.path.join(folder, "damaged." + name.partition(".")[2])
            with open(path, "wb") as out:
                out.write(data)
            done = run(*files[name](path))
            refused += done.returncode == 1
            if wrong(done):
                bad += 1
                print("file %d, %s: status %d" % (trial, name, done.returncode))
                print(done.stderr.decode(errors="replace"))
    print("%d damaged files, %d refused, %d end otherwise" % (count, refused, bad))


if __name__ == "__main__":
    main()
