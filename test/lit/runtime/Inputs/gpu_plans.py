"""gpu_plans.py TSR FILE FOLDER COUNT: so many changes of a plan, at random: lines that are missing, twice or cut, numbers and
bytes that are others, the file cut anywhere. Each is run, or refused with a message: exit 0 or 1."""
import os
import random
import re
import subprocess
import sys

TSR, FILE, FOLDER, COUNT = *sys.argv[1:4], int(sys.argv[4])
TEXT = open(FILE, encoding="utf8").read()
NUMBERS = ["0", "1", "-1", "3", "4096", "2147483648", "9223372036854775807", "9223372036854775808", "1" * 30]
random.seed(1)


def changed():
    lines = TEXT.splitlines(keepends=True)
    i = random.randrange(1, len(lines) - 2)
    way = random.randrange(6)
    if way == 0:
        del lines[i]
    elif way == 1:
        lines.insert(random.randrange(1, len(lines)), lines[i])
    elif way == 2:
        lines[i] = lines[i][:random.randrange(len(lines[i]))] + "\n"
    elif way == 3:
        found = list(re.finditer(r"\d+", lines[i]))
        if found:
            at = random.choice(found)
            lines[i] = lines[i][:at.start()] + random.choice(NUMBERS) + lines[i][at.end():]
    elif way == 4:
        at = random.randrange(len(lines[i]) - 1)
        lines[i] = lines[i][:at] + random.choice(" ,()+-*/%:0aq\t\xff") + lines[i][at + 1:]
    else:
        return TEXT[:random.randrange(len(TEXT))]
    return "".join(lines)


def call(*words):
    return subprocess.run([TSR, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)


path = os.path.join(FOLDER, "changed.ptx")
refused = ended = 0
for number in range(COUNT):
    with open(path, "w", encoding="utf8") as out:
        out.write(changed())
    done = call("run", path, "x=range", "at=range", "n=6", "k=4")
    refused += done.returncode == 1
    if done.returncode not in (0, 1) or (done.returncode == 1) != (b"tsr: error: " in done.stderr):
        ended += 1
        print("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-1500:]))
        os.rename(path, "%s.%d" % (path, number))
print("%d changed plans, %d refused, %d end otherwise" % (COUNT, refused, ended))
