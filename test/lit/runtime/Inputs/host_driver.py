"""host_driver.py TSRC SOURCE FOLDER [OPTION...]: makes FOLDER/m.ptx, code for a GPU, whose PTX is a line alone, and
FOLDER/libcuda.so, a driver that runs the kernels of that program on the host (host_driver.c); libold.so lacks a function,
libidle.so runs none."""
import os
import re
import subprocess
import sys

INPUTS = os.path.dirname(os.path.abspath(__file__))


def kernels_of(text):
    """Name, types of arguments, and whether a block's threads are loops in it, of every kernel of CUDA C."""
    for found in re.finditer(r"^TSR_KERNEL\(\d+\)\n(\w+)\((.*?) TSR_PLACE\)\n\{\n(.*?)^\}", text, re.M | re.S):
        name, args, body = found.groups()
        types = [re.match(r"(.*?)\w+$", arg.strip()).group(1).strip() for arg in re.sub(r"\s+", " ", args).split(",")]
        yield name, types, "TSR_THREADS(" in body


def table_of(text):
    lines, rows = ['#include "m.cu"'], []
    for name, types, together in kernels_of(text):
        args = "".join("*(%s *)a[%d], " % (t.replace("const ", ""), i) for i, t in enumerate(types))
        lines.append("""static void run_%s(void **a, unsigned blocks, unsigned threads)
{
    (void)a;
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned t = 0; t < %s; t++) {
            const tsr_place at = {b, blocks, (int32_t)t, &status};
            %s(%s&at);
        }
}""" % (name, "1" if together else "threads", name, args))
        rows.append('{"%s", %d, run_%s}' % (name, len(types), name))
    symbols = re.findall(r"^//tsr: const .* symbol (\w+)$", text, re.M)
    lines.append("static const Kernel kernels[] = {%s, {NULL, 0, NULL}};" % ", ".join(rows))
    lines.append("static const void *constant_named(const char *name)\n{\n    (void)name;")
    lines += ['    if (strcmp(name, "%s") == 0)\n        return %s;' % (s, s) for s in symbols]
    lines.append("    return NULL;\n}\n")
    return "\n".join(lines)


def make(tsrc, source, folder, options=()):
    """The paths of both."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "m.cu")
    subprocess.run([tsrc, *([] if any(o.startswith("--target") for o in options) else ["--target=cuda"]), source, "-o",
                    path, *options], check=True)
    text = open(path, encoding="utf8").read()
    plan = "".join(line + "\n" for line in text.splitlines() if line.startswith("//tsr: "))
    with open(os.path.join(folder, "m.ptx"), "w", encoding="utf8") as out:
        out.write(plan + "\n.version 7.0\n")
    with open(os.path.join(folder, "kernels.inc"), "w", encoding="utf8") as out:
        out.write(table_of(text))
    library = os.path.join(folder, "libcuda.so")
    build_driver(folder, library)
    return os.path.join(folder, "m.ptx"), library


def build_driver(folder, library, *options):
    subprocess.run(["cc", "-std=gnu11", "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-I" + folder, *options,
                    os.path.join(INPUTS, "host_driver.c"), "-lm", "-o", library], check=True)


if __name__ == "__main__":
    make(*sys.argv[1:4], sys.argv[4:])
    for kind in ("old", "idle"):
        build_driver(sys.argv[3], os.path.join(sys.argv[3], "lib%s.so" % kind), "-D" + kind.upper())
