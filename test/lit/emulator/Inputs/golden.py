"""Programs whose PTX is kept, under the schedule of the environment: right numbers, and copies with one fault each, which
the emulator has to name."""
import os
import re
import sys

import numpy as np

from driver import Driver, DriverError, Ptx

HERE = os.path.dirname(os.path.abspath(__file__))
driver = Driver()


def text_of(name):
    return open(os.path.join(HERE, name + ".ptx"), encoding="utf8").read()


def softmax(text, n, classes):
    x = np.random.default_rng(n).normal(size=(n, classes)).astype(np.float32)
    want = np.exp(x - x.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    model = Ptx(None, driver, text)
    model.most = 2
    got, = model.forward([n, classes], [x], [(x.shape, x.dtype)])
    return got, want


def gather(text, n, k):
    rng = np.random.default_rng(n)
    x, at = rng.normal(size=(n, 3)).astype(np.float32), rng.integers(0, n, k).astype(np.int32)
    got, = Ptx(None, driver, text).forward([n, k], [x, at], [((k,), x.dtype)])
    return got, 2 * x.sum(1)[at]


def right(function, text, sizes):
    got, want = function(text, *sizes)
    return bool((abs(got - want) <= 1e-5 * abs(want) + 1e-7).all())


def edited(text, kernel, old, new, times=1):
    """The text with a piece of one kernel replaced; the piece is there exactly so often."""
    first = text.index(".visible .entry " + kernel)
    last = text.find(".visible .entry", first + 1)
    body = text[first:last if last > 0 else len(text)]
    if body.count(old) != times:
        sys.exit("%s: %r stands %d times there" % (kernel, old, body.count(old)))
    return text[:first] + body.replace(old, new) + text[first + len(body):]


# What is planted: function, sizes, kernel, what is replaced by what, how often it stands there, what has to be told.
PLANTED = [
    ("no barrier", softmax, (3, 300), "softmax__k_sum", "bar.sync \t0;", "", 3, r"with no barrier in between"),
    ("no second barrier", softmax, (3, 300), "softmax__k_max", "setp.gt.s32 \t%p74, %r5, 0;\n\tbar.sync \t0;",
     "setp.gt.s32 \t%p74, %r5, 0;", 1, r"with no barrier in between"),
    ("a barrier of some", softmax, (1, 300), "softmax__k_max", "setp.gt.s32 \t%p28, %r5, 15;\n\tbar.sync \t0;",
     "setp.gt.s32 \t%p28, %r5, 15;\n\t@!%p28 bar.sync \t0;", 1, r"waits for what does not come|at another line"),
    ("a column behind the row", softmax, (2, 40), "softmax__k_e", "or.pred  \t%p12, %p11, %p10;",
     "or.pred  \t%p12, %p10, %p10;", 1, r"(reads|writes) 4 bytes at .* of global memory|wrong"),
    ("a row too many", softmax, (5, 40), "softmax__k_probs", "or.pred  \t%p12, %p11, %p10;",
     "or.pred  \t%p12, %p11, %p11;", 1, r"reads 4 bytes at .* of global memory"),
    ("the place beside it", softmax, (3, 40), "softmax__k_max", "st.global.f32 \t[%rd39]", "st.global.f32 \t[%rd39+4]", 1,
     r"writes 4 bytes at .*, 12 bytes from the start of 12 bytes"),
    ("half a number", softmax, (3, 40), "softmax__k_max", "st.global.f32 \t[%rd39]", "st.global.f32 \t[%rd39+2]", 1,
     r"not aligned"),
    ("behind shared memory", softmax, (1, 300), "softmax__k_max", "ld.shared.f32 \t%f50, [%rd4+960]",
     "ld.shared.f32 \t%f50, [%rd4+1088]", 1, r"place 1\d+ of 1088 bytes of shared memory"),
    ("a part that nobody wrote", softmax, (1, 300), "softmax__k_sum", "setp.gt.s32 \t%p3, %r5, 255;",
     "setp.gt.s32 \t%p3, %r5, 254;", 1, r"wrong"),
    ("a step too short", softmax, (1, 3000), "softmax__k_sum", "add.s64 \t%rd44, %rd44, 4096;",
     "add.s64 \t%rd44, %rd44, 4092;", 1, r"wrong"),
    ("no check", gather, (4, 300), "rows__k_check_index", "setp.ge.s64 \t%p6, %rd6, %rd8;", "setp.ge.s64 \t%p6, %rd6, 1024;",
     1, r"reads 4 bytes at .* of global memory"),
    ("no end", gather, (4, 3), "rows__k_y", "ret;", "$L_no_end:\n\tbra $L_no_end;", 1, r"has not ended"),
]


def told_of(function, text, sizes):
    """What is told of a program: a fault's message, or that its numbers are right or wrong."""
    try:
        return "right" if right(function, text, sizes) else "wrong"
    except DriverError as error:
        driver.call("cuDevicePrimaryCtxRelease_v2", 0)  # what has spoiled the context goes with it
        driver.__init__()
        return error.report


def main():
    for name, function, cases in (("softmax", softmax, ((3, 700), (2, 5), (1, 1), (9, 64), (1, 3000))),
                                  ("gather", gather, ((4, 300), (1, 1), (300, 7)))):
        for sizes in cases:
            if not right(function, text_of(name), sizes):
                sys.exit("%s %s: wrong numbers" % (name, sizes))
    print("kept programs are right")
    found = 0
    for what, function, sizes, kernel, old, new, times, wanted in PLANTED:
        told = told_of(function, edited(text_of(function.__name__), kernel, old, new, times), sizes)
        if re.search(wanted, told):
            found += 1
        else:
            print("%s: %s" % (what, told))
    print("%d of %d faults are found" % (found, len(PLANTED)))


if __name__ == "__main__":
    main()
