"""What is computed has the axes that an input would have: SEED COUNT.

Each generated program is compared with itself where every input `x` is used as `x + 0`, a tensor whose rows inference has
to close by itself: the same shapes, of everything that both have. Where a guard says that two sizes are equal, either
name may be chosen, so such programs are compared with their dims fixed.
"""
import re
import sys

from generate import Generator
from runner import tsrc

INPUT = re.compile(r"^input (\w+) *: (.*)$", re.M)


def computed(text):
    return INPUT.sub(lambda m: "input %s_given : %s\nlet %s = %s_given + 0" % (m[1], m[2], m[1], m[1]), text)


def shapes(text, *options):
    run = tsrc(text, "--dump=shapes,guards", *options)
    lines = dict(re.findall(r"^([\w.]+) : (.*)$", run.stdout, re.M))
    return run.returncode, lines, "must equal" in run.stdout, run.stderr


def main():
    seed, count = (int(a) for a in sys.argv[1:3])
    compared, different = 0, 0
    for trial in range(seed, seed + count):
        text = Generator(trial).program().text
        fixed = []
        given = shapes(text)
        if given[2]:
            fixed = ["-D%s=%d" % (name, 2 * 3 * 4) for name in re.findall(r"^dim (\w+)$", text, re.M)]
            given = shapes(text, *fixed)
        if given[0] != 0:
            continue
        made = shapes(computed(text), *fixed)
        compared += 1
        wrong = [name for name in given[1] if made[1].get(name) != given[1][name]]
        if made[0] != 0 or wrong:
            different += 1
            print("seed %d: %s\n%s\n%s" % (trial, wrong, computed(text), made[3]))
    print("%d programs: %d have other shapes where their inputs are computed" % (compared, different))


if __name__ == "__main__":
    main()
