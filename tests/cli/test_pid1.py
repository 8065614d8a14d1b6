# SPDX-License-Identifier: MIT
"""A container that is killed while its program hangs: the next start with the same spool reports a fatal hang."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_run import HANGDOG, RELEASE, SANITIZER, children_of, environment, main, state_of, wait_until

SPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork", "--mount-proc", "--kill-child"]
SERVER = """\
import asyncio, sys, time

async def serve():
    for _ in range(30):
        await asyncio.sleep(0.02)
    if len(sys.argv) > 1:
        print("hangs", flush=True)
        time.sleep(float(sys.argv[1]))
    for _ in range(30):
        await asyncio.sleep(0.02)

asyncio.run(serve())
"""


class Container:
    """One start of `hangdog run` with the server, as process 1 of a namespace of its own where `space` says so."""

    def __init__(self, folder, *words, space=True):
        self.run = subprocess.Popen([*(SPACE if space else []), HANGDOG, "run", "--spool", folder / "spool", "--", "/usr/bin/python3",
                                     folder / "server.py", *map(str, words)], env=environment(), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.space = space

    def wait_for_the_hang(self):
        if self.run.stdout.readline() != "hangs\n":
            raise AssertionError(self.run.stderr.read())
        return time.monotonic()

    def runner(self):
        return children_of(self.run.pid)[0] if self.space else self.run.pid

    def end(self):
        said = self.run.communicate(timeout=60)
        assert self.run.returncode == 0, said
        return said[1]


def can_unshare():
    with contextlib.suppress(OSError):
        return subprocess.run([*SPACE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return False


@unittest.skipIf(SANITIZER, "the server's runtime would be another program")
class Pid1(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, name):
        folder = self.folder / name
        folder.mkdir()
        (folder / "server.py").write_text(SERVER)
        return folder

    @staticmethod
    def reports(folder, *kinds):
        found = [json.loads(path.read_text()) for path in sorted((folder / "spool").glob("*.json"))]
        return [report for report in found if report["kind"] in kinds]

    def assert_fatal(self, folder, least_s, previous="fatal-hang"):
        (hang,) = self.reports(folder, "hang", "fatal-hang")
        self.assertEqual("fatal-hang", hang["kind"])
        slack_s = 0.05 if RELEASE else 1  # the kill may come later than this test's clock says
        self.assertGreaterEqual(hang["duration_ns"], 0.9 * least_s * 1e9, "%.2f s" % least_s)
        self.assertLessEqual(hang["duration_ns"], (least_s + slack_s + 1) * 1e9)
        sessions = self.reports(folder, "session")
        self.assertEqual([None, previous], [session["session"].get("previous_end") for session in sessions])
        self.assertEqual(1, sessions[0]["session"]["hangs"])
        self.assertEqual([], [path.name for path in (folder / "spool").glob(".*.record")])

    def killed_after(self, seconds, space):
        """Killed so long into its hang; what the next start makes of it."""
        folder = self.make("%s-%s" % (seconds, space))
        first = Container(folder, 60, space=space)
        began = first.wait_for_the_hang()
        time.sleep(seconds)
        runner = first.runner()
        program = [pid for pid in children_of(runner) if not space and "python3" in os.readlink("/proc/%d/exe" % pid)]
        lasted = time.monotonic() - began
        for pid in (runner, *program):
            os.kill(pid, signal.SIGKILL)
        first.run.communicate()
        said = Container(folder, space=space).end()
        (hang,) = self.reports(folder, "hang", "fatal-hang")
        self.assertRegex(said, r"\Ahangdog: the run before died in a hang of \d\.\d s; more: \S*hangdog show %s --spool " % hang["id"][-6:])
        return folder, lasted

    def check_killed(self, seconds, space):
        self.assert_fatal(*self.killed_after(seconds, space))

    def check_survivor(self):
        """A program that outlives its runner is not dead."""
        folder = self.make("survivor")
        first = Container(folder, 3, space=False)
        first.wait_for_the_hang()
        (program,) = [pid for pid in children_of(first.run.pid) if "python3" in os.readlink("/proc/%d/exe" % pid)]
        wait_until(lambda: list((folder / "spool").glob(".*.record")), "the copy of the record", 3)
        os.kill(first.run.pid, signal.SIGKILL)
        first.run.wait(60)
        Container(folder, space=False).end()
        self.assertEqual(["hang"], [hang["kind"] for hang in self.reports(folder, "hang", "fatal-hang")])
        wait_until(lambda: state_of(program) in ("", "Z"), "the program's end")
        Container(folder, space=False).end()
        (hang,) = self.reports(folder, "hang", "fatal-hang")
        self.assertEqual(("hang", True), (hang["kind"], hang["complete"]))
        self.assertEqual([], list((folder / "spool").glob(".*.record")))

    def check_end_of_a_hang(self):
        """No copy remains."""
        folder = self.make("ends")
        run = Container(folder, 1.5, space=False)
        run.wait_for_the_hang()
        wait_until(lambda: list((folder / "spool").glob(".*.record")), "the copy of the record", 1.4)
        wait_until(lambda: not list((folder / "spool").glob(".*.record")), "its removal after the hang")
        run.end()
        (hang,) = self.reports(folder, "hang", "fatal-hang")
        self.assertEqual("hang", hang["kind"])

    def test_side_by_side(self):
        calls = [(self.check_killed, 2.2, False), (self.check_survivor,), (self.check_end_of_a_hang,)]
        if can_unshare():
            calls += [(self.check_killed, seconds, True) for seconds in (0.9, 2.2, 4.5)]
        with ThreadPoolExecutor(len(calls)) as pool:
            running = [(call, pool.submit(*call)) for call in calls]
        for call, of in running:
            with self.subTest(call[0].__name__, arguments=call[1:]):
                of.result()


if __name__ == "__main__":
    main()
