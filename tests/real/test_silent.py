#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs without a loop under `hangdog run`: make, gcc, git, ssh, a shell's pipeline, java, a cron-like sleeper, sqlite, tail -f,
# curl. Nothing is reported, and the last line says that no event loop, so hangs could not be seen, or none for certain in those that wait at one place
# again and again. A shell on a terminal has one, its prompt: what it waits for while a child has the terminal is no hang.

import contextlib
import ctypes
import json
import os
import pathlib
import pty
import select
import shutil
import tempfile
import time
import unittest

from support_plans import PlanCase, drive_all, need
from support_run import (HANGDOG, RELEASE, SANITIZER, children_of, environment, false_ones, main, may_trace, need_terminal,
                         wait_until)

NAMES = ["make", "gcc", "git", "ssh", "bash", "java", "sleeper", "sqlite", "tail"]
if not SANITIZER:  # with a sanitizer's runtime alone curl waits for ever for a lock of setlocale's
    NAMES.append("curl")
THRESHOLD_MS, SHOWN = (300, "300 ms") if RELEASE else (1500, "1.5 s")
NO_LOOP = r": no event loop, so hangs could not be seen; the main thread.*$"
TAIL = r": no hang of %s or more, started in [^;,]+$" % SHOWN  # it waits for inotify: a loop
EVERY = None


class Silent(PlanCase):
    pass


def add(name):
    def test(self):
        self.assert_silent(EVERY[name], TAIL if name == "tail" else NO_LOOP)
    setattr(Silent, "test_" + name, test)


for each in NAMES:
    add(each)


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, argv, folder):
        need_terminal()
        self.folder, self.shown = folder, b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(argv[0], argv, dict(environment(), TERM="dumb", HOME=folder))

    def until(self, text, limit=60):
        """Reads until `text` is shown; what was shown before is forgotten."""
        end = time.monotonic() + limit
        while text.encode() not in self.shown:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("waited in vain for %r: %r" % (text, self.shown))
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                raise AssertionError("ended before %r: %r" % (text, self.shown))
            self.shown += more
        self.shown = self.shown.split(text.encode(), 1)[1]

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def close(self):
        """Whatever became of the test: the end of the terminal ends what runs on it."""
        if self.fd >= 0:
            os.close(self.fd)
            wait_until(lambda: os.waitpid(self.pid, os.WNOHANG)[0], "the end of what ran on the terminal")

    def end(self):
        shown = self.shown
        while True:
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                break
            shown += more
        os.close(self.fd)
        self.fd = -1
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), shown.decode(errors="replace")


# A shell that waits for the jobs in its foreground as fish does: in a semaphore, which the handler of SIGCHLD posts. Its commands
# are Python's, of a child that has the terminal.
SEMAPHORE_SHELL = """
import os, select, signal, threading, time
posted = threading.Lock()
signal.signal(signal.SIGCHLD, lambda *_: posted.release())
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
terminal = select.poll()
terminal.register(0, select.POLLIN)
while True:
    print("READY> ", end="", flush=True)
    terminal.poll()
    line = os.read(0, 1000).decode()
    if line.startswith("exit"): os._exit(7)
    posted.acquire()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        exec(line)
        os._exit(0)
    posted.acquire()
    os.waitpid(child, 0)
    os.tcsetpgrp(0, os.getpgrp())
    posted.release()
"""


# A program that lends its terminal to what it runs, in its own process group, as an editor or a mail reader does.
LENDS = """
import os, select
terminal = select.poll()
terminal.register(0, select.POLLIN)
while True:
    print("READY> ", end="", flush=True)
    terminal.poll()
    line = os.read(0, 1000).decode()
    if line.startswith("exit"): os._exit(7)
    os.system(line)
"""


@contextlib.contextmanager
def worker_held(pid):
    """Meanwhile the worker of that process does not run, and the other threads do: as on a machine that has no time for it."""
    def tid():
        for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
            if (task / "comm").read_text(encoding="ascii").strip() == "hangdog-worker":
                return int(task.name)
        return None
    seize, interrupt, detach = 0x4206, 0x4207, 17
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    worker = wait_until(tid, "the worker")
    for request in (seize, interrupt):
        if ptrace(request, worker, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(worker, 0x40000000)  # __WALL
    try:
        yield
    finally:
        ptrace(detach, worker, None, None)


class Shell(unittest.TestCase):
    PROMPT = "READY> "

    def folder(self):
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def start(self, folder, *argv):
        terminal = Terminal([HANGDOG, "run", "--threshold", str(THRESHOLD_MS), "--spool", os.path.join(folder, "spool"), "--",
                             *argv], folder)
        self.addCleanup(terminal.close)
        terminal.until(self.PROMPT)
        return terminal

    def command(self, terminal, keys):
        terminal.type(keys)
        terminal.until(self.PROMPT)
        time.sleep(0.3)

    def bash(self):
        folder = self.folder()
        with open(os.path.join(folder, "rc"), "w", encoding="ascii") as rc:
            rc.write("PS1='%s'; bind 'set enable-bracketed-paste off'\n" % self.PROMPT)
        return self.start(folder, "/bin/bash", "--rcfile", "rc", "-i")

    def test_commands_of_a_shell_on_a_terminal_are_no_hangs(self):
        pause = THRESHOLD_MS * 2 / 1000
        terminal = self.bash()
        for command in ("true\r", "true\r", "true\r", "sleep %g\r", "true | sleep %g\r", "(sleep %g; sleep 0.1)\r",
                        "for i in 1 2; do sleep %g; done\r"):
            self.command(terminal, command % pause if "%g" in command else command)
        terminal.type("sleep 600\r")  # stopped, brought back, interrupted
        time.sleep(pause)
        self.command(terminal, "\x1a")
        terminal.type("fg\r")
        time.sleep(pause)
        self.command(terminal, "\x03")
        terminal.type("exit 7\r")
        self.assert_no_hang(terminal, "bash")

    @unittest.skipUnless(may_trace(), "programs may not be traced here")
    def test_those_that_were_over_when_the_worker_came_do_not_hide_the_loop(self):
        pause = THRESHOLD_MS * 2 / 1000
        terminal = self.bash()
        shell = wait_until(lambda: children_of(terminal.pid), "the shell")[0]
        for _ in range(2):  # the prompt is the loop, and far from being it beyond doubt
            self.command(terminal, "true\r")
        with worker_held(shell):
            self.command(terminal, "sleep %g\r" % (3 * pause))
        for _ in range(3):
            self.command(terminal, "sleep %g\r" % (2 * pause))
        terminal.type("exit 7\r")
        status, shown = terminal.end()
        self.assertEqual(7, status, shown)
        self.assertRegex(shown, "hangdog: bash ran for ")  # a command that it did not see may be a hang to it
        self.assertNotIn("no event loop, so hangs could not be seen", shown)

    def test_nor_are_those_of_one_that_waits_in_a_semaphore(self):
        terminal = self.start(self.folder(), "/usr/bin/python3", "-I", "-c", SEMAPHORE_SHELL)
        for command in 4 * ["pass"] + 2 * ["time.sleep(%g)" % (THRESHOLD_MS * 2 / 1000)]:
            self.command(terminal, command + "\r")
        terminal.type("exit\r")
        self.assert_no_hang(terminal, "python3")

    def lends(self, *commands):
        terminal = self.start(self.folder(), "/usr/bin/python3", "-I", "-c", LENDS)
        for command in (*4 * ["true\r"], *commands):
            self.command(terminal, command)
        return terminal

    def test_what_a_person_talks_to_in_a_programs_own_group_is_no_hang_of_that(self):
        terminal = self.lends()
        for command in ("read x\r", "(read x; true); true\r"):
            terminal.type(command)
            time.sleep(THRESHOLD_MS * 3 / 1000)
            self.command(terminal, "\r")
        terminal.type("exit\r")
        self.assert_no_hang(terminal, "python3")

    def test_what_nobody_talks_to_there_is_one(self):
        terminal = self.lends("sleep %g\r" % (THRESHOLD_MS * 3 / 1000), "true\r", "true\r")
        terminal.type("exit\r")
        self.assertEqual(7, terminal.end()[0])
        self.assertEqual(["child"], [hang["cause"]["kind"] for hang in false_ones(self.hangs(terminal))])

    @staticmethod
    def hangs(terminal):
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path(terminal.folder, "spool").glob("*.json")]
        return [report for report in reports if report["kind"] != "session"]

    def assert_no_hang(self, terminal, name):
        status, shown = terminal.end()
        self.assertEqual(7, status, shown)
        hangs = self.hangs(terminal)
        self.assertEqual([], false_ones(hangs), shown)
        if not hangs:
            self.assertRegex(shown, r"hangdog: %s ran for .*: .*no hang of %s or more" % (name, SHOWN))


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    EVERY = drive_all(NAMES, THRESHOLD_MS)


if __name__ == "__main__":
    need("make", "gcc", "git", "ssh", "curl", "java", "bash")
    main()
