# Golden tests: programs with RUN lines, checked by FileCheck.
import glob
import os
import shutil
import subprocess
import tempfile

import lit.formats

config.name = "tsr"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tsr", ".test", ".loops"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

root = os.path.abspath(os.path.join(config.test_source_root, "..", ".."))
build = os.environ.get("TSR_BUILD", os.path.join(root, "build"))
config.test_exec_root = os.path.join(build, "test", "lit")

llvm = sorted(glob.glob("/usr/lib/llvm-*/bin"))[-1]
environment = config.environment
environment["PATH"] = os.pathsep.join([llvm, environment.get("PATH", os.defpath)])
environment["LSAN_OPTIONS"] = "suppressions=%s:print_suppressions=0" % os.path.join(root, "test", "lsan.supp")
# What a sanitizer finds is a signal, which `not` takes for no message; undefined behaviour has its place shown.
environment["ASAN_OPTIONS"] = "detect_stack_use_after_return=0:abort_on_error=1:handle_sigill=1"
environment["LC_ALL"] = "C.UTF-8"
environment["XDG_CACHE_HOME"] = "/dev/null"  # no cache
for name in ("CUDA_PATH", "CUDA_HOME", "TSRC_NVRTC", "HOME", "TMPDIR", "TSR_LONG"):
    if name in os.environ:
        environment[name] = os.environ[name]

# Longest names first: %tsrc must not be read as %t followed by "src".
config.substitutions += [
    ("%tsrc", os.path.join(build, "tsrc")),
    ("%tsr", os.path.join(build, "tsr")),
    ("%python", "/usr/bin/python3"),
    ("%build", build),
    ("%root", root),
]

plain = not any(word in os.path.basename(build) for word in ("asan", "coverage"))
if plain:
    config.available_features.add("plain-build")
# How many random programs a test makes: %few{A,B} is A, or B where the compiler itself is slow, and ten times as many in
# `make check-long`. Before a command that takes long: %plain, and the plain build alone runs it; %long, and check-long does.
long = "TSR_LONG" in os.environ
config.substitutions.append(("%plain", "" if plain else "true ||"))
config.substitutions.append(("%long", "" if long and plain else "true ||"))
config.substitutions.append((r"%few\{(\d+),(\d+)\}", (r"\g<1>" if plain else r"\g<2>") + ("0" if long else "")))
# --verify compares what tsrc chose with what is written, which GCC need not optimise; check-long has -O2, and so have lines that say so.
if not long:
    config.substitutions.append((r"^(?!.* -O[0-3])(.*) --verify=(run|sums)\b", r"\g<1> -O0 --verify=\g<2>"))
    # Nor need modules that a line loads; what tests the optimised bytes says -O2.
    config.substitutions.append((r"^(?!.* -O[0-3])(.*/tsrc\b)(.* -o \S+\.so\b)", r"\g<1> -O0\g<2>"))
if shutil.which("as", path=environment["PATH"]):
    config.available_features.add("assembler")
for tool in ("gcc", "clang", "g++", "gdb", "readelf", "objdump", "pkg-config", "cmake", "vim", "zsh", "fish"):
    if shutil.which(tool, path=environment["PATH"]):
        config.available_features.add(tool)
if all(shutil.which(tool, path=environment["PATH"]) for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64")):
    config.available_features.add("aarch64")  # code for it can be made, and run
if "gcc" in config.available_features:
    where = subprocess.run(["gcc", "-print-file-name=libtsan.so"], stdout=subprocess.PIPE, text=True).stdout
    if os.path.isabs(where.strip()):
        config.available_features.add("tsan")
if shutil.which("unshare") and subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/tmp"],
                                              stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("tmpfs")
nvrtc = [os.path.join(build, "tsrc"), os.path.join(root, "examples", "softmax.tsr"), "--target=cuda", "-o"]
with tempfile.TemporaryDirectory() as folder:
    if subprocess.run([*nvrtc, os.path.join(folder, "x.ptx")], stderr=subprocess.DEVNULL).returncode == 0:
        config.available_features.add("nvrtc")
with open("/proc/cpuinfo") as info:
    flags = info.read()
for flag in ("avx2", "avx512f", "avx512_bf16"):
    if flag in flags:
        config.available_features.add(flag)
try:
    import psutil  # noqa: F401  (lit needs it for timeouts)
except ImportError:
    lit_config.maxIndividualTestTime = 0
