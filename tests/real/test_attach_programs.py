#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Unprepared programs that `hangdog attach` watches by its best way. Each stalls blocked and on a CPU: a report comes, with the
# duration by the program's own clock, the function and the cause. scripts/attach-programs does it with all programs.

import unittest

from support_attached import Attach, subjects, with_names
from support_run import MS, TOLERANCE_NS, Together, hot_functions, main, schema_errors, wait_until

NAMES = ["redis", "asyncio", "musl", "uring", "container"]
# A timer of an io_uring interrupts the sleep: the kernel restarts it, and the call is not known any more.
CAUSES = {"cpu": ("cpu", "starved"), "block": ("sleep", "unknown")}
# No Lua names; Debian's musl has no unwind tables, so a stack ends in its sleep. A container's files may be gone.
WITHOUT_NAMES = {"cpu": ("redis", "container"), "block": ("musl", "container")}
EVERY = Together()


def watched(make):
    """The stalls with their new reports, the functions that are expected, and what the watcher printed."""
    program = make(False)
    watch = Attach([program.pid])
    try:
        watch.wait_for("watching the loop")
        stalls, old = [], set()
        for kind in ("block", "cpu"):
            if kind == "cpu" and "by looks" in watch.text:
                continue  # this way sees no hang that runs
            stall = program.stall(kind, 1200)
            def new(stall=stall, old=frozenset(old)):
                return [r for r in watch.reports("hang") if r["complete"] and r["id"] not in old
                        and r["duration_ns"] > stall.duration_ns // 2]
            wait_until(lambda new=new: new() or watch.process.poll() is not None, "a report of %s: %s" % (kind, watch.text), 20)
            found = [with_names(watch.spool, report) for report in new()]
            old |= {report["id"] for report in watch.reports()}
            stalls.append((stall, found))
        return stalls, program.functions, watch.end(), watch.text
    finally:
        watch.close()
        program.close()


class Programs(unittest.TestCase):
    def check(self, name):
        stalls, functions, status, text = EVERY[name]
        self.assertEqual(0, status, text)
        for stall, found in stalls:
            self.assertEqual(1, len(found), text)
            report = found[0]
            self.assertEqual([], schema_errors(report))
            self.assertIn(report["cause"]["kind"], CAUSES[stall.kind], text)
            self.assertEqual("outside", report["watch"]["from"])
            off = report["duration_ns"] - stall.duration_ns
            uncertain = report.get("start_uncertain_ns", 0)
            print("%s: %s off by %+.2f ms, start earlier by up to %.0f ms" % (name, stall.kind, off / MS, uncertain / MS))
            if not report.get("at_least"):
                self.assertLessEqual(abs(off), TOLERANCE_NS + uncertain, text)
            if name not in WITHOUT_NAMES.get(stall.kind, ()):
                self.assertTrue([f for f in hot_functions(report) if functions[stall.kind] in f], hot_functions(report))


def setUpModule():
    with subjects(NAMES) as every:
        for name, make in every.items():
            EVERY.start(name, watched, make)
        EVERY.join()


def add(name):
    def test(self):
        if isinstance(EVERY.errors.get(name, (None, None))[1], FileNotFoundError):
            self.skipTest("it is not installed: scripts/install-dependencies test")
        self.check(name)
    setattr(Programs, "test_" + name, test)


for each in NAMES:
    add(each)


if __name__ == "__main__":
    main()
