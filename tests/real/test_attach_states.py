# SPDX-License-Identifier: MIT
#
# What a watch from outside says of processes that hung before it, that die, stop, or become another program.

import contextlib
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support_attached import Attach
from support_run import SOURCE, environment, main, wait_until

SECOND_NS = 1000 * 1000 * 1000
PROGRAM = os.path.join(SOURCE, "tests/real/attached/states.py")


class Program:
    def __init__(self, state):
        # pylint: disable=consider-using-with
        python = shutil.which("python3", path="/usr/bin") or sys.executable
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([python, PROGRAM, state], stdin=subprocess.PIPE, stdout=self.output, text=True,
                                        env=environment())
        self.pid = self.process.pid
        self.wait_for("ready")

    def wait_for(self, text, times=1):
        def said():
            self.output.seek(0)
            return self.output.read().count(text) >= times
        wait_until(said, "%r of the program" % text)

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.output.close()


class States(unittest.TestCase):
    def watch(self, *states, options=(), age=0):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        programs = [stack.enter_context(contextlib.closing(Program(state))) for state in states]
        time.sleep(age)
        watcher = stack.enter_context(contextlib.closing(Attach([p.pid for p in programs], *options)))
        watcher.wait_for("attached to")
        return [watcher, *programs]

    def only_hang(self, watcher, pid, *kinds):
        found = []

        def has_report():
            found[:] = [r for r in watcher.reports(*kinds) if r["app"]["pid"] == pid and (r["complete"] or kinds[0] != "hang")]
            return found
        wait_until(has_report, "a report of %d in %r" % (pid, watcher.text))
        self.assertEqual(1, len(found), [(r["started_at"], r["duration_ns"]) for r in found])
        return found[0]

    def test_a_hang_that_began_before_the_watch_lasts_at_least_since_then(self):
        watcher, program = self.watch("stuck", options=("--hook", "looks"), age=3.5)
        wait_until(lambda: glob.glob(watcher.spool + "/**/.*.held", recursive=True), "a report of the open hang")
        program.go()
        program.wait_for("went on")
        watcher.process.wait(60)  # the program ends, so its loop was known
        report = self.only_hang(watcher, program.pid, "hang")
        self.assertIs(report.get("at_least"), True)
        self.assertGreaterEqual(report["duration_ns"], SECOND_NS / 2)
        self.assertEqual(report["watch"], {"from": "outside", "hook": "looks", "turns": "polled"})

    def test_a_launch_is_no_hang(self):
        watcher, program = self.watch("launches")
        watcher.wait_for("watching the loop of states.py[%d]" % program.pid)
        program.go()
        watcher.process.wait(60)
        self.assertEqual([], watcher.reports("hang"))

    def test_a_hang_that_sleeps_and_then_computes_is_one(self):
        """A machine without breakpoints has neither `counter` nor `records`."""
        for hook in ("counter", "records", "switches", "fentry"):
            with self.subTest(hook):
                try:
                    watcher, program = self.watch("computes", options=("--hook", hook))
                except AssertionError as error:
                    if "cannot watch a program that runs" not in str(error):
                        raise
                    continue
                watcher.wait_for("watching the loop of states.py[%d]" % program.pid)
                program.go()
                watcher.process.wait(60)
                report = self.only_hang(watcher, program.pid, "hang")
                self.assertGreater(report["duration_ns"] + report.get("start_uncertain_ns", 0), 1.4 * SECOND_NS)

    def test_no_call_of_the_host_is_hooked_for_a_main_thread_that_waits(self):
        """By `switches`: the main thread joins the loop's thread. It is suspect for as long as a loop needs to be seen."""
        watcher, program = self.watch("thread", age=3.5)
        if "switches" not in self.links(watcher.process.pid):
            self.skipTest("this way does not hook the calls of the host")
        watcher.wait_for("watching the loop of states.py[%d]" % program.pid)
        wait_until(lambda: "sys_enter" in self.links(watcher.process.pid), "the suspicion", 10)
        wait_until(lambda: "sys_enter" not in self.links(watcher.process.pid), "the end of the suspicion", 20)
        program.go()
        watcher.process.wait(60)

    @staticmethod
    def links(pid):
        """The kernel's tracepoints to which the process has attached programs; "switches": one is that of all switches."""
        text = ""
        for path in glob.glob("/proc/%d/fdinfo/*" % pid):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                text += file.read()
        return text.replace("sched_switch", "switches") if "link_type" in text else ""

    def test_processes_die_stop_and_become_others(self):
        watcher, dies, stops, becomes, thread = self.watch("dies", "stops", "becomes", "thread")
        for program in (dies, stops, thread):
            watcher.wait_for("watching the loop of states.py[%d]" % program.pid)
        for program in (dies, stops, becomes, thread):
            program.go()
        dies.wait_for("blocks")
        stops.wait_for("blocks")
        stops.process.send_signal(signal.SIGSTOP)
        becomes.wait_for("ready", 2)
        time.sleep(1.5)
        watcher.wait_for("[%d]: epoll_wait" % becomes.pid)
        becomes.go()
        stops.process.send_signal(signal.SIGCONT)
        dies.process.kill()
        fatal = self.only_hang(watcher, dies.pid, "fatal-hang")
        self.assertGreater(fatal["duration_ns"], SECOND_NS)
        self.assertFalse(fatal["complete"])
        stopped = self.only_hang(watcher, stops.pid, "hang")
        if stopped["watch"]["turns"] != "polled":  # looks alone take what follows a stop for another turn
            self.assertGreater(stopped["excluded_ns"], SECOND_NS)
            self.assertLess(stopped["duration_ns"], 2 * SECOND_NS)
        second = self.only_hang(watcher, becomes.pid, "hang")
        self.assertGreater(second["duration_ns"], SECOND_NS / 2)
        events = self.only_hang(watcher, thread.pid, "hang")
        self.assertNotEqual(events["loop"]["tid"], thread.pid)
        watcher.process.wait(60)


if __name__ == "__main__":
    main()
