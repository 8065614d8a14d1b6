# SPDX-License-Identifier: MIT
"""A program that becomes itself anew more often than the runner has records for."""

import json
import unittest

from support_run import SANITIZER, main
from test_cli import Command, run

EXECS = 260  # the runner has 256 records
AGAIN = """
import os, select, socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
def wait(times):
    for _ in range(times): select.select([server], [], [], 0.01)
wait(3)
left, hangs = int(sys.argv[1]), sys.argv[2:]
if hangs: time.sleep(0.03); wait(2)
if left > 0: os.execv(sys.executable, [sys.executable, "-I", "-S", sys.argv[0], str(left - 1), *hangs])
wait(12); time.sleep(0.8); wait(12)
"""


class ManyExecs(Command):
    def watched(self, execs, *arguments, options=()):
        script = self.path / "again.py"
        script.write_text(AGAIN, encoding="utf-8")
        spool = self.path / "spool"
        done = run("run", *options, "--spool", spool, "--", "/usr/bin/python3", "-I", "-S", script, execs, *arguments)
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in spool.glob("*.json")]
        return done, [report["kind"] for report in reports], reports

    def test_images_that_only_wait(self):
        done, kinds, _ = self.watched(20)
        self.assertRegex(done.stderr, r"hang of 8\d\d ms")
        self.assertEqual(["hang", "session"], sorted(kinds), done.stderr)

    @unittest.skipIf(SANITIZER, "their runtimes start too slowly")
    def test_images_that_hang(self):
        done, kinds, reports = self.watched(EXECS, "hangs", options=["--threshold", "20", "--quiet"])
        self.assertTrue([r for r in reports if r["kind"] == "hang" and r["duration_ns"] > 700e6], (kinds, done.stderr))


if __name__ == "__main__":
    main()
