# SPDX-License-Identifier: MIT
#
# Programs with a known loop and known freezes (tests/real/programs), as a person types them: how they are built and started,
# and what must be true of their reports.

import json
import os
import shutil
import subprocess
import tempfile
import threading
import typing
import unittest

from support_plans import missing
from support_run import (HANGDOG, MS, PATIENCE, SANITIZER, SOURCE, TOLERANCE_NS, Program, RealCase, Together, environment,
                         false_ones, hot_functions, symbolicated)

PROGRAMS = os.path.join(SOURCE, "tests/real/programs")
PYTHON, NODE, TCLSH = "/usr/bin/python3", "/usr/bin/node", "/usr/bin/tclsh"
INTERPRETERS = {".py": PYTHON, ".js": NODE, ".tcl": TCLSH, ".pl": "/usr/bin/perl", ".lua": "/usr/bin/luajit",
                ".rb": "/usr/bin/ruby"}
PACKAGES = "scripts/install-dependencies test"
# What each C program is linked to. The libraries alone must be there, not their headers.
LIBRARIES = {
    "loop_glib": "libglib-2.0.so.0", "loop_libuv": "libuv.so.1", "loop_libevent": "libevent_core-2.1.so.7",
    "loop_libev": "libev.so.4", "loop_sd_event": "libsystemd.so.0", "desktop_gtk3": "libgtk-3.so.0 libglib-2.0.so.0",
    "desktop_sdl": "libSDL2-2.0.so.0", "desktop_xlib": "libX11.so.6", "desktop_xt": "libXt.so.6",
    "desktop_xcb": "libxcb.so.1", "desktop_fltk": "libfltk.so.1.3",
}
AT_A_TIME = threading.BoundedSemaphore(8)  # most of their time they wait


class Try(typing.NamedTuple):
    """A program of PROGRAMS with its arguments, or a script's text and the function in it that freezes; what a script
    imports. `stuck`: it does not end with a sanitizer's runtime preloaded, also without Hangdog."""
    source: str
    arguments: str = ""
    text: str = ""
    function: str = ""
    imports: str = ""
    stuck: bool = False

    def functions(self):
        """For each freeze the function that is to blame; "" where the interpreter does not give its functions' names."""
        if self.text:
            return [self.function]
        named = os.path.splitext(self.source)[1] in (".c", ".cc", ".py")
        return ["block_in_" + step.split(":")[0] if named else "" for step in self.arguments.split() if ":" in step]


def froze_ns(program):
    """How long each of its freezes took, by its own clock."""
    return [int(line.split()[1]) for line in program.output.splitlines() if line.startswith("froze ")]


class Seen:
    """A try, from its start to its end."""

    def __init__(self, tried, binaries, env=None):
        self.tried = tried
        folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.argv = command(tried, binaries, folder)
        self.lacks = lacks(tried, self.argv)
        if not self.lacks:
            with AT_A_TIME:
                self.program = Program(self.argv, folder=folder, env=env)
                try:
                    self.status = self.program.wait()
                except subprocess.TimeoutExpired:
                    self.program.close()
                    raise
        else:
            shutil.rmtree(folder)

    def close(self):
        if not self.lacks:
            self.program.close()


def command(tried, binaries, folder):
    """What is typed; a script's text is put into the folder first."""
    stem, suffix = os.path.splitext(tried.source)
    arguments = tried.arguments.split()
    if suffix in (".c", ".cc"):
        return [os.path.join(binaries, stem), *arguments]
    path = os.path.join(PROGRAMS, tried.source)
    if tried.text:
        path = os.path.join(folder, tried.source)
        with open(path, "w", encoding="utf-8") as file:
            file.write(tried.text)
    return [INTERPRETERS[suffix], path, *arguments]


def lacks(tried, argv):
    """Why this program cannot run here; "" when it can."""
    if SANITIZER and tried.stuck:
        return "it does not end with this sanitizer's runtime preloaded, also without Hangdog"
    if not os.path.exists(argv[0]):
        return "%s is not there: %s" % (argv[0], PACKAGES)
    check = {"py": ["-c", "import " + tried.imports], "pl": ["-e", "use %s;" % tried.imports],
             "lua": ["-e", "require('%s')" % tried.imports]}.get(tried.source.rsplit(".", 1)[1])
    if tried.imports and subprocess.run([argv[0], *check], env=environment(), capture_output=True,
                                        check=False).returncode != 0:
        return "no %s: %s" % (tried.imports, PACKAGES)
    return ""


def build(source, folder):
    """A C or C++ program; not there afterwards where its library is not installed."""
    stem, suffix = os.path.splitext(source)
    subprocess.run(["g++" if suffix == ".cc" else "gcc", "-g", "-O1", "-pthread", os.path.join(PROGRAMS, source), "-o",
                    os.path.join(folder, stem), *["-l:" + library for library in LIBRARIES.get(stem, "").split()]],
                   check=False)


def built(tries):
    """A folder with the compiled programs of these tries; it stays to the end of the test, for the names of functions."""
    if missing("gcc", "g++"):
        raise unittest.SkipTest("no gcc and g++ to build the programs with: " + PACKAGES)
    folder = tempfile.mkdtemp(prefix="hangdog-test-")
    unittest.addModuleCleanup(shutil.rmtree, folder)
    sources = {tried.source for tried in tries.values() if os.path.splitext(tried.source)[1] in (".c", ".cc")}
    made = Together()
    for source in sources:
        made.start(source, build, source, folder)
    made.join()
    return folder


def run_all(tries, binaries, env=None):
    """Each of them, side by side."""
    every = Together()
    for name, tried in tries.items():
        every.start(name, Seen, tried, binaries, env)
    every.join()
    unittest.addModuleCleanup(lambda: [seen.close() for seen in every.results.values()])
    return every


class SeenCase(RealCase):
    """Assertions about one try."""

    def assert_runs_here(self, seen):
        if seen.lacks:
            self.skipTest(seen.lacks)
        if SANITIZER and seen.status != 0:
            self.skipTest("it does not run with this sanitizer's runtime: " + seen.program.errors[-400:])

    def assert_seen(self, seen):
        """One report for each freeze, in their order, with its length and function; and no other."""
        self.assert_runs_here(seen)
        self.assertEqual(0, seen.status, seen.program.errors)
        if not seen.tried.text:
            self.assertEqual(len(seen.tried.functions()), len(froze_ns(seen.program)), seen.program.output)
        self.assert_reported(seen.program, froze_ns(seen.program), seen.tried.functions())

    def assert_reported(self, program, froze_ns, functions):
        """For each freeze a report, of the function of the same index."""
        self.assertGreater(len(froze_ns), 0, program.output)
        hangs = sorted((report for report in program.reports() if report["kind"] != "session"), key=lambda r: r["started_at"])
        others, left = [], list(froze_ns)
        for hang in hangs:
            if left and abs(hang["duration_ns"] - left[0]) <= TOLERANCE_NS:
                self.assert_valid(hang)
                self.assertEqual("hang", hang["kind"])
                self.assert_blamed(program, hang, functions[len(froze_ns) - len(left)])
                left.pop(0)
            else:
                others.append(hang)
        reported = [(hang["kind"], hang["duration_ns"], hang["cause"]) for hang in hangs]
        print("%s: froze %s ms, reported %s ms" % (self.id().rsplit(".", 1)[1], [ns // MS for ns in froze_ns],
                                                   [ns // MS for _, ns, _ in reported]))
        self.assertEqual([], left, "froze so and is not reported; reported: %s\n%s" % (reported, program.errors))
        if not SANITIZER:  # its runtime makes the start of a toolkit last as long as a hang
            self.assertEqual([], false_ones(others), program.errors)

    def assert_blamed(self, program, report, function):
        """The function is in the hot stack, and the one that the list of reports names."""
        if not function:
            return
        self.assertIn(function, " ".join(hot_functions(symbolicated(program, report))))
        listed = subprocess.run([HANGDOG, "list", "--each", "--json", "--spool", program.spool], env=environment(), check=True,
                                stdout=subprocess.PIPE, timeout=PATIENCE).stdout
        own = {row["id"]: row.get("function", "") for row in json.loads(listed)}
        self.assertIn(function, own[report["id"]])


def add_tests(case, tries, every, check):
    """A test for each try, of what `every()` has of it."""
    def add(name):
        def test(self):
            check(self, every()[name])
        setattr(case, "test_" + name, test)
    for name in tries:
        add(name)
