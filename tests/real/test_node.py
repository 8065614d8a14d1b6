#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# node under `hangdog run`: a busy loop in a timer is `cpu`, a command that it waits for is `child`; idle, and stopped, it
# is not hanging; its output and its exit status are its own.

import os
import unittest

from support_plan import STATUS, close_all, run_all
from support_run import SOURCE, RealCase, main, runs_under_sanitizer

NODE = "/usr/bin/node"
SCRIPT = os.path.join(SOURCE, "tests/real/support_plan_node.js")
EVERY = None


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    if not os.access(NODE, os.X_OK):
        raise unittest.SkipTest("%s is not installed: scripts/install-dependencies test" % NODE)
    why = runs_under_sanitizer([NODE, "-e", "setTimeout(() => {}, 100)"])
    if why:
        raise unittest.SkipTest("node itself does not run with this sanitizer's runtime: " + why)
    EVERY = run_all([NODE], SCRIPT, "child", "busy")


def tearDownModule():
    if EVERY:
        close_all(EVERY)


class Node(RealCase):
    def test_a_busy_timer_is_one_hang_of_cause_cpu(self):
        program = EVERY["cpu"][0]
        report = self.assert_one_hang(program, "cpu")
        self.assert_in_hot_stack("uv_run", report)
        self.assert_duration(report, program.truth_ns("busy"))
        self.assertEqual(0, report["excluded_ns"])

    def test_a_command_that_is_waited_for_is_one_hang_of_cause_child(self):
        program = EVERY["blocked"]
        report = self.assert_one_hang(program, "child")
        self.assert_in_hot_stack("SyncProcessRunner", report)
        self.assert_in_hot_stack("uv_run", report)
        self.assertGreater(report["cause"]["child_pid"], 0)
        self.assert_duration(report, program.truth_ns("child"))
        self.assertEqual(0, report["excluded_ns"])
        self.assertEqual(0, report["monitor"]["interrupted_syscalls"])

    def test_idle_for_10_s_and_stopped_for_3_s_it_does_not_hang(self):
        self.assert_no_hang(EVERY["idle"])

    def test_a_stop_while_it_waits_for_a_command_is_taken_off(self):
        program = EVERY["stopped"]
        report = self.assert_one_hang(program, "child")
        self.assert_duration(report, program.truth_ns("child") - program.stopped_ns)
        self.assert_excluded(report, program.stopped_ns)

    def test_a_stop_in_a_busy_timer_is_taken_off(self):
        program = EVERY["cpu"][1]
        report = self.assert_one_hang(program, "cpu")
        self.assert_duration(report, program.truth_ns("busy") - program.stopped_ns)
        self.assert_excluded(report, program.stopped_ns)

    def test_its_output_and_its_exit_status_are_its_own(self):
        plain, watched = EVERY["plain"], EVERY["blocked"]
        self.assertEqual((STATUS, STATUS), (plain.status, watched.status))
        self.assertEqual(plain.output, watched.output)
        self.assertIn(plain.errors, watched.errors)
        self.assertRegex(watched.told[-1], r"^hangdog: support_plan_node.js ran for .*: 1 hang, \d")


if __name__ == "__main__":
    main()
