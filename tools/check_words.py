"""Names that stand where the field has a term do not come back: check_words.py ROOT

Reads the identifiers of FOLDERS and the names of their files, splits them at _ and capitals, and lists those with a part
in TERMS or two in PAIRS, unless ALLOWED says what else they are. docs/glossary.md has the words that are used."""
import glob
import os
import re
import sys

FOLDERS = ["tensor", "schedule", "lower", "loops", "transform", "codegen"]  # with the folders in them
TERMS = {"band": "row block", "region": "horizontal fusion", "flip": "gather", "turned": "transposed", "squared": "transposed",
         "sweep": "traversal", "tail": "remainder", "folded": "tree of lanes", "hidden": "masked", "told": "index_only",
         "early": "pre-check", "late": "sinkable", "triple": "reassociation", "produce": "inline", "apart": "strided, or independent",
         "beside": "contiguous, or independent", "fetch": "prefetch, or load", "fetched": "prefetched, or loaded",
         "fetches": "prefetches, or loads", "produced": "inlined", "kept": "invariant, stored or carried", "widen": "conversion"}
PAIRS = {"near_range": "fast path", "near_strip": "fast path", "has_near": "fast path", "math_near": "fast path",
         "wide_trips": "loop of vectorised functions", "has_few": "a small constant"}
TERMS.update(PAIRS)
ALLOWED = {
    "target_triple": "the name of a target, as compilers have it",
    "triple": "three factors of a product",
    "hidden": "the visibility of a symbol",
    "tail": "the last terms of a polynomial, or what a name ends with",
    "log_tail": "the last terms of a polynomial",
    "told_parts": "parts that a schedule asks for",
    "simd_widen": "the conversion to a wider type, as instructions are called",
    "simd_widen_bytes": "the conversion to a wider type, as instructions are called",
    "simd_widen_f16": "the conversion to a wider type, as instructions are called",
    "simd_widen_f8": "the conversion to a wider type, as instructions are called",
    "widen_f8_code": "the conversion to a wider type, as instructions are called",
    "jit_widen_by_steps": "the conversion to a wider type, as instructions are called",
    "math_widen": "the conversion to a wider type, as instructions are called",
}
part = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def names(path):
    with open(path, encoding="utf8") as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    text = re.sub(r'//[^\n]*|"(\\.|[^"\\\n])*"', '""', text)
    return set(re.findall(r"[A-Za-z_]\w*", text)) | {os.path.splitext(os.path.basename(path))[0]}


os.chdir(sys.argv[1])
bad, seen = 0, 0
for folder in FOLDERS:
    for path in sorted(glob.glob(folder + "/**/*.[ch]", recursive=True) + glob.glob(folder + "/**/*.def", recursive=True)):
        for name in sorted(names(path)):
            seen += 1
            parts = [p.lower() for p in part.findall(name)]
            coined = [p for p in parts + ["_".join(two) for two in zip(parts, parts[1:])] if p in TERMS]
            if coined and name.strip("_") not in ALLOWED:
                print("%s: %s: the term for '%s' is %s" % (path, name, coined[0], TERMS[coined[0]]))
                bad += 1
print("%-12s %4d names that stand where the field has a term, of %d" % ("names", bad, seen))
sys.exit(bad > 0)
