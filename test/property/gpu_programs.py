"""Random programs on a GPU against NumPy: SEED COUNT [host].

Each is compiled for one GPU or another, as it is or with its dims fixed, and its kernels run on this CPU (check_models.py: with NaN in
what is not written, chunks backward, two callers, rows alone, all with the same bits), and as PTX in the emulator of the driver library
that EMULATOR names, in one order of threads, blocks and copies or another, each buffer an allocation of its own; `host`: without PTX.
Every fourth is compared with the reference by the interpreter of loops, too."""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "emulator", "Inputs"))
import check_models as check  # noqa: E402
import driver  # noqa: E402
import gpu_forms  # noqa: E402
import model_forms  # noqa: E402
from models import RUNS, Model, axes, shape  # noqa: E402
from schedules import refuses  # noqa: E402
from tsrlib import DTYPES, TSRC, from_bf16  # noqa: E402

GPUS = {"sm_80": "8.0", "sm_90": "9.0", "sm_90a": "9.0", "sm_100": "10.0", "sm_120": "12.0"}
OPTIONS = ["--no-prepack", "--fp=strict", "--f32-matmul=3xtf32", "--policy=none"]
FORMS = {**model_forms.FORMS, **gpu_forms.FORMS}
SECONDS = 150


class Program(Model):
    """A model with more dims, for each of which kernels are chosen as of 1024, and more elements of 16 bits."""

    def axis(self, small=False):
        more = self.dims and not self.rows and self.chance(0.2 if small else 0.35)
        return self.rng.choice(list(self.dims.values())) if more else super().axis(small)

    def leaf(self, rows, dtype=None, param=None):
        return super().leaf(rows, dtype or self.rng.choice(["bf16", "f16", None, None, None]), param)


class Emulated:
    """A model's PTX over the emulator."""

    def __init__(self, path, model, most):
        self.ptx, self.model = driver.Ptx(path, driver.Driver(os.environ["EMULATOR"])), model
        self.ptx.most = most  # blocks of a grid
        self.tensors = {t.text: t for t in model.inputs + model.params + model.outputs}

    def state(self, names):
        """The parameters' bytes, where they have places."""
        params = [b for b in self.ptx.plan.shared if b.kind == "param"]
        ends = [driver.size_of(b.at, names) + driver.bytes_of(b, names) for b in params]
        state = np.full(max(ends, default=0), 0xff, np.uint8)
        for b in params:
            data, at = check.stored(self.tensors[b.name], 0).reshape(-1).view(np.uint8), driver.size_of(b.at, names)
            state[at:at + data.size] = data
        return state if params else None

    def run(self, run):
        plan = self.ptx.plan.routines["forward"]
        names = {name: axis.sizes[run] for name, axis in self.model.dims.items()}
        results = [self.tensors[b.name] for b in plan.buffers if b.kind == "out"]
        inputs = [check.stored(self.tensors[b.name], run) for b in plan.buffers if b.kind == "in"]
        sizes = [shape(axes(t), run) for t in results]
        outputs = [(size, DTYPES[t.dtype]) for t, size in zip(results, sizes)]
        got = self.ptx.forward([names[d] for d in plan.dims], inputs, outputs, self.state(names))
        for tensor, array, size in zip(results, got, sizes):
            array = (from_bf16(array) if tensor.dtype == "bf16" else array).astype(float).reshape(size)
            check.compare(tensor, tensor.values[run], array)


def emulate(path, model, runs, gpu, order, most):
    """What is wrong with the PTX; it runs in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        os.environ.update(TSR_EMU_SCHEDULE=order, TSR_EMU_CC=GPUS[gpu])
        told = ""
        try:
            emulated = Emulated(path, model, most)
            for run in runs:
                told = "run %d of dims " % run
                emulated.run(run)
            told = ""
        except BaseException as wrong:  # the child must not go on as its parent
            told += "%s %s" % (type(wrong).__name__, wrong)
        with os.fdopen(writing, "w") as say:
            say.write(told)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as heard:
        told = heard.read()
    status = os.waitpid(child, 0)[1]
    return "signal %d" % status if status else told or None


def on_host(folder, model, runs, options):
    text, made = os.path.join(folder, "m.cu"), os.path.join(folder, "m.so")
    return check.command(TSRC, os.path.join(folder, "m.tsr"), "-o", text, *options) or check.command(
        "cc", "-std=c99", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", made, "-x", "c",
        text, "-lm") or check.in_child(made, model, runs)


def changed(rng, schedule):
    """The schedule with other numbers, or without some of its words."""
    lines = []
    for line in schedule.splitlines():
        name, _, rest = line.partition(":")
        clauses = [clause.strip() for clause in rest.split(";") if clause.strip()]
        for i, clause in enumerate(clauses):
            draw = rng.random()
            if draw < 0.4:
                clauses[i] = re.sub(r"\b(?<!-)\d+\b", lambda n: str(rng.choice([n[0], n[0], 1, 2, 4, 8, 16, 32, 64, 128, 256])), clause)
            elif draw < 0.55:
                clauses[i] = clause.split(" ")[0] + " off"
        if clauses and not line.startswith("#"):
            lines.append("%s: %s" % (name, "; ".join(clauses)))
    return "\n".join(lines) + "\n"


def scheduled(rng, source, options):
    """The option that asks for a changed schedule; none where that is refused, which has a code."""
    dump = subprocess.run([TSRC, *options, "--dump=schedule", "--stop=schedule", source], capture_output=True, text=True)
    path = source[:-4] + ".sched"
    for _ in range(3):
        text = changed(rng, dump.stdout)
        with open(path, "w", encoding="utf8") as out:
            out.write(text)
        tried = subprocess.run([TSRC, *options, "--schedule=" + path, source, "-o", path + ".cu"], capture_output=True, text=True)
        if tried.returncode == 0:
            return ["--schedule=" + path], text
        if not refuses("status %d\n%s" % (tried.returncode, tried.stderr)):
            return ["--schedule=" + path], text + tried.stderr
    return [], ""


def wrong_model(trial, folder, host):
    """The model, how it was compiled, and what is wrong with it, or None."""
    model, rng = Program(trial, FORMS), random.Random(trial)
    gpu, runs = rng.choice(list(GPUS)), list(range(RUNS if model.dims else 1))
    options = ["--target=cuda:" + gpu] + ([rng.choice(OPTIONS)] if rng.random() < 0.3 else [])
    order, most = rng.choice(["forward", "reverse", "random:%d" % trial]), rng.choice([2, 7, 1 << 16])
    if model.dims and rng.random() < 0.3:
        runs = [rng.choice(runs)]
        options += ["-D%s=%d" % (name, axis.sizes[runs[0]]) for name, axis in model.dims.items()]
    source, ptx = os.path.join(folder, "m.tsr"), os.path.join(folder, "m.ptx")
    with open(source, "w", encoding="utf8") as out:
        out.write(model.text)
    asked, text = scheduled(rng, source, options) if rng.random() < 0.5 else ([], "")
    options += asked
    wrong = on_host(folder, model, runs, options)
    if not host:
        wrong = wrong or check.command(TSRC, source, "-o", ptx, *options) or emulate(ptx, model, runs, gpu, order, most)
    if trial % 4 == 0:
        wrong = wrong or check.command(TSRC, source, "-fsyntax-only", "--verify=run", *options)
    return model, " ".join([*options, order, str(most)]) + "\n" + text, wrong


def main():
    seed, count, wrong = int(sys.argv[1]), int(sys.argv[2]), 0
    for trial in range(seed, seed + count):
        with tempfile.TemporaryDirectory(prefix="gpu") as folder:
            model, how, what = wrong_model(trial, folder, "host" in sys.argv)
        if what:
            wrong += 1
            print("seed %d, %s%s%s" % (trial, how, model.text, what), flush=True)
    print("%d programs, %d are wrong" % (count, wrong))


if __name__ == "__main__":
    main()
