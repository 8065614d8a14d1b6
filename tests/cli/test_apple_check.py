# SPDX-License-Identifier: MIT
"""The scenarios that a person with a Mac runs have the reports that they must have, here with Linux's library."""

import os
import subprocess
import sys
import tempfile
import unittest

from support_run import BUILD, SOURCE, main

SCRIPT = os.path.join(SOURCE, "scripts/apple-check")
PROGRAM = os.path.join(BUILD, "tests/apple-check")
SCENARIOS = ("idle", "hang", "sleep", "lock", "deadlock", "malloc", "images", "threads", "cpu", "crash")


class AppleCheck(unittest.TestCase):
    def test_each_scenario_is_as_it_must_be(self):
        done = subprocess.run([sys.executable, SCRIPT, PROGRAM], text=True, capture_output=True, check=False)
        lines = [line.split() for line in done.stdout.splitlines()]
        found = [["ok" if line[:2] == ["skipped", "cpu"] else line[0], line[1]] for line in lines[1:-1]]
        self.assertEqual(found, [["ok", name] for name in SCENARIOS], done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_a_report_that_is_missing_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n[ $# -gt 0 ] || echo hang\n")
            os.chmod(program, 0o755)
            done = subprocess.run([sys.executable, SCRIPT, program], text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout.splitlines()[1].split()[:2]), (1, ["FAILED", "hang"]), done.stdout)


if __name__ == "__main__":
    main()
