"""Gradients of random programs against differences: gradients.py TSRC SEED CHECKED COMPILED

Programs are those of nested.py: forms within forms, of every dtype, over one shape. What they make is
weighed and added up, and gradients are taken with respect to what is read and what has a name on the way, now and then once
more of what comes out. --check-grad holds them against differences in the reference, which has no part in how they are made;
of some programs --verify=run holds loops and back ends against the reference, too."""
import collections
import re
import subprocess
import sys
import tempfile

import nested

SECOND = 0.3  # of programs: gradients of gradients
FORMS = nested.FORMS
FLOAT = re.compile(r"^(?:input|param) (\w+) : (?:(\w+) )?\[", re.M)


def repeated(d, h, depth):
    """Steps known to the compiler are written out; nothing is kept of each."""
    state = d.name("h")
    return "iterate(%d, %s = %s) { %s }" % (d.pick(1, 2), state, d.value(h, depth - 1), nested.body_of(d, [state], None, depth - 1))


def stopped(d, h, depth):
    return "%s %s stop(%s)" % (d.value(h, depth), d.pick("+", ".*"), d.value(h, depth - 1))


def recomputed(d, h, depth):
    return "recompute(%s)" % d.value(h, depth)


def gradient_inside(d, h, depth):
    """A gradient of a total with respect to a part of it, of that part's shape."""
    if d.plain:
        return None
    part, total = d.name("v"), d.name("e")
    d.lines.append("let %s = %s" % (part, d.value([], depth)))
    d.lines.append("let %s = total(%s)" % (total, d.value([part], depth)))
    return "%s(grad(%s, %s))" % (d.dtype, total, part)


def program(seed):
    d = nested.Draw(seed)
    d.exact, d.dtype = False, d.pick("f32", "f64")
    nested.FORMS = FORMS + [repeated, stopped, recomputed, gradient_inside]
    axes = d.axes
    made = d.name("r")
    d.lines.append("let %s = %s" % (made, d.value([], d.pick(1, 2, 2, 3))))
    weights = d.computed(d.input(axes.shape()))
    d.lines.append("let y = total(%s .* %s)" % (made, weights))
    to = [name for name, dtype in FLOAT.findall("\n".join(d.lines)) if (dtype or "f32")[0] in "bf" and dtype != "bool"]
    to += [made] * d.chance(0.5)
    outputs = ["output d_%s = grad(y, %s)" % (name, name) for name in to]
    if to and d.chance(SECOND):
        first = d.pick(*to)
        outputs.append("let again = total(sin(grad(y, %s)))" % first)
        outputs += ["output e_%s = grad(again, %s)" % (name, name) for name in d.random.sample(to, min(len(to), 2))]
    if d.chance(0.3):
        outputs.append("output v = vjp(%s, %s, tanh(%s))" % (made, d.pick(*to, made), made))
    for name in d.random.sample(to, min(len(to), 2)) if d.chance(0.5) else []:
        outputs.append("output t_%s = jvp(%s, %s, cos(%s))" % (name, made, name, name))
        if d.chance(SECOND):
            outputs.append("output tt_%s = %s" % (name, d.pick("grad(total(t_%s), %s)", "jvp(t_%s, %s, 1)") % (name, name)))
    total = 'fn total(x) = sum("%s => ", x)' % axes.text()
    return "\n".join(["dim %s" % dim for dim in sorted(d.dims)] + [total] + d.lines + outputs) + "\n"


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None


def checked(tsrc, seed, path, option):
    """What is wrong, or the code of what is refused; and how many gradients agree."""
    text = program(seed)
    with open(path, "w", encoding="utf8") as file:
        file.write(text)
    made = run([tsrc, "-Wno-all", option, path])
    if made is None:
        return "no end\n" + text, 0
    codes = re.findall(r"error: .*\[(E\d+)\]", made.stderr)
    if made.returncode == 1 and codes and codes[0] not in ("E0520", "E0521", "E0527") and "bug:" not in made.stderr:
        return codes[0], 0
    agree = len(re.findall(r"agrees, ", made.stdout))
    return (made.returncode and "status %d\n%s%s" % (made.returncode, text, (made.stdout + made.stderr)[-3000:])), agree


def main():
    tsrc, seed, check, compiled = sys.argv[1], *map(int, sys.argv[2:5])
    wrong, agree, refused = 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        runs = [(seed + i, "--check-grad") for i in range(check)] + [(seed + i, "--verify=run") for i in range(compiled)]
        for number, option in runs:
            said, n = checked(tsrc, number, folder + "/p.tsr", option)
            agree += n if option == "--check-grad" else 0
            if said and re.fullmatch(r"E\d+", said):
                refused[said] += 1
            elif said:
                wrong += 1
                print("WRONG seed %d, %s: %s" % (number, option, said))
    print("%d programs, %d gradients agree, %d are wrong; %s" % (len(runs) - sum(refused.values()), agree, wrong, dict(refused)))


if __name__ == "__main__":
    main()
