#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# A callback that reads the pipe of a child is told as a wait for that child, in every way that Perl and Python have to
# do so, under `hangdog run`.

import os
import re
import unittest

from support_run import SOURCE, RealCase, main, runs_under_sanitizer

FOLDER = os.path.join(SOURCE, "tests/real")
PERL = ["/usr/bin/perl", os.path.join(FOLDER, "support_pipes.pl")]
PYTHON = ["/usr/bin/python3", "-I", os.path.join(FOLDER, "support_pipes.py")]


def setUpModule():
    for program in (PERL[0], PYTHON[0]):
        why = runs_under_sanitizer([program, *(["-e", "1"] if program == PERL[0] else ["-c", ""])])
        if why:
            raise unittest.SkipTest(program + " itself does not run with this sanitizer's runtime: " + why)


class Pipes(RealCase):
    def assert_child(self, programs):
        for way, program in programs.items():
            with self.subTest(way):
                self.assertEqual(0, program.wait(), program.errors)
                causes = [report["cause"] for report in program.reports("hang")]
                self.assertEqual(["child"], [cause["kind"] for cause in causes], program.errors)
                self.assertNotIn(causes[0].get("child_pid", 0), (0, program.started), causes)  # numbers begin anew some day
                self.assertTrue(re.search(r"waited for child %d \(\w+\) in " % causes[0]["child_pid"], program.errors), program.errors)

    def test_perl(self):
        self.assert_child({way: self.begin([*PERL, way]) for way in ("backticks", "pipeline", "behind", "before")})

    def test_python(self):
        self.assert_child({way: self.begin([*PYTHON, way]) for way in ("check_output", "run", "popen", "pipeline", "behind", "before")})

    def begin(self, argv):
        program = self.program(argv)
        program.started = program.pid  # known only while it runs
        return program


if __name__ == "__main__":
    main()
