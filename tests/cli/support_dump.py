# SPDX-License-Identifier: MIT
"""Programs that the tests of `hangdog dump` start, and what the command says of them."""

import json
import os
import subprocess
import tempfile
import time
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, wait_until

TARGET = os.path.join(BUILD, "tests/programs/dump-target")
LONG_WAITS = os.path.join(BUILD, "tests/programs/long-waits")


def state_of_thread(pid, tid):
    try:
        with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "S"  # it has ended meanwhile


def is_blocked(pid):
    """All of its threads sleep."""
    return all(state_of_thread(pid, tid) in "SD" for tid in os.listdir("/proc/%d/task" % pid))


def dump(*args, status=0, prefix=(), **kwargs):
    """What the command prints: standard output, or where it fails standard error."""
    run = subprocess.run([*prefix, HANGDOG, "dump", *map(str, args)], text=True, capture_output=True, timeout=2 * PATIENCE,
                         check=False, errors="replace", **kwargs)
    if run.returncode != status:
        raise AssertionError("status %d: %s%s" % (run.returncode, run.stdout, run.stderr))
    return run.stdout if status == 0 else run.stderr


def report_of(pid, *args):
    return json.loads(dump(pid, "--json", *args))


def functions(thread):
    return [frame.get("function") for frame in thread["stack"]["frames"]]


def thread_of(report, tid):
    (thread,) = [thread for thread in report["threads"] if thread["tid"] == tid]
    return thread


class Programs(unittest.TestCase):
    def make_folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)  # for programs of another user
        return folder.name

    def start(self, *command, **kwargs):
        kwargs.setdefault("stdout", subprocess.DEVNULL)
        kwargs.setdefault("stderr", subprocess.DEVNULL)
        kwargs.setdefault("stdin", subprocess.PIPE)
        program = subprocess.Popen(list(map(str, command)), **kwargs)

        def end():
            program.kill()
            program.communicate()
        self.addCleanup(end)
        return program

    def start_target(self, *args, program=TARGET, **kwargs):
        """The program of these tests, which has said that it is ready."""
        target = self.start(program, *args, stdout=subprocess.PIPE, **kwargs)
        self.assertEqual(b"ready\n", target.stdout.readline())
        return target

    def settle(self, pid):
        """It sleeps with all its threads, at three looks in a row."""
        for _ in range(3):
            wait_until(lambda: is_blocked(pid), "the program to block")
            time.sleep(0.1)

    def start_blocked(self, *command, **kwargs):
        program = self.start(*command, **kwargs)
        time.sleep(0.5)
        self.settle(program.pid)
        return program
