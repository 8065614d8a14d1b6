# SPDX-License-Identifier: MIT
"""--loop MODULE[:FUNCTION] overrules the recognition of the loop; and what is known of a loop later than it was."""

import ctypes.util
import os
import re
import subprocess
import time
import unittest

from support_side_by_side import PYTHON, SideBySide
from support_run import BUILD, HANGDOG, SANITIZER, environment, main, symbolicated

WAITS = os.path.join(BUILD, "tests/programs/waits")
PLAN = "w10 a8 w10 a2 w10"
GLIB = """
import ctypes, os, select, sys
glib = ctypes.CDLL("libglib-2.0.so.0")
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
class PollFD(ctypes.Structure): _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_ushort), ("revents", ctypes.c_ushort)]
glib.g_main_loop_new.restype = ctypes.c_void_p
glib.g_main_loop_run.argtypes = glib.g_main_loop_quit.argtypes = [ctypes.c_void_p]
loop = glib.g_main_loop_new(None, 0)
r, w = os.pipe()
turns = 0
def turn(_):
    global turns
    turns += 1
    if turns == 10: select.select([r], [], [], 0.7)
    if turns == 15: glib.g_poll(ctypes.byref(PollFD(r, 1, 0)), 1, 800)
    if turns == 20:
        inner = glib.g_main_loop_new(None, 0)
        quit = CALL(lambda _: glib.g_main_loop_quit(inner) or 0)
        glib.g_timeout_add(900, quit, None)
        glib.g_main_loop_run(inner)
    if turns == 25: glib.g_main_loop_quit(loop)
    return turns < 25
call = CALL(turn)
glib.g_timeout_add(50, call, None)
glib.g_main_loop_run(loop)
"""


# A server whose set of descriptors is another at each wait, and each wait short: none of them is known for the loop's
# before it is over. Then a true hang.
GROWS = """
import select, socket, time
servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(30)]
def turn(fds, seconds): select.select(servers[:fds], [], [], seconds)
until = time.monotonic() + 11.5
while time.monotonic() < until: turn(1, 0.05)
for fds in range(2, 8):
    time.sleep(0.6)
    turn(fds, 0.005)
time.sleep(1.6)
turn(20, 0.005)
time.sleep(0.3)
for _ in range(10): turn(1, 0.05)
"""


SHORT = """
import select, socket, time
server = socket.create_server(("127.0.0.1", 0))
def turn(seconds): select.select([server], [], [], seconds)
turn(0.3)
time.sleep(1.2)
"""


class Loop(SideBySide):
    def hangs(self, argv, choice):
        program = self.start(argv, ["--loop", choice])
        program.wait()
        return program, [(round(r["duration_ns"] / 1e8), symbolicated(program, r)) for r in program.reports("hang")]

    def functions(self, report):
        return [frame.get("function", "") for frame in report["hot_stack"]["frames"]]

    def assert_lengths(self, expected, hangs):
        slack = 1 if not SANITIZER else 8
        self.assertEqual(len(expected), len(hangs), [length for length, _ in hangs])
        for length, (found, _) in zip(expected, hangs):
            self.assertLessEqual(abs(length - found), slack)

    def beside_one_function_of_the_program(self):
        """It is not exported: only the file's full table of symbols has it."""
        program, hangs = self.hangs([WAITS, PLAN], "waits:wait_for_events")
        self.assert_lengths([8], hangs)
        self.assertIn("send_request", self.functions(hangs[0][1]))
        self.assertEqual((3, "done\n"), (program.process.returncode, program.output))

    def beside_another_one_turns_it_round(self):
        _, hangs = self.hangs([WAITS, PLAN], "waits:send_request")
        self.assert_lengths([10, 10], hangs)
        self.assertIn("wait_for_events", self.functions(hangs[0][1]))

    def beside_a_whole_module_and_a_function_that_calls(self):
        for choice in ("waits", "waits:main", WAITS):
            program, hangs = self.hangs([WAITS, "w4 a8 w2"], choice)
            self.assert_lengths([], hangs)
            self.assertRegex(program.told[-1], "no hang of 500 ms or more, started in [^;,]+$", choice)

    def beside_what_never_waits_is_said(self):
        for choice in ("libnone", "waits:no_such", "wait", "libc.so.6:poll"):
            program, hangs = self.hangs([WAITS, "w4 a8 w2"], choice)
            self.assert_lengths([], hangs)
            said = " ".join(program.errors.split())
            self.assertIn(": no wait came from %s (--loop), so hangs could not be seen; the main thread" % choice, said)
            self.assertRegex(said, r"waited in poll, select or epoll_wait \d+ times, 1\.\d s in all; most of these waits came from "
                             r"wait_for_events in waits: \S+hangdog run --loop waits --spool \S+ -- \S+/waits 'w4 a8 w2'$")

    def beside_glib_its_callbacks_and_an_inner_loop(self):
        """What a callback waits for is none of the loop's, by whatever function; a loop that it runs is."""
        if ctypes.util.find_library("glib-2.0") is None:
            self.skipTest("libglib-2.0 is not installed")
        _, hangs = self.hangs([PYTHON, "-I", "-c", GLIB], "libglib-2.0:g_main_loop_run")
        self.assert_lengths([7, 8], hangs)

    def beside_a_program_that_waits_once(self):
        """A listening socket is evidence: the loop is known from its first wait."""
        program = self.start([PYTHON, "-I", "-c", SHORT], [])
        program.wait()
        self.assert_lengths([12], [(round(r["duration_ns"] / 1e8), r) for r in program.reports("hang")])

    def beside_waits_on_new_descriptors_end_turns(self):
        program = self.start([PYTHON, "-I", "-c", GROWS], ["--threshold", "1000"])
        program.wait()
        self.assert_lengths([16], [(round(r["duration_ns"] / 1e8), r) for r in program.reports("hang")])

    def beside_a_launch_is_told_as_long_as_it_was(self):
        """The loop is known some waits and a callback later: what was seen of those is none of the launch."""
        begin = time.monotonic_ns()
        program = self.start([WAITS, "s40 w6 w6 s4 w6 w6 w20"], [])
        program.wait()
        most_ns = time.monotonic_ns() - begin - 4.8e9  # what follows takes as long
        reports = program.reports("launch")
        self.assertEqual(1, len(reports), program.errors)
        report = symbolicated(program, reports[0])
        slack_ns = 0.2e9 if not SANITIZER else 1e9
        self.assertTrue(4e9 - slack_ns < report["duration_ns"] < most_ns + slack_ns, (report["duration_ns"], most_ns))
        self.assertEqual("sleep", report["cause"]["kind"])
        part = re.search(r" \((\d+)% of the time\)$", report["cause"]["detail"])
        self.assertRegex(report["cause"]["detail"], r"^slept in clock_nanosleep")
        self.assertLessEqual(int(part[1]) if part else 0, 100, report["cause"])
        tree = report["samples"]["tree"]
        self.assertLessEqual(max(node["time_ns"] for node in tree["nodes"]), report["duration_ns"] + 1e6)
        for entry in report["samples"]["timeline"]:
            self.assertLess(entry["at_ns"], report["duration_ns"])


class Usage(unittest.TestCase):
    def test_wrong_values(self):
        for value in ("", ":", ":f", "m:", "m" * 256):
            done = subprocess.run([HANGDOG, "run", "--loop", value, "/bin/true"], env=environment(), capture_output=True,
                                  text=True, check=False)
            self.assertEqual(125, done.returncode, value)
            self.assertRegex(done.stderr, r"\Ahangdog: --loop '.*': want MODULE or MODULE:FUNCTION[^\n]*\n\Z" if value else
                             r"\Ahangdog: --loop '': want MODULE\[:FUNC\][^\n]*\n\Z")


if __name__ == "__main__":
    main()
