"""What tsrc emits against what one would use instead: bench/run.py [--suite NAME] [--rounds N] [--build DIR]

Every contestant runs in a process of its own, in turn, for several rounds; the median of the rounds counts, and
the ratio to the best peer of the same run is what to quote: machines are noisy. Peers that are not installed
are left out and named. Writes a table to standard output and to BUILD/bench.md."""
import argparse
import ctypes.util
import glob
import json
import os
import platform
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--suite", default="products,linear,conv,rows,elementwise,attention")
options.add_argument("--rounds", type=int, default=3)
options.add_argument("--build", default=os.path.join(HERE, "..", "build"))
options = options.parse_args()
BUILD = os.path.abspath(options.build)
WORK = os.path.join(BUILD, "bench")
os.makedirs(WORK, exist_ok=True)

ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", BLIS_NUM_THREADS="1", MKL_NUM_THREADS="1")
LIBS = {"OpenBLAS": "libopenblas.so.0", "BLIS": "libblis.so.4", "oneDNN": "libdnnl.so.2"}


def output(command):
    run = subprocess.run(command, capture_output=True, text=True, env=ENV)
    return run.stdout if run.returncode == 0 else None


def build_tools():
    for name in ("limits", "peer_gemm"):
        subprocess.run(["gcc", "-O2", "-march=native", "-o", os.path.join(WORK, name),
                        os.path.join(HERE, name + ".c"), "-ldl"], check=True)


def have_library(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def has_torch():
    return output(["/usr/bin/python3", "-c", "import torch"]) is not None


def module(name, program):
    source = os.path.join(WORK, name + ".tsr")
    with open(source, "w", encoding="utf8") as out:
        out.write(program)
    subprocess.run([os.path.join(BUILD, "tsrc"), source, "-o", os.path.join(WORK, name + ".so")], check=True)
    return os.path.join(WORK, name + ".so")


def ours(path, arguments):
    text = output([os.path.join(BUILD, "tsr"), "bench", path, "--json", "--threads=1", *arguments])
    return json.loads(text)["median_ns"] if text else None


def peer(command):
    text = output(command)
    return json.loads(text)["median_ns"] if text else None


def gemm_peers(layout, m, n, k):
    return {name: [os.path.join(WORK, "peer_gemm"), lib, layout, str(m), str(n), str(k)]
            for name, lib in LIBS.items() if have_library(lib)}


def torch_peer(*words):
    return {"PyTorch": ["/usr/bin/python3", os.path.join(HERE, "peer_torch.py"), "1", *map(str, words)]} \
        if TORCH else {}


def products():
    shapes = [(s, s, s) for s in (16, 32, 64, 100, 128, 256, 512, 1000, 1024)]
    shapes += [(32, 4096, 1024), (4, 4096, 1024), (8, 256, 256), (128, 10, 784), (1, 4096, 4096)]
    for m, n, k in shapes:
        program = 'input a : [%d, %d]\ninput b : [%d, %d]\noutput c = einsum("ij; jk => ik", a, b)\n' % (m, k, k, n)
        yield "a*b %dx%dx%d" % (m, n, k), program, [], 2.0 * m * n * k, None, gemm_peers("nn", m, n, k)


def linear():
    for m, n, k in ((1, 1000, 1000), (8, 256, 256), (32, 768, 768), (64, 3072, 768), (128, 128, 784), (512, 512, 512)):
        program = "dim n\ninput x : [n | %d]\nparam w : [%d -> %d]\nparam b : [%d]\noutput y = relu(w * x + b)\n" % (
            k, k, n, n)
        peers = dict(torch_peer("linear", m, n, k), **gemm_peers("nt", m, n, k))
        yield "relu(w*x + b) %dx%dx%d" % (m, n, k), program, ["n=%d" % m], 2.0 * m * n * k, None, peers


CONV = """input x : [1 | %(h)d, %(h)d, %(ci)d]
param w : [%(k)d, %(k)d, %(ci)d -> %(co)d]
param b : [%(co)d]
output y = relu(einsum("n | %(s)d*oh =+ kh, %(s)d*ow =+ kw, i; kh, kw, i -> o => n | oh, ow, o", x, w) + b)
"""
DEPTHWISE = """input x : [1 | %(h)d, %(h)d, %(ci)d]
param w : [%(k)d, %(k)d, %(ci)d]
param b : [%(ci)d]
output y = min(relu(einsum("n | %(s)d*oh =+ kh, %(s)d*ow =+ kw, c; kh, kw, c => n | oh, ow, c", x, w) + b), 6)
"""
# Height of the input, channels in and out, kernel, stride: every convolution of ResNet-50 v1.5.
RESNET = ((224, 3, 64, 7, 2), (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1),
          (56, 256, 128, 1, 1), (56, 128, 128, 3, 2), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2), (28, 512, 128, 1, 1),
          (28, 128, 128, 3, 1), (28, 512, 256, 1, 1), (28, 256, 256, 3, 2), (14, 256, 1024, 1, 1),
          (28, 512, 1024, 1, 2), (14, 1024, 256, 1, 1), (14, 256, 256, 3, 1), (14, 1024, 512, 1, 1),
          (14, 512, 512, 3, 2), (7, 512, 2048, 1, 1), (14, 1024, 2048, 1, 2), (7, 2048, 512, 1, 1), (7, 512, 512, 3, 1))
# Height, channels, stride: every depthwise convolution of MobileNetV2.
MOBILENET = ((112, 32, 1), (112, 96, 2), (56, 144, 1), (56, 144, 2), (28, 192, 1), (28, 192, 2), (14, 384, 1),
             (14, 576, 1), (14, 576, 2), (7, 960, 1))


def conv():
    for h, ci, co, k, s in RESNET:
        flops = 2.0 * ((h + s - 1) // s) ** 2 * ci * co * k * k
        yield ("conv %dx%d s%d %d->%d at %d" % (k, k, s, ci, co, h), CONV % locals(), [], flops, None,
               torch_peer("conv", 1, h, h, ci, co, k, s))
    for h, ci, s in MOBILENET:
        k = 3
        flops = 2.0 * ((h + s - 1) // s) ** 2 * ci * k * k
        yield ("depthwise %dx%d s%d %d at %d" % (k, k, s, ci, h), DEPTHWISE % locals(), [], flops, None,
               torch_peer("conv", 1, h, h, ci, ci, k, s, ci))


def rows():
    shape = "input x : [%d | %d]\n"
    programs = {
        "softmax": "import nn\n" + shape + "output y = nn.softmax(x)\n",
        "layernorm": "import nn\n" + shape + "let norm = nn.layer_norm()\noutput y = norm(x)\n",
        "sum": shape + 'output y = sum("... | v => ... | ", x)\n',
    }
    for kind, program in programs.items():
        for m, n in ((1024, 1024), (64, 768)):
            yield "%s %dx%d" % (kind, m, n), program % (m, n), [], None, 8.0 * m * n, torch_peer(kind, m, n)


def elementwise():
    shape = "input x : [%d | %d]\n"
    programs = {
        "gelu": shape + "output y = gelu(x)\n",
        "exp": shape + "output y = exp(x)\n",
        "chain": shape + "input w : [%d]\ninput b : [%d]\ninput r : [%d | %d]\noutput y = gelu(x .* w + b) .* w + r\n",
        "transpose": shape + 'output y = permute("i | j => j | i", x)\n',
    }
    for kind, program in programs.items():
        m, n = 1024, 1024
        text = program % ((m, n, n, n, m, n) if kind == "chain" else (m, n))
        yield "%s %dx%d" % (kind, m, n), text, [], None, (12.0 if kind == "chain" else 8.0) * m * n, torch_peer(
            kind, m, n)


def attention():
    for heads, t, d in ((8, 256, 64), (12, 128, 64)):
        program = """import nn
input q : [%d, %d | %d]
input k : [%d, %d | %d]
input v : [%d, %d | %d]
let scores = einsum("h, s | d; h, t | d => h, s | t", q, k) / sqrt(%d)
output y = einsum("h, s | t; h, t | d => h, s | d", nn.softmax(scores), v)
""" % ((heads, t, d) * 3 + (d,))
        yield "attention %dx%dx%d" % (heads, t, d), program, [], 4.0 * heads * t * t * d, None, torch_peer(
            "attention", heads, t, d)


def measure(case, path):
    name, _, arguments, flops, nbytes, peers = case
    times = {"tsr": []}
    for _ in range(options.rounds):
        times["tsr"].append(ours(path, arguments))
        for peer_name, command in peers.items():
            times.setdefault(peer_name, []).append(peer(command))
    return {k: statistics.median(v) for k, v in times.items() if all(t is not None for t in v)}


def rate(case, ns):
    flops, nbytes = case[3], case[4]
    return flops / ns if flops else nbytes / ns


build_tools()
TORCH = has_torch()


def limits():
    """The best of three: whatever else the machine does can only lower it."""
    runs = [json.loads(output([os.path.join(WORK, "limits")])) for _ in range(3)]
    return {key: max(run[key] for run in runs) for key in runs[0]}


LIMITS = limits()
lines = ["CPU: %s; measured peak %.0f GFLOP/s, DRAM read %.1f GB/s (one thread); %s" % (
    next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine()),
    LIMITS["peak_gflops"], LIMITS["dram_read_gbs"],
    "peers: " + ", ".join([n for n, l in LIBS.items() if have_library(l)] + (["PyTorch"] if TORCH else []))), "",
    "| case | unit | tsr | best peer | ratio | of the peak |", "|---|---|---|---|---|---|"]
print("\n".join(lines), flush=True)
for suite in options.suite.split(","):
    ratios = []
    for number, case in enumerate({"products": products, "linear": linear, "conv": conv, "rows": rows,
                                   "elementwise": elementwise, "attention": attention}[suite]()):
        times = measure(case, module("%s_%d" % (suite, number), case[1]))
        if "tsr" not in times:
            line = "| %s | | failed | | | |" % case[0]
        else:
            best = min(((t, n) for n, t in times.items() if n != "tsr"), default=None)
            ratio = best[0] / times["tsr"] if best else None
            if ratio:
                ratios.append(ratio)
            mine = rate(case, times["tsr"])
            line = "| %s | %s | %.1f | %s | %s | %s |" % (
                case[0], "GFLOP/s" if case[3] else "GB/s", mine,
                "%.1f %s" % (rate(case, best[0]), best[1]) if best else "-", "%.2f" % ratio if ratio else "-",
                "%.0f %%" % (100 * mine / LIMITS["peak_gflops"]) if case[3] else "")
        lines.append(line)
        print(line, flush=True)
    if ratios:
        lines.append("| **%s**, geometric mean / worst | | | | %.2f / %.2f | |" % (
            suite, statistics.geometric_mean(ratios), min(ratios)))
        print(lines[-1], flush=True)
with open(os.path.join(BUILD, "bench.md"), "w", encoding="utf8") as out:
    out.write("\n".join(lines) + "\n")
