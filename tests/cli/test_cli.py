# SPDX-License-Identifier: MIT
"""The command's words, status and errors: good uses of list and show, and every bad use, one line each."""

import datetime
import fcntl
import json
import os
import pathlib
import pty
import pwd
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest

from support_run import main, need_terminal

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
HANGDOG = str(BUILD / "bin" / "hangdog")
WRITE_REPORT = str(BUILD / "tests" / "programs" / "write-report")
NEWEST = "ffffffff-ffff-7fff-bfff-ffffffffffff"  # an id
COMMANDS = ["agent", "run", "attach", "top", "dump", "list", "stats", "show", "serve", "upload", "upload-symbols", "export", "doctor"]
KINDS = ["full", "session", "nasty", "deadlock", "brief"]


def run(*arguments, env=None, stdout=subprocess.PIPE, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("XDG_STATE_HOME", "NO_COLOR")}
    environment.update(env or {})
    return subprocess.run([HANGDOG, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          errors="replace", env=environment, timeout=120, **options)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.spool = self.path / "state" / "hangdog" / "write-report"

    def write(self, *kinds):
        out = subprocess.run([WRITE_REPORT, self.spool, *kinds], check=True, capture_output=True, text=True).stdout
        return out.split()

    def assert_error(self, done, *words, status=1):
        """One line that says what was being done, why it failed, what to do."""
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Ahangdog: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, done.stderr)


    def on_a_terminal(self, *arguments, columns=0, **env):
        need_terminal()
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        done = run(*arguments, "--spool", self.spool, env={"TERM": "xterm", "PAGER": "cat", **env}, stdout=terminal)
        self.assertEqual(done.returncode, 0)
        os.close(terminal)
        out = b""
        try:
            while data := os.read(main, 65536):
                out += data
        except OSError:  # the terminal's other end is closed
            pass
        os.close(main)
        return out.decode()


class Help(Command):
    def test_version_and_help_are_no_errors(self):
        for arguments in (["--version"], ["-V"], ["list", "-V"]):
            self.assertRegex(run(*arguments).stdout, r"\Ahangdog \d+\.\d+\.\d+( \([0-9a-f]{7,}(-dirty)?\))?\n\Z")
        for arguments in (["--help"], ["help"], ["-h"], *([word, name] for word in ["help"] for name in COMMANDS),
                          *([name, word] for word in ["--help", "-h"] for name in COMMANDS)):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
            self.assertIn("\nUsage: hangdog ", done.stdout)

    def test_help_that_cannot_be_written(self):
        for arguments in (["--help"], ["--version"], ["run", "--help"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                self.assertIn("No space left", run(*arguments, stdout=full).stderr)

    def test_help_fits_a_terminal_and_has_examples_first(self):
        for command in ([], *([name] for name in COMMANDS)):
            lines = run(*command, "--help").stdout.splitlines()
            self.assertLessEqual(len(lines), 25, command)
            self.assertLessEqual(max(map(len, lines)), 80, [line for line in lines if len(line) > 80])
            usage = lines.index(next(line for line in lines if line.startswith("Usage: ")))
            self.assertTrue(lines[usage + 1].startswith("  hangdog "), lines)

    def test_nothing_asked_is_a_usage_error_with_the_help(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("Usage: hangdog", done.stderr)

    def test_a_reader_that_goes_ends_a_command_silently(self):
        """Also where SIGPIPE is ignored, as under some supervisors."""
        self.write(*["full"] * 3)
        for ignored in False, True:
            for arguments in (["list", "--spool", self.spool], ["--help"], ["list", "--spool", self.spool, "--json"]):
                out, into = os.pipe()
                os.close(out)
                done = run(*arguments, stdout=into, restore_signals=not ignored)
                os.close(into)
                self.assertEqual("", done.stderr, arguments)


class Usage(Command):
    def test_a_program_without_run_before_it(self):
        for words, line in ((["sh", "my app.sh", "-p"], "sh 'my app.sh' -p"), (["/bin/ls"], "/bin/ls")):
            done = run(*words)
            self.assertEqual((2, f"hangdog: unknown command '{words[0]}'; try: {HANGDOG} run -- {line}\n"), (done.returncode, done.stderr))

    def test_wrong_uses(self):
        for arguments, words in (
            (["bogus"], ["unknown command 'bogus'", "try: "]),
            (["rnu"], ["unknown command 'rnu'; did you mean 'run'?"]),
            (["/etc/passwd"], ["unknown command '/etc/passwd'; try: ", " --help"]),
            (["--bogus"], ["unknown option '--bogus'"]),
            (["--versoin"], ["unknown option '--versoin'; did you mean '--version'?"]),
            (["help", "run", "extra"], ["unexpected 'extra'"]),
            (["help", "bogus"], ["unknown command 'bogus'"]),
            (["show", "a", "b"], ["one report at a time", "'b'"]),
            (["show", "--bogus", "latest"], ["unknown option '--bogus'", "hangdog show --help"]),
            (["show", "latest", "--spool"], ["'--spool' lacks its value, DIR"]),
            (["show", "-x", "latest"], ["unknown option '-x'"]),
            (["show", "--json=1", "latest"], ["'--json' takes no value"]),
            (["show", "--help=1"], ["'--help' takes no value"]),
            (["show", "--color", "alway", "latest"], ["--color 'alway': did you mean 'always'?"]),
            (["show", "--color", "green", "latest"], ["--color 'green': want one of auto, always, never"]),
            (["run", "-xy", "true"], ["unknown option '-x'"]),
            (["run", "--thr", "500", "true"], ["'--thr' is ambiguous: --threshold, --thread"]),
            (["run", "--thx=5", "true"], ["unknown option '--thx'"]),
            (["run", "--thresold=5", "true"], ["unknown option '--thresold'; did you mean '--threshold'?"]),
            (["list", "--spool", ""], ["--spool '': want DIR"]),
            (["show", "--spool=", "latest"], ["--spool '': want DIR"]),
            (["run", "--on-hang", "", "true"], ["--on-hang '': want COMMAND"]),
            (["list", "x"], ["unexpected 'x'; did you mean '--app x'?"]),
            (["stats", "x"], ["unexpected 'x'; did you mean '--app x'?"]),
            (["top", "--unit=x"], ["unknown option '--unit'; did you mean 'hangdog attach --unit'?"]),
            (["agent", "--user", "x"], ["unknown option '--user'; did you mean 'hangdog attach --user'?"]),
            (["agent", "-t", "9"], ["--threshold '9': want 10ms to 1h, as 2s"]),
            (["agent", "--hook", "none"], ["--hook 'none': want one of"]),
            (["doctor", "-u", ""], ["--unit '': want NAME"]),
            (["run"], ["which program?"]),
            (["run", "--name", "a/b", "true"], ["--name 'a/b': want 1 to 255 bytes without a slash"]),
            (["run", "--name", "..", "true"], ["--name '..'"]),
            (["run", "--name", "n" * 256, "true"], ["want 1 to 255 bytes"]),
            (["run", "--threshold", "9", "true"], ["--threshold '9': want 10ms to 1h, as 2s"]),
            (["run", "--threshold", "2x", "true"], ["--threshold '2x': want 10ms to 1h, as 2s"]),
            (["run", "-t2h", "true"], ["--threshold '2h': want 10ms to 1h, as 2s"]),
            (["run", "--interval", "2s", "true"], ["--interval '2s': want 1ms to 1s, as 20ms"]),
            (["run", "--exec", "--json", "true"], ["--exec and --json exclude each other"]),
            (["run", "--json=", "true"], ["--json '': want FILE"]),
            (["run", "--json=-", "true"], ["--json '-': want a file; standard output is the program's"]),
            (["run", "--reports-per-day", "0", "true"], ["--reports-per-day '0': want a number from 1 to 1000000"]),
            (["list", "--bogus"], ["unknown option '--bogus'", "; try: ", "hangdog list --help\n"]),
        ):
            with self.subTest(arguments=arguments):
                if not any("did you mean" in word for word in words):
                    words = [*words, " try: ", " --help\n"]
                self.assert_error(run(*arguments), *words, status=125 if arguments[0] == "run" else 2)

    def test_a_file_that_cannot_be_opened_ends_a_run_before_its_start(self):
        made = self.path / "made"
        done = run("run", "--json=%s/no/such" % self.path, "touch", made)
        self.assertEqual((125, "", "hangdog: cannot open '%s/no/such': No such file or directory\n" % self.path),
                         (done.returncode, done.stdout, done.stderr))
        self.assertFalse(made.exists())

    def test_options_before_the_command_are_the_commands(self):
        self.write("full")
        for arguments in (["--spool", self.spool, "--json", "list"], ["list", "--json", "--spool", self.spool],
                          ["--spool=%s" % self.spool, "list", "--js"]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr, len(json.loads(done.stdout))), (0, "", 1))

    def test_on_a_terminal_the_command_that_helps_has_a_line_of_its_own(self):
        need_terminal()
        main, terminal = pty.openpty()
        subprocess.run([HANGDOG, "help", "run", "x"], stderr=terminal, check=False, timeout=60)
        os.close(terminal)
        self.assertRegex(os.read(main, 4096).decode(),
                         r"\Ahangdog: unexpected 'x'\r\n  try: [^\n]*hangdog --help\r\n\Z")
        os.close(main)

    def test_colour(self):
        """--color, NO_COLOR, CLICOLOR_FORCE, a terminal: the first that speaks decides."""
        (id,) = self.write("full")
        base = {"NO_COLOR": "", "CLICOLOR_FORCE": ""}
        for options, env, coloured in (([], {}, False), (["--color", "always"], {}, True),
                                       ([], {"CLICOLOR_FORCE": "1"}, True),
                                       ([], {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
                                       (["--color=always"], {"NO_COLOR": "1"}, True),
                                       (["--color", "never"], {"CLICOLOR_FORCE": "1"}, False)):
            out = run("show", "--no-symbols", "--spool", self.spool, id, *options, env={**base, **env}).stdout
            self.assertEqual(coloured, "\033" in out, (options, env))


class Listing(Command):
    def lines(self, *options, **env):
        done = run("list", "--spool", self.spool, *options, env=env)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout.splitlines()

    def change(self, id, **members):
        file = self.spool / f"{id}.json"
        report = json.loads(file.read_text())
        stacks = {name: report.pop(name) for name in list(report)[list(report).index("hot_stack"):]} if "hot_stack" in report else {}
        for name, value in members.items():
            part, _, member = name.partition("__")
            if member:
                report[part][member] = value
            else:
                report[part] = value
        file.write_text(json.dumps({**report, **stacks}) + "\n")  # in the order of a report

    def test_the_newest_is_last_and_every_column_is_there(self):
        ids = self.write("full", "session", "deadlock")
        lines = self.lines()
        self.assertEqual([ids[0][-6:], ids[2][-6:]], [line.split()[-1] for line in lines])
        self.assertRegex(lines[0], r"\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  write-report  hang  2.0\d* s  sleep  1  "
                                   r"inlined_step \(write-report.c:\d+\)  [0-9a-f]{6}\Z")
        (session,) = self.lines("--kind", "session")
        self.assertIn("  session  12.0", session)

    def test_the_shown_part_of_an_id_is_enough_for_show(self):
        ids = self.write(*["full"] * 6)
        before = "0" if ids[1][-9] != "0" else "1"  # they differ at the ninth from the end
        (self.spool / f"{ids[0]}.json").rename(self.spool / f"{ids[0][:-9]}{before}{ids[1][-8:]}.json")
        lines = self.lines("--each")
        self.assertEqual([6] * 4 + [9] * 2, sorted(len(line.split()[-1]) for line in lines))
        for line in lines:
            self.assertEqual(run("show", "--no-symbols", "--spool", self.spool, line.split()[-1]).returncode, 0, line)

    def test_repeats_of_a_run_are_one_row(self):
        """What differs in kind, fingerprint or run, or has no fingerprint, is not."""
        ids = self.write(*["full"] * 7)
        for i, id in enumerate(ids):
            self.change(id, app__session="a", duration_ns=(i + 1) * 10**9)
        self.change(ids[1], repeat_of=ids[0])
        self.change(ids[2], kind="fatal-hang")
        self.change(ids[3], app__session="b")
        self.change(ids[4], fingerprint="f" * 16)
        for id in ids[5:]:
            file = self.spool / f"{id}.json"
            file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "fingerprint"}))
        rows = json.loads(run("list", "--json", "--spool", self.spool).stdout)
        self.assertEqual([2] + [1] * 5, [row["count"] for row in rows])
        first = rows[0]
        # The row stands for the report that has everything; its time is that of the last one.
        self.assertEqual((ids[0], 10**9, 3 * 10**9, 2 * 10**9),
                         tuple(first[name] for name in ("id", "duration_ns", "total_ns", "max_ns")))
        self.assertGreater(first["last_at"], first["started_at"])
        self.assertEqual({"function", "file", "line"}, set(first["own"]))
        self.assertEqual(7, len(self.lines("--each")))
        self.assertRegex(self.lines()[0], r" hang +2\.0\d* s +sleep +2 ")

    def test_the_last_20_rows(self):
        ids = self.write(*["full"] * 25)
        for options, count in ([], 20), (["-n", "3"], 3), (["-n0"], 25), (["--rows=30"], 25):
            done = run("list", "--spool", self.spool, "--each", *options)
            self.assertEqual([id[-6:] for id in ids[25 - count:]], [line.split()[-1][-6:] for line in done.stdout.splitlines()])
            older = "%d older: %s list -n 0 --each --spool %s\n" % (25 - count, HANGDOG, self.spool)
            self.assertEqual(older if count < 25 else "", done.stderr)
        self.assertEqual("", run("list", "--spool", self.spool, "--each", "-q").stderr)
        self.assertEqual(25, len(json.loads(run("list", "--spool", self.spool, "--each", "--json").stdout)))
        done = run("list", "--spool", self.spool, "--each", "--app", "write-report", "-n", "1")
        again = subprocess.run(["sh", "-c", done.stderr.split(": ", 1)[1]], capture_output=True, text=True, check=True)
        self.assertEqual(25, len(again.stdout.splitlines()))

    def test_filters(self):
        ids = self.write("full", "full", "full", "deadlock", "session")
        now = datetime.datetime.now().replace(microsecond=0)
        for id, age in zip(ids, (datetime.timedelta(days=9), datetime.timedelta(days=1), datetime.timedelta(hours=3))):
            when = (now - age).astimezone(datetime.timezone.utc)
            self.change(id, started_at=when.strftime("%Y-%m-%dT%H:%M:%S.000000000Z"))
        self.change(ids[2], app__name="other", kind="fatal-hang")
        day = (now - datetime.timedelta(days=2)).strftime("%Y-%m-%d")
        for options, wanted in ((["--since", "2h"], ids[3:4]), (["--since", "200min"], ids[2:4]),
                                (["--since", "yesterday"], ids[1:4]), (["--since", day], ids[1:4]),
                                (["--since", day + " 12:30"], ids[1:4]), (["--since", "10d"], ids[:4]),
                                (["--app", "other"], ids[2:3]), (["--cause", "lock"], ids[3:4]),
                                (["--kind", "fatal"], ids[2:3]), (["--kind", "fatal-hang"], ids[2:3]),
                                (["--kind", "session"], ids[4:]), (["--cause", "lock", "--app", "other"], [])):
            listed = json.loads(run("list", "--json", "--each", "--spool", self.spool, *options).stdout)
            self.assertEqual(sorted(wanted), sorted(row["id"] for row in listed), options)
        self.assertIn("none of 5 reports matches", run("list", "--spool", self.spool, "--cause", "disk").stderr)
        done = run("list", "--spool", self.spool, "--app", "ohter")
        self.assertEqual((0, "hangdog: no report of 'ohter'; did you mean 'other'?\n"), (done.returncode, done.stderr))
        for words, error in ((["--since", "2026"], "--since '2026': want"), (["--cause", "lokc"], "did you mean 'lock'?"),
                             (["--group"], "did you mean 'hangdog stats'?"), (["-n", "x"], "--rows 'x': want a number")):
            self.assert_error(run("list", "--spool", self.spool, *words), error, status=2)

    def test_a_kind_that_a_row_shows_is_taken_by_the_option(self):
        briefs = {"fatal-hang": "fatal", "background-hang": "background", "too-many-threads": "threads", "frame-drop": "frames"}
        for id, kind in zip(self.write(*["full"] * 4), briefs):
            self.change(id, kind=kind)
        for kind, brief in briefs.items():
            (row,) = self.lines("--kind", brief)
            self.assertEqual((brief, row), (row.split()[3], *self.lines("--kind", kind)))
            (listed,) = json.loads(run("list", "--json", "--kind", brief, "--spool", self.spool).stdout)
            self.assertEqual(kind, listed["kind"])

    def test_names_are_shortened_on_a_terminal_only(self):
        long = "app::Vector<%s>::at(unsigned long)" % ", ".join(["company::Document"] * 50)
        for id, kind, name in zip(self.write("full", "full", "full"), ("hang", "too-many-threads", "hang"),
                                  (long, "f_" * 400, "main")):
            self.change(id, kind=kind)
            file = self.spool / f"{id}.json"
            report = json.loads(file.read_text())
            report["hot_stack"]["frames"][0]["function"] = name
            file.write_text(json.dumps(report))
        self.change(self.write("full")[0], app__name="an-app-of-a-name-that-fills-half-of-a-terminal")
        for columns in 0, 60, 80, 140:
            lines = self.on_a_terminal("list", "--no-symbols", "--each", columns=columns, LC_ALL="C").splitlines()
            self.assertTrue(lines[0].startswith("\033[2mWHEN "), lines[0])
            lines = lines[1:]
            self.assertLessEqual(max(map(len, lines)), columns or 80, lines)
            self.assertEqual(1, len({line.index("  2.0 s  ") for line in lines if "  2.0 s  " in line}), lines)
            if columns >= 80 or columns == 0:
                self.assertIn("...::at(...)" if columns < 140 else "  app::Vector<...>::at(...)", lines[0])
                self.assertRegex(lines[1], r" threads +2\.0\d* s +sleep +1  [f_]+~  [0-9a-f]{6}")
        lines = run("list", "--no-symbols", "--each", "--spool", self.spool).stdout.splitlines()
        self.assertIn("  %s  " % long, lines[0])
        self.assertIn("an-app-of-a-name-that-fills-half-of-a-terminal", lines[3])

    def test_the_default_folder_holds_every_app(self):
        self.write("full")
        other = self.spool.parent / "other"
        shutil.copytree(self.spool, other)
        for env in ({"XDG_STATE_HOME": str(self.path / "state")}, {"HOME": str(self.path)}):
            if "HOME" in env:
                (self.path / ".local").mkdir()
                (self.path / "state").rename(self.path / ".local" / "state")
            done = run("list", "--each", env=env)
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 2), done.stderr)

    def test_without_home_the_folder_is_that_of_the_service_or_of_the_users_entry(self):
        done = run("list", env={"HOME": "", "STATE_DIRECTORY": f"{self.path}:/none"})
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn(f"no reports yet in {self.path}/hangdog; try: {HANGDOG} run -- PROGRAM\n", done.stderr)
        home = pwd.getpwuid(os.geteuid()).pw_dir
        self.assert_error(run("show", "zzz", env={"HOME": ""}), f"no report 'zzz' in {home}/.local/state/hangdog; try: ")

    def test_no_reports_yet_is_no_error(self):
        done = run("list", env={"XDG_STATE_HOME": str(self.path)})
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, r"\Ahangdog: no reports yet in [^\n]*; try: [^\n]* run -- PROGRAM\n\Z")
        self.assertEqual("", run("list", "-q", env={"XDG_STATE_HOME": str(self.path)}).stderr)
        done = run("list", "--json", env={"XDG_STATE_HOME": str(self.path)})
        self.assertEqual((0, [], ""), (done.returncode, json.loads(done.stdout), done.stderr))

    def test_what_cannot_be_read_is_told_beside_the_rest(self):
        self.write("full")
        (self.spool / f"{NEWEST}.json").write_text('{"format": "hangdog-report/1", ')
        done = run("list", "--spool", self.spool)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 1))
        self.assertRegex(done.stderr, r"\A[^\n]* is cut off in line 1\n\Z")
        for command in (["list", "--json"], ["stats"], ["export", "--format", "prometheus"], ["export", "--all", "--format", "collapsed"]):
            done = run(*command, "--spool", self.spool)
            self.assertEqual((0, 1), (done.returncode, len(done.stderr.splitlines())), (command, done))
        (self.spool / f"{NEWEST[:-1]}e.json").write_text("{")
        done = run("list", "--spool", self.spool)
        self.assertEqual("hangdog: 2 of 3 files are not reports (-v)\n", done.stderr)
        self.assertEqual((0, 2), (done.returncode, len(run("list", "-v", "--spool", self.spool).stderr.splitlines())))
        for file in self.spool.glob("*.json"):
            file.write_text("{")
        self.assertEqual(1, run("list", "--spool", self.spool).returncode)  # nothing is right

    def test_the_folder_of_the_apps_folders_is_a_spool_too(self):
        self.write("full")
        done = run("list", "--spool", self.spool.parent)
        self.assertEqual((0, 1, ""), (done.returncode, len(done.stdout.splitlines()), done.stderr))

    def test_files_of_others_are_no_reports(self):
        self.write("full")
        (self.spool / "notes.json").write_text("[]")
        (self.spool / "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz.json").write_text("[]")
        (self.spool / "h.json").symlink_to("nowhere")
        done = run("list", "--spool", self.spool)
        self.assertEqual((done.returncode, len(done.stdout.splitlines()), done.stderr), (0, 1, ""))
        done = run("show", "latest", "--spool", self.spool, "--no-symbols")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("hang of 2.0 s", done.stdout)

    def test_hidden_files_are_not_listed(self):
        (id,) = self.write("full")
        (self.spool / f"{id}.json").rename(self.spool / f".{id}.held")
        self.assertIn("no reports yet", run("list", "--spool", self.spool).stderr)

    def test_a_spool_that_cannot_be_read(self):
        file = self.path / "file"
        file.write_text("")
        self.assert_error(run("list", "--spool", self.path / "none"), "No such file", "--spool")
        self.assert_error(run("list", "--spool", file), "Not a directory", "--spool")
        closed = self.path / "closed"
        closed.mkdir(mode=0)
        if os.geteuid() != 0:
            self.assert_error(run("list", "--spool", closed), "permission denied (owner root)")


class Showing(Command):
    def test_a_report_reads_well(self):
        self.write("full")
        out = run("show", "--spool", self.spool, "latest").stdout
        self.assertRegex(out, r"\Ahang of 2\.0 s in inlined_step \(write-report\.c:\d+\), write-report\[\d+\], "
                              r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n  why  slept in clock_nanosleep\n")
        self.assertRegex(out, r"\n  > inlined_step +write-report\.c:\d+ +80%\n    hot_function +write-report\.c:\d+ +80%\n"
                              r"    add_samples +write-report\.c:\d+\n")
        self.assertRegex(out, r"\nStack\n +80%  inlined_step \(inlined\) +write-report\.c:\d+\n")
        self.assertRegex(out, r"\n +80%  hot_function .*\n {8}also: other_function 20%\n +100%  add_samples ")
        self.assertRegex(out, r"\n +100%  main ")
        self.assertNotIn("_start", out)
        self.assertRegex(out, r"\n  \(3 runtime frames hidden; --all-frames\)\n")
        self.assertRegex(out, r"\nTimeline\n  at     0 ms  for +1\.2 s  waits in clock_nanosleep  +inlined_step \(.*\n")
        self.assertRegex(out, r'\nThreads\n  \d+ "write-report" \(watched\)  waits in clock_nanosleep, 0% CPU\n'
                              r'  \d+ "worker"  runs, 100% CPU, no stack: the thread was running\n')
        self.assertRegex(out, r"\n  1 thread not captured\n\nRun\n  program write-report 1\.2, pid \d+, started .*\n  host    linux 12, ")
        self.assertRegex(out, r"\n  file    .*\.json\n\nCost\n  5 samples, pauses of 9 us in all, the longest 3 us, 0 system calls interrupted\n\Z")
        self.assertNotIn("\033", out)
        out = run("show", "--spool", self.spool, "latest", "--all-frames").stdout
        self.assertRegex(out, r"\n +80%  inlined_step \(inlined\) +write-report\.c:\d+ +write-report\+0x[0-9a-f]+\n")
        self.assertRegex(out, r"\n +100%  _start +write-report\+0x")
        self.assertNotIn("hidden", out)

    def test_latest_is_the_newest_that_is_not_of_a_session(self):
        self.write("session")
        self.assertIn(" turns of the loop, median ", run("show", "--spool", self.spool, "latest").stdout)
        self.write("full", "session")
        self.assertIn("hang of 2.0 s", run("show", "--spool", self.spool, "latest").stdout)

    def test_latest_is_the_newest_that_can_be_read(self):
        (id,) = self.write("full")
        (self.spool / f"{NEWEST}.json").mkdir()
        done = run("show", "--spool", self.spool, "latest", "--no-symbols")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hang of 2.0 s", done.stdout)
        self.assertRegex(done.stderr, r"\Ahangdog: [^\n]*%s\.json is not a Hangdog report: no regular file\n\Z" % NEWEST)
        (self.spool / f"{id}.json").unlink()
        done = run("show", "--spool", self.spool, "latest")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 2), done.stderr)
        self.assertIn("that can be read", done.stderr)

    def test_threads_are_shown_when_asked(self):
        self.write("deadlock")
        short = run("show", "--spool", self.spool, "latest").stdout
        long = run("show", "--spool", self.spool, "latest", "--threads").stdout
        owner = r'\nThreads\n  \d+ "worker", has the mutex  runs, 100% CPU, waits for thread \d+, no stack: '
        for text in (short, long):
            self.assertRegex(text, owner)
            self.assertRegex(text, r'\n  why  deadlock: waits for a mutex held by thread \d+ "worker", which waits for one '
                                   r"held by this thread\n")
        watched = r'\n  \d+ "write-report" \(watched\)  waits in clock_nanosleep, 0% CPU, waits for thread \d+\n'
        self.assertRegex(long, watched + r"    inlined_step \(inlined\) +write-report\.c:\d+\n")
        self.assertRegex(short, watched + r'  \d+ "')

    def test_without_symbols_there_are_modules_and_offsets(self):
        self.write("full")
        out = run("show", "--spool", self.spool, "latest", "--no-symbols").stdout
        self.assertNotIn("hot_function", out)
        self.assertRegex(out, r"\n   80%  write-report\+0x[0-9a-f]+\n")
        self.assertRegex(out, r"\Ahang of 2\.0 s in write-report\+0x[0-9a-f]+, write-report\[")
        self.assertRegex(out, r"\n  > write-report\+0x[0-9a-f]+ +80%\n")
        self.assertRegex(out, r"\n {8}also: write-report\+0x[0-9a-f]+ 20%\n")

    def edited(self, edit, *options):
        """The report of `full` with its hot stack changed, as shown."""
        (id,) = self.write("full")
        report = json.loads((self.spool / f"{id}.json").read_text())
        edit(report, report["hot_stack"]["frames"])
        file = self.path / "edited.json"
        file.write_text(json.dumps(report))
        return run("show", file, *options).stdout

    def test_a_hang_without_a_stack_says_why(self):
        def edit(report, _frames):
            report["hot_stack"] = {"frames": [], "stop": "no-answer", "capture": "kernel"}

        out = self.edited(edit)
        self.assertRegex(out, r"\Ahang of 2\.0 s, write-report\[.*\n  why  .*\n    \(no stack: the thread did not answer; .* block or ignore the signal, handle it, ")
        self.assertNotIn("\nStack\n", out)

    def test_a_stack_that_is_not_whole_says_why(self):
        out = self.edited(lambda report, _frames: report["hot_stack"].update(stop="limit"))
        self.assertIn("\n    (stack ends here: 64 KiB of it were read)\n", out)

    def test_frames_of_our_own_preload_are_not_shown(self):
        def edit(report, frames):
            report["modules"].append({"path": "/x/libhangdog-preload.so", "base": "0x1000", "size": 4096})
            frames.insert(0, {"pc": "0x1010", "module": len(report["modules"]) - 1, "offset": "0x10",
                              "function": "poll", "share": 1})

        out = self.edited(edit)
        self.assertNotIn("poll", out)
        self.assertIn("hang of 2.0 s in inlined_step (", out)

    def test_the_sentence_names_what_has_most_of_the_time(self):
        def blocked(_report, frames):
            frames.insert(0, {**frames[-1], "function": "std::clock_nanosleep", "share": 0.8})

        def fans_out(_report, frames):
            frames.insert(0, {**frames[-1], "function": "leaf", "share": 0.1})
            frames[1]["share"] = 0.2

        shown = self.edited(blocked)
        self.assertIn("hang of 2.0 s in inlined_step (", shown)
        self.assertRegex(shown, r"\n  > inlined_step +write-report\.c:\d+ +80%, in std::clock_nanosleep\n")
        shown = self.edited(fans_out)
        self.assertIn("hang of 2.0 s in add_samples (write-report.c:", shown)
        self.assertRegex(shown, r"\n  > add_samples +write-report\.c:\d+ +100%, of that 20% in hot_function \(write-report\.c:\d+\)\n")

    def test_the_sentence_names_a_library_s_function_not_its_inner_ones(self):
        def called(*names):
            def edit(report, frames):
                report["modules"].append({"path": "/usr/lib/x86_64-linux-gnu/libc.so.6", "base": "0x1000", "size": 4096})
                for name in names:
                    frames.insert(0, {"pc": "0x1010", "module": len(report["modules"]) - 1, "offset": "0x10",
                                      "function": name, "share": 1})
            return re.search(r"\n  > .* in (\w+)\n", self.edited(edit))[1]

        self.assertEqual("pthread_barrier_wait", called("pthread_barrier_wait", "futex_wait_simple", "futex_wait"))
        self.assertEqual("write", called("write", "__libc_write"))
        self.assertEqual("pthread_mutex_lock", called("pthread_mutex_lock", "lll_mutex_lock_optimized"))
        self.assertEqual("internal", called("__internal", "__futex_abstimed_wait_common"))
        self.assertEqual("pthread_join", called("__pthread_clockjoin_ex", "__futex_abstimed_wait_common"))

    def test_a_fatal_hang_says_what_ended_it_and_how_old_its_evidence_is(self):
        def fatal(signal, ns):
            def edit(report, _frames):
                report.update(kind="fatal-hang", complete=False, duration_ns=ns, crash={"signal": signal} if signal else {})
            return self.edited(edit)

        shown = fatal("SIGABRT", 5 * 10**9)
        self.assertRegex(shown, r"\Afatal hang of 5\.0 s in inlined_step")
        self.assertIn("\n  why  slept in clock_nanosleep; 2.0 s into it\n", shown)
        self.assertIn("\n  end  killed by SIGABRT (abort, or a watchdog) while it hung\n", shown)
        self.assertIn("\n  end  killed by SIGINT (Ctrl-C) while it hung\n", fatal("SIGINT", 5 * 10**9))
        shown = fatal(None, 2003 * 10**6)
        self.assertRegex(shown, r"\Afatal hang of 2\.0 s in inlined_step")
        self.assertIn("\n  end  the process ended while it hung\n", shown)
        self.assertNotIn("into it", shown)

    def test_headers_of_the_system_are_nobodys_own_code(self):
        """As C++ has them: inlined, or instantiated in the program, with lines or without."""
        def own(*names, **place):
            def edit(_report, frames):
                for name in names:
                    frames.insert(0, {**frames[-1], "function": name, "share": 0.96, **place})
            shown = self.edited(edit)
            called = re.search(r"\n  > .* in (.*)\n", shown)
            return re.search(r" in (.*), write-report\[", shown)[1] + (", in " + called[1] if called else "")

        lock = ("take_lock()", "std::mutex::lock()")
        for header in ("/usr/include/c++/12/bits/std_mutex.h", "/usr/lib/gcc/x86_64-linux-gnu/12/include/x.h"):
            self.assertRegex(own("__gthread_mutex_lock", file=header, line=749),
                             r"^\w+ \(write-report\.c:\d+\), in gthread_mutex_lock$")
        self.assertEqual("operator() (loop.cc:43)", own("operator()", file="/home/x/loop.cc", line=43))
        self.assertEqual("take_lock(), in std::mutex::lock()", own(*lock))
        self.assertEqual("take_lock(), in std::mutex::lock()", own(lock[0], "std::mutex::lock()"))
        self.assertRegex(own(lock[0], "void std::__introsort_loop<app::C*>(app::C*)"), r"^take_lock\(\), in ")
        for name in "std::ostream& std::operator<< <char>(std::ostream&, char)", "std::enable_if<(1)>::type std::f<int>()":
            self.assertRegex(own(lock[0], name), r"^take_lock\(\), in ", name)
        for name in ("std::vector<int> app::make<int>(int)", "std::enable_if<(1), std::string>::type app::f<int>()",
                     "app::C::operator std::string() const", "std::string (anonymous namespace)::g<int>(int)"):
            self.assertEqual(name, own(lock[0], name))
        self.assertEqual("app::init()::{lambda()#1}", own(
            lock[0], "std::_Function_handler<void (), app::init()::{lambda()#1}>::_M_invoke(std::_Any_data const&)"))

    def test_the_program_goes_by_its_files_name_and_by_a_link_to_it(self):
        def edit(report, frames):
            report["app"].update(name="service", executable="another-name")
            module = report["modules"][frames[0]["module"]]
            report["app"]["build_id"] = module["build_id"]
            if link:
                shutil.copy(module["path"], self.path / "another-name")
                module["path"] = str(self.path / "another-name")
                (self.path / "service").symlink_to("another-name")

        link = False  # a script that became the program
        self.assertRegex(self.edited(edit, "--all-frames"), r"hot_function +write-report\.c:\d+ +write-report\+0x")
        link = True
        self.assertRegex(self.edited(edit, "--all-frames"), r"hot_function +write-report\.c:\d+ +service\+0x")

    def test_code_without_lines_has_none(self):
        """Main's last line has no length and reaches over what is not its unit's: the start-up code."""
        source, program = self.path / "thread.cc", str(self.path / "thread")
        source.write_text("#include <thread>\n#include <stdlib.h>\nint main(int c, char **) {\n"
                          "  if (c > 1) { std::thread t([c] { exit(c); }); t.join(); }\n}\n", encoding="ascii")
        subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id=0x01234567", source, "-o", program], check=True)
        symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout

        def edit(report, frames):
            report["modules"].append({"path": program, "base": "0x0", "size": 65536, "build_id": "01234567"})
            for name in ("_start", "main"):
                address = int(re.search(r"(\w+) T %s\n" % name, symbols)[1], 16)
                frames.insert(0, {"pc": hex(address), "offset": hex(address + 4), "module": len(report["modules"]) - 1})

        shown = self.edited(edit, "--all-frames")
        self.assertRegex(shown, r"\n +main +thread.cc:\d+ +thread\+0x")
        self.assertRegex(shown, r"\n +_start +thread\+0x")

    def test_a_repeat_names_the_report_before(self):
        self.write("brief")
        self.assertIn("\n  note repeat of 000000, which has all: %s show 000000" % HANGDOG,
                      run("show", "--spool", self.spool, "latest").stdout)
        self.assertIn(f" 000000 --spool {self.spool}\n", run("show", "--spool", self.spool, "latest").stdout)
        self.assertIn(" show 000000\n", run("show", self.spool / os.listdir(self.spool)[0]).stdout)

    def test_a_file_is_shown_wherever_it_is(self):
        (id,) = self.write("full")
        file = self.spool / f"{id}.json"
        self.assertEqual(run("show", file).returncode, 0)
        self.assertEqual(run("show", f"{id}.json", cwd=self.spool).returncode, 0)

    def test_no_control_character_of_a_report_reaches_the_terminal(self):
        self.write("nasty")
        for arguments in (["list"], ["show", "latest", "--threads"]):
            out = run(*arguments, "--spool", self.spool).stdout
            self.assertEqual(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out), [])

    def test_nor_one_of_the_second_set_nor_by_json_nor_in_an_error(self):
        controls = "".join(map(chr, [*range(1, 0x20), *range(0x7f, 0xa0), *range(0x202a, 0x202f), *range(0x2066, 0x206a)]))
        obeyed = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udc9f]")

        def said(*arguments):
            done = subprocess.run([HANGDOG, *arguments], capture_output=True, timeout=120, check=False)
            texts = [out.decode(errors="surrogateescape") for out in (done.stdout, done.stderr)]
            for text in texts:
                self.assertEqual([], obeyed.findall(text), arguments)
            return texts

        (id,) = self.write("full")
        file = self.spool / f"{id}.json"
        report = json.loads(file.read_text())
        report["app"]["name"] = name = "\u00e4\u20ac\U0001f415" + controls
        report["hot_stack"]["frames"][0]["function"] = report["cause"]["detail"] = name
        file.write_text(json.dumps(report))
        for arguments in (["list"], ["show", "latest"]):
            arguments += ["--no-symbols", "--spool", self.spool]
            shown = said(*arguments)[0]
            self.assertIn("\u00e4\u20ac\U0001f415" + "?" * len(controls), shown)
            shown = said(*arguments, "--json")[0]
            self.assertIn("\u00e4\u20ac\U0001f415\\u0001", shown)
            shown = json.loads(shown)
            self.assertEqual(name, shown["app"]["name"] if "show" in arguments else shown[0]["app"])
        file.write_text(json.dumps({**report, "format": "hangdog-report/1" + controls}))
        self.assertIn(" has format hangdog-report/1" + "?" * len(controls), said("show", file)[1])
        name = b"/\xc2\xa0\xe2\x82\xac\xff\x80\x9b\xc2\x9b\xc2.json"  # in no language's letters
        self.assertIn("/\u00a0\u20ac\udcff???\udcc2.json", said("show", name)[1])

    def test_colour_on_a_terminal_only(self):
        self.write("full")
        self.assertIn("\033[", self.on_a_terminal("show", "latest"))
        self.assertNotIn("\033[", self.on_a_terminal("show", "latest", NO_COLOR="1"))
        self.assertNotIn("\033[", self.on_a_terminal("show", "latest", TERM="dumb"))

    def test_a_full_disk_is_told(self):
        self.write("full")
        for options in ([], ["--json"]):
            with open("/dev/full", "w") as full:
                done = run("show", "--spool", self.spool, "latest", *options, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertIn("No space left", done.stderr)


class BadReports(Command):
    def test_files_that_are_no_reports(self):
        (id,) = self.write("full")
        good = (self.spool / f"{id}.json").read_text()
        report = json.loads(good)
        for content, words in (
            ("", ["is empty"]),
            (good[:700], ["is cut off in line 1"]),
            (good[:-3], ["is cut off in line 1"]),
            ("hello", ["is not a Hangdog report: no JSON (line 1"]),
            (good + "x", ["is not a Hangdog report: no JSON"]),
            ("\0" * 100, ["is cut off in line 1"]),  # as a power cut leaves it
            ("\xff\xfe", ["is not a Hangdog report: no JSON"]),
            ("[" * 100000, ["is not a Hangdog report: no JSON"]),
            ("[1]", ["is not a Hangdog report\n"]),
            ('{"a": 1}', ["is not a Hangdog report\n"]),
            (json.dumps({**report, "format": 5}), ["is not a Hangdog report\n"]),
            (json.dumps({**report, "format": "hangdog-report/2"}), ["has format hangdog-report/2, not hangdog-report/1; try a newer hangdog"]),
            (json.dumps({**report, "format": "hangdog-report/1\x1b[2J"}), ["not hangdog-report/1; try"]),
            (json.dumps({k: v for k, v in report.items() if k != "app"}), ["lacks 'app'"]),
            (json.dumps({**report, "duration_ns": "long"}), ["lacks 'duration_ns'"]),
        ):
            with self.subTest(content=content[:40]):
                file = self.path / "bad.json"
                file.write_bytes(content.encode("latin-1", errors="replace"))
                for options in ([], ["--json"]):
                    self.assert_error(run("show", file, *options), str(file), *words)

    def test_members_of_other_types_are_shown_as_far_as_they_go(self):
        (id,) = self.write("deadlock")
        good = json.loads((self.spool / f"{id}.json").read_text())
        odd = [None, True, -1, 1e99, 2**62, "text", "0xzz", [], [[]], {}, [{}], {"frames": 5}, {"frames": [1, {}, "x"]}]
        file = self.path / "odd.json"

        def places(node, path=()):
            for key, child in node.items() if isinstance(node, dict) else enumerate(node[:2]):
                yield path + (key,)
                if isinstance(child, (dict, list)):
                    yield from places(child, path + (key,))

        for number, path in enumerate(places(good)):
            report = json.loads(json.dumps(good))
            at = report
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = odd[number % len(odd)]
            file.write_text(json.dumps(report))
            done = run("show", file, "--threads" if number % 2 else "--json", "--no-symbols")
            self.assertIn(done.returncode, (0, 1), (path, odd[number % len(odd)], done.stderr))
            if number % 10 == 0:
                self.assertIn(run("show", file, "--threads").returncode, (0, 1))
        self.assertGreater(number, 50)

    def test_no_ordinary_file_blocks_or_passes(self):
        fifo = self.path / "fifo.json"
        os.mkfifo(fifo)
        self.assert_error(run("show", fifo), "is not a Hangdog report: no regular file")
        self.assert_error(run("show", self.path), "is not a Hangdog report: no regular file")
        self.assert_error(run("show", "/dev/zero"), "is not a Hangdog report: no regular file")
        self.assert_error(run("show", self.path / "missing.json"), "No such file")

    def test_ids_that_name_none_or_several(self):
        ids = self.write("full", "full")
        common = os.path.commonprefix(ids)
        self.assert_error(run("show", "zzzz", "--spool", self.spool), "no report 'zzzz' in ", "hangdog list")
        self.assert_error(run("show", "", "--spool", self.spool), "no report ''")
        done = run("show", common, "--spool", self.spool)
        self.assertEqual((1, f"hangdog: 2 reports match '{common}'\n"), (done.returncode, done.stderr))
        self.assertEqual([id[-6:] for id in ids], [line.split()[-1] for line in done.stdout.splitlines()])
        (self.path / "none").mkdir()
        self.assert_error(run("show", "--spool", self.path / "none"), "no reports yet in ", "hangdog run -- PROGRAM")
        self.assertEqual(run("show", ids[0], "--spool", self.spool).returncode, 0)

    def test_a_command_is_named_as_this_one_was_called(self):
        for called, named in ("hangdog", "hangdog"), ("bin/hangdog", "bin/hangdog"), (HANGDOG, HANGDOG):
            told = subprocess.run([called, "show", ""], cwd=BUILD, env={"PATH": str(BUILD / "bin"), "HOME": "/nowhere"},
                                  capture_output=True, text=True, timeout=60, check=False).stderr
            self.assertIn(f"; try: {named} list\n", told)

    def test_hostile_modules_end_in_a_note(self):
        (id,) = self.write("full")
        report = json.loads((self.spool / f"{id}.json").read_text())
        fifo, text, folder = self.path / "fifo", self.path / "text", self.path
        os.mkfifo(fifo)
        text.write_text("\x7fELF, or so it says")
        file = self.path / "hostile.json"
        for path in (fifo, text, folder, "/dev/zero", "relative", "/none", "/proc/self/mem"):
            for module in report["modules"]:
                module["path"] = str(path)
            file.write_text(json.dumps(report))
            done = run("show", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("no symbols for", done.stdout)


if __name__ == "__main__":
    main()
