"""What tsrc emits against what one would use instead.

    bench/run.py [--suite NAMES] [--threads 1,2] [--rounds N] [--build DIR] [--peer-python PATH]

Every contestant runs in a process of its own, in turn, for several rounds; the median of the rounds counts, and
the ratio to the best peer of the same run is what to quote: machines are noisy. Peers that are not installed are left
out and named. PyTorch, NumPy and ONNX Runtime are those of --peer-python. Writes one table, with four columns a number
of threads, to standard output and to BUILD/bench.md."""
import argparse
import ctypes
import json
import os
import platform
import statistics
import subprocess

import models
import suites

HERE = os.path.dirname(os.path.abspath(__file__))
LIBS = {"OpenBLAS": "libopenblas.so.0", "BLIS": "libblis.so.4", "oneDNN": "libdnnl.so.2"}
SUITES = {**suites.OPERATIONS, **models.SUITES}
with open("/proc/cpuinfo", encoding="utf8") as info:
    CPUINFO = info.read()
# OpenBLAS and BLIS take older kernels on a processor that they do not know
CORES = {"avx512bw": ("SkylakeX", "skx"), "avx2": ("Haswell", "haswell")}
CORE = next((["OPENBLAS_CORETYPE=" + openblas, "BLIS_ARCH_TYPE=" + blis]
             for flag, (openblas, blis) in CORES.items() if flag in CPUINFO), [])

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--suite", default=",".join(SUITES), help="of " + ", ".join(SUITES))
options.add_argument("--rounds", type=int, default=3)
options.add_argument("--threads", default="1")
options.add_argument("--build", default=os.path.join(HERE, "..", "build"))
options.add_argument("--peer-python", default="/usr/bin/python3")
options = options.parse_args()
BUILD = os.path.abspath(options.build)
WORK = os.path.join(BUILD, "bench")


def output(command, threads=1):
    names = ("OMP", "OPENBLAS", "BLIS", "MKL")
    env = dict(os.environ, **{name + "_NUM_THREADS": str(threads) for name in names})
    run = subprocess.run(command, capture_output=True, text=True, env=env)
    return run.stdout if run.returncode == 0 else None


def build_tools():
    os.makedirs(WORK, exist_ok=True)
    for name in ("limits", "peer_gemm", "peer_narrow"):
        subprocess.run(["gcc", "-O2", "-march=native", "-o", os.path.join(WORK, name),
                        os.path.join(HERE, name + ".c"), "-ldl", "-lpthread"], check=True)


def has_library(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def versions():
    """By name, of what is installed"""
    found = {name: "" for name, library in LIBS.items() if has_library(library)}
    for name, package in (("PyTorch", "torch"), ("NumPy", "numpy"), ("ONNX Runtime", "onnxruntime")):
        text = output([options.peer_python, "-c", "import %s; print(%s.__version__)" % (package, package)])
        if text:
            found[name] = text.strip()
    return found


def peer_commands(case, threads):
    """What to run, by the peer's name"""
    names = {"torch": "PyTorch", "numpy": "NumPy", "onnx": "ONNX Runtime"}
    commands = {}
    for kind, *words in case.peers:
        words = [str(word) for word in words]
        script = os.path.join(HERE, "peer_%s.py" % kind)
        if kind == "gemm":
            for name, library in LIBS.items():
                commands[name] = ["env", *CORE, os.path.join(WORK, "peer_gemm"), library, *words]
        elif kind == "narrow":
            commands["oneDNN"] = [os.path.join(WORK, "peer_narrow"), *words]
        elif kind in ("model", "program"):
            commands[words[0]] = [options.peer_python, script, str(threads), *words[1:]]
        else:
            commands[names[kind]] = [options.peer_python, script, str(threads), *words]
    return {name: command for name, command in commands.items() if name.split(",")[0] in VERSIONS}


def compiled(name, case):
    stem = os.path.join(WORK, name)
    with open(stem + ".tsr", "w", encoding="utf8") as out:
        out.write(case.program)
    subprocess.run([os.path.join(BUILD, "tsrc"), stem + ".tsr", "-o", stem + ".so"], check=True)
    return [stem + ".so", *case.arguments]


def median_ns(command, threads):
    text = output(command, threads)
    return json.loads(text)["median_ns"] if text else None


def bandwidth(threads):
    return json.loads(output([os.path.join(WORK, "limits"), str(threads), "dram"]))["dram_read_gbs"]


def measure(name, case, threads, limit):
    """Median times by contestant, one that failed once is left out; and the limit: memory serves other machines as
    well, so for a model that waits for it its bandwidth is measured beside the contestants"""
    words = case.module(BUILD, WORK) if isinstance(case, models.ModelCase) else compiled(name, case)
    commands = {"tsr": [os.path.join(BUILD, "tsr"), "bench", "--json", "--threads=%d" % threads, *words],
                **peer_commands(case, threads)}
    times, rates = {who: [] for who in commands}, []
    for _ in range(options.rounds):
        for who, command in commands.items():
            times[who].append(median_ns(command, threads))
            if who == "tsr" and case.nbytes and isinstance(case, models.ModelCase):
                rates.append(bandwidth(threads))
    if rates:
        limit = {**limit, "dram_read_gbs": statistics.median(rates)}
    return {who: statistics.median(list(ns)) for who, ns in times.items() if None not in ns}, limit


def limits(threads):
    """The best of three: whatever else the machine does can only lower it."""
    runs = [json.loads(output([os.path.join(WORK, "limits"), str(threads)])) for _ in range(3)]
    return {key: max(run[key] for run in runs) for key in runs[0]}


def cells(case, times, limit):
    """What one number of threads shows of a case, and the ratio to the best peer"""
    if "tsr" not in times:
        return ["failed", "", "", ""], None
    best = min(((ns, who) for who, ns in times.items() if who != "tsr"), default=None)
    work, most = (case.flops, limit["peak_gflops"]) if case.flops else (case.nbytes, limit["dram_read_gbs"])
    mine, ratio = work / times["tsr"], best[0] / times["tsr"] if best else None
    share = "%.0f %%" % (100 * mine / most) if case.flops or isinstance(case, models.ModelCase) else ""
    peer = "%.1f %s" % (work / best[0], best[1]) if best else "-"
    return ["%.1f" % mine, peer, "%.2f" % ratio if ratio else "-", share], ratio


def line(words):
    return "| " + " | ".join(words) + " |"


def head(counts, found, say):
    for threads in counts:
        say("%d thread%s: measured peak %.0f GFLOP/s, DRAM read %.1f GB/s" % (
            threads, "" if threads == 1 else "s", found[threads]["peak_gflops"], found[threads]["dram_read_gbs"]))
    names = ["tsr", "best peer", "ratio", "of the limit"]
    words = ["case", "unit"] + [name if i == 0 else "%s, %d" % (name, threads)
                                for i, threads in enumerate(counts) for name in names]
    say("\n%s\n%s" % (line(words), "|---" * len(words) + "|"))


def summary(suite, ratios):
    words = ["**%s**, geometric mean / worst" % suite, ""]
    for of_threads in ratios:
        words += ["", "", "%.2f / %.2f" % (statistics.geometric_mean(of_threads), min(of_threads)), ""]
    return line(words)


def table(counts, say):
    found = {threads: limits(threads) for threads in counts}
    head(counts, found, say)
    for suite in options.suite.split(","):
        ratios = [[] for _ in counts]
        for number, case in enumerate(SUITES[suite]()):
            words = [case.name, "GFLOP/s" if case.flops else "GB/s"]
            for threads, of_threads in zip(counts, ratios):
                name = "%s_%d" % (suite, number)
                shown, ratio = cells(case, *measure(name, case, threads, found[threads]))
                words += shown
                of_threads += [ratio] if ratio else []
            say(line(words))
        if all(ratios):
            say(summary(suite, ratios))


build_tools()
VERSIONS = versions()
CPU = next((line.split(":")[1].strip() for line in CPUINFO.split("\n") if line.startswith("model name")),
           platform.machine())
with open(os.path.join(BUILD, "bench.md"), "w", encoding="utf8") as out:
    def write(text):
        print(text, flush=True)
        out.write(text + "\n")
        out.flush()
    write("CPU: %s; peers: %s" % (CPU, ", ".join((n + " " + v).strip() for n, v in VERSIONS.items())))
    table([int(threads) for threads in options.threads.split(",")], write)
