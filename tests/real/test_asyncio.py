#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# asyncio on Debian's python3 under `hangdog run`: time.sleep in a callback is `sleep`, hashlib.pbkdf2_hmac is `cpu` in
# libcrypto; idle, and stopped, it is not hanging; its output and its exit status are its own.

import os
import re
import unittest

from support_plan import STATUS, close_all, run, run_all
from support_run import SANITIZER, SOURCE, RealCase, hot_functions, hot_modules, main, runs_under_sanitizer

PYTHON = ["/usr/bin/python3", "-I"]
SCRIPT = os.path.join(SOURCE, "tests/real/support_plan_asyncio.py")
EVERY = None


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    why = runs_under_sanitizer([*PYTHON, "-c", "import asyncio; asyncio.run(asyncio.sleep(0.1))"])
    if why:
        raise unittest.SkipTest("python3 itself does not run with this sanitizer's runtime: " + why)
    EVERY = run_all(PYTHON, SCRIPT, "sleep", "pbkdf2")


def tearDownModule():
    close_all(EVERY)


class Asyncio(RealCase):
    def test_a_sleep_in_a_callback_is_one_hang_of_cause_sleep(self):
        program = EVERY["blocked"]
        report = self.assert_one_hang(program, "sleep")
        self.assertRegex(hot_functions(report)[0], "nanosleep")
        self.assert_in_hot_stack("_PyEval_EvalFrameDefault", report)
        self.assert_in_hot_stack("Py_RunMain", report)
        self.assertEqual("root", report["hot_stack"]["stop"])
        self.assert_duration(report, program.truth_ns("sleep"))
        self.assertEqual(0, report["excluded_ns"])
        self.assertEqual(0, report["monitor"]["interrupted_syscalls"])

    def test_pbkdf2_is_one_hang_of_cause_cpu_in_libcrypto(self):
        program = EVERY["cpu"][0]
        report = self.assert_one_hang(program, "cpu")
        # the first may be memcpy; a sanitizer's is many functions deep
        self.assertRegex(" ".join(hot_modules(report)[:None if SANITIZER else 3]), r"libcrypto\.so")
        self.assert_in_hot_stack("PBKDF2_HMAC", report)
        self.assert_in_hot_stack("Py_RunMain", report)
        self.assert_duration(report, program.truth_ns("pbkdf2"))
        self.assertEqual(0, report["excluded_ns"])

    def test_idle_for_10_s_and_stopped_for_3_s_it_does_not_hang(self):
        self.assert_no_hang(EVERY["idle"])

    def test_a_stop_in_a_sleep_is_taken_off(self):
        program = EVERY["stopped"]
        report = self.assert_one_hang(program, "sleep")
        self.assert_duration(report, program.truth_ns("sleep") - program.stopped_ns)
        self.assert_excluded(report, program.stopped_ns)

    def test_a_stop_in_a_computation_is_taken_off(self):
        program = EVERY["cpu"][1]
        report = self.assert_one_hang(program, "cpu")
        self.assert_duration(report, program.truth_ns("pbkdf2") - program.stopped_ns)
        self.assert_excluded(report, program.stopped_ns)

    def test_the_interpreters_lock_is_told_and_no_other_one_as_that(self):
        """A thread of the program sums up numbers, in one call; its loop, which starts it, waits until it lets go."""
        program = run(PYTHON, SCRIPT, "idle:1.5 sum:2 idle:0.5 lock:1 idle:0.5")
        self.addCleanup(program.close)
        self.assertEqual(["gil", "lock"], [report["cause"]["kind"] for report in program.reports("hang")], program.errors)
        causes = re.findall(r"(?m)^  why  (.*)$", program.errors)
        self.assertRegex(causes[0], r'^wait(ed|s) for Python\'s GIL held by thread \d+ "Thread-1 \(sum\)", which was in Thread\.run \(threading\.py:\d+\)')
        self.assertRegex(causes[1], r"^waited for a lock of Python\b")

    def test_its_output_and_its_exit_status_are_its_own(self):
        plain, watched = EVERY["plain"], EVERY["blocked"]
        self.assertEqual((STATUS, STATUS), (plain.status, watched.status))
        self.assertEqual(plain.output, watched.output)
        self.assertIn(plain.errors, watched.errors)
        self.assertRegex(watched.told[-1], r"^hangdog: support_plan_asyncio.py ran for .*: 1 hang, \d")


if __name__ == "__main__":
    main()
