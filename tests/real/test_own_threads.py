#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Our threads in a program that has one: libc goes on to treat it as single-threaded, which is what makes its system calls
# cheap; and where the program changes who it is, our threads change with it.

import contextlib
import os
import subprocess
import sys
import threading
import unittest

from support_run import HANGDOG, SANITIZER, Program, RealCase, environment, main

PYTHON = "/usr/bin/python3"

HEAD = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
def single():
    return ctypes.c_char.in_dll(libc, "__libc_single_threaded").value != b"\\0"
def identities(pid):
    found = set()
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, task)) as status:
            found.add("".join(line for line in status if line.split(":")[0] in ("Uid", "Gid", "Groups")))
    return sorted(found)
"""

SINGLE = HEAD + """
print(single())
if os.fork() == 0:
    print("child", single(), flush=True)
    os._exit(0)
os.wait()
print(single(), flush=True)
threading.Thread(target=lambda: print("thread", single(), flush=True)).start()
"""

# Each change, and who the threads are after it: one answer, however many threads there are.
IDENTITIES = HEAD + """
def change(what, *args):
    what(*args)
    print(what.__name__, args, identities(os.getpid()), flush=True)
if os.fork() == 0:  # of a child, in which none of ours is
    change(os.setresgid, 7, 7, 7)
    change(os.setuid, 1234)
    os._exit(0)
os.wait()
print(identities(os.getpid()))
change(os.setgroups, [11, 12])
change(os.setegid, 5)
change(os.setregid, 6, 7)
change(os.setresgid, 7, 7, 0)
change(os.setgid, 7)
change(os.seteuid, 1)
change(os.seteuid, 0)
change(os.setreuid, 0, 2)
change(os.seteuid, 0)
change(os.setresuid, 3, 0, 0)
print(single())
change(os.initgroups, "root", 13)  # a name service may make threads in it: libc is left to think so
change(os.setuid, 4)
"""


# The kernel tells of the capabilities behind the groups.
GROUPS = HEAD + """
os.setgroups(range(100000, 100900))
before = os.listdir("/proc/self/task")
os.setuid(0)
print(len(before), before == os.listdir("/proc/self/task"))
"""


# A report is being written to a disk that stopped to answer. The truth: how long each call took, in tenths of a second.
STUCK = HEAD + """
import select, sys, time
import socket; r = socket.socketpair()
def ticks(n):
    for _ in range(n):
        select.select(r, [], [], 0.05)
ticks(30)
open(sys.argv[1], "w").close()
time.sleep(0.7)
ticks(5)
for change, user in ((os.setuid, 0), (os.seteuid, 0), (os.setuid, 1234)):
    begin = time.monotonic()
    change(user)
    print(int(10 * (time.monotonic() - begin)), end=" ", flush=True)
    ticks(5)
print("changed", flush=True)
sys.stdin.read()
for _ in range(100):
    if len(identities(os.getpid())) == 1:
        break
    ticks(2)
print(identities(os.getpid()))
"""


class OwnThreads(RealCase):
    def outputs(self, script):
        pair = []
        for watched in (False, True):
            program = Program([PYTHON, "-c", script], watched=watched)
            self.addCleanup(program.close)
            self.assertEqual(0, program.wait(), program.errors)
            pair.append(program.output)
        return pair

    def test_libc_knows_of_one_thread_until_the_program_makes_another(self):
        plain, watched = self.outputs(SINGLE)
        self.assertIn("thread False", plain)
        self.assertEqual(plain, watched)

    @unittest.skipUnless(os.geteuid() == 0, "only root can change who it is")
    def test_our_threads_become_whom_the_program_becomes(self):
        plain, watched = self.outputs(IDENTITIES)
        self.assertIn("setuid (4,) ['Uid:\\t4\\t4\\t4\\t4", plain)
        self.assertEqual(plain, watched)

    @unittest.skipUnless(os.geteuid() == 0, "only root can change who it is")
    @unittest.skipIf(SANITIZER == "thread", "the sanitizer's runtime has a thread of its own, which keeps its ids")
    def test_a_worker_at_a_disk_that_does_not_answer_is_not_waited_for(self):
        folder = self.folder()
        behind, mounted = self.stalling_disk(folder)
        os.mkdir(behind + "/spool")
        os.chmod(folder, 0o755)
        command = [HANGDOG, "run", "--spool", mounted + "/spool", "--loop", "python3", "--", PYTHON, "-c", STUCK,
                   behind + "/stall"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment()) as run:
            late = threading.Timer(30, lambda: os.path.exists(behind + "/stall") and os.unlink(behind + "/stall"))
            late.start()  # whatever comes, the disk answers at last
            line = run.stdout.readline()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(behind + "/stall")
            output, errors = run.communicate(timeout=60)
            late.cancel()
        self.assertRegex(line, r"^([1-4]?\d ){3}changed$", errors)  # less than 5 s each
        self.assertRegex(output, r"^\['Uid:\\t1234\\t1234\\t1234\\t1234[^']*'\]$")

    @unittest.skipUnless(os.geteuid() == 0, "only root can change who it is")
    def test_our_threads_stay_where_nothing_changes_for_them(self):
        plain, watched = self.outputs(GROUPS)
        self.assertEqual("1 True\n", plain)
        self.assertRegex(watched, "^[34] True$")  # a sanitizer's runtime may have one too


if __name__ == "__main__":
    if not os.access(PYTHON, os.X_OK):
        print(PYTHON + " is not installed")
        sys.exit(77)
    main()
