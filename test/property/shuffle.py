"""The order of the constraints changes nothing: SEED COUNT SEEDS: generated programs and one edit of each, the same with
computed inputs and with parameters, specifications of every kind of axis, and totals and systems of relations.

The same shapes, guards and index maps for every seed; where there are errors, the same messages.
"""
import random
import sys

import systems
import totals
from computed import computed, with_parameters
from generate import Generator
from mutate import mutated
from runner import codes, tsrc

import indexed  # last: it finds the modules of another folder first


def told(text, order):
    """What one order gives: the dumps, or the codes of the errors."""
    options = ["--shuffle=%d" % order] if order else []
    run = tsrc(text, "--dump=shapes,guards,proj", "-fdiagnostics-format=json", *options)
    return run.returncode, run.stdout if run.returncode == 0 else codes(run.stderr)


def texts(trial):
    text, mutation = Generator(trial).program().text, mutated(trial)
    made = [text, computed(text), with_parameters(text, random.Random(trial)), indexed.Program(trial).text(),
            systems.Program(trial).text(), totals.Program(trial).text()]
    return [text for text in made + [mutation and mutation[1]] if text]


def main():
    seed, count, orders = (int(a) for a in sys.argv[1:4])
    programs, failing, different = 0, 0, 0
    for trial in range(seed, seed + count):
        for text in texts(trial):
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
