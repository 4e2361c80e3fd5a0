"""group_faults.py TSR DRIVER FOLDER: m.ptx, a product by warpgroups that is longer than its ring, has the bits of m.so of the host in
three orders; copies of it with one fault each are told by the emulator, or have other numbers, in the order that shows it."""
import os
import re
import subprocess
import sys

tsr, driver, folder = sys.argv[1:]
os.chdir(folder)
with open("m.ptx", encoding="utf8") as file:
    TEXT = re.sub(r"//tsr: digest .*\n", "", file.read())
WAIT = re.compile(r"(mbarrier\.try_wait\.parity\.shared::cta\.b64 tsr_p, \[%\w+\], )(%\w+|\d+)(;\s*@!tsr_p bra \w+;)")


def run(module, order="forward"):
    env = dict(os.environ, TSR_LIBCUDA=driver, TSR_EMU_SCHEDULE=order, TSR_EMU_FUEL="30000000")
    result = subprocess.run([tsr, "run", module, "x=random:1", "w=random:2", "m=70", "-o", "y=y.npy"], env=env, capture_output=True)
    if result.returncode:
        return None
    with open("y.npy", "rb") as file:
        return file.read()


def waits(copies, change):
    """The waits in front of copies, or of products, changed."""
    def one(match):
        behind = re.search(r"cp\.async\.bulk|wgmma\.mma_async", TEXT[match.end():])
        return change(match) if behind and behind.group().startswith("cp") == copies else match.group()
    return WAIT.sub(one, TEXT)


def other_phase(match):
    return ".reg .b32 tsr_x; xor.b32 tsr_x, %s, 1; " % match.group(2) + match.group(1) + "tsr_x" + match.group(3)


def without(pattern, instead=""):
    return re.sub(pattern, instead, TEXT)


PLANTED = [
    ("no wait for copies", waits(False, lambda m: ""), "forward"),
    ("no wait for room", waits(True, lambda m: ""), "reverse"),
    ("the wrong phase of copies", waits(False, other_phase), "forward"),
    ("the wrong phase of room", waits(True, other_phase), "forward"),
    ("a stage that is given back early", without(r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 3;"), "forward"),
    ("no end of a group", without(r"wgmma\.commit_group\.sync\.aligned;"), "forward"),
    ("a missing arrival", without(r"mbarrier\.arrive\.shared::cta\.b64 _, \[%\w+\];"), "forward"),
    ("bytes that do not come", without(r"(mbarrier\.arrive\.expect_tx\S* _, \[%\w+\], )%\w+;", r"\g<1>32784;"), "random:1"),
    ("bytes that nobody counts", without(r"(mbarrier\.arrive\.expect_tx\S* _, \[%\w+\], )%\w+;", r"\g<1>8192;"), "random:1"),
    ("no fence before a box is stored", without(r"fence\.proxy\.async\.shared::cta;"), "reverse"),
    ("a box that is stored before all is written", without(r"(fence\.proxy\.async\.shared::cta;\s*// end inline asm\s*)bar\.warp\.sync\s+-1;", r"\1"), "reverse"),
    ("no wait for room for a box", without(r"cp\.async\.bulk\.wait_group\.read 1;"), "forward"),
    ("no wait for boxes at the end", without(r"cp\.async\.bulk\.wait_group\.read 0;"), "forward"),
    ("no end of a group of stores", without(r"cp\.async\.bulk\.commit_group;"), "forward"),
    ("a box stored elsewhere", without(r"(cp\.async\.bulk\.tensor\.2d\.global\S* \[%\w+, \{)(%\w+), (%\w+)", r"\1\3, \2"), "reverse"),
]

want = run("m.so")
for order in ("forward", "reverse", "random:1", "random:2"):
    if want is None or run("m.ptx", order) != want:
        print("without a fault: other bits,", order)
found = 0
for name, text, order in PLANTED:
    if text == TEXT:
        print(name, "is not planted")
    with open("changed.ptx", "w", encoding="utf8") as file:
        file.write(text)
    if run("changed.ptx", order) == want:
        print(name, "is not found")
    else:
        found += 1
print("%d of %d faults are found" % (found, len(PLANTED)))
