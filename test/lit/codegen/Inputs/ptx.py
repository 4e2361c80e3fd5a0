"""ptx.py TSRC EXAMPLES FOLDER: one example for every GPU, whose PTX ptxas takes where there is one, and all of them for one;
prints versions, and how many kernels keep something on a stack."""
import glob
import os
import re
import shutil
import subprocess
import sys

tsrc, examples, folder = sys.argv[1:]
ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")


def compiled(source, gpu):
    """The PTX and what -v says of its kernels."""
    path = os.path.join(folder, "m.ptx")
    run = subprocess.run([tsrc, "-v", "--target=cuda:" + gpu, source, "-o", path], capture_output=True, text=True)
    if run.returncode:
        sys.exit("%s for %s: %s" % (source, gpu, run.stderr))
    text = open(path).read()
    kernels = re.findall(r"^kernel (\S+): (\d+) registers, (\d+) bytes of stack, (\d+) instructions on it$", run.stderr, re.M)
    entries = set(re.findall(r"^\.visible \.entry (\w+)", text, re.M))
    launched = set(re.findall(r"^//tsr: launch (\S+)", text, re.M))
    assert entries == {name for name, *_ in kernels} and launched <= entries, (source, entries, kernels)
    assert "\n.global" not in text and "\n.visible .global .align 4 .u32 tsr_status" in text
    assert all(0 < int(registers) <= 255 for _, registers, *_ in kernels), kernels
    if ptxas:
        subprocess.run([ptxas, "-arch=" + gpu, path, "-o", os.devnull], check=True)
    return text, kernels


for gpu in ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_120"):
    text, _ = compiled(os.path.join(examples, "softmax.tsr"), gpu)
    print("%s: version %s" % (gpu, re.search(r"^\.version (\S+)$", text, re.M).group(1)))
ptxas = None
kernels = [k for source in sorted(glob.glob(examples + "/*.tsr")) for k in compiled(source, "sm_80")[1]]
print("%d kernels, %d on a stack" % (len(kernels), sum(k[2:] != ("0", "0") for k in kernels)))
