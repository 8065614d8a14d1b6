#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What a watched program does to itself is done as without us: filters of system calls, namespaces, exec, children,
# privileges. Programs run side by side, each plain and under `hangdog run`.

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

from support_run import (BUILD, HANGDOG, MS, S, SANITIZER, TOLERANCE_NS, Between, RealCase, environment, for_everybody, free_port,
                         main_side_by_side, wait_until)

PROGRAMS = os.path.join(os.environ["HANGDOG_BUILD"], "tests", "programs")
BECOME = os.path.join(PROGRAMS, "become")
FILTERED = os.path.join(PROGRAMS, "filtered")
LEAVES = os.path.join(PROGRAMS, "leaves")
THREAD_ENDS = os.path.join(PROGRAMS, "thread-ends")
CHRONYD = "/usr/sbin/chronyd"
SHELL = "/bin/sh"
LOADER = "/lib64/ld-linux-x86-64.so.2"
PYTHON = "/usr/bin/python3"
NO_LONGER = r"not watched to its end: its seccomp filter may kill it"
OWN_CALLS = "the sanitizer's runtime makes system calls of its own, which these filters end"


class Case(RealCase):
    def hangs(self, program):
        """The causes of its hangs, in order."""
        reports = program.reports("hang", "launch")
        for report in reports:
            self.assert_valid(report)
        return [report["cause"]["kind"] for report in reports]


@unittest.skipIf(SANITIZER, OWN_CALLS)
class Filters(Case):
    """A filter that kills for nearly every call ends the watch, and not the program."""

    def test_a_program_that_installs_a_filter_that_kills(self):
        ways = {"prctl": 0, "prctl-by-number": 0, "seccomp": 0, "twice": 0, "tsync": 0, "thread": 0, "late": 1, "asks": 2}
        every = {way: self.program([FILTERED, way]) for way in ways}
        every["child"] = self.program([FILTERED, "prctl", "in-a-child"])
        for way, program in every.items():
            self.assertEqual(7, program.wait(), "%s: %s" % (way, program.errors))
            self.assertRegex(program.output, r"^(child 1536\n)?busy 1\d{3}\nsleep 1\d{3}\n$")
            hangs = ways.get(way, 2)
            self.assertEqual(["sleep"] * min(hangs, 1), self.hangs(program)[-1:], "%s: %s" % (way, program.errors))
            self.assertEqual(hangs, len(self.hangs(program)), "%s: %s" % (way, program.errors))
            ended = [line for line in program.told if re.search(NO_LONGER, line)]
            self.assertEqual(int(hangs < 2), len(ended), "%s: %s" % (way, program.errors))

    def test_who_changes_ids_under_a_filter_has_no_thread_that_keeps_them(self):
        for way, program in {way: self.program([FILTERED, way]) for way in ("setid", "joined-setid")}.items():
            self.assertEqual(7, program.wait(), "%s: %s" % (way, program.errors))
            self.assertRegex(program.told[-1], NO_LONGER, way)

    def test_a_handler_that_is_installed_under_a_filter(self):
        program = self.program([FILTERED, "handler"])
        self.assertEqual(7, program.wait(), program.errors)

    def test_a_filter_of_a_vforked_child_is_its_own(self):
        plain, watched = [self.program([FILTERED, "vfork"], watched=watched, options=["--thread", "worker"])
                          for watched in (False, True)]
        self.assertEqual(7, plain.wait(), plain.errors)
        self.assertEqual(7, watched.wait(), watched.errors)
        self.assertEqual(["main", "main", "worker"], sorted(h["loop"]["name"] for h in watched.reports("hang")),
                         watched.errors)

    def test_a_filter_that_was_there_before(self):
        folder = self.folder()
        groups = {kind: None for kind in ("deadly", "harmless", "blind")}
        if os.getuid() == 0:  # the kernel tells of the filter behind them, 4 KiB and more
            groups.update({kind + " groups": range(100000, 100900) for kind in groups})
        runs = {kind: subprocess.Popen([FILTERED, "launch", kind.split()[0], HANGDOG, "run", "--spool",
                                        folder + "/" + kind, "--", FILTERED, "asks"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=environment(), extra_groups=every)
                for kind, every in groups.items()}
        told = {}
        for kind, process in runs.items():
            output, told[kind] = process.communicate(timeout=60)
            self.assertEqual(7, process.returncode, told[kind])
            self.assertRegex(output, r"^busy 1\d{3}\nsleep 1\d{3}\n$")
        for kind, text in told.items():
            self.assertRegex(text, "not watched: its seccomp filter may kill it"
                             if "deadly" in kind else ": 2 hangs, ", kind)
            if "harmless" in kind:
                self.assertRegex(text, r"\n  [> ] busy_callback", "code that runs is seen there too")
            if "blind" in kind:  # the handler could not mend a call that the signal broke
                self.assertIn("no stack: the thread did not answer", text)

    def test_no_descriptor_table_by_one_call(self):
        """On an old kernel, or in a container. A daemon that closes what it does not know has its own numbers alone."""
        folder = self.folder()
        head = {"watched": [HANGDOG, "run", "--spool", folder, "--"], "plain": []}
        runs = {(kind, way): subprocess.Popen([FILTERED, "launch", kind, *head[way], LEAVES, "closefrom"],
                                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True, env=environment())
                for kind in ("old", "denied") for way in head}
        ended = {run: process.communicate(timeout=60) for run, process in runs.items()}
        for run, process in runs.items():
            self.assertEqual(7, process.returncode, ended[run])
            self.assertEqual(ended["old", "plain"][0], ended[run][0], run)
        self.assertIn(": 1 hang, ", ended["old", "watched"][1])
        self.assertRegex(ended["denied", "watched"][1],
                         r"^hangdog: .*not watched: seccomp forbids close_range; allow it\n$")

    @unittest.skipUnless(os.path.exists(CHRONYD), "chronyd is not installed, or stood aside for another time daemon")
    @unittest.skipUnless(os.getuid() == 0, "chronyd wants to be started by root")
    def test_chronyd_with_its_filter(self):
        every = []
        for watched in (False, True):
            folder = self.folder()
            config = os.path.join(folder, "chrony.conf")
            with open(config, "w", encoding="ascii") as file:
                file.write("port %d\ncmdport 0\nbindcmdaddress /\nlocal\nallow 127.0.0.1\nbindaddress 127.0.0.1\n"
                           "pidfile %s/pid\n" % (free_port(), folder))
            every.append(self.program([CHRONYD, "-d", "-x", "-F", "1", "-u", "root", "-f", config],
                                      watched=watched))
        for program in every:
            wait_until(lambda p=program: "Loaded seccomp filter" in p.errors or p.process.poll() is not None,
                       "chronyd's filter")
        time.sleep(1)
        for program in every:
            program.process.send_signal(signal.SIGTERM)
            self.assertEqual(0, program.wait(), program.errors)
            self.assertIn("chronyd exiting", program.errors)
        self.assertRegex(every[1].told[-1], NO_LONGER)


USERS = """
import ctypes, os, select, time
libc = ctypes.CDLL(None, use_errno=True)
import socket; r = socket.socketpair()
def ticks(n):
    for _ in range(n):
        select.select(r, [], [], 0.05)
ticks(8)
call = {call}
print(call, ctypes.get_errno(), len(os.listdir("/proc/self/task")) if call == 0 else 0)
ticks(60)
time.sleep(1)
ticks(20)
"""


# It may ask for a namespace, and so is watched from its first wait on; before that a child waits that has its memory.
VFORKS = """
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static int server(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(s, &(struct sockaddr){.sa_family = AF_UNIX}, 2) != 0 || listen(s, 1) != 0 ? -1 : s;
}
static int fd;
static void ticks(int n) {
    for (int i = 0; i < n; i++) {
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 50);
    }
}
int main(int argc, char **argv) {
    if ((argc > 1 && unshare(0) != 0) || (fd = server()) < 0) {
        return 1;
    }
    if (vfork() == 0) {
        poll(0, 0, 1);
        _exit(0);
    }
    wait(0);
    ticks(60);
    sleep(1);
    ticks(20);
    return 7;
}
"""


class Namespaces(Case):
    """A process with a second thread may not have a new user namespace: ours are none."""

    @unittest.skipIf(SANITIZER == "thread", "the sanitizer's runtime has a thread of its own, which stays")
    def test_own_namespaces_are_as_easily_had(self):
        user = 0x10000000
        calls = {"unshare": "libc.unshare(%d)" % user, "by number": "libc.syscall(272, %d)" % user,
                 "refused": "libc.unshare(%d)" % (1 << 12)}
        pairs = {name: [self.program([PYTHON, "-I", "-c", USERS.format(call=call)], watched=watched)
                        for watched in (False, True)] for name, call in calls.items()}
        for name, (plain, watched) in pairs.items():
            self.assertEqual(plain.wait(), watched.wait(), watched.errors)
            if name != "refused" and plain.output.startswith("-1"):
                self.skipTest("this machine gives nobody a user namespace")
            self.assertEqual(plain.output, watched.output)
            self.assertEqual(["sleep"], self.hangs(watched), "%s: %s" % (name, watched.errors))

    @unittest.skipIf(SANITIZER == "thread", "the sanitizer's runtime has a thread of its own, which stays")
    def test_a_namespace_of_times_is_as_easily_joined(self):
        join = "libc.unshare({0}) or libc.setns(os.open('/proc/self/ns/time_for_children', 0), {0})".format(0x80)
        plain, watched = [self.program([PYTHON, "-I", "-c", USERS.format(call=join)], watched=watched)
                          for watched in (False, True)]
        self.assertEqual(plain.wait(), watched.wait(), watched.errors)
        if not plain.output.startswith("0 "):
            self.skipTest("this machine gives us no namespace of times: " + plain.output)
        self.assertEqual(plain.output, watched.output)
        self.assertEqual(["sleep"], self.hangs(watched), watched.errors)

    def test_chromiums_zygote_has_one_thread_when_it_looks(self):
        code = "import os; print(len(os.listdir('/proc/self/task')))" + USERS.format(call="-1")
        plain, watched = [self.program([PYTHON, "-I", "-c", code, "--type=zygote"], watched=watched)
                          for watched in (False, True)]
        self.assertEqual(plain.wait(), watched.wait(), watched.errors)
        self.assertEqual(plain.output, watched.output)
        self.assertEqual(["sleep"], self.hangs(watched), watched.errors)

    def test_a_vforked_child_that_waits_is_not_the_programs_first_wait(self):
        vforks = self.folder() + "/vforks"
        subprocess.run(["gcc", "-x", "c", "-", "-o", vforks], input=VFORKS, text=True, check=True)
        every = [self.program([vforks], options=options) for options in ([], ["--follow"])]
        for program in every:
            self.assertEqual(7, program.wait(), program.errors)
            self.assertEqual(["sleep"], self.hangs(program), program.errors)

    def test_unshare_nsenter_and_bwrap(self):
        every = [["/usr/bin/unshare", "-r", "/usr/bin/id", "-u"],
                 ["/usr/bin/unshare", "-r", "-m", "-p", "-f", "--mount-proc", SHELL, "-c", "echo /proc/[0-9]*"],
                 ["/usr/bin/unshare", "-r", SHELL, "-c", "exec nsenter -t $$ -U --preserve-credentials id -u"],
                 ["/usr/bin/bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", SHELL,
                  "-c", "echo /proc/[0-9]*; env | sort"]]
        pairs = [[self.program(argv, watched=watched) for watched in (False, True)] for argv in every]
        for plain, watched in pairs:
            self.assertEqual(plain.wait(), watched.wait(), watched.errors)
            self.assertEqual(plain.output, watched.output.replace(watched.folder, plain.folder))
            self.assertEqual(plain.errors, "".join(line + "\n" for line in watched.errors.splitlines()
                                                   if not line.startswith("hangdog: ")))


# A handler on an alternate stack of the usual size executes what is to come in its place; below it is nothing.
RESTARTS = """
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
static char *next;
static void restart(int signal) {
    (void)signal;
    execlp(next, next, "loop", (char *)0);
}
int main(int argc, char **argv) {
    char *pages = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = pages + 4096, .ss_size = 2 * 4096};
    struct sigaction action = {.sa_handler = restart, .sa_flags = SA_ONSTACK};
    next = argv[argc - 1];
    if (mprotect(pages, 4096, PROT_NONE) != 0 || sigaltstack(&stack, 0) != 0 || sigaction(SIGUSR1, &action, 0) != 0) {
        return 1;
    }
    poll(0, 0, 100);
    raise(SIGUSR1);
    return 1;
}
"""


FORMS = ("execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat")


class Exec(Case):
    """A process that becomes another program is followed; what it and its children see is their own."""

    def alike(self, argv, env=None):
        """The watched one of two that must be alike."""
        plain, watched = [self.program(argv, watched=watched, env=env) for watched in (False, True)]
        self.assertEqual(plain.wait(), watched.wait(), watched.errors)
        return plain, watched

    @unittest.skipIf(SANITIZER, "the program gives itself a list without the sanitizer's runtime, which then refuses")
    def test_every_form_passes_on_what_it_was_given(self):
        env = {"PATH": PROGRAMS + ":/usr/bin:/bin", "LD_PRELOAD": "libm.so.6"}
        pairs = [[self.program([BECOME, form], watched=watched, env=env) for watched in (False, True)]
                 for form in (*FORMS, "children")]
        for plain, watched in pairs:
            self.assertEqual(0, plain.wait(), plain.errors)
            self.assertEqual(0, watched.wait(), watched.errors)
            self.assertEqual(plain.output.replace(plain.folder, watched.folder),  # PWD, where a shell sets it
                             watched.output, watched.process.args)
            self.assertRegex(watched.told[-1], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_a_wrapper_is_followed_to_the_program(self):
        loop = "exec %s loop" % BECOME
        every = {"sh": [SHELL, "-c", loop], "env": [SHELL, "-c", "exec env -i nice %s loop" % BECOME],
                 "python": [PYTHON, "-c", "import os; os.execlp('%s', 'become', 'loop')" % BECOME],
                 "unshare": ["/usr/bin/unshare", "-m", "--propagation", "unchanged", BECOME, "loop"],
                 "setpriv": ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups", BECOME, "loop"]}
        if os.getuid() != 0:
            del every["unshare"], every["setpriv"]
        if SANITIZER:
            del every["env"]  # its library is needed first, and is not inherited
        if SANITIZER == "thread":
            every.pop("setpriv", None)  # libc ends it for the runtime's own thread, which keeps other rights
        runs = {name: self.program(argv) for name, argv in every.items()}
        for name, program in runs.items():
            self.assertEqual(7, program.wait(), "%s: %s" % (name, program.errors))
            if name != "setpriv":  # another user may not write to the spool: only counted
                self.assertEqual(["sleep"], self.hangs(program), "%s: %s" % (name, program.errors))
            private = name == "setpriv" and not for_everybody(BUILD)
            self.assertRegex(program.told[-1], "user who may not read our library" if private else ": 1 hang, ")
            self.assertNotIn("ld.so", program.errors)

    @unittest.skipIf(SANITIZER, "an instrumented function needs more stack than there is")
    def test_a_handler_on_a_small_stack_restarts_its_program(self):
        restarts = self.folder() + "/restarts"
        subprocess.run(["gcc", "-x", "c", "-", "-o", restarts], input=RESTARTS, text=True, check=True)
        for given in BECOME, os.path.basename(BECOME):
            program = self.program([restarts, given], env={"PATH": os.path.dirname(BECOME) + ":/usr/bin:/bin"})
            self.assertEqual(7, program.wait(), program.errors)
            self.assertEqual(["sleep"], self.hangs(program), program.errors)

    def test_exec_in_mid_hang_leaves_nothing_open(self):
        begin = time.monotonic_ns()
        program = self.program([BECOME, "hang"])
        self.assertEqual(7, program.wait(), program.errors)
        hangs = program.reports("hang")
        self.assertEqual(["sleep"], [h["cause"]["kind"] for h in hangs[1:]])
        self.assert_ran(hangs[0])
        self.assertTrue(all(h["complete"] for h in hangs))
        self.assertRegex(program.told[-1], ": 2 hangs, ")
        sessions = sorted(program.reports("session"), key=lambda report: report["started_at"])
        self.assertEqual(["become"] * 2, [report["app"]["name"] for report in sessions])
        used = [report["session"]["used_ns"] for report in sessions]
        self.assertGreater(used[1], 6 * S)  # of `become loop`: it waits for 5 s
        self.assertLess(abs(used[0] + used[1] - (time.monotonic_ns() - begin)), 3 * S, used)
        self.assertNotEqual(*[h["app"]["session"] for h in hangs])
        self.assertEqual([], program.left_over(), "left over in the spool")
        self.assert_duration(hangs[1], Between(1200 * MS, 1700 * MS))
        self.assertLess(800 * MS, hangs[0]["duration_ns"], "as old as the last look before exec")
        self.assertGreater(used[0] - 4 * S + 100 * MS, hangs[0]["duration_ns"])  # it waited for 4 s before

    @unittest.skipIf(SANITIZER, "its runtime needs more stack than the program leaves it")
    def test_arguments_that_just_fit_are_not_too_long_with_ours(self):
        _, watched = self.alike([BECOME, "grown"])
        self.assertEqual(0, watched.wait(), watched.errors)
        self.assertRegex(watched.told[-1], "it became a program that takes no preload")

    def test_a_fifo_is_no_program(self):
        fifo = self.folder() + "/fifo"
        os.mkfifo(fifo, 0o755)
        _, watched = self.alike([PYTHON, "-c", "import os; os.execv('%s', ['fifo'])" % fifo])
        self.assertIn("PermissionError", watched.errors)

    def test_a_lock_on_the_next_program_stays(self):
        code = """if 1:
            import fcntl, os, sys
            file = open(sys.argv[1], "rb")
            os.set_inheritable(file.fileno(), True)
            fcntl.lockf(file, fcntl.LOCK_SH)
            os.execv(sys.argv[1], ["sleep", "60"])"""
        for watched in (False, True):
            copy = shutil.copy("/bin/sleep", self.folder())
            program = self.program([PYTHON, "-c", code, copy], watched=watched)
            wait_until(lambda p=program, c=copy: os.readlink("/proc/%d/exe" % p.pid) == c, "exec")
            with open("/proc/locks", encoding="ascii") as locks:
                self.assertIn(":%d " % os.stat(copy).st_ino, locks.read(), "watched: %s" % watched)

    def test_two_numbers_that_are_free_are_enough(self):
        """What the next program gets is opened when its files have been looked at, and closed."""
        code = """if 1:
            import os, resource, sys
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            held = []
            try:
                while True:
                    held.append(os.dup(0))
            except OSError:
                os.close(held.pop()), os.close(held.pop())
            os.execv(sys.argv[1], ["become", "loop"])"""
        program = self.program([PYTHON, "-I", "-c", code, BECOME])
        self.assertEqual(7, program.wait(), program.errors)
        self.assertEqual(["sleep"], self.hangs(program), program.errors)

    def test_a_process_that_a_constructor_starts_is_a_child(self):
        folder = self.folder()
        for name, source, options in (
                ("libearly.so", "#include <stdlib.h>\n__attribute__((constructor)) static void early(void) "
                 "{ if (system(\"exec %s loop\") != 7 << 8) exit(8); }" % BECOME, ["-shared", "-fPIC"]),
                ("early", "int main(void) { return 9; }", ["-Wl,--no-as-needed", "-L" + folder, "-learly",
                                                           "-Wl,-rpath," + folder])):
            subprocess.run(["gcc", "-x", "c", "-", "-o", folder + "/" + name, *options], input=source, text=True,
                           check=True)
        program = self.program([folder + "/early"])
        self.assertEqual(9, program.wait(), program.errors)
        self.assertEqual([], self.hangs(program), "the child's")
        self.assertRegex(program.told[-1], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_an_empty_list_stays(self):
        _, watched = self.alike(["/usr/bin/env"], env={"A": "1", "LD_PRELOAD": "", "B": "2"})
        self.assertIn("LD_PRELOAD=\n", watched.output)

    @unittest.skipIf(os.getuid() != 0, "only root makes a namespace of processes")
    def test_a_child_with_our_number_in_another_namespace(self):
        code = """if 1:
            import ctypes, os, signal
            pid = ctypes.CDLL(None).syscall(%d, 0x20000000 | signal.SIGCHLD, 0, 0, 0, 0)
            if pid == 0:
                os.execl("/bin/echo", "echo", "child")
            print(os.waitpid(pid, 0)[1])""" % {"x86_64": 56, "aarch64": 220}[os.uname().machine]
        folder = self.folder()
        own_proc = ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        why = subprocess.run(own_proc + ["/bin/true"], check=False, text=True, stderr=subprocess.PIPE, timeout=60)
        if why.returncode != 0:  # a chroot's root is no mount point
            self.skipTest(why.stderr.strip())
        run = subprocess.run(own_proc + [HANGDOG, "run",
                              "--quiet", "--exec", "--spool", folder, "--", PYTHON, "-c", code], timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.assertEqual("child\n0\n", run.stdout, run.stderr)

    @unittest.skipIf(os.getuid() != 0, "only root makes a namespace of processes")
    def test_a_namespace_without_a_proc_of_its_own(self):
        """Nothing is to be seen there of what a thread does: a hang is told, and nothing that is not so."""
        code = """if 1:
            import os, select, time
            import socket; fd = socket.socketpair()
            waits = lambda times: [select.select(fd, [], [], 0.1) for _ in range(times)]
            waits(8); time.sleep(1); waits(2)"""
        folder, here = self.folder(), ["/usr/bin/unshare", "--pid", "--fork", "--kill-child"]
        if subprocess.run(here + ["/bin/true"], check=False, timeout=60).returncode != 0:
            self.skipTest("this machine gives nobody a namespace of processes")
        run = subprocess.run(here + [HANGDOG, "run", "--spool", folder, "--", PYTHON, "-c", code], timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.assertRegex(run.stderr, r"why  waited, no sample shows for what")
        self.assertRegex(run.stderr, r"\nhangdog: no stacks: /proc is of another PID namespace; try: mount -t proc proc /proc\n")
        self.assertNotIn("runs on", run.stderr)

    def test_what_cannot_be_followed_is_said(self):
        program = self.program([SHELL, "-c", "exec /sbin/ldconfig -V"])
        self.assertEqual(0, program.wait())
        self.assertRegex(program.output, "^ldconfig ")
        self.assertRegex(program.told[-1], "it became a program that takes no preload")


class Threads(Case):
    """A thread that is watched by its name ends as it would without us."""

    def test_it_leaves_nothing_and_asks_for_nothing(self):
        pairs = {way: [self.program([THREAD_ENDS, way], watched=watched,
                                    options=[] if way in ("exits", "heir") else ["--thread", "worker"])
                       for watched in (False, True)]
                 for way in ("plainly", "alone", *([] if SANITIZER else ["filtered", "exits", "heir"]))}  # OWN_CALLS
        for way, (plain, watched) in pairs.items():
            self.assertEqual(7, plain.wait(), plain.errors)
            self.assertEqual(7, watched.wait(), "%s: %s" % (way, watched.errors))
            self.assertEqual(plain.output, watched.output, way)
            self.assertNotIn("no such thread", watched.errors, way)


FORKS = """
import os, select, subprocess, sys, time
import socket; r = socket.socketpair()
def ticks(n):
    for _ in range(n):
        select.select(r, [], [], 0.05)
kids = []
for seconds in (1.0, 1.5):
    kids.append(os.fork())
    if kids[-1] == 0:
        ticks(80)
        time.sleep(seconds)
        ticks(10)
        os._exit(0)
spawned, own = subprocess.Popen([sys.argv[1], "loop"]), None
print(*kids, spawned.pid)
left = [*kids, spawned.pid]
while left:
    ticks(1)
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid:
        left.remove(pid)
        own = status if pid == spawned.pid else own
sys.exit(os.waitstatus_to_exitcode(own))
"""


# A child of 2 s, forked late, that nobody sees exit.
LATE = """
import os, select, sys, time
import socket; r = socket.socketpair()
def ticks(n):
    for _ in range(n):
        select.select(r, [], [], 0.05)
ticks(50)
begun = time.monotonic()
if os.fork() == 0:
    ticks(40)
    open("lived", "w").write(str(time.monotonic() - begun))
    os._exit(0)
ticks(70)
print(time.monotonic() - begun, os.wait()[0])
"""


# Children that are the first of a namespace each, and one that has the program's own number in one of these, if it may
# choose. The program has a hang, and dies in another.
SPACES = """
import ctypes, os, select, signal, sys, time
import socket; r = socket.socketpair()
def ticks(n):
    for _ in range(n):
        select.select(r, [], [], 0.05)
def work(seconds, child=0):
    ticks(30)
    time.sleep(seconds)
    ticks(40)
    while child and os.waitpid(child, os.WNOHANG) == (0, 0):
        ticks(1)
    os._exit(0)
def first_of_a_space(seconds, number):
    last, child = "/proc/sys/kernel/ns_last_pid", 0
    if number and os.access(last, os.W_OK):
        with open(last, "w") as file:
            file.write(str(number - 1))
        child = os.fork()
        if child == 0:
            print(os.getpid() == number, flush=True)
            work(1.2)
    work(seconds, child)
ticks(30)
time.sleep(1.2)
ticks(5)
number = os.getpid()
kids = []
for seconds in (1.3, 1.5):
    kids.append(os.fork())
    if kids[-1] == 0:
        if ctypes.CDLL(None).unshare(0x20000000 | (0x10000000 if os.getuid() else 0)) != 0:
            os._exit(77)
        if os.fork() == 0:
            first_of_a_space(seconds, number if len(kids) == 2 else 0)
        os.wait()
        os._exit(0)
ended = []
while len(ended) < 2:
    ticks(1)
    pid, status = os.waitpid(-1, os.WNOHANG)
    ended += [status] if pid else []
if ended != [0, 0]:
    sys.exit(77)
time.sleep(4)
os.kill(number, signal.SIGKILL)
"""


SHELLS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.popen.restype = ctypes.c_void_p
libc.pclose.argtypes = [ctypes.c_void_p]
begun = libc.popen(b"exec %s loop" % sys.argv[1].encode(), b"r")
print(os.system("no-such-program; %s loop; echo \\"it's $? of $0\\"; exit 3" % sys.argv[1]) >> 8, flush=True)
print(libc.pclose(begun) >> 8)
"""


# The same on the smallest stack that a thread may have; or it becomes what it is told.
SMALL_STACK = """
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *run(void *words) {
    char **argv = words;
    if (argv[1] != NULL) execv(argv[1], argv + 1);
    int status = system("exit 3");
    FILE *commands = popen("exit 4", "r");
    printf("%d %d\\n", status >> 8, pclose(commands) >> 8);
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    return pthread_create(&thread, &small, run, argv) != 0 || pthread_join(thread, NULL) != 0;
}
"""


# Under a filter that kills for a call which only the preload would make, it has the shell run commands.
FILTERED_SHELLS = """
import ctypes, os, platform, struct
libc = ctypes.CDLL(None)
getxattr = {"x86_64": 191, "aarch64": 8}[platform.machine()]
code = ctypes.create_string_buffer(struct.pack(
    "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, getxattr, 0x06, 0, 0, 0x80000000, 0x06, 0, 0, 0x7fff0000))
filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
print(libc.prctl(38, 1, 0, 0, 0), libc.prctl(22, 2, filters), flush=True)
print(os.waitstatus_to_exitcode(os.system("exit 3")))
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 4"], os.environ)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


class Follow(Case):
    """With --follow children are watched, each on its own; without, they are not."""

    def test_commands_that_libc_has_the_shell_run(self):
        argv = [PYTHON, "-I", "-c", SHELLS, BECOME]
        plain, followed = [self.program(argv, watched=watched, options=["--follow"]) for watched in (False, True)]
        self.assertEqual(0, plain.wait(), plain.errors)
        self.assertEqual(0, followed.wait(), followed.errors)
        self.assertEqual("it's 7 of sh\n3\n7\n", plain.output)
        self.assertEqual(plain.output, followed.output)
        self.assertIn(plain.errors, followed.errors)
        self.assertEqual(["sleep"] * 2, self.hangs(followed), followed.errors)

    @unittest.skipIf(SANITIZER, "an instrumented function needs more stack than there is")
    def test_commands_of_a_thread_with_a_small_stack(self):
        small = self.folder() + "/small"
        subprocess.run(["gcc", "-pthread", "-x", "c", "-", "-o", small], input=SMALL_STACK, text=True, check=True)
        program = self.program([small], options=["--follow"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual("3 4\n", program.output)
        if os.path.exists(LOADER):
            program = self.program([small, LOADER, "--argv0", "other", SHELL, "-c", "exit 5"])
            self.assertEqual(5, program.wait(), program.errors)

    @unittest.skipIf(SANITIZER, OWN_CALLS)
    def test_commands_under_a_filter(self):
        program = self.program([PYTHON, "-I", "-c", FILTERED_SHELLS], options=["--follow"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual("0 0\n3\n4\n", program.output)

    def test_children_that_cannot_be_watched_are_counted(self):
        """No report is theirs: static programs, one that could not be started at all is none."""
        argv = [PYTHON, "-I", "-c", """if 1:
            import os, subprocess
            for _ in range(2):
                subprocess.run(["/sbin/ldconfig", "-V"], check=True, stdout=subprocess.DEVNULL)
            if os.fork() == 0:
                os.execv("/sbin/ldconfig", ["ldconfig", "-V"])
            os.wait()
            try:
                subprocess.run(["/nowhere/static"])
            except FileNotFoundError:
                print("none", flush=True)"""]
        program = self.program(argv, options=["--follow"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertTrue(program.output.endswith("none\n"), program.output)
        self.assertRegex(program.told[-1], "^hangdog: 3 children were not watched to the end: it became a program")

    def test_forked_and_started_children(self):
        argv = [PYTHON, "-I", "-c", FORKS, BECOME]
        followed, alone = self.program(argv, options=["--follow"]), self.program(argv)
        for program in (followed, alone):
            self.assertEqual(7, program.wait(), program.errors)
        self.assertEqual([], self.hangs(alone))
        hangs = {h["app"]["pid"]: h for h in followed.reports("hang")}
        self.assertEqual(sorted(int(pid) for pid in followed.output.split()), sorted(hangs), followed.errors)
        for pid, truth in zip(followed.output.split(), (1000, 1500, 1200)):
            self.assertEqual("sleep", hangs[int(pid)]["cause"]["kind"])
            self.assert_duration(hangs[int(pid)], Between(truth * MS, (truth + 500) * MS))
            self.assertIn("[%s]" % pid, followed.errors)
        self.assertEqual(3, len({h["app"]["session"] for h in hangs.values()}))
        told = re.search(r": 3 hangs, ([\d.]+) s lost", followed.told[-1])
        self.assertAlmostEqual(sum(h["duration_ns"] for h in hangs.values()) / S, float(told.group(1)), delta=0.06)
        self.assertEqual([], followed.left_over(), "left over in the spool")

    def test_a_child_has_a_session_of_its_own(self):
        program = self.program([PYTHON, "-I", "-c", LATE], options=["--follow"])
        self.assertEqual(0, program.wait(), program.errors)
        whole, pid = program.output.split()
        with open(program.folder + "/lived", encoding="ascii") as file:
            lived_ns = float(file.read()) * S
        sessions = {report["app"]["pid"]: report for report in program.reports("session")}
        self.assertEqual(2, len(sessions), program.errors)
        child = sessions.pop(int(pid))
        (parent,) = sessions.values()
        for report in (child, parent):
            self.assert_valid(report)
        self.assertEqual("python3", child["app"]["name"])
        self.assertEqual("python3", parent["app"]["name"])
        self.assertLess(abs(child["session"]["used_ns"] - lived_ns), max(500 * MS, TOLERANCE_NS))
        self.assertLess(child["session"]["launch_ns"], lived_ns / 2)
        self.assertGreater(parent["session"]["used_ns"], 2.4 * S + float(whole) * S)
        self.assertGreater(child["app"]["started_at"], parent["app"]["started_at"])
        shown = subprocess.run([HANGDOG, "show", child["id"], "--spool", program.spool], env=environment(),
                               stdout=subprocess.PIPE, text=True, check=True).stdout
        ran = re.search(r" ran for (\d+\.\d) s: ", shown)
        self.assertIsNotNone(ran, shown)
        self.assertAlmostEqual(child["session"]["used_ns"] / S, float(ran[1]), delta=0.1)

    def test_children_of_one_number_are_told_apart(self):
        program = self.program([PYTHON, "-I", "-c", SPACES], options=["--follow"])
        if program.wait() == 77:
            self.skipTest("this machine gives nobody a namespace of processes")
        self.assertEqual(-signal.SIGKILL, program.process.returncode, program.errors)
        first = next(report for report in program.reports("session") if report["app"]["name"] == "python3")
        own = first["app"]["session"]
        of = {"hang": [], "fatal-hang": [], "session": []}
        for report in program.reports():
            of[report["kind"]].append(report["app"]["session"])
        self.assertEqual([own], of["fatal-hang"], program.errors)
        self.assertEqual(1, of["hang"].count(own))
        children = [session for session in of["hang"] if session != own]
        self.assertEqual(len(set(children)), len(children), "one of them had the record of another")
        self.assertEqual(3 if program.output == "True\n" else 2, len(children), program.errors)
        self.assertEqual(sorted([own, *children]), sorted(of["session"]), "each has ended, and is settled")
        self.assertEqual([], program.left_over(), "left over in the spool")

    def test_children_have_what_they_would_have(self):
        many = "for i in $(seq 300); do /bin/true; done; %s loop; echo $?" % BECOME
        pairs = [[self.program(argv, watched=watched, options=["--follow"]) for watched in (False, True)]
                 for argv in ([BECOME, "children"], [SHELL, "-c", many])]
        for plain, watched in pairs:
            self.assertEqual(plain.wait(), watched.wait(), watched.errors)
            self.assertEqual(plain.output.replace(plain.folder, watched.folder), watched.output)
        self.assertEqual(["sleep"], self.hangs(pairs[1][1]), "more children than there are records")

    def test_nginx_with_a_worker_whose_log_does_not_answer(self):
        folder = self.folder()
        behind, _ = self.stalling_disk(folder)
        os.mkdir(folder + "/root")
        port = free_port()
        with open(folder + "/nginx.conf", "w", encoding="ascii") as file:
            file.write(NGINX.format(folder=folder, port=port, user="user root;" if os.getuid() == 0 else ""))
        nginx = self.program(["/usr/sbin/nginx", "-p", folder, "-c", folder + "/nginx.conf", "-g", "daemon off;"],
                             options=["--follow"])
        address = "http://127.0.0.1:%d/" % port

        def request():
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(address, timeout=10) as answer:
                    return answer.read() == b"hello"
            return False

        wait_until(request, "nginx")
        time.sleep(10)  # idle, which is no hang
        for _ in range(60):
            self.assertTrue(request())
            time.sleep(0.05)
        with open(behind + "/stall", "w", encoding="ascii"):
            pass
        begin = time.monotonic_ns()
        late = threading.Thread(target=request)
        late.start()
        time.sleep(1.2)
        os.unlink(behind + "/stall")
        late.join()
        truth = time.monotonic_ns() - begin
        for _ in range(40):
            self.assertTrue(request())
            time.sleep(0.05)
        time.sleep(10)
        with open(folder + "/pid", encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGQUIT)
        self.assertEqual(0, nginx.wait(), nginx.errors)
        hangs = nginx.reports("hang")
        self.assertEqual(["disk"], [h["cause"]["kind"] for h in hangs], nginx.errors)
        self.assertEqual("nginx", hangs[0]["app"]["executable"])
        worker = [r["session"] for r in nginx.reports("session") if r["app"]["pid"] == hangs[0]["app"]["pid"]]
        self.assertEqual([1], [session["hangs"] for session in worker])
        self.assertGreater(worker[0]["idle_ns"], 13 * 1000 * MS, worker[0])  # known as its loop since it was in use
        self.assertGreater(worker[0]["turns"], 90, "one for each request")
        self.assertLess(800 * MS, hangs[0]["duration_ns"])
        self.assertGreater(truth + 100 * MS, hangs[0]["duration_ns"])


NGINX = """
pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
    access_log {folder}/mounted/access.log;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }}
}}
"""


# Nobody but root may open its files in /proc any more.
UNDUMPABLE = """
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
static int server(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(s, &(struct sockaddr){.sa_family = AF_UNIX}, 2) != 0 || listen(s, 1) != 0 ? -1 : s;
}
int main(void) {
    int fd = server();
    prctl(PR_SET_DUMPABLE, 0);
    for (int i = 0; i < 50; i++) {
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 50);
        if (i == 40) {
            usleep(800000);
        }
    }
    return 7;
}
"""


class Daemons(Case):
    """What daemons do to themselves: closing what they do not know, another root, no folder, another user."""

    def test_each_way(self):
        ways = ["closefrom", "close_range", "close-all", "nowhere"]
        ways += ["chroot", "chroot nobody closefrom"] if os.getuid() == 0 else []
        pairs = {way: [self.program([LEAVES, *way.split()], watched=watched) for watched in (False, True)]
                 for way in ways}
        for way, (plain, watched) in pairs.items():
            self.assertEqual(7, plain.wait(), plain.errors)
            self.assertEqual(7, watched.wait(), "%s: %s" % (way, watched.errors))
            self.assertEqual(plain.output, watched.output, way)
            self.assertRegex(watched.told[-1], ": 1 hang, ", way)
            if "nobody" not in way:  # another user may not write to the spool: only counted
                self.assertEqual(["sleep"], self.hangs(watched), "%s: %s" % (way, watched.errors))

    @unittest.skipIf(os.getuid() != 0 or not for_everybody(BUILD), "needs root, and a build that others may read")
    @unittest.skipIf(SANITIZER, "its runtime asks /proc too")
    def test_undumpable_first(self):
        folder = self.folder()
        os.chmod(folder, 0o777)
        undumpable = folder + "/undumpable"
        subprocess.run(["gcc", "-x", "c", "-", "-o", undumpable], input=UNDUMPABLE, text=True, check=True)
        every = [subprocess.Popen([HANGDOG, "run", "--spool", "%s/%d" % (folder, i), "--", undumpable],
                                  stderr=subprocess.PIPE, text=True, env=environment(), cwd="/", user=65534,
                                  extra_groups=[]) for i in range(6)]
        told = [process.communicate(timeout=60)[1] for process in every]
        self.assertEqual([7] * len(every), [process.returncode for process in every], told)
        named = [text for text in told if "  why  slept in " in text and re.search(r"\n  > main ", text)]
        # where there is too much to do, the program is not held up until the monitor has had a processor
        self.assertGreaterEqual(len(named), 4, told)

    def test_those_that_leave(self):
        beside = self.program(["/bin/sleep", "3"])  # ends while they go on, and has nothing to do with them
        pairs = {way: [self.program([LEAVES, way, "closefrom"], watched=watched) for watched in (False, True)]
                 for way in ("daemon", "double-fork")}
        followed = self.program([LEAVES, "double-fork", "closefrom"], options=["--follow"])
        for way, pair in pairs.items():
            for program in pair:
                self.assertEqual(0 if way == "daemon" else 3, program.wait(), program.errors)
            self.assertRegex(pair[1].told[0], r"^hangdog: process \d+ of leaves runs on unwatched; try: .*--follow", pair[1].errors)
            left = int(re.search(r"process (\d+)", pair[1].told[0]).group(1))
            self.assertEqual(pair[1].folder, os.readlink("/proc/%d/cwd" % left), way)
        self.assertEqual(3, followed.wait(), followed.errors)
        self.assertRegex(followed.errors, r"process \d+ of leaves still runs|1 of 1 child still runs \(\d+\)")
        self.assertEqual(0, beside.wait())
        self.assertEqual(1, len(beside.told), beside.errors)
        for way, pair in pairs.items():
            for program in pair:
                wait_until(lambda p=program: "end" in p.output, "the daemon's end")
            self.assertEqual(pair[0].output, pair[1].output)
        wait_until(lambda: "end" in followed.output, "the daemon's end")
        self.assertEqual(["sleep"], self.hangs(followed), followed.errors)


if __name__ == "__main__":
    main_side_by_side()
