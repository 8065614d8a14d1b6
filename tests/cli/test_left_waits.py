# SPDX-License-Identifier: MIT
"""What hangs after a wait that was left by cancellation or by another context is reported."""

import glob
import json
import os
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, environment, main

PROGRAM = os.path.join(BUILD, "tests/programs/left-waits")


class LeftWaits(unittest.TestCase):
    def reports_one(self, what):
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        ended = subprocess.run([HANGDOG, "run", "--spool", os.path.join(folder, "spool"), "--", PROGRAM, what],
                               capture_output=True, check=False, timeout=PATIENCE, text=True, env=environment(None))
        self.assertEqual(0, ended.returncode, (what, ended.stdout, ended.stderr))
        self.assertIn("survived", ended.stdout)
        self.assertIn(" computes ", ended.stderr)
        paths = glob.glob(os.path.join(folder, "spool", "*.json"))
        kinds = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                kinds.append(json.load(file)["kind"])
        self.assertEqual(1, sum(kind != "session" for kind in kinds), (what, kinds))

    @unittest.skipIf(SANITIZER, "a sanitizer's runtime finds its own look at the stack wrong while the thread is cancelled")
    def test_cancelled_wait(self):
        self.reports_one("cancelled")

    @unittest.skipIf(SANITIZER, "a sanitizer's runtime does not see that setcontext leaves frames behind")
    def test_wait_left_by_setcontext(self):
        self.reports_one("by-context")


if __name__ == "__main__":
    main()
