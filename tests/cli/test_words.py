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
                         r"(?s)ran for 12\.0 s: 1 hang, .*  1 turn of the loop.*"
                         r"  1 report dropped: it was .*  1 more hang not reported: .*; of 3\.0 s\n")
        self.assertRegex(self.shown("session", count(2)),
                         r"(?s)ran for 12\.0 s: 2 hangs, .*  2 turns of the loop.*"
                         r"  2 reports dropped: they were .*  2 more hangs not reported: .*; the longest 3\.0 s\n")
        self.assertRegex(self.shown("full", count(1), "--threads"),
                         r"(?s)\(1 frame of the middle is not in the report\).*  1 thread not captured\n"
                         r".*  1 sample, .* 1 system call interrupted")
        self.assertRegex(self.shown("full", count(2), "--threads"),
                         r"(?s)\(2 frames of the middle are not in the report\).*  2 threads not captured\n"
                         r".*  2 samples, .* 2 system calls interrupted")

    def test_a_hang_under_a_debugger_says_so(self):
        said = "\n  note a debugger or tracer was attached\n"
        self.assertIn(said, self.shown("full", lambda report: report["process"].update({"debugger": True})))
        self.assertNotIn(said, self.shown("full", lambda report: report["process"].pop("debugger", None)))

    def test_idle_is_that_share_of_the_loops_time(self):
        """The times of several loops are summed up: they say nothing of a part of the run."""
        def times(used, idle, busy):
            times = {"used_ns": used * 10 ** 9, "idle_ns": idle * 10 ** 9, "busy_ns": busy * 10 ** 9}
            return self.shown("session", lambda report: report["session"].update(times))
        self.assertIn(" ran for 1 min 40 s: 1 hang, 2.0 s lost (2%), ", times(100, 99, 101))
        self.assertIn("\n  50% idle\n", times(100, 99, 101))
        self.assertIn("\n  75% of it idle\n", times(100, 75, 25))
        self.assertIn("\n  90% of it idle\n", times(100, 45, 5))  # a loop that was watched late
        self.assertNotIn(" idle\n", times(100, 0, 0))

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
        self.assertNotIn("not sampled", whole)
        shown = self.shown("full", seen_for(0.2, "running"))
        self.assertRegex(shown, r"\A.*\n  why .*\n  > write-report\+0x\w+ +16%\n")
        self.assertIn("\n  note 80% not sampled: the thread ran and did not answer; it may block the signal, handle it, or be "
                      "under a filter\n", shown)
        self.assertIn("\n  note 80% not sampled\n", self.shown("full", seen_for(0.2, "blocked")))
        shown = self.shown("brief", seen_for(0.2))
        self.assertIn("\n  note 80% not sampled, or in stacks that start elsewhere\n", shown)

    def command_of_repeat(self, folder, repeated):
        """The command that the text of a repeat names, and what it does there."""
        report = {**json.loads(self.reports["brief"]), "repeat_of": repeated}
        path = folder / "a repeat.json"
        path.write_text(json.dumps(report))
        shown = subprocess.run([HANGDOG, "show", path], check=True, capture_output=True, text=True).stdout
        command = re.search(r", which has all: (.*)\n", shown)[1]
        return command, subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)

    def test_the_command_for_what_a_repeat_repeats_can_be_pasted(self):
        repeated = json.loads(self.reports["full"])["id"]
        with tempfile.TemporaryDirectory(prefix="hangdog test ") as name:
            folder = pathlib.Path(name)
            command, _ = self.command_of_repeat(folder, repeated)  # it is in a spool, or nowhere
            self.assertTrue(command.endswith(" show " + repeated[-6:]), command)
            (folder / (repeated + ".json")).write_text(self.reports["full"])
            command, done = self.command_of_repeat(folder, repeated)  # it was copied, too
            self.assertEqual(0, done.returncode, command + done.stderr)
            self.assertIn("hang of 2.0 s", done.stdout)
            for hostile in ("1; touch made #", "$(touch made)", "`touch made`", "1\ntouch made", "1' ; touch made '"):
                command, done = self.command_of_repeat(folder, hostile)
                self.assertEqual(1, done.returncode, command)
                self.assertFalse((folder / "made").exists(), command)

    def test_a_hang_whose_end_nobody_wrote(self):
        """It goes on, its process died, or the disk was full: the report is the same."""
        shown = self.shown("full", lambda report: report.update({"complete": False}))
        self.assertRegex(shown, r"\Ahang of at least 2\.0 s in ")
        self.assertIn("\n  note no end on record: frozen still, killed, or disk full\n", shown)
        shown = self.shown("full", lambda report: report.update({"complete": False, "kind": "launch"}))
        self.assertRegex(shown, r"\Aslow launch of at least 2\.0 s in ")
        whole = self.shown("full", lambda report: None)
        self.assertRegex(whole, r"\Ahang of 2\.0 s in ")
        self.assertNotIn("no end on record", whole)

    def cause_of_a_lock(self, *names, program="/usr/bin/python3.11", tree=None, detail="waited for a condition or lock, owner unknown (75% of the time)", **more):
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
            report["cause"] = {"kind": "lock", "share": 0.75, "detail": detail, "syscall": "futex", "lock_address": "0xa5b8f0", **more}
            report["threads"] = [{"tid": 11, "name": "loop", "watched": True, "cpu_percent": 30.0}, {"tid": 12, "name": "regex", "cpu_percent": 99.0},
                                 {"tid": 13, "name": "idle", "cpu_percent": 1.0}, {"tid": 14, "name": "waits"}]
            report.pop("samples", None)
            if tree is not None:
                nodes = [{"frame": len(frames) - 1 - i, "parent": i - 1, "time_ns": int(tree * 2 * 10 ** 9), "samples": 9} for i in
                         range(len(frames))]
                report["samples"] = {"tree": {"frames": frames, "nodes": nodes}}
        return re.search(r"\n  why  (.*\n)", self.shown("full", change))[1]

    def test_a_wait_for_pythons_interpreter_lock_is_called_that(self):
        said = "waited for Python's GIL (75% of the time); thread 12 \"regex\" used 99% of a CPU\n"
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
        other = "waited for a condition or lock, owner unknown (75% of the time)\n"
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
        ring = "deadlock: 11 -> 12 -> 13 -> 11"
        self.assertEqual(ring + "\n", self.cause_of_a_lock(*wait, *gil, detail=ring, deadlock=[11, 12, 13]))


if __name__ == "__main__":
    main()
