"""The tables: tables.py SCRATCH BUILD FROM SECONDS [--rehearse] [--case WORD]: cases from number FROM on, for so many seconds.

Every line is printed when it is known; `@ N NAME` says which case begins. Contestants alternate in this process, whose device
they share; a case that fails is a line. A rehearsal takes small arrays, on the host for PyTorch, and checks results alone.
"""
import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "python"), os.path.join(ROOT, "tools")]
import cases  # noqa: E402

ROUNDS, ROUND_MS, NO_GRAPH = 5, 12.0, 1
TORCH = {"f32": lambda torch: torch.float32, "bf16": lambda torch: torch.bfloat16}
GOOD = {"f32": 1e-4, "bf16": 4e-3}  # errors of results, which may be rounded


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch")
    parser.add_argument("build")
    parser.add_argument("start", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--case", default="")
    return parser.parse_args()


class Bench:
    def __init__(self, options):
        import numpy
        import torch
        import tsr
        self.options, self.torch, self.tsr, self.numpy = options, torch, tsr, numpy
        self.until = time.monotonic() + options.seconds
        self.cuda = not options.rehearse
        self.device = "cuda" if self.cuda else "cpu"
        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.manual_seed(0)

    # ---- the machine ----

    def measure_machine(self):
        """Bytes a second of a copy, operations a second of PyTorch's product."""
        t = self.torch
        if not self.cuda:
            return 1e9, 1e9
        a, b = (t.empty(1 << 28, device=self.device) for _ in range(2))
        seconds = self.alternate({"copy": lambda: b.copy_(a)})["copy"]
        x, y = (t.randn(4096, 4096, device=self.device) for _ in range(2))
        return 2.0 * a.nbytes / seconds, 2.0 * 4096**3 / self.alternate({"mm": lambda: x @ y})["mm"]

    def alternate(self, contestants):
        """Seconds of one call of each: the median of rounds in which each has its turn."""
        t, counts, times = self.torch, {}, {name: [] for name in contestants}

        def measure(call, n):
            if not self.cuda:
                start = time.perf_counter()
                for _ in range(n):
                    call()
                return (time.perf_counter() - start) / n
            begin, end = (t.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(n):
                call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1e3 / n
        for name, call in contestants.items():
            for _ in range(3 if self.cuda else 1):
                call()
            counts[name] = max(1, min(300, int(ROUND_MS / 1e3 / max(measure(call, 1), 1e-6))))
        for _ in range(ROUNDS if self.cuda else 1):
            for name, call in contestants.items():
                times[name].append(measure(call, counts[name] if self.cuda else 1))
        return {name: statistics.median(found) for name, found in times.items()}

    # ---- ours ----

    def compiled(self, number, case):
        """The model, and how long its compilation takes."""
        stem = os.path.join(self.options.scratch, "case%d" % number)
        source = case.program
        if not os.path.exists(source):
            source = stem + ".tsr"
            with open(source, "w", encoding="utf8") as out:
                out.write(case.program + "\n")
        words = [word for define in case.defines for word in ("-D", define)]
        start = time.perf_counter()
        done = subprocess.run([os.path.join(self.options.build, "tsrc"), "-I", os.path.join(ROOT, "lib"), *words, source,
                               "--target=" + case.target, "-o", stem + ".ptx"], capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[0])
        seconds = time.perf_counter() - start
        model = self.tsr.load(stem + ".ptx")
        if case.weights:
            model.load_params(self.weights(case), case.program.replace(".tsr", ".map"))
        return model, seconds

    def weights(self, case):
        path = os.path.join(self.options.scratch, case.weights + ".safetensors")
        if not os.path.exists(path):
            subprocess.run([sys.executable, os.path.join(ROOT, "tools", "make_weights.py"), case.weights, path + ".new", *case.sizes], check=True,
                           stdout=subprocess.DEVNULL, timeout=120)
            os.replace(path + ".new", path)
        return path

    def bound(self, model, case, inputs, results):
        """The call on these arrays, with a graph and without: nothing of Python's is left to do in it."""
        from tsr._device import device_array
        from tsr._library import ABI, Arguments, Call, library
        routine = model.routines["forward"]
        arrays = [device_array(inputs[t.name], t.name, t.dtype, model) for t in routine.inputs]
        plan = routine._planned((*(a.shape for a in arrays), *case.dims.items()), arrays, case.dims)
        places = [device_array(r, t.name, t.dtype, model) for r, t in zip(results, routine.outputs)]
        lists = [(ctypes.c_void_p * (len(a) + 1))(*(x.pointer for x in a)) for a in (arrays, places)]
        plan.state.pack()
        given = Arguments(plan.dims, (ctypes.c_void_p * 1)(), *lists, plan.state.address, None, model.stream)

        def call_with(flags):
            message = ctypes.c_char_p()
            what = Call(abi=ABI, flags=flags, message=ctypes.pointer(message))

            def call():
                code = library().tsr_run_device(model._module.handle, routine._entry, ctypes.byref(what), ctypes.byref(given))
                if code:
                    raise RuntimeError("code %d: %s" % (code, (message.value or b"").decode()))
            call.holds = arrays, places, lists, given
            return call
        return call_with(0), call_with(NO_GRAPH)

    # ---- a case ----

    def peer_of(self, case):
        if not case.weights:
            return case.peer
        import check_models
        import models_torch
        model = models_torch.Model(case.weights, check_models.read_weights(self.weights(case)), case.heads)

        def call(inputs, params):
            dtype = next((v.dtype for v in inputs.values() if v.is_floating_point()))
            if next(model.parameters()).dtype != dtype:
                model.to(self.device, dtype)
            return model(*inputs.values())
        model.to(self.device)
        return call

    def error(self, got, exact):
        """The largest difference, as a part of the largest number; not a number where one of ours is none."""
        worst = 0.0
        for a, b in zip(got, exact):
            difference = (a.double() - b.double()).abs().max() / b.abs().max().clamp_min(1e-30)
            worst = max(worst, float(difference)) if bool(difference == difference) else float("nan")
        return worst

    def to_device(self, model, tensor):
        """Of a rehearsal; NumPy has no bf16."""
        if tensor.dtype == self.torch.bfloat16:
            return model.to_device(self.tsr.f32_to_bf16(tensor.float().numpy()), "bf16")
        return model.to_device(tensor.numpy())

    def to_host(self, case, array):
        return self.torch.from_numpy(self.tsr.bf16_to_f32(array.numpy()) if case.dtype == "bf16" else array.numpy())

    def listed(self, results):
        return list(results) if isinstance(results, (tuple, list)) else [results]

    def captured(self, call):
        """Its replay."""
        t, side = self.torch, self.torch.cuda.Stream()
        with t.cuda.stream(side):
            for _ in range(3):
                call()
        side.synchronize()
        graph = t.cuda.CUDAGraph()
        with t.cuda.graph(graph):
            self.held = call(), graph  # as long as it is replayed
        return graph.replay

    def contestants(self, case, calls, eager):
        """Ours and PyTorch's; what PyTorch cannot do is left out."""
        found = {"ours": calls[0], "no graph": calls[1], "eager": eager}
        try:
            if case.compiled:
                compiled = self.torch.compile(eager, dynamic=False)
                compiled()
                found["compiled"] = compiled
            found["graph"] = self.captured(found.get("compiled", eager))
        except Exception as error:
            print("%-40s PyTorch: %s" % (case.name, str(error).strip().split("\n")[0][:120]), flush=True)
        return found

    def run(self, number, case):
        t = self.torch
        inputs, params = case.make(t, self.device)
        model, compile_seconds = self.compiled(number, case)
        if params:
            model.params.update({name: value.cpu().numpy() for name, value in params.items()})
        peer = self.peer_of(case)
        exact = self.listed(peer({n: v.double() if v.is_floating_point() else v for n, v in inputs.items()},
                                 {n: v.double() for n, v in params.items()}))
        peer(inputs, params)  # a model has its weights in f32 again
        if self.cuda:
            model.stream = t.cuda.current_stream().cuda_stream
        results = [t.full(e.shape, float("nan"), device=self.device, dtype=TORCH[case.dtype](t)) for e in exact]
        arrays = inputs
        if not self.cuda:
            arrays = {n: self.to_device(model, v) for n, v in inputs.items()}
            results = [self.to_device(model, r) for r in results]
        calls = self.bound(model, case, arrays, results)
        for call in (calls[0], calls[0], calls[1]):
            call()
        model.wait()
        error = self.error(results if self.cuda else [self.to_host(case, r) for r in results], exact)
        del exact
        contestants = self.contestants(case, calls, lambda: peer(inputs, params)) if self.cuda else {}
        return self.alternate(contestants), error, compile_seconds


COLUMNS = ("ours", "no graph", "eager", "compiled", "graph")


def row(case, found, bandwidth, rate):
    times, error, compile_seconds = found
    floor = max(case.nbytes / bandwidth, case.flops / rate)
    cells = ["%10.1f" % (times[c] * 1e6) if c in times else " " * 9 + "-" for c in COLUMNS]
    best = min((times[c] for c in COLUMNS[2:] if c in times), default=float("nan"))
    ratio = "%6.2f" % (best / times["ours"]) if "ours" in times else "     -"
    return "%-40s %s %10.1f %s  %8.1e %s %6.2f" % (case.name, " ".join(cells), floor * 1e6, ratio, error,
                                                   "good" if error < GOOD[case.dtype] else "WRONG", compile_seconds)


HEAD = "%-40s %s" % ("us of one call", " ".join("%10s" % w for w in (
    "ours", "no graph", "eager", "compiled", "graph", "floor"))) + "  ratio     error      compile s"


def main():
    options = arguments()
    bench, table = Bench(options), None
    bandwidth, rate = bench.measure_machine()
    if options.start == 0 and bench.cuda:
        print("copies %.2f TB/s, PyTorch's fp32 product of 4096 %.1f TFLOP/s: the floor of what moves or computes so much"
              % (bandwidth / 1e12, rate / 1e12), flush=True)
    for number, case in enumerate(cases.all_cases(options.rehearse)):
        if number < options.start or options.case not in case.table + ": " + case.name:
            continue
        if time.monotonic() > bench.until:
            print("%-40s left out: no time" % case.name, flush=True)
            continue
        if case.table != table:
            table = case.table
            print("\n%s\n%s" % (table, HEAD), flush=True)
        print("@ %d %s" % (number, case.name), flush=True)
        try:
            print(row(case, bench.run(number, case), bandwidth, rate), flush=True)
        except Exception as error:  # whatever it is, the next case has its turn
            print("%-40s failed: %s" % (case.name, str(error).strip().split("\n")[0][:160] or type(error).__name__), flush=True)
            if "CUDA" in str(error) and "error" in str(error).lower():
                sys.exit(3)  # the context is spoiled: a new process goes on
        if bench.cuda:
            bench.torch.cuda.empty_cache()


main()
