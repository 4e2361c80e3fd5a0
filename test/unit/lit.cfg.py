# Unit tests: each test_*.c is one program of cmocka tests; one exit status each.
import os

import lit.formats
import lit.Test
import lit.util


class UnitFormat(lit.formats.FileBasedTest):
    def execute(self, test, lit_config):
        name = os.path.splitext(os.path.basename(test.getSourcePath()))[0]
        program = os.path.join(build, "test", "unit", name)
        out, err, status = lit.util.executeCommand(
            [program], cwd=root, env=test.config.environment, timeout=lit_config.maxIndividualTestTime)
        if status == 0:
            return lit.Test.PASS, ""
        return lit.Test.FAIL, "%s\nexit status %d\n%s%s" % (program, status, out, err)


config.name = "unit"
config.test_format = UnitFormat()
config.suffixes = [".c"]
config.test_source_root = os.path.dirname(__file__)
root = os.path.abspath(os.path.join(config.test_source_root, "..", ".."))
config.excludes = [f for f in os.listdir(config.test_source_root) if not f.startswith("test_")]
build = os.environ.get("TSR_BUILD", os.path.join(root, "build"))
config.test_exec_root = os.path.join(build, "test", "unit")
config.environment["LSAN_OPTIONS"] = "suppressions=%s:print_suppressions=0" % os.path.join(
    root, "test", "lsan.supp")
config.environment["TSR_BUILD"] = build
