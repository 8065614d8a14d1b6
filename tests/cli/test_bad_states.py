# SPDX-License-Identifier: MIT
"""A program in a bad state hangs or crashes under `hangdog run --crash`: there is a report, or the run says why there is none."""

import os
import shutil
import signal
import subprocess
import tempfile
import typing
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_run import BUILD, MS, SANITIZER, Program, RealCase, hot_functions, ignore, main, symbolicated

BAD_STATE = os.path.join(BUILD, "tests/programs/bad-state")
# The function of the program that brings the state about.
STATES = {"malloc": "in_malloc", "dlopen": "in_dlopen", "stdio": "with_stdio_locked", "signals": "without_signals",
          "heap": "with_a_broken_heap", "stack": "at_the_stacks_end", "threads": "with_many_threads", "depth": "many_calls_deep"}
COMPUTES = ("malloc", "signals", "stack")
PLUG_IN = r"""
#include <string.h>
#include <unistd.h>
static volatile int *volatile nothing = (volatile int *)16;
__attribute__((constructor)) static void start_plug_in(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[2], "crash") == 0) *nothing = 1;
    usleep(900000);
    __asm__ volatile("");
}
"""
NO_STACK = "(no stack: the thread did not answer; it may be busy in the kernel, block or ignore the signal"
NO_REPORT = "hangdog: no report of the crash (SIGSEGV): the thread blocked the signal"


class Done(typing.NamedTuple):
    status: int
    errors: str
    reports: list  # but the session's, with functions


def run(state, how, library):
    """A machine that has too much to do may leave no time to be certain of the loop: three tries."""
    for _ in range(3):
        done = try_once(state, how, library)
        kinds = [report["kind"] for report in done.reports]
        if "crash" in kinds if how == "crash" else "hang" in kinds or "too-many-threads" in kinds:
            break
    return done


def try_once(state, how, library):
    program = Program([BAD_STATE, state, how, library], options=("--crash",))
    try:
        status = program.wait()
        reports = [symbolicated(program, r) for r in program.reports() if r["kind"] != "session"]
        return Done(status, program.errors, reports)
    finally:
        program.close()


def build_plug_in(folder):
    """None: there is no compiler."""
    if shutil.which("gcc") is None:
        return None
    library = os.path.join(folder, "plug-in.so")
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=PLUG_IN, text=True, check=True)
    return library


@unittest.skipIf(SANITIZER, "the program has a malloc of its own, and a sanitizer's runtime handles crashes itself")
class BadStates(RealCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder, ThreadPoolExecutor(6) as pool:
            library = build_plug_in(folder)
            found = {(state, how): pool.submit(run, state, how, library or "") for state in STATES
                     for how in ("sleep", "crash", *(["compute"] if state in COMPUTES else [])) if library or state != "dlopen"}
            cls.found = {key: future.result() for key, future in found.items()}

    def of(self, how):
        for (state, which), done in self.found.items():
            if which == how:
                yield state, done

    def the_report(self, done, *kinds):
        """A machine that has too much to do may add hangs of its own."""
        own = [report for report in done.reports if report["kind"] in kinds]
        for report in done.reports:
            self.assert_valid(report)
            if report not in own:
                ignore(report["id"], "a %s of %d ms" % (report["kind"], report["duration_ns"] / MS))
        self.assertTrue(own, done.errors)
        return max(own, key=lambda report: report["duration_ns"])

    def assert_hang(self, state, done):
        report = self.the_report(done, "hang", "too-many-threads")
        self.assertTrue(report["complete"])
        self.assertGreaterEqual(report["duration_ns"], 895 * MS)
        self.assertEqual(0, done.status)
        self.assertEqual("too-many-threads" if state == "threads" else "hang", report["kind"])
        return report

    def test_a_blocked_thread_has_a_report_with_its_stack(self):
        for state, done in self.of("sleep"):
            with self.subTest(state):
                report = self.assert_hang(state, done)
                self.assertIn(STATES[state], hot_functions(report))

    def test_a_running_thread_has_a_report_or_a_reason(self):
        for state, done in self.of("compute"):
            with self.subTest(state):
                report = self.assert_hang(state, done)
                self.assertIn(report["cause"]["kind"], ("cpu", "starved"))
                if state == "signals":  # which the sample's is among
                    self.assertEqual([], report["hot_stack"]["frames"])
                    self.assertEqual("no-answer", report["hot_stack"]["stop"])
                    self.assertIn(NO_STACK, done.errors)
                else:
                    self.assertIn(STATES[state], hot_functions(report))

    def test_a_crash_has_a_report_or_a_reason_and_happens(self):
        for state, done in self.of("crash"):
            with self.subTest(state):
                self.assertEqual(-signal.SIGSEGV, done.status)
                if state == "signals":  # the kernel lets no handler run
                    self.assertNotIn("crash", [report["kind"] for report in done.reports])
                    self.assertIn(NO_REPORT, done.errors)
                else:
                    report = self.the_report(done, "crash")
                    self.assertEqual(("SIGSEGV", "0x10"), (report["crash"]["signal"], report["crash"]["address"]))
                    self.assertIn(STATES[state], hot_functions(report))
                    self.assertNotIn("no report of the crash", done.errors)

    def test_of_a_thousand_calls_both_ends_are_there(self):
        for how in ("sleep", "crash"):
            report = self.the_report(self.found["depth", how], "hang", "crash")
            names = hot_functions(report)
            self.assertGreater(names.count("many_calls_deep") + report["hot_stack"].get("cut", 0), 1000)
            self.assertIn("main", names)
            self.assertEqual("root", report["hot_stack"]["stop"])

    def test_of_a_thousand_threads_each_is_counted(self):
        report = self.the_report(self.found["threads", "sleep"], "too-many-threads")
        self.assertEqual(1001, report["process"]["thread_count"])
        self.assertIn(len(report["threads"]) + report.get("threads_left_out", 0), (1000, 1001))  # the own one may be left out


if __name__ == "__main__":
    main()
