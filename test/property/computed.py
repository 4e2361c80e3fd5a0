"""What is computed has the axes that an input would have: SEED COUNT.

Each generated program is compared with itself where every input `x` is used as `x + 0`, a tensor whose rows inference has
to close by itself: the same shapes, of everything that both have. So is each program in which parameters stand for
some of the operands, and each in which an axis of an input is 1, where it has shapes; where sizes do not agree in it,
they do not either when its inputs are computed. (That a reshape has one element, and broadcasts, is known too late of
what is computed.) Where a guard says that two sizes are equal, either name may be chosen, so such programs are compared
with their dims fixed.
"""
import random
import re
import sys

from generate import Generator
from runner import codes, tsrc

OPERAND = re.compile(r"(, |\()(x\d+)(?=[,)])|()(x\d+)(?= [-+*])")
AXIS = re.compile(r"\w+( *[*+/] *\w+)*")
INPUT = re.compile(r"^input (\w+) *: (.*)$", re.M)


def computed(text):
    return INPUT.sub(lambda m: "input %s_given : %s\nlet %s = %s_given + 0" % (m[1], m[2], m[1], m[1]), text)


def with_parameters(text, draw):
    def operand(m):
        return "%s{p%d}" % (m[1] or "", draw.randrange(10 ** 6)) if draw.random() < 0.35 else m[0]
    return "".join(line if line.startswith(("dim", "input")) else OPERAND.sub(operand, line)
                   for line in text.splitlines(keepends=True))


def with_one(text, draw):
    """An axis of an input is 1."""
    axes = [m for line in INPUT.finditer(text) for m in AXIS.finditer(text, text.index("[", line.start()), line.end())]
    if not axes or "reshape" in text:
        return text
    at = draw.choice(axes)
    return text[:at.start()] + "1" + text[at.end():]


def sizes_disagree(text, *options):
    return set(codes(tsrc(text, "-fsyntax-only", *options, "-fdiagnostics-format=json").stderr)) == {"E0301"}


def shapes(text, *options):
    run = tsrc(text, "--dump=shapes,guards", *options)
    lines = dict(re.findall(r"^([\w.]+) : (.*)$", run.stdout, re.M))
    return run.returncode, lines, "must equal" in run.stdout, run.stderr


def compare(text, trial):
    """Has the program shapes, do its sizes disagree, and is that otherwise where its inputs are computed?"""
    fixed = []
    given = shapes(text)
    if given[2]:
        fixed = ["-D%s=%d" % (name, 2 * 3 * 4) for name in re.findall(r"^dim (\w+)$", text, re.M)]
        given = shapes(text, *fixed)
    fails = given[0] != 0
    if fails and not sizes_disagree(text, *fixed):
        return False, False, False
    made = shapes(computed(text), *fixed)
    wrong = [name for name in given[1] if made[1].get(name) != given[1][name]]
    if (made[0] != 0) != fails or wrong:
        print("seed %d: %s\n%s\n%s" % (trial, wrong, computed(text), given[3] + made[3]))
    return not fails, fails, (made[0] != 0) != fails or bool(wrong)


def main():
    seed, count = (int(a) for a in sys.argv[1:3])
    compared, refused, different = 0, 0, 0
    for trial in range(seed, seed + count):
        text = Generator(trial).program().text
        draw = random.Random(trial)
        for program in (text, with_parameters(text, draw), with_one(text, draw)):
            has, fails, differs = compare(program, trial)
            compared += has
            refused += fails
            different += differs
    print("%d programs, %d of sizes that disagree: %d are otherwise where their inputs are computed"
          % (compared + refused, refused, different))


if __name__ == "__main__":
    main()
