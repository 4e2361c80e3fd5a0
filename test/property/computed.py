"""What is computed has the axes that an input would have: SEED COUNT.

Each generated program is compared with itself where every input `x` is used as `x + 0`, a tensor whose rows inference has
to close by itself: the same shapes, of everything that both have. So is each program in which parameters stand for
some of the operands, where it has shapes. Where a guard says that two sizes are equal, either
name may be chosen, so such programs are compared with their dims fixed.
"""
import random
import re
import sys

from generate import Generator
from runner import tsrc

OPERAND = re.compile(r"(, |\()(x\d+)(?=[,)])|()(x\d+)(?= [-+*])")
INPUT = re.compile(r"^input (\w+) *: (.*)$", re.M)


def computed(text):
    return INPUT.sub(lambda m: "input %s_given : %s\nlet %s = %s_given + 0" % (m[1], m[2], m[1], m[1]), text)


def with_parameters(text, draw):
    def operand(m):
        return "%s{p%d}" % (m[1] or "", draw.randrange(10 ** 6)) if draw.random() < 0.35 else m[0]
    return "".join(line if line.startswith(("dim", "input")) else OPERAND.sub(operand, line)
                   for line in text.splitlines(keepends=True))


def shapes(text, *options):
    run = tsrc(text, "--dump=shapes,guards", *options)
    lines = dict(re.findall(r"^([\w.]+) : (.*)$", run.stdout, re.M))
    return run.returncode, lines, "must equal" in run.stdout, run.stderr


def compare(text, trial):
    """Two booleans: has the program shapes, and are they others where its inputs are computed?"""
    fixed = []
    given = shapes(text)
    if given[2]:
        fixed = ["-D%s=%d" % (name, 2 * 3 * 4) for name in re.findall(r"^dim (\w+)$", text, re.M)]
        given = shapes(text, *fixed)
    if given[0] != 0:
        return False, False
    made = shapes(computed(text), *fixed)
    wrong = [name for name in given[1] if made[1].get(name) != given[1][name]]
    if made[0] != 0 or wrong:
        print("seed %d: %s\n%s\n%s" % (trial, wrong, computed(text), made[3]))
    return True, made[0] != 0 or bool(wrong)


def main():
    seed, count = (int(a) for a in sys.argv[1:3])
    compared, different = 0, 0
    for trial in range(seed, seed + count):
        text = Generator(trial).program().text
        for program in (text, with_parameters(text, random.Random(trial))):
            has, differs = compare(program, trial)
            compared += has
            different += differs
    print("%d programs: %d have other shapes where their inputs are computed" % (compared, different))


if __name__ == "__main__":
    main()
