"""Programs under many orders of their constraints: COUNT TSRC PROGRAM... Prints the last shape and the guards of each."""
import os
import re
import subprocess
import sys


def main():
    count, tsrc, programs = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    different = 0
    for program in programs:
        told = set()
        for order in range(count + 1):
            run = subprocess.run([tsrc, "--dump=shapes,guards", "--shuffle=%d" % order, program], capture_output=True,
                                 text=True, check=False)
            told.add((run.returncode, run.stdout))
        different += len(told) > 1
        lines = told.pop()[1].splitlines()
        shape = re.sub(" : f32", "", [line for line in lines if " : " in line][-1])
        guards = [re.sub(r"requires: | \(.*", "", line) for line in lines if line.startswith("requires")]
        print("%s: %s, %s" % (os.path.basename(program), shape, ", ".join(guards)))
    print("%d programs under %d orders: %d depend on it" % (len(programs), count, different))


if __name__ == "__main__":
    main()
