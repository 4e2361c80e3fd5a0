"""status.py N COMMAND...: runs the command and expects exit status N."""
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit("exit status %d, expected %s" % (status, sys.argv[1]))
