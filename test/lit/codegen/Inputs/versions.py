"""versions.py "COMPILER" FILE STANDARD...: FILE has no warning in any of these versions of its language."""
import subprocess
import sys

for standard in sys.argv[3:]:
    subprocess.run(sys.argv[1].split() + ["-std=" + standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                                          sys.argv[2]], check=True)
