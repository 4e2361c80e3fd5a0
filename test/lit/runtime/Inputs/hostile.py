"""hostile.py TSR MODULE FOLDER: files whose reading would take far more memory than they have bytes, and files that are
no files, are refused within 100 MiB of address space, soon, and with a message."""
import json
import os
import resource
import struct
import subprocess
import sys

import numpy as np

TSR, MODULE, FOLDER = sys.argv[1:4]
ROOM = 100 << 20
os.makedirs(FOLDER, exist_ok=True)
os.chdir(FOLDER)


def tell(text, *words):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))

    done = subprocess.run([TSR, *words], preexec_fn=limit, capture_output=True, text=True, timeout=20)
    if done.returncode != 1 or text not in done.stderr:
        sys.exit("%s: status %d, %s" % (words, done.returncode, done.stderr))


def write_tensors(path, header, data=b""):
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + data)


def described(count):
    return json.dumps({"t%d" % i: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(count)})


# 120 MiB of zeros in 120 KiB.
np.savez_compressed("large.npz", x=np.zeros((1024, 30720), "f4"), w=np.zeros((3, 10 << 20), "f4"))
run = "run", MODULE, "y=zeros"
tell("dim m is 4 by m=4, but axis 1 of input 'x' is 30720", *run, "x=large.npz:x", "m=4")
tell("dim m is 4 by m=4, but axis 1 of input 'x' is 30720", *run, "m=4", "x=large.npz:x")
tell("came f32 array 1024 x 30720", "run", MODULE, "x=zeros", "n=1", "y=large.npz:x")
tell("axis 1 of parameter 'w' is 10485760", *run, "x=zeros", "n=1", "m=4", "--params=large.npz")
tell("not enough memory", *run, "x=large.npz:x")
# Where nothing is known before, the headers of all arrays are compared first.
np.save("nine.npy", np.zeros(9, "f4"))
np.savez_compressed("four.npz", w=np.zeros((3, 10 << 20), "f4"), b=np.zeros(4, "f4"))
np.savez("small.npz", w=np.zeros((3, 4), "f4"))
tell("axis 0 must be 61441 (m is 30720 by axis 1 of input 'x'), not 9", "run", MODULE, "x=large.npz:x", "y=nine.npy")
tell("parameter 'b': axis 0 must be 3, not 4", *run, "x=zeros", "n=1", "--params=four.npz")
tell("dim m is 30720 by axis 1 of input 'x', but axis 1 of parameter 'w' is 4", *run, "x=large.npz:x",
     "--params=small.npz")
# Headers of a hundred thousand descriptions, or of one text.
write_tensors("many.safetensors", described(100000).encode())
tell("it has no array 'x'", *run, "x=many.safetensors:x")
tell("none of its 100000 arrays", *run, "x=zeros", "n=1", "m=1", "--params=many.safetensors")
nested = b'{"a":' + b"[" * 2000000 + b"]" * 2000000 + b"}"
write_tensors("nested.safetensors", nested)
tell("malformed", *run, "x=nested.safetensors:x")
write_tensors("numbers.safetensors", b'{"a":[' + b"1," * 5000000 + b"1]}")
tell("malformed", *run, "x=numbers.safetensors:x")
write_tensors("meta.safetensors", b'{"__metadata__":{"a":"' + b"b" * 20000000 + b'","c":[' + b"1," * 5000000 + b"1]}}")
tell("metadata are strings", *run, "x=meta.safetensors:x")
# What claims to be a state, and is long.
with open("long.state", "wb") as out:
    out.write(b"TSRSTATE" + struct.pack("<IIQ", 1, 128, (1 << 40) - 128))
    out.truncate(1 << 40)
tell("other parameters or sizes", *run, "x=zeros", "n=1", "m=1", "--state=long.state")
# Pipes, devices and directories.
if not os.path.exists("pipe"):
    os.mkfifo("pipe")
for path, why in ("./pipe", "it is not a regular file"), ("/dev/zero", "it is not a regular file"), (
        FOLDER, "it is a directory"):
    tell(path + ": " + why, *run, "x=zeros", "n=1", "m=1", "--params=" + path)
    tell(path + ": " + why, *run, "x=zeros", "n=1", "m=1", "--params=large.npz", "--params-map=" + path)
    tell(path + ": " + why, *run, "x=zeros", "n=1", "m=1", "--state=" + path)
    tell(path + ": input 'x': " + why, *run, "x=" + path)
    tell(path + ": " + why, "info", path)
    tell("@" + path + ": " + why, "run", "@" + path)
print("all are told")
