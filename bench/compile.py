"""What compilation costs: bench/compile.py [BUILD]

For each program of examples/models, source to shared object at -O2: with an empty cache (cold), with all kernels in
the cache (warm), and with one line changed and what the change leaves alone in the cache (edited), in seconds of the
clock, of the processor behind a slash; bytes of the shared object. Then the call of a program of one element."""
import argparse
import json
import os
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"))
BUILD = arguments.parse_args().build
EDITS = {  # model: part of a line, and what stands for it in the edited program
    "lenet": ("f3(tanh(f2(", "f3(relu(f2("),
    "bert": ("nn.mlp(4 * e, e, gelu)", "nn.mlp(4 * e, e, nn.silu)"),
    "gpt2": ("nn.gelu_tanh", "nn.silu"),
    "resnet50": ("nn.max_pool2d_padded(3, 2)(relu(stem", "nn.max_pool2d_padded(3, 2)(nn.relu6(stem"),
    "mobilenet_v2": ("nn.relu6(top(", "nn.silu(top("),
}
ONE = "input x : []\noutput y = x + 1\n"


def compiled(source, out, cache):
    """The seconds of the clock and of the processor."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([BUILD + "/tsrc", "--cache-dir=" + cache, "-I", ROOT + "/lib", source, "-o", out], check=True)
    clock, after = time.perf_counter() - start, os.times()
    return "%.2f / %.2f" % (clock, after.children_user + after.children_system
                            - before.children_user - before.children_system)


def write(path, text):
    with open(path, "w", encoding="utf8") as out:
        out.write(text)
    return path


def model(name, directory):
    path, cache, out = ROOT + "/examples/models/%s.tsr" % name, directory + "/cache_" + name, directory + "/%s.so" % name
    with open(path, encoding="utf8") as source:
        text = source.read()
    assert text.count(EDITS[name][0]) == 1, name
    cold, warm = compiled(path, out, cache), compiled(path, out, cache)
    size = os.path.getsize(out)
    edited = write(directory + "/%s.tsr" % name, text.replace(*EDITS[name]))
    print("| %s | %s | %s | %s | %d KB |" % (name, cold, warm, compiled(edited, out, cache), size // 1000), flush=True)


def call(directory):
    out = directory + "/one.so"
    compiled(write(directory + "/one.tsr", ONE), out, directory + "/cache")
    done = subprocess.run([BUILD + "/tsr", "bench", "--json", out], check=True, capture_output=True, text=True)
    print("\ncall of a program of one element: %s ns" % json.loads(done.stdout)["median_ns"])


with tempfile.TemporaryDirectory() as directory:
    print("| model | cold, s | warm, s | one line edited, s | .so |\n|---|---|---|---|---|")
    for name in EDITS:
        model(name, directory)
    call(directory)
