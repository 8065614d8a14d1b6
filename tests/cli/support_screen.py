# SPDX-License-Identifier: MIT
#
# Screens: what a person sees of a command in a terminal of 80 columns and 24 lines, or of another size. The terminal is
# tmux's, with a server of its own for each one.
#
#   self.assertScreen(expected, screen([HANGDOG, "show"], cwd=folder))
#
# compares the screen with a text that is written as the command prints it, example values and all: times, pids, ids,
# paths and durations of both are replaced by placeholders before.

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import time
import unittest

TMUX = "/usr/bin/tmux"
PATIENCE = 60
SETTINGS = """
set -g status off
set -g history-limit 20000
set -g default-shell /bin/sh
set -g default-terminal %s
set -g escape-time 0
"""
# The shell lives longer than the command, also where a key ends that, and leaves its status.
RUN = 'trap : INT QUIT; "$@"; echo $? >"$0.new"; mv "$0.new" "$0"; exec sleep 1000'

# What differs between two runs, most specific first. None of the words has a character that another pattern takes.
PLACEHOLDERS = (
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\b(show|of) [0-9a-f]{6}\b", r"\1 ID"),
    (r"(?m)(?<= )(?=[0-9a-f]*[0-9])[0-9a-f]{6}$", "ID"),  # the last column of a table
    (r"0x[0-9a-f]+", "ADDRESS"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "DATE"),
    (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d\d:\d\d\b", "DAY"),
    (r"\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\b\d+ h \d\d min\b", "DURATION"),
    (r"\b\d+ min( \d{1,2} s)?(?![a-z])", "DURATION"),
    (r"\b\d+(\.\d+)? (s|ms|us|ns)(?![a-z])", "DURATION"),
    (r"\b\d+(\.\d+)? (B|KiB|MiB|GiB)\b", "BYTES"),
    (r"\[\d+\]", "[PID]"),
    (r"\b(thread|threads|child|process|PID|dump|attach|by) \d+\b", r"\1 PID"),
    (r"(?<![\w.])(/[\w.+@-]+)+/(?=[\w.+@-])", "FOLDER/"),
    (r"\b\d+%", "SHARE%"),
)


def replaced(text, *more):
    """The text with placeholders, and with what `more` has: (pattern, replacement), first. Lines end at their last
    character, and runs of spaces between columns are two, since a placeholder is not as wide as what it is for."""
    for pattern, word in (*more, *PLACEHOLDERS):
        text = re.sub(pattern, word, text)
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in text.split("\n")).strip("\n")


class Terminal:
    """A terminal in which one command runs; with `with` it goes in the end."""

    def __init__(self, argv, width=80, height=24, cwd=None, env=None, term="screen-256color"):
        if not os.path.exists(TMUX):
            raise unittest.SkipTest("tmux is missing: scripts/install-dependencies test")
        self.folder = tempfile.mkdtemp(prefix="hangdog-screen-")
        settings = os.path.join(self.folder, "settings")
        with open(settings, "w", encoding="ascii") as file:
            file.write(SETTINGS % term)
        self.head = [TMUX, "-u", "-S", os.path.join(self.folder, "socket"), "-f", settings]
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": self.folder, "TERM": "xterm-256color"}
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "XDG_STATE_HOME", "TZ"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.env.update(env or {})
        self.ended = os.path.join(self.folder, "ended")
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd or self.folder), "--",
                  "/bin/sh", "-c", RUN, self.ended, *map(str, argv))

    def tmux(self, *words):
        return subprocess.run([*self.head, *words], env=self.env, check=True, capture_output=True, text=True,
                              timeout=PATIENCE).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self, history=True, colours=False):
        """The lines, those above the screen too; `colours`: with their escape sequences."""
        lines = self.tmux("capture-pane", "-p", *(["-e"] if colours else []), *(["-S", "-"] if history else []))
        return "\n".join(line.rstrip() for line in lines.split("\n")).strip("\n")

    def keys(self, *keys):
        """Presses keys, by tmux's names: "q", "Space", "C-c"."""
        self.tmux("send-keys", *keys)

    def status(self):
        """The command's exit status, None while it runs; a signal's as a shell has it."""
        with contextlib.suppress(FileNotFoundError), open(self.ended, encoding="ascii") as file:
            return int(file.read() or 0)
        return None

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not (value := condition()):
            if time.monotonic() > end:
                raise AssertionError("waited in vain for %s; the screen:\n%s" % (what, self.text()))
            time.sleep(0.02)
        return value

    def wait_for(self, pattern):
        """Until the screen has it; the match."""
        return self.wait(lambda: re.search(pattern, self.text()), pattern)

    def wait_for_end(self):
        """Until the command has ended; its status."""
        self.wait(lambda: self.status() is not None, "the end of the command")
        before = None
        while before != (before := self.text()):  # tmux reads what came last
            time.sleep(0.05)
        return self.status()


def screen(argv, width=80, height=24, status=0, colours=False, **more):
    """What a command that ends by itself leaves in a terminal, all of its lines."""
    with Terminal(argv, width, height, **more) as terminal:
        ended = terminal.wait_for_end()
        text = terminal.text(colours=colours)
    if ended != status:
        raise AssertionError("status %d, not %d; the screen:\n%s" % (ended, status, text))
    return text


class Screens(unittest.TestCase):
    maxDiff = None

    def assertScreen(self, expected, text, *more):  # pylint: disable=invalid-name
        """`expected` may be indented; it has example values, or the placeholders themselves."""
        self.assertEqual(replaced(textwrap.dedent(expected), *more), replaced(text, *more), "the screen was:\n" + text)

    def assertFits(self, text, width=80):  # pylint: disable=invalid-name
        """No line is as wide as the terminal was, so none was broken by it."""
        self.assertLessEqual(max(map(len, text.split("\n"))), width, text)
