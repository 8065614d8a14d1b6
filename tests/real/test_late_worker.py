#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The worker reads a sample of a blocked Python function late, as on a busy machine: this test stops the worker's thread
# until the program's thread is elsewhere. The report must not name the functions that run by then.

import contextlib
import ctypes
import glob
import os
import unittest

from support_run import Program, RealCase, SANITIZER, SOURCE, main, may_trace, wait_until

PROGRAM = ["/usr/bin/python3", "-I", os.path.join(SOURCE, "tests/real/support_late_worker.py")]
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


def trace(request, tid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, tid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


@contextlib.contextmanager
def worker_stopped(pid):
    for path in glob.glob("/proc/%d/task/*/comm" % pid):
        with open(path, encoding="ascii") as name:
            if name.read() == "hangdog-worker\n":
                tid = int(path.split("/")[4])
    trace(SEIZE, tid)
    trace(INTERRUPT, tid)
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        trace(DETACH, tid)


def functions(stack):
    """The names of Python's functions."""
    return [frame["function"] for frame in stack["frames"] if "language" in frame]


@unittest.skipIf(SANITIZER, "Debian's Python is not instrumented")
@unittest.skipUnless(may_trace(), "tracing is not permitted here")
class LateWorker(RealCase):
    def hang(self, case, until):
        program = Program([*PROGRAM, case], ["--threshold", "300ms"])
        self.addCleanup(program.close)
        wait_until(lambda: "ready" in program.output, "the loop")
        with worker_stopped(program.pid):
            with open(os.path.join(program.folder, "go"), "w", encoding="ascii"):
                pass
            wait_until(lambda: until in program.output, "the hang's end")
        wait_until(lambda: "done" in program.output and [r for r in program.reports("hang") if r["complete"]], "the report")
        return program.reports("hang")[0]

    def test_functions_of_the_next_turn_are_not_the_hangs(self):
        report = self.hang("next", "done")
        self.assertEqual("sleep", report["cause"]["kind"])
        self.assertEqual([], functions(report["hot_stack"]))
        self.assertGreater(len(report["hot_stack"]["frames"]), 10)  # the native ones

    def test_a_function_that_sleeps_alike_in_the_next_turn_is_not_the_hangs(self):
        self.assertEqual([], functions(self.hang("alike", "rests")["hot_stack"]))

    def test_a_task_of_the_next_turn_is_not_the_hangs(self):
        self.assertNotIn("task", self.hang("task", "rests"))

    def test_a_later_function_of_the_same_turn_has_its_own_native_frames(self):
        slept, *later = self.hang("same", "slept")["samples"]["stacks"]
        self.assertEqual([], functions(slept))
        self.assertEqual(["wait_in_other", "hold_and_wait"], functions(later[-1])[:2])


if __name__ == "__main__":
    main()
