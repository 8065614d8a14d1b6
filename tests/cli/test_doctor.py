# SPDX-License-Identifier: MIT
"""hangdog doctor: each check as it is where all works, and where it does not; its screen, its JSON, its status."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support_run import SANITIZER, environment, main, wait_until
from support_screen import Screens, screen
from test_cli import HANGDOG, Command, run

NOBODY = 65534
SYSTEM = ["preload", "spool", "proc", "dump", "attach", "seccomp", "names"]


class Doctor(Command, Screens):
    def checks(self, *arguments, status=0, env=None, **options):
        done = run("doctor", "--json", *arguments, env={"HOME": str(self.path), **(env or {})}, **options)
        self.assertEqual((status, ""), (done.returncode, done.stderr), done.stdout)
        checks = json.loads(done.stdout)
        for check in checks:
            self.assertLessEqual({"check", "status", "detail"}, set(check))
        return checks

    def one(self, name, *arguments, **options):
        return [check for check in self.checks(*arguments, **options) if check["check"] == name][-1]

    def as_nobody(self, *arguments):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.path.chmod(0o755)
        try:
            done = run("doctor", "--json", *arguments, env={"HOME": str(self.path)}, user=NOBODY, group=NOBODY,
                       extra_groups=[])
        except PermissionError as error:
            self.skipTest("nobody may not run the build: %s" % error)
        return done, {check["check"]: check for check in json.loads(done.stdout)}

    def test_what_works(self):
        checks = self.checks()
        self.assertEqual(SYSTEM, [check["check"] for check in checks])
        self.assertLessEqual({check["status"] for check in checks}, {"ok", "warn"})
        self.assertRegex(checks[0]["detail"], r"\Alibhangdog-preload\.so, glibc 2\.\d+\Z")
        self.assertEqual("~/.local/state/hangdog, which the first run makes", checks[1]["detail"])
        self.assertFalse((self.path / ".local").exists(), "it made the folder")
        self.write("full")
        self.assertEqual("%s, reports: 1" % self.spool.parent, self.one("spool", env={"XDG_STATE_HOME": str(self.path / "state")})["detail"].replace("~", str(self.path)))
        self.assertEqual("%s, reports: 1" % self.spool, self.one("spool", "--spool", self.spool)["detail"].replace("~", str(self.path)))

    def test_a_spool_of_another_user(self):
        (self.path / ".local/state/hangdog").mkdir(parents=True)
        done, checks = self.as_nobody()
        self.assertEqual(1, done.returncode)
        self.assertEqual(("fail", "~/.local/state/hangdog belongs to root", 'sudo chown -R "$USER" ~/.local/state/hangdog'),
                         tuple(checks["spool"][name] for name in ("status", "detail", "fix")))
        (self.path / ".local/state/hangdog").chmod(0o777)
        (self.path / ".local/state/hangdog/redis-server").mkdir()
        self.assertEqual("~/.local/state/hangdog/redis-server belongs to root", self.as_nobody()[1]["spool"]["detail"])

    def test_a_spool_that_is_no_folder(self):
        (self.path / "a file").write_text("")
        check = self.one("spool", "--spool", self.path / "a file", status=1)
        self.assertIn("is no folder", check["detail"])
        subprocess.run(["sh", "-c", check["fix"]], check=True)
        self.assertEqual("ok", self.one("spool", "--spool", self.path / "a file")["status"])

    def test_programs(self):
        for program, status, words in (("/bin/ls", "ok", "/bin/ls can be watched"), ("no-such-program", "fail", "was not found in PATH"),
                                       ("./no-such-program", "fail", "was not found")):
            check = self.one("program", "--", program, status=1 if status == "fail" else 0)
            self.assertEqual(status, check["status"], check)
            self.assertIn(words, check["detail"])
        script = self.path / "it's a script"
        script.write_text("#!/bin/sh\n")
        check = self.one("program", "--", script, status=1)
        self.assertIn("is not executable", check["detail"])
        subprocess.run(["sh", "-c", check["fix"]], check=True)
        self.assertEqual("ok", self.one("program", "--", script)["status"])
        script.write_text("#!/no/interpreter\n")
        self.assertEqual("fail", self.one("program", "--", script, status=1)["status"])
        if busybox := shutil.which("busybox"):
            self.assertIn("static", self.one("program", "--", busybox, status=1)["detail"])

    def test_names_of_functions(self):
        source = self.path / "a.c"
        source.write_text("int main(void) { return 0; }\n")
        for options, status, words in (["-g"], "ok", "lines"), ([], "ok", "has functions; lines need"), (["-s"], "warn", "stripped"):
            subprocess.run(["gcc", str(source), "-o", str(self.path / "a"), *options], check=True)
            check = self.one("names", "--", self.path / "a")
            self.assertEqual(status, check["status"], check)
            self.assertIn(words, check["detail"])
        if shutil.which("node"):
            self.assertEqual("ok", self.one("names", "--", "node", "x")["status"])
        if os.path.realpath("/usr/bin/python3").endswith("python3.11"):
            self.assertEqual("ok", self.one("names", "--", "/usr/bin/python3")["status"])

    def test_processes(self):
        sleep = subprocess.Popen(["sleep", "100"])  # pylint: disable=consider-using-with
        self.addCleanup(sleep.wait)
        self.addCleanup(sleep.kill)
        self.assertIn("(sleep) can be read", self.one("process", sleep.pid)["detail"])
        self.assertEqual("warn", self.one("watch", sleep.pid)["status"])
        link = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, link)
        os.symlink("/bin/sleep", link + "/slumber")
        other = subprocess.Popen([link + "/slumber", "100"])  # pylint: disable=consider-using-with
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        wait_until(lambda: "(slumber) can be read" in self.one("process", other.pid)["detail"], "the program's name")
        _, checks = self.as_nobody(str(sleep.pid))
        self.assertEqual("warn", checks["process"]["status"])
        self.assertIn("another user's", checks["process"]["detail"])
        self.assertTrue(checks["process"]["fix"].startswith("sudo "))
        sleep.kill()
        sleep.wait()
        self.assertIn("no process", self.one("process", sleep.pid, status=1)["detail"])

    @unittest.skipIf(SANITIZER, "the runtime stands before the library")
    def test_a_watched_process(self):
        watched = subprocess.Popen([HANGDOG, "run", "-q", "--spool", self.path / "spool", "--", "sh", "-c", "echo $$; read x"],  # pylint: disable=consider-using-with
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
        pid = watched.stdout.readline().strip()
        self.assertEqual("ok", self.one("watch", pid)["status"])
        watched.communicate("\n")

    def test_a_filter_that_ends_processes(self):
        """In a process with a seccomp filter, which kills for pipe2."""
        if sys.platform != "linux" or os.uname().machine != "x86_64":
            self.skipTest("the filter is of x86_64")
        code = ("import ctypes, os, struct, sys\n"
                "code = [(0x20, 0, 0, 0), (0x15, 0, 1, 293), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)]\n"
                "program = b''.join(struct.pack('HBBI', *line) for line in code)\n"
                "buffer = ctypes.create_string_buffer(program)\n"
                "class Filter(ctypes.Structure): _fields_ = [('n', ctypes.c_ushort), ('at', ctypes.c_void_p)]\n"
                "libc = ctypes.CDLL(None)\n"
                "libc.prctl(38, 1, 0, 0, 0)\n"
                "assert libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.addressof(buffer)))) == 0\n"
                "os.execv(sys.argv[1], sys.argv[1:])\n")
        done = subprocess.run([sys.executable, "-c", code, HANGDOG, "doctor", "--json"], capture_output=True, text=True,
                              env=environment(), check=False)
        check = next(check for check in json.loads(done.stdout) if check["check"] == "seccomp")
        self.assertEqual((1, "fail"), (done.returncode, check["status"]), check)
        self.assertIn("pipe2", check["detail"])

    def test_wrong_uses(self):
        for arguments, words in ((["x"], "'x' is no PID; for a program: hangdog doctor -- x"), (["1", "2"], "unexpected '2'"),
                                 (["--"], "which program?"), (["0"], "'0' is no PID"), (["12345678901"], "is no PID")):
            self.assert_error(run("doctor", *arguments), words, status=2)

    def test_the_screen(self):
        home = self.path / "home"
        (home / ".local/state").mkdir(parents=True)
        (home / ".local/state/hangdog").write_text("")
        text = screen([HANGDOG, "doctor"], env={"HOME": str(home)}, status=1, colours=True)
        self.assertIn("\033[1m\033[31mfail", text)
        text = screen([HANGDOG, "doctor"], env={"HOME": str(home)}, status=1)
        self.assertFits(text)
        lines = text.split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith("fail"))
        self.assertEqual(["ok    preload   libhangdog-preload.so, glibc %s" % lines[0].split()[-1],
                          "fail  spool     ~/.local/state/hangdog is no folder",
                          "      mv ~/.local/state/hangdog ~/.local/state/hangdog.old"], [lines[0], *lines[at:at + 2]])
        self.assertTrue(all(re.match(r"(ok|warn|fail) +\w+ +\S|      ", line) for line in lines), text)
        self.assertEqual([at], [i for i, line in enumerate(lines) if line.startswith("fail")])
        quiet = run("doctor", "-q", env={"HOME": str(home)})
        self.assertEqual((1, 2), (quiet.returncode, len(quiet.stdout.splitlines())))


if __name__ == "__main__":
    main()
