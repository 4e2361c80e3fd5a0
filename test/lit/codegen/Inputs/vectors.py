"""Prints which kernels of an assembly text, chunks included, hold no packed instruction on 256-bit registers."""
import re
import sys

kernels = {}
name = None
for line in open(sys.argv[1]):
    label = re.match(r"\w+__(?:k_(\w+)|p_(\w+)_\d+):", line)
    if label:
        name = label.group(1) or label.group(2)
        kernels.setdefault(name, 0)
    elif re.match(r"\t\.size", line):
        name = None
    elif name and re.search(r"\tv\w+p[sd]\t.*%ymm", line):
        kernels[name] += 1
for name, packed in kernels.items():
    if not packed:
        print("scalar:", name)
print("kernels:", len(kernels))
