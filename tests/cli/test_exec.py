# SPDX-License-Identifier: MIT
"""--exec: the program takes the place of the command; nobody is left to tell, and nothing is lost."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_side_by_side import PYTHON, SideBySide, loop
from support_run import (BUILD, HANGDOG, MS, SANITIZER, Program, RealCase, environment, main, schema_errors, state_of,
                         wait_until)

FILTERED = os.path.join(BUILD, "tests/programs/filtered")


class Exec(SideBySide):
    stalling_disk = RealCase.stalling_disk

    def run_alone(self, argv, *options, watched=True, folder=None):
        """Its process is the program itself."""
        program = Program([HANGDOG, "run", "--exec", "--spool", "spool", *options, "--", *argv] if watched else argv,
                          watched=False, folder=folder)
        self.addCleanup(program.close)
        return program

    def records(self, program):
        return [name for name in program.names() if name.endswith(".record")]

    def threads_of(self, pid):
        """They hold the record until the last of them is gone, which may be after the first one."""
        try:
            return len(os.listdir("/proc/%d/task" % pid))
        except FileNotFoundError:
            return 0

    def settle(self, program, before=()):
        """The next start."""
        done = subprocess.run([*before, HANGDOG, "run", "--quiet", "--spool", program.spool, "--", "/bin/true"],
                              env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))

    def assert_kinds(self, kinds, program):
        reports = sorted(program.reports(), key=lambda report: report["kind"])
        self.assertEqual(kinds, [r["kind"] for r in reports], program.names())
        for report in reports:
            self.assertEqual([], schema_errors(report))
        return reports

    def beside_the_process_is_the_program(self):
        tell = ("import json, os\n"
                "fds = [n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)]\n"
                "print(json.dumps([sorted(map(int, fds)), sorted(os.environ.items()), os.getppid()]))\n"
                "print(os.getpid())\n"
                "raise SystemExit(9)")
        plain, alone = (self.run_alone([PYTHON, "-I", "-c", tell], watched=watched) for watched in (False, True))
        self.assertEqual((9, 9), (plain.wait(), alone.wait()), alone.errors)
        words, pid = alone.output.replace(alone.folder, "FOLDER").splitlines()
        self.assertEqual(plain.output.replace(plain.folder, "FOLDER").splitlines()[0], words)
        self.assertEqual(alone.process.pid, int(pid))
        self.assertEqual("", alone.errors)

    def beside_it_tells_its_own_end(self):
        program = self.run_alone(loop(1.6, "hang0.8", 0.5, "execsys.exit(4)"))
        self.assertEqual(4, program.wait())
        self.assertEqual("", program.errors)
        hang, session = self.assert_kinds(["hang", "session"], program)
        self.assertEqual((program.process.pid, True), (hang["app"]["pid"], hang["complete"]))
        self.assertEqual(1, session["session"]["hangs"])
        self.settle(program)
        self.assert_kinds(["hang", "session"], program)
        self.assertEqual([], [name for name in program.names() if name.startswith(".")])

    def ends_at_a_stalled_disk(self, start, ready):
        """It stalls once `ready`; the program ends, and its worker is left there and does not finish."""
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        behind, mounted = self.stalling_disk(folder)
        program = start("--spool", mounted, "--loop", "python3")
        program.spool = mounted
        wait_until(lambda: [r for r in program.reports("hang") if ready(r)], "its report")
        stall, pid = pathlib.Path(behind) / "stall", program.pid
        stall.touch()
        wait_until(lambda: state_of(pid) in "ZX", "the end of its main thread")
        stall.unlink()
        self.assertEqual(0, program.wait(), program.errors)
        return program

    def beside_a_session_that_the_end_was_too_short_for_is_told_by_the_next_start(self):
        program = self.ends_at_a_stalled_disk(lambda *options: self.run_alone(loop(1.6, "hang0.7", 1), *options),
                                              lambda report: report["complete"])
        for _ in range(2):
            self.settle(program)
            self.assert_kinds(["hang", "session"], program)

    def beside_a_hang_that_the_end_was_too_short_for_is_told_by_the_runner(self):
        program = self.ends_at_a_stalled_disk(lambda *options: self.start(loop(1.6, "hang1.5"), options),
                                              lambda report: True)
        hang, _ = self.assert_kinds(["hang", "session"], program)
        self.assertTrue(hang["complete"])
        self.assertGreater(hang["duration_ns"], 1400 * MS)

    def beside_in_a_service_a_hang_is_known_before_its_watchdog_ends_it(self):
        """As systemd starts it; a threshold of 5 s would come too late."""
        service = ("import os, sys\n"
                   "os.environ.update(WATCHDOG_USEC='1000000', WATCHDOG_PID=str(os.getpid()))\n"
                   "os.execv(sys.argv[1], sys.argv[1:])")
        program = Program([PYTHON, "-I", "-c", service, HANGDOG, "run", "--exec", "--spool", "spool", "--threshold",
                           "5000", "--", *loop(1.6, "hang0.8", 0.5)], watched=False)
        self.addCleanup(program.close)
        self.assertEqual(0, program.wait(), program.errors)
        slow = ["launch"] if program.reports("launch") else []  # true where Python takes that long to start
        hang, *_ = self.assert_kinds(["hang", *slow, "session"], program)
        self.assertEqual(500 * MS - 1, hang["threshold_ns"])

    def beside_held_reports_are_settled_at_the_end(self):
        """Its loop is not sure yet, or there is none."""
        held = self.run_alone(loop(0.7, "hang0.7", 0.2))
        none = self.run_alone(["/bin/sh", "-c", "sleep 0.8"])
        for program in (held, none):
            self.assertEqual(0, program.wait())
        self.assert_kinds(["hang", "session"], held)
        self.assert_kinds([], none)
        self.assertEqual([], [name for name in none.names() if not name.endswith(".record")])

    def beside_killed_in_a_hang_the_next_start_says_so(self):
        program = self.run_alone(loop(1.6, "hang60"), "--loop", "python3")
        wait_until(lambda: program.reports("hang"), "its report")
        self.settle(program)  # while it lives nobody takes its record
        self.assertEqual(["hang"], [r["kind"] for r in program.reports()])
        self.assertEqual(1, len(self.records(program)))
        os.kill(program.process.pid, signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, program.wait())
        self.settle(program)
        fatal, session = self.assert_kinds(["fatal-hang", "session"], program)
        self.assertFalse(fatal["complete"])
        self.assertGreater(fatal["duration_ns"], 400 * 10**6)
        self.assertGreater(session["session"]["used_ns"], 10**9)
        self.settle(program)
        self.assert_kinds(["fatal-hang", "session"], program)
        self.assertEqual([], self.records(program))

    def beside_killed_in_a_hang_in_a_folder_that_has_another_name_now(self):
        """As a container's volume has elsewhere: the books are closed where the record lies."""
        program = self.run_alone(loop(1.6, "hang60"), "--loop", "python3")
        wait_until(lambda: program.reports("hang"), "its report")
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        before = pathlib.Path(program.spool)
        program.spool = str(before.rename(before.parent / "renamed"))
        self.settle(program)
        self.assert_kinds(["fatal-hang", "session"], program)
        self.assertEqual([], self.records(program))
        self.assertFalse(before.exists())

    def beside_killed_in_a_hang_days_ago_before_its_loop_was_sure(self):
        """Its report is held until the next start, whenever that is."""
        program = self.run_alone(loop(0.7, "hang0.3", 0.3, "hang60"))
        held = lambda: [name for name in program.names() if name.endswith(".held")]  # noqa: E731
        wait_until(held, "its report")
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        self.make_older(program, held(), days=40)
        self.settle(program)
        self.assert_kinds(["fatal-hang", "session"], program)
        self.assertEqual([], [name for name in program.names() if name.startswith(".")])

    def beside_what_nobody_will_release(self):
        """It is kept for a month, or for a day where there is more of it than a spool has reports."""
        program = self.run_alone(["/bin/true"])
        program.wait()
        names = [".01020304-0506-7008-8000-%012x.held" % number for number in range(501)]
        for name in names[:2]:
            (pathlib.Path(program.spool) / name).write_text("{}")
        self.make_older(program, names[:1], days=31)
        self.make_older(program, names[1:2], days=29)
        self.settle(program)
        self.assertEqual(names[1:2], program.names())
        for name in names[2:]:
            (pathlib.Path(program.spool) / name).write_text("{}")
        self.settle(program)
        self.assertEqual(500, len(program.names()))
        (pathlib.Path(program.spool) / names[0]).write_text("{}")
        self.settle(program)
        self.assertEqual([*names[:1], *names[2:]], sorted(program.names()))

    def make_older(self, program, names, days):
        when = time.time() - days * 86400
        for name in names:
            os.utime(pathlib.Path(program.spool) / name, (when, when))

    def beside_killed_while_idle(self):
        program = self.run_alone(loop(1.6, "hang0.7", 60))
        wait_until(lambda: [r for r in program.reports("hang") if r["complete"]], "its report")
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        self.settle(program)
        self.assert_kinds(["hang", "session"], program)

    def beside_killed_where_files_have_another_owner(self):
        """As on a mount that gives all files one owner, or root's to nobody."""
        program = self.run_alone(loop(1.6, "hang60"), "--loop", "python3")
        wait_until(lambda: program.reports("hang"), "its report")
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        self.settle(program, (FILTERED, "launch", "user"))
        self.assert_kinds(["fatal-hang", "session"], program)
        self.assertEqual([], [name for name in program.names() if name.startswith(".")])

    def beside_of_a_container_as_what_cannot_be_watched(self):
        """Its number there, 1, is another process's here."""
        inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "/bin/busybox", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("a namespace of processes is not allowed here, or there is no static program")
        become = "execos.execv('/bin/busybox', ['busybox', 'true'])"
        program = self.run_alone([*inside, HANGDOG, "run", "--exec", "--spool", "spool", "--loop", "python3", "--",
                                  *loop(1.6, "hang0.8", 0.5, become)], watched=False)
        self.assertEqual(0, program.wait(), program.errors)
        self.settle(program)
        self.assert_kinds(["hang", "session"], program)
        self.assertEqual([], self.records(program))

    @unittest.skipIf(SANITIZER, "its runtime makes system calls of its own, which the filter ends")
    def beside_under_a_filter_by_a_launcher_that_waits_for_no_child(self):
        ignores = ("import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
                   "os.execv(sys.argv[1], sys.argv[1:])")
        tell = "execimport signal; print(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)"
        program = Program([FILTERED, "launch", "harmless", PYTHON, "-I", "-c", ignores, HANGDOG, "run", "--exec", "--spool",
                           "spool", "--loop", "python3", "--", *loop(1.6, "hang0.8", 0.5, tell)], watched=False)
        self.addCleanup(program.close)
        self.assertEqual((0, "True"), (program.wait(), program.output.strip()), program.errors)
        self.assert_kinds(["hang", "session"], program)

    def beside_a_wrapper_script_is_followed(self):
        """Its shell becomes the program, which takes the lock anew."""
        program = self.run_alone(["/bin/sh", "-c", "sleep 0.2; exec \"$@\"", "sh", *loop(1.6, "hang60")],
                                 "--loop", "python3")
        wait_until(lambda: program.reports("hang"), "its report")
        self.settle(program)
        self.assertEqual(["hang"], [r["kind"] for r in program.reports()])
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        self.settle(program)
        self.assert_kinds(["fatal-hang", "session"], program)

    def beside_while_it_becomes_another_program_nobody_takes_its_record(self):
        """The lock went with the first program, and the second one's loader is still at its libraries."""
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        pipe = folder + "/libc.so.6"
        os.mkfifo(pipe)
        program = self.run_alone(["/bin/sh", "-c", "sleep 0.2; LD_LIBRARY_PATH=%s exec \"$@\"" % folder, "sh",
                                  *loop(1.6, "hang60")], "--loop", "python3")

        def opened():
            with contextlib.suppress(OSError):  # nobody reads it yet
                return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK) + 1
            return None
        writer = wait_until(opened, "the second program's loader") - 1
        self.settle(program)
        self.assertEqual(1, len(self.records(program)))
        os.write(writer, b"\x7fELF\x01".ljust(64, b"\0"))  # of 32 bits: it looks elsewhere
        os.close(writer)
        wait_until(lambda: program.reports("hang"), "its report")
        self.settle(program)
        self.assertEqual(["hang"], [r["kind"] for r in program.reports()])
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        self.settle(program)
        self.assert_kinds(["fatal-hang", "session"], program)
        self.assertEqual([], self.records(program))

    def beside_a_forked_child_holds_no_lock(self):
        program = self.run_alone([PYTHON, "-I", "-c", loop()[-1].replace(
            "for step", "child = os.fork()\nif not child:\n    time.sleep(30)\n    os._exit(0)\n"
            "open('child', 'w').write(str(child))\nfor step", 1), "1.6", "hang60"], "--loop", "python3")
        wait_until(lambda: program.reports("hang"), "its report")
        child = int((pathlib.Path(program.folder) / "child").read_text())
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        self.settle(program)
        os.kill(child, signal.SIGKILL)
        self.assert_kinds(["fatal-hang", "session"], program)

    def beside_followed_children_keep_the_record_alive(self):
        """One that was forked holds its parent's lock, one that was started a lock of its own."""
        first = "import os, subprocess, sys, time\nchild = %s\nopen('child', 'w').write(str(child))\n" \
                "time.sleep(0.5)\nos._exit(5)"
        started = first % "subprocess.Popen(sys.argv[1:]).pid"
        forked = loop()[-1].replace("for step", "child = os.fork()\nif child:\n    time.sleep(0.5)\n"
                                    "    open('child', 'w').write(str(child))\n    os._exit(5)\nfor step", 1)
        programs = [self.run_alone(argv, "--follow", "--loop", "python3") for argv in (
            [PYTHON, "-I", "-c", started, *loop(1.6, "hang60")], [PYTHON, "-I", "-c", forked, "1.6", "hang60"])]
        for program in programs:
            self.assertEqual(5, program.wait(), program.errors)
            wait_until(lambda p=program: p.reports("hang"), "its report")
            self.settle(program)
            self.assertEqual(["hang"], [r["kind"] for r in program.reports()])
            child = int((pathlib.Path(program.folder) / "child").read_text())
            os.kill(child, signal.SIGKILL)
            wait_until(lambda c=child: state_of(c) in "ZX" and self.threads_of(c) <= 1, "its end")
            self.settle(program)
            fatal, _ = self.assert_kinds(["fatal-hang", "session"], program)
            self.assertEqual(child, fatal["app"]["pid"])
            self.assertEqual([], self.records(program))

    def beside_followed_children_tell_their_own_end(self):
        start = [PYTHON, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
        program = self.run_alone([*start, *loop(1.6, "hang0.8", 0.5, "execsys.exit(4)")], "--follow")
        self.assertEqual(4, program.wait(), program.errors)
        hang, _ = self.assert_kinds(["hang", "session"], program)
        self.assertTrue(hang["complete"])
        self.settle(program)
        self.assertEqual([], self.records(program))

    def beside_what_cannot_be_run_leaves_nothing(self):
        for argv, status in ((["no-such-program"], 127), (["/etc/passwd"], 126)):
            program = self.run_alone(argv)
            self.assertEqual(status, program.wait())
            self.assertEqual(1, len(program.errors.splitlines()))
            self.assertEqual([], program.names())

    def beside_records_that_lie(self):
        """Files of the same name that are something else are taken away, without harm."""
        program = self.run_alone(["/bin/true"])
        program.wait()
        (name,) = self.records(program)
        spool = pathlib.Path(program.spool)
        size = (spool / name).stat().st_size
        for number, content in enumerate((b"", b"x" * 100, b"\xff" * size)):
            (spool / name.replace(name[-10], str(number), 1)).write_bytes(content)
        self.settle(program)
        self.assertEqual([], program.names())

    def beside_a_record_that_another_user_put_there(self):
        """Nothing is done that it says, and it stays."""
        program = self.run_alone(loop(1.6))
        self.assertEqual(0, program.wait(), program.errors)
        (name,) = self.records(program)
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        os.chown(pathlib.Path(program.spool) / name, 65534, 65534)
        self.settle(program)
        self.assertEqual([name], self.records(program))

    def beside_a_record_of_a_name_without_an_end(self):
        program = self.run_alone(loop(1.6, "hang0.7", 60), "--name", "lasts")
        wait_until(lambda: [r for r in program.reports("hang") if r["complete"]], "its report")
        os.kill(program.process.pid, signal.SIGKILL)
        program.wait()
        (name,) = self.records(program)
        file = pathlib.Path(program.spool) / name
        record = file.read_bytes()
        at = record.index(b"lasts\0")
        file.write_bytes(record[:at] + 256 * b"x" + record[at + 256:])
        self.settle(program)
        _, session = self.assert_kinds(["hang", "session"], program)
        self.assertEqual(255 * "x", session["app"]["name"])

    def beside_a_record_of_another_version_is_said_to_be_lost(self):
        """Hangdog was upgraded between the program's end and its next start."""
        program = self.run_alone(["/bin/true"])
        program.wait()
        (name,) = self.records(program)
        file = pathlib.Path(program.spool) / name
        record = file.read_bytes()
        for size, word in ((len(record) - 4096, 0), (len(record), 8)):
            other = bytearray(record)
            other[word] += 1  # of the magic's version, of the record's size
            for quiet in ([], ["--quiet"]):
                file.write_bytes(other[:size])
                for times in ((0 if quiet else 1), 0):
                    done = subprocess.run([HANGDOG, "run", *quiet, "--spool", program.spool, "--", "/bin/true"],
                                          env=environment(), capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(0, done.returncode)
                    self.assertEqual(times, done.stderr.count("skipped '%s': of another version" % file), done.stderr)
                self.assertEqual([], program.names())


class Usage(unittest.TestCase):
    def test_what_does_not_go_together(self):
        for options in (["--json"], ["--on-hang", "true"]):
            done = subprocess.run([HANGDOG, "run", "--exec", *options, "/bin/true"], env=environment(),
                                  capture_output=True, text=True, check=False)
            self.assertEqual(125, done.returncode)
            self.assertIn(options[0], done.stderr)


if __name__ == "__main__":
    main()
