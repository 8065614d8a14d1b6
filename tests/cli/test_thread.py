# SPDX-License-Identifier: MIT
"""--thread NAME: loops of other threads than the main one."""

import os
import subprocess
import unittest

from support_side_by_side import PYTHON, SideBySide
from support_run import BUILD, HANGDOG, MS, SANITIZER, environment, hot_functions, main, schema_errors, symbolicated

WAITS = os.path.join(BUILD, "tests/programs/waits")
NODE = "/usr/bin/node"
SLACK_NS = (150 if not SANITIZER else 900) * MS
# One thread after the other, each of the same name and with a hang; the last one in a forked child.
AGAIN = """
import ctypes, os, select, socket, threading, time
def work():
    ctypes.CDLL(None).prctl(15, b"again", 0, 0, 0)
    r = socket.socketpair()
    [select.select(r, [], [], 0.1) for _ in range(13)]
    time.sleep(0.7)
    [select.select(r, [], [], 0.1) for _ in range(3)]
def start():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
for _ in range(3): start()
if os.fork() == 0:
    start()
    os._exit(0)
os.wait()
"""
# A thread in a program that is started, and one in the program that this one becomes.
LATER = """
import ctypes, os, select, socket, sys, threading
def turns():
    r = socket.socketpair()
    [select.select(r, [], [], 0.1) for _ in range(20)]
def work():
    ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
    turns()
argv = [sys.executable, "-I", "-c", sys.argv[2]]
if sys.argv[1] != "first":
    threading.Thread(target=work).start()
    turns()
else:
    turns()
    os.spawnv(os.P_WAIT, sys.executable, [*argv, "child", ""])
    os.execv(sys.executable, [*argv, "image", ""])
"""
# A thread ends before its loop is sure, and another gets its place. That one's loop becomes sure, or turns out to be a
# call within another one, deeper on the stack. What can be read in the spool by then.
PLACE = """
import ctypes, os, select, socket, sys, threading, time
def turns(n, r):
    [select.select(r, [], [], 0.1) for _ in range(n)]
def first(r):
    turns(6, r)
    time.sleep(0.7)
    turns(1, r)
def becomes_sure(r):
    turns(13, r)
    time.sleep(0.3)
    turns(4, r)
def deeper(n):
    r = socket.socketpair()
    list(map(lambda _: select.select(r, [], [], 0.1), range(n)))
def changes(r):
    deeper(8)
    for _ in range(5):
        turns(1, r)
        deeper(1)
def work(loop):
    ctypes.CDLL(None).prctl(15, b"again", 0, 0, 0)
    loop(socket.socketpair())
for loop in (first, globals()[sys.argv[1]]):
    thread = threading.Thread(target=work, args=(loop,))
    thread.start()
    thread.join()
    time.sleep(0.3)
    print(len([name for name in os.listdir("spool") if name[0] != "."]), flush=True)
"""
# The main thread has no loop: it waits for one that has, for longer than a launch may last.
JOINS = """
import ctypes, os, select, socket, signal, sys, threading
def work():
    ctypes.CDLL(None).prctl(15, b"looper", 0, 0, 0)
    r = socket.socketpair()
    [select.select(r, [], [], 0.1) for _ in range(115)]
thread = threading.Thread(target=work)
thread.start()
thread.join()
if sys.argv[1] == "killed": os.kill(os.getpid(), signal.SIGKILL)
"""
# More threads without a loop than hangs are followed at a time.
IDLERS = """
import ctypes, os, select, socket, threading, time
stop = threading.Event()
def idle():
    ctypes.CDLL(None).prctl(15, b"idler", 0, 0, 0)
    [select.select([], [], [], 0.05) for _ in range(4)]
    stop.wait()
r = socket.socketpair()
def turns(n):
    [select.select(r, [], [], 0.1) for _ in range(n)]
turns(15)
for _ in range(6): threading.Thread(target=idle).start()
turns(10)
time.sleep(0.7)
turns(3)
stop.set()
"""
WORKER = """
const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) { new Worker(__filename); setTimeout(() => {}, 4000); }
else {
  let n = 0;
  const timer = setInterval(() => {
    if (++n == 30) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
    if (n > 40) clearInterval(timer);
  }, 50);
}
"""


class Threads(SideBySide):
    def watch(self, argv, *names, status=3):
        program = self.start(argv, [word for name in names for word in ("--thread", name)])
        pid = program.pid
        self.assertEqual(status, program.wait(), program.errors)
        hangs = program.reports("hang", "launch")
        for report in hangs:
            self.assertEqual([], schema_errors(report))
            self.assertEqual(report["loop"]["tid"] == pid, report["loop"]["name"] == "main")
        return program, hangs

    def assert_about(self, expected, report):
        self.assertLess(abs(report["duration_ns"] - expected * MS), SLACK_NS)

    def beside_a_thread_that_its_maker_names(self):
        """It sleeps in a turn, and a call of its waits for an answer; the main thread idles."""
        program, hangs = self.watch([WAITS, "w55", "worker:w16 s8 w8 a9 w8"], "worker")
        self.assertEqual(["worker"] * 2, [r["loop"]["name"] for r in hangs], program.errors)
        self.assert_about(800, hangs[0])
        self.assertIn("block", hot_functions(symbolicated(program, hangs[0])))
        self.assert_about(900, hangs[1])
        self.assertIn("send_request", hot_functions(symbolicated(program, hangs[1])))
        self.assertIn(' "worker", ', program.errors)

    def beside_several_and_the_main_thread(self):
        program, hangs = self.watch([WAITS, "w16 s7 w30", "one:w20 s8 w20", "two:w24 s9 w20", "other:w16 s9 w20",
                                     ":nown-name w16 s6 w30"], "one", "two", "own-name")
        self.assertEqual(["main", "one", "own-name", "two"], sorted(r["loop"]["name"] for r in hangs), program.errors)
        self.assertEqual(1, len(program.reports("session")))
        self.assertRegex(program.told[-1], ": 4 hangs, ")

    def beside_a_thread_that_asks_and_is_idle_elsewhere(self):
        """Asleep, nearer to the root than it asks: as with a main thread, what it asks is no loop of its."""
        for others in ("w70", ""):  # a loop, or none
            program, hangs = self.watch([WAITS, others, "worker:q40 s9 q1 s9 q1 s9 q1 s9 q1 s9 q1"], "worker")
            self.assertEqual([], hangs)
            self.assertRegex(program.told[-1], " no hang of" if others else ": no event loop, so hangs could not be seen")

    def beside_many_threads_of_one_name(self):
        """More than there are places for: the rest is not watched, and all is well. Four hang at a time are told."""
        program, hangs = self.watch([WAITS, "w40", *["many:w16 s7 w8"] * 16], "many")
        self.assertGreaterEqual(len(hangs), 4 if not SANITIZER else 1)
        self.assertEqual("done\n", program.output)

    def beside_a_name_that_no_thread_has(self):
        program, hangs = self.watch([WAITS, "w16 s7 w5", "one:w16 s8 w5"], "on", "one-more")
        self.assertEqual(["main"], [r["loop"]["name"] for r in hangs])
        said = [line for line in program.told if " none waited; seen: " in line]
        self.assertEqual(2, len(said), program.errors)

    def beside_a_name_that_only_a_child_or_a_later_image_has(self):
        program = self.start([PYTHON, "-I", "-c", LATER, "first", LATER],
                             ["--follow", "--thread", "child", "--thread", "image"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertNotIn("none waited", program.errors)

    def beside_without_the_option_other_threads_are_silent(self):
        _, hangs = self.watch([WAITS, "w30", "one:w16 s8 w5"])
        self.assertEqual([], hangs)

    def beside_tokios_workers_need_no_option_where_the_main_thread_has_no_loop(self):
        worker = ":ntokio-runtime-w w16 s8 w16"
        program, hangs = self.watch([WAITS, "", worker])
        self.assertEqual(["tokio-runtime-w"], [r["loop"]["name"] for r in hangs], program.errors)
        self.assert_about(800, hangs[0])
        program, hangs = self.watch([WAITS, "w40", worker])
        self.assertEqual([], hangs, program.errors)
        self.assertRegex(program.told[-1], " no hang of")

    def beside_one_thread_after_the_other(self):
        program, hangs = self.watch([PYTHON, "-I", "-c", AGAIN], "again", status=0)
        self.assertEqual(["again"] * 3, [r["loop"]["name"] for r in hangs], program.errors)
        self.assertEqual(3, len({r["loop"]["tid"] for r in hangs}))

    def assert_held_for_itself(self, then):
        program, hangs = self.watch([PYTHON, "-I", "-c", PLACE, then], "again", status=0)
        self.assertEqual("0\n0\n", program.output, "shown before its own loop was sure")
        self.assertEqual(["again"], [r["loop"]["name"] for r in hangs], program.errors)
        self.assertRegex(program.told[-1], ": 1 hang, ")

    def beside_a_hang_is_held_for_its_own_thread_when_the_next_ones_loop_is_sure(self):
        self.assert_held_for_itself("becomes_sure")

    def beside_a_hang_is_held_for_its_own_thread_when_the_next_ones_loop_is_another(self):
        self.assert_held_for_itself("changes")

    def assert_that_joining_is_no_launch(self, end, status):
        program, hangs = self.watch([PYTHON, "-I", "-c", JOINS, end], "looper", status=status)
        self.assertEqual([], hangs)
        self.assertEqual([], program.reports("fatal-hang"))
        self.assertRegex(program.told[-1], ": no hang of 500 ms or more, started in [^;,]+$")

    def beside_threads_without_a_loop_that_take_no_place(self):
        program, hangs = self.watch([PYTHON, "-I", "-c", IDLERS], "idler", status=0)
        self.assertEqual(["main"], [r["loop"]["name"] for r in hangs], program.errors)
        self.assertRegex(program.told[-1], ": 1 hang, ")

    def beside_a_main_thread_that_only_joins(self):
        self.assert_that_joining_is_no_launch("exit", 0)

    def beside_a_main_thread_that_only_joins_and_is_killed(self):
        self.assert_that_joining_is_no_launch("killed", -9)

    def beside_a_worker_of_node(self):
        if not os.path.exists(NODE):
            self.skipTest(NODE + " is not installed: scripts/install-dependencies test")
        if SANITIZER:
            self.skipTest("node's worker needs more memory than the sanitizer leaves it")
        program, hangs = self.watch([NODE, "-e", WORKER.replace("__filename", "%r, { eval: true }" % WORKER)], "node",
                                    status=0)
        self.assertEqual(["node"], [r["loop"]["name"] for r in hangs], program.errors)
        self.assert_about(800, hangs[0])

    def beside_a_loop_is_chosen_for_each(self):
        """With --loop it is every thread's."""
        program = self.start([WAITS, "w30", "one:a3 a3 w8 a3"], ["--thread", "one", "--loop", "waits:send_request"])
        self.assertEqual(3, program.wait())
        (hang,) = [r for r in program.reports("hang") if r["loop"]["name"] == "one"]
        self.assert_about(800, hang)


class Usage(unittest.TestCase):
    def test_wrong_values(self):
        for values, words in ((["sixteen-letters-"], "1 to 15"), ([""], "--thread '': want NAME"), (["x"] * 17, "16 times")):
            options = [word for value in values for word in ("--thread", value)]
            done = subprocess.run([HANGDOG, "run", *options, "/bin/true"], env=environment(), capture_output=True,
                                  text=True, check=False)
            self.assertEqual(125, done.returncode, values)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    main()
