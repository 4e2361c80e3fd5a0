"""ended.py TSRC PROGRAM FOLDER: a signal ends a search with the best so far, and leaves no file and no process."""
import os
import shutil
import signal
import subprocess
import sys
import time

TSRC, PROGRAM, FOLDER = sys.argv[1:4]
OUT, TEMPORARY = os.path.join(FOLDER, "out"), os.path.join(FOLDER, "temporary")
MARK = "TUNE_TEST=%d" % os.getpid()


def marked():
    """Processes with the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as environ:
                if MARK.encode() in environ.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def end(number, seconds, *options):
    for folder in (OUT, TEMPORARY):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
    name, _, value = MARK.partition("=")
    environment = dict(os.environ, TMPDIR=TEMPORARY, **{name: value})
    run = subprocess.Popen([TSRC, "--tune=300", *options, PROGRAM, "-o", os.path.join(OUT, "f.so")], stderr=subprocess.PIPE,
                           text=True, env=environment)
    first = run.stderr.readline()
    assert "the policy's code takes" in first, first
    time.sleep(seconds)
    run.send_signal(number)
    words = run.stderr.read()
    assert run.wait() == 0, words
    assert "ended by a signal after" in words, words
    assert sorted(os.listdir(OUT)) == ["f.h", "f.sched", "f.so"], os.listdir(OUT)
    assert not os.listdir(TEMPORARY), os.listdir(TEMPORARY)
    for _ in range(1000):
        if not marked():
            break
        time.sleep(0.05)
    assert not marked(), marked()
    made = subprocess.run([TSRC, "--dump=schedule", "--schedule=" + os.path.join(OUT, "f.sched"), *options[1:], PROGRAM],
                          text=True, check=True, stdout=subprocess.PIPE).stdout
    with open(os.path.join(OUT, "f.sched")) as kept:
        assert made == kept.read()


def die(number):
    """A signal that is not asked for in a search ends the process, as it does at other times."""
    run = subprocess.Popen([TSRC, "--tune=300", PROGRAM, "-o", os.path.join(OUT, "f.so")], stderr=subprocess.PIPE, text=True,
                           env=dict(os.environ, TMPDIR=TEMPORARY))
    run.stderr.readline()
    run.send_signal(number)
    run.stderr.read()
    assert run.wait() == -number
    assert not os.listdir(TEMPORARY), os.listdir(TEMPORARY)


for asked in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(asked, signal.SIG_DFL)  # also under nohup
os.makedirs(FOLDER, exist_ok=True)
end(signal.SIGINT, 0.05)
end(signal.SIGTERM, 1.5, "--threads=2", "--grain=1")
die(signal.SIGHUP)
print("nothing is left")
