#!/bin/sh
# Programs of test/lit/numbers as code for aarch64, in an emulator, and all their C through a cross compiler:
# check_aarch64.sh BUILD. Needs qemu-user, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross; takes minutes.
# Scripts that name processors of x86-64, pool threads or call by pointers are not among them.
cd "$(dirname "$0")/../test/lit/numbers/Inputs" || exit 1
build=$1
failed=0
while read -r script; do
	# shellcheck disable=SC2086
	if text=$(TSRC=$build/tsrc OPTIONS="--target=aarch64-linux-gnu" timeout 600 /usr/bin/python3 $script 2>&1); then
		echo "passed: $script: $(echo "$text" | tail -n 1)"
	else
		echo "FAILED: $script: $(echo "$text" | tail -n 3)"
		failed=1
	fi
done <<END
cases.py
halves.py 65537
eighths.py 65537
sort.py 1 6 300
cumulate.py 1 6
indexing.py 1 4
quantised.py armv8-a armv8.6-a
neon_bytes.py 24
threefry.py 4 armv8-a
functions.py
functions.py --fp=strict
underflow.py
wide.py
whole_types.py
argmax_parts.py 1
layers.py 1
random_affine.py 1 8
random_blocks.py 1 8
random_einsum.py 1 8
random_pointwise.py 1 8
joined_axes.py 1 5
placed.py
END
exit $failed
