#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the plans under `hangdog run` and holds its reports to the marks: the whole product, not the rule alone.

  tests/recognition/live.py [--hangdog build/bin/hangdog] [NAME...]

A mark of a blocking call that is longer than the threshold by a tenth must be one report; a report must lie on blocking
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
NAMES = ["asyncio", "asyncio-start", "asyncio-download", "asyncio-download-start", "node", "node-early", "gtk-x11",
         "gtk-dialog-first", "gtk-download", "gtk-download-start", "gtk-wayland", "qt-xcb", "qt-offscreen"]


class LiveRun(record.Run):
    """A plan under `hangdog run`; what the runner says at the end is in the file `stderr`."""

    def __init__(self, name, hangdog, threshold_ms=THRESHOLD_MS, idle_s=0):
        super().__init__(name, "")
        self.pauses = [0, idle_s]  # the second is so long at least
        self.hangdog = hangdog
        self.threshold_ns = threshold_ms * 1_000_000
        self.env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})

    def record(self, argv, **options):
        with open(self.path("stderr"), "w", encoding="utf-8") as errors:
            options["stderr"] = errors
            return self.start([self.hangdog, "run", "--threshold", str(self.threshold_ns // 1_000_000), "--spool", self.path("spool"),
                               "--", *argv], **options)

    def run(self, argv, seconds=180, **options):
        process = self.record(argv, **options)
        if process.wait(seconds) != 0:
            raise RuntimeError(f"it ended with {process.returncode}: {self.said()[-800:]}")
        return process

    def pause(self, seconds):
        super().pause(max(seconds, self.pauses.pop(0) if self.pauses else 0))

    def said(self):
        return pathlib.Path(self.path("stderr")).read_text(encoding="utf-8", errors="replace")

    def reports(self):
        """All of them, with begin and end on the clock of the marks."""
        found = []
        for path in sorted(pathlib.Path(self.path("spool")).rglob("*.json")):
            report = json.loads(path.read_text(encoding="utf-8"))
            report["begin"] = monotonic_of(report["started_at"])
            report["end"] = report["begin"] + report["duration_ns"] + report.get("excluded_ns", 0)
            found.append(report)
        return sorted(found, key=lambda r: r["begin"])

    def hangs(self):
        return [r for r in self.reports() if r["kind"] != "session"]

    def session(self):
        return next((r["session"] for r in self.reports() if r["kind"] == "session"), None)


def monotonic_of(text):
    """The time of a report, on the clock of the marks."""
    seconds, fraction = text.rstrip("Z").split(".")
    whole = datetime.datetime.fromisoformat(seconds + "+00:00").timestamp()
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")) - clocks_apart()


def clocks_apart():
    """What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, both read at once."""
    while True:
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if after - before < 10**6:
            return wall - (before + after) // 2


class Mark:
    def __init__(self, begin, end, state, name):
        self.begin, self.end, self.state, self.name = begin, end, state, name

    def __str__(self):
        return f"{self.name} {(self.end - self.begin) // 10**6} ms"


class Marks:
    """What the program says of itself."""

    def __init__(self, run):
        self.all, open_marks = [], []
        self.first = None  # from when on every report must be explained
        self.idle = None   # since when the loop runs
        self.over = []     # since when it is over: pairs of begin and end
        self.delays = []   # how long the program has been without a processor that it wanted, by then; where it tells that
        for line in run.marks.read_text(encoding="ascii").splitlines():
            at, kind, state, name, *delay_ns = line.split()
            self.delays += [(int(at), int(delay)) for delay in delay_ns]
            if kind == "from":
                self.first = int(at) if state in ("idle", "none") and self.first is None else self.first
                self.idle = int(at) if state == "idle" and self.idle is None else self.idle
                if self.over and self.over[-1][1] is None:
                    self.over[-1][1] = int(at)
                if state == "over":
                    self.over.append([int(at), None])
            elif kind == "begin":
                open_marks.append((int(at), state, name))
            else:
                begin, state, name = open_marks.pop()
                self.all.append(Mark(begin, int(at), state, name))

    def of(self, state):
        return [m for m in self.all if m.state == state]

    def delay_ns(self, begin, end):
        """How long the program was without a processor around this time: from the mark before it to the one after it."""
        before = [delay for at, delay in self.delays if at < begin] or [0]
        after = [delay for at, delay in self.delays if at > end] or [delay for _, delay in self.delays[-1:]] or [0]
        return max(0, after[0] - before[-1])

    def is_over(self, ns):
        return any(begin <= ns and (end is None or ns < end) for begin, end in self.over)

    def together(self, mark, apart_ns=20_000_000):
        """A mark with those that follow or precede it at once: one turn of the loop."""
        begin, end = mark.begin, mark.end
        for other in sorted(self.of("busy"), key=lambda m: m.begin):
            if begin <= other.begin <= end + apart_ns:
                end = max(end, other.end)
        for other in sorted(self.of("busy"), key=lambda m: -m.end):
            if begin - apart_ns <= other.end <= end:
                begin = min(begin, other.begin)
        return begin, end


def overlap(report, mark):
    return max(0, min(report["end"], mark.end) - max(report["begin"], mark.begin))


class Verdict:
    """The reports of a run against its marks: right ones as pairs of a mark and its report, marks that are missed, marks
    that are told more than once, reports that are false."""

    def __init__(self, run):
        marks, reports = Marks(run), run.hangs()
        self.right, self.missed, self.again, self.false = [], [], [], []
        for mark in marks.of("busy"):
            if mark.end - mark.begin < run.threshold_ns * 11 // 10 or marks.is_over(mark.begin):
                continue
            told = [r for r in reports if overlap(r, mark) > (mark.end - mark.begin) // 2]
            if told:
                self.right.append((mark, told[0]))
            else:
                self.missed.append(mark)
            # Also where it was cut in two, so that no half, or one alone, is most of it.
            if len([r for r in reports if r in told or overlap(r, mark) > (r["end"] - r["begin"]) // 2]) > 1:
                self.again.append(mark)
        for report in reports:
            took = report["end"] - report["begin"]
            idle = [m for m in marks.of("idle") if overlap(report, m) > took // 2]
            busy = sum(overlap(report, m) for m in marks.of("busy"))
            late = marks.is_over(report["begin"])  # the loop is over: whatever blocks is busy
            if not late and busy < took // 2 and (idle or (marks.first and report["begin"] > marks.first)):
                report["false"] = f"{took // 10**6} ms {idle[0].name if idle else 'unmarked'}"
                self.false.append(report)

    def __str__(self):
        told = (self.missed, self.again, [report["false"] for report in self.false])
        missed, again, false = (", ".join(map(str, each)) or "-" for each in told)
        return f"right {len(self.right):3}  missed {missed}  again {again}  false {false}"


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
            verdict = Verdict(run)
            print(f"{name:24} {verdict}", flush=True)
            wrong += len(verdict.false) + len(verdict.again) + len(verdict.missed)
        finally:
            run.close(False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
