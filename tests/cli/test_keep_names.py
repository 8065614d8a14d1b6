# SPDX-License-Identifier: MIT
"""The names that a report was shown with stay in it, when the program is gone too."""

import json
import os
import re
import shutil
import unittest

from support_run import main
from test_cli import BUILD, Command, run

PLAIN_HANG = BUILD / "tests" / "programs" / "plain-hang"


def functions(report):
    return [frame.get("function") for frame in report["hot_stack"]["frames"]]


class KeepNames(Command):
    def hang(self, *options):
        """Runs a copy of a program; its report's file."""
        self.program = self.path / "plain-hang"
        shutil.copy(PLAIN_HANG, self.program)
        done = run("run", *options, "--spool", self.spool, "--", self.program)
        self.assertEqual(3, done.returncode, done.stderr)  # the program's own
        (file,) = (path for path in self.spool.glob("*.json")
                   if json.loads(path.read_text(encoding="utf-8"))["kind"] == "hang")
        return file

    def show(self, *options):
        done = run("show", "latest", "--spool", self.spool, *options)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def shown(self):
        """Without the line that says why other frames have no names."""
        return re.sub(r"(?m)^ +\(?no symbols for .*\n", "", self.show())

    def test_names_that_were_told_stay(self):
        file = self.hang()
        told = json.loads(file.read_text(encoding="utf-8"))
        self.assertIn("main", functions(told))
        shown = self.shown()
        self.program.unlink()
        self.assertEqual(shown, self.shown())
        self.assertEqual(functions(told), functions(json.loads(self.show("--json"))))

    def test_names_that_were_shown_stay(self):
        file = self.hang("--quiet")
        self.assertNotIn("main", functions(json.loads(file.read_text(encoding="utf-8"))))
        file.chmod(0o640)
        os.utime(file, ns=(10**18, 10**18))
        shown = self.shown()
        kept = file.stat()
        self.assertEqual((0o640, 10**18), (kept.st_mode & 0o777, kept.st_mtime_ns))
        self.assertEqual(shown, self.shown())
        self.assertEqual(kept.st_ino, file.stat().st_ino)  # nothing more was known, so nothing was written
        self.program.unlink()
        self.assertEqual(shown, self.shown())
        self.assertEqual([file.name], [path.name for path in self.spool.glob("*.json") if path.samefile(file)])

    def test_what_is_not_kept(self):
        file = self.hang("--quiet")
        raw = file.read_text(encoding="utf-8")
        elsewhere = self.path / "mailed.json"
        elsewhere.write_text(raw, encoding="utf-8")
        run("show", elsewhere)
        self.assertEqual(raw, elsewhere.read_text(encoding="utf-8"))
        run("show", "latest", "--spool", self.spool, "--no-symbols")
        self.assertEqual(raw, file.read_text(encoding="utf-8"))
        other = self.path / "second-name.json"
        os.link(file, other)  # a link could be to a file of another program
        self.show()
        self.assertEqual(raw, file.read_text(encoding="utf-8"))
        self.assertEqual([], list(self.spool.glob(".*.tmp")))

    @unittest.skipUnless(os.geteuid() == 0, "needs a file of another user")
    def test_a_file_of_another_user(self):
        file = self.hang("--quiet")
        raw = file.read_text(encoding="utf-8")
        os.chown(file, 65534, 65534)
        self.show()
        self.assertEqual((raw, 65534), (file.read_text(encoding="utf-8"), file.stat().st_uid))

    def test_debug_information_that_came_later(self):
        file = self.hang()
        shown = self.shown()
        report = json.loads(file.read_text(encoding="utf-8"))
        frames = [frame for frame in report["hot_stack"]["frames"] if frame.get("function") == "main"]
        self.assertEqual(1, len(frames))
        del frames[0]["file"], frames[0]["line"]
        file.write_text(json.dumps(report), encoding="utf-8")
        self.assertEqual(shown, self.shown())


if __name__ == "__main__":
    main()
