#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# A program that is attached notices nothing: its output, its exit status, its system calls with their results, and the number of
# interrupted ones are the same as without a watcher. HANGDOG_ATTACH=all: all programs that can be compared, not two of them.

import os
import re
import unittest

from support_attached import Attach, subjects
from support_run import PATIENCE, Together, main, may_trace

NAMES = ["epoll", "asyncio"]
ALL_NAMES = NAMES + ["musl", "inline", "uring", "eventmachine", "uvloop", "gtk", "node"]
WITH_THREADS = ("node", "uvloop", "gtk", "eventmachine")  # the order of their calls differs from run to run
MEMORY = ("mmap", "munmap", "mremap", "brk", "madvise")  # they depend on where the kernel puts a mapping
STALLS = [("block", 700), ("cpu", 700), ("block", 1)]
EVERY = Together()


def calls_of(path):
    """The call and its error, for each line of strace. A call that a signal interrupted says so in its result."""
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    calls = re.findall(r"(?m)^(?:\d+ +)?(\w+)\(.* = (?:\S+ (E\w+|ERESTART\w*))?.*$", text)
    return [call for call in calls if call[0] not in MEMORY]


def run_one(make, attached):
    """Its calls from `ready` on, its output without times, its status and how many calls it counted as interrupted, reports."""
    program = make(False, tick_ms=0, traced=True)
    watch = Attach([program.pid], "--threshold", "200ms", *(["--hook", os.environ["HANGDOG_HOOK"]] if "HANGDOG_HOOK" in os.environ else [])) \
        if attached else None
    try:
        if watch:
            watch.wait_for("watching the loop", 30)
        for kind, ms in STALLS:
            program.stall(kind, ms)
        status, interrupted = program.end()
        if watch:
            watch.process.wait(PATIENCE)
        output = re.sub(r"\d{6,}", "TIME", "".join(program.output))
        return calls_of(program.trace), output, status, interrupted, watch.reports("hang") if watch else []
    finally:
        if watch:
            watch.close()
        program.close()


class Unnoticed(unittest.TestCase):
    def check(self, name):
        plain, watched = EVERY[name + " plain"], EVERY[name + " attached"]
        self.assertEqual(plain[1:4], watched[1:4])
        self.assertEqual(0, watched[3])
        self.assertEqual([], [call for call in watched[0] if call[1] in ("EINTR", "ERESTARTSYS") or "ERESTART" in call[1]])
        if name not in WITH_THREADS:
            self.assertEqual(plain[0], watched[0])
        self.assertGreaterEqual(len(watched[4]), 1, "no hang was seen, so no thread was read")


def setUpModule():
    if not may_trace():
        raise unittest.SkipTest("programs may not be traced here")
    names = ALL_NAMES if os.environ.get("HANGDOG_ATTACH") == "all" else NAMES
    with subjects(names) as every:
        for name, make in every.items():
            EVERY.start(name + " plain", run_one, make, False)
            EVERY.start(name + " attached", run_one, make, True)
            if len(names) > len(NAMES):
                EVERY.join()
        EVERY.join()


def add(name):
    def test(self):
        if name + " plain" not in EVERY.results and name + " plain" not in EVERY.errors:
            self.skipTest("HANGDOG_ATTACH=all runs it")
        self.check(name)
    setattr(Unnoticed, "test_" + name.replace("-", "_"), test)


for each in ALL_NAMES:
    add(each)


if __name__ == "__main__":
    main()
