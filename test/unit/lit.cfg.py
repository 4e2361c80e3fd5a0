# Unit tests: each test_*.c is one program of cmocka tests.
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from unit_format import UnitFormat  # noqa: E402  (a module of its own: lit's workers pickle it)

root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
build = os.environ.get("TSR_BUILD", os.path.join(root, "build"))
config.name = "unit"
config.test_format = UnitFormat(root, build)
config.suffixes = [".c"]
config.test_source_root = os.path.dirname(__file__)
config.excludes = [f for f in os.listdir(config.test_source_root) if not f.startswith("test_")]
config.test_exec_root = os.path.join(build, "test", "unit")
config.environment["LSAN_OPTIONS"] = "suppressions=%s:print_suppressions=0" % os.path.join(
    root, "test", "lsan.supp")
config.environment["ASAN_OPTIONS"] = "handle_sigill=1"
config.environment["TSR_BUILD"] = build
config.environment["XDG_CACHE_HOME"] = "/dev/null"  # no cache
