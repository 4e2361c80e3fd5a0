# gpu_again.sh TSRC FOLDER FILE...: what is chosen for a GPU is chosen again where it is all that is asked for; programs that are
# refused are passed over.
tsrc=$1 folder=$2 status=0
shift 2
for file; do
	"$tsrc" --target=cuda --dump=schedule "$file" > "$folder/s.sched" 2> /dev/null || continue
	"$tsrc" --target=cuda --dump=loops "$file" > "$folder/policy"
	"$tsrc" --target=cuda --policy=none --schedule="$folder/s.sched" --dump=loops "$file" > "$folder/asked"
	cmp "$folder/policy" "$folder/asked" && echo "$(basename "$file"): the same loops" || status=1
done
exit $status
