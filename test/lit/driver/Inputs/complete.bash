# complete.bash SCRIPT WORD...: what bash offers for the last word, on one line.
source "$1"
shift
compopt() { :; }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_$1"
echo "${COMPREPLY[@]}"
