# SPDX-License-Identifier: MIT
"""`hangdog run --cpu`: a thread that uses a CPU has a report with its call tree, and gets no signal unless it is watched."""

import contextlib
import glob
import json
import os
import subprocess
import tempfile
import time
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, RealCase, environment, main

BURN = os.path.join(BUILD, "tests/programs/burn")
SCRIPT = """import os, select, time
def resize(end):
    while time.monotonic() < end:
        sum(range(1000))
r, w = os.pipe()
timer = select.epoll()
timer.register(r)
while True:
    timer.poll(0.001)
    resize(time.monotonic() + 0.03)
"""


def before_others():
    """A busy machine would leave the program less than 80% of a CPU."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


@unittest.skipIf(SANITIZER, "a share of a CPU is measured")
class Cpu(RealCase):
    def burn(self, *program, options=("--cpu", "300ms"), until_report=True, seconds=PATIENCE):
        """What `hangdog run` printed, and the reports but the session's, once there is one."""
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        self.spool = os.path.join(folder.name, "spool")
        with subprocess.Popen([HANGDOG, "run", "--spool", self.spool, *options, "--", *program], cwd=folder.name, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(),
                              preexec_fn=before_others) as run:
            end = time.monotonic() + seconds
            while time.monotonic() < end and run.poll() is None and not (until_report and self.reports()):
                time.sleep(0.02)
            time.sleep(0.1)
            run.terminate()
            _, errors = run.communicate(timeout=PATIENCE)
        return errors, self.reports()

    def reports(self):
        found = []
        for path in glob.glob(os.path.join(self.spool, "*.json")):
            with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
                found.append(json.load(file))
        return [report for report in found if report["kind"] != "session"]

    def only_report(self, found):
        errors, reports = found
        self.assertEqual(["cpu"], [report["kind"] for report in reports], errors)
        self.assert_valid(reports[0])
        self.assertGreater(reports[0]["cpu"]["percent"], 75)
        self.assertEqual(reports[0]["cpu"]["tid"], reports[0]["threads"][0]["tid"])
        return errors, reports[0]

    def show(self):
        return self.hangdog("show")

    def hangdog(self, command):
        return subprocess.run([HANGDOG, command, "--spool", self.spool], text=True, stdout=subprocess.PIPE, check=True,
                              timeout=PATIENCE, env=environment()).stdout

    def test_a_loop_whose_short_turns_fill_a_cpu(self):
        errors, report = self.only_report(self.burn(BURN, "main", "60"))
        self.assertTrue(report["threads"][0]["watched"])
        shares = {frame.get("function"): frame["share"] for frame in report["hot_stack"]["frames"]}
        self.assertGreater(shares["compute"], 0.8)
        self.assertGreater(shares["main"], 0.8)
        self.assertEqual(0, report.get("monitor", {}).get("interrupted_syscalls", 0))
        self.assertRegex(errors, r"hangdog: high CPU use for \d+ ms in compute ")
        self.assertRegex(self.show(), r'why  thread \d+ "burn" used \d+% of a CPU\n')
        self.assertRegex(self.hangdog("list"), r"(?m) burn +cpu +\d+ ms +cpu +1 +compute ")
        self.assertIn("1 report of high CPU use: list --kind cpu\n", self.hangdog("stats"))

    def test_a_thread_that_is_not_watched_is_named_and_gets_no_signal(self):
        _, report = self.only_report(self.burn(BURN, "thread", "60"))
        self.assertEqual("cruncher", report["threads"][0]["name"])
        self.assertEqual([], report["hot_stack"]["frames"])
        shown = self.show()
        self.assertRegex(shown, r'why  thread \d+ "cruncher" used \d+% of a CPU\n')
        self.assertIn("100% of the CPU time has no stack: the thread is not watched, so it gets no signal while it runs", shown)
        self.assertRegex(shown, r"try  its stack now: \S*hangdog dump --running %d\n" % report["app"]["pid"])

    def test_such_a_thread_is_read_where_it_waits(self):
        _, report = self.only_report(self.burn(BURN, "waits", "60"))
        self.assertEqual("half-cruncher", report["threads"][0]["name"])
        if report["hot_stack"]["frames"]:  # it waits for a twentieth of the time: not each try meets that
            self.assertIn("crunch_and_wait", [frame.get("function") for frame in report["hot_stack"]["frames"]])

    def test_a_python_loop_has_its_functions(self):
        _, report = self.only_report(self.burn("/usr/bin/python3", "-c", SCRIPT))
        self.assertEqual("resize", next(f["function"] for f in report["hot_stack"]["frames"] if f.get("language") == "python"))

    def test_a_burst_below_a_period_has_none(self):
        _, reports = self.burn(BURN, "burst", "1.5", until_report=False)
        self.assertEqual([], [report for report in reports if report["kind"] == "cpu"])

    def test_off_unless_asked_for(self):
        _, reports = self.burn(BURN, "main", "1.5", options=(), until_report=False)
        self.assertEqual([], [report for report in reports if report["kind"] == "cpu"])


if __name__ == "__main__":
    main()
