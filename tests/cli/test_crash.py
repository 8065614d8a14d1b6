# SPDX-License-Identifier: MIT
"""`hangdog run --crash`: a crash has a report, and happens as it would have without us."""

import glob
import json
import os
import resource
import signal
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, RealCase, environment, main

CRASH = os.path.join(BUILD, "tests/programs/crash")
# How, signal, the innermost function of the program's own.
WAYS = [("null", signal.SIGSEGV, "read_nothing"), ("abort", signal.SIGABRT, "handle"), ("divide", signal.SIGFPE, "divide"),
        ("overflow", signal.SIGSEGV, "recurse"), ("call", signal.SIGSEGV, "handle"), ("raise", signal.SIGSEGV, "handle"),
        ("illegal", signal.SIGILL, "handle"), ("breakpoint", signal.SIGTRAP, "handle"),
        ("heap", signal.SIGABRT, "break_heap"), ("thread", signal.SIGSEGV, "read_nothing")]
OWN = {"read_nothing", "recurse", "handle", "divide", "break_heap", "crash_here", "main"}


@unittest.skipIf(SANITIZER, "the sanitizer's runtime handles crashes itself")
class Crash(RealCase):
    def run_it(self, how, *options, program=(CRASH,)):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        spool = os.path.join(folder.name, "spool")
        done = subprocess.run([HANGDOG, "run", "--spool", spool, *options, "--", *program, how], cwd=folder.name,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                              env=environment(), check=False)
        reports = []
        for path in glob.glob(os.path.join(spool, "*.json")):
            with open(path, encoding="utf-8") as file:
                reports.append(json.load(file))
        for report in reports:
            self.assert_valid(report)
        return done, [r for r in reports if r["kind"] != "session"], folder.name

    def test_each_crash_has_a_report_and_happens(self):
        for how, number, function in WAYS:
            with self.subTest(how):
                done, reports, _ = self.run_it(how, "--crash")
                self.assertEqual(-number, done.returncode)
                self.assertEqual(["crash"], [r["kind"] for r in reports], done.stderr)
                report = reports[0]
                self.assertEqual(number.name, report["crash"]["signal"])
                own = [f["function"] for f in report["hot_stack"]["frames"] if f.get("function") in OWN]
                self.assertEqual(function, own[0])
                self.assertRegex(done.stderr, r"hangdog: crash \(%s\) in %s " % (number.name, function))

    def test_addresses_are_those_that_could_not_be_read(self):
        _, reports, _ = self.run_it("null", "--crash")
        self.assertEqual("0x10", reports[0]["crash"]["address"])

    def test_a_crash_in_a_hang_is_one_report_that_says_so(self):
        _, reports, _ = self.run_it("hang", "--crash")
        self.assertEqual(["crash"], [r["kind"] for r in reports])
        self.assertAlmostEqual(1.5, reports[0]["duration_ns"] / 1e9, delta=0.2)
        self.assertEqual("main", reports[0]["loop"]["name"])

    def test_a_forked_child_that_crashes_waits_for_no_one(self):
        done, reports, _ = self.run_it("fork", "--crash")
        self.assertEqual((0, []), (done.returncode, reports))

    def test_a_vforked_childs_crash_is_not_its_parents(self):
        done, reports, _ = self.run_it("vfork", "--crash")
        self.assertEqual((0, []), (done.returncode, reports), done.stderr)

    def test_a_crash_after_a_vforked_childs_has_its_report(self):
        done, reports, _ = self.run_it("vfork-both", "--crash")
        self.assertEqual((-signal.SIGSEGV, ["0x18"]), (done.returncode, [r["crash"]["address"] for r in reports]), done.stderr)

    def test_no_crash_no_report(self):
        done, reports, _ = self.run_it("end", "--crash")
        self.assertEqual((0, []), (done.returncode, reports))

    def test_off_unless_asked_for(self):
        done, reports, _ = self.run_it("null")
        self.assertEqual((-signal.SIGSEGV, []), (done.returncode, reports))

    def test_pythons_faulthandler_keeps_its_output(self):
        script = ("import faulthandler, select, os, sys, time\nfaulthandler.enable()\n"
                  "for _ in range(8): select.select([], [], [], 0.05)\nimport ctypes\nctypes.string_at(0)\n")
        done, _, _ = self.run_it(script, "--crash", program=("/usr/bin/python3", "-c"))
        self.assertEqual(-signal.SIGSEGV, done.returncode)
        self.assertIn("Fatal Python error: Segmentation fault", done.stderr)

    def test_the_core_is_still_dumped(self):
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as pattern:
            if pattern.read().startswith(("|", "/")):
                self.skipTest("cores go elsewhere here")
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        if hard == 0:
            self.skipTest("no cores may be written here")
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, (soft, hard))
        _, reports, folder = self.run_it("null", "--crash")
        self.assertEqual(1, len(reports))
        self.assertTrue(glob.glob(os.path.join(folder, "core*")))


if __name__ == "__main__":
    main()
