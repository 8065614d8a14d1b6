# SPDX-License-Identifier: MIT
"""hangdog dump beside eu-stack and gdb, in one run: frames of blocked programs, and what each tool does to the program."""

import difflib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from support_blocked import commands
from support_peers import eu_stack, ours
from support_run import BUILD, HANGDOG, PATIENCE, main, wait_until

PROGRAMS_MIN = 16
EQUAL_MIN = 0.995
DISPLAY = ":%d" % (200 + os.getpid() % 500)


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def states_of(pid):
    states = []
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8", errors="replace") as stat:
                states.append(stat.read().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return states


class Stops:
    """For how long a process is stopped by a tracer while a tool looks at it, by a look each 100 us."""

    def __init__(self, pid):
        self.pid, self.stopped, self.over = pid, 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        last = None
        while not self.over.is_set():
            now = time.monotonic()
            if last is not None and "t" in states_of(self.pid):
                self.stopped += now - last
            last = now
            time.sleep(0.0001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()


class Beside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        os.chmod(cls.folder, 0o755)
        cls.programs = []

    @classmethod
    def tearDownClass(cls):
        for _, program in cls.programs:
            program.kill()
        for _, program in cls.programs:
            program.communicate()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def start_all(self):
        environment = dict(os.environ, DISPLAY=DISPLAY, HOME=self.folder, XDG_RUNTIME_DIR=self.folder)
        listed = sorted(commands(self.folder, DISPLAY, free_port), key=lambda item: item[0] != "Xvfb")
        for name, command in listed:
            if not shutil.which(command[0]):
                print("%s: not installed" % name, file=sys.stderr)
                continue
            program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=environment, cwd=self.folder)
            self.programs.append((name, program))
            if name == "Xvfb":
                wait_until(lambda: os.path.exists("/tmp/.X11-unix/X" + DISPLAY[1:]), "the X server")

    def settle(self, program):
        """Blocked at one place for half a second; False: it ended, or does not block."""
        end, since = time.monotonic() + 30, None
        while time.monotonic() < end and program.poll() is None:
            blocked = set(states_of(program.pid)) <= {"S", "D"}
            since = (since or time.monotonic()) if blocked else None
            if since and time.monotonic() - since > 0.5:
                return True
            time.sleep(0.02)
        return False

    def compare(self, program):
        """Frames equal, frames in all, threads that moved meanwhile, seconds that each tool stopped it."""
        with Stops(program.pid) as by_us:
            before = ours(program.pid)
        with Stops(program.pid) as by_eu:
            theirs = eu_stack(program.pid)
        after, again = ours(program.pid), eu_stack(program.pid)
        equal = frames = 0
        moved = len(theirs) - len(before)
        for tid, own in before.items():
            if after.get(tid) != own or again.get(tid) != theirs.get(tid):
                moved += 1
                continue
            other = theirs.get(tid, [])
            matcher = difflib.SequenceMatcher(None, own, other, autojunk=False)
            equal += sum(block.size for block in matcher.get_matching_blocks())
            frames += max(len(own), len(other))
        return equal, frames, moved, by_us.stopped, by_eu.stopped

    def test_frames_of_blocked_programs(self):
        self.start_all()
        time.sleep(3)
        rows, lost = [], []
        for name, program in self.programs:
            if not self.settle(program):
                lost.append(name)
                continue
            rows.append((name, *self.compare(program)))
        print("\n%-15s %7s %7s %6s %14s %14s" % ("program", "equal", "frames", "moved", "stopped by us", "by eu-stack"), file=sys.stderr)
        for name, equal, frames, moved, us, eu in rows:
            print("%-15s %7d %7d %6d %11.1f ms %11.1f ms" % (name, equal, frames, moved, us * 1e3, eu * 1e3), file=sys.stderr)
        equal, frames = sum(row[1] for row in rows), sum(row[2] for row in rows)
        print("%d programs, %d of %d frames equal (%.2f %%); not blocked, or ended: %s" %
              (len(rows), equal, frames, 100 * equal / frames, ", ".join(lost) or "none"), file=sys.stderr)
        self.assertGreaterEqual(len(rows), PROGRAMS_MIN)
        self.assertGreaterEqual(equal / frames, EQUAL_MIN)
        self.assertEqual(0, sum(row[4] for row in rows))
        self.assertGreater(sum(row[5] for row in rows), 0)

    def early_calls(self, tool):
        """The calls that return early in a program of 23 waits when a tool has looked at it."""
        with subprocess.Popen([os.path.join(BUILD, "tests/programs/long-waits")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as program:
            self.assertEqual("ready\n", program.stdout.readline())
            self.assertTrue(self.settle(program))
            for _ in range(3):
                subprocess.run([*tool, str(program.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
            time.sleep(0.5)
            program.stdin.close()
            return [line.split()[1] for line in program.stdout.read().splitlines()]

    def test_calls_that_a_look_interrupts(self):
        tools = [("hangdog dump", [HANGDOG, "dump"]), ("eu-stack", ["eu-stack", "-p"]),
                 ("gdb", ["gdb", "-batch", "-nx", "-ex", "thread apply all bt", "-p"])]
        early = {}
        for name, tool in tools:
            if shutil.which(tool[0]):
                early[name] = self.early_calls(tool)
                print("%s: %d of 23 calls interrupted: %s" % (name, len(early[name]), " ".join(early[name])), file=sys.stderr)
        self.assertEqual([], early["hangdog dump"])
        self.assertNotEqual([], early["eu-stack"])  # else the program would show nothing


if __name__ == "__main__":
    main()
