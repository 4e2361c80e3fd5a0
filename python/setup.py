"""The package, with the binaries of the source tree around it where they are built: tsrc, libtsr, the .tsr library.

Without them it is pure Python and finds what is installed. TSR_BUILD names another folder than ../build.
"""

import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("TSR_BUILD", HERE.parent / "build"))
BINARIES = {"tsrc": "bin/tsrc", "tsr": "bin/tsr", "libtsr.so": "lib/libtsr.so"}
BUILT = all((BUILD / name).exists() for name in BINARIES)


class BuildWithBinaries(build_py):
    def run(self):
        super().run()
        if not BUILT:
            return
        files = [(BUILD / name, place) for name, place in BINARIES.items()]
        files += [(path, f"share/tsr/lib/{path.name}") for path in sorted((HERE.parent / "lib").glob("*.tsr"))]
        for source, place in files:
            target = Path(self.build_lib, "tsr", place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


class WheelOfThisMachine(bdist_wheel):
    """The binaries are this machine's; the Python is any."""

    def get_tag(self):
        tag = super().get_tag()
        return ("py3", "none", tag[2]) if BUILT else tag


class WithBinaries(Distribution):
    def has_ext_modules(self):
        return BUILT


setup(distclass=WithBinaries, cmdclass={"build_py": BuildWithBinaries, "bdist_wheel": WheelOfThisMachine})
