# SPDX-License-Identifier: MIT
"""What hangdog run must not do to a program: keep it from its start, stay when it has ended, stall its calls, end it."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest

from support_side_by_side import PYTHON, loop
from support_run import HANGDOG, PATIENCE, environment, full_pipe, main_side_by_side

# Waits are given what is no memory, and what lies partly in it. (glibc itself reads the times of ppoll and select.)
NO_MEMORY = """
import ctypes, errno, mmap
c = ctypes.CDLL(None, use_errno=True)
c.mmap.restype = ctypes.c_void_p
page = c.mmap(None, 8192, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
c.munmap(ctypes.c_void_p(page + 4096), 4096)
none, edge, zero = ctypes.c_void_p(page + 4096), ctypes.c_void_p(page + 4096 - 8), ctypes.byref((ctypes.c_long * 2)())
ep = c.epoll_create1(0)
for name, *arguments in (("poll", none, 1, 0), ("poll", none, 1, 10), ("poll", edge, 2, 10), ("ppoll", none, 1, zero, None),
                         ("ppoll", None, 0, zero, none), ("select", 1, none, None, None, zero),
                         ("select", 64, None, none, None, zero), ("pselect", 1, None, None, none, zero, None),
                         ("epoll_pwait2", ep, page, 1, none, None), ("epoll_pwait", ep, page, 1, 0, none)):
    ctypes.set_errno(0)
    argv = [ctypes.c_void_p(a) if a == page else a for a in arguments]
    print(name, getattr(c, name)(*argv), errno.errorcode.get(ctypes.get_errno()))
"""


class Harmless(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_it(self, *argv, before=(), **more):
        return subprocess.run([*before, HANGDOG, "run", *argv], cwd=self.folder, env=environment({"XDG_RUNTIME_DIR": self.folder}), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False, **more)

    def assert_shown(self, done, why):
        """One line of the spool, the report, and none of what is not there."""
        self.assertEqual(5, done.returncode, done.stderr)
        self.assertRegex(done.stderr, r"\Ahangdog: cannot write reports to '[^\n]*': %s; [^\n]*; this run's reports are shown and "
                                      r"not kept\n" % why)
        self.assertEqual(1, done.stderr.count("cannot write"), done.stderr)
        self.assertEqual(1, done.stderr.count("hang of "), done.stderr)
        self.assertNotIn("hangdog show", done.stderr)

    def test_a_spool_that_cannot_be_written(self):
        thread = "execimport threading; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
        done = self.run_it("--spool", "/proc/nope", "--loop", "python3", "--", *loop(thread, "serves", 1.6, "hang1.2", 1, "execsys.exit(5)"))
        self.assert_shown(done, "No such file or directory")
        self.assertEqual([], os.listdir(self.folder))

    def test_a_spool_that_cannot_be_written_without_a_runner(self):
        done = self.run_it("--exec", "--spool", "/proc/nope", "--", "/bin/sh", "-c", "exit 5")
        self.assertEqual(5, done.returncode, done.stderr)
        self.assertRegex(done.stderr, r"\Ahangdog: cannot write reports to '/proc/nope': [^\n]*; this run's reports go to '[^\n]+'\n\Z")
        self.assertIn(self.folder + "/hangdog-", done.stderr)

    def test_a_full_disk(self):
        script = "mkdir spool && mount -t tmpfs -o size=64k none spool && cat /dev/zero >spool/zeros 2>/dev/null; exec \"$@\""
        before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        if subprocess.run([*before, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode != 0:
            self.skipTest("a user namespace, in which a disk can be mounted, is not allowed here")
        done = self.run_it("--spool", "spool", "--loop", "python3", "--", *loop("serves", 1.6, "hang1.2", 1, "execsys.exit(5)"),
                           before=[*before, script, "sh"])
        self.assert_shown(done, "No space left on device")

    def test_a_pipe_that_nobody_reads(self):
        """Of a hang, and of the last line."""
        ours, its = full_pipe()
        runs = [subprocess.Popen([HANGDOG, "run", "--spool", "spool", "--", *argv], cwd=self.folder,  # pylint: disable=consider-using-with
                                 env=environment(), stdin=subprocess.DEVNULL, stderr=its)
                for argv in (["/bin/sh", "-c", "exit 3"], loop("serves", 1.6, "hang1.2", 0.5, "execsys.exit(3)"))]
        for run in runs:
            self.addCleanup(run.wait)
            self.addCleanup(run.kill)
        begun = time.monotonic()
        self.assertEqual([3, 3], [run.wait(40) for run in runs])
        self.assertLess(time.monotonic() - begun, 35)
        os.close(ours)
        os.close(its)

    def test_a_child_that_does_not_wait_starts_no_thread(self):
        """It costs its start little."""
        done = self.run_it("--follow", "--spool", "spool", "--", "/bin/sh", "-c", "/bin/grep Threads: /proc/self/status; exit 5")
        self.assertEqual((5, ["Threads:", "1"]), (done.returncode, done.stdout.split()), done.stderr)

    def test_what_is_no_memory_is_the_kernels_to_refuse(self):
        alone = subprocess.run([PYTHON, "-I", "-c", NO_MEMORY], capture_output=True, text=True, timeout=PATIENCE, check=False)
        watched = self.run_it("--spool", "spool", "--", PYTHON, "-I", "-c", NO_MEMORY)
        self.assertEqual((0, alone.stdout), (watched.returncode, watched.stdout), watched.stderr)
        self.assertIn("poll -1 EFAULT", alone.stdout)


if __name__ == "__main__":
    main_side_by_side()
