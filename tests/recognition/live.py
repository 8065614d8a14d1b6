#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the plans under `hangdog run` and holds its reports to the marks: the whole product, not the rule alone.

  tests/recognition/live.py [--hangdog build/bin/hangdog] [NAME...]

A mark of a blocking call that is longer than the threshold by a tenth must be a report; a report must lie on blocking
calls, or on no mark at all (a computation), and never on a nested loop or on a loop's wait. Exit status 1 when not.
"""
import argparse
import datetime
import json
import os
import pathlib
import sys
import time

sys.dont_write_bytecode = True
import plans  # noqa: E402
import record  # noqa: E402

THRESHOLD_MS = 200
THRESHOLD_NS = THRESHOLD_MS * 1_000_000
NAMES = ["asyncio", "asyncio-start", "asyncio-download", "asyncio-download-start", "node", "node-early", "gtk-x11",
         "gtk-dialog-first", "gtk-download", "gtk-download-start", "gtk-wayland", "qt-xcb", "qt-offscreen"]


class LiveRun(record.Run):
    def __init__(self, name, hangdog):
        super().__init__(name, "")
        self.hangdog = hangdog

    def record(self, argv, **options):
        options["stderr"] = open(self.path("stderr"), "w", encoding="utf-8")
        return self.start([self.hangdog, "run", "--quiet", "--threshold", str(THRESHOLD_MS), "--spool", self.path("spool"), "--",
                           *argv], **options)


def monotonic_of(text):
    """The time of a report, on the clock of the marks."""
    seconds, fraction = text.rstrip("Z").split(".")
    whole = datetime.datetime.fromisoformat(seconds + "+00:00").timestamp()
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")) - (time.time_ns() - time.monotonic_ns())


def hangs(run):
    found = []
    for path in sorted(pathlib.Path(run.path("spool")).rglob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if report.get("kind") != "session":
            begin = monotonic_of(report["started_at"])
            found.append((begin, begin + report["duration_ns"]))
    return sorted(found)


def marks(run):
    found, open_marks, first, over = [], [], None, None  # first: from when on every report must be explained
    for line in run.marks.read_text(encoding="ascii").splitlines():
        at, kind, state, name = line.split()[:4]
        if kind == "from":
            first = int(at) if state in ("idle", "none") and first is None else first
            over = int(at) if state == "over" else over
        elif kind == "begin":
            open_marks.append((int(at), state, name))
        else:
            begin, state, name = open_marks.pop()
            found.append((begin, int(at), state, name))
    return found, first, over


def overlap(a, b):
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def judge(run):
    """Right, missed, false: the last two with what they are."""
    reports, (known, first, over) = hangs(run), marks(run)
    right, missed, false = 0, [], []
    for begin, end, state, name in known:
        if state == "busy" and end - begin >= THRESHOLD_NS * 11 // 10 and begin < (over or end):
            if any(overlap((begin, end), r) > (end - begin) // 2 for r in reports):
                right += 1
            else:
                missed.append(f"{name} {(end - begin) // 10**6} ms")
    for report in reports:
        busy = sum(overlap(report, m) for m in known if m[2] == "busy")
        idle = [m for m in known if m[2] == "idle" and overlap(report, m) > (report[1] - report[0]) // 2]
        late = over is not None and report[0] > over  # the loop is over: whatever blocks is busy
        if not late and busy < (report[1] - report[0]) // 2 and (idle or (first and report[0] > first)):
            false.append(f"{(report[1] - report[0]) // 10**6} ms {idle[0][3] if idle else 'unmarked'}")
    return right, missed, false


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--hangdog", default="build/bin/hangdog")
    arguments.add_argument("name", nargs="*")
    options = arguments.parse_args()
    wrong = 0
    for name in options.name or NAMES:
        run = LiveRun(name, os.path.abspath(options.hangdog))
        try:
            plans.PLANS[name].drive(run)
            right, missed, false = judge(run)
            print(f"{name:24} right {right:3}  missed {', '.join(missed) or '-'}  false {', '.join(false) or '-'}", flush=True)
            wrong += len(false) + len(missed)
        finally:
            run.close(False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
