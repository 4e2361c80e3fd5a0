"""casts.py TSRC TSR FOLDER SEED COUNT: an array of any type is taken for an input of any other where every number of it is
one of the input's, by Python's exact numbers, and refused with its first other element."""
import os
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np

TSRC, TSR, FOLDER = sys.argv[1:4]
DIGITS = {"f64": (53, -1074, 1024), "f32": (24, -149, 128), "f16": (11, -24, 16), "bf16": (8, -133, 128)}
RANGES = {"i32": (-2 ** 31, 2 ** 31), "i8": (-128, 128), "u8": (0, 256)}
NAMES = list(DIGITS) + list(RANGES)
SOURCES = "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1".split()


def holds(dtype, number):
    """Is the number one of the dtype's? None stands for what is no number."""
    if number is None:
        return dtype in DIGITS
    if dtype in RANGES:
        low, high = RANGES[dtype]
        return number.denominator == 1 and low <= number < high
    digits, least, most = DIGITS[dtype]
    if abs(number) >= Fraction(2) ** most:
        return False
    scaled = number / Fraction(2) ** least
    if scaled.denominator != 1:
        return False
    odd = abs(scaled.numerator)
    while odd and odd % 2 == 0:
        odd //= 2
    return odd < 2 ** digits


def numbers(rng, source):
    """Random elements, many of them at the edges of types."""
    if source == "b1":
        return np.array([rng.random() < 0.5 for _ in range(3)])
    if source[0] == "f":
        some = [0.0, -0.0, 0.5, 1e-40, 255, 256, 65504, 2.0 ** -24, 2.0 ** -149, 2.0 ** 31, -2.0 ** 31, 2.0 ** 63,
                float("nan"), float("inf"), 3.0, -7.0, 1 / 3, rng.gauss(0, 1), float(rng.randrange(-300, 300))]
        with np.errstate(all="ignore"):
            return np.array([rng.choice(some) for _ in range(3)]).astype("<" + source)
    info = np.iinfo(source)
    some = [0, 1, 127, 128, 255, 256, 2 ** 11 + 1, 2 ** 24 + 1, 2 ** 31, 2 ** 53 + 1, 2 ** 63, info.min, info.max, -1, -128]
    some = [n for n in some if info.min <= n <= info.max] + [rng.randrange(100) for _ in range(10)]
    return np.array([rng.choice(some) for _ in range(3)], "<" + source)


def exact(value):
    return Fraction(value.item()) if np.isfinite(value) else None


def main():
    rng = random.Random(int(sys.argv[4]))
    os.makedirs(FOLDER, exist_ok=True)
    path, source = os.path.join(FOLDER, "a.npy"), os.path.join(FOLDER, "m.tsr")
    module, taken = os.path.join(FOLDER, "m.so"), 0
    with open(source, "w") as out:
        out.writelines("input x_%s : %s [3]\noutput y_%s = x_%s\n" % ((name,) * 4) for name in NAMES)
    subprocess.run([TSRC, source, "-O0", "-o", module], check=True)
    for trial in range(int(sys.argv[5])):
        array, to = numbers(rng, rng.choice(SOURCES)), rng.choice(NAMES)
        np.save(path, array)
        inputs = ["x_%s=%s" % (name, path if name == to else "zeros") for name in NAMES]
        done = subprocess.run([TSR, "run", module, "--threads=1", *inputs], capture_output=True, text=True)
        bad = [i for i, value in enumerate(array) if not holds(to, exact(value))]
        if done.returncode != bool(bad) or (bad and "its element %d, " % bad[0] not in done.stderr):
            sys.exit("%s to %s: %s: status %d\n%s" % (array.dtype, to, array, done.returncode, done.stderr))
        if not bad:
            line = done.stdout.splitlines()[2 * NAMES.index(to) + 1]
            got = [float(word) for word in line.strip("[]").split(",")]
            printed = "f4" if to in ("f32", "f16", "bf16") else "f8"  # nine digits, or all
            if not np.array_equal(np.array(got, printed), array.astype(printed), equal_nan=True):
                sys.exit("%s to %s: %s gives %s" % (array.dtype, to, array, got))
            taken += 1
    print("%d arrays, %d taken" % (int(sys.argv[5]), taken))


main()
