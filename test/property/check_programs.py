"""Generated programs against the reference: SEED COUNT. Shapes under every assignment, symbolic and fixed, the checker's report,
numbers of the compiled module at several values of the dims, 0 and 1 among them."""
import os
import re
import sys

import numpy as np

import data_forms
from generate import Generator
from reference import ASSIGNMENTS, DIMS, RUNS, parse_shape
from runner import tsrc

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lit", "numbers", "Inputs"))
from nibbles import RANGES, packed  # noqa: E402
from tsrlib import DTYPES, CompileError, Model  # noqa: E402

UNSCHEDULED = 4  # of so many programs one is compiled without a schedule too


def shown_shapes(program, *options):
    """The shapes by name, and what is wrong with the run."""
    run = tsrc(program.text, "--dump=shapes", *options)
    if run.returncode != 0:
        return None, "status %d\n%s" % (run.returncode, run.stderr)
    shown = {}
    for line in run.stdout.splitlines():
        name, _, rest = line.partition(" : ")
        shown[name] = parse_shape(rest.partition(" ")[2])
    return shown, None


def wrong_shapes(program):
    """What differs between the dump and what is expected; dims that are not declared have no say."""
    shown, wrong = shown_shapes(program)
    if wrong:
        return wrong
    for name, want in program.shapes.items():
        if name not in shown:
            return "no shape of %s" % name
        if shown[name] != want:
            return "%s is %s, expected %s (under dims of %s)" % (name, shown[name], want, ASSIGNMENTS)
    return None


def wrong_fixed(program):
    """The same with every dim fixed on the command line."""
    for k, assignment in enumerate(RUNS if program.dims else ()):
        fixed = dict(zip(DIMS, assignment))
        shown, wrong = shown_shapes(program, *("-D%s=%d" % (d, fixed[d]) for d in program.dims))
        if wrong:
            return "with %s: %s" % (fixed, wrong)
        for name, want in program.shapes.items():
            if [[a[k] for a in row] for row in shown[name]] != [[a[k] for a in row] for row in want]:
                return "%s is %s with %s, expected %s" % (name, shown[name], fixed, want)
    return None


def wrong_numbers(program, *options):
    try:
        model = Model(program.text, options)
    except CompileError as error:
        return str(error)
    taken = re.findall(r"\w+(?=[,)])", re.search(r"int m_forward\(.*", model.header).group())
    for k, assignment in enumerate(RUNS):
        inputs = [t for t in program.inputs if t.text in taken]
        dims = [v for d, v in zip(DIMS, assignment) if d in taken]
        outputs = [(t.shape(k), DTYPES[t.dtype]) for t in program.outputs]
        state = model.init() if "m_state_size" in model.header else None
        arrays = [stored(t.values[k], t.dtype) for t in inputs]
        try:
            got = model.forward(dims, arrays, outputs, state)
        except RuntimeError as error:
            return "dims %s: %s" % (assignment, error)
        for tensor, value in zip(program.outputs, got):
            if not close(value, tensor.values[k]):
                return "dims %s: %s is\n%s\nexpected\n%s" % (assignment, tensor.text, value, tensor.values[k])
        if not program.dims:
            break
    return None


def stored(values, dtype):
    """As they lie in memory."""
    if dtype in RANGES:
        return packed(values)
    if dtype in data_forms.SMALL:
        values = np.vectorize(data_forms.SMALL[dtype].get, otypes=[np.uint8])(values) if values.size else np.zeros(values.shape)
    return values.astype(DTYPES[dtype])


def close(got, want):
    scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
    return np.allclose(got, want, rtol=2e-4, atol=2e-4 * scale, equal_nan=True)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    numbers = "--shapes" not in sys.argv
    failures = 0
    for trial in range(seed, seed + count):
        program = Generator(trial, more=data_forms.FORMS).program()
        verify = tsrc(program.text, "--verify")
        wrong = (wrong_shapes(program) or wrong_fixed(program) or (verify.returncode and verify.stderr)
                 or (numbers and wrong_numbers(program))
                 or (numbers and trial % UNSCHEDULED == 0 and wrong_numbers(program, "--policy=none")))
        if wrong:
            failures += 1
            print("seed %d\n%s%s\n" % (trial, program.text, wrong))
    print("%d of %d programs agree with the reference" % (count - failures, count))


if __name__ == "__main__":
    main()
