# SPDX-License-Identifier: MIT
"""Reports of programs that link the library, as the command tells them."""

import datetime
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from support_side_by_side import SideBySide
from support_run import BUILD, HANGDOG, SANITIZER, environment, main, schema_errors, wait_until

LIBRARY_HANG = os.path.join(BUILD, "tests/programs/library-hang")


class Fatal(SideBySide):
    def begin(self, kind, spool="spool"):
        return self.start([LIBRARY_HANG, spool, kind], watched=False)

    def truth_and_duration(self, runtime, age):
        """Kills a program of that spool when its hang is so old; by the clock, and as its report has it."""
        folder = self.make_folder()
        env = environment({"XDG_RUNTIME_DIR": runtime} if runtime else {})
        if not runtime:
            env.pop("XDG_RUNTIME_DIR", None)
        with subprocess.Popen([LIBRARY_HANG, folder, "long"], env=env) as program:
            try:
                wait_until(lambda: [name for name in os.listdir(folder) if name.endswith(".open")], "its note")
                name = max(name for name in os.listdir(folder) if name.endswith(".json"))  # a busy machine makes a hang before it
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    at = json.load(file)["started_at"]
                began = datetime.datetime.fromisoformat(at[:26] + "+00:00").timestamp()
                time.sleep(max(0, began + age - time.time()))
                truth = time.time() - began
            finally:
                program.kill()
        shown = subprocess.run([HANGDOG, "show", "latest", "--json", "--no-symbols", "--spool", folder], text=True,
                               env=env, capture_output=True, timeout=60, check=True).stdout
        self.assertEqual("fatal-hang", json.loads(shown)["kind"])
        return truth, json.loads(shown)["duration_ns"] / 1e9

    def tell_the_duration(self, runtime):
        for age in (0.35, 0.9, 1.7, 2.8, 6.9):
            truth, told = self.truth_and_duration(runtime, age)
            self.assertGreaterEqual(told, 0.9 * truth, "%.2f s of %.2f s" % (told, truth))
            self.assertLessEqual(told, truth + 0.01)

    def beside_the_duration_in_the_runtime_folder(self):
        runtime = self.make_folder()
        self.tell_the_duration(runtime)
        self.assertEqual(5, len(os.listdir(runtime)))

    def beside_the_duration_without_a_runtime_folder(self):
        before = {name for name in os.listdir("/dev/shm") if name.endswith(".open")}
        self.tell_the_duration(None)
        for name in os.listdir("/dev/shm"):
            if name.endswith(".open") and name not in before:
                os.unlink("/dev/shm/" + name)

    def beside_the_duration_in_the_spool(self):
        self.tell_the_duration("/proc/self")

    def notes(self, program):
        return [name for name in program.names() if name.endswith(".open")]

    def kinds(self, program):
        done = subprocess.run([HANGDOG, "list", "--json", "--no-symbols", "--spool", program.spool], text=True,
                              env=environment(), capture_output=True, timeout=60, check=True)
        # On a busy machine its start is a slow launch.
        return [report["kind"] for report in json.loads(done.stdout) if report["kind"] != "launch"]

    def beside_one_that_is_killed_in_a_hang(self):
        program = self.begin("long")
        wait_until(lambda: self.notes(program), "its note")
        self.assertEqual("hang", self.kinds(program)[-1])
        program.process.send_signal(signal.SIGKILL)
        program.wait()
        self.assertEqual("fatal-hang", self.kinds(program)[-1])
        (note,) = self.notes(program)
        shown = subprocess.run([HANGDOG, "show", "latest", "--json", "--spool", program.spool], text=True,
                               env=environment(), capture_output=True, timeout=60, check=True).stdout
        report = json.loads(shown)
        self.assertEqual((".%s.open" % report["id"], "fatal-hang", False), (note, report["kind"], report["complete"]))
        self.assertEqual([], schema_errors(report))
        # A note whose report is gone goes when the next hang leaves one.
        self.begin("short", program.spool).wait()
        self.assertEqual(("fatal-hang", [note]), (self.kinds(program)[0], self.notes(program)))
        os.unlink(pathlib.Path(program.spool) / (report["id"] + ".json"))
        self.begin("short", program.spool).wait()
        self.assertEqual([], self.notes(program))
        self.assertNotIn("fatal-hang", self.kinds(program))

    def beside_one_that_goes_to_the_background_in_a_hang_and_is_killed(self):
        """Scenario 13."""
        program = self.begin("background")
        wait_until(lambda: self.notes(program), "its note")
        time.sleep(1.5)
        program.process.send_signal(signal.SIGKILL)
        program.wait()
        shown = subprocess.run([HANGDOG, "show", "latest", "--json", "--spool", program.spool], text=True,
                               env=environment(), capture_output=True, timeout=60, check=True).stdout
        report = json.loads(shown)
        self.assertEqual([], schema_errors(report))
        self.assertEqual(("fatal-hang", "foreground"), (report["kind"], report["loop"]["state"]))
        self.assertGreater(report["duration_ns"], 1.4e9)
        self.assertGreater(report["loop"]["background_ns"], 0)

    def beside_those_that_end_by_themselves(self):
        for kind in ("short", "exit"):
            program = self.begin(kind)
            self.assertEqual(0, program.wait())
            self.assertEqual([], self.notes(program))
            self.assertIn("hang", self.kinds(program))
            self.assertNotIn("fatal-hang", self.kinds(program))


class Live(unittest.TestCase):
    """hangdog_report_now(), called by another thread while the main thread hangs in pause()."""

    def printed(self, form):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([LIBRARY_HANG, folder, form], text=True, capture_output=True, timeout=60, check=True).stdout

    def test_json_fits_the_schema_and_has_names_by_show(self):
        text = self.printed("json")
        report = json.loads(text)
        self.assertEqual([], schema_errors(report))
        self.assertEqual(("live", True), (report["kind"], report["complete"]))
        (watched,) = [thread for thread in report["threads"] if thread.get("watched")]
        self.assertEqual(("blocked", "pause", report["app"]["pid"]), (watched["state"], watched["syscall"], watched["tid"]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "live.json")
            pathlib.Path(path).write_text(text, encoding="utf-8")
            told = subprocess.run([HANGDOG, "show", path], text=True, capture_output=True, timeout=60, check=True).stdout
            self.assertRegex(told, r"^live report, library-hang\[\d+\], ")
            self.assertRegex(told, r'(?s)"library-hang" \(watched\)  waits in pause\n.*    main +library-hang.c:\d+\n')
            shown = json.loads(subprocess.run([HANGDOG, "show", "--json", path], text=True, capture_output=True, timeout=60, check=True).stdout)
        (watched,) = [thread for thread in shown["threads"] if thread.get("watched")]
        frames = [(frame.get("function"), os.path.basename(frame.get("file", ""))) for frame in watched["stack"]["frames"]]
        self.assertIn(("main", "library-hang.c"), frames)

    def test_text_names_each_thread(self):
        text = self.printed("text")
        self.assertRegex(text, r"\Alibrary-hang\[\d+\], %d threads, \d{4}-\S+Z\nthread \d+ \"library-hang\""
                         % (3 if SANITIZER == "thread" else 2))  # the sanitizer has one of its own
        self.assertRegex(text, r'(?m)^thread \d+ "library-hang" \(watched\)  blocked in pause\n(  /\S+\+0x[0-9a-f]+\n)+')


if __name__ == "__main__":
    main()
