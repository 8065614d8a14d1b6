#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A loop of node's that V8's garbage collector stops has the cause `gc`: with the collector on the loop's thread, and
with its other threads, for which that one waits. A loop that runs its own code has not."""

import subprocess
import unittest

from support_run import Program, RealCase, Together, ignore, main, runs_under_sanitizer

NODE = "/usr/bin/node"
CODE = """
const keep = [];
for (let i = 0; i < 400000; i++) keep.push({a: i, b: {c: i}});
const turns = setInterval(() => {}, 20);
setTimeout(function busy() {
  for (const end = Date.now() + 1500; Date.now() < end;) { if (%s) gc(); }
}, 1500);
setTimeout(() => process.exit(keep.length === 400000 ? 0 : 1), 4000);
"""


def run(collect, *options):
    program = Program([NODE, "--expose-gc", *options, "-e", CODE % collect])
    assert program.pid
    program.status = program.wait()
    return program


class Collector(RealCase):
    @classmethod
    def setUpClass(cls):
        try:
            why = runs_under_sanitizer([NODE, "-e", "setTimeout(() => {}, 100)"])
            version = subprocess.run([NODE, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
        except FileNotFoundError:
            raise unittest.SkipTest("no node: scripts/install-dependencies test") from None
        if why:
            raise unittest.SkipTest("node itself does not run with this sanitizer's runtime: " + why)
        if int(version[1:].split(".")[0]) > 22:
            raise unittest.SkipTest("node %s exports no function of its collector" % version.strip())
        programs = Together()
        programs.start("single", run, "true", "--single-threaded-gc")
        programs.start("none", run, "false")
        programs.join()
        programs.start("joined", run, "true")
        programs.join()
        cls.programs = {name: programs[name] for name in ("single", "joined", "none")}

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs.values():
            program.close()

    def cause(self, name):
        program = self.programs[name]
        hangs = program.reports("hang")
        self.assertEqual(1, len(hangs), program.errors)
        self.assert_valid(hangs[0])
        cause = hangs[0]["cause"]
        if cause["kind"] == "starved":
            ignore(name, "cause starved: %s" % cause)
            self.skipTest("no CPU was free")
        return cause

    def test_the_collector_on_the_loops_thread_is_the_cause(self):
        cause = self.cause("single")
        self.assertEqual("gc", cause["kind"], cause)
        self.assertRegex(cause["detail"], r"^ran V8's garbage collector")

    def test_a_wait_for_its_other_threads_is_the_collectors_too(self):
        cause = self.cause("joined")
        self.assertEqual("gc", cause["kind"], cause)

    def test_a_script_that_runs_is_no_collector(self):
        self.assertEqual("cpu", self.cause("none")["kind"])


if __name__ == "__main__":
    main()
