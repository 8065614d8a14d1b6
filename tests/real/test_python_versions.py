#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Python functions of unmodified programs, without any option: each version from 3.8 to 3.14 that is installed here.

The truth is the stack that the interpreter itself gives just before each hang. `scripts/install-pythons` puts versions of
Debian's other releases below build/python; pyenv's are taken, too.
"""
import datetime
import glob
import json
import os
import subprocess
import time
import typing
import unittest

from support_run import (HANGDOG, PATIENCE, SANITIZER, SOURCE, Program, RealCase, Together, environment, main,
                         runs_under_sanitizer, undisturbed, wait_until)

SCRIPT = os.path.join(SOURCE, "tests/real/support_python_versions.py")
COLUMNS = {"child": "child", "read": "I/O", "computes": "computing", "extension": "C code", "lock": "lock"}
AT_ONCE = 4  # each needs a CPU for one of its seven seconds
KINDS = [*COLUMNS, "method", "generator", "coroutine", "tall", "gil", "collects"]
PLACES = ["/usr/bin/python3", "build/python/*/bin/python3.?*", "~/.pyenv/versions/3.*/bin/python3"]
ASK = "import sys; print(*sys.version_info[:3], getattr(sys, '_is_gil_enabled', lambda: True)())"


def pythons():
    """A Python of each minor version that is here, by its version."""
    found = {}
    for place in PLACES:
        for path in sorted(glob.glob(os.path.join(SOURCE, os.path.expanduser(place)))):
            done = subprocess.run([path, "-I", "-c", ASK], text=True, check=False, stdout=subprocess.PIPE)
            *version, gil = done.stdout.split() or ["0", "False"]
            version = tuple(map(int, version))
            if (3, 8) <= version < (3, 15) and gil == "True":
                found.setdefault(version[:2], (version, path))
    return {".".join(map(str, version)): path for version, path in sorted(found.values())}


def run(path):
    program = Program([path, "-I", SCRIPT], options=["--threshold", "200"])
    assert program.pid
    while program.process.poll() is None:
        program.starved_ns = program.delay_ns()
        time.sleep(0.2)
    program.status = program.wait()
    return program


def dump(path):
    """A program that hangs, and what `hangdog dump` says of it."""
    program = Program([path, "-I", SCRIPT, "once"], watched=False)
    wait_until(lambda: program.output.endswith("\n"), "the stack of the program's own")
    wait_until(lambda: child_sleeps(program.pid), "its child")
    done = subprocess.run([HANGDOG, "dump", "--json", str(program.pid)], check=True, text=True, stdout=subprocess.PIPE,
                          env=environment(), timeout=PATIENCE)
    program.live, program.truth = json.loads(done.stdout), json.loads(program.output)
    program.close()
    return program


def child_sleeps(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as children:
        pids = children.read().split()
    with open("/proc/%d/wchan" % pid, encoding="ascii") as where:
        return pids and "wait" in where.read()


class PythonVersions(RealCase):
    @classmethod
    def setUpClass(cls):
        cls.versions = pythons()
        if SANITIZER:
            cls.versions = dict(list(cls.versions.items())[-2:])
        why = runs_under_sanitizer([next(iter(cls.versions.values())), "-I", "-c", "import asyncio"])
        if why:
            raise unittest.SkipTest("Python itself does not run with this sanitizer's runtime: " + why)
        programs, dumps = Together(), Together()
        for i, (version, path) in enumerate(cls.versions.items()):
            programs.start(version, undisturbed, run, path)
            if i % AT_ONCE == AT_ONCE - 1:
                programs.join()
        programs.join()
        for version, path in cls.versions.items():
            dumps.start(version, dump, path)
        dumps.join()
        cls.programs = {version: programs[version] for version in cls.versions}
        cls.dumps = {version: dumps[version] for version in cls.versions}

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs.values():
            program.close()

    reports: typing.ClassVar = {}

    def python_frames(self, frames):
        return [(f["function"], f["file"], f.get("line")) for f in frames
                if f.get("language") == "python" and f["file"].startswith(SCRIPT)]

    def truth(self, frames):
        return [tuple(frame) for frame in frames if frame[1].startswith(SCRIPT)]

    def compare(self, name, kind, truth, told):
        """How many frames there are, and of these how many are right in function, and in line."""
        self.assertEqual(len(truth), len(told), "%s, %s: %s, told %s" % (name, kind, truth, told))
        functions = lines = 0
        for want, have in zip(truth, told):
            # The loop that computes has two lines, below the one that gave its stack.
            allowed = range(1, 3) if kind in ("computes", "collects") and want == truth[0] else range(1)
            functions += want[:2] == have[:2]
            lines += have[2] is not None and have[2] - want[2] in allowed
            if want[:2] != have[:2] or have[2] is None or have[2] - want[2] not in allowed:
                print("%s, %s: %s, told %s" % (name, kind, want, have))
        return len(truth), functions, lines

    def kinds(self, program):
        """Each kind of hang: the stack that the interpreter gave, and the report's."""
        hangs = list(map(json.loads, program.output.splitlines()))
        found = {}
        for report in program.reports("hang"):
            self.assert_valid(report)
            begun = datetime.datetime.fromisoformat(report["started_at"][:26] + "+00:00").timestamp()
            for hang in hangs:
                if begun <= hang["at"] < begun + report["duration_ns"] / 1e9:
                    told = self.python_frames(report["hot_stack"]["frames"])
                    if hang["kind"] == "gil":  # the print, too, lets another thread have the GIL
                        told = [frame for frame in told if frame[0] != "say"]
                    self.reports[program.pid, hang["kind"]] = report
                    found[hang["kind"]] = (self.truth(hang["frames"]), told)
        return found

    def test_functions_and_lines_are_the_interpreters_own(self):
        rows = []
        for version, program in self.programs.items():
            with self.subTest(version):
                self.assertEqual(0, program.status, program.errors)
                kinds = self.kinds(program)
                self.assertEqual(set(KINDS), set(kinds), program.errors)
                counts = {kind: self.compare(version, kind, *kinds[kind]) for kind in KINDS}
                rest = [sum(counts[kind][i] for kind in KINDS if kind not in COLUMNS) for i in range(3)]
                rows.append([version, *(counts[kind] for kind in COLUMNS), rest])
                total, functions, lines = (sum(count[i] for count in counts.values()) for i in range(3))
                self.assertGreaterEqual(total, 3 * len(KINDS))
                self.assertEqual(total, functions)
                self.assertGreaterEqual(lines, 0.95 * total)  # a worker without a CPU reads a caller's line late
        print("\nfunctions right / lines right / frames of the script")
        print("| CPython | %s | other shapes |" % " | ".join(COLUMNS.values()))
        for version, *counts in rows:
            print("| %s | %s |" % (version, " | ".join("%d/%d/%d" % (f, n, total) for total, f, n in counts)))

    def test_a_running_process_is_read_from_outside(self):
        for version, program in self.dumps.items():
            with self.subTest(version):
                threads = {thread["tid"]: thread for thread in program.live["threads"]}
                truth = self.truth(program.truth["frames"])
                told = self.python_frames(threads[program.pid]["stack"]["frames"])
                self.assertEqual(truth, told)
                other, = (thread for tid, thread in threads.items() if tid != program.pid)
                told = self.python_frames(other["stack"]["frames"])
                self.assertEqual(1, len(told), other)
                self.assertIn("waits", told[0][0])

    def test_the_lock_of_the_interpreter_and_its_collector_are_causes(self):
        for version, program in self.programs.items():
            with self.subTest(version):
                self.kinds(program)
                gil, collects = (self.reports[program.pid, kind] for kind in ("gil", "collects"))
                if gil["cause"]["kind"] != "starved":
                    self.assertEqual("gil", gil["cause"]["kind"], gil["cause"])
                    self.assertRegex(program.errors, r"waited for Python's GIL held by thread \d+ \"[^\"]+\", which was in "
                                                     r"(for_the_interpreter\.<locals>\.)?sums \(support_python_versions.py:\d+\)")
                if collects["cause"]["kind"] != "starved":
                    self.assertEqual("gc", collects["cause"]["kind"], collects["cause"])

    def test_no_hint_asks_for_an_option(self):
        for version, program in self.programs.items():
            with self.subTest(version):
                self.assertNotIn("-X perf", program.errors)
                self.assertNotIn("no Python names", program.errors)


if __name__ == "__main__":
    main()
