#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""JavaScript functions of an unmodified `node app.js`, without any option, in reports and by `hangdog dump`: each
version that is installed here.

The truth is the stack that V8 itself gives just before each hang. `scripts/install-nodes` puts other versions than
Debian's below build/node.
"""
import datetime
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, SOURCE, Program, RealCase, Together, main, runs_under_sanitizer, wait_until

SCRIPT = os.path.join(SOURCE, "tests/real/support_javascript.js")
KINDS = ["interpreted", "getter", "method", "static", "generator", "async", "arrow", "unicode", "builtin", "eval"]


def nodes():
    """Each node here, by its version."""
    found = {}
    for path in ["/usr/bin/node", *sorted(glob.glob(os.path.join(SOURCE, "build/node/*/bin/node")))]:
        if os.access(path, os.X_OK):
            version = subprocess.run([path, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
            found.setdefault(version, path)
    return found


def run(argv):
    program = Program(argv)
    assert program.pid
    program.status = program.wait()
    return program


def of_v8(line):
    """Function, file and line of a line of Error().stack."""
    match = re.match(r"at (?:async )?(?:(.*?) (?:\[as [^]]*\] )?\()?(?:file://)?([^()]*?):(\d+):\d+\)?$", line)
    if match is None:
        return None
    name = (match[1] or "").split(".")[-1].removeprefix("get ").removeprefix("new ")
    if name == "_onTimeout":  # the property that V8 saw the nameless function in
        name = "(anonymous)"
    return name, match[2], int(match[3])


class JavaScript(RealCase):
    @classmethod
    def setUpClass(cls):
        versions = nodes()
        if not versions:
            raise unittest.SkipTest("no node: scripts/install-dependencies test")
        why = runs_under_sanitizer([next(iter(versions.values())), "-e", "setTimeout(() => {}, 100)"])
        if why:
            raise unittest.SkipTest("node itself does not run with this sanitizer's runtime: " + why)
        programs = Together()
        cls.names = []
        for version, path in versions.items():
            for option in ([], ["--always-sparkplug"]):
                name = " ".join([version, *option])
                cls.names.append(name)
                programs.start(name, run, [path, *option, SCRIPT])
                programs.join()
        cls.programs = {name: programs[name] for name in cls.names}

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs.values():
            program.close()

    def frames(self, report):
        self.assert_valid(report)
        return [frame for frame in report["hot_stack"]["frames"] if frame.get("language") == "javascript"]

    def truth(self, program):
        return {hang["kind"]: [of_v8(line) for line in hang["frames"] if of_v8(line) is not None]
                for hang in map(json.loads, program.output.splitlines())}

    def kind_of(self, program, report):
        """The hang that began nearest to the report's."""
        begun = datetime.datetime.fromisoformat(report["started_at"][:26] + "+00:00").timestamp() * 1000
        return min(map(json.loads, program.output.splitlines()), key=lambda hang: abs(hang["at"] - begun))["kind"]

    def check(self, name, program):
        """Frames right in function, in line, and all; the script's own alone."""
        truth, right, lines, total = self.truth(program), 0, 0, 0
        reports = {self.kind_of(program, report): report for report in program.reports("hang")}
        self.assertEqual({*KINDS, "optimized"}, set(reports), program.errors)
        for kind in KINDS:
            report = reports[kind]
            told = [(f["function"], f.get("file", ""), f.get("line")) for f in self.frames(report)
                    if not f.get("file", "node:").startswith("node:")]
            own = [frame for frame in truth[kind] if frame[1] == SCRIPT]
            # V8's positions below an await or in eval's own text name no file of ours.
            for want, have in zip(own, [frame for frame in told if frame[1] == SCRIPT]):
                total += 1
                same = want[0] in (have[0], "<anonymous>", "") or have[0] == "get " + want[0]
                off = 2 if want[0] == "block" else 0  # the Error stands two lines above execSync
                right += same
                lines += have[2] == want[2] + off
                if not same or have[2] != want[2] + off:
                    print("%s, %s: %s, told %s" % (name, kind, want, have))
        print("%s: %d frames, function right %d, line right %d" % (name, total, right, lines))
        return total, right, lines

    def test_functions_and_lines_are_v8s_own(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                total, right, lines = self.check(name, program)
                self.assertGreaterEqual(total, 2 * len(KINDS))
                self.assertEqual(total, right)
                # Compiled code holds no place in the bytecode: a function that ran often is told by its first line.
                if "sparkplug" not in name:
                    self.assertGreaterEqual(lines, 0.85 * total)

    def test_a_computing_function_is_named(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                report = max(program.reports("hang"), key=lambda r: r["started_at"])
                functions = [frame["function"] for frame in self.frames(report)]
                self.assertIn("optimized", functions)
                node = report["samples"]["tree"]["frames"]
                named = [frame for frame in node if frame.get("function") in ("compute", "optimized")]
                self.assertLessEqual(len(named), 6, "samples of one function are one")

    def test_no_hint_asks_for_an_option(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                self.assertNotIn("--perf-basic-prof", program.errors)


WAIT_IN_CHILD = """const { %(call)s } = require('child_process');
function waitsInChild() {
  %(call)s('/bin/sleep', ['600']);
}
function outer() {
  waitsInChild();
}
setTimeout(outer, 1);
"""


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


def frames_of(pid):
    """The main thread's frames; None: it ran when it was looked at."""
    shown = subprocess.run([HANGDOG, "dump", "--json", str(pid)], text=True, check=True, stdout=subprocess.PIPE,
                           timeout=PATIENCE).stdout
    thread = next(thread for thread in json.loads(shown)["threads"] if thread["tid"] == pid)
    return thread.get("stack", {}).get("frames")


class Dumped(unittest.TestCase):
    """A process that nothing was prepared in, blocked in a child: node 18 waits for it below 12 KiB of events."""

    def functions(self, argv):
        """The main thread's functions of scripts, with file and line, innermost first."""
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as program:
            children = []
            try:
                children = wait_until(lambda: children_of(program.pid), "node's child")
                frames = wait_until(lambda: frames_of(program.pid), "node's stack")
            finally:
                program.kill()
                for child in children:
                    os.kill(child, signal.SIGKILL)
        return [(frame["function"], frame["file"], frame["line"]) for frame in frames
                if frame.get("language") == "javascript" and os.path.isabs(frame.get("file", ""))]

    def test_a_node_that_waits_for_a_child_is_named(self):
        versions = nodes()
        if not versions:
            self.skipTest("no node: scripts/install-dependencies test")
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "app.js")
            for version, path in versions.items():
                for call in ("spawnSync", "execFileSync"):
                    with open(script, "w", encoding="utf-8") as file:
                        file.write(WAIT_IN_CHILD % {"call": call})
                    with self.subTest("%s, %s" % (version, call)):
                        self.assertEqual([("waitsInChild", script, 3), ("outer", script, 6)], self.functions([path, script]))


if __name__ == "__main__":
    main()
