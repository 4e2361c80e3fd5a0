"""files.py DIR: the arrays, good and bad, that the tests of messages use."""
import os
import struct
import sys
import zipfile

import numpy as np

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
x = np.arange(8, dtype="f4").reshape(2, 4)
np.save("x.npy", x)
np.save("x3.npy", np.zeros((3, 4), "f4"))
np.save("x64.npy", x.astype("f8"))
np.save("xi64.npy", x.astype("i8"))
np.save("tenths.npy", x.astype("f8") / 10)
np.save("large.npy", np.full((2, 4), 2 ** 24 + 1))
np.save("flat.npy", x.ravel())
np.save("complex.npy", x.astype("c8"))
np.savez("complex.npz", x=x.astype("c8"))
np.save("y.npy", np.ones(9, "f4"))
np.save("y7.npy", np.ones(7, "f4"))
np.save("y8.npy", np.ones(8, "f4"))
np.save("empty.npy", np.zeros((0, 4), "f4"))
np.savez_compressed("a.npz", x=x, y=np.ones(9, "f4"))
np.savez_compressed("b.npz", y=x, z=x)
np.savez("half.npz", w=np.ones((3, 4), "f4"))
np.savez("wrong.npz", w=np.ones((4, 3), "f4"))
open("nothing.npy", "wb").close()
open("text.npy", "w").write("not an array\n")
open("short.npy", "wb").write(open("x.npy", "rb").read()[:-4])
huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 4), }\n"
open("huge.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(huge)) + huge)
open("map.bad", "w").write("w theirs\n")
open("map.axes", "w").write("w = w [0, 0]\n")
open("map.lost", "w").write("w = theirs\n")
np.savez("fused.npz", fused=np.ones((4, 6), "f4"), turned=np.ones((4, 3), "f4"), flat=np.ones(12, "f4"))
np.savez("behind.npz", **{"a.0.weight": np.ones((3, 4), "f4"), "a.0.bias": np.ones(3, "f4")})
for name, text in {
        "parts": "w = fused [m (0/4 o) => o m]", "shape": "\nw = flat", "letters": "w = fused [m o => o]",
        "ours": "w = turned [1 0]\nv{i} = b", "number": "w{i} = h.{j}", "long": "w = " + 2000 * "a",
        "prefix": "prefix", "either": "prefix x.\nw = lost\nw = gone",
        "near": "w = fusde", "behind": "w = weight", "ouch": "w = fused [m (0/4 o) => o m]\nbb = flat"}.items():
    open("map." + name, "w").write(text + "\n")

# A member whose zip entry claims other sizes than its header, one with damage, one that is no array.
with zipfile.ZipFile("claims.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("x.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(huge)) + huge + bytes(1000))
    z.writestr("note.txt", "hello, this is no array at all")
raw = bytearray(open("half.npz", "rb").read())
raw[raw.find(b"\n", 30) + 5] ^= 0x55
open("damaged.npz", "wb").write(raw)
raw = bytearray(open("a.npz", "rb").read())
at = raw.find(b"PK\1\2")
struct.pack_into("<I", raw, at + 24, 0xfffffff0)
open("bomb.npz", "wb").write(raw)
with zipfile.ZipFile("twice.npz", "w") as z:
    z.write("x.npy")
    z._didModify = True
    import warnings
    warnings.simplefilter("ignore")
    z.write("x3.npy", "x.npy")
