#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs that attack their watcher (tests/real/attached/attacker.c), and programs that die while `hangdog attach` begins. The
# watcher ends well, its terminal gets text alone, and it writes to no file but those of its spool. HANGDOG_ATTACK_SECONDS: how
# long each attack lasts.

import contextlib
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from support_attached import HERE, Attach
from support_run import HANGDOG, PATIENCE, environment, main_side_by_side, state_of, wait_until

SECONDS = os.environ.get("HANGDOG_ATTACK_SECONDS", "3")
HOOK = ["--hook", os.environ["HANGDOG_HOOK"]] if "HANGDOG_HOOK" in os.environ else []
KINDS = ("rename", "exec", "fork", "threads", "unmap", "frames", "garbage", "any")
FOLDER = tempfile.mkdtemp(prefix="hangdog-test-")
CROWD = """
import sys, threading
threading.stack_size(65536)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(4000):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("made", flush=True)
sys.stdin.readline()
"""
PIDS = threading.Lock()  # a test needs to know the next process number


class Attacks(unittest.TestCase):
    maxDiff = None

    def start(self, *argv, **more):
        folder = tempfile.mkdtemp(dir=FOLDER)
        # pylint: disable=consider-using-with
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment(), **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(b"ready\n", process.stdout.readline())
        return process

    def attach(self, pid, *options):
        watch = Attach([pid], "--threshold", "150ms", *HOOK, *options)
        self.addCleanup(watch.close)
        return watch

    def assert_ended_well(self, watch, statuses=(0,)):
        status = watch.end()
        self.assertIn(status, statuses, watch.text)
        self.assertNotIn("Sanitizer", watch.text)
        text = re.sub(r"\033\[[0-9;]*[mK]", "", watch.text).replace("\r\n", "\n").replace("\n\r", "\n")  # the summary takes the place of ^C
        self.assertEqual([], re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), repr(text))
        for report in watch.reports():
            self.assertIn(report["kind"], ("hang", "fatal-hang", "session", "slow-launch"))

    def attack(self, kind):
        process = self.start(os.path.join(FOLDER, "attacker"), kind, SECONDS)
        watch = self.attach(process.pid)
        self.assertEqual(7, process.wait(PATIENCE + float(SECONDS)))
        with contextlib.suppress(subprocess.TimeoutExpired):
            watch.process.wait(5)
        self.assert_ended_well(watch)

    def test_dies_at_each_moment(self):
        chance = random.Random(1)
        for _ in range(12):
            process = self.start(os.path.join(FOLDER, "epoll"), "5")
            watch = self.attach(process.pid)
            time.sleep(chance.uniform(0, 0.25))
            process.kill()
            process.wait()
            watch.process.wait(PATIENCE)
            self.assert_ended_well(watch, range(128))

    def test_the_watcher_dies_at_each_moment(self):
        process = self.start(os.path.join(FOLDER, "epoll"), "5")
        chance = random.Random(2)
        for _ in range(8):
            watch = self.attach(process.pid)
            time.sleep(chance.uniform(0, 0.4))
            watch.process.kill()
            watch.process.wait()
            watch.close()
        self.assertIn(state_of(process.pid), ("S", "R"))
        process.stdin.write(b"block 1\n")
        process.stdin.flush()
        self.assertTrue(process.stdout.readline().startswith(b"stall block"))

    def test_odd_names(self):
        """A path of nearly 4 KiB with control characters."""
        folder = tempfile.mkdtemp(dir=FOLDER)
        at = os.open(folder, os.O_RDONLY)
        path = folder
        while len(path) < 3600:
            name = ("\033[2J\n\u0085" + "%d" % len(path) * 60)[:240]
            os.mkdir(name, dir_fd=at)
            further = os.open(name, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at, path = further, path + "/" + name
        with open(os.path.join(FOLDER, "epoll"), "rb") as source:
            fd = os.open("a\nb\033]0;x\a", os.O_WRONLY | os.O_CREAT, 0o700, dir_fd=at)
            os.write(fd, source.read())
            os.close(fd)
        process = self.start("./a\nb\033]0;x\a", "5", preexec_fn=lambda: os.fchdir(at))
        os.close(at)
        watch = self.attach(process.pid)
        watch.wait_for("attached to")
        time.sleep(1)
        process.stdin.write(b"block 500\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.5)
        process.kill()
        process.wait()
        watch.process.wait(PATIENCE)
        self.assert_ended_well(watch)

    def test_number_used_again(self):
        """A process that ends, and at once another one with its number: the watcher leaves."""
        last = "/proc/sys/kernel/ns_last_pid"
        if not os.access(last, os.W_OK):
            self.skipTest("the next process number cannot be chosen here")
        process = self.start(os.path.join(FOLDER, "epoll"), "5")
        watch = self.attach(process.pid)
        watch.wait_for("attached to")
        pid = process.pid
        other = None
        for _ in range(50):
            process.kill()
            process.wait()
            with open(last, "w", encoding="ascii") as file:
                file.write(str(pid - 1))
            other = self.start(os.path.join(FOLDER, "epoll"), "5")
            if other.pid == pid:
                break
            other.kill()
        if other.pid != pid:
            self.skipTest("another process was faster each time")
        other.stdin.write(b"block 600\n")
        other.stdin.flush()
        wait_until(lambda: watch.process.poll() is not None, "the end of the watch", 10)
        self.assert_ended_well(watch)
        self.assertEqual([], watch.reports("hang"))

    def test_takes_the_places_of_all_others(self):
        """A program with more threads than there is room for: another one is still watched, and the summary has the count."""
        if HOOK and HOOK[1] not in ("switches", "fentry"):
            self.skipTest("the other ways have a place for each thread")
        crowd = self.start("/usr/bin/python3", "-c", CROWD)
        process = self.start(os.path.join(FOLDER, "epoll"), "5")
        watch = Attach([crowd.pid, process.pid], "--threshold", "150ms", *HOOK)
        self.addCleanup(watch.close)
        watch.wait_for("attached to")
        crowd.stdin.write(b"go\n")
        crowd.stdin.flush()
        crowd.stdout.readline()
        watch.wait_for("threads are not watched")
        process.stdin.write(b"block 1500\n")
        process.stdin.flush()
        wait_until(lambda: watch.reports("hang"), "the report of the other program", 10)
        self.assert_ended_well(watch)
        self.assertRegex(re.sub(r"\s+", " ", watch.text), r"\d+ threads were not watched: one user cannot take the room of all others")

    def test_writes_to_its_spool_alone(self):
        if subprocess.run(["strace", "-o", "/dev/null", "/bin/true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("programs may not be traced here")
        process = self.start(os.path.join(FOLDER, "attacker"), "garbage", "2")
        spool, log = tempfile.mkdtemp(dir=FOLDER), os.path.join(FOLDER, "files")
        done = subprocess.run(["strace", "-f", "-y", "-e", "trace=%file,kill,tgkill,ptrace,process_vm_writev", "-o", log, HANGDOG,
                               "attach", "--spool", spool, "-t", "150ms", *HOOK, str(process.pid)], env=environment(),
                              capture_output=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        writes = r"O_CREAT|O_WRONLY|O_RDWR|\b(mkdir|unlink|rename|link|symlink|chmod|chown|truncate)\w*\("
        self.assertEqual([], [line for line in lines if re.search(writes, line) and not re.search(
            "%s|\"/dev/|/proc/self/oom_score_adj| E(NOENT|EXIST) " % spool, line)])
        self.assertEqual([], [line for line in lines if re.search(r"\b(kill|tgkill|ptrace|process_vm_writev)\(%d\b" % process.pid, line)])


for each in KINDS:
    setattr(Attacks, "test_" + each, lambda self, kind=each: self.attack(kind))


if __name__ == "__main__":
    if not shutil.which("gcc"):
        print("no gcc to build the programs with: scripts/install-dependencies test")
        raise SystemExit(77)
    for program in ("attacker", "epoll"):
        subprocess.run(["gcc", "-g", "-O1", "-pthread", os.path.join(HERE, program + ".c"), "-o", os.path.join(FOLDER, program)],
                       check=True)
    try:
        main_side_by_side()
    finally:
        shutil.rmtree(FOLDER)
