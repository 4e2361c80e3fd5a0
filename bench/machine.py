"""The machine that contestants run on: its limits, whether all of its CPUs are there, and the settings at which the
peers know its instructions.

The host of a virtual machine may take a CPU away for seconds. So each run of each contestant counts only where a short
spin on the CPUs, of which a run may take any, took its usual time before and after it; otherwise it is repeated, and
what is disturbed every time is marked."""
import json
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CPUS = len(os.sched_getaffinity(0))
WAITS, SLOWER, SPINS_MOST = 40, 1.25, 8
# Instructions, and the kernels for them: also on processors that these libraries do not know
KERNELS = {"avx512bw": ("SkylakeX", "skx", "avx512"), "avx2": ("Haswell", "haswell", "avx2")}
NARROWER = {"x86-64-v3": "avx2"}  # than the processor's own: what --march asks of tsrc, of GCC and of the peers
LIBTSR_NEEDS = ("-ljansson", "-lxxhash", "-lzip", "-lpthread", "-ldl", "-lm")
LIBRARIES = ("OPENBLAS_", "BLIS_", "MKL_", "OMP_", "GOMP_", "KMP_", "DNNL_", "ONEDNN_", "ATEN_", "TORCH")
with open("/proc/cpuinfo", encoding="utf8") as info:
    CPUINFO = dict((part.strip() for part in line.split(":", 1)) for line in info if ":" in line)


def environment(threads, march, **others):
    """Of every contestant; what the caller's environment sets of the libraries is left out"""
    flags = [NARROWER[march]] if march in NARROWER else CPUINFO.get("flags", "").split()
    kernels = next((found for flag, found in KERNELS.items() if flag in flags), ())
    if march in NARROWER:
        others = {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", **others}
    names = ("OPENBLAS_CORETYPE", "BLIS_ARCH_TYPE", "ATEN_CPU_CAPABILITY")
    counts = {name + "_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "BLIS", "MKL")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LIBRARIES)}
    return {**kept, **dict(zip(names, kernels)), "TORCHINDUCTOR_FREEZING": "1", **others, **counts}


class Machine:
    def __init__(self, build, work, attempts, march="native"):
        """`attempts` at an undisturbed run; 1 takes each run as it is"""
        self.build, self.work, self.attempts, self.tool = build, work, attempts, os.path.join(work, "limits")
        subprocess.run(["gcc", "-O2", "-march=" + march, "-o", self.tool, os.path.join(HERE, "limits.c"), "-lpthread"],
                       check=True)
        self.spins, self.rates, self.peaks = {}, {}, {}

    def measured(self, threads, *words):
        text = subprocess.run([self.tool, str(threads), *map(str, words)], check=True, capture_output=True, text=True)
        return json.loads(text.stdout)

    def peak(self, threads):
        """GFLOP/s; the best so far, as whatever else the machine does can only lower it"""
        for _ in range(min(3, self.attempts)):
            rate = self.undisturbed(threads, lambda: self.measured(threads, "peak")["gflops"])[0]
            self.peaks[threads] = max(rate, self.peaks.get(threads, 0))
        return self.peaks[threads]

    def bandwidth(self, threads, nbytes):
        """GB/s of as many bytes: of the cache that holds them, or of memory"""
        return max(self.measured(threads, "memory", int(nbytes))["gbs"] for _ in range(min(2, self.attempts)))

    def compiled_beside(self):
        tool, root = os.path.join(self.work, "beside"), os.path.join(HERE, "..")
        subprocess.run(["gcc", "-O2", "-march=native", "-I", root, "-o", tool, os.path.join(HERE, "beside.c"),
                        os.path.join(self.build, "libtsr.a"), *LIBTSR_NEEDS], check=True)
        return tool

    @staticmethod
    def share_of_memory(tool, threads, case):
        """Of what memory delivers, by a model that waits for it, measured in turn (beside.c)"""
        dims = [word for word in case.arguments if "=" in word]
        words = [tool, str(threads), str(int(case.nbytes)), case.artefact, case.routine, *dims]
        times = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        return times["read_ns"] / times["routine_ns"]

    def known_bandwidth(self, threads, nbytes):
        """The same, measured once"""
        key = threads, int(nbytes)
        if key not in self.rates:
            self.rates[key] = self.bandwidth(*key)
        return self.rates[key]

    def whole(self, threads):
        """Whether the CPUs are there, of which a run may take any; the least spin so far is the usual one"""
        threads = max(threads, min(CPUS, SPINS_MOST))
        if threads not in self.spins:
            self.spins[threads] = min(self.measured(threads, "spin")["ns"] for _ in range(10))
        ns = self.measured(threads, "spin")["ns"]
        self.spins[threads] = min(ns, self.spins[threads])
        return ns <= SLOWER * self.spins[threads]

    def undisturbed(self, threads, run):
        """What run() returns, and whether the CPUs were there for some attempt; None at once"""
        if self.attempts == 1:
            return run(), True
        for _ in range(self.attempts):
            for _ in range(WAITS):
                if self.whole(threads):
                    break
                time.sleep(0.25)
            result = run()
            if result is None or self.whole(threads):
                return result, True
        return result, False
