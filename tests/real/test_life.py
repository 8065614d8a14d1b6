#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What a watched program does to itself is done as without us: filters of system calls, namespaces, exec, children,
# privileges. Programs run side by side, each plain and under `hangdog run`.

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_run import HANGDOG, MS, SANITIZER, Program, RealCase, environment, free_port, wait_until

PROGRAMS = os.path.join(os.environ["HANGDOG_BUILD"], "tests", "programs")
BECOME = os.path.join(PROGRAMS, "become")
FILTERED = os.path.join(PROGRAMS, "filtered")
SHELL = "/bin/sh"
PYTHON = "/usr/bin/python3"
NO_LONGER = r"it could no longer be watched: a seccomp filter is on all its threads"
OWN_CALLS = "the sanitizer's runtime makes system calls of its own, which these filters end"


class Case(RealCase):
    def program(self, *args, **kwargs):
        program = Program(*args, **kwargs)
        self.addCleanup(program.close)
        return program

    def folder(self):
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def hangs(self, program):
        """The causes of its hangs, in order."""
        reports = program.reports("hang", "launch")
        for report in reports:
            self.assert_valid(report)
        return [report["cause"]["kind"] for report in reports]


@unittest.skipIf(SANITIZER, OWN_CALLS)
class Filters(Case):
    """A filter that kills for nearly every call: its program lives on, and where it is on one thread only, is watched."""

    def test_a_program_under_a_filter_that_kills(self):
        ways = {"prctl": 2, "prctl-by-number": 2, "seccomp": 2, "tsync": 0, "asks": 2}
        every = {way: self.program([FILTERED, way]) for way in ways}
        every["child"] = self.program([FILTERED, "prctl", "in-a-child"])
        for way, program in every.items():
            self.assertEqual(7, program.wait(), "%s: %s" % (way, program.errors))
            self.assertRegex(program.output, r"^(child 1536\n)?busy 1\d{3}\nsleep 1\d{3}\n$")
            if ways.get(way, 2) == 0:
                self.assertRegex(program.told[-1], NO_LONGER)
                self.assertEqual([], self.hangs(program))
                continue
            causes = self.hangs(program)
            self.assertEqual(2, len(causes), "%s: %s" % (way, program.errors))
            self.assertIn(causes[0], ("cpu", "starved"))
            self.assertEqual("sleep", causes[1])
        signals = {way: every[way].reports("hang")[0]["samples"]["taken"] for way in ("prctl", "asks")}
        self.assertEqual(0, every["prctl"].reports("hang")[0]["monitor"]["pause_max_ns"], "a signal was sent")
        self.assertGreater(signals["asks"], 0)

    def test_a_filter_that_was_there_before(self):
        folder = self.folder()
        runs = {kind: subprocess.Popen([FILTERED, "launch", kind, HANGDOG, "run", "--spool", folder + "/" + kind, "--",
                                        FILTERED, "asks"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=environment()) for kind in ("deadly", "harmless")}
        told = {}
        for kind, process in runs.items():
            output, told[kind] = process.communicate(timeout=60)
            self.assertEqual(7, process.returncode, told[kind])
            self.assertRegex(output, r"^busy 1\d{3}\nsleep 1\d{3}\n$")
        self.assertRegex(told["deadly"], "it could not be watched: a seccomp filter is on all its threads")
        self.assertRegex(told["harmless"], "; 2 hangs, ")

    def test_chronyd_with_its_filter(self):
        every = []
        for watched in (False, True):
            folder = self.folder()
            config = os.path.join(folder, "chrony.conf")
            with open(config, "w", encoding="ascii") as file:
                file.write("port %d\ncmdport 0\nbindcmdaddress /\nlocal\nallow 127.0.0.1\nbindaddress 127.0.0.1\n"
                           "pidfile %s/pid\n" % (free_port(), folder))
            every.append(self.program(["/usr/sbin/chronyd", "-d", "-x", "-F", "1", "-u", "root", "-f", config],
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
r, w = os.pipe()
def ticks(n):
    for _ in range(n):
        select.select([r], [], [], 0.05)
ticks(8)
call = {call}
print(call, ctypes.get_errno(), len(os.listdir("/proc/self/task")) if call == 0 else 0)
ticks(60)
time.sleep(1)
ticks(20)
"""


class Namespaces(Case):
    """A process with a second thread may not have a new user namespace: ours are none."""

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


FORMS = ("execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat")


class Exec(Case):
    """A process that becomes another program is followed; what it and its children see is their own."""

    def alike(self, argv, env=None):
        """The watched one of two that must be alike."""
        plain, watched = [self.program(argv, watched=watched, env=env) for watched in (False, True)]
        self.assertEqual(plain.wait(), watched.wait(), watched.errors)
        return plain, watched

    def test_every_form_passes_on_what_it_was_given(self):
        env = {"PATH": PROGRAMS + ":/usr/bin:/bin", "LD_PRELOAD": "libm.so.6"}
        if SANITIZER:
            env["LD_PRELOAD"] = os.environ["HANGDOG_SANITIZER_RUNTIME"]
        pairs = [[self.program([BECOME, form], watched=watched, env=env) for watched in (False, True)]
                 for form in (*FORMS, "children")]
        for plain, watched in pairs:
            self.assertEqual(0, plain.wait(), plain.errors)
            self.assertEqual(0, watched.wait(), watched.errors)
            self.assertEqual(plain.output.replace(plain.folder, watched.folder),  # PWD, where a shell sets it
                             watched.output, watched.process.args)
            self.assertRegex(watched.told[-1], "; no event loop was seen$")

    def test_a_wrapper_is_followed_to_the_program(self):
        loop = "exec %s loop" % BECOME
        every = {"sh": [SHELL, "-c", loop], "env": [SHELL, "-c", "exec env -i nice %s loop" % BECOME],
                 "python": [PYTHON, "-c", "import os; os.execlp('%s', 'become', 'loop')" % BECOME],
                 "unshare": ["/usr/bin/unshare", "-m", BECOME, "loop"],
                 "setpriv": ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups", BECOME, "loop"]}
        if os.getuid() != 0:
            del every["unshare"], every["setpriv"]
        if SANITIZER:
            del every["env"]  # its library is needed first, and is not inherited
        runs = {name: self.program(argv) for name, argv in every.items()}
        for name, program in runs.items():
            self.assertEqual(7, program.wait(), "%s: %s" % (name, program.errors))
            if name != "setpriv":  # another user may not write to the spool: only counted
                self.assertEqual(["sleep"], self.hangs(program), "%s: %s" % (name, program.errors))
            self.assertRegex(program.told[-1], "; 1 hang, ")

    def test_exec_in_mid_hang_leaves_nothing_open(self):
        program = self.program([BECOME, "hang"])
        self.assertEqual(7, program.wait(), program.errors)
        hangs = program.reports("hang")
        self.assertEqual(["sleep"], [h["cause"]["kind"] for h in hangs[1:]])
        self.assertIn(hangs[0]["cause"]["kind"], ("cpu", "starved"))
        self.assertTrue(all(h["complete"] for h in hangs))
        self.assertRegex(program.told[-1], "; 2 hangs, ")
        self.assertEqual(2, len(program.reports("session")))
        self.assertNotEqual(*[h["app"]["session"] for h in hangs])
        self.assertEqual([], [n for n in program.names() if n.startswith(".")], "left over in the spool")
        self.assert_duration(hangs[1], 1200 * MS)
        self.assertLess(800 * MS, hangs[0]["duration_ns"], "as old as the last look before exec")
        self.assertGreater(1300 * MS, hangs[0]["duration_ns"])

    def test_what_cannot_be_followed_is_said(self):
        program = self.program([SHELL, "-c", "exec /sbin/ldconfig -V"])
        self.assertEqual(0, program.wait())
        self.assertRegex(program.output, "^ldconfig ")
        self.assertRegex(program.told[-1], "it became another program, which could not be watched")


if __name__ == "__main__":
    unittest.main(verbosity=2)
