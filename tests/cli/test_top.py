#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hangdog top: a running program live in a terminal of tmux's, and one screen of it as text."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

from support_dump import Programs, dump, state_of_thread
from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, children_of, environment, main, name_of, wait_until
from support_screen import Terminal

KEYS = "q quit   up/down thread   s sort: CPU   space pause   e all frames   h help"
# The shell says what the terminal is like when the command has ended.
AFTER = 'stty sane; trap : INT QUIT TERM HUP; "$@"; echo "status $?"; stty -a | grep -ow -e "-\\?icanon" -e "-\\?echo"; exec sleep 1000'


def top(*args, status=0):
    run = subprocess.run([HANGDOG, "top", *map(str, args)], text=True, capture_output=True, timeout=2 * PATIENCE, check=False,
                         stdin=subprocess.DEVNULL)
    if run.returncode != status:
        raise AssertionError("status %d: %s%s" % (run.returncode, run.stdout, run.stderr))
    return run.stdout if status == 0 else run.stderr


def child_of(pid):
    """The command that the terminal's shell has started."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as stat:
                    fields = stat.read().rpartition(")")[2].split()
                with open("/proc/%s/cmdline" % name, "rb") as command:
                    is_top = b"\0top\0" in command.read()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid and is_top:
                return int(name)
    return 0


class Live(Programs):
    def open(self, *args, **kwargs):
        terminal = Terminal(["/bin/sh", "-c", AFTER, "sh", HANGDOG, "top", *map(str, args)], **kwargs)
        terminal.__enter__()  # pylint: disable=unnecessary-dunder-call
        self.addCleanup(terminal.__exit__)
        terminal.wait_for(r"(?m)^q quit")
        return terminal

    def pid_of(self, terminal):
        pane = int(terminal.tmux("display-message", "-p", "#{pane_pid}"))
        shell = next(int(name) for name in os.listdir("/proc") if name.isdigit() and self.parent(name) == pane)
        return wait_until(lambda: child_of(shell), "the command")

    @staticmethod
    def parent(name):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as stat:
                return int(stat.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return 0

    def assert_put_back(self, terminal, status):
        """The screen of before is there, and a line can be typed."""
        terminal.wait_for(r"(?m)^status %d\necho\nicanon|^status %d\nicanon\necho" % (status, status))
        self.assertEqual("0 1", terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip())
        self.assertNotIn("up/down", terminal.text())

    def start_owner(self):
        """Two threads: one has a mutex and sleeps, the other waits for it."""
        target = self.start_target("owner")
        self.settle(target.pid)
        return target

    def test_the_screen_at_80_by_24_and_after_a_resize(self):
        target = self.start_owner()
        terminal = self.open(target.pid)
        terminal.wait_for(r"(?m)^  \d+ +compactor +0%  sleeps")
        lines = terminal.text(history=False).split("\n")
        self.assertEqual(24, len(lines), lines)
        self.assertRegex(lines[0], r"^dump-target\[%d\]  up .*  2 threads, 0%% CPU  \d\d:\d\d:\d\d$" % target.pid)
        self.assertRegex(lines[1], "^  THREAD  NAME +CPU  NOW$")
        self.assertRegex(lines[2], r"^> %d +dump-target \(main\) +0%%  waits for a mutex held by thread \d+ \"" % target.pid)
        self.assertEqual('STACK OF %d "dump-target"' % target.pid, lines[4])
        self.assertRegex(lines[5], r"^  > \w+ +dump-target.c:\d+ +in pthread_mutex_lock$")
        self.assertEqual(KEYS, lines[23])
        self.assertLessEqual(max(map(len, lines)), 80)
        terminal.tmux("resize-window", "-x", "50", "-y", "12")
        terminal.wait(lambda: len(terminal.text(history=False).split("\n")) == 12 and
                      terminal.text(history=False).endswith("\n" + KEYS[:50].rstrip()), "the small screen")
        self.assertRegex(terminal.text(history=False), r"^dump-target\[\d+\]")
        terminal.tmux("resize-window", "-x", "120", "-y", "30")
        terminal.wait_for(r'held by thread \d+ "compactor", which is in compact_log')
        terminal.keys("q")
        self.assert_put_back(terminal, 0)

    def test_keys(self):
        target = self.start_owner()
        terminal = self.open(target.pid, "--interval", "100ms")
        terminal.keys("Down")
        terminal.wait_for(r'(?m)^STACK OF \d+ "compactor"\n  > compact_log')
        terminal.keys("e")
        terminal.wait_for(r"(?m)^    (clone3?|start_thread) ")
        terminal.keys("Enter", "Up")
        terminal.wait_for(r'(?m)^STACK OF \d+ "dump-target"')
        terminal.keys("s")
        terminal.wait_for(r"(?m)NOW  by number$")
        terminal.keys("Space")
        terminal.wait_for(r"(?m)^dump-target.*  paused$")
        held = terminal.text(history=False)
        time.sleep(1.2)
        self.assertEqual(held, terminal.text(history=False))
        terminal.keys("h")
        terminal.wait_for("choose a thread")
        terminal.keys("x", "x", "h", "h")  # help again, and back
        terminal.keys("d")
        terminal.wait_for(r'(?s)\(main\)  waits for a mutex.*"compactor"  sleeps.*status 0')
        self.assert_put_back(terminal, 0)

    def test_each_end_puts_the_terminal_back(self):
        target = self.start_owner()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV):
            with self.subTest(number.name):
                terminal = self.open(target.pid)
                os.kill(self.pid_of(terminal), number)
                self.assert_put_back(terminal, 128 + number)
        terminal = self.open(target.pid)
        terminal.keys("C-c")
        self.assert_put_back(terminal, 130)

    def test_the_end_of_the_process_ends_it(self):
        target = self.start_owner()
        terminal = self.open(target.pid)
        target.kill()
        target.wait()
        terminal.wait_for(r"(?m)^hangdog: dump-target\[%d\] has ended$" % target.pid)
        self.assert_put_back(terminal, 0)

    def test_a_thousand_threads(self):
        target = self.start_target("many", "1000")
        self.settle(target.pid)
        terminal = self.open(target.pid)
        self.assertIn("1001 threads", terminal.text())
        for _ in range(30):
            terminal.keys("Down")
        terminal.wait_for(r"(?m)^> \d+ +dump-target  +\S+  waits for a signal in pause$")
        self.assertEqual(1, len(re.findall("(?m)^> ", terminal.text(history=False))))
        terminal.keys("q")
        self.assert_put_back(terminal, 0)


# Ten turns a second; after "hang" a turn of some seconds, twice.
LOOP = """
import select, socket, sys, time
server = [socket.create_server(("127.0.0.1", 0))]
def turns(n):
    for _ in range(n): select.select(server, [], [], 0.1)
def lookup(): time.sleep(4)
turns(20)
open("ready", "w").close()
while True:
    turns(8)
    if "hang" in sys.argv: lookup()
"""


class Watched(Programs):
    def start_loop(self, *args):
        folder = self.make_folder()
        program = os.path.join(folder, "loop.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(LOOP)
        run = self.start(HANGDOG, "run", "--spool", os.path.join(folder, "spool"), "--", "/usr/bin/python3", program, *args,
                         cwd=folder, env=environment())
        wait_until(lambda: os.path.exists(os.path.join(folder, "ready")), "the loop")
        (pid,) = [child for child in children_of(run.pid) if name_of(child) == "python3"]
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        return pid

    def test_the_loop_of_a_program_under_run(self):
        pid = self.start_loop()
        text = top("--once", "--interval", "2s", pid)
        match = re.search(r"(?m)^  LOOP +NAME +BUSY +TURNS/s +MEDIAN +P99 +WORST\n"
                          r"  %d +main +(\d+)%% +(\d+) +\d+ (?:us|ms) +\d+ (?:us|ms) +<[\d.]+ (?:us|ms|s)$" % pid, text)
        self.assertTrue(match, text)
        self.assertLess(int(match[1]), 60, text)
        self.assertIn(int(match[2]), range(5, 12), text)  # 10 a second
        self.assertIn("\nHANGS  none so far\n", text)

    def test_a_hang_while_it_lasts_and_when_it_has_ended(self):
        pid = self.start_loop("hang")
        with Terminal([HANGDOG, "top", "--interval", "200ms", pid]) as terminal:
            terminal.wait_for(r"(?m)^  frozen for [\d.]+ m?s, still going in lookup \(loop.py:6\)$")
            terminal.wait_for(r"(?m)^HANGS  \d, [\d.]+ s lost\n(.*\n)?  \d\d:\d\d:\d\d  hang of 4.\d s in lookup \(loop.py:6\)$")
            terminal.wait_for(r"(?m)^  %d +main +100%%" % pid)

    def test_a_program_that_links_the_library(self):
        spool = self.make_folder()
        program = self.start(os.path.join(BUILD, "tests/programs/library-hang"), spool, "long")
        wait_until(lambda: os.listdir(spool), "its report")
        text = top("--once", "--interval", "300ms", program.pid)
        self.assertRegex(text, r"(?m)^  %d +loop +100%% +0 " % program.pid)
        self.assertRegex(text, r"(?m)^HANGS\n  frozen for [\d.]+ m?s, still going in main \(library-hang.c:\d+\)$")

    def test_an_unprepared_program_has_no_loops(self):
        target = self.start_target("spin")
        self.assertNotIn("LOOP", top("--once", "--interval", "100ms", target.pid))


class Once(Programs):
    def test_one_screen_as_text(self):
        target = self.start_target("spin")
        text = top("--once", "--interval", "300ms", target.pid)
        self.assertRegex(text, r"\Adump-target\[%d\]  up .*  2 threads, \d+%% CPU" % target.pid)
        share = re.search(r"(?m)^  \d+ +worker +(\d+)%  ", text)
        self.assertGreater(int(share[1]), 2, text)
        self.assertRegex(text, r'(?m)^STACK OF %d "dump-target"$' % target.pid)
        self.assertNotIn("\x1b", text)
        self.assertIn(state_of_thread(target.pid, target.pid), "SR")

    def test_deadlock(self):
        target = self.start_target("deadlock")
        wait_until(lambda: "deadlock:" in dump(target.pid), "the deadlock")
        self.assertRegex(top("--once", "--interval", "100ms", target.pid), r"\ndeadlock: %d -> \d+ -> %d\n" % (target.pid, target.pid))

    def test_errors(self):
        self.assertEqual("hangdog: cannot show process 99999999: there is no such process\n", top(99999999, status=1))
        self.assertRegex(top(os.getpid(), status=1),
                         r"^hangdog: cannot show a live view: this is no terminal; try: \S+ top --once %d\n" % os.getpid())
        self.assertRegex(top(status=2), r"which process\? A PID, or a NAME; the whole host is shown where hangdog-agent runs; try: ")
        self.assertRegex(top("--interval", "1ms", 1, status=2), "--interval")

    def test_a_terminal_that_is_not_known(self):
        with Terminal(["/usr/bin/env", "TERM=nosuchterm", HANGDOG, "top", str(os.getpid())]) as terminal:
            terminal.wait_for_end()
            self.assertEqual(1, terminal.status(), terminal.text())


if __name__ == "__main__":
    if SANITIZER == "thread":
        sys.exit(77)
    unittest.TestCase.maxDiff = None
    main()
