# SPDX-License-Identifier: MIT
"""Help, man pages and completions say the same, for they come from the same tables; and each is tried in its program."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support_run import environment, main
from support_screen import Terminal
from test_cli import BUILD, COMMANDS, HANGDOG, Command, run

SHARE = BUILD / "share"
MAN = SHARE / "man"
BASH = SHARE / "bash-completion/completions/hangdog"
ZSH = SHARE / "zsh/site-functions/_hangdog"
FISH = SHARE / "fish/vendor_completions.d/hangdog.fish"
COMMON = {"--help", "--version", "--color", "--quiet", "-h", "-V", "-q"}
RARE = {"run": {"--display-hz", "--environment", "--frame-drop", "--interval",
               "--reports-per-fingerprint"},
        "agent": {"--hook", "--socket"}, "top": {"--socket"},
        "attach": {"--interval", "--hook", "--environment", "--reports-per-fingerprint"}}  # of run: in the page and the completions only
WITHOUT_SPOOL = {"agent", "dump", "serve", "top", "upload-symbols"}
VARIABLES = {"run": {"HANGDOG_APP", "HANGDOG_VERSION", "HANGDOG_ENVIRONMENT"}, "upload": {"HANGDOG_KEY", "HANGDOG_COLLECTOR"},
             "upload-symbols": {"HANGDOG_KEY", "HANGDOG_COLLECTOR"}, "show": {"HANGDOG_SYMBOLS"}, "list": {"HANGDOG_SYMBOLS"},
             "stats": {"HANGDOG_SYMBOLS"}, "export": {"HANGDOG_SYMBOLS"}, "serve": {"XDG_DATA_HOME", "STATE_DIRECTORY"}}


def options_of_help(command):
    """Of one command, those of the last line too."""
    lines = run(command, "--help").stdout.splitlines()
    return {word for line in lines if re.match(r" {2,6}-|All: ", line)
            for word in re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", line if line.startswith("All") else line[:34])}


def page(name, section=1):
    return subprocess.run(["man", "-l", MAN / ("man%d" % section) / ("%s.%d" % (name, section))], capture_output=True, text=True,
                          check=True, env=environment({"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})).stdout


class Pages(Command):
    def test_each_command_has_a_page_and_no_other(self):
        names = sorted(path.name for path in MAN.glob("man1/*"))
        self.assertEqual(sorted(["hangdog.1"] + ["hangdog-%s.1" % name for name in COMMANDS]), names)

    def test_each_page_has_the_commands_own_variables(self):
        for command in COMMANDS:
            text = page("hangdog-" + command)
            found = set(re.findall(r"(?m)^ {7}([A-Z][A-Z_]+)\b", text[text.index("\nENVIRONMENT"):]))
            self.assertLessEqual(VARIABLES.get(command, set()), found)
            self.assertEqual(command not in WITHOUT_SPOOL, "XDG_STATE_HOME" in found, command)
            self.assertNotIn("Docs/", text)
            self.assertNotIn("?.", text)

    def test_the_help_lists_what_there_is(self):
        helped = run("export", "--help").stdout
        listed = helped[helped.index("(usually text):"):helped.index("--output")].split(":", 1)[1]
        formats = set(self.bash("hangdog", "export", "--format", ""))
        self.assertEqual(formats, set(re.findall(r"[a-z]{3,}", listed)))
        self.assertLess(7, len(formats))
        (most,) = re.findall(r"(?m)^Most: (.*?)   ", run("--help").stdout)
        for option in re.findall(r"--[a-z]+", most):
            having = [command for command in COMMANDS if option in options_of_help(command)]
            self.assertLess(len(COMMANDS) / 2, len(having), option)

    @unittest.skipUnless(shutil.which("man"), "man-db is missing: scripts/install-dependencies test")
    def test_pages_render_without_warnings(self):
        for path in MAN.glob("man*/*"):
            done = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, check=True,
                                  env=environment({"MANROFFSEQ": "", "PATH": os.environ["PATH"], "MANWIDTH": "80"}))
            self.assertEqual("", done.stderr, path)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    @unittest.skipUnless(shutil.which("man"), "man-db is missing: scripts/install-dependencies test")
    def test_help_page_and_completions_have_the_same_options(self):
        fish = FISH.read_text(encoding="utf-8")
        for command in COMMANDS:
            helped = options_of_help(command)
            self.assertLessEqual(COMMON, helped, command)
            rare = RARE.get(command, set())
            self.assertEqual(set(), helped & rare, "the help has no room for them")
            helped |= rare
            text = page("hangdog-" + command)
            sections = re.findall(r"(?m)^[A-Z][A-Z ]+$", text)
            self.assertEqual(["NAME", "EXAMPLES", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT",
                              *([] if command in WITHOUT_SPOOL else ["FILES"]), "SEE ALSO"], sections)
            options = text[text.index("\nOPTIONS"):text.index("\nEXIT STATUS")]
            described = set(re.findall(r"(?m)^ {7}(--[a-z-]+)", options)) | {
                word for pair in re.findall(r"(?m)^ {7}(-\w), (--[a-z-]+)", options) for word in pair}
            self.assertEqual(helped, described, command)
            self.assertEqual(helped, set(self.bash("hangdog", command, "-")), command)
            offered = set()
            for line in fish.splitlines():
                if "__fish_seen_subcommand_from %s'" % command in line or re.match(r"complete -c hangdog  ?-l ", line):
                    offered |= {"--" + name for name in re.findall(r" -l ([a-z-]+)", line)}
                    offered |= {"-" + name for name in re.findall(r" -s (\w)", line)}
            self.assertEqual(helped, offered, command)
            zsh = re.search(r"(?s)\n +%s\) _arguments -s -S (.*?) ;;" % command, ZSH.read_text(encoding="utf-8"))[1]
            self.assertEqual(helped, set(re.findall(r"(?m)^ +'\*?(--?[a-zA-Z][a-z-]*)(?:=-?|\+)?\[", zsh)), command)

    @unittest.skipUnless(shutil.which("man"), "man-db is missing: scripts/install-dependencies test")
    def test_the_pages_of_hangdog_and_of_reports(self):
        text = page("hangdog")
        for command in COMMANDS:
            self.assertIn("hangdog-%s(1)" % command, text)
        report = page("hangdog-report", 5)
        for member in ("cause.kind (string, always)", "hot_stack.frames[]", "session.suppressed[]", "threads[]", "deadlock"):
            self.assertIn(member, report)
        self.assertIn("One of cpu, lock, disk", re.sub(r"\s+", " ", report))

    def test_the_words_of_options_are_those_of_the_schema(self):
        schema = (pathlib.Path(os.environ["HANGDOG_SOURCE"]) / "docs/report.schema.json").read_text(encoding="utf-8")
        kinds = re.findall(r'"([a-z-]+)"', re.search(r'"kind": \{"enum": \[([^]]*"session")\]', schema)[1])
        causes = re.findall(r'"([a-z-]+)"', re.search(r'"kind": \{"enum": \[([^]]*"starved"[^]]*)\]', schema)[1])
        self.assertEqual(sorted(kinds + ["background", "threads", "frames", "fatal"]), sorted(self.bash("hangdog", "list", "--kind", "")))
        self.assertEqual(sorted(causes), sorted(self.bash("hangdog", "list", "--cause", "")))

    # ---- shells ----------------------------------------------------------------------------------------------------

    def bash(self, *words):
        """What bash offers for the last word."""
        code = ("source '%s'; COMP_WORDS=(\"$@\"); COMP_WORDS[0]='%s'; COMP_CWORD=$(($# - 1)); cd '%s'; _hangdog; "
                "printf '%%s\\n' \"${COMPREPLY[@]}\"" % (BASH, HANGDOG, self.path))
        done = subprocess.run(["bash", "--norc", "-c", code, "bash", *words], capture_output=True, text=True, check=True,
                              env=environment({"XDG_STATE_HOME": str(self.path / "state"), "PATH": os.environ["PATH"]}))
        self.assertEqual("", done.stderr)
        return [word for word in done.stdout.split("\n") if word]

    def test_bash(self):
        ids = self.write("full", "full", "session")
        (self.path / "a folder").mkdir()
        (self.path / "a file").write_text("")
        self.assertEqual(sorted([*COMMANDS, "help"]), sorted(self.bash("hangdog", "")))
        self.assertEqual(["list"], self.bash("hangdog", "li"))
        self.assertEqual(["doctor"], self.bash("hangdog", "help", "do"))
        self.assertEqual(["list"], self.bash("hangdog", "--spool", "x", "li"))
        self.assertEqual(["--since"], self.bash("hangdog", "list", "--si"))
        self.assertEqual(["lock"], self.bash("hangdog", "list", "--cause", "l"))
        self.assertEqual(["lock"], self.bash("hangdog", "list", "--cause", "=", "l"))
        self.assertEqual(["always"], self.bash("hangdog", "show", "--color", "al"))
        self.assertEqual(["write-report"], self.bash("hangdog", "stats", "--app", ""))
        self.assertEqual(["a folder"], self.bash("hangdog", "list", "--spool", "a"))
        self.assertEqual([], self.bash("hangdog", "list", "--since", ""))
        offered = self.bash("hangdog", "show", "")
        self.assertEqual(["latest  (the last hang)"] + ["%s  (write-report: %s)" % (id[-6:], "write-report+0x" + line.split("+0x")[1][:-1])
                                                        for id, line in zip(ids[1::-1], offered[1:])], offered)
        self.assertEqual([ids[0][-6:]], self.bash("hangdog", "show", ids[0][-6:]))
        self.assertEqual(["a file"], self.bash("hangdog", "show", "a fi"))
        self.assertEqual(["a file", "a folder"], sorted(self.bash("hangdog", "run", "--json", "=", "a")))
        self.assertIn("tail", self.bash("hangdog", "run", "--json", "tai"))
        self.assertIn("tail", self.bash("hangdog", "run", "--", "tai"))
        self.assertIn("tail", self.bash("hangdog", "run", "-t", "2s", "tai"))
        self.assertEqual(["a file", "a folder"], sorted(self.bash("hangdog", "run", "--", "tail", "a")))
        self.assertEqual(["--threshold"], self.bash("hangdog", "run", "--thresh"))
        self.assertEqual([], self.bash("hangdog", "run", "--", "tail", "--thresh"))
        self.assertEqual([], self.bash("hangdog", "dump", "--no-such"))

    def test_watched_processes_are_offered(self):
        watched = subprocess.Popen([HANGDOG, "run", "-q", "--spool", self.path / "spool", "--", "sh", "-c", "echo $$; read x"],  # pylint: disable=consider-using-with
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
        pid = watched.stdout.readline().strip()
        self.assertIn(pid, [word.split()[0] for word in self.bash("hangdog", "doctor", "")])
        watched.communicate("\n")

    def test_a_user_presses_the_tabulator_in_bash(self):
        self.write("full")
        rc = self.path / "rc"
        rc.write_text("PATH=%s:$PATH\nPS1='ready> '\nsource %s\n" % (BUILD / "bin", BASH))
        with Terminal(["bash", "--rcfile", rc, "--noprofile", "-i"], env={"XDG_STATE_HOME": str(self.path / "state"), "TERM": "dumb"}) as terminal:
            terminal.wait_for("ready>")
            terminal.keys("hangdog li", "Tab")
            terminal.wait_for("ready> hangdog list")
            terminal.keys("C-u", "hangdog list --ca", "Tab")
            terminal.wait_for("ready> hangdog list --cause")
            terminal.keys("ne", "Tab")
            terminal.wait_for("ready> hangdog list --cause network")
            terminal.keys("C-u", "hangdog show ", "Tab", "Tab")
            terminal.wait_for(r"latest +\(the last hang\)")
            terminal.keys("C-c", "exit", "Enter")

    @unittest.skipUnless(shutil.which("fish"), "fish is missing: scripts/install-dependencies test")
    def test_fish(self):
        self.write("full")

        def offered(line):
            done = subprocess.run(["fish", "--no-config", "-c", "set PATH %s $PATH; source %s; complete -C '%s'" % (BUILD / "bin", FISH, line)],
                                  capture_output=True, text=True, check=True,
                                  env=environment({"XDG_STATE_HOME": str(self.path / "state"), "HOME": str(self.path), "PATH": os.environ["PATH"]}))
            self.assertEqual("", done.stderr)
            return [word.split("\t")[0] for word in done.stdout.splitlines()]
        self.assertEqual(sorted(COMMANDS), sorted(offered("hangdog ")))
        self.assertEqual(["lock"], offered("hangdog list --cause l"))
        self.assertEqual(["--since"], offered("hangdog list --si"))
        self.assertEqual(["write-report"], offered("hangdog stats --app w"))
        self.assertIn("latest", offered("hangdog show l"))
        self.assertIn("tail", offered("hangdog run tai"))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is missing: scripts/install-dependencies test")
    def test_a_user_presses_the_tabulator_in_zsh(self):
        self.write("full")
        (self.path / ".zshrc").write_text("PATH=%s:$PATH\nPS1='ready> '\nfpath=(%s $fpath)\nautoload -Uz compinit\ncompinit -u\n" % (
            BUILD / "bin", ZSH.parent))
        with Terminal(["zsh", "-i"], env={"XDG_STATE_HOME": str(self.path / "state"), "ZDOTDIR": str(self.path), "TERM": "dumb"}) as terminal:
            terminal.wait_for("ready>")
            terminal.keys("hangdog li", "Tab")
            terminal.wait_for("ready> hangdog list")
            terminal.keys("C-u", "hangdog list --ca", "Tab")
            terminal.wait_for("ready> hangdog list --cause")
            terminal.keys("ne", "Tab")
            terminal.wait_for("ready> hangdog list --cause(=| )network")
            terminal.keys("C-u", "hangdog show l", "Tab")
            terminal.wait_for("ready> hangdog show latest")
            terminal.keys("C-u", "hangdog stats --app w", "Tab")
            terminal.wait_for("ready> hangdog stats --app(=| )write-report")
            terminal.keys("C-u", "hangdog run -- /usr/bin/expan", "Tab")
            terminal.wait_for("ready> hangdog run -- /usr/bin/expand")


if __name__ == "__main__":
    main()
