"""full_disk.py TSRC FOLDER, in a mount namespace: where there is no room, for temporary files or for the output, there is
a message that says so, or the same bytes as elsewhere; and nothing is left."""
import os
import subprocess
import sys

tsrc, folder = sys.argv[1:3]
small, large = os.path.join(folder, "small"), os.path.join(folder, "large")
os.makedirs(small, exist_ok=True)
os.makedirs(large, exist_ok=True)
source = os.path.join(folder, "m.tsr")
with open(source, "w") as out:
    out.write("input x : [3]\noutput y = exp(x) + sin(x)\n")


def run(*words, **environment):
    return subprocess.run([tsrc, "--no-cache", source, *words], env=dict(os.environ, **environment), capture_output=True,
                          text=True)


def attempt(kind, to, temporary):
    path = os.path.join(to, "m." + kind)
    done = run("-o", path, TMPDIR=temporary)
    if done.returncode == 0:
        with open(path, "rb") as got:
            return got.read() == wanted[kind]
    told = "No space left on device" in done.stderr and "/m.%s." % kind not in done.stderr
    return done.returncode == 1 and told and not os.listdir(small)


wanted = {}
for kind in ("s", "so"):
    assert run("-o", os.path.join(large, "m." + kind)).returncode == 0
    with open(os.path.join(large, "m." + kind), "rb") as whole:
        wanted[kind] = whole.read()
for kilobytes in range(4, 60, 4):
    for kind, to, temporary in ("s", large, small), ("so", small, large):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kilobytes, "none", small], check=True)
        if not attempt(kind, to, temporary):
            sys.exit("%s with %d KiB" % (kind, kilobytes))
        subprocess.run(["umount", small], check=True)
print("every size is done or told")
