# SPDX-License-Identifier: MIT
"""`hangdog run --crash`: an uncaught C++ exception has its type in the report, and its text where that is known."""

import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, RealCase, environment, main

THROWS = os.path.join(BUILD, "tests/programs/throws")
# What is thrown, its type, its text where it is known, and the innermost function of the program's own.
THROWN = [("runtime", "std::runtime_error", "disk is full", "handle"),
          ("derived", "shop::DiskFull", "/dev/sda1 is full", "handle"),
          ("own-what", "shop::Closed", None, "handle"), ("plain", "shop::Plain", None, "handle"),
          ("number", "int", None, "handle"), ("memory", "std::bad_alloc", None, "handle"),
          ("system", "std::system_error", "cannot save: No space left on device", "handle"),
          ("noexcept", "std::out_of_range", "behind the end", "out_of_range"),
          ("again", "std::runtime_error", "thrown twice", "again"),
          ("thread", "std::runtime_error", "in a thread", "operator()")]
OTHERS = [("long",), ("terminate",), ("caught",), ("derived", "--without-paths")]


def run_it(how, *options):
    with tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
        done = subprocess.run([HANGDOG, "run", "--crash", "--spool", spool, *options, "--", THROWS, how], cwd=spool, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, env=environment())
        reports = []
        for path in glob.glob(os.path.join(spool, "*.json")):
            with open(path, encoding="utf-8") as file:
                reports.append(json.load(file))
        crash = next(report for report in reports if report["kind"] == "crash")
        shown = subprocess.run([HANGDOG, "show", "--spool", spool, crash["id"]], text=True, stdout=subprocess.PIPE,
                               timeout=PATIENCE, check=True, env=environment()).stdout
    assert done.returncode == -signal.SIGABRT, done.returncode
    return crash, done.stderr[done.stderr.index("hangdog: crash (SIGABRT)"):], shown


@unittest.skipIf(SANITIZER, "the sanitizer's runtime handles crashes itself")
class Exceptions(RealCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # a program waits for most of its second
            runs = {arguments: pool.submit(run_it, *arguments) for arguments in [*((row[0],) for row in THROWN), *OTHERS]}
            cls.runs = {arguments: run.result() for arguments, run in runs.items()}

    def test_an_uncaught_exception_has_type_and_text(self):
        for how, name, text, function in THROWN:
            with self.subTest(how):
                crash, said, shown = self.runs[(how,)]
                self.assert_valid(crash)
                self.assertEqual(text, crash["crash"]["exception"].get("what"))
                self.assertRegex(said, r"^hangdog: crash \(SIGABRT\) in (\(anonymous namespace\)::)?%s" % re.escape(function))
                self.assertIn("  why  uncaught C++ exception, " + name + (": " + text if text else ""), shown.splitlines())

    def test_a_long_text_is_cut_and_controls_no_terminal(self):
        crash, said, _ = self.runs[("long",)]
        self.assertEqual("\x1b[31m\n" + "x" * 249, crash["crash"]["exception"]["what"])
        self.assertIn("why  uncaught C++ exception, std::runtime_error: ?[31m?xxx", said)
        self.assertNotIn("\x1b", said)

    def test_no_exception_where_none_ended_the_program(self):
        for how in ("terminate", "caught"):
            with self.subTest(how):
                crash, said, _ = self.runs[(how,)]
                self.assertNotIn("exception", crash["crash"])
                self.assertIn("why  SIGABRT: the program aborted itself", said)

    def test_a_report_without_paths_has_no_text_of_the_programs(self):
        crash, _, _ = self.runs[("derived", "--without-paths")]
        self.assertEqual({"type": "N4shop8DiskFullE"}, crash["crash"]["exception"])


if __name__ == "__main__":
    main()
