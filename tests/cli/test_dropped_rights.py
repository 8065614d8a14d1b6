# SPDX-License-Identifier: MIT
"""Programs that may not write their reports themselves: the runner, which kept its rights, does."""

import json
import os
import pathlib
import tempfile
import unittest

from support_run import main
from test_cli import Command, run

FREEZE = """
import asyncio, os, resource, signal, sys, time
def drop(how):
    if how == "fsize": return resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    if how == "chroot": os.chroot(sys.argv[2]); os.chdir("/")
    os.setgid(65534); os.setuid(65534)
def freeze(): time.sleep(0.9)
async def serve():
    for _ in range(5): await asyncio.sleep(0.1)
    if "before" not in sys.argv: drop(sys.argv[1])
    for _ in range(5): await asyncio.sleep(0.1)
    freeze()
    await asyncio.sleep(0.2)
    if "dies" in sys.argv: signal.alarm(7); time.sleep(60)
if sys.argv[2:3] == ["child"]:
    if os.fork() != 0: os.wait(); os._exit(0)
    if "before" in sys.argv: drop(sys.argv[1])
    asyncio.run(serve())
else: asyncio.run(serve())
"""


class DroppedRights(Command):
    def setUp(self):
        super().setUp()
        self.spool = self.path / "spool"  # the runner makes it, for its own user alone

    def watched(self, *arguments, options=()):
        done = run("run", *options, "--spool", self.spool, "--", "/usr/bin/python3", "-c", FREEZE, *arguments)
        self.assertNotIn("reports lost", done.stderr)
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.spool.glob("*.json"))]
        self.assertEqual({(0, 0o600)}, {(path.stat().st_uid - os.getuid(), path.stat().st_mode & 0o777)
                                        for path in self.spool.glob("*.json")})
        self.assertEqual([], list(self.spool.glob(".*.tmp")))
        return done.stderr, [report for report in reports if report["kind"] != "session"]

    def assert_one_freeze(self, told, reports):
        self.assertRegex(told, r"hang of 9\d\d ms in freeze")
        (report,) = (report for report in reports if "freeze" in str(report["hot_stack"]))  # not of a machine that is busy
        self.assertEqual(("hang", True), (report["kind"], report["complete"]))
        self.assertAlmostEqual(0.9e9, report["duration_ns"], delta=0.06e9)

    def test_a_limit_on_the_size_of_files(self):
        self.assert_one_freeze(*self.watched("fsize"))

    @unittest.skipIf(os.getuid() != 0, "only root has rights to drop")
    def test_setuid(self):
        self.assert_one_freeze(*self.watched("setuid"))

    @unittest.skipIf(os.getuid() != 0, "only root has rights to drop")
    def test_chroot_and_setuid(self):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root).chmod(0o755)
            self.assert_one_freeze(*self.watched("chroot", root))

    @unittest.skipIf(os.getuid() != 0, "only root has rights to drop")
    def test_a_child_that_drops_them(self):
        self.assert_one_freeze(*self.watched("setuid", "child", options=["--follow"]))

    @unittest.skipIf(os.getuid() != 0, "only root has rights to drop")
    def test_a_child_that_drops_them_before_its_loop(self):
        """As a server's workers do. The spool is closed to it from its first wait on."""
        self.assert_one_freeze(*self.watched("setuid", "child", "before", options=["--follow"]))

    @unittest.skipIf(os.getuid() != 0, "only root has rights to drop")
    def test_a_child_whose_loop_is_named(self):
        self.assert_one_freeze(*self.watched("setuid", "child", "before", options=["--follow", "--loop", "python3"]))

    @unittest.skipIf(os.getuid() != 0, "only root has rights to drop")
    def test_a_freeze_in_which_the_program_dies(self):
        told, reports = self.watched("setuid", "/", "dies")
        self.assertIn("] frozen for 5 s, still going", told)
        self.assertEqual(["hang", "fatal-hang"], [report["kind"] for report in reports])
        self.assertAlmostEqual(7e9, reports[1]["duration_ns"], delta=0.7e9)


if __name__ == "__main__":
    main()
