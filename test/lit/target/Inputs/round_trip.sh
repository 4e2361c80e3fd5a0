# round_trip.sh TSRC PREFIX: is the target of each name read back as it was printed?
for march in x86-64 x86-64-v2 sandybridge alderlake sapphirerapids znver1 znver5 haswell+avx512f native; do
	"$1" --dump=target -march=$march > "$2.target" && grep -q "^name $march$" "$2.target" &&
	"$1" --dump=target --target-file="$2.target" | cmp - "$2.target" || exit 1
done
