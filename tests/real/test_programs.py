#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs under `hangdog run` are as they would be without it: those that have no event loop, that end by a signal or in
# mid-hang, that cannot be run at all; what their children inherit.

import json
import os
import signal
import subprocess
import time
import unittest

from support_plan import Planned
from support_run import HANGDOG, MS, RELEASE, SANITIZER, SOURCE, TOLERANCE_NS, Program, RealCase, Together, main_side_by_side
from support_run import environment, hot_functions, wait_until

PYTHON = "/usr/bin/python3"
PLAN = os.path.join(SOURCE, "tests/real/support_plan_asyncio.py")
NO_LOOP = r"^hangdog: .* ran for .*: no event loop, so hangs could not be seen; the main thread.*$"


class Case(RealCase):
    def planned(self, plan):
        program = Planned([PYTHON, "-I"], PLAN, plan.split())
        self.addCleanup(program.close)
        assert program.pid
        return program

    def both(self, argv, **kwargs):
        """The same program plain and under `hangdog run`, ended."""
        pair = [self.program(argv, watched=False, **kwargs), self.program(argv, **kwargs)]
        for program in pair:
            program.wait()
        return pair

    def assert_alike(self, argv, **kwargs):
        plain, watched = self.both(argv, **kwargs)
        self.assertEqual(plain.process.returncode, watched.process.returncode)
        self.assertEqual(plain.output, watched.output)
        return plain, watched


class WithoutALoop(Case):
    def test_programs_without_an_event_loop_are_silent(self):
        every = [self.program(argv) for argv in (
            ["/bin/sleep", "1"],
            ["/bin/sh", "-c", "(echo b; sleep 1; echo a) | sort | cat"],
            [PYTHON, "-c", "import time; print('one'); time.sleep(1)"],
            [PYTHON, "-c", "import threading, time; t = threading.Thread(target=time.sleep, args=(1,)); t.start();"
                           " t.join()"],
            [PYTHON, "-c", "import select, os; r, w = os.pipe(); print(select.select([r], [], [], 1.2))"])]
        for program in every:
            self.assertEqual(0, program.wait(), program.errors)
            self.assertEqual([], program.names(), program.process.args)
            self.assertRegex(program.told[-1], NO_LOOP)
        self.assertEqual("a\nb\n", every[1].output)
        self.assertEqual("one\n", every[2].output)

    def test_quiet_tells_nothing(self):
        program = self.program(["/bin/sleep", "0.1"], options=["--quiet"])
        self.assertEqual(0, program.wait())
        self.assertEqual("", program.errors)


class Ends(Case):
    def test_exit_statuses_are_the_programs_own(self):
        for status in (0, 1, 2, 77, 126, 127, 255):
            self.assert_alike(["/bin/sh", "-c", "exit %d" % status])

    def test_the_runner_dies_by_the_programs_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL, signal.SIGSEGV,
                       signal.SIGABRT):
            if number == signal.SIGSEGV and SANITIZER:
                continue  # their runtimes take it
            plain, watched = self.both(["/bin/sh", "-c", "ulimit -c 0; kill -%d $$; sleep 10" % number])
            self.assertEqual(-number, plain.process.returncode)
            self.assertEqual(-number, watched.process.returncode, watched.errors)

    def test_a_signal_to_the_runner_goes_to_the_program(self):
        faults = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGABRT, *(() if SANITIZER else faults)):
            program = self.program([PYTHON, "-u", "-c",
                                    "import signal, sys, time\n"
                                    "signal.signal(%d, lambda *_: sys.exit(9))\n"
                                    "print('ready')\n"
                                    "time.sleep(60)" % number])
            wait_until(lambda p=program: "ready" in p.output, "the program to be ready")
            os.kill(program.process.pid, number)
            self.assertEqual(9, program.wait())

    def test_what_cannot_be_run_ends_as_a_shell_has_it(self):
        for argv, status in ((["no-such-program-anywhere"], 127), (["/no/such/program"], 127), (["/etc/passwd"], 126),
                             (["/"], 126)):
            program = self.program(argv)
            self.assertEqual(status, program.wait(), argv)
            self.assertEqual("", program.output)
            self.assertEqual(1, len(program.errors.splitlines()), program.errors)
            self.assertIn(argv[0], program.errors)
            self.assertEqual([], program.names())


class Reaper(Case):
    ORPHANS = """if 1:
        import glob, os, time
        def zombies():
            count = 0
            for path in glob.glob("/proc/[0-9]*/stat"):
                try:
                    with open(path) as stat: count += stat.read().rsplit(")", 1)[1].split()[0] == "Z"
                except (FileNotFoundError, ProcessLookupError): pass  # waited for meanwhile
            return count
        r, w = os.pipe()
        for _ in range(20):
            if os.fork() == 0:
                if os.fork() == 0:
                    while os.getppid() != 1: time.sleep(0.001)
                os._exit(0)
            os.wait()
        os.close(w)
        os.read(r, 1)  # until all of them have closed it, as the first thing in their end
        time.sleep(0.2)
        end, left = time.monotonic() + 10, 1
        while left > 0 and time.monotonic() < end:
            time.sleep(0.01)
            left = zombies()
        print(left)"""

    def test_the_first_process_of_a_container_waits_for_those_that_lost_their_parent(self):
        before = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*before, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("a user namespace, in which processes have numbers of their own, is not allowed here")
        folder = self.program(["/bin/true"], watched=False).folder
        done = subprocess.run([*before, HANGDOG, "run", "--spool", folder + "/spool", "--", PYTHON, "-I", "-c", self.ORPHANS],
                              env=environment(), capture_output=True, text=True, check=False)
        self.assertEqual((0, "0\n"), (done.returncode, done.stdout), done.stderr)
        self.assertRegex(done.stderr, NO_LOOP)


class EndsInAHang(Case):
    def test_killed_in_mid_hang_it_is_a_fatal_hang_with_the_duration_that_it_had(self):
        program = self.planned("idle:3 sleep:60")
        program.wait_for_hang()
        began_ns = program.begun("sleep")
        time.sleep(6)  # the hang goes on
        lasted_ns = time.monotonic_ns() - began_ns
        os.kill(program.pid, signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, program.wait())
        reports = program.reports()
        for report in reports:
            self.assert_valid(report)
        self.assertEqual(["fatal-hang", "session"], sorted(r["kind"] for r in reports))
        fatal = next(r for r in reports if r["kind"] == "fatal-hang")
        self.assertFalse(fatal["complete"])
        self.assertEqual("sleep", fatal["cause"]["kind"])
        self.assertGreater(fatal["duration_ns"], lasted_ns - 2_000_000)  # the runner saw its end
        self.assertLess(fatal["duration_ns"], lasted_ns + TOLERANCE_NS)
        self.assertTrue(fatal["hot_stack"]["frames"])
        self.assertGreater(fatal["samples"]["taken"], 14, "written when it opened, after some 9, and not since")

    def test_killed_while_idle_it_is_none(self):
        program = self.planned("idle:1.5 sleep:1 idle:60")
        wait_until(lambda: program.begun("idle:60"), "the idle step")
        wait_until(lambda: [r for r in program.reports("hang") if r["complete"]], "the report")
        os.kill(program.pid, signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, program.wait())
        self.assertEqual(["hang", "session"], sorted(r["kind"] for r in program.reports()))

    def test_a_clean_exit_in_a_hang_is_not_fatal(self):
        program = self.planned("idle:1.5 exit:2.5 idle:60")
        self.assertEqual(3, program.wait())
        reports = program.reports()
        self.assertEqual(["hang", "session"], sorted(r["kind"] for r in reports))
        report = next(r for r in reports if r["kind"] == "hang")
        self.assert_valid(report)
        self.assertTrue(report["complete"])
        self.assertEqual("sleep", report["cause"]["kind"])
        self.assertGreater(report["duration_ns"], 2500 * MS - TOLERANCE_NS)
        self.assertLess(report["duration_ns"], 3000 * MS + TOLERANCE_NS)

    def test_the_runners_death_changes_nothing_for_the_program(self):
        program = self.planned("idle:1.5 sleep:1 idle:0.5")
        wait_until(lambda: program.begun("idle"), "the program")
        os.kill(program.process.pid, signal.SIGKILL)
        wait_until(lambda: program.truth_ns("sleep"), "the program to go on")
        wait_until(lambda: "idle:0.5" in program.output, "the last step")
        wait_until(lambda: program.names(), "its report")


class Inherited(Case):
    TELL = ("import json, os, subprocess, sys\n"
            "def look(): return {'environment': sorted(os.environ.items()),"
            " 'descriptors': sorted(os.readlink('/proc/self/fd/' + n).split(':')[0] + n"
            "  for n in os.listdir('/proc/self/fd') if os.path.lexists('/proc/self/fd/' + n))}\n"
            # signals 32 and 33 are libc's own: it takes them with the first thread, also where a parent left them ignored
            "def signals(): return [hex(int(l.split()[1], 16) & ~(3 << 31)) for l in open('/proc/self/status')"
            " if l.startswith(('SigBlk', 'SigIgn', 'ShdPnd'))]\n"
            "told = {'own': look(), 'signals': signals(), 'group': os.getpgrp() == os.getpgid(os.getppid())}\n"
            "if sys.argv[1:] != ['child']:\n"
            "    told['child'] = json.loads(subprocess.check_output([sys.executable, '-I', sys.argv[0], 'child']))\n"
            "print(json.dumps(told, indent=1))\n")

    def told(self, watched, folder, env):
        program = self.program([PYTHON, "-I", os.path.join(folder, "tell.py")], watched=watched, env=env)
        self.assertEqual(0, program.wait(), program.errors)
        text = program.output.replace(program.folder, "FOLDER")
        return json.loads(text)

    def test_environment_descriptors_and_signals_are_as_without(self):
        folder = self.program(["/bin/true"], watched=False).folder
        with open(os.path.join(folder, "tell.py"), "w", encoding="utf-8") as script:
            script.write(self.TELL)
        every = [{"DEBUGINFOD_URLS": "http://127.0.0.1:1/"}, {"LD_PRELOAD": "libm.so.6"}, {"HANGDOG": "mine", "LD_PRELOAD": "libm.so.6:libc.so.6"}]
        for env in every[:1] if SANITIZER else every:  # an instrumented `hangdog` has its runtime first, or ends
            plain, watched = self.told(False, folder, env), self.told(True, folder, env)
            for who in ("own", "child"):
                plain_part = plain["child"]["own"] if who == "child" else plain["own"]
                watched_part = watched["child"]["own"] if who == "child" else watched["own"]
                self.assertEqual(plain_part, watched_part)
                self.assertFalse([name for name, _ in watched_part["environment"] if name == "HANGDOG_LINK"])
            self.assertEqual(plain["signals"], watched["signals"])
            self.assertEqual(plain["child"]["signals"], watched["child"]["signals"])

    def test_lowest_descriptor_numbers_are_free(self):
        self.assert_alike([PYTHON, "-c", "import os\nprint([os.open('/dev/null', 0) for _ in range(20)])"])

    def test_closing_all_descriptors_leaves_the_watch_alone(self):
        program = self.program([PYTHON, "-c",
                                "import os, select, time\n"
                                "os.closerange(3, 4096)\n"
                                "import socket; r = socket.socketpair()\n"
                                "for _ in range(15): select.select(r, [], [], 0.1)\n"
                                "time.sleep(1)\n"
                                "for _ in range(3): select.select(r, [], [], 0.1)\n"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual(["sleep"], [r["cause"]["kind"] for r in program.reports("hang")], program.errors)

    def test_a_forked_child_is_not_watched(self):
        program = self.program([PYTHON, "-c",
                                "import os, select, time\n"
                                "import socket; r = socket.socketpair()\n"
                                "wait = lambda n: [select.select(r, [], [], 0.1) for _ in range(n)]\n"
                                "wait(15)\n"
                                "if os.fork() == 0:\n"
                                "    wait(3); time.sleep(1.5); wait(3); os._exit(0)\n"
                                "while os.waitpid(-1, os.WNOHANG)[0] == 0: wait(1)\n"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual([], program.reports("hang"), program.errors)
        self.assertEqual(1, len(program.reports("session")))


class Tells(Case):
    def test_json_tells_each_hang_as_one_line(self):
        program = Program([PYTHON, "-I", PLAN, "truth", "idle:1.5", "sleep:1", "idle:0.2"], options=["--json"])
        self.addCleanup(program.close)
        self.assertEqual(3, program.wait())
        lines = [json.loads(line) for line in program.errors.splitlines() if line.startswith("{")]
        self.assertEqual(["hang", "session"], [line["kind"] for line in lines])
        self.assertEqual([], program.told)
        for line in program.errors.splitlines():
            self.assertTrue(line.startswith('{"format":"hangdog-report/1"') or not line.startswith("{"), line)
        self.assertRegex(hot_functions(lines[0])[0], "nanosleep")

    def test_a_threshold_is_kept(self):
        every = Together()

        def run(threshold):
            program = Program([PYTHON, "-I", PLAN, "truth", *"idle:1.5 sleep:1 idle:0.2".split()],
                              options=["--threshold", threshold])
            self.addCleanup(program.close)
            program.wait()
            return len(program.reports("hang"))
        every.start("below", run, "1500" if RELEASE else "10000")
        every.start("over", run, "700")
        every.join()
        self.assertEqual(0, every["below"])
        self.assertEqual(1, every["over"])

    def test_a_spool_that_cannot_be_written_is_said_and_the_program_runs(self):
        done = subprocess.run([HANGDOG, "run", "--spool", "/proc/no", "--", "/bin/echo", "ran"], env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((0, "ran\n"), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"\Ahangdog: cannot write reports to '/proc/no': ")


if __name__ == "__main__":
    main_side_by_side()
