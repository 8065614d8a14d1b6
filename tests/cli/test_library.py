# SPDX-License-Identifier: MIT
"""Reports of programs that link the library, as the command tells them."""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from support_beside import SideBySide
from support_run import BUILD, HANGDOG, environment, main, schema_errors, wait_until

LIBRARY_HANG = os.path.join(BUILD, "tests/programs/library-hang")


class Fatal(SideBySide):
    def begin(self, kind, spool="spool"):
        return self.start([LIBRARY_HANG, spool, kind], watched=False)

    def notes(self, program):
        return [name for name in program.names() if name.endswith(".open")]

    def kinds(self, program):
        done = subprocess.run([HANGDOG, "list", "--json", "--no-symbols", "--spool", program.spool], text=True,
                              env=environment(), capture_output=True, timeout=60, check=True)
        return [report["kind"] for report in json.loads(done.stdout)]

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

    def beside_those_that_end_by_themselves(self):
        for kind in ("short", "exit"):
            program = self.begin(kind)
            self.assertEqual(0, program.wait())
            self.assertEqual([], self.notes(program))
            self.assertIn("hang", self.kinds(program))
            self.assertNotIn("fatal-hang", self.kinds(program))


if __name__ == "__main__":
    main()
