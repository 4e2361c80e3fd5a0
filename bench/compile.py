"""What compilation costs: bench/compile.py [BUILD]

For each program of examples/models, source to shared object at -O2: with an empty cache (cold), with all kernels in
the cache (warm), and with one line changed and what the change leaves alone in the cache (edited), in seconds of the
clock, of the processor behind a slash; bytes of the shared object. Printed as a table of its own, and part of
run.py's."""
import argparse
import os
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EDITS = {  # model: part of a line, and what stands for it in the edited program
    "lenet": ("f3(tanh(f2(", "f3(relu(f2("),
    "bert": ("nn.mlp(4 * e, e, gelu)", "nn.mlp(4 * e, e, nn.silu)"),
    "gpt2": ("nn.gelu_tanh", "nn.silu"),
    "resnet50": ("nn.max_pool2d_padded(3, 2)(relu(stem", "nn.max_pool2d_padded(3, 2)(nn.relu6(stem"),
    "mobilenet_v2": ("nn.relu6(top(", "nn.silu(top("),
}


def compiled(build, source, out, cache):
    """The seconds of the clock and of the processor."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([build + "/tsrc", "--cache-dir=" + cache, "-I", ROOT + "/lib", source, "-o", out], check=True)
    clock, after = time.perf_counter() - start, os.times()
    return "%.2f / %.2f" % (clock, after.children_user + after.children_system
                            - before.children_user - before.children_system)


def model(build, name):
    """Cold, warm and edited, and the bytes"""
    path = ROOT + "/examples/models/%s.tsr" % name
    with open(path, encoding="utf8") as source:
        text = source.read()
    assert text.count(EDITS[name][0]) == 1, name
    with tempfile.TemporaryDirectory() as directory:
        out, cache, edited = (directory + "/" + part for part in ("model.so", "cache", name + ".tsr"))
        cold, warm = compiled(build, path, out, cache), compiled(build, path, out, cache)
        size = os.path.getsize(out)
        with open(edited, "w", encoding="utf8") as source:
            source.write(text.replace(*EDITS[name]))
        return cold, warm, compiled(build, edited, out, cache), size


def rows(build):
    """Of run.py's table: what it is, its unit, and its value"""
    for name in EDITS:
        cold, warm, edited, size = model(build, name)
        yield "compiling %s, empty cache" % name, "s / CPU s", cold
        yield "compiling %s, all in the cache" % name, "s / CPU s", warm
        yield "compiling %s, one line edited" % name, "s / CPU s", edited
        yield "%s.so" % name, "KB", "%d" % (size // 1000)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"), help="where tsrc is")
    build = options.parse_args().build
    print("| model | cold, s | warm, s | one line edited, s | .so |\n|---|---|---|---|---|")
    for name in EDITS:
        *seconds, size = model(build, name)
        print("| %s | %s | %s | %s | %d KB |" % (name, *seconds, size // 1000), flush=True)


if __name__ == "__main__":
    main()
