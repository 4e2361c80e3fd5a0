"""same_ptx.py TSRC PROGRAM FOLDER N: compiles N times to PTX, in environments of different sizes, in different folders, by
different names and with different limits of the stack; prints how many results there are."""
import os
import resource
import subprocess
import sys

tsrc, program, folder, runs = *sys.argv[1:4], int(sys.argv[4])
hard = resource.getrlimit(resource.RLIMIT_STACK)[1]


def compiled(i):
    """The PTX of one run."""
    link, path = os.path.join(folder, "tsrc" + i * 20 * "x"), os.path.join(folder, i * "m" + "net.ptx")
    if not os.path.exists(link):
        os.symlink(tsrc, link)
    subprocess.run([link, "--prefix=net", "--target=cuda", program, "-o", path], check=True, stderr=subprocess.DEVNULL,
                   env={**os.environ, "PADDING": i * 777 * "x"}, cwd=("/", folder, folder + "/deeper/folder")[i % 3],
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, ((8 + i) << 20, hard)))
    return open(path).read()


results = len({compiled(i) for i in range(runs)})
print("%d runs, %d result%s" % (runs, results, "s" if results > 1 else ""))
