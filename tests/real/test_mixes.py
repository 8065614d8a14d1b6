#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# `hangdog run` next to what else works on a program: its own use of signals, its own preloaded libraries, sanitizers,
# debuggers, tracers, children of another word size. The program is as it would be without us, and its hang is told.

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_run import BUILD, HANGDOG, MS, PATIENCE, S, SANITIZER, SOURCE, Program, RealCase
from support_run import environment, hot_functions, symbolicated, wait_until

HANG = os.path.join(BUILD, "tests/programs/plain-hang")
SIGNALS = os.path.join(BUILD, "tests/programs/own-signals")
LIBRARIES = "/usr/lib/x86_64-linux-gnu/"


def installed(name):
    return shutil.which(name, path="/usr/bin:/bin")


class Case(RealCase):
    def program(self, *args, **kwargs):
        program = Program(*args, **kwargs)
        self.addCleanup(program.close)
        return program

    def folder(self):
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def pair(self, argv, options=("--quiet",), **kwargs):
        """The same program plain and watched, at the same time."""
        return self.program(argv, watched=False, **kwargs), self.program(argv, options=options, **kwargs)

    def assert_alike(self, plain, watched):
        self.assertEqual(plain.wait(), watched.wait(), watched.errors)
        self.assertEqual(plain.output, watched.output)
        self.assertEqual(plain.errors, watched.errors)

    def assert_hang(self, program, function):
        hangs = program.reports("hang")
        self.assertEqual(1, len(hangs), program.errors)
        report = symbolicated(program, hangs[0])
        self.assert_valid(report)
        self.assertTrue([f for f in hot_functions(report) if function in f], hot_functions(report))
        return report


@unittest.skipIf(SANITIZER, "a sanitizer's runtime has an alternate stack and handlers of its own")
class OwnSignals(Case):
    def test_what_a_program_sees_of_its_signals(self):
        plain, watched = self.pair([SIGNALS, "look"])
        self.assert_alike(plain, watched)
        self.assertIn("a deep handler ran on the thread's stack", plain.output)

    def test_a_program_that_uses_signals_while_it_is_sampled(self):
        """A thousand samples a second: its waits end by its own signals alone, and it gets those that it sent."""
        pairs = {name: self.pair([SIGNALS, name], options=("--quiet", "--interval", "1"))
                 for name in ("ticks", "ticks-onstack", "ticks-masked", "signalfd", "sigwait")}
        for name, (plain, watched) in pairs.items():
            with self.subTest(name):
                self.assert_alike(plain, watched)
                self.assertEqual(0, watched.process.returncode, watched.output)
                self.assertEqual(1, len(watched.reports("hang")))
        for name in ("ticks", "ticks-onstack"):
            self.assertGreater(pairs[name][1].reports("hang")[0]["monitor"]["samples"], 20)


@unittest.skipIf(SANITIZER, "an instrumented preload needs its own runtime first")
class OwnPreload(Case):
    def test_libraries_of_the_users_own(self):
        """Each stays, in its order; what they interpose (malloc, the clock) is not what we use."""
        faketime = LIBRARIES + "faketime/libfaketime.so.1"
        every = {"jemalloc": {"LD_PRELOAD": "libjemalloc.so.2"}, "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"},
                 "eatmydata": {"LD_PRELOAD": "libeatmydata.so"}, "stdbuf": {"LD_PRELOAD": "/usr/libexec/coreutils/libstdbuf.so",
                                                                          "_STDBUF_O": "L"},
                 "faketime": {"LD_PRELOAD": faketime, "FAKETIME": "-10d", "NO_FAKE_STAT": "1"},
                 "two": {"LD_PRELOAD": "libeatmydata.so:libjemalloc.so.2"}}
        there = {name: env for name, env in every.items()
                 if all(os.path.exists(p) or os.path.exists(LIBRARIES + p) for p in env["LD_PRELOAD"].split(":"))}
        print("not installed:", " ".join(sorted(set(every) - set(there))) or "none")
        show = 'tr "\\\\0" "\\\\n" < /proc/$PPID/maps | grep -o "[^/]*[.]so[.0-9]*$" | sort -u | grep -v hangdog; echo $LD_PRELOAD'
        pairs = {name: self.pair([HANG, show], options=(), env=env) for name, env in there.items()}
        for name, (plain, watched) in pairs.items():
            with self.subTest(name):
                self.assertEqual(3, plain.wait())
                self.assertEqual(3, watched.wait(), watched.errors)
                self.assertEqual(plain.output, watched.output)
                self.assertTrue(plain.output.endswith(there[name]["LD_PRELOAD"] + "\ndone\n"), plain.output)
                report = self.assert_hang(watched, "hot_function")
                self.assertIn(report["cause"]["kind"], ("cpu", "starved"))
                self.assertGreater(report["duration_ns"], 900 * MS)
                self.assertLess(abs(time.time() - os.stat(watched.spool).st_mtime), 600, "reports are dated by the true clock")


if __name__ == "__main__":
    unittest.main(verbosity=2)
