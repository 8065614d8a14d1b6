# SPDX-License-Identifier: MIT
"""The folders of the apps, where the reports are looked for without --spool."""

import fcntl
import os
import pathlib
import subprocess
import unittest

from support_run import PATIENCE, environment, main, wait_until
from test_cli import HANGDOG, NEWEST, Command, run

NOBODY = 65534


class Spools(Command):
    def setUp(self):
        super().setUp()
        self.apps = self.path / "state" / "hangdog"
        self.spool = self.apps / "app"
        self.path.chmod(0o755)

    def run_here(self, *arguments):
        """By somebody whom a folder's mode stops: not root."""
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            return run(*arguments, env={"XDG_STATE_HOME": str(self.path / "state")}, **options)
        except PermissionError as error:
            return self.skipTest("nobody may not run the build: %s" % error)

    def test_a_folder_that_cannot_be_read_hides_no_others(self):
        (id,) = self.write("full")
        for folder in (self.path / "state", self.apps, self.spool):
            folder.chmod(0o755)
        (self.spool / f"{id}.json").chmod(0o644)
        closed = self.apps / "closed"
        closed.mkdir(mode=0)
        complaint = r"\Ahangdog: cannot read %s: permission denied \(owner root\)\n\Z" % closed
        for arguments, status, words in ((["list"], 1, "write-report"), (["list", "--json"], 1, id),
                                         (["show", "latest"], 0, "hang of "), (["show", id], 0, "hang of ")):
            done = self.run_here(*arguments, "--no-symbols")
            self.assertRegex(done.stderr, complaint)
            self.assertEqual(status, done.returncode, arguments)
            self.assertIn(words, done.stdout)
            if arguments == ["list"]:
                self.assertEqual(1, len(done.stdout.splitlines()), done.stdout)
        (self.spool / f"{id}.json").unlink()
        self.assertIn("that can be read", self.run_here("list").stderr)
        self.assertIn("that can be read", self.run_here("show", "latest").stderr)

    def test_links_in_a_spool_are_passed_over(self):
        """Another user may have put them there."""
        (id,) = self.write("full")
        outside = self.path / "outside.json"
        (self.spool / f"{id}.json").rename(outside)
        (self.spool / f"{id}.json").symlink_to(outside)
        self.assertIn("no report", run("list", "--spool", self.spool, "--no-symbols").stderr.lower())
        self.assertEqual(1, run("show", id, "--spool", self.spool).returncode)
        self.assertEqual(0, run("show", outside, "--no-symbols").returncode)

    def test_the_list_does_not_send_to_itself(self):
        self.write("full", "full")
        for folder in (self.path / "state", self.apps, self.spool):
            folder.chmod(0o755)
        first, second = sorted(self.spool.iterdir())
        first.chmod(0)
        second.chmod(0o644)
        done = self.run_here("list", "--no-symbols")
        self.assertEqual((1, 1), (done.returncode, len(done.stdout.splitlines())), done.stderr)
        self.assertRegex(done.stderr, r"\Ahangdog: cannot read [^\n]*\.json: permission denied \(owner root\)\n\Z")

    def test_names_of_apps_may_begin_with_a_dot(self):
        """As of a program .app."""
        for name in (".app", "..app"):
            self.spool = self.apps / name
            self.write("full")
        done = run("list", env={"XDG_STATE_HOME": str(self.path / "state")})
        self.assertEqual((0, 2, ""), (done.returncode, len(done.stdout.splitlines()), done.stderr))

    def test_what_is_too_large_for_a_report_is_not_read(self):
        """A foreign one of many small parts would take all memory."""
        (id,) = self.write("full")
        big = self.spool / f"{NEWEST}.json"
        with open(big, "wb") as file:
            file.truncate((16 << 20) + 1)
        done = run("list", "--no-symbols", env={"XDG_STATE_HOME": str(self.path / "state")})
        self.assertEqual((0, 1), (done.returncode, len(done.stdout.splitlines())), done.stderr)
        self.assertRegex(done.stderr, r"\Ahangdog: [^\n]*%s[^\n]*is not a Hangdog report: too large[^\n]*\n\Z" % big)
        self.assertEqual(0, run("show", id, "--spool", self.spool, "--no-symbols").returncode)

    def run_while_it_goes(self, report, *arguments):
        """The command, which looks at `report` after one that it has to complain of: there it waits for its stderr."""
        ours, its = os.pipe()
        with open(ours, "rb") as errors:
            filling = b"-" * fcntl.fcntl(its, fcntl.F_SETPIPE_SZ, 4096)
            os.write(its, filling)
            with subprocess.Popen([HANGDOG, *arguments, "--spool", self.spool, "--no-symbols"], stdout=subprocess.PIPE,
                                  stderr=its, text=True, env=environment()) as done:
                os.close(its)

                def waits():
                    calls = pathlib.Path("/proc/%d/task" % done.pid).glob("*/syscall")
                    return any(call.read_text(encoding="ascii").split()[1:2] == ["0x2"] for call in calls)
                try:
                    wait_until(waits, "its complaint")
                except BaseException:
                    done.kill()
                    raise
                report.unlink()
                errors.read(len(filling))
                out, _ = done.communicate(timeout=PATIENCE)
                return out, errors.read().decode()

    def test_what_goes_while_it_is_looked_for_is_passed_over(self):
        """For the limits, say: a program goes on writing."""
        for arguments, order in ((["list", "-v"], 1), (["show", "latest"], -1)):
            first, gone, last = sorted(self.write("full", "full", "full"))[::order]
            (self.spool / f"{first}.json").write_text("{")
            out, errors = self.run_while_it_goes(self.spool / f"{gone}.json", *arguments)
            self.assertRegex(errors, r"\Ahangdog: [^\n]*%s[^\n]* is cut off in line 1[^\n]*\n\Z" % first)
            self.assertIn(last[-6:] if order == 1 else "hang of ", out)
            self.assertNotIn(gone, out)
            for id in (first, last):
                (self.spool / f"{id}.json").unlink()


if __name__ == "__main__":
    main()
