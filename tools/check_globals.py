"""Static data that can change: check_globals.py BUILD

Sessions run on several threads at once, so nothing of the compiler or of libtsr may stand in a section that can be written,
but for what is allowed below and why. Reads the objects of the folders with nm; those that are not built are left out."""
import glob
import os
import subprocess
import sys

FOLDERS = "base lexer grammar frontend infer reference tensor target sums loops schedule transform lower codegen verify driver tune runtime gen".split()
ALLOWED = {
    ("base/trap.o", "innermost"): "each thread its own: where its failures go",
    ("base/stb_ds.o", "stbds_hash_seed"): "each thread its own: every table changes it; no order that follows from it is seen",
    ("runtime/cuda/enter.o", "entered"): "calls of a module's entry points have no handle; changed under a lock",
    ("codegen/jit_library.o", "jit_library"): "where libgccjit was loaded: the same for all; filled once, before a use",
    ("codegen/jit_library.o", "loading"): "whether it was, and why not: changed once, under pthread_once",
    ("base/temporary.o", "kept"): "a handler of signals has no argument; changed under a lock",
}

build = sys.argv[1]
objects = [path for folder in FOLDERS for path in sorted(glob.glob("%s/%s/**/*.o" % (build, folder), recursive=True))
           if folder == "gen" or os.path.exists(os.path.relpath(path, build)[:-2] + ".c")]
listing = subprocess.run(["nm", "--format=sysv", "-A", *objects], capture_output=True, text=True, check=True).stdout
bad, used = 0, set()
for line in listing.splitlines():
    fields = [field.strip() for field in line.split("|")]
    if len(fields) < 7 or not fields[6].startswith((".data", ".bss", ".tdata", ".tbss", "*COM*")):
        continue
    if fields[6].startswith(".data.rel.ro"):
        continue
    path, name = fields[0].split(":", 1)
    key = (os.path.relpath(path, build), name.strip().split(".")[0])
    if key in ALLOWED:
        used.add(key)
    else:
        print("%s: '%s' can change (%s)" % (key[0], key[1], fields[6]))
        bad += 1
for path, name in sorted(set(ALLOWED) - used):
    if os.path.join(build, path) in objects:
        print("%s: there is no '%s' any more" % (path, name))
        bad += 1
sys.exit(1 if bad or not objects else 0)
