"""What `a @ b` is told to be is what NumPy's matmul makes of the same arrays."""
import os
import re
import subprocess
import sys

import numpy as np

# declarations, the product, shapes of its operands in storage order, the repair's head where it is no einsum
CASES = [
    ("input x : [n, 4], w : [4, 5]", "x @ w", (3, 4), (4, 5)),
    ("input x : [n | 4], w : [4, 5]", "x @ w", (3, 4), (4, 5)),
    ("input x : [n | 4], w : [4, 5]", "(relu(x) + 1) @ w", (3, 4), (4, 5)),
    ("input x : [4], w : [4, 5]", "x @ w", (4,), (4, 5)),
    ("input x : [n, 4], w : [4]", "x @ w", (3, 4), (4,)),
    ("input x : [4], w : [4]", "x @ w", (4,), (4,)),
    ("input x : [n, 2, 4], w : [4, 5]", "x @ w", (3, 2, 4), (4, 5)),
    ("input x : [n, 2, 4], w : [n, 4, 5]", "x @ w", (3, 2, 4), (3, 4, 5)),
    ("input x : [n | 2, 4], w : [n | 4, 5]", "x @ w", (3, 2, 4), (3, 4, 5)),
    ("input x : [7, n, 2, 4], w : [n, 4, 5]", "x @ w", (7, 3, 2, 4), (3, 4, 5)),
    ("input x : [n, 4], w : [5, 4]", "x @ w.T", (3, 4), (5, 4)),
    ("input x : [n, 4]", "x.T @ x", (3, 4), None),
    ("input x : [n | 4]", "x.T @ x", (3, 4), None),
    ("input x : [n | 4]", "x @ x.T", (3, 4), None),
    ("input x : [n | 4], w : [m | 4]", "x @ w.T", (3, 4), (6, 4)),
    ("input x : [n | 4], w : [4 -> 5]", "x @ w", None, None, "w * x"),
    ("input x : [4], w : [4 -> 5]", "w @ x", None, None, "w * x"),
]

tsrc, folder = sys.argv[1:]
rng = np.random.default_rng(1)
for declared, product, a, b, *whole in CASES:
    path = os.path.join(folder, "product.tsr")
    second = "dim m\n" if "[m" in declared else ""
    with open(path, "w") as file:
        file.write(f"dim n\n{second}{declared}\noutput y = {product}\n")
    told = subprocess.run([tsrc, "-fsyntax-only", path], capture_output=True, text=True).stderr
    repairs = re.findall(r"help: .*\n.*output y = (.*)\n", told)
    assert len(repairs) == 1, (declared, product, told)
    if whole:
        assert repairs == whole, (declared, product, repairs)
        continue
    left, right = product.split(" @ ")
    names = ", ".join(re.sub(r"^\((.*)\)$", r"\1", side.removesuffix(".T")) for side in (left, right))
    spec = re.fullmatch(r'einsum\("(.*)", (.*)\)', repairs[0])
    assert spec and spec[2] == names, (declared, product, repairs)
    x = rng.standard_normal(a)
    w = x if b is None else rng.standard_normal(b)
    written = re.sub(r"[ |,]", "", spec[1]).replace(";", ",").replace("=>", "->")
    want = (x.T if left.endswith(".T") else x) @ (w.T if right.endswith(".T") else w)  # of the arrays, whatever they are
    assert np.allclose(np.einsum(written, x, w), want), (declared, product, repairs)
print(f"{len(CASES)} products as NumPy's")
