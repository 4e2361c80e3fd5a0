"""Runs peers in PyTorch, each in a process of its own that need not import it again: peer_server.py

Each line of standard input is a script and its words, as JSON. A fork runs them; what it prints comes back as a line of
JSON, null where it fails. Nothing here computes before the fork, so no thread is lost by it."""
import json
import os
import runpy
import signal
import sys
import tempfile
import traceback

import torch  # noqa: F401
try:
    import torch._inductor.compile_fx  # noqa: F401
except ImportError:
    pass  # older than compilation

LONGEST_S = 600


def child(argv, out):
    signal.alarm(LONGEST_S)
    os.dup2(out.fileno(), 1)
    status = 1
    try:
        sys.argv = argv
        runpy.run_path(argv[0], run_name="__main__")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


for line in sys.stdin:
    with tempfile.TemporaryFile() as out:
        pid = os.fork()
        if pid == 0:
            child(json.loads(line), out)
        status = os.waitpid(pid, 0)[1]
        out.seek(0)
        print(json.dumps(None if status else out.read().decode()), flush=True)
