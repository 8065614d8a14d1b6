# SPDX-License-Identifier: MIT
"""Causes on a machine with too much to do: a thread that sleeps is not starved, one that computes is."""

import glob
import json
import os
import subprocess
import tempfile
import time
import unittest

from support_run import BUILD, HANGDOG, SANITIZER, environment, main

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

    def make_group(self, controller, files):
        """A control group with one of these limits, by the file of it that exists: its file of processes."""
        folder = os.path.join("/sys/fs/cgroup", controller if os.path.isdir("/sys/fs/cgroup/" + controller) else "")
        group = os.path.join(folder, "hangdog-test-%d" % os.getpid())
        try:
            os.mkdir(group)
            self.addCleanup(os.rmdir, group)
            name = next((name for name in files if os.path.exists(os.path.join(group, name))), None)
            if name is None:
                self.skipTest("no control group of our own has the controller " + controller)
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(files[name])
        except OSError as error:
            self.skipTest("no control group of our own with a limit: %s" % error)
        return os.path.join(group, "cgroup.procs")

    @unittest.skipIf(SANITIZER, "their runtimes need more memory than the limit")
    def test_a_group_at_its_memory_limit_is_shown(self):
        """A mapped file of four times the limit, read again and again."""
        procs = self.make_group("memory", {"memory.limit_in_bytes": "50331648", "memory.max": "50331648"})
        big = os.path.join(self.folder.name, "big")
        with open(big, "wb") as file:
            file.truncate(192 << 20)
        code = LOOP % ("import mmap\nm = mmap.mmap(os.open(%r, os.O_RDONLY), 0, prot=mmap.PROT_READ)\n"
                       "end = time.monotonic() + 2\n"
                       "while time.monotonic() < end: m.find(b'x')" % big)
        run = [HANGDOG, "run", "--spool", "SPOOL", "--", "/usr/bin/python3", "-I", "-c", code]
        head = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', procs]
        for hang in self.hangs_of([(run, head)]):
            cause = hang["cause"]
            self.assertEqual(50331648, cause["memory_limit_bytes"], cause)
            self.assertGreater(cause["memory_used_bytes"], 0.95 * 50331648, cause)
        shown = subprocess.run([HANGDOG, "show", "--spool", os.path.join(self.folder.name, "0")], env=environment(), text=True,
                               capture_output=True, timeout=60, check=True).stdout
        self.assertRegex(shown, r"\n  and  its control group used 4\d\.\d MiB of its memory limit of 48\.0 MiB\n")
        time.sleep(0.2)  # the kernel is done with the group's last process

    def test_who_is_throttled_is_starved_by_the_quota(self):
        procs = self.make_group("cpu", {"cpu.cfs_quota_us": "20000", "cpu.max": "20000 100000"})
        head = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', procs]
        for hang in self.hangs_of([self.programs("spin", head, 1)[0]]):
            cause = hang["cause"]
            self.assertEqual("starved", cause["kind"], cause)
            self.assertGreater(cause.get("throttled_ns", 0), hang["duration_ns"] / 2, cause)
            self.assertRegex(cause["detail"], r"\(CPU quota\)(; ran on a CPU for \d\d%)?$")
            self.assertLessEqual(cause["throttled_ns"], hang["duration_ns"])
        time.sleep(0.2)  # the kernel is done with the group's last process


if __name__ == "__main__":
    main()
