#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# A program that is attached notices nothing: its output, its exit status, its system calls with their results, and the number of
# interrupted ones are the same as without a watcher. HANGDOG_ATTACH=all: all programs that can be compared, not two of them.

import os
import re
import time
import unittest

from support_attached import Attach, subjects
from support_run import PATIENCE, Together, main, may_trace

NAMES = ["epoll", "asyncio"]
ALL_NAMES = NAMES + ["musl", "inline", "uring", "perl-ev", "eventmachine", "uvloop", "gtk", "node", "java-nio", "container"]
SERVERS = ["redis", "nginx", "postmaster"]  # no request ends them; their calls are those of their whole lives
MEMORY = ("mmap", "munmap", "mremap", "brk", "madvise", "mprotect")  # they depend on where the kernel puts a mapping
# With threads, how often a thread waits for another, and whether its own wait has one event or two, differs from run to run. So
# only the kinds of calls are compared, and their errors.
WITH_THREADS = ["node", "uvloop", "gtk", "eventmachine", "java-nio", *SERVERS]
BY_CHANCE = ("futex", "getpid", "sched_yield", "restart_syscall", "epoll_pwait", "epoll_wait", "poll", "ppoll", "select", "pselect6")
START = 2  # seconds until a watch knows the loop: a window is drawn by then
STALLS = [("block", 700), ("cpu", 700), ("block", 1)]
CALL = re.compile(r"(?m)^(\d+) +(?:(\w+)\(|<\.\.\. (\w+) resumed>).* = (?:\S+ (E\w+)|.).*$")
EVERY = Together()


def calls_of(program, name):
    """The calls and their errors, for each line of strace, of the thread with the loop; from `ready` on, if it prints that. And
    those that a signal interrupted, of all threads."""
    with open(program.trace, encoding="utf-8", errors="replace") as log:
        text = log.read()
    tid = str(program.pid)
    interrupted = [line for line in text.splitlines() if "EINTR" in line or "ERESTART" in line]
    if name not in SERVERS:
        _, ready, text = re.split(r'(?m)(^\d+ +write\(1, "r".*$)', text, maxsplit=1)
        tid = ready.split()[0]
    left_out = MEMORY + (BY_CHANCE if name in WITH_THREADS else ())
    calls = [(call or rest, error) for of, call, rest, error in CALL.findall(text) if of == tid and (call or rest) not in left_out]
    return sorted({call for call in calls if call[1] != "EAGAIN"}) if name in WITH_THREADS else calls, interrupted


def run_one(name, make, attached):
    """Its calls, its output without times, its status and how many calls it counted as interrupted, reports."""
    program = make(False, traced=True) if name in SERVERS else make(False, tick_ms=0, traced=True)
    watch = Attach([program.pid], "--threshold", "200ms", *(["--hook", os.environ["HANGDOG_HOOK"]] if "HANGDOG_HOOK" in os.environ else [])) \
        if attached else None
    try:
        if watch:
            watch.wait_for("watching the loop", 30)
        elif name in WITH_THREADS:
            time.sleep(START)
        for kind, ms in STALLS:
            program.stall(kind, ms)
        end = (0, 0) if name in SERVERS else program.end()
        if watch and name not in SERVERS:
            watch.process.wait(PATIENCE)
        output = "" if name in SERVERS else re.sub(r"\d{6,}", "TIME", "".join(program.output))
        return calls_of(program, name), output, *end, watch.reports("hang") if watch else []
    finally:
        if watch:
            watch.close()
        program.close()


class Unnoticed(unittest.TestCase):
    def check(self, name):
        plain, watched = EVERY[name + " plain"], EVERY[name + " attached"]
        self.assertEqual(plain[1:4], watched[1:4])
        self.assertEqual(0, watched[3])
        # The test sends signals to the postmaster. The others get none.
        self.assertEqual([], [] if name == "postmaster" else watched[0][1])
        self.assertGreaterEqual(len(plain[0][0]), 2 * len(STALLS))
        self.assertEqual(plain[0][0], watched[0][0])
        self.assertGreaterEqual(len(watched[4]), 1, "no hang was seen, so no thread was read")


def setUpModule():
    if not may_trace():
        raise unittest.SkipTest("programs may not be traced here")
    names = ALL_NAMES + SERVERS if os.environ.get("HANGDOG_ATTACH") == "all" else NAMES
    with subjects(names) as every:
        for name, make in every.items():
            EVERY.start(name + " plain", run_one, name, make, False)
            EVERY.start(name + " attached", run_one, name, make, True)
            if len(names) > len(NAMES):
                EVERY.join()
        EVERY.join()


def add(name):
    def test(self):
        if name + " plain" not in EVERY.results and name + " plain" not in EVERY.errors:
            self.skipTest("HANGDOG_ATTACH=all runs it")
        self.check(name)
    setattr(Unnoticed, "test_" + name.replace("-", "_"), test)


for each in ALL_NAMES + SERVERS:
    add(each)


if __name__ == "__main__":
    main()
