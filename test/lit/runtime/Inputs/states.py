"""One state, several routines, several processes: TSRC TSR FOLDER. A state is begun in one process, changed by a routine in the
next, and read in a third, by a module with copies of parameters and by one without; NumPy follows."""
import os
import subprocess
import sys

import numpy as np

TSRC, TSR, FOLDER = sys.argv[1:4]
PROGRAM = """dim n
input x : [n | 40]
param w : [40 -> 70]
param v : [40 -> 70]
param u : i8 [64 -> 50]
param b : [70]
param p : [n | ]
input q : u8 [3 | 64]
output y = v * x + w * x + b
output r = u * q
routine biased(rate : f32) -> s { b =+ rate; s =: w * x + b }
routine shrunk(rate : f32) -> t { v =- v .* rate; t =: v * x }
routine counted(k : i32) -> o { p =+ k; o =: p .* x }
"""


def at(name):
    return os.path.join(FOLDER, name)


def run(module, *arguments, **outputs):
    """The outputs of a process of its own."""
    writes = ["-o%s=%s" % (name, at(name + ".npy")) for name in outputs["names"]]
    subprocess.run([TSR, "run", at(module + ".so"), *arguments, "x=" + at("x.npy"), *writes], check=True)
    return [np.load(at(name + ".npy")).astype(float) for name in outputs["names"]]


def main():
    os.makedirs(FOLDER, exist_ok=True)
    with open(at("m.tsr"), "w", encoding="utf8") as out:
        out.write(PROGRAM)
    for name, options in (("copies", []), ("plain", ["--no-prepack"])):
        subprocess.run([TSRC, at("m.tsr"), "--prefix=m", "-o", at(name + ".so"), *options], check=True)
    rng = np.random.default_rng(1)
    x, w, v, b = (rng.standard_normal(s).astype(np.float32) for s in ((5, 40), (70, 40), (70, 40), (70,)))
    u, q = rng.integers(-128, 128, (50, 64), np.int8), rng.integers(0, 256, (3, 64), np.uint8)
    for name, array in (("x", x), ("w", w), ("v", v), ("b", b), ("u", u), ("q", q)):
        np.save(at(name + ".npy"), array)
    given = ["%s=%s" % (name, at(name + ".npy")) for name in ("w", "v", "b", "u")]
    r = u.astype(int) @ q.astype(int).T
    for first, second in (("copies", "copies"), ("copies", "plain"), ("plain", "copies")):
        state, more = "--state=" + at("state"), "--save-state=" + at("state")
        y, got_r = run(first, "q=" + at("q.npy"), *given, "p=zeros", more, names="yr")
        s, = run(second, "biased", "rate=0.5", state, more, names="s")
        t, = run(first, "shrunk", "rate=0.25", state, more, names="t")
        o, = run(second, "counted", "k=3", state, more, names="o")
        o, = run(first, "counted", "k=4", state, more, names="o")
        last, last_r = run(second, "q=" + at("q.npy"), state, names="yr")
        for name, got, want in (("y", y, x @ (v + w).T + b), ("r", got_r, r.T), ("s", s, x @ w.T + b + 0.5),
                                ("t", t, 0.75 * x @ v.T), ("o", o, 7 * x), ("r", last_r, r.T),
                                ("y again", last, x @ (0.75 * v + w).T + b + 0.5)):
            if not np.allclose(got, want, rtol=1e-5, atol=1e-4):
                sys.exit("%s of %s and %s: %s, expected %s" % (name, first, second, got, want))
    print("states are handed on")


main()
