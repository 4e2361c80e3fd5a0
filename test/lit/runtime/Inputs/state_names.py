"""state_names.py TSRC TSR FOLDER: states by name. A state of all kinds of elements is written and read back; others are refused."""
import json
import os
import subprocess
import sys

TSRC, TSR, FOLDER = sys.argv[1:4]
KINDS = """
dim n
input x : [n | 8]
param w : [8 -> 3]
param b : bf16 [3]
param q : i4 [3, 5] = 3
param u : u4 [4] = 9
param f : f8e4m3 [2] = 1.5
param h : f16 [2] = 0.25
param big : i64 [] = 4611686018427387905
param on : bool [2] = 1
routine step(by : f32) -> y {
    w =* by
    w.m =: w.m + w
    q =- 1
    b =+ by
    big =+ 1
    y =: w * x
}
routine read() -> z, all, rest { z =: w.m all =: sum(q) + sum(u) + big rest =: sum(f) + sum(h) + sum(on) }
"""
LESS = "param w : [8 -> 3]\nparam m : [3]\nparam v : [4]\nroutine read() -> z { z =: sum(w) + sum(m) + sum(v) }"
OTHER = "param w : [8 -> 4]\nroutine read() -> z { z =: sum(w) }"
PART = "dim n\ninput x : [n | 8]\nparam w : [8 -> 3]\nparam b : bf16 [3]\noutput y = w * x + b"


def at(name):
    return os.path.join(FOLDER, name)


def run(*words, fails=False):
    done = subprocess.run([TSR, "run", *words], capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit("%s: %s%s" % (words, done.stdout, done.stderr))
    return (done.stderr if fails else done.stdout).replace(FOLDER + "/", "")


def header(name):
    with open(at(name), "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return length % 8, json.loads(file.read(length))


os.makedirs(FOLDER, exist_ok=True)
for name, text in (("kinds", KINDS), ("less", LESS), ("other", OTHER), ("part", PART)):
    with open(at(name + ".tsr"), "w", encoding="utf8") as out:
        out.write(text)
    subprocess.run([TSRC, at(name + ".tsr"), "-o", at(name + ".so")], check=True, stderr=subprocess.DEVNULL)
kinds, step, named = at("kinds.so"), ["step", "by=0.75", "x=ones", "n=2"], at("named.safetensors")
run(kinds, *step, "--save-state=" + named)
run(kinds, *step, "--save-state=" + at("raw"))
rest, arrays = header("named.safetensors")
print("header:", rest, arrays.pop("__metadata__"))
print(" ".join("%s:%s%s" % (key, of["dtype"], of["shape"]) for key, of in arrays.items()))
for _ in range(2):
    run(kinds, *step, "--state=" + named, "--save-state=" + named)
    run(kinds, *step, "--state=" + at("raw"), "--save-state=" + at("raw"))
run(kinds, "read", "--state=" + named, "--save-state=" + at("again"))
print("the same bits:", open(at("again"), "rb").read() == open(at("raw"), "rb").read())
print("another module's:", run(at("part.so"), "x=ones", "n=1", "--state=" + named).splitlines()[0])
print(run(at("less.so"), "read", "--state=" + named, fails=True), end="")
print(run(at("other.so"), "read", "--state=" + named, fails=True), end="")
print(run(kinds, "read", "--state=" + at("none.safetensors"), fails=True), end="")
limited = subprocess.run(["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", TSR, "run", kinds, *step, "--save-state=" + named],
                         capture_output=True, text=True)
print(limited.stderr.replace(FOLDER + "/", ""), end="")
with open(named, "r+b") as file:
    file.truncate(os.path.getsize(named) - 1)
print(run(kinds, "read", "--state=" + named, fails=True), end="")
run(kinds, *step, "--save-state=" + at("first.safetensors"), "w=ones", "b=ones")
run(kinds, *step, "--save-state=" + at("second.safetensors"), "w=zeros", "b=zeros")
print("what is set otherwise goes before it:", run(at("part.so"), "x=ones", "n=1", "--state=" + at("second.safetensors"),
      "--params=" + at("first.safetensors"), "b=zeros").splitlines()[1])
