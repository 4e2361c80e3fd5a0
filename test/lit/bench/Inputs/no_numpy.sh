#!/bin/sh
# A Python in which the peer of NumPy crashes, though NumPy is there
case "$1" in
*peer_numpy.py) echo 'no such luck' >&2; kill -SEGV $$ ;;
esac
exec /usr/bin/python3 "$@"
