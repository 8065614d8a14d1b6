#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Freezes that do not end, in the first turn or a later one: a sleep, an endless loop, a mutex that another thread has, a pipe to
# which the program never writes. After 6 s SIGKILL, SIGTERM or Ctrl-C ends the program. Each freeze is reported while it lasts,
# and the report stays.

import contextlib
import os
import pty
import signal
import subprocess
import time
import typing

from support_run import MS, TOLERANCE_NS, Program, Together, false_ones, main, need_terminal, wait_until
from support_seen import AT_A_TIME, SeenCase, Try, add_tests, built, command, lacks

FIRST, LATER = "300 %s:forever", "200 sleep:50 200 sleep:50 200 %s:forever"
FROZEN_S, LATE_S = 6, 4
KILL, TERM, CTRL_C = "SIGKILL", "SIGTERM", "Ctrl-C"


class Freeze(typing.NamedTuple):
    """What freezes, and how it is ended."""
    tried: Try
    ending: str


def freeze(source, schedule, kind, ending, imports=""):
    return Freeze(Try(source, schedule % kind, imports=imports), ending)


FREEZES = {
    "c_epoll_first_killed": freeze("loop_epoll.c", FIRST, "sleep", KILL),
    "c_epoll_first_terminated": freeze("loop_epoll.c", FIRST, "lock", TERM),
    "c_epoll_later_interrupted": freeze("loop_epoll.c", LATER, "read", CTRL_C),
    "c_epoll_later_killed": freeze("loop_epoll.c", LATER, "compute", KILL),
    "c_glib_first_interrupted": freeze("loop_glib.c", FIRST, "lock", CTRL_C),
    "c_glib_first_killed": freeze("loop_glib.c", FIRST, "read", KILL),
    "c_glib_later_terminated": freeze("loop_glib.c", LATER, "sleep", TERM),
    "c_libuv_first_interrupted": freeze("loop_libuv.c", FIRST, "compute", CTRL_C),
    "c_libevent_first_terminated": freeze("loop_libevent.c", FIRST, "read", TERM),
    "glib_first_killed": freeze("loop_glib.py", FIRST, "lock", KILL, "gi"),
    "asyncio_first_killed": freeze("loop_asyncio.py", FIRST, "sleep", KILL),
    "asyncio_first_terminated": freeze("loop_asyncio.py", FIRST, "lock", TERM),
    "asyncio_first_interrupted": freeze("loop_asyncio.py", FIRST, "read", CTRL_C),
    "asyncio_later_killed": freeze("loop_asyncio.py", LATER, "lock", KILL),
    "asyncio_later_interrupted": freeze("loop_asyncio.py", LATER, "sleep", CTRL_C),
    "node_first_killed": freeze("loop_node.js", FIRST, "compute", KILL),
    "node_first_terminated": freeze("loop_node.js", FIRST, "read", TERM),
    "node_first_interrupted": freeze("loop_node.js", FIRST, "sleep", CTRL_C),
    "node_later_killed": freeze("loop_node.js", LATER, "read", KILL),
    "tcl_first_killed": freeze("loop_tcl.tcl", FIRST, "sleep", KILL),
    "tcl_first_terminated": freeze("loop_tcl.tcl", FIRST, "read", TERM),
    "tcl_later_interrupted": freeze("loop_tcl.tcl", LATER, "sleep", CTRL_C),
    "tcl_later_killed": freeze("loop_tcl.tcl", LATER, "read", KILL),
}
EVERY = None


class Frozen:
    """A program that freezes for ever, to its end."""

    def __init__(self, what, binaries, folder):
        self.tried, self.ending = what.tried, what.ending
        argv = command(what.tried, binaries, folder)
        self.lacks = lacks(what.tried, argv)
        if not self.lacks:
            with AT_A_TIME:
                self.run(argv, folder)

    def run(self, argv, folder):
        ours, its = pty.openpty()
        self.program = Program(argv, folder=folder, terminal=its)
        os.close(its)
        freezes = sum(":" in argument for argument in argv)
        with contextlib.suppress(AssertionError):  # the test finds out why it does not freeze
            wait_until(lambda: self.program.output.count("freezes") == freezes or self.program.process.poll() is not None,
                       "the freeze")
        begun_ns = time.monotonic_ns()
        pid = self.program.pid
        time.sleep(FROZEN_S)
        with contextlib.suppress(AssertionError):  # a loaded machine may be late with it
            wait_until(lambda: self.hangs() and self.program.errors, "the report", LATE_S)
        self.meanwhile = self.hangs()
        self.said = self.program.errors
        while self.program.process.poll() is None:
            self.end(pid, ours)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.program.wait(1)  # Python takes the first Ctrl-C for a request to its loop
        self.lasted_ns = time.monotonic_ns() - begun_ns
        os.close(ours)

    def end(self, pid, terminal):
        if self.ending == CTRL_C:
            os.write(terminal, b"\x03")
        else:
            os.kill(pid, getattr(signal, self.ending))

    def hangs(self):
        return [report for report in self.program.reports() if report["kind"] != "session"]


class Freezes(SeenCase):
    def assert_frozen(self, frozen):
        """One report, which was there before the end, with the function and the time."""
        if frozen.lacks:
            self.skipTest(frozen.lacks)
        self.addCleanup(frozen.program.close)
        hangs = frozen.hangs()
        reported = [(hang["kind"], hang["duration_ns"], hang["cause"]) for hang in hangs]
        print("%s: froze %d ms, reported %s" % (self.id().rsplit(".", 1)[1], frozen.lasted_ns // MS, reported))
        self.assertEqual(1, len(false_ones(hangs)), "%s\n%s" % (reported, frozen.program.errors))
        hang = false_ones(hangs)[0]
        self.assert_valid(hang)
        self.assertIn(hang["kind"], ("fatal-hang", "hang"))
        self.assertGreaterEqual(hang["duration_ns"], frozen.lasted_ns * 9 // 10, reported)
        self.assertLessEqual(hang["duration_ns"], frozen.lasted_ns + TOLERANCE_NS + 300 * MS, reported)
        self.assert_blamed(frozen.program, hang, frozen.tried.functions()[-1])
        self.assertEqual([hang["id"]], [report["id"] for report in false_ones(frozen.meanwhile)],
                         "not there after %d s:\n%s" % (FROZEN_S + LATE_S, frozen.said))
        self.assertNotEqual("", frozen.said)


add_tests(Freezes, FREEZES, lambda: EVERY, Freezes.assert_frozen)


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    need_terminal()
    binaries = built({name: each.tried for name, each in FREEZES.items()})
    EVERY = Together()
    for name, each in FREEZES.items():
        folder = os.path.join(os.path.realpath(binaries), name)
        os.mkdir(folder)
        EVERY.start(name, Frozen, each, binaries, folder)
    EVERY.join()


if __name__ == "__main__":
    main()
