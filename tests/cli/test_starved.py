# SPDX-License-Identifier: MIT
"""Causes on a machine with too much to do: a thread that sleeps is not starved, one that computes is."""

import glob
import json
import os
import subprocess
import tempfile
import time
import unittest

from support_run import BUILD, HANGDOG, environment, main

LIBRARY_HANG = os.path.join(BUILD, "tests/programs/library-hang")
CPU = str(min(os.sched_getaffinity(0)))
LOOP = """
import os, select, time
e = select.epoll()
e.register(os.pipe()[0])
def wait(): [e.poll(0.05) for _ in range(20)]
wait()
%s
wait()
"""
SLEEP = "time.sleep(2)"
SPIN = "end = time.monotonic() + 2\nwhile time.monotonic() < end: pass"


def hangs_in(spool):
    reports = []
    for name in glob.glob(os.path.join(spool, "*.json")):
        with open(name, encoding="utf-8") as file:
            reports.append(json.load(file))
    return [report for report in reports if report["kind"] == "hang"]


class Starved(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(self.folder.cleanup)

    def load(self, count):
        for _ in range(count):
            hog = subprocess.Popen(["taskset", "-c", CPU, "/bin/sh", "-c", "while :; do :; done"])
            self.addCleanup(hog.wait)
            self.addCleanup(hog.kill)

    def hangs_of(self, programs):
        """The one hang of each of these programs, which run at the same time; each has a spool as its first word."""
        started = []
        for number, (argv, head) in enumerate(programs):
            spool = os.path.join(self.folder.name, str(number))
            argv = [spool if word == "SPOOL" else word for word in argv]
            # pylint: disable=consider-using-with
            started.append((spool, subprocess.Popen(head + argv, env=environment(), stdout=subprocess.DEVNULL,
                                                    stderr=subprocess.DEVNULL)))
        for spool, process in started:
            process.wait(timeout=120)
            hangs = [hang for hang in hangs_in(spool) if hang["duration_ns"] > 1.5e9]
            self.assertEqual(1, len(hangs), spool)
            self.assertLessEqual(hangs[0]["cause"].get("run_delay_ns", 0), hangs[0]["duration_ns"])
            yield hangs[0]

    def programs(self, kind, head, count):
        code = LOOP % {"sleep": SLEEP, "spin": SPIN}[kind]
        run = [HANGDOG, "run", "--spool", "SPOOL", "--", "/usr/bin/python3", "-I", "-c", code]
        return [(argv, head) for argv in ([LIBRARY_HANG, "SPOOL", kind], run) for _ in range(count)]

    def test_a_sleep_on_a_loaded_machine_is_a_sleep(self):
        self.load(3)
        for hang in self.hangs_of(self.programs("sleep", ["taskset", "-c", CPU], 4)):
            late_ns = max(0, hang["duration_ns"] - 2e9)
            self.assertEqual("sleep", hang["cause"]["kind"], hang["cause"])
            self.assertLessEqual(hang["cause"].get("run_delay_ns", 0), late_ns + 250e6, hang["cause"])

    def test_who_computes_on_a_loaded_cpu_is_starved(self):
        self.load(4)
        for hang in self.hangs_of(self.programs("spin", ["taskset", "-c", CPU], 1)):
            self.assertEqual("starved", hang["cause"]["kind"], hang["cause"])
            self.assertGreater(hang["cause"]["run_delay_ns"], hang["duration_ns"] / 2)

    def make_group(self):
        """A control group with a fifth of a CPU: its file of processes, or None."""
        folder = os.path.join("/sys/fs/cgroup", "cpu" if os.path.isdir("/sys/fs/cgroup/cpu") else "")
        group = os.path.join(folder, "hangdog-test-%d" % os.getpid())
        quota = "cpu.cfs_quota_us" if folder.endswith("cpu") else "cpu.max"
        try:
            os.mkdir(group)
            self.addCleanup(os.rmdir, group)
            with open(os.path.join(group, quota), "w", encoding="ascii") as file:
                file.write("20000" if quota.startswith("cpu.cfs") else "20000 100000")
        except OSError as error:
            self.skipTest("no control group of our own with a quota: %s" % error)
        return os.path.join(group, "cgroup.procs")

    def test_who_is_throttled_is_starved_by_the_quota(self):
        procs = self.make_group()
        head = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', procs]
        for hang in self.hangs_of([self.programs("spin", head, 1)[0]]):
            cause = hang["cause"]
            self.assertEqual("starved", cause["kind"], cause)
            self.assertGreater(cause.get("throttled_ns", 0), hang["duration_ns"] / 2, cause)
            self.assertLessEqual(cause["throttled_ns"], hang["duration_ns"])
        time.sleep(0.2)  # the kernel is done with the group's last process


if __name__ == "__main__":
    main()
