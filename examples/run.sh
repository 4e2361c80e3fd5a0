#!/bin/sh
# The main job on real input: edges of a picture, digits from fonts that the weights have not seen, weights in
# four bits, nets that are trained, and a C program with two models. Results go to BUILD/out.
#   run.sh [BUILD]
set -eu
here=$(dirname "$0")
build=$(cd "${1:-build}" && pwd)
cd "$here/.."
out=$build/out
tsrc=$build/tsrc
tsr=$build/tsr
mkdir -p "$out"

say() { printf '\n%s\n' "$*"; }

${CC:-gcc} -O2 -I. -D_GNU_SOURCE -o "$out/img" examples/img.c "$build/libtsr.a" -lzip -ljansson -lxxhash -ldl -lm

say "Edges: examples/picture.png through examples/edges.tsr"
"$tsrc" examples/edges.tsr -o "$out/edges.so"
"$out/img" examples/picture.png "$out/picture.npy"
"$tsr" run "$out/edges.so" image="$out/picture.npy" -o edges="$out/edges.npy" -o half="$out/half.npy"
"$out/img" "$out/edges.npy" "$out/edges.png"
"$out/img" "$out/half.npy" "$out/half.png"
echo "wrote $out/edges.png and $out/half.png"

say "Digits: 1000 pictures of digits in held-out fonts through examples/digits.tsr"
"$tsrc" examples/digits.tsr -o "$out/digits.so"
"$tsr" run "$out/digits.so" image=examples/digits_test.npz:images --params=examples/digits.safetensors \
	-o probs="$out/probs.npy"
"$tsrc" examples/accuracy.tsr -o "$out/accuracy.so"
"$tsr" run "$out/accuracy.so" probs="$out/probs.npy" label=examples/digits_test.npz:labels

say "Weights in four bits: examples/quantize.tsr rounds random ones for examples/int4.tsr, and tells the error"
"$tsrc" examples/quantize.tsr -o "$out/quantize.so"
"$tsrc" examples/int4.tsr -o "$out/int4.so"
"$tsr" run "$out/quantize.so" quantize weight=random:1 -o w="$out/w.npy" -o zero="$out/zero.npy" -o scale="$out/scale.npy"
"$tsr" run "$out/int4.so" x=random:2 n=100 w="$out/w.npy" zero="$out/zero.npy" scale="$out/scale.npy" -o y="$out/y.npy"
"$tsr" run "$out/quantize.so" compare weight=random:1 x=random:2 y="$out/y.npy"

say "Letters: a net learns from docs/language.md which letter comes next, and writes more of the kind"
MAKEFLAGS= make -s -C examples/letters TSRC="$tsrc" OUT="$out/letters" run

say "Spirals: tsr train on points that examples/spirals.tsr draws, with others held out"
"$tsrc" examples/spirals.tsr -o "$out/spirals.so"
"$tsr" run "$out/spirals.so" draw seed=1 n=3000 -o points="$out/points.npy" -o spirals="$out/spirals.npy"
"$tsr" run "$out/spirals.so" draw seed=2 n=1000 -o points="$out/held_out.npy" -o spirals="$out/held_out_spirals.npy"
"$tsr" train "$out/spirals.so" x="$out/points.npy" spiral="$out/spirals.npy" rate=0.01 --batch=50 --epochs=8 --shuffle=1 \
	--valid=valid x="$out/held_out.npy" spiral="$out/held_out_spirals.npy" --save="$out/spirals.safetensors"

say "Two models in one C program: examples/two_models"
MAKEFLAGS= make -s -C examples/two_models TSRC="$tsrc" OUT="$out/two_models" run
