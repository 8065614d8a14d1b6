# SPDX-License-Identifier: MIT
#
# The plans of tests/recognition, which drive programs with known truth, under `hangdog run`: side by side, and what must be
# true of each.

import os
import shutil
import sys
import time
import traceback

from support_run import HANGDOG, MS, RELEASE, SOURCE, RealCase, Together, false_ones, ignore, schema_errors

sys.path.insert(0, os.path.join(SOURCE, "tests/recognition"))
import live  # noqa: E402
import plans  # noqa: E402

TOLERANCE_NS = 60 * MS if RELEASE else 1500 * MS


def missing(*commands):
    """Of these programs and files, those that are not on this machine."""
    return [c for c in commands if not (os.path.exists(c) if "/" in c else shutil.which(c))]


class Driven:
    """A plan that was driven to its end."""

    def __init__(self, name, threshold_ms, idle_s=0):
        self.name, self.threshold_ms, self.idle_s = name, threshold_ms, idle_s
        self.drive()

    def drive(self):
        self.failure = None
        self.run = live.LiveRun(self.name, HANGDOG, self.threshold_ms, self.idle_s)
        try:
            plans.PLANS[self.name].drive(self.run)
        except BaseException:  # pylint: disable=broad-exception-caught
            self.failure = traceback.format_exc()
        for process in reversed(self.run.started):
            self.run.end(process)
        self.verdict, self.marks = live.Verdict(self.run), live.Marks(self.run)
        self.hangs, self.session, self.said = self.run.hangs(), self.run.session(), self.run.said()
        self.names = sorted(os.listdir(self.run.path("spool")))
        self.told = [line for line in self.said.splitlines() if line.startswith("hangdog: ")]
        self.run.close(False)


def drive_all(names, threshold_ms=live.THRESHOLD_MS, idle_s=0):
    every = Together()
    for name in names:
        every.start(name, Driven, name, threshold_ms, idle_s)
    return every.join()


class PlanCase(RealCase):
    """Assertions about one driven plan."""

    def assert_right(self, driven, right, missed=0):
        """Every blocking call is reported, once, but `missed` of them at the most, at least `right`, and nothing else is; each
        report says when."""
        print("%s: %s" % (driven.name, driven.verdict))
        if len(driven.verdict.missed) > missed:
            ignore(driven.name, "%s, beside nine others: %s; driven once more, alone" % (driven.name, driven.verdict))
            driven.drive()
        self.assertIsNone(driven.failure, driven.said)
        self.assertEqual([], [report["false"] for report in false_ones(driven.verdict.false)], driven.said)
        self.assertEqual([], [str(mark) for mark in driven.verdict.again], driven.said)
        self.assertLessEqual(len(driven.verdict.missed), missed, driven.said)
        self.assertGreaterEqual(len(driven.verdict.right), right)
        self.assertEqual([], [e for report in driven.hangs for e in schema_errors(self.plain(report))])

    def assert_times(self, driven, before_ns=0):
        """The report of each blocking call begins and ends with it, by the program's clock (what the callback does before may
        take `before_ns`); and the loop was idle for no longer than the program's log leaves. Where the program had to wait for a
        processor, by so much more or less."""
        for mark, report in driven.verdict.right:
            begin, end = driven.marks.together(mark)  # of what follows at once it may be one turn, or another
            tolerance_ns = TOLERANCE_NS + driven.marks.delay_ns(begin, end)
            late_ns = min(report["begin"] - begin, report["begin"] - mark.begin, key=abs)
            self.assertTrue(-tolerance_ns - before_ns <= late_ns <= tolerance_ns, "%s: begins %d ns late" % (mark, late_ns))
            over_ns = min(report["end"] - end, report["end"] - mark.end, key=abs)
            self.assertLessEqual(abs(over_ns), tolerance_ns, "%s: ends %d ns late" % (mark, over_ns))
            self.assertTrue(report["complete"])
        busy_ns = sum(mark.end - mark.begin for mark in driven.marks.of("busy"))
        tolerance_ns = TOLERANCE_NS + driven.marks.delay_ns(0, time.monotonic_ns())
        self.assertLessEqual(driven.session["idle_ns"], driven.session["used_ns"] - busy_ns + tolerance_ns)

    def assert_silent(self, driven, ending=None):
        print("%s: %s" % (driven.name, driven.told[-1] if driven.told else "nothing told"))
        self.assertIsNone(driven.failure, driven.said)
        self.assertEqual([], false_ones(driven.hangs), driven.said)
        if ending and not driven.hangs:
            self.assertRegex(driven.told[-1], ending)

    @staticmethod
    def plain(report):
        return {k: v for k, v in report.items() if k not in ("begin", "end", "false")}


def need(*commands):
    """Ends with status 77 when one of these programs and files is missing."""
    lacking = missing(*commands)
    if lacking:
        print("not here: %s; scripts/install-dependencies test" % ", ".join(lacking))
        sys.exit(77)
