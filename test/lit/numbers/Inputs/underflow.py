"""No function underflows on the way to 0, an infinity or NaN, where processors of Intel would take an assist of some 150
cycles: underflow.py OPTIONS... In the mode in which whatever is subnormal becomes 0, a processor flags every result that
is, exact ones too, and every subnormal operand; so each function is called with each number in turn, and so are its
vectors, whole and masked. The powers of the C library are its own affair, and those of negative numbers that are no
numbers are computed before they are dropped."""
import ctypes
import sys

import numpy as np

from tsrlib import Model

N = 21  # a vector and a rest
OPTIONS = sys.argv[1:]
FUNCTIONS = ("exp log exp2 log2 sin cos tan tanh sigmoid erf gelu sqrt rsqrt recip log1p expm1 softplus sinh cosh asinh acosh "
             "atanh atan asin acos erfc lgamma").split()
OTHER = ["remainder", "arc", "long"]
FORMS = {"power": "x ** z", "remainder": "x % z", "arc": "atan2(x, z)", "long": "hypot(x, z)"}
LIBRARY = {np.float32: "--fp=strict" in OPTIONS, np.float64: "--fp=strict" in OPTIONS or "-march=x86-64" in OPTIONS}
FLUSH, DENORMAL, UNDERFLOW = 0x8000, 0x02, 0x10  # of MXCSR
SPECIAL = [0, 1, 2, 0.5, 3, 10.05, 10.06, 27.2, 27.3, 87.5, 95, 103.9, 103.97208, 104, 149.4, 149.9999, 150, 151, 200, 744.8, 745.2, 746, 1074.4,
           1074.9, 1075, 1e4, 1e9, 1e30, np.inf, np.nan]

environment = (ctypes.c_uint32 * 8)()  # fenv_t; MXCSR is the last word
libm = ctypes.CDLL("libm.so.6")


def with_signs(numbers, dtype):
    sizes = np.asarray(numbers).astype(dtype)
    return np.concatenate([sizes, -sizes])


def powers(dtype, step):
    info = np.finfo(dtype)
    return [*2.0 ** np.arange(info.minexp, info.maxexp, step), info.max]


def flags(call):
    """of what it does, with FLUSH"""
    libm.fegetenv(environment)
    before = environment[7]
    environment[7] = before & ~0x3f | FLUSH
    libm.fesetenv(environment)
    call()
    libm.fegetenv(environment)
    after = environment[7]
    environment[7] = before
    libm.fesetenv(environment)
    return after & (DENORMAL | UNDERFLOW)


def value_of(result, name):
    wide = (result[:1].astype(np.uint32) << 16).view(np.float32) if name == "bf16" else result
    return float(wide[0])


def checked(dtype):
    """Functions and their results that were looked at"""
    f32 = dtype is np.float32
    names = FUNCTIONS + (["f16", "bf16"] if f32 else [])
    pairs = [*OTHER] if LIBRARY[dtype] else ["power", *OTHER]
    lines = ["input x : %s [%d]\ninput z : %s [%d]\n" % (("f32" if f32 else "f64", N) * 2)]
    for name in names + pairs:
        form = FORMS.get(name, name + "(x)")
        lines.append("routine of_%s() -> y_%s { y_%s =: %s }\n" % (name, name, name, form))
    model = Model("".join(lines), OPTIONS)
    few, count = with_signs(SPECIAL, dtype), 0
    many = with_signs(SPECIAL + powers(dtype, 3 if f32 else 24), dtype)
    for name in names + pairs:
        out = {"f16": np.float16, "bf16": np.uint16}.get(name, dtype)
        for v in [(v,) for v in many] if name in names else [(a, b) for a in few for b in few]:
            inputs = [np.full(N, part, dtype) for part in v]
            run = lambda: model.forward((), inputs, [((N,), out)], routine="of_" + name)[0]
            result = value_of(run(), name)
            dropped = name == "power" and v[0] < 0 and np.isfinite(v).all() and v[1] != np.rint(v[1])
            if dropped or (result != 0 and np.isfinite(result)):
                continue
            count += 1
            if flags(run):
                sys.exit("%s%s of %s underflows: its result is %s" % (name, v, np.dtype(dtype), result))
    return count


print("%d results that are 0, infinite or NaN: none underflows" % (checked(np.float32) + checked(np.float64)))
