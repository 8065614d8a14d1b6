#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Groups of known bugs: eight bugs of programs that are built in six ways. Nearly each report comes to its bug's group, and no group
has two bugs. `hangdog-bench grouping` runs many more."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from support_run import BUILD, SOURCE, main

BUGS, WAYS = 8, 6


class Grouping(unittest.TestCase):
    def test_builds_of_one_bug_are_one_group_and_two_bugs_are_two(self):
        for program in ("gcc", "clang"):
            if shutil.which(program) is None:
                self.skipTest("no %s: scripts/install-dependencies lint test" % program)
        run = subprocess.run([sys.executable, os.path.join(SOURCE, "bench/grouping.py"), "--build", BUILD, "--set", "small", "--ways", str(WAYS),
                              "--lanes", "2"], check=False, text=True, stdout=subprocess.PIPE)
        figures = {line["name"]: line for line in map(json.loads, re.findall("^{.*", run.stdout, re.MULTILINE))}
        self.assertEqual(BUGS, figures["grouping.small_bugs"]["value"], run.stdout)
        self.assertGreaterEqual(figures["grouping.small_reports"]["value"], BUGS * WAYS - 2, run.stdout)  # a busy machine misses some
        self.assertGreaterEqual(figures["grouping.small"]["value"], 95, run.stdout)  # so is its target
        self.assertEqual(0, figures["grouping.small_merged"]["value"], run.stdout)
        self.assertEqual(0, run.returncode, run.stdout)


if __name__ == "__main__":
    main()
