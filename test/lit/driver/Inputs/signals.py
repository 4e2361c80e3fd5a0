"""signals.py TSRC TSR FOLDER: signals end both tools as they would without a handler, and leave no file and no child."""
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

TSRC, TSR, FOLDER = sys.argv[1:4]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
TRIALS = 8
NAMES = {"m.so", "m.h", "y.npy", "z.npy", "state"}
OUT, TEMPORARY, TOOLS, MARK = (os.path.join(FOLDER, name) for name in ("out", "temporary", "tools", "mark"))
PROGRAM = """dim n
input x : [n | 64]
output y = {w : [64 -> 600]} * x
output z = sum("n | v => n", y)
"""


def clean():
    for folder in (OUT, TEMPORARY):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
    if os.path.exists(MARK):
        os.remove(MARK)


def start(command, path="", ignored=()):
    def prepare():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    environment = dict(os.environ, TMPDIR=TEMPORARY, PATH=path + os.environ["PATH"])
    return subprocess.Popen(command, env=environment, preexec_fn=prepare, stderr=subprocess.DEVNULL)


def wait_for(what):
    end = time.time() + 30
    while time.time() < end:
        if what():
            return
        time.sleep(0.005)
    sys.exit("it never happened")


def check(what, good):
    if not good:
        sys.exit("%s: out %s, temporary %s" % (what, os.listdir(OUT), os.listdir(TEMPORARY)))


def is_running(pid):
    try:
        with open("/proc/%s/stat" % pid) as state:
            return state.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def marked():
    """The processes that the tool below has told."""
    if not os.path.exists(MARK):
        return None
    with open(MARK) as mark:
        words = mark.read().split()
    return words if len(words) == 2 else None


def assembler(rest):
    """An `as` that starts a process, tells both, and goes on with `rest`."""
    os.makedirs(TOOLS, exist_ok=True)
    path = os.path.join(TOOLS, "as")
    with open(path, "w") as out:
        out.write("#!/bin/sh\nsleep 100 <&- >&- 2>&- &\necho $$ $! > %s\n%s\n" % (MARK, rest))
    os.chmod(path, stat.S_IRWXU)
    return TOOLS + ":"


def compile_and_end(number):
    clean()
    old = os.path.join(OUT, "m.so")
    with open(old, "w") as out:
        out.write("old")
    run = start([TSRC, SOURCE, "-O0", "-o", old], assembler("wait"))
    wait_for(marked)
    run.send_signal(number)
    check("tsrc dies of %d" % number, run.wait() == -number)
    wait_for(lambda: not is_running(marked()[0]))
    if number == signal.SIGKILL:
        os.kill(int(marked()[1]), signal.SIGKILL)
        return
    wait_for(lambda: not is_running(marked()[1]))
    check("tsrc leaves nothing after %d" % number, os.listdir(OUT) == ["m.so"] and not os.listdir(TEMPORARY))
    with open(old) as kept:
        check("what was there stays", kept.read() == "old")


def compile_though_ignored():
    clean()
    run = start([TSRC, SOURCE, "-O0", "-o", os.path.join(OUT, "m.so")],
                assembler("kill $!; sleep 0.3; exec %s \"$@\"" % shutil.which("as")),
                [signal.SIGHUP])
    wait_for(marked)
    run.send_signal(signal.SIGHUP)
    check("a signal that is ignored", run.wait() == 0 and sorted(os.listdir(OUT)) == ["m.h", "m.so"])


def end_anywhen(command, seconds):
    for trial in range(TRIALS):
        clean()
        number = random.choice(SIGNALS)
        run = start(command)
        time.sleep(random.random() * seconds)
        run.send_signal(number)
        status = run.wait()
        check("%s, trial %d" % (os.path.basename(command[0]), trial), status in (0, -number) and
              not os.listdir(TEMPORARY) and set(os.listdir(OUT)) <= NAMES)


def run_and_end(number):
    """One file is written, the other is a pipe that nobody reads."""
    clean()
    pipe = os.path.join(FOLDER, "pipe")
    if not os.path.exists(pipe):
        os.mkfifo(pipe)
    run = start(RUN + ["n=100", "-o", "y=%s/y.npy" % OUT, "-o", "z=" + pipe])
    wait_for(lambda: os.listdir(OUT))
    run.send_signal(number)
    check("tsr dies of %d" % number, run.wait() == -number)
    check("tsr leaves nothing after %d" % number, not os.listdir(OUT))


os.makedirs(FOLDER, exist_ok=True)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
random.seed(1)
SOURCE, MODULE = os.path.join(FOLDER, "m.tsr"), os.path.join(FOLDER, "m.so")
with open(SOURCE, "w") as text:
    text.write(PROGRAM)
started = time.time()
subprocess.run([TSRC, SOURCE, "-O0", "-o", MODULE], check=True)
taken = time.time() - started
RUN = [TSR, "run", MODULE, "x=random:1"]
for each in SIGNALS + (signal.SIGKILL,):
    compile_and_end(each)
compile_though_ignored()
for each in SIGNALS:
    run_and_end(each)
end_anywhen([TSRC, SOURCE, "-O0", "-o", os.path.join(OUT, "m.so")], taken)
end_anywhen(RUN + ["n=4000", "-o", "y=%s/y.npy" % OUT, "-o", "z=%s/z.npy" % OUT, "--save-state=%s/state" % OUT], 0.1)
print("nothing is left")
