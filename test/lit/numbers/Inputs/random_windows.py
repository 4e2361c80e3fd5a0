"""Random windows over one to three axes, of known and unknown size: strides, dilations, offsets, paddings; with channels,
depthwise, grouped, plain, and as pooling. tsrc --verify=run holds every back end against the interpreter."""
import random
import subprocess
import sys
import tempfile

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
    forms, kernels = ", ".join(a[0] for a in axes), ", ".join(a[1] for a in axes)
    sizes, extents = ", ".join(a[3] for a in axes), ", ".join(str(a[2]) for a in axes)
    outs, c, f = ", ".join("xyz"[:len(axes)]), r.choice([1, 3, 8, 17]), r.choice([1, 5, 16, 33, 48])
    dtype, unknown = r.choice(["f32", "f32", "f32", "f64", "bf16", "i8"]), r.random() < 0.5
    batch, b = ("n, ", "b, ") if unknown else ("", "")
    more, weight, inner, result = r.choice([
        (", %d" % c, "%s, %d, %d" % (extents, c, f), (", c", ", c, f"), outs + ", f"),
        (", %d" % c, "%s, %d, %d" % (extents, c, f), (", c", ", c, f"), "f, " + outs),
        (", %d" % f, "%s, %d" % (extents, f), (", c", ", c"), outs + ", c"),
        (", 2, %d" % c, "%s, 2, %d, %d" % (extents, c, f), (", g, c", ", g, c, f"), outs + ", g, f"),
        ("", extents, ("", ""), outs)])
    text = "".join(a[4] for a in axes) + ("dim n\n" if unknown else "")
    text += "input p : %s [%s%s%s]\n" % (dtype, batch, sizes, more)
    if r.random() < 0.2 and inner[0] in ("", ", c"):
        window = 'reduce(%s, "%s%s%s => %s%s%s", p)' % (r.choice(["max", "min", "sum"]), b, forms, inner[0], b, outs, inner[0])
    else:
        text += "input w : %s [%s]\n" % (dtype, weight)
        window = 'einsum("%s%s%s; %s%s => %s%s", p, w)' % (b, forms, inner[0], kernels, inner[1], b, result)
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
        run = subprocess.run([TSRC, "--verify=run", "-O1", "-Wno-dims-meet", "-march=" + march, source.name],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        agrees = run.stdout.count("agrees") == 2 or "skipped" in run.stdout
        assert run.returncode == 0 and agrees, "trial %d\n%s%s" % (trial, program(random.Random(trial)), run.stdout)
print("%d programs of windows agree" % count)
