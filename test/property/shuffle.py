"""The order of the constraints changes nothing: PROGRAMS and one edit of each, under SEEDS orders: SEED COUNT SEEDS.

The same shapes, guards and index maps for every seed; where there are errors, the same messages.
"""
import sys

from generate import Generator
from mutate import mutated
from runner import codes, tsrc


def told(text, order):
    """What one order gives: the dumps, or the codes of the errors."""
    options = ["--shuffle=%d" % order] if order else []
    run = tsrc(text, "--dump=shapes,guards,proj", "-fdiagnostics-format=json", *options)
    return run.returncode, run.stdout if run.returncode == 0 else codes(run.stderr)


def main():
    seed, count, orders = (int(a) for a in sys.argv[1:4])
    programs, failing, different = 0, 0, 0
    for trial in range(seed, seed + count):
        mutation = mutated(trial)
        for text in [Generator(trial).program().text] + ([mutation[1]] if mutation else []):
            programs += 1
            first = told(text, 0)
            failing += first[0] == 1
            for order in range(1, orders + 1):
                other = told(text, order)
                if other != first:
                    different += 1
                    print("seed %d, order %d\n%s%s\n%s\n" % (trial, order, text, first, other))
                    break
    print("%d programs, %d of them with errors, under %d orders: %d depend on the order"
          % (programs, failing, orders, different))


if __name__ == "__main__":
    main()
