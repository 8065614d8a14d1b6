# SPDX-License-Identifier: MIT
"""Job control and signals: a shell at a terminal and whoever sends signals see the program as it is without us."""

import contextlib
import functools
import glob
import inspect
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_side_by_side import PYTHON, SideBySide, loop, stuck
from support_run import HANGDOG, PATIENCE, SANITIZER, children_of, environment, full_pipe, main, need_terminal, reporter_writes, state_of, wait_until

# Counts signals in a file, one line each; waits in a loop; ends when it finds the file "end".
COUNT = """
import os, select, socket, signal, sys
def note(number, frame): os.write(log, b"%d\\n" % number)
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for number in map(int, sys.argv[1:]): signal.signal(number, note)
signal.set_wakeup_fd(-1)
open("pid", "w").write(str(os.getpid()))
print("ready", flush=True)
r = socket.socketpair()
while not os.path.exists("end"): select.select(r, [], [], 0.1)
sys.exit(5)
"""


# Sets a timer of its own and becomes another program.
TIMER = """
import os, signal, sys
signal.setitimer(int(sys.argv[1]), float(sys.argv[2]))
os.execv(sys.argv[3], sys.argv[3:])
"""


# For LD_PRELOAD: an exec that tells that it was called, and waits for a file.
SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
int execvp(const char *file, char *const argv[]) {
    int waits = open("waits", O_CREAT | O_WRONLY, 0600);
    if (write(waits, "it waits", 8) != 8) return -1;
    close(waits);
    while (access("go", F_OK) != 0) usleep(1000);
    return ((int (*)(const char *, char *const[]))dlsym(RTLD_NEXT, "execvp"))(file, argv);
}
"""


# Draws on the whole screen, and hangs. With an argument: when its hang was told hangs again, and makes that file before.
DRAW = """
import os, select, socket, sys, termios, time, tty
open("pid", "w").write(str(os.getpid()))
before = termios.tcgetattr(0)
tty.setraw(0)
print("DRAWS", end="", flush=True)
loop = lambda: [select.select([0], [], [], .1) for _ in range(12)]
loop()
time.sleep(0.9)
loop()
for stuck in sys.argv[1:]:
    while not os.path.exists("told"): loop()
    open(stuck, "w").close()
    os.system("sleep 0.9")  # its places were not looked up before
    loop()
time.sleep(0.5)
print("DRAWN", end="", flush=True)
termios.tcsetattr(0, termios.TCSANOW, before)
"""


def in_foreground(argv):
    """Whether a process with these arguments is in the foreground of its terminal."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            if file.read().split("\0")[:-1] == argv:
                with open(os.path.dirname(path) + "/stat", encoding="ascii") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
                return fields[2] == fields[5]  # its group, the terminal's
    return False


class Folder(SideBySide):
    """A test of both, with an argument `watched`, is two: without us, and with us."""

    def __init_subclass__(cls, **more):
        for name, test in [pair for pair in vars(cls).items() if pair[0].startswith("beside_")]:
            if "watched" in inspect.signature(test).parameters:
                delattr(cls, name)
                setattr(cls, name + "_plain", functools.partialmethod(test, False))
                setattr(cls, name + "_watched", functools.partialmethod(test, True))
        super().__init_subclass__(**more)

    def setUp(self):
        self.make()

    def make(self):
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        return self.folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def head(self, watched):
        return [HANGDOG, "run", "--spool", self.path("spool"), "--"] if watched else []

    def read(self, name):
        try:
            with open(self.path(name), encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def hangs(self):
        done = subprocess.run([HANGDOG, "list", "--each", "-n0", "--no-symbols", "--spool", self.path("spool")], capture_output=True,
                              text=True, env=environment(), check=False)
        return done.stdout.splitlines()


class Shell:
    """/bin/bash -i at a terminal of its own."""

    def __init__(self, folder):
        need_terminal()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      {**environment(), "PS1": "READY> ", "TERM": "dumb", "HISTFILE": ""})
        self.seen, self.at = "", 0
        self.expect("READY> ")

    def expect(self, pattern, limit=PATIENCE):
        """What matches next; what came before it is used up."""
        end = time.monotonic() + limit
        while True:
            found = re.compile(pattern).search(self.seen, self.at)
            if found:
                self.at = found.end()
                return found
            if time.monotonic() > end or not select.select([self.fd], [], [], end - time.monotonic())[0]:
                raise AssertionError("waited in vain for %r in %r" % (pattern, self.seen[self.at:]))
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError as error:
                raise AssertionError("the shell ended: %r" % self.seen) from error

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        """A command, past its own echo."""
        self.type(text + "\n")
        self.expect(re.escape(text[-20:]) + r"\s*\n")

    def close(self):
        os.kill(self.pid, signal.SIGHUP)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Terminal(Folder):
    def shell(self, watched):
        self.make()
        shell = Shell(self.folder)
        self.addCleanup(shell.close)
        with open(self.path("count.py"), "w", encoding="ascii") as script:
            script.write(COUNT)
        shell.command = " ".join([*self.head(watched), PYTHON, "-I", "count.py"])
        return shell

    def beside_ctrl_z_and_fg(self, watched):
        shell = self.shell(watched)
        shell.line(shell.command)
        shell.expect("ready")
        time.sleep(2)  # so that its loop is known
        program = int(self.read("pid"))
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.expect("READY> ")
        self.assertEqual("T", state_of(program))
        time.sleep(1.5)
        shell.line("jobs")
        shell.expect(r"\[1\]\+ +Stopped +")
        shell.line("fg")
        wait_until(lambda p=program: state_of(p) in "SR", "the program to go on")
        time.sleep(1)
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.line("bg")
        wait_until(lambda p=program: state_of(p) in "SR", "the program to go on in the background")
        open(self.path("end"), "w", encoding="ascii").close()
        shell.line("wait %1; echo status=$?")
        shell.expect("status=5")
        self.assertEqual([], self.hangs())

    def beside_ctrl_c_ends_both(self, watched):
        shell = self.shell(watched)
        sleep = ["/bin/sleep", "60.%d%d" % (os.getpid(), watched)]  # no other's
        shell.line(" ".join([*self.head(watched), *sleep]))
        wait_until(lambda: in_foreground(sleep), "the program in the foreground")
        shell.type("\x03")
        shell.expect("READY> ")
        shell.line("echo status=$?")
        shell.expect("status=130")

    def type_ctrl_c(self, shell, command):
        """Once; it is the program's once."""
        shell.line(command + " 2 28")
        shell.expect("ready")
        shell.type("\x03")
        wait_until(lambda: self.read("log"), "the signal")
        time.sleep(0.3)
        self.assertEqual("2\n", self.read("log"))

    def beside_ctrl_c_under_a_proc_of_another_namespace(self):
        """Our numbers are other processes' there, which do not have the signal."""
        space = ["/usr/bin/unshare", "--pid", "--fork"]
        if os.geteuid() != 0 or subprocess.run([*space, "/bin/true"], check=False).returncode != 0:
            self.skipTest("only root makes a namespace of processes, where it is allowed")
        shell = self.shell(True)
        self.type_ctrl_c(shell, " ".join([*space, shell.command]))
        open(self.path("end"), "w", encoding="ascii").close()
        shell.expect("ran for")

    def beside_ctrl_c_comes_once(self, watched):
        shell = self.shell(watched)
        self.type_ctrl_c(shell, shell.command)
        for i in range(60):  # some merge
            shell.type("\x03")
            time.sleep(i % 7 / 2000)
        time.sleep(0.3)
        self.assertLessEqual(len(self.read("log").split()), 61)
        open(self.path("end"), "w", encoding="ascii").close()
        shell.expect("READY> ")
        shell.line("echo status=$?")
        shell.expect("status=5")

    def beside_the_background_reads(self, watched):
        shell = self.shell(watched)
        shell.line(" ".join([*self.head(watched), "/bin/cat"]) + " &")
        job = int(shell.expect(r"\[1\] (\d+)").group(1))
        wait_until(lambda j=job: state_of(j) == "T", "the stop")
        shell.line("jobs")
        shell.expect("Stopped")
        shell.line("fg")
        shell.expect("cat")
        shell.type("hello\n")
        shell.expect("hello\r\nhello\r\n")
        shell.type("\x04")
        shell.expect("READY> ")
        shell.line("echo status=$?")
        shell.expect("status=0")

    def beside_the_background_writes(self):
        """With `stty tostop` only what the program writes stops it, not what we do."""
        shell = self.shell(True)
        shell.line("stty tostop")
        shell.line(" ".join([*self.head(True), "/bin/sleep", "0.5"]) + " &")
        shell.expect("sleep ran for")
        shell.line("wait %1; echo status=$?")
        shell.expect("status=0")

    def beside_suspended_by_itself(self, watched):
        """As editors do it: the program gets a key and stops its whole group."""
        shell = self.shell(watched)
        shell.line(" ".join([*self.head(watched), "/bin/sh", "-c", "'kill -TSTP 0; exit 6'"]))
        shell.expect("Stopped")
        shell.line("fg")
        shell.expect("READY> ")
        shell.line("echo status=$?")
        shell.expect("status=6")


class Leader(Folder):
    """The program is alone at its terminal, as in one that is opened for it."""

    def start(self, watched, *argv):  # pylint: disable=arguments-differ
        need_terminal()
        self.make()
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            argv = [*self.head(watched), *argv]
            os.execve(argv[0], argv, environment())
        self.addCleanup(self.finish, pid)
        return pid, terminal

    def finish(self, pid):
        if not hasattr(self, "status"):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def ended(self, pid):
        done, status = wait_until(lambda: (lambda both: both if both[0] else None)(os.waitpid(pid, os.WNOHANG)), "the end")
        self.assertEqual(pid, done)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def beside_the_end_of_the_terminal_is_the_end(self, watched):
        pid, terminal = self.start(watched, PYTHON, "-I", "-c", COUNT)
        wait_until(lambda: self.read("pid"), "the program")
        processes = {pid, int(self.read("pid")), *children_of(pid)}
        self.assertEqual(4 if watched else 1, len(processes))
        os.close(terminal)
        self.assertEqual(-signal.SIGHUP, self.ended(pid))
        wait_until(lambda: not any(map(state_of, processes)), "all of them to be gone")

    def beside_a_program_that_stays(self, watched):
        pid, terminal = self.start(watched, PYTHON, "-I", "-c", COUNT, "1")
        wait_until(lambda: self.read("pid"), "the program")
        os.close(terminal)
        wait_until(lambda: self.read("log"), "the signal")
        time.sleep(0.3)
        self.assertEqual("1\n", self.read("log"))
        open(self.path("end"), "w", encoding="ascii").close()
        self.assertEqual(5, self.ended(pid))


class Timers(Folder):
    """A timer that is set before exec is the program's."""

    def run_it(self, watched, which, seconds, *argv):
        self.make()
        return subprocess.run([PYTHON, "-I", "-c", TIMER, str(which), str(seconds), *self.head(watched), *argv],
                              cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)

    def beside_it_ends_the_program(self):
        for which, number, script in ((signal.ITIMER_REAL, signal.SIGALRM, "sleep 60"),
                                      (signal.ITIMER_VIRTUAL, signal.SIGVTALRM, "while :; do :; done"),
                                      (signal.ITIMER_PROF, signal.SIGPROF, "while :; do :; done")):
            for watched in (False, True):
                done = self.run_it(watched, which, 0.8, "/bin/sh", "-c", "exec /bin/" + script if "sleep" in script else script)
                self.assertEqual(-number, done.returncode, done.stderr)

    def beside_the_program_takes_it_back(self, watched):
        script = "import signal, time; print(signal.getitimer(0)[0] > 0.1, signal.alarm(0) > 0); time.sleep(6.5)"
        done = self.run_it(watched, signal.ITIMER_REAL, 6, PYTHON, "-I", "-c", script)
        self.assertEqual((0, "True True\n"), (done.returncode, done.stdout), done.stderr)


class Signals(Folder):
    def start(self, watched, *signals):  # pylint: disable=arguments-differ
        self.make()
        # pylint: disable=consider-using-with
        process = subprocess.Popen([*self.head(watched), PYTHON, "-I", "-c", COUNT, *map(str, map(int, signals))],
                                   cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: self.read("pid"), "the program")
        if watched:
            wait_until(lambda: len(children_of(process.pid)) == 3, "the probe and the reporter")
        return process

    def log_after(self, what, count):
        wait_until(lambda: len(self.read("log").split()) >= count, what)
        time.sleep(0.3)
        return [int(number) for number in self.read("log").split()]

    def end(self, process):
        open(self.path("end"), "w", encoding="ascii").close()
        self.assertEqual(5, process.wait(PATIENCE))

    def beside_a_signal_to_the_group_comes_once(self):
        every = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGRTMIN + 3, signal.SIGWINCH]
        process = self.start(True, *every)
        for number in [*every, signal.SIGTERM]:
            before = len(self.read("log").split())
            os.killpg(process.pid, number)
            self.assertEqual([int(number)], self.log_after("a signal", before + 1)[before:])
        self.end(process)

    def beside_a_signal_to_us_alone_comes_once(self):
        every = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGRTMIN + 3, signal.SIGWINCH]
        process = self.start(True, *every)
        for number in [*every, signal.SIGTERM]:
            before = len(self.read("log").split())
            os.kill(process.pid, number)
            self.assertEqual([int(number)], self.log_after("a signal", before + 1)[before:])
            os.killpg(process.pid, number)
            self.assertEqual([int(number)], self.log_after("a signal", before + 2)[before + 1:])
        self.end(process)

    def beside_one_process_after_the_other(self):
        """As a service manager ends a control group."""
        for _ in range(20):
            process = self.start(True, signal.SIGTERM)
            every, begun = (process.pid, *children_of(process.pid)), time.monotonic()
            for pid in every:
                os.kill(pid, signal.SIGTERM)
            quick = time.monotonic() - begun < 0.005  # the runner gives them 10 ms
            log = self.log_after("the signal", 1)
            self.end(process)
            if quick:
                break
            os.remove(self.path("log"))
        self.assertEqual([int(signal.SIGTERM)], log)

    def beside_a_program_that_signals_its_own_group(self, watched):
        self.make()
        script = "trap 'echo got >>log' USR1; kill -USR1 0; sleep 0.3; exit 3"
        done = subprocess.run([*self.head(watched), "/bin/sh", "-c", script], cwd=self.folder, env=environment(),
                              capture_output=True, start_new_session=True, check=False)
        self.assertEqual((3, "got\n"), (done.returncode, self.read("log")), done.stderr)

    def beside_stopped_and_continued_from_outside(self):
        """The group is: both stop. The program alone is: we go on, since only it may be continued."""
        process = self.start(True, signal.SIGCONT)
        program = int(self.read("pid"))
        os.killpg(process.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T" and state_of(program) == "T", "the stop")
        os.killpg(process.pid, signal.SIGCONT)
        self.assertEqual([int(signal.SIGCONT)], self.log_after("going on", 1))
        for number in (signal.SIGSTOP, signal.SIGTSTP):
            before = len(self.read("log").split())
            os.kill(program, number)
            if number == signal.SIGTSTP and state_of(program) != "T":  # an orphaned group: it is ignored
                time.sleep(0.2)
                continue
            wait_until(lambda: state_of(program) == "T", "the program's stop")
            time.sleep(0.2)
            self.assertNotEqual("T", state_of(process.pid))
            os.kill(process.pid, signal.SIGCONT)  # of us alone: passed on
            self.assertEqual([int(signal.SIGCONT)], self.log_after("going on", before + 1)[before:])
        before = len(self.read("log").split())
        for pid in (process.pid, program):  # we learn of its stop and are to continue it at the same time
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda p=pid: state_of(p) == "T", "the stop")
        os.kill(process.pid, signal.SIGCONT)
        self.assertEqual([int(signal.SIGCONT)], self.log_after("going on", before + 1)[before:])
        self.end(process)

    def beside_an_end_while_we_are_stopped(self):
        """The program's time ends with it, and not when we see that."""
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            if "Seccomp:\t0\n" not in status.read():
                self.skipTest("under a seccomp filter it is not asked when the program ends")
        begun = time.monotonic()
        process = self.start(True)
        time.sleep(2)  # so that its loop is known
        program = int(self.read("pid"))
        os.kill(process.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T", "our stop")
        open(self.path("end"), "w", encoding="ascii").close()
        wait_until(lambda: state_of(program) == "Z", "the program's end")
        lived = time.monotonic() - begun
        time.sleep(3)
        os.kill(process.pid, signal.SIGCONT)
        self.assertEqual(5, process.wait(PATIENCE))
        reports = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in glob.glob(self.path("spool/*.json"))]
        (session,) = [report["session"] for report in reports if report["kind"] == "session"]
        self.assertLess(session["used_ns"] / 1e9, lived + 1.5)

    def beside_our_death_leaves_nobody(self):
        process = self.start(True)
        beside = [pid for pid in children_of(process.pid) if str(pid) != self.read("pid")]
        process.kill()
        process.wait()
        wait_until(lambda: not any(map(state_of, beside)), "the probe and the reporter to end")
        self.assertTrue(state_of(int(self.read("pid"))))
        open(self.path("end"), "w", encoding="ascii").close()
        wait_until(lambda: not state_of(int(self.read("pid"))) or state_of(int(self.read("pid"))) == "Z", "the program's end")

    def end_with_us(self, process):
        """And its group, which is its own."""
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_before_the_program_runs(self):
        """Its file is on a slow disk, or so it seems: the exec is ours, and waits for a file."""
        self.make()
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", self.path("slow.so")], input=SLOW, text=True, check=True)
        env = environment({"LD_PRELOAD": self.path("slow.so")})
        for number, status in ((signal.SIGTSTP, 5), (signal.SIGTERM, -signal.SIGTERM)):
            # pylint: disable=consider-using-with
            process = subprocess.Popen([*self.head(True), "/bin/sh", "-c", "exit 5"], cwd=self.folder, env=env,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda: os.setpgid(0, 0))  # pylint: disable=subprocess-popen-preexec-fn
            self.end_with_us(process)
            wait_until(lambda: self.read("waits"), "the exec")
            if number == signal.SIGTSTP:
                os.killpg(process.pid, number)
                wait_until(lambda p=process: state_of(p.pid) == "T", "our stop")
                os.killpg(process.pid, signal.SIGCONT)
                open(self.path("go"), "w", encoding="ascii").close()
            else:
                process.send_signal(number)
            self.assertEqual(status, process.wait(PATIENCE))
            for name in ("waits", "go"):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.path(name))

    def beside_a_standard_error_that_nobody_reads(self):
        """A hang is to be told there: signals are passed on all the same."""
        self.make()
        ours, its = full_pipe()
        script = 'echo $$ >pid; exec "$@" 2>/dev/null'
        # pylint: disable=consider-using-with
        process = subprocess.Popen([*self.head(True), "/bin/sh", "-c", script, "sh", *loop(1.6, "hang0.7", 600)],
                                   cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL, stderr=its,
                                   start_new_session=True)
        self.end_with_us(process)
        self.addCleanup(os.close, ours)
        os.close(its)
        wait_until(lambda: reporter_writes(process.pid), "the reporter's write to descriptor 2")
        os.kill(process.pid, signal.SIGTERM)
        wait_until(lambda: state_of(int(self.read("pid"))) in ("", "Z"), "the program's end")
        with open(ours, encoding="utf-8", closefd=False) as told:
            self.assertRegex(told.read(), "full *hangdog: hang of (?s:.*) ran for ")
        self.assertEqual(-signal.SIGTERM, process.wait(PATIENCE))

    def draw(self, *arguments, options=(), env=None):
        need_terminal()
        self.make()
        ours, its = pty.openpty()
        # pylint: disable=consider-using-with
        process = subprocess.Popen([*self.head(True)[:-1], *options, "--", PYTHON, "-c", DRAW, *arguments], stdin=its, stdout=its,
                                   stderr=its, cwd=self.folder, start_new_session=True, env=environment(env))
        self.end_with_us(process)
        os.close(its)
        return process, ours

    def seen(self, ours):
        """Until everybody has closed the other side."""
        seen = b""
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65536):
                seen += more
        os.close(ours)
        return seen.decode()

    def beside_a_screen_that_is_drawn_on_is_left_alone(self):
        _, ours = self.draw()
        self.assertRegex(self.seen(ours), r"(?s)DRAWSDRAWN.*hang of .*python3 ran for")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_what_was_kept_from_a_screen_is_told_where_the_next_hang_cannot_be(self):
        """Its functions are still looked up when somebody wants us to end."""
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        process, ours = self.draw("stuck", options=["--on-hang", "touch told"], env={"LD_PRELOAD": stuck(folder)})
        wait_until(lambda: os.path.exists(self.path("stuck")), "the second hang")
        wait_until(lambda: not state_of(int(self.read("pid"))), "the program to be gone")
        process.send_signal(signal.SIGINT)
        seen = self.seen(ours)
        self.assertRegex(seen, r"(?s)DRAWSDRAWN.*hang of .*names missing: symbol look-up took too long.*python3 ran for")
        self.assertEqual(2, seen.count("hang of "), seen)
        self.assertEqual(0, process.wait(PATIENCE))


if __name__ == "__main__":
    main()
