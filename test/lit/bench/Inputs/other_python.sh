#!/bin/sh
# A Python that has what its caller's environment hides
unset PYTHONPATH
exec /usr/bin/python3 "$@"
