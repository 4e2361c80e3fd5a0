"""Runs a command in so many MiB of address space, or (`2s`) seconds of processor time; fails unless its status is 1:
limited.py LIMIT WORD..."""
import resource
import subprocess
import sys

number = int(sys.argv[1].rstrip("s"))
which, most = (resource.RLIMIT_CPU, number) if sys.argv[1].endswith("s") else (resource.RLIMIT_AS, number << 20)
run = subprocess.run(sys.argv[2:], preexec_fn=lambda: resource.setrlimit(which, (most, most)))
sys.exit(run.returncode != 1)
