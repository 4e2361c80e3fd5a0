"""Runs a command in so many MiB of address space; fails unless its status is 1: limited.py MIB WORD..."""
import resource
import subprocess
import sys

size = int(sys.argv[1]) << 20
run = subprocess.run(sys.argv[2:], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
sys.exit(run.returncode != 1)
