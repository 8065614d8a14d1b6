# SPDX-License-Identifier: MIT
"""The words of a report that is shown: they agree with the numbers, and say no more than the report knows."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support_run import main

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
HANGDOG = BUILD / "bin/hangdog"
WRITE_REPORT = BUILD / "tests/programs/write-report"
KINDS = ["full", "brief", "session"]


class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            ids = subprocess.run([WRITE_REPORT, folder, *KINDS], check=True, capture_output=True, text=True).stdout.split()
            cls.reports = {kind: (pathlib.Path(folder) / (name + ".json")).read_text() for kind, name in zip(KINDS, ids)}

    def shown(self, kind, change, *options):
        """The text of a report after change(report)."""
        report = json.loads(self.reports[kind])
        change(report)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "changed.json"
            path.write_text(json.dumps(report))
            return subprocess.run([HANGDOG, "show", path, "--no-symbols", *options], check=True, capture_output=True,
                                  text=True).stdout

    def test_one_is_one(self):
        def count(number):
            def change(report):
                if report["kind"] == "session":
                    report["session"].update({"turns": number, "hangs": number, "withdrawn": number, "suppressed": [
                        {"fingerprint": "0" * 16, "count": number, "total_ns": 3, "max_ns": 3 * 10 ** 9}]})
                else:
                    report["threads_left_out"] = number
                    report["hot_stack"]["cut"] = number
                    report["monitor"].update({"samples": number, "interrupted_syscalls": number})
            return change
        self.assertRegex(self.shown("session", count(1)),
                         r"(?s)  1 turn of the loop.*  1 hang, .*"
                         r"  1 report was withdrawn: .*  1 more hang was held back by .*, of 3\.000 s\n")
        self.assertRegex(self.shown("session", count(2)),
                         r"(?s)  2 turns of the loop.*  2 hangs, .*"
                         r"  2 reports were withdrawn: .*  2 more hangs were held back by .*, the longest 3\.000 s\n")
        self.assertRegex(self.shown("full", count(1), "--threads"),
                         r"(?s)\(1 frame of the middle was left out\).*  1 more thread was left out\n"
                         r".*  watched with 1 sample, .* 1 system call interrupted")
        self.assertRegex(self.shown("full", count(2), "--threads"),
                         r"(?s)\(2 frames of the middle were left out\).*  2 more threads were left out\n"
                         r".*  watched with 2 samples, .* 2 system calls interrupted")

    def test_a_hang_under_a_debugger_says_so(self):
        said = "\n  a debugger or tracer was attached\n"
        self.assertIn(said, self.shown("full", lambda report: report["process"].update({"debugger": True})))
        self.assertNotIn(said, self.shown("full", lambda report: report["process"].pop("debugger", None)))

    def test_idle_is_that_share_of_the_loops_time(self):
        """The times of several loops are summed up: they say nothing of a part of the run."""
        def times(used, idle, busy):
            times = {"used_ns": used * 10 ** 9, "idle_ns": idle * 10 ** 9, "busy_ns": busy * 10 ** 9}
            return self.shown("session", lambda report: report["session"].update(times))
        self.assertIn("\n  ran for 100.000 s, 50 % idle\n", times(100, 99, 101))
        self.assertIn("\n  ran for 100.000 s, 75 % of it idle\n", times(100, 75, 25))
        self.assertIn("\n  ran for 100.000 s, 90 % of it idle\n", times(100, 45, 5))  # a loop that was watched late
        self.assertIn("\n  ran for 100.000 s\n", times(100, 0, 0))

    def test_time_without_a_stack_is_not_read_as_other_functions(self):
        """The shares are of the whole hang; a repeat in brief has no samples that tell what the rest is."""
        def seen_for(part, *states):
            def change(report):
                for frame in report["hot_stack"]["frames"]:
                    frame["share"] *= part
                if "samples" in report:
                    report["samples"]["timeline"] = [{"at_ns": 0, "for_ns": 9, "state": state} for state in states]
            return change
        whole = self.shown("full", seen_for(1, "running"))
        self.assertNotIn("no stack", whole)
        self.assertNotIn("without a stack", whole)
        shown = self.shown("full", seen_for(0.2, "running"))
        self.assertRegex(shown, r"\n  hung for 2\.003 s, 16 % of it in .*, 80 % without a stack\n")
        self.assertIn("\n    (no stack for 80 % of the time: the thread ran and gave no answer, or could not be asked; it may block the "
                      "signal, have a handler of its own for it, or be under a filter)\n", shown)
        self.assertIn("\n    (no stack for 80 % of the time)\n", self.shown("full", seen_for(0.2, "blocked")))
        shown = self.shown("brief", seen_for(0.2))
        self.assertRegex(shown, r"\n  hung for 2\.003 s, 16 % of it in .*, 80 % not known\n")
        self.assertIn("\n    (no stack for 80 % of the time, or one that begins elsewhere)\n", shown)

    def command_of_repeat(self, folder, repeated):
        """The command that the text of a repeat names, and what it does there."""
        report = {**json.loads(self.reports["brief"]), "repeat_of": repeated}
        path = folder / "a repeat.json"
        path.write_text(json.dumps(report))
        shown = subprocess.run([HANGDOG, "show", path], check=True, capture_output=True, text=True).stdout
        command = re.search(r"; the whole report: (.*)\n", shown)[1]
        return command, subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)

    def test_the_command_for_what_a_repeat_repeats_can_be_pasted(self):
        repeated = json.loads(self.reports["full"])["id"]
        with tempfile.TemporaryDirectory(prefix="hangdog test ") as name:
            folder = pathlib.Path(name)
            command, _ = self.command_of_repeat(folder, repeated)  # it is in a spool, or nowhere
            self.assertTrue(command.endswith(" show " + repeated), command)
            (folder / (repeated + ".json")).write_text(self.reports["full"])
            command, done = self.command_of_repeat(folder, repeated)  # it was copied, too
            self.assertEqual(0, done.returncode, command + done.stderr)
            self.assertIn("hung for 2.003 s", done.stdout)
            for hostile in ("1; touch made #", "$(touch made)", "`touch made`", "1\ntouch made", "1' ; touch made '"):
                command, done = self.command_of_repeat(folder, hostile)
                self.assertEqual(1, done.returncode, command)
                self.assertFalse((folder / "made").exists(), command)

    def test_a_hang_whose_end_nobody_wrote(self):
        """It goes on, its process died, or the disk was full: the report is the same."""
        shown = self.shown("full", lambda report: report.update({"complete": False}))
        self.assertRegex(shown, r"\n  hung for at least 2\.003 s, ")
        self.assertIn("\n  nobody wrote its end: it goes on, or its process died, or the disk did not take it\n", shown)
        shown = self.shown("full", lambda report: report.update({"complete": False, "kind": "launch"}))
        self.assertRegex(shown, r"\n  the launch took at least 2\.003 s, ")
        whole = self.shown("full", lambda report: None)
        self.assertRegex(whole, r"\n  hung for 2\.003 s, ")
        self.assertNotIn("nobody wrote its end", whole)

    def cause_of_a_lock(self, *names, program="/usr/bin/python3.11", tree=None, detail="blocked in futex at 0xa5b8f0 for 1.503 s"):
        """What is said of a hang for 2 s, 1.5 of them in a futex, in which these functions of the interpreter ("": one
        without a name; "a.b": the library's; "py:": a script's) stand around the wait, innermost first. `tree`: the part of
        the time that the call tree has there."""
        def frame(name):
            module, name = (0, name[5:]) if name.startswith("libc:") else (2, name[4:]) if name.startswith("ext:") else (1, name)
            made = {"pc": "0x1", "module": module, "offset": "0x1", "trust": "cfi"}
            if name.startswith("py:"):
                return {**made, "function": name[3:], "inlined": True, "language": "python"}
            return {**made, "function": name} if name else made

        def change(report):
            report["modules"] = [{"path": path, "base": "0x0", "size": 1} for path in
                                 ("/lib/libc.so.6", program, "/lib/libextension.so")]
            frames = [frame(name) for name in names]
            report["hot_stack"].update({"frames": [{**each, "share": 0.75} for each in frames], "share": 0.75, "cut": 0,
                                        "duration_ns": 1500 * 10 ** 6})
            report["cause"] = {"kind": "lock", "share": 0.75, "detail": detail, "syscall": "futex", "lock_address": "0xa5b8f0"}
            report["threads"] = [{"tid": 11, "name": "loop", "watched": True, "cpu_percent": 30.0}, {"tid": 12, "name": "regex", "cpu_percent": 99.0},
                                 {"tid": 13, "name": "idle", "cpu_percent": 1.0}, {"tid": 14, "name": "waits"}]
            report.pop("samples", None)
            if tree is not None:
                nodes = [{"frame": len(frames) - 1 - i, "parent": i - 1, "time_ns": int(tree * 2 * 10 ** 9), "samples": 9} for i in
                         range(len(frames))]
                report["samples"] = {"tree": {"frames": frames, "nodes": nodes}}
        return re.search(r"  cause: ((?:.*\n)(?:  meanwhile .*\n)*)", self.shown("full", change))[1]

    def test_a_wait_for_pythons_interpreter_lock_is_called_that(self):
        said = "lock: waited for Python's interpreter lock (GIL) for 1.503 s\n" \
               "  meanwhile thread 12 (regex) ran, with 99 % of a processor\n"
        wait = ["libc:__futex_abstimed_wait_common", "libc:pthread_cond_timedwait"]
        for callers in (["", "PyEval_RestoreThread", ""], ["", "PyEval_AcquireThread"], ["", "", "PyGILState_Ensure", "ext:call_back"],
                        ["take_gil.isra.0", "acquire_timed"], ["PyCOND_TIMEDWAIT", "take_gil", "_PyThreadState_Attach", "work"],
                        ["", "", "py:compute", "py:main", "_PyEval_EvalFrameDefault"], ["_PyEval_EvalFrameDefault"]):
            for tree in (None, 0.75, 0.7):
                self.assertEqual(said, self.cause_of_a_lock(*wait, *callers, tree=tree), callers)
        clock = ["libc:", "libc:___pthread_cond_clockwait64", "", "PyEval_RestoreThread"]
        self.assertEqual(said, self.cause_of_a_lock(*clock))
        self.assertEqual(said, self.cause_of_a_lock(*clock, program="/opt/lib/libpython3.13.so.1.0"))
        self.assertEqual(said, self.cause_of_a_lock(*clock, program="/opt/bin/embeds"))  # nothing else waits there

    def test_no_other_lock_is_taken_for_pythons(self):
        other = "lock: blocked in futex at 0xa5b8f0 for 1.503 s\n"
        wait, gil = ["libc:__futex_abstimed_wait_common", "libc:pthread_cond_timedwait"], ["", "PyEval_RestoreThread"]
        bytecode = "_PyEval_EvalFrameDefault"
        for stack in (["libc:__futex_abstimed_wait_common", "libc:__new_sem_wait_slow64", "PyThread_acquire_lock_timed", "", bytecode],
                      [*wait, "PyThread_acquire_lock_timed", "", bytecode],  # where there are no semaphores
                      [*wait, "", "PyThread_acquire_lock_timed", "", "py:main", bytecode],
                      ["libc:", "libc:pthread_cond_wait", *gil], ["libc:", "libc:pthread_mutex_lock", *gil],
                      [*wait, "ext:wait_for_result", "", bytecode], [*wait, "ext:", "PyEval_RestoreThread"],
                      [*wait, "", "ext:call", bytecode], [*wait, "", "PyObject_Vectorcall", bytecode],
                      [*wait, "", "", "", "", "", bytecode], wait, [*wait, ""]):
            self.assertEqual(other, self.cause_of_a_lock(*stack), stack)
            self.assertEqual(other, self.cause_of_a_lock(*stack, tree=0.75), stack)
        # a program with the interpreter linked in may have a condition of its own there
        self.assertEqual(other, self.cause_of_a_lock(*wait, "", bytecode, program="/opt/bin/embeds"))
        # half of the time went to another lock
        self.assertEqual(other, self.cause_of_a_lock(*wait, *gil, tree=0.37))
        ring = "deadlock: thread 11 waits for 12 waits for 11"
        self.assertEqual("lock: " + ring + "\n", self.cause_of_a_lock(*wait, *gil, detail=ring))


if __name__ == "__main__":
    main()
