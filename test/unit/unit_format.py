"""A lit format: every test_*.c is a program in the build folder; its exit status is the result."""
import os

import lit.formats
import lit.Test
import lit.util


class UnitFormat(lit.formats.FileBasedTest):
    def __init__(self, root, build):
        self.root, self.build = root, build

    def execute(self, test, lit_config):
        name = os.path.splitext(os.path.basename(test.getSourcePath()))[0]
        program = os.path.join(self.build, "test", "unit", name)
        out, err, status = lit.util.executeCommand(
            [program], cwd=self.root, env=test.config.environment, timeout=lit_config.maxIndividualTestTime)
        if status == 0:
            return lit.Test.PASS, ""
        return lit.Test.FAIL, "%s\nexit status %d\n%s%s" % (program, status, out, err)
