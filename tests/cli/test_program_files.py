# SPDX-License-Identifier: MIT
"""Programs whose file is mapped, started or kept in another way than most: reports name it and its functions all the
same."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HANGDOG_SOURCE"], "tests/real"))
from support_run import SOURCE, RealCase, main_side_by_side, symbolicated  # noqa: E402 pylint: disable=wrong-import-position

class Files(RealCase):
    def run_program(self, *argv, env=None):
        program = self.program(argv, env=env)
        program.wait()
        return program

    def the_hang(self, program):
        hangs = program.reports("hang")
        self.assertTrue(hangs, program.errors)
        hang = max(hangs, key=lambda h: h["duration_ns"])  # a busy machine may make others
        self.assert_valid(hang)
        return symbolicated(program, hang)

    def test_a_program_with_large_holes(self):
        """Of more than a megabyte, between its segments: for pages that are larger than this machine's."""
        path = self.folder() + "/holes"
        subprocess.run(["gcc", "-O1", "-g", "-Wl,-z,max-page-size=0x400000", "-o", path,
                        SOURCE + "/tests/scenario/programs/plain-hang.c"], check=True)
        hang = self.the_hang(self.run_program(path))
        self.assertIn("build_id", hang["app"])
        self.assert_in_hot_stack("hot_function", hang)


if __name__ == "__main__":
    main_side_by_side()
