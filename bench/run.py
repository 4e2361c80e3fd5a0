"""What tsrc emits against what one would use instead.

    bench/run.py [--suite NAMES] [--case TEXT] [--threads 1,2] [--rounds N] [--peers NAMES] [--peer-python PATH]
                 [--attempts N] [--march NAME] [--build DIR] [--work DIR]

Every contestant runs in a process of its own, in turn, for several rounds; the median of the rounds counts, and
the ratio to the best peer of the same run is what to quote: machines are noisy. A run beside which a CPU was away is
repeated, and `~` marks a rate whose every run was disturbed. Peers that are not installed are named, peers that fail
are in the table as failed, with the reason in WORK/peers.log. Writes one table, with four columns a number of threads,
to standard output and to WORK.md."""
import argparse
import array
import math
import os
import platform
import random
import shlex
import statistics
import struct
import subprocess
import sys
import time

import compile as compilation
import contestants
import ends
import machine
import models
import programs
import readable
import suites

HERE = os.path.dirname(os.path.abspath(__file__))
ALONE = {"ends": ends.rows, "compilation": compilation.rows, "readable": readable.rows}  # without peers
SUITES = {**suites.OPERATIONS, **suites.READING, **models.SUITES, **ALONE}

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--suite", default=",".join(SUITES), help="of " + ", ".join(SUITES))
options.add_argument("--case", default="", help="only those whose names have this in them")
options.add_argument("--rounds", type=int, default=1)
options.add_argument("--threads", default="1,2" if machine.CPUS > 1 else "1")
options.add_argument("--attempts", type=int, default=5, help="at a run that is not disturbed; 1: each counts")
options.add_argument("--peers", default="", help="names, such as OpenBLAS,PyTorch; all that are installed")
options.add_argument("--peer-python", help="of PyTorch, NumPy and ONNX Runtime; that of make bench-peers, or this one")
options.add_argument("--march", default="native", choices=["native", *machine.NARROWER],
                     help="narrower instructions than the processor's, for tsrc and for the peers that can be told")
options.add_argument("--build", default=os.path.join(HERE, "..", "build"))
options.add_argument("--work", help="a directory; BUILD/bench")
options = options.parse_args()
BUILD = os.path.abspath(options.build)
WORK = os.path.abspath(options.work or os.path.join(BUILD, "bench"))
COUNTS = [int(threads) for threads in options.threads.split(",")]


def compiled(name, case):
    if isinstance(case, models.ModelCase):
        return case.module(BUILD, WORK, NUMPY, options.march)
    stem = os.path.join(WORK, name)
    with open(stem + ".tsr", "w", encoding="utf8") as out:
        out.write(case.program)
    words = ["-march=" + options.march, stem + ".tsr", "-o", stem + ".so"]
    subprocess.run([os.path.join(BUILD, "tsrc"), *words], check=True)
    return [stem + ".so", *case.arguments, *(indices(stem, name, text) for name, text in case.indices.items())]


def indices(stem, name, text):
    """NAME=FILE of whole numbers, in the .npy format, which needs no NumPy"""
    shape, below, in_order = programs.parsed(text)
    path, n = "%s_%s.npy" % (stem, name), math.prod(shape)
    if not os.path.exists(path):
        words = array.array("I", random.Random(name).randbytes(4 * n))
        numbers = [word * below >> 32 for word in words]
        head = "{'descr': '<i4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
        head = head.ljust(117) + "\n"
        with open(path, "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            array.array("i", sorted(numbers) if in_order else numbers).tofile(out)
    return "%s=%s" % (name, path)


class Measured:
    """Of one case on one number of threads: median times by contestant, None where one failed, and those of each round;
    whose runs were all disturbed; and the share of the limit, where there is one"""

    def __init__(self, name, case, threads):
        tsr = [os.path.join(BUILD, "tsr"), "bench", "--json", "--threads=%d" % threads, *compiled(name, case)]
        commands = {"tsr": tsr, **PEERS.commands(case, threads)}
        self.rounds, self.disturbed = {who: [] for who in commands}, set()
        for _ in range(max(options.rounds, case.rounds)):
            for who, command in commands.items():
                ns, whole = HOST.undisturbed(threads, lambda: PEERS.median_ns(command, threads))
                self.rounds[who].append(ns)
                self.disturbed |= set() if whole else {who}
        self.times = {who: None if None in ns else statistics.median(ns) for who, ns in self.rounds.items()}
        self.share = self.of_limit(case, threads) if self.times["tsr"] else None

    def of_limit(self, case, threads):
        """A model that waits for memory is measured in turn with it, as memory serves other machines as well"""
        if case.nbytes and isinstance(case, models.ModelCase):
            tool = HOST.compiled_beside()
            return HOST.undisturbed(threads, lambda: HOST.share_of_memory(tool, threads, case))[0]
        limit = None
        if case.flops:
            limit = HOST.peaks[threads] if case.bounded else None
        elif case.nbytes:
            limit = HOST.known_bandwidth(threads, case.nbytes)
        return (case.flops or case.nbytes) / self.times["tsr"] / limit if limit else None

    def rate(self, case, who):
        """With its mark; the time itself of a case without a measure of work"""
        if self.times[who] is None:
            return "failed"
        work = case.flops or case.nbytes
        return ("~" if who in self.disturbed else "") + "%.1f" % (
            work / self.times[who] if work else self.times[who])

    def cells(self, case):
        """What the table shows, the fastest peer first, and the ratio to it, round by round"""
        mine = self.times["tsr"]
        peers = sorted((who for who in self.times if who != "tsr"), key=lambda who: self.times[who] or float("inf"))
        shown = ", ".join("%s %s" % (who, self.rate(case, who)) for who in peers) or "-"
        share = "%.0f %%" % (100 * self.share) if self.share else ""
        if mine is None or not peers or self.times[peers[0]] is None:
            return [self.rate(case, "tsr"), shown, "-", share], None
        ratio = statistics.median(
            theirs / ours for theirs, ours in zip(self.rounds[peers[0]], self.rounds["tsr"]))
        return [self.rate(case, "tsr"), shown, "%.2f" % ratio, share], ratio


def line(words):
    return "| " + " | ".join(words) + " |"


def head(say):
    """Where, when and how, then the first lines of the table"""
    cpu = machine.CPUINFO.get("model name", platform.machine())
    cpus = "%d CPU%s" % (machine.CPUS, "" if machine.CPUS == 1 else "s")
    say("%s, %s, %s; %s" % (time.strftime("%Y-%m-%d"), cpu, cpus, PEERS.shown()))
    say("command: " + shlex.join(["python3", os.path.relpath(sys.argv[0]), *sys.argv[1:]]))
    for threads in COUNTS:
        say("%d thread%s: measured peak %.0f GFLOP/s, memory %.1f GB/s" % (
            threads, "" if threads == 1 else "s", HOST.peak(threads), HOST.known_bandwidth(threads, 256 << 20)))
    names = ["tsr", "peers", "ratio", "of the limit"]
    words = ["case", "unit"] + [name if i == 0 else "%s, %d" % (name, threads)
                                for i, threads in enumerate(COUNTS) for name in names]
    say("\n%s\n%s" % (line(words), "|---" * len(words) + "|"))


def summary(suite, ratios):
    words = ["**%s**, geometric mean / worst" % suite, ""]
    for of_threads in ratios:
        words += ["", "", "%.2f / %.2f" % (statistics.geometric_mean(of_threads), min(of_threads)), ""]
    return line(words)


def rows(suite, say):
    """One a case; the ratios by number of threads"""
    for threads in COUNTS:
        HOST.peak(threads)
    ratios = [[] for _ in COUNTS]
    for number, case in enumerate(SUITES[suite]()):
        if options.case not in case.name:
            continue
        words = [case.name, "GFLOP/s" if case.flops else "GB/s" if case.nbytes else "ns"]
        for threads, of_threads in zip(COUNTS, ratios):
            shown, ratio = Measured("%s_%d" % (suite, number), case, threads).cells(case)
            words += shown
            of_threads += [ratio] if ratio else []
        say(line(words))
    return ratios


def table(say):
    head(say)
    for suite in options.suite.split(","):
        if suite in ALONE:
            for name, unit, value in ALONE[suite](BUILD):
                say(line([name, unit, value, *[""] * (4 * len(COUNTS) - 1)]))
            continue
        ratios = rows(suite, say)
        if all(ratios):
            say(summary(suite, ratios))


PYTHON = options.peer_python or contestants.default_python(BUILD)
NUMPY = contestants.with_numpy(sys.executable, PYTHON)
if not NUMPY and models.SUITES.keys() & options.suite.split(","):
    sys.exit("run.py: the weights of models are made with NumPy, which is not there for %s: apt-get install "
             "python3-numpy, or make bench-peers" % " or ".join(dict.fromkeys((sys.executable, PYTHON))))
os.makedirs(WORK, exist_ok=True)
HOST = machine.Machine(BUILD, WORK, options.attempts, options.march)
PEERS = contestants.Contestants(WORK, PYTHON, [name for name in options.peers.split(",") if name], options.march)
with open(WORK + ".md", "w", encoding="utf8") as out:
    def write(text):
        print(text, flush=True)
        out.write(text + "\n")
        out.flush()
    table(write)
PEERS.close()
