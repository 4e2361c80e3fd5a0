"""status.py STATUS COMMAND...: runs the command and expects its exit status."""
import subprocess
import sys

status = subprocess.call(sys.argv[2:])
if status != int(sys.argv[1]):
    sys.exit(f"exit status {status} instead of {sys.argv[1]}")
