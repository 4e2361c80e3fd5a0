#!/bin/sh
exec "$TSR_BUILD/tsrc" --grain=0 "$@"
