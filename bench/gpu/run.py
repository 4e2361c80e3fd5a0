"""Code for a GPU on a GPU: run.py [--build build] [--out FILE] [--limit SECONDS] [--rehearse] [--only conformance|tables] [--case WORD]

Conformance first: the tests of numbers over the real driver, and every program of test/lit/numbers and examples/ against the
code for a CPU; then the tables, beside PyTorch. Everything is written to FILE (build/bench-gpu.txt) as it becomes known, and
all of it ends within the limit, 460 seconds. What fails or hangs costs its own part alone: each is a process, and tables go on
in a new one behind the case that spoiled it. --rehearse: without a GPU, over the emulator, small arrays.
"""
import argparse
import concurrent.futures
import datetime
import glob
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NUMBERS = os.path.join(ROOT, "test", "lit", "numbers")
SCRIPTS = (("cases.py",), ("indexing.py", "1", "2"), ("random_affine.py", "3", "10"), ("sort.py", "3", "1", "40"))
SILENT = 90.0  # seconds without a line from the tables: the case hangs


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--out")
    parser.add_argument("--limit", type=float, default=460.0)
    parser.add_argument("--only", choices=("conformance", "tables"))
    parser.add_argument("--case", default="")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--programs", nargs="*", help="of the conformance, in place of all")
    return parser.parse_args()


class Report:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf8")

    def line(self, text=""):
        print(text, flush=True)
        self.file.write(text + "\n")
        self.file.flush()


class Run:
    def __init__(self, options):
        self.options, self.until = options, time.monotonic() + options.limit
        self.build = os.path.abspath(options.build)
        self.report = Report(options.out or os.path.join(self.build, "bench-gpu.txt"))
        self.scratch = tempfile.TemporaryDirectory(prefix="bench-gpu")
        self.env = {**os.environ, "TSRC": os.path.join(self.build, "tsrc"), "TSR_LIBRARY": os.path.join(self.build, "libtsr.so"),
                    "LD_LIBRARY_PATH": self.libraries(), "PYTHONPATH": os.pathsep.join(
                        [os.path.join(ROOT, "python"), *filter(None, [os.environ.get("PYTHONPATH")])])}
        if options.rehearse:
            self.env["TSR_LIBCUDA"] = os.path.join(self.build, "test", "libcuda_emu.so")
        self.wrong = 0

    def libraries(self):
        """Modules for a GPU look for libtsr.so.0."""
        os.symlink(os.path.join(self.build, "libtsr.so"), os.path.join(self.scratch.name, "libtsr.so.0"))
        return os.pathsep.join([self.scratch.name, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])

    def left(self):
        return self.until - time.monotonic()

    # ---- what there is ----

    def tell(self, name, words):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=self.env)
            text = (done.stdout or done.stderr).strip().split("\n")[0]
        except (OSError, subprocess.TimeoutExpired) as error:
            text = "none: %s" % error
        self.report.line("%-10s %s" % (name, text))

    def head(self):
        self.report.line("code for a GPU, %s" % datetime.datetime.now().strftime("%Y-%m-%d %H:%M"))
        self.tell("tsr", [self.env["TSRC"], "--version"])
        self.tell("device", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
        self.tell("PyTorch", [sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda, "
                                                    "'with a device' if torch.cuda.is_available() else 'without a device')"])

    def has_torch(self):
        words = "import sys, torch; sys.exit(not (%s or torch.cuda.is_available()))" % self.options.rehearse
        done = subprocess.run([sys.executable, "-c", words], capture_output=True, env=self.env, timeout=120)
        return done.returncode == 0

    # ---- conformance ----

    def child(self, name, words, env, seconds):
        """(name, status or None where it was ended, its lines)."""
        out = open(os.path.join(self.scratch.name, name), "w+", encoding="utf8")
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True)
        try:
            status = process.wait(max(seconds, 1))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        out.seek(0)
        return name, status, out.read().strip().split("\n")

    def programs(self):
        if self.options.programs is not None:
            return self.options.programs
        found = glob.glob(NUMBERS + "/*.tsr") + glob.glob(ROOT + "/examples/*.tsr") + glob.glob(ROOT + "/examples/models/*.tsr")
        return sorted(found)

    def conformance_work(self):
        """(name, words, environment), the longest first."""
        scripts = {**self.env, "OPTIONS": "--target=cuda", "GPU_SO": "1"}
        for words in SCRIPTS if self.options.programs is None else ():
            yield words[0], [sys.executable, os.path.join(NUMBERS, "Inputs", words[0]), *words[1:]], scripts
        for i, program in enumerate(self.programs()):
            folder = os.path.join(self.scratch.name, "folder%d" % i)
            os.mkdir(folder)
            yield "programs%d" % i, [sys.executable, os.path.join(HERE, "conformance.py"), self.env["TSRC"], folder, program], self.env

    def conformance(self):
        self.report.line("\nConformance: numbers of tests over the driver; programs against the code for a CPU")
        start, until = time.monotonic(), time.monotonic() + min(self.left(), self.options.limit * 0.4)
        at_a_time = min(6, os.cpu_count() or 1)
        counts = {"agree": 0, "other": 0, "wrong": 0}
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
            jobs = [pool.submit(lambda w=work: self.child(*w, until - time.monotonic())) for work in self.conformance_work()]
            for job in concurrent.futures.as_completed(jobs):
                self.tell_conformance(*job.result(), counts)
        self.report.line("%d agree, %d left out, %d wrong; %.0f s" % (*counts.values(), time.monotonic() - start))
        self.wrong += counts["wrong"]

    def tell_conformance(self, name, status, lines, counts):
        program = name.startswith("programs")
        line = lines[-2] if program and len(lines) > 1 else "%-28s %s" % (name, lines[-1])
        if status == 0 and (not program or line.endswith(" agrees")):
            counts["agree"] += 1
        elif status == 0:
            counts["other"] += 1
        else:
            counts["wrong"] += 1
            line = line if program and "WRONG" in line else "%-28s WRONG: %s" % (name, "no end in its time" if status is None
                                                                                 else lines[-1][:200])
        self.report.line(line)

    # ---- tables ----

    def worker(self, start):
        words = [sys.executable, os.path.join(HERE, "tables.py"), self.scratch.name, self.build, str(start),
                 "%.0f" % max(self.left() - 15, 1), "--case=" + self.options.case]
        words += ["--rehearse"] * self.options.rehearse
        errors = open(os.path.join(self.scratch.name, "errors"), "w+", encoding="utf8")
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=self.env, start_new_session=True)
        lines = queue.Queue()

        def read():
            for line in process.stdout:
                lines.put(line.rstrip("\n"))
            lines.put(None)
        threading.Thread(target=read, daemon=True).start()
        return process, lines, errors

    def follow(self, start):
        """Lines of a process of tables. The number of the case to go on with; None: it is at its end."""
        process, lines, errors = self.worker(start)
        case, name, told = start - 1, "the start", True
        while True:
            try:
                line = lines.get(timeout=max(min(SILENT, self.left()), 0.1))
            except queue.Empty:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self.report.line("%-40s failed: no end in its time" % name)
                self.wrong += 1
                return case + 1 if self.left() > 30 else None
            if line is None:
                break
            if line.startswith("@ "):
                case, name, told = int(line.split(" ")[1]), line.split(" ", 2)[2], False
                continue
            told = True
            self.wrong += " WRONG" in line or " failed: " in line
            self.report.line(line)
        status = process.wait()
        if status == 0:
            return None
        if not told or case < start:
            errors.seek(0)
            self.wrong += 1
            self.report.line("%-40s failed: status %d: %s" % (name, status, errors.read().strip().split("\n")[-1][:160]))
        return case + 1 if case >= start and self.left() > 30 else None

    def tables(self):
        self.report.line("\nTables: contestants alternate in one process; of tensor cores there are convolutions of bf16 alone")
        if not self.has_torch():
            self.report.line("tables are left out: %s has no PyTorch with a device" % sys.executable)
            return
        start = 0
        while start is not None:
            start = self.follow(start)


def main():
    options = arguments()
    run = Run(options)
    run.head()
    for name in ("conformance", "tables"):
        if options.only in (None, name):
            try:
                getattr(run, name)()
            except Exception as error:  # what is known is written
                run.report.line("%s failed: %r" % (name, error))
                run.wrong += 1
    run.report.line("\n%d wrong or failed; %.0f s" % (run.wrong, options.limit - run.left()))
    sys.exit(run.wrong > 0)


main()
