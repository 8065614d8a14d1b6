#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Functions of scripts in reports of unmodified interpreters: their names, files and lines beside the interpreter's own
# frames, in JSON and as text; and how to get them where there are none.

import contextlib
import datetime
import json
import os
import shutil
import subprocess
import unittest

from support_run import (HANGDOG, MS, PATIENCE, SOURCE, Program, RealCase, S, Together, environment, ignore, main,
                         runs_under_sanitizer, symbolicated, undisturbed, wait_until)

PYTHON = "/usr/bin/python3"
PYTHON_SCRIPT = os.path.join(SOURCE, "tests/real/support_script_frames.py")
PERL = "/usr/bin/perl"
PERL_SCRIPT = os.path.join(SOURCE, "tests/real/support_script_frames.pl")
NODE = "/usr/bin/node"
NODE_SCRIPT = os.path.join(SOURCE, "tests/real/support_script_frames.js")
# The optimizing compiler may inline the busy function into its caller at any time, which then has the samples.
WITH_MAP = ["--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining"]


def run(argv):
    """One program from beginning to end."""
    program = Program(argv)
    assert program.pid  # looked up while it runs
    program.status = program.wait()
    return program


def shown(program, report):
    """The report as a person sees it."""
    return subprocess.run([HANGDOG, "show", report["id"], "--spool", program.spool], check=True, text=True,
                          stdout=subprocess.PIPE, env=environment(), timeout=PATIENCE).stdout


def without_names(report):
    """The report as its process wrote it: the functions that were looked up since are kept in it."""
    if isinstance(report, list):
        return [without_names(part) for part in report
                if not isinstance(part, dict) or not part.get("inlined") or part.get("language") == "python"]
    if not isinstance(report, dict):
        return report
    names = ("function", "file", "line", "inlined", "language") if report.get("language") != "python" else ()
    return {key: without_names(value) for key, value in report.items() if key not in names or "pc" not in report}


def line_of(script, text):
    """The number of the first line with this text."""
    with open(script, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def script_frames(frames):
    return [frame for frame in frames if "language" in frame]


# The interpreter's frames are read after the copy of the stack, by a worker that a busy machine lets wait.
READ_WITHIN_NS = 50 * 10**6


class ScriptCase(RealCase):
    def hang(self, program, function):
        """The hang with this script's function in its hot stack, with symbols, and the function's frame."""
        for report in program.reports("hang"):
            self.assert_valid(report)
            report = symbolicated(program, report)
            self.assert_valid(report)
            for frame in script_frames(report["hot_stack"]["frames"]):
                if frame["function"] == function:
                    return report, frame
        raise AssertionError("no hang in %s: %s" % (function, program.errors))

    def assert_between(self, names, report):
        """These functions are in the hot stack in this order, the innermost first."""
        have = [frame.get("function", "") for frame in report["hot_stack"]["frames"]]
        left = list(names)
        for name in have:
            if left and left[0] in name:
                left.pop(0)
        self.assertEqual([], left, have)


class Node(ScriptCase):
    @classmethod
    def setUpClass(cls):
        if not os.access(NODE, os.X_OK):
            raise unittest.SkipTest("%s is not installed: scripts/install-dependencies test" % NODE)
        why = runs_under_sanitizer([NODE, "-e", "setTimeout(() => {}, 100)"])
        if why:
            raise unittest.SkipTest("node itself does not run with this sanitizer's runtime: " + why)
        programs = Together()
        programs.start("named", run, [NODE, *WITH_MAP, NODE_SCRIPT])
        programs.join()
        cls.named = programs["named"]

    @classmethod
    def tearDownClass(cls):
        with contextlib.suppress(FileNotFoundError):
            os.unlink("/tmp/perf-%d.map" % cls.named.pid)
        cls.named.close()

    def test_a_busy_function_is_named_with_its_file_and_line(self):
        report, frame = self.hang(self.named, "checksumOfNothing")
        self.assertEqual(("javascript", NODE_SCRIPT), (frame["language"], frame["file"]))
        self.assertIn(frame["line"] - line_of(NODE_SCRIPT, "function checksumOfNothing"), range(4))
        self.assert_ran(report)
        self.assert_between(["checksumOfNothing", "onBusyTimer", "listOnTimeout", "uv_run", "main"], report)

    def test_a_function_at_many_addresses_is_one_with_all_its_time(self):
        report, frame = self.hang(self.named, "checksumOfNothing")
        waited = report["cause"].get("run_delay_ns", 0) / report["duration_ns"]  # for a processor, without an answer
        self.assertGreater(frame["share"], 0.8 - waited)
        tree = report["samples"]["tree"]
        names = [tree["frames"][node["frame"]].get("function") for node in tree["nodes"]]
        # A sample in its first instructions has no frame of V8's yet: the map names that one.
        self.assertIn(names.count("checksumOfNothing"), (1, 2), names)
        raw = next(r for r in self.named.reports("hang") if r["id"] == report["id"])["samples"]["tree"]
        self.assertEqual(max(node["time_ns"] for node in raw["nodes"]), max(node["time_ns"] for node in tree["nodes"]))

    def test_the_text_says_who_was_busy_and_who_waited(self):
        report, _ = self.hang(self.named, "checksumOfNothing")
        text = shown(self.named, report)
        self.assertRegex(text, r"hang of .* in checksumOfNothing \(support_script_frames\.js:1[0-3]\), ")
        self.assertRegex(text, r"\n +\d+%  checksumOfNothing +support_script_frames\.js:1[0-3]\n")
        self.assertNotIn("JavaScript names", text)
        report, _ = self.hang(self.named, "runSlowCommand")
        self.assertEqual("child", report["cause"]["kind"])
        self.assertRegex(shown(self.named, report), r"\A.* in runSlowCommand \(support_script_frames\.js:26\), (?s:.*)\n"
                         r"  > runSlowCommand +support_script_frames\.js:26 +in child_process\.\w*[sS]ync\n")

    def test_the_runner_tells_the_same(self):
        self.assertRegex(self.named.errors, r"hang of .* in checksumOfNothing \(support_script_frames\.js:1[0-3]\), ")

    def test_a_map_of_another_process_with_that_number_names_nothing(self):
        report, _ = self.hang(self.named, "checksumOfNothing")
        raw = without_names(report)
        with subprocess.Popen(["sleep", "60"]) as other:
            raw["app"]["pid"] = other.pid
            path, map_path = os.path.join(self.named.folder, "other.json"), "/tmp/perf-%d.map" % other.pid
            with open(path, "w", encoding="utf-8") as file:
                json.dump(raw, file)
            shutil.copy("/tmp/perf-%d.map" % self.named.pid, map_path)
            try:
                text = subprocess.run([HANGDOG, "show", path], check=True, text=True, stdout=subprocess.PIPE,
                                      env=environment(), timeout=PATIENCE).stdout
            finally:
                os.unlink(map_path)
                other.kill()
        self.assertNotIn("checksumOfNothing", text)
        self.assertIn("  ignored %s: another process has that id now\n" % map_path, text)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")
    def test_a_map_that_is_somebody_elses_names_nothing(self):
        report, _ = self.hang(self.named, "checksumOfNothing")
        path = "/tmp/perf-%d.map" % self.named.pid
        file = os.path.join(self.named.folder, "unnamed.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(without_names(report), out)
        os.chown(path, 12345, 12345)
        try:
            text = subprocess.run([HANGDOG, "show", file], check=True, text=True, stdout=subprocess.PIPE,
                                  env=environment(), timeout=PATIENCE).stdout
        finally:
            os.chown(path, 0, 0)
        self.assertNotIn("checksumOfNothing", text)
        self.assertIn("  ignored %s: other owner\n" % path, text)


class Python(ScriptCase):
    SEED = 7

    @classmethod
    def setUpClass(cls):
        why = runs_under_sanitizer([PYTHON, "-I", "-c", "import asyncio; asyncio.run(asyncio.sleep(0.1))"])
        if why:
            raise unittest.SkipTest("python3 itself does not run with this sanitizer's runtime: " + why)
        done = subprocess.run([PYTHON, "-I", "-c", "import sys; print(sys.version_info[:2] == (3, 11))"], check=True,
                              stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
        if done.stdout.strip() != "True":
            raise unittest.SkipTest("%s is not CPython 3.11, the only one that is understood" % PYTHON)
        cls.program = undisturbed(cls.session)

    @classmethod
    def session(cls):
        program = Program([PYTHON, "-I", PYTHON_SCRIPT, str(cls.SEED), "log"])
        log = os.path.join(program.folder, "log")
        assert program.pid
        wait_until(lambda: os.path.exists(log) and os.path.getsize(log), "the end of all that is busy")
        program.starved_ns = program.delay_ns()
        program.status = program.wait()
        return program

    @classmethod
    def tearDownClass(cls):
        cls.program.close()

    def test_a_coroutine_that_sleeps_is_named_with_its_line(self):
        report, frame = self.hang(self.program, "sleeps_in_a_coroutine")
        line = line_of(PYTHON_SCRIPT, "time.sleep(")
        self.assertEqual("sleep", report["cause"]["kind"])
        self.assertEqual(("python", PYTHON_SCRIPT, line), (frame["language"], frame["file"], frame["line"]))
        self.assert_between(["nanosleep", "sleeps_in_a_coroutine", "_PyEval_EvalFrameDefault", "main",
                             "_PyEval_EvalFrameDefault", "Handle._run", "<module>", "Py_RunMain"], report)
        self.assertRegex(shown(self.program, report),
                         r"\n  > sleeps_in_a_coroutine +support_script_frames\.py:%d +in clock_nanosleep\n" % line)
        self.assertIn(" in sleeps_in_a_coroutine (support_script_frames.py:%d), " % line, self.program.errors)

    def test_a_function_that_hashes_is_named_between_its_caller_and_libcrypto(self):
        report, frame = self.hang(self.program, "hash_it")
        self.assertEqual(line_of(PYTHON_SCRIPT, "hashlib.pbkdf2_hmac("), frame["line"])
        self.assert_between(["PKCS5_PBKDF2_HMAC", "hash_it", "hashes_in_a_coroutine", "_PyEval_EvalFrameDefault"],
                            report)
        names = [frame.get("function") for frame in report["samples"]["tree"]["frames"]]
        self.assertEqual(1, names.count("hash_it"), names)

    def test_script_frames_share_the_place_of_the_interpreters_frame(self):
        """A reader that knows no scripts takes them for inlined functions, and finds whole native frames without."""
        report, _ = self.hang(self.program, "hash_it")
        raw = without_names(report)["hot_stack"]["frames"]
        for frame, outer in zip(raw, raw[1:]):
            self.assertEqual("function" in frame, frame.get("inlined", False))
            if "language" in frame:
                self.assertEqual((frame["pc"], frame["module"]), (outer["pc"], outer["module"]))

    def test_of_ten_busy_functions_the_right_one_is_named_in_95_percent_of_samples(self):
        with open(os.path.join(self.program.folder, "log"), encoding="utf-8") as log:
            truth = [(name, int(begin), int(end)) for name, begin, end in map(str.split, log)]
        known = {name for name, _, _ in truth}
        self.assertEqual(10, len(known))
        report = next(r for r in self.program.reports("hang") if r["duration_ns"] > 3e9)
        begun = datetime.datetime.fromisoformat(report["started_at"][:26] + "+00:00")
        begun_ns = int(begun.timestamp()) * 10**9 + int(report["started_at"][20:29])
        right, wrong, late = 0, [], []
        for sample in report["samples"]["timeline"]:
            at = begun_ns + sample["at_ns"]
            expected = [(name, end) for name, begin, end in truth if begin <= at < end]
            if not expected or "stack" not in sample:
                continue
            (expected, end), = expected
            frames = script_frames(report["samples"]["stacks"][sample["stack"]]["frames"])
            told = next((frame["function"] for frame in frames if frame["function"] in known), None)
            right += told == expected
            if told != expected:
                (late if at + READ_WITHIN_NS > end else wrong).append(
                    (expected, told, [frame["function"] for frame in frames]))
        for miss in wrong + late:
            print("was busy in %s, told %s: %s" % miss)
        print("%d of %d samples name the function that was busy; of the others %d the next one, which began meanwhile"
              % (right, right + len(wrong) + len(late), len(late)))
        least, share = 50, 0.95
        if self.program.starved_ns > 300 * MS:  # even when it ran once more: so was who reads the stacks
            least, share = 25, 0.8
            ignore("samples", "80 %% of 25 samples are enough after %.1f s without a processor" % (self.program.starved_ns / S))
        self.assertGreaterEqual(right + len(wrong), least)
        self.assertGreaterEqual(right, share * (right + len(wrong)), wrong)


class Perl(ScriptCase):
    def test_it_is_said_that_its_functions_cannot_be_named(self):
        why = runs_under_sanitizer([PERL, "-e", "1"])
        if why:
            self.skipTest("perl itself does not run with this sanitizer's runtime: " + why)
        program = run([PERL, PERL_SCRIPT])
        self.addCleanup(program.close)
        report, = program.reports("hang")
        self.assertIn("no Perl names: Hangdog does not read Perl's stacks", shown(program, report))


if __name__ == "__main__":
    main()
