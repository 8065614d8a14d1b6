# SPDX-License-Identifier: MIT
"""hangdog run as odd users use it: where there is no folder, under names that are no words, as others may not write."""

import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_side_by_side import PYTHON, loop
from support_run import (BUILD, HANGDOG, PATIENCE, SANITIZER, Program, arguments_of, children_of, environment, full_pipe, hangs_printed, name_of,
                         reporter_of, reporter_writes,
                         main_side_by_side, may_trace, state_of, wait_until)

# What a launcher has asked to be sent at its end is its child's, also over exec.
LAUNCHER = """
import ctypes, os, signal, sys
if os.fork() == 0:
    ctypes.CDLL(None).prctl(1, int(sys.argv[1]), 0, 0, 0)
    os.execv(sys.argv[2], sys.argv[2:])
signal.pause()
"""
ASKED = """
import ctypes, os, time
asked = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(asked), 0, 0, 0)
open("now", "w").write("%d %d" % (os.getpid(), asked.value))
os.rename("now", "asked")
time.sleep(600)
"""

# Hangs before its last waits and at its end. Debug information of so many lines is read deep in the stack.
LINES = "".join("int f%d(int a) { return a * %d + a / (%d + a); }\n" % (i, i, i) for i in range(3000)) + """
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
static int server(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(s, &(struct sockaddr){.sa_family = AF_UNIX}, 2) != 0 || listen(s, 1) != 0 ? -1 : s;
}
int main(void) {
    int fd = server(), n = 40;
    for (int hangs = 0; hangs < 2; hangs++, n = 10) {
        for (int i = 0; i < n; i++) {
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 50);
        }
        usleep(800000);
    }
    return 3;
}
"""

# Its first wait, with which the watch starts, is on a coroutine's stack. Prints how much of that was used.
COROUTINE = """
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
static _Alignas(16) unsigned char stack[65536];
static ucontext_t caller, own;
static void waits(void) { poll(0, 0, 10); }
int main(int argc, char **argv) {
    size_t unused = 0;
    if (argc > 5) unshare(0);
    memset(stack, 0x5a, sizeof stack);
    getcontext(&own);
    own.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
    own.uc_link = &caller;
    makecontext(&own, waits, 0);
    swapcontext(&caller, &own);
    while (unused < sizeof stack && stack[unused] == 0x5a) unused++;
    printf("%zu", sizeof stack - unused);
    return 0;
}
"""

WAITS = os.path.join(BUILD, "tests/programs/waits")
FILTERED = os.path.join(BUILD, "tests/programs/filtered")
NOBODY = 65534


class Odd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_it(self, *arguments, env=None, before="", **more):
        """By a shell, which can do more before."""
        return subprocess.run(["/bin/sh", "-c", before + ' exec "$@"', "sh", HANGDOG, "run", *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, env=environment(env), cwd=self.folder,
                              text=True, errors="surrogateescape", timeout=60, check=False, **more)

    @unittest.skipIf(SANITIZER, "instrumented code needs more")
    def test_a_first_wait_takes_little_of_a_coroutines_stack(self):
        source, program = os.path.join(self.folder, "coroutine.c"), os.path.join(self.folder, "coroutine")
        with open(source, "w", encoding="ascii") as file:
            file.write(COROUTINE)
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", source, "-o", program], check=True)
        used = [int(subprocess.run(argv, env=environment(), capture_output=True, text=True, check=True).stdout)
                for argv in ([program], [HANGDOG, "run", "--quiet", "--spool", self.folder, "--", program])]
        self.assertLess(used[1] - used[0], 2048, used)

    def test_a_working_folder_that_is_gone(self):
        os.mkdir(self.folder + "/gone")
        gone = 'cd gone && rmdir "$PWD";'
        done = self.run_it("--spool", "spool", "/bin/true", before=gone)
        self.assertEqual(125, done.returncode)
        self.assertRegex(done.stderr, r"\Ahangdog: cannot use the spool 'spool': .*No such file.*from the root on\n\Z")
        os.mkdir(self.folder + "/gone")
        done = self.run_it("--spool", self.folder + "/spool", "/bin/true", before=gone)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_no_home(self):
        """As in a service: systemd may name a folder."""
        unset = "unset HOME XDG_STATE_HOME;"
        done = self.run_it("/bin/true", before=unset, env={"STATE_DIRECTORY": self.folder + ":/none"})
        self.assertEqual((0, ["true"]), (done.returncode, os.listdir(self.folder + "/hangdog")), done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    @unittest.skipIf(SANITIZER, "the sanitizer's runtime is where everybody may read it")
    def test_no_home_and_no_entry(self):
        shutil.copy(HANGDOG, self.folder + "/hangdog")
        os.chmod(self.folder, 0o755)
        done = subprocess.run(["/usr/bin/setpriv", "--reuid=54321", "--clear-groups", self.folder + "/hangdog", "list"],
                              env={"PATH": "/usr/bin"}, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, "HOME is unset; try: .* --spool DIR\n")

    def test_names_that_a_terminal_would_obey(self):
        program = self.folder + "/pr\udcffg\n\x1b[31m"
        shutil.copy("/bin/true", program)
        done = self.run_it("--spool", "spool", program)
        self.assertEqual(0, done.returncode)
        self.assertEqual(1, len(done.stderr.splitlines()))
        self.assertNotIn("\x1b", done.stderr)

    def test_the_command_that_is_named_can_be_copied(self):
        """By who sees it on a terminal: also where that has no character for what is in the path."""
        for spool in "it's a $b", os.fsdecode(b"\xff\x85 it's \\a\tb\xc3\xa9"):
            done = self.run_it("--spool", spool, WAITS, "w16 s7 w5")
            command = re.search(r"(?m)  more: (.*)$", done.stderr)[1]
            self.assertTrue(command.isprintable(), repr(command))
            shown = subprocess.run(["/bin/bash", "-c", command], cwd=self.folder, env=environment(), capture_output=True,
                                   text=True, timeout=60, check=False)
            self.assertEqual(0, shown.returncode, command + shown.stderr)
            self.assertIn("hang of ", shown.stdout)

    @unittest.skipIf(SANITIZER, "its runtime needs more stack")
    def test_a_small_stack_is_the_programs_limit_and_enough_for_ours(self):
        program, small = self.folder + "/lines", "ulimit -s 64;"
        subprocess.run(["gcc", "-g", "-x", "c", "-", "-o", program], input=LINES, text=True, check=True)
        done = self.run_it("--spool", "spool", program, before=small)
        self.assertEqual((3, 2), (done.returncode, hangs_printed(done.stderr)), done.stderr)
        for command in ["list", "show latest", "show latest --json"]:
            done = subprocess.run(["/bin/sh", "-c", "%s exec '%s' %s --spool spool" % (small, HANGDOG, command)],
                                  env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE,
                                  check=False)
            self.assertEqual(0, done.returncode, command + done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    @unittest.skipIf(SANITIZER == "thread", "the sanitizer's runtime has a thread of its own, which keeps its rights")
    def test_a_program_that_gives_up_its_rights_and_has_nothing_to_report(self):
        done = self.run_it("--spool", self.folder + "/spool", "/usr/bin/setpriv", "--reuid=%d" % NOBODY,
                           "--clear-groups", "/bin/true")
        self.assertEqual((0, 1), (done.returncode, len(done.stderr.splitlines())), done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    @unittest.skipIf(SANITIZER, "the sanitizer's runtime is where everybody may read it")
    def test_a_program_whose_user_may_not_read_our_library(self):
        """As of a clone in root's home: the loader of what it becomes must not be asked for us."""
        for name in "bin/hangdog", "lib/libhangdog-preload.so":
            os.makedirs(os.path.join(self.folder, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(BUILD, name), os.path.join(self.folder, name))
        self.assertEqual(0, os.stat(self.folder).st_mode & 0o077)
        done = subprocess.run([self.folder + "/bin/hangdog", "run", "--spool", self.folder + "/spool", "--",
                               "/usr/bin/setpriv", "--reuid=%d" % NOBODY, "--clear-groups", "/bin/true"],
                              env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, r"\Ahangdog: setpriv ran for .*by a user who may not read our library\)\n\Z")

    def test_a_spool_that_is_removed_meanwhile(self):
        """What comes later is told as it comes."""
        program = Program([WAITS, "w6 s7 w30 s8 w30"], options=["--loop", "waits:wait_for_events"])
        self.addCleanup(program.close)
        wait_until(lambda: program.errors.count("hang of ") == 1, "the first hang")
        shutil.rmtree(program.spool)
        wait_until(lambda: program.errors.count("hang of ") == 2, "the second hang")
        time.sleep(0.5)
        self.assertIsNone(program.process.poll(), "told at its end only")
        program.wait()
        self.assertEqual(1, len(program.reports("hang")))
        self.assertEqual(1, len(program.told), program.errors)

    def test_a_full_spool(self):
        """The oldest reports go, by number and by bytes; the run and its report say how many."""
        spools = {"many": [2] * 505, "large": [2, 300 << 20, 2]}
        runs = []
        for name, sizes in spools.items():
            os.mkdir(self.folder + "/" + name)
            for i, size in enumerate(sizes):
                path = "%s/%s/019a0000-0000-7000-8000-%012x.json" % (self.folder, name, i)
                pathlib.Path(path).write_text("{}", encoding="ascii")
                os.truncate(path, size)
                os.utime(path, (1e9 + i, 1e9 + i))
            runs.append(subprocess.Popen([HANGDOG, "run", "--spool", name, "--loop", "waits:wait_for_events", WAITS,
                                          "w6 s7 w5"], cwd=self.folder, env=environment(), stderr=subprocess.PIPE,
                                         text=True))
            self.addCleanup(runs[-1].kill)
        for name, run, gone, dropped in zip(spools, runs, (range(7), range(2)), (7, 2)):
            _, told = run.communicate(timeout=60)
            self.assertIn("hang of ", told)
            self.assertRegex(told, r"hangdog: removed the %d oldest reports in '.*%s' \(limit 500, 256 MiB\)\n" % (dropped, name))
            reports = sorted(pathlib.Path(self.folder, name).glob("*.json"))
            left = {int(path.stem[-12:], 16) for path in reports if path.stem.startswith("019a0000-0000")}
            self.assertEqual(set(range(len(spools[name]))) - set(gone), left)
            own = [json.loads(path.read_text(encoding="utf-8")) for path in reports if path.stat().st_size > 2]
            self.assertEqual(["hang", "session"], [report["kind"] for report in own])
            self.assertEqual(dropped, own[1]["session"]["reports_dropped"])

    def test_without_inotify_hangs_are_told_while_the_program_runs(self):
        """The user's instances are used up."""
        before = ["unshare", "--user", "--map-current-user", "sh", "-c",
                  'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"', "sh"]
        if subprocess.run([*before, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("a user namespace, in which no inotify instance can be had, is not allowed here")
        spool, errors = self.folder + "/spool", self.folder + "/errors"
        with open(errors, "wb") as err, subprocess.Popen(
                [*before, HANGDOG, "run", "--spool", spool, "--loop", "waits:wait_for_events", WAITS,
                 "w6 s7 w12 s8 w600"], stdin=subprocess.DEVNULL, stderr=err, env=environment()) as process:
            self.addCleanup(process.kill)
            wait_until(lambda: hangs_printed(pathlib.Path(errors).read_text(encoding="utf-8")) == 2, "both hangs")
            self.assertIsNone(process.poll(), "told at its end only")
            process.terminate()
            process.wait(60)
        self.assertEqual(2, hangs_printed(pathlib.Path(errors).read_text(encoding="utf-8")))

    def test_reports_that_the_end_of_the_run_cannot_write_are_told(self):
        """The program is killed when it has a report, or has none: the runner finds a disk that is full, or read-only."""
        before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                  'mkdir spool && mount -t tmpfs -o size=1m none spool && "$@"; status=$?; ls spool; exit $status', "sh"]
        if subprocess.run([*before, "true"], stderr=subprocess.DEVNULL, cwd=self.folder, stdout=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest("a user namespace, in which a disk can be mounted, is not allowed here")
        fill, lock = "cat /dev/zero >spool/zeros", "mount -o remount,ro spool"
        now, later = "exec(os.system('%s'))", "exec(os.system('(sleep 1.5; %s; kill -9 %%d) &' %% os.getpid()))"
        sure, kill = ["--loop", "python3"], "exec(os.kill(os.getpid(), 9))"
        cases = {"full in mid-hang": (sure, [1.6, later % fill, "hang60"], 2, "No space left on device", 1),
                 "full before": (sure, [1.6, now % fill, later % "true", "hang60"], 2, "No space left on device", 1),
                 "read-only in mid-hang": (sure, [1.6, later % lock, "hang60"], 2, "Read-only file system", 1),
                 "read-only while one is held": ([], [0.7, "hang0.7", 0.2, now % lock, kill], 2, "Read-only file system", 1),
                 "full before a good end": (sure, [1.6, now % fill, 0.1], 1, "No space left on device", 0)}
        runs = {}
        for case, (options, steps, *_) in cases.items():
            folder = os.path.join(self.folder, case)
            os.mkdir(folder)
            runs[case] = subprocess.Popen(  # pylint: disable=consider-using-with
                [*before, HANGDOG, "run", "--spool", "spool", *options, "--", *loop(*steps)], cwd=folder,
                env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for case, (_, _, reports, why, hangs) in cases.items():
            with self.subTest(case=case):
                files, errors = runs[case].communicate(timeout=PATIENCE)
                self.assertIn(runs[case].returncode, (137, 0), errors)
                self.assertRegex(errors, r"hangdog: %d of %d reports lost: cannot write '.*spool': %s\n" % (
                    reports, 1 + hangs, why))
                (last,) = [line for line in errors.splitlines() if " ran for " in line]
                self.assertRegex(last, ": 1 hang, " if hangs else ": no hang of 500 ms or more, started in [^;,]+$")

    def test_a_hang_whose_end_the_spool_does_not_take(self):
        """The program goes on for longer than after which a hang is told while it lasts."""
        fill = "exec(os.system('(until ls spool/*.json; do sleep 0.1; done; cat /dev/zero >spool/zeros) >/dev/null 2>&1 &'))"
        script = 'mkdir spool && mount -t tmpfs -o size=1m none spool || exit 77; "$@"; "$0" show latest --spool spool'
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, HANGDOG, HANGDOG,
                               "run", "--spool", "spool", "--loop", "python3", "--", *loop(1.6, fill, "hang3", 6)],
                              cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("a user namespace, in which a disk can be mounted, is not allowed here")
        # the copy of the record, which goes with the hang, may leave room for the report of the session
        self.assertRegex(done.stderr, "hangdog: [12] of 2 reports lost: cannot write '.*spool': No space left on device\n")
        self.assertNotIn("frozen for", done.stderr)
        self.assertRegex(done.stderr, r": 1 hang, [3-9]\.\d+ s lost ")
        self.assertRegex(done.stdout, r"\Ahang of at least [^\n]*\n(.*\n)*  note no end on record: frozen still, killed, or disk full\n")

    def test_what_a_program_without_a_runner_left_is_told_when_there_is_room(self):
        fill = "exec(os.system('(sleep 1.5; cat /dev/zero >spool/zeros; kill -9 %d) &' % os.getpid()))"
        script = """mkdir spool && mount -t tmpfs -o size=2m none spool || exit 77
                    "$@"; "$0" run --spool spool /bin/true; rm spool/zeros
                    "$0" run --quiet --spool spool /bin/true; "$0" run --quiet --spool spool /bin/true
                    "$0" list --no-symbols --spool spool; "$0" list --kind session --spool spool; ls -A spool"""
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, HANGDOG, HANGDOG,
                               "run", "--exec", "--spool", "spool", "--loop", "python3", "--", *loop(1.6, fill, "hang60")],
                              cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("a user namespace, in which a disk can be mounted, is not allowed here")
        self.assertRegex(done.stderr, "hangdog: cannot finish a dead run's report in '.*spool': No space left on device; the next")
        self.assertEqual((1, 1), (done.stdout.count(" fatal "), done.stdout.count(" session ")), done.stdout + done.stderr)
        self.assertEqual(3, done.stderr.count("hangdog: "), done.stderr)
        self.assertNotIn(".record", done.stdout)

    def test_what_is_not_there_is_named(self):
        named = "its interpreter /no/such is missing\n"
        for name, first, words in (("script", "#!/no/such -x\n", named), ("twice", "#!./script\n", named),
                                   ("windows", "#!/bin/sh\r\n", "its interpreter /bin/sh is missing; ./windows has Windows line ends")):
            path = pathlib.Path(self.folder) / name
            path.write_text(first, encoding="ascii", newline="")
            path.chmod(0o755)
            done = self.run_it("--spool", "spool", "./" + name)
            self.assertEqual((127, 1), (done.returncode, len(done.stderr.splitlines())), done.stderr)
            self.assertIn(words, done.stderr)
        for name, advice in (("./none", "No such file or directory"), ("no-such-program", "not found in PATH")):
            done = self.run_it("--spool", "spool", name)
            self.assertEqual((127, "hangdog: cannot run '%s': %s\n" % (name, advice)),
                             (done.returncode, done.stderr))

    def test_a_script_that_is_no_program_is_run_by_its_interpreter(self):
        for script, interpreter in (("app.py", "python3"), ("server.js", "node")):
            pathlib.Path(self.folder, script).touch()
            for word, status in ((script, 127), ("./" + script, 126)):
                done = self.run_it("--spool", "spool", word)
                self.assertEqual((status, True), (done.returncode, done.stderr.endswith(f"; try: {HANGDOG} run {interpreter} {word}\n")),
                                 done.stderr)

    def launched(self, number, head):
        """A launcher, and the number of its child, which was told that it asked for this signal."""
        # pylint: disable=consider-using-with
        launcher = subprocess.Popen([PYTHON, "-c", LAUNCHER, str(int(number)), *head, PYTHON, "-c", ASKED],
                                    cwd=self.folder, env=environment(), stderr=subprocess.DEVNULL)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        asked = pathlib.Path(self.folder, "asked")
        wait_until(asked.exists, "the program")
        pid, told = map(int, asked.read_text(encoding="ascii").split())
        self.addCleanup(lambda: state_of(pid) and os.kill(pid, signal.SIGKILL))
        asked.unlink()
        self.assertEqual(number, told)
        return launcher, pid

    def test_the_end_of_a_launcher_is_the_programs_where_that_was_asked_for(self):
        for head in [], [HANGDOG, "run", "--spool", self.folder + "/spool", "--"]:
            for number in signal.SIGKILL, signal.SIGTERM:
                launcher, pid = self.launched(number, head)
                launcher.kill()
                wait_until(lambda p=pid: state_of(p) in ("", "Z"), "the program's end")

    def test_a_lock_that_a_launcher_took_stays(self):
        """A POSIX lock is the process's that took it, whichever descriptors of the file it has."""
        code = """if 1:
            import fcntl, os, sys
            for _ in range(2):
                file = os.open("lock", os.O_RDWR)
                os.set_inheritable(file, True)
            fcntl.lockf(file, fcntl.LOCK_EX)
            os.execv(sys.argv[1], sys.argv[1:])"""
        lock, free = pathlib.Path(self.folder, "lock"), pathlib.Path(self.folder, "free")
        lock.touch()
        program = Program([PYTHON, "-c", code, HANGDOG, "run", "--spool", "spool", "--", PYTHON, "-c",
                           "import os, time\nwhile os.path.exists('lock'): time.sleep(0.01)"],
                          watched=False, folder=self.folder)
        self.addCleanup(program.close)
        wait_until(lambda: len(children_of(program.process.pid)) == 3, "the probe and the reporter, for which the runner has let go")
        with open(lock, "r+", encoding="ascii") as file:
            with self.assertRaises(BlockingIOError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.unlink()
            self.assertEqual(0, program.wait(), program.errors)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_of_many_descriptors_none_is_kept(self):
        """What the program closes is closed: who reads the other end of a pipe sees it."""
        closes = "import os, time\nos.closerange(3, 2000)\nwhile os.path.exists('kept'): time.sleep(0.01)"
        ours, its = os.pipe()
        many = [os.dup(its) for _ in range(400)]
        pathlib.Path(self.folder, "kept").touch()
        with subprocess.Popen([HANGDOG, "run", "--spool", "spool", "--", PYTHON, "-c", closes], cwd=self.folder,
                              env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=many) as process:
            for fd in its, *many:
                os.close(fd)
            ended = select.select([ours], [], [], PATIENCE)[0]
            os.unlink(self.folder + "/kept")
            self.assertEqual(([ours], 0), (ended, process.wait(PATIENCE)))
        self.assertEqual(b"", os.read(ours, 1))
        os.close(ours)

    def test_a_runner_under_a_runner_leaves_nothing_of_either(self):
        tell, head = [PYTHON, "-c", "import os; print(sorted(os.environ.items()))"], [HANGDOG, "run", "--spool", "spool"]
        run = lambda *argv: subprocess.run(argv, cwd=self.folder, env=environment(), capture_output=True,  # noqa: E731
                                           timeout=PATIENCE, check=False)
        for between in ["/bin/sh", "-c", '"$@"; :', "sh"], ["/usr/bin/env"]:
            plain = run(*between, *tell)
            for outer, inner in (([], []), (["--follow"], []), ([], ["--exec"]), (["--follow"], ["--exec"])):
                done = run(*head, *outer, *between, *head, *inner, *tell)
                self.assertEqual((0, plain.stdout), (done.returncode, done.stdout), done.stderr)
                if not inner:  # an image that has become the program is another's now
                    self.assertNotIn(b"could not be watched", done.stderr)

    def start_and_fill(self, status):
        """The program makes its stderr non-blocking, fills it and exits."""
        fill = """if 1:
            import os, sys
            os.set_blocking(2, False)
            try:
                while True:
                    os.write(2, b"full" * 1024)
            except BlockingIOError:
                sys.exit(int(sys.argv[1]))"""
        ours, its = os.pipe()
        # pylint: disable=consider-using-with
        process = subprocess.Popen([HANGDOG, "run", "--spool", "spool", "--", PYTHON, "-c", fill, str(status)],
                                   cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL, stderr=its)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(its)
        return process, ours

    def test_a_launcher_that_reads_a_full_pipe_when_we_have_ended_sees_us_end(self):
        process, ours = self.start_and_fill(7)
        with open(ours, encoding="ascii") as told:
            self.assertEqual(7, process.wait(PATIENCE))
            self.assertRegex(told.read(), r"\A(full)+\Z")

    def test_the_last_line_waits_for_room_where_the_program_has_made_a_pipe_non_blocking(self):
        process, ours = self.start_and_fill(0)
        with open(ours, encoding="ascii") as told:
            wait_until(lambda: process.poll() is not None or "0x1" in arguments_of(reporter_of(process.pid) or 0, 1),
                       "the reporter's poll of one descriptor")
            self.assertRegex(told.read().replace("full", ""), r"\Ahangdog: python3 ran for .*\n\Z")
        self.assertEqual(0, process.wait(PATIENCE))

    def start_unread(self, its, *argv):
        """When the program has ended, and what is to be said of it waits for a reader."""
        # pylint: disable=consider-using-with
        process = subprocess.Popen([HANGDOG, "run", "--spool", "spool", "--", *argv], cwd=self.folder, env=environment(),
                                   stdin=subprocess.DEVNULL, stderr=its)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: all(name_of(child) == "hangdog-report" for child in children_of(process.pid)) and reporter_writes(process.pid),
                   "the reporter's write to descriptor 2, after its program's end")
        return process

    def test_who_wants_us_to_end_when_the_program_has_is_not_kept_waiting(self):
        """A hang is told to a pipe that nobody reads: as long would take symbols on a server that is gone."""
        ours, its = full_pipe()
        for number in signal.SIGINT, signal.SIGHUP:
            process = self.start_unread(its, *loop(3, "hang1.2", "execsys.exit(3)"))
            process.send_signal(number)
            self.assertEqual(3, process.wait(PATIENCE))
        os.close(ours)
        os.close(its)

    def test_the_last_line_waits_for_its_reader_but_not_for_whom_wants_us_to_end(self):
        for number, line in (signal.SIGINT, ""), (signal.SIGTERM, ""), (0, "hangdog: sh ended with status 3 after .*\n"):
            ours, its = full_pipe()
            process = self.start_unread(its, "/bin/sh", "-c", "exit 3")
            os.close(its)
            with open(ours, encoding="ascii") as told:
                if number:
                    process.send_signal(number)
                    self.assertEqual(3, process.wait(PATIENCE))
                self.assertRegex(told.read(), r"\A(full)+%s\Z" % line)
            self.assertEqual(3, process.wait(PATIENCE))

    @unittest.skipIf(SANITIZER, "its runtime does not work under a tracer")
    @unittest.skipUnless(may_trace(), "this machine lets nobody trace")
    def test_a_program_that_dies_leaves_one_core_file(self):
        """A program that takes core files is given them whatever the limit."""
        subprocess.run(["strace", "-f", "-e", "trace=prctl,tgkill", "-o", self.folder + "/trace", HANGDOG, "run",
                        "--spool", self.folder + "/spool", "/bin/sh", "-c", "kill -SEGV $$"], env=environment(),
                       capture_output=True, timeout=PATIENCE, check=False)
        calls = pathlib.Path(self.folder, "trace").read_text(encoding="ascii").splitlines()
        own = calls[-1].split()[0]
        self.assertIn("+++ killed by SIGSEGV", calls[-1])
        self.assertRegex("\n".join(call for call in calls if call.startswith(own + " ")),
                         r"PR_SET_DUMPABLE, SUID_DUMP_DISABLE\).*\n.*tgkill\(.*SIGSEGV")

    @unittest.skipIf(SANITIZER, "its runtime makes system calls of its own, which the filter ends")
    def test_under_a_filter_that_ends_who_asks_for_his_parents_death(self):
        for options in [], ["--exec"]:
            done = self.run_it("--spool", "spool", *options, "/bin/sh", "-c", "exit 5",
                               before='set -- "%s" launch prctl "$@";' % FILTERED)
            self.assertEqual(5, done.returncode, done.stderr)

    @unittest.skipIf(SANITIZER, "its runtime does not work under a tracer")
    @unittest.skipUnless(may_trace(), "this machine lets nobody trace")
    def test_a_trial_of_a_filter_leaves_no_core_file(self):
        subprocess.run(["strace", "-f", "-e", "trace=prctl", "-o", self.folder + "/trace", FILTERED, "launch", "deadly", HANGDOG,
                        "run", "--spool", self.folder + "/spool", "/bin/true"], env=environment(), capture_output=True,
                       timeout=PATIENCE, check=False)
        calls = pathlib.Path(self.folder, "trace").read_text(encoding="ascii").splitlines()
        killed = {call.split()[0] for call in calls if "+++ killed by SIGSYS" in call}
        without = {call.split()[0] for call in calls if "PR_SET_DUMPABLE, SUID_DUMP_DISABLE" in call}
        self.assertTrue(killed & without, calls)

    def test_closed_descriptors(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = self.run_it("--spool", "spool", "/bin/sh", "-c", "ls -l /proc/self/fd > list; exit 5",
                               before="exec %s;" % closed)
            self.assertEqual(5, done.returncode, closed)


if __name__ == "__main__":
    main_side_by_side()
