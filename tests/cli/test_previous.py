# SPDX-License-Identifier: MIT
"""The session report tells how the run before ended."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from support_side_by_side import PYTHON, SideBySide, group_of_memory, loop, run_in_group, write
from support_run import HANGDOG, SANITIZER, environment, main, schema_errors, wait_until

SECONDS = 1.6  # in a loop, which is seen by then


class Previous(SideBySide):
    def run_in(self, folder, *steps, program=PYTHON, options=()):
        """What its session report says of the run before."""
        run = self.begin(folder, *steps, program=program, options=options)
        run.wait()
        return self.told(run)

    def begin(self, folder, *steps, program=PYTHON, options=()):
        run = self.start([program, *loop(SECONDS, *steps)[1:]], ["--spool", folder, *options])
        run.spool = folder
        return run

    def told(self, run):
        session = max(run.reports("session"), key=lambda report: report["id"])
        self.assertEqual([], schema_errors(session))
        return session["session"].get("previous_end")

    def line(self, folder):
        (file,) = pathlib.Path(folder).glob(".*.last")
        return file

    def beside_by_itself_by_a_crash_or_killed(self):
        folder = self.make_folder()
        self.assertIsNone(self.run_in(folder, "execsys.exit(3)"), "there was none")
        self.assertEqual("clean", self.run_in(folder, "execos.kill(os.getpid(), 6)"))
        short = self.start([PYTHON, "-I", "-c", "pass"], ["--spool", folder])
        self.assertEqual(0, short.wait(), short.errors)  # no run, without a loop
        self.assertEqual("crash", self.run_in(folder, "execos.kill(os.getpid(), 15)"))
        self.assertEqual("killed", self.run_in(folder, "execos.kill(os.getpid(), 3)"))
        self.assertEqual("killed", self.run_in(folder))
        alone = self.start([HANGDOG, "run", "--exec", "--spool", folder, "--", *loop(0.1)], watched=False)
        self.assertEqual(0, alone.wait(), alone.errors)
        self.assertIsNone(self.run_in(folder), "nobody saw the end of the run before")
        self.assertIsNone(self.run_in(folder, options=["--name", "another"]))
        newest = max(name for name in os.listdir(folder) if name.endswith(".json"))
        shown = subprocess.run([HANGDOG, "show", os.path.join(folder, newest)], env=environment(), capture_output=True,
                               text=True, check=True)
        self.assertNotIn("the run before", shown.stdout)
        self.assertEqual("clean", self.run_in(folder))
        newest = max(name for name in os.listdir(folder) if name.endswith(".json"))
        shown = subprocess.run([HANGDOG, "show", os.path.join(folder, newest)], env=environment(), capture_output=True,
                               text=True, check=True)
        self.assertIn("\n  the run before ended: clean\n", shown.stdout)
        self.assertEqual(0o600, self.line_of(folder, "python3").stat().st_mode & 0o777)

    def line_of(self, folder, name):
        value = 0xcbf29ce484222325
        for byte in name.encode():
            value = ((value ^ byte) * 0x100000001b3) & (1 << 64) - 1
        return pathlib.Path(folder, ".%016x.last" % value)

    def beside_in_a_hang(self):
        folder = self.make_folder()
        run = self.begin(folder, "hang0.3", 0.3, "hang9")
        run.wait_for_hang()
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        self.assertEqual(["fatal-hang"], [report["kind"] for report in run.reports("hang", "fatal-hang")])
        self.assertEqual("fatal-hang", self.run_in(folder))

    def beside_without_its_runner_or_with_the_machine(self):
        folder = self.make_folder()
        self.run_in(folder)
        for boot, end in ((None, "unknown"), ("11111111-2222-3333-4444-555555555555", "reboot")):
            run = self.begin(folder, 30)
            wait_until(lambda: "lasts" in self.line(folder).read_text(encoding="ascii"), "its line")
            self.assertIsNone(self.run_in(folder), "another one lasts")
            program = run.pid
            run.process.kill()
            run.process.wait()
            os.kill(program, signal.SIGKILL)
            if boot is not None:
                words = self.line(folder).read_text(encoding="ascii").split()
                self.line(folder).write_text(" ".join([*words[:2], boot, *words[3:]]) + "\n", encoding="ascii")
            self.assertEqual(end, self.run_in(folder))

    def beside_replaced(self):
        """A program that was terminated and is another one now: who installs the new one ends it."""
        folder = self.make_folder()
        program = os.path.join(self.make_folder(), "program")
        shutil.copy(PYTHON, program)
        self.run_in(folder, "execos.kill(os.getpid(), 15)", program=program)
        os.utime(program, (1, 1))
        self.assertEqual("upgrade", self.run_in(folder, program=program))
        os.utime(program, (2, 2))
        self.assertEqual("clean", self.run_in(folder, "execos.kill(os.getpid(), 2)", program=program))
        os.utime(program, (3, 3))
        self.assertEqual("killed", self.run_in(folder, program=program), "not by who installs a program")

    def beside_what_could_not_be_started_is_no_run(self):
        folder = self.make_folder()
        self.run_in(folder, "execos.abort()")
        broken = os.path.join(self.make_folder(), "broken")
        with open(broken, "w", encoding="ascii") as file:
            file.write("#!/nowhere/shell\n")
        os.chmod(broken, 0o700)
        run = self.start([broken], ["--spool", folder, "--name", "python3"])
        self.assertEqual(127, run.wait(), run.errors)
        self.assertEqual("crash", self.run_in(folder))

    def beside_a_line_that_is_none(self):
        folder = self.make_folder()
        for text in ("", "1 clean", "2 clean a 1 1\n", "1 %s\n" % ("x" * 4000), "1 wild a 1 1\n", "\0\n" * 99):
            self.line_of(folder, "python3").write_text(text, encoding="ascii")
            self.assertIsNone(self.run_in(folder), repr(text))
            self.assertEqual("clean", self.line(folder).read_text(encoding="ascii").split()[1])

    def beside_what_others_have_put_there(self):
        folder, elsewhere = self.make_folder(), os.path.join(self.make_folder(), "file")
        line = self.line_of(folder, "python3")
        text = "1 crash a 1 1\n"
        for make in (os.symlink, os.link, lambda _, to: os.mkfifo(to), lambda _, to: os.mkdir(to)):
            pathlib.Path(elsewhere).write_text(text, encoding="ascii")
            make(elsewhere, line)
            self.assertIsNone(self.run_in(folder))
            self.assertEqual(text, pathlib.Path(elsewhere).read_text(encoding="ascii"))
            if not line.is_dir():
                self.assertEqual("clean", self.run_in(folder), "a line of its own took its place")
                line.unlink()

    def beside_two_at_a_time(self):
        folder = self.make_folder()
        longer = self.begin(folder, 4, "execos.abort()")
        self.run_in(folder)
        longer.wait()
        self.assertEqual("crash", self.run_in(folder), "that of the last that ended")

    def beside_nothing_is_left_of_who_has_no_loop(self):
        folder = self.make_folder()
        run = self.start(["/bin/sleep", "0.5"], ["--spool", folder])
        self.assertEqual(0, run.wait(), run.errors)
        self.assertEqual([], os.listdir(folder))

    @unittest.skipIf(SANITIZER, "its runtime takes more memory than the group has")
    def beside_for_want_of_memory(self):
        group = group_of_memory()
        if group is None:
            self.skipTest("no control group can be made here")
        self.addCleanup(os.rmdir, group)
        write(group, "memory.limit_in_bytes", 64 << 20)
        with contextlib.suppress(OSError):
            write(group, "memory.memsw.limit_in_bytes", 64 << 20)
        folder = self.make_folder()
        takes = loop(SECONDS, "exec_ = [bytearray(1 << 20) for _ in range(1 << 14)]")
        run = run_in_group(group, [HANGDOG, "run", "--spool", folder, "--", *takes])
        self.assertEqual(-signal.SIGKILL, run.returncode, run.stderr)
        self.assertEqual("out-of-memory", self.run_in(folder))


if __name__ == "__main__":
    main()
