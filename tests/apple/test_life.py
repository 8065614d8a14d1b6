# SPDX-License-Identifier: MIT
"""What the next start of a program knows of a run that ended: in a hang, killed, out of memory, at a stop; and its children."""

import glob
import json
import os
import subprocess
import tempfile

from support_apple import CPUS, RUNNERS, AppleTest, execute, folder_of, library, linked, main


BUILT = {}


def program_of(cpu):
    """The same file for each run: a file that is linked again has another UUID, as an update has."""
    if cpu not in BUILT:
        BUILT[cpu] = linked(cpu, "life", library(cpu, "libhangdog.1.dylib"))
    return BUILT[cpu]


class Life(AppleTest):
    def ended(self, cpu, spool, how, kill=True):
        """Runs the program, and kills it once it is ready."""
        program = program_of(cpu)
        folders = (os.path.dirname(library(cpu, "libhangdog.1.dylib")),)
        if not kill:
            done = execute(cpu, program, spool, how, folders=folders)
            self.assertEqual((0, ""), (done.returncode, done.stdout), done.stderr)
            return
        words = [word for f in (folder_of(cpu), *folders) for word in ("-L", f)]
        with subprocess.Popen([*RUNNERS[cpu], os.path.join(folder_of(cpu), "apple-loader"), *words, program, spool, how],
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual("ready\n", process.stdout.readline())
            process.kill()

    def reports(self, spool, kind):
        found = []
        for path in sorted(glob.glob(os.path.join(spool, "*.json"))):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            if report["kind"] == kind:
                found.append(report)
        return found

    def test_the_next_start_knows_how_a_run_ended(self):
        for cpu in CPUS:
            for how, end in (("hang", "fatal-hang"), ("pressure", "out-of-memory"), ("wait", "killed")):
                with self.subTest(cpu=cpu, how=how), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                    self.ended(cpu, spool, how)
                    self.ended(cpu, spool, "stop", kill=False)
                    dead, last = self.reports(spool, "session")
                    self.assertEqual((end, False), (dead["session"]["end"], dead["complete"]))
                    self.assertEqual((end, True), (last["session"]["previous_end"], last["complete"]))
                    self.assertEqual("life", dead["app"]["name"])
                    self.assertEqual(1 if how == "hang" else 0, len(self.reports(spool, "fatal-hang")))
                    if how == "hang":
                        self.assertIn(self.reports(spool, "fatal-hang")[0]["process"]["role"], ("unspecified", "foreground"))
                        self.assertGreater(self.reports(spool, "fatal-hang")[0]["duration_ns"], 1_400_000_000)
                        self.assertEqual([], glob.glob(os.path.join(spool, ".*.open")))

    def test_a_stop_is_a_clean_end(self):
        for cpu in CPUS:
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                self.ended(cpu, spool, "stop", kill=False)
                self.ended(cpu, spool, "stop", kill=False)
                first, second = self.reports(spool, "session")
                self.assertNotIn("previous_end", first["session"])
                self.assertEqual("clean", second["session"]["previous_end"])

    # qemu's user mode ends in a child that starts threads ("qemu_plugin_vcpu_init_hook: assertion failed")
    def test_a_child_is_not_watched_and_may_be(self):
        for cpu in CPUS[:1] if CPUS[0] == "x86_64" else ():
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                dylib = library(cpu, "libhangdog.1.dylib")
                self.passes(cpu, linked(cpu, "forks", dylib), spool, folders=(os.path.dirname(dylib),))
                hangs = [(report["app"]["name"], report["complete"]) for report in self.reports(spool, "hang")]
                self.assertEqual([("child", True), ("parent", True), ("parent", True)], sorted(hangs))
                # the child has a record of its own, not the parent's mapped one
                sessions = {report["app"]["name"]: report for report in self.reports(spool, "session")}
                self.assertEqual({"child", "parent"}, set(sessions))
                self.assertEqual([1, 2], [sessions[name]["session"]["hangs"] for name in ("child", "parent")])
                self.assertNotEqual(sessions["child"]["app"]["session"], sessions["parent"]["app"]["session"])


if __name__ == "__main__":
    main()
