"""Who takes part besides tsr: the peers that are installed, each run in a process of its own at its best setting.

A case names its peers by kind and words (suites.py). PyTorch takes part as it is, compiled, with weights
packed beforehand for the kernels of oneDNN (what its compiler calls for frozen weights) and with fused attention."""
import json
import os
import subprocess
import sys

import machine

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = {"OpenBLAS": "libopenblas.so.0", "BLIS": "libblis.so.4", "oneDNN": "libdnnl.so.2"}
# Kind of a case's peer: what the table calls it, and the way that peer_torch.py takes first
TORCH = {"torch": ("PyTorch", "eager"), "packed": ("PyTorch packed", "packed"),
         "compiled": ("PyTorch compiled", "compiled"), "sdpa": ("PyTorch SDPA", "sdpa")}
OTHERS = {"numpy": "NumPy", "onnx": "ONNX Runtime"}


def base(name):
    """ONNX Runtime, PyTorch packed: the name of what is installed"""
    return "PyTorch" if name.startswith("PyTorch") else name


class Contestants:
    def __init__(self, work, python, wanted, march="native"):
        """`wanted`: names, or none for all"""
        self.work, self.python, self.servers, self.march = work, python, {}, march
        self.log = open(os.path.join(work, "peers.log"), "w", encoding="utf8")
        self.preload = {}
        for name in ("peer_gemm", "peer_narrow"):
            self.build(name, name)
        if machine.CPUINFO.get("vendor_id") == "AuthenticAMD" and march not in machine.NARROWER:
            self.preload = {"LD_PRELOAD": self.build("peer_mkl", "peer_mkl.so", "-shared", "-fPIC")}
        known = json.loads(self.output([python, os.path.join(HERE, "versions.py"), *wanted], 1) or "{}")
        self.versions = {name: version for name, version in known.items() if version}
        if march in machine.NARROWER:  # its kernels are those of the processor alone
            self.versions.pop("ONNX Runtime", None)
        self.missing = [name for name in known if name not in self.versions]

    def build(self, source, name, *options):
        out = os.path.join(self.work, name)
        words = ["-march=" + self.march, *options, "-o", out, os.path.join(HERE, source + ".c"), "-ldl"]
        subprocess.run(["gcc", "-O2", *words], check=True)
        return out

    def output(self, command, threads):
        """What it prints; None where it fails, with the reason in peers.log"""
        print("$", *command, file=self.log, flush=True)
        others = self.preload if command[0] == self.python else {}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=self.log, text=True,
                              env=machine.environment(threads, self.march, **others))
        return done.stdout if done.returncode == 0 else None

    def served(self, command, threads):
        """The same for a script that imports PyTorch"""
        print("$", *command, file=self.log, flush=True)
        if threads not in self.servers:
            self.servers[threads] = subprocess.Popen(
                [self.python, os.path.join(HERE, "peer_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self.log, text=True, env=machine.environment(threads, self.march, **self.preload))
        server, answer = self.servers[threads], ""
        try:
            server.stdin.write(json.dumps(command[1:]) + "\n")
            server.stdin.flush()
            answer = server.stdout.readline()
        except BrokenPipeError:
            pass
        if not answer:  # it died; the next one is asked of another
            del self.servers[threads]
        return json.loads(answer or "null")

    def median_ns(self, command, threads):
        """Of one run; None where it fails"""
        script = os.path.basename(command[1]) if len(command) > 1 else ""
        run = self.served if script in ("peer_torch.py", "peer_program.py", "peer_model.py") else self.output
        text = run(command, threads)
        return json.loads(text)["median_ns"] if text else None

    def commands(self, case, threads):
        """What to run for a case, by the peer's name"""
        found = {}
        for kind, *words in case.peers:
            words = [str(word) for word in words]
            if kind == "gemm":
                for name, library in LIBRARIES.items():
                    found[name] = [os.path.join(self.work, "peer_gemm"), library, *words]
            elif kind == "narrow":
                found["oneDNN"] = [os.path.join(self.work, "peer_narrow"), *words]
            elif kind == "c":
                program = self.build("peer_" + words[0], "peer_" + words[0], "-O3", "-fopenmp")
                found["gcc"] = [program]
            elif kind in TORCH:
                name, way = TORCH[kind]
                found[name] = [self.python, os.path.join(HERE, "peer_torch.py"), str(threads), way, *words]
            elif kind in OTHERS:
                found[OTHERS[kind]] = [self.python, os.path.join(HERE, "peer_%s.py" % kind), str(threads), *words]
            else:
                found[words[0]] = [self.python, os.path.join(HERE, "peer_%s.py" % kind), str(threads), *words[1:]]
        return {name: command for name, command in found.items() if base(name) in self.versions}

    def shown(self):
        """One line of versions, and one of who is missing"""
        text = "peers: " + "; ".join("%s %s" % item for item in self.versions.items())
        if self.preload and "MKL" in self.versions.get("PyTorch", ""):
            text += " (MKL with the kernels for AVX-512, peer_mkl.c)"
        return text + ("\nwithout: " + ", ".join(self.missing) if self.missing else "")

    def close(self):
        for server in self.servers.values():
            server.stdin.close()
            server.wait()
        self.log.close()


def default_python(build):
    """That of `make bench-peers`, where it was run"""
    venv = os.path.join(build, "bench", "venv", "bin", "python")
    return venv if os.path.exists(venv) else sys.executable


def with_numpy(*pythons):
    """The first of them that has NumPy, or None"""
    for python in pythons:
        if subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None
