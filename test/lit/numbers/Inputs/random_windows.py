"""Random windows over one to three axes, of known and unknown size: strides, dilations, offsets, paddings; with channels,
depthwise, grouped, plain, and as pooling, in all rows. tsrc --verify=run holds every back end against the projections."""
import random
import subprocess
import sys
import tempfile

from tsrlib import draw_cuts, in_rows

TSRC, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def axis(r, name, most):
    """(its form in the specification, the kernel's letter, its size, the input's size, a declaration)"""
    stride, dilation, kernel = r.choice([1, 1, 2, 3, 4]), r.choice([1, 1, 2, 3]), r.choice([1, 2, 3, 5, 7] if most > 5 else [2, 3])
    mark, known = r.choice(["=+", "=+", "=+?", "<+", "<+?"]), r.random() < 0.6
    offset = r.randrange(1, 4) if mark[0] == "<" and r.random() < 0.3 else 0
    form = "%d*%s %s %s%d*k%s" % (stride, name, mark, "%d + " % offset if offset else "", dilation, name)
    span, out = 1 + (kernel - 1) * dilation + offset, r.choice([n for n in (1, 2, 5, 7, 8, 13, 14, 28) if n <= most])
    if known:
        size = stride * out if mark[0] == "=" else stride * (out - 1) + span
        rest = r.randrange(stride) if mark[-1] == "?" else 0
        return form, "k" + name, kernel, str(max(1, size - rest) if mark[0] == "=" else size + rest), ""
    dim = "d" + name
    if mark[-1] == "?":
        return form, "k" + name, kernel, dim, "dim %s >= %d\n" % (dim, span + r.choice([0, most]))
    least = r.choice([1, min(most, 20)])
    size = "%d*%s" % (stride, dim) if mark == "=+" else "%d*%s + %d" % (stride, dim, span)
    return form, "k" + name, kernel, size, "dim %s >= %d\n" % (dim, least)


def program(r):
    naxes = r.choice([1, 1, 2, 2, 2, 3])
    axes = [axis(r, "xyz"[i], (28, 14, 5)[naxes - 1]) for i in range(naxes)]
    forms, kernels, sizes, extents = ([a[i] for a in axes] for i in (0, 1, 3, 2))
    outs, c, f = list("xyz"[:len(axes)]), r.choice([1, 3, 8, 17]), r.choice([1, 5, 16, 33, 48])
    dtype, unknown = r.choice(["f32", "f32", "f32", "f64", "bf16", "i8"]), r.random() < 0.5
    batch, b = (["n"], ["b"]) if unknown else ([], [])
    # channels of p and w by letter, and the result
    in_p, in_w, result = r.choice([("c", "cf", outs + ["f"]), ("c", "cf", ["f"] + outs), ("f", "f", outs + ["f"]),
                                   ("gc", "gcf", outs + ["g", "f"]), ("", "", outs)])
    channels = {"c": c, "f": f, "g": 2}

    def cut(axes):
        return draw_cuts(r.randrange, len(axes)) if r.random() < 0.7 else (0, len(axes))
    p, w = b + forms + list(in_p), kernels + list(in_w)
    rows_p, rows_w = cut(p), cut(w)
    text = "".join(a[4] for a in axes) + ("dim n\n" if unknown else "")
    text += "input p : %s [%s]\n" % (dtype, in_rows(batch + sizes + [channels[a] for a in in_p], rows_p))
    if r.random() < 0.2 and len(in_p) < 2:
        y = b + outs + list(in_p)
        window = 'reduce(%s, "%s => %s", p)' % (r.choice(["max", "min", "sum"]), in_rows(p, rows_p), in_rows(y, cut(y)))
    else:
        y = b + result
        text += "input w : %s [%s]\n" % (dtype, in_rows(extents + [channels[a] for a in in_w], rows_w))
        window = 'einsum("%s; %s => %s", p, w)' % (in_rows(p, rows_p), in_rows(w, rows_w), in_rows(y, cut(y)))
    captured = ", ".join("%s = %d" % (a[1], a[2]) for a in axes)
    return text + "output q = %s(%s with (%s))\n" % (r.choice(["", "relu"]), window, captured)


with tempfile.NamedTemporaryFile("w", suffix=".tsr") as source:
    for trial in range(seed, seed + count):
        r = random.Random(trial)
        source.seek(0)
        source.truncate()
        source.write(program(r))
        source.flush()
        march = r.choice(["native", "native", "x86-64", "x86-64-v3"])
        run = subprocess.run([TSRC, "--verify=run", "-O0", "-Wno-dims-meet", "-march=" + march, source.name],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        agrees = "c: agrees" in run.stdout or "left out" in run.stdout
        assert run.returncode == 0 and agrees, "trial %d\n%s%s" % (trial, program(random.Random(trial)), run.stdout)
print("%d programs of windows agree" % count)
