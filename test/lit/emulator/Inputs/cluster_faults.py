"""PTX of clusters of blocks with faults planted in it, and what the emulator tells of them."""
import re

import numpy as np

from driver import Driver, DriverError, Ptx

BARRIER = r"barrier\.cluster\.arrive\S*;\s*(?://[^\n]*\s*)*barrier\.cluster\.wait\S*;"
MEET = "another block of the cluster (wrote|read) with no barrier in between"
ENDED = "ends though another block of the cluster reads|a block of the cluster that has ended"
driver = Driver()


def changed(text, pattern, which, instead):
    """With other text in the place of one match of the pattern."""
    match = list(re.finditer(pattern, text))[which]
    return text[:match.start()] + match.expand(instead) + text[match.end():]


def barrier_faults(text):
    """What is planted, the text that has it, what is told: of two barriers of the cluster."""
    return [
        ("no barrier before others read", changed(text, BARRIER, 0, ""), "with no barrier in between"),
        ("a barrier of the block there", changed(text, BARRIER, 0, "bar.sync 0;"), MEET),
        ("an end before others have read", changed(text, BARRIER, 1, ""), ENDED),
        ("a barrier of the block there", changed(text, BARRIER, 1, "bar.sync 0;"), ENDED),
        ("a cluster of other blocks", text.replace(".reqnctapercluster 4", ".reqnctapercluster 2"), "shared memory|wrong"),
    ]


def told_of(text, dims, inputs, want, near=0.0, most=None):
    """What is told of a program: a fault's message, or that its one result is right or wrong."""
    model = Ptx(None, driver, text)
    if most:
        model.most = most
    try:
        got, = model.forward(dims, inputs, [(want.shape, np.float32)])
        return "right" if np.abs(np.asarray(got) - want).max(initial=0) <= near else "wrong"
    except DriverError as error:
        driver.call("cuDevicePrimaryCtxRelease_v2", 0)  # what has spoiled the context goes with it
        driver.__init__()
        return error.report


def look_for(text, planted, tell):
    """Says how many of those planted are told as they are to be; `tell` is told_of of a text."""
    found = 0
    for what, other, wanted in planted:
        assert other != text, what
        told = tell(other)
        found += bool(re.search(wanted, told))
        if not re.search(wanted, told):
            print(what + ":", told)
    print("%d of %d faults are found" % (found, len(planted)))
