# SPDX-License-Identifier: MIT
"""No part of a hang is longer than the hang, however its program ends in it."""

import json
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_figures import IMPOSSIBLE, wrong_figures
from support_run import SANITIZER, main
from test_cli import HANGDOG, Command, run

# Much in few ways: what computes is asked for its stack by a signal, which takes as long as the machine lets it.
PROGRAM = """
import os, select, signal, socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
def wait(times):
    for _ in range(times): select.select([server], [], [], 0.005)
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(3000))
def sleep(seconds):
    time.sleep(seconds)
def both(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: spin(0.02); sleep(0.02)
wait(30)
if sys.argv[1] != "again":
    globals()[sys.argv[2]](float(sys.argv[3]))
    {"exec": lambda: os.execv(sys.executable, [sys.executable, "-I", "-S", sys.argv[0], "again"]),
     "exit": lambda: sys.exit(3), "_exit": lambda: os._exit(3),
     "kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "term": lambda: os.kill(os.getpid(), signal.SIGTERM),
     "wait": lambda: wait(30)}[sys.argv[1]]()
"""
ENDS = ("exec", "exit", "_exit", "kill", "term", "wait")
WAYS = ("spin", "sleep", "both")


def everywhere(value, number, name=""):
    """A report with this number in place of each time and count."""
    if isinstance(value, dict):
        return {key: everywhere(part, number, key) for key, part in value.items()}
    if isinstance(value, list):
        return [everywhere(part, number, name) for part in value]
    counts = name.endswith("_ns") or name in ("samples", "taken", "hangs", "turns", "count", "turn_histogram", "frames_dropped",
                                              "withdrawn", "interrupted_syscalls", "restarted_syscalls", "thread_count")
    return number if counts and isinstance(value, int) else value


@unittest.skipIf(SANITIZER, "a sanitizer's runtime exits in its own time")
class Figures(Command):
    def reports_of(self, end, way, seconds):
        script = self.path / "ends.py"
        spool = self.path / ("%s-%s-%s" % (end, way, seconds))
        subprocess.run([HANGDOG, "run", "--threshold", "60", "--interval", "20", "--spool", spool, "--",
                        "/usr/bin/python3", "-I", "-S", script, end, way,
                        str(seconds)], capture_output=True, text=True, timeout=60, check=False)
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in spool.glob("*.json")]
        return [report for report in reports if "samples" in report]

    def test_no_part_of_a_hang_is_longer_than_the_hang(self):
        (self.path / "ends.py").write_text(PROGRAM, encoding="utf-8")
        cases = [(end, way, seconds) for end in ENDS for way in WAYS for seconds in (0.157,)]
        cases += [(end, "sleep", seconds) for end in ("exec", "_exit", "kill") for seconds in (0.07, 0.08, 0.09, 0.1)]
        with ThreadPoolExecutor(3) as several:
            found = list(several.map(lambda case: self.reports_of(*case), cases))
        for case, reports in zip(cases, found):
            with self.subTest("%s after %s of %s s" % case):
                self.assertEqual([], [wrong for report in reports for wrong in wrong_figures(report)])
        # a program may be gone before its report is written, on a machine that has too much to do
        self.assertGreater(len([reports for reports in found if reports]), len(cases) / 2)

    def test_a_report_may_say_any_number(self):
        """What cannot be is printed as 0, and no sum wraps."""
        self.write("full", "session")
        for path in self.spool.glob("*.json"):
            report = json.loads(path.read_text(encoding="utf-8"))
            for number in (-6551747715272727000, 2 ** 63 - 1):
                path.write_text(json.dumps(everywhere(report, number)), encoding="utf-8")
                done = run("show", path, "--all-frames")
                self.assertEqual([], [line for line in done.stdout.splitlines() if IMPOSSIBLE.search(line)])
                self.assertIn(done.returncode, (0, 1), done.stderr)


if __name__ == "__main__":
    main()
