#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs that present frames and wait for nothing else, on an X server of their own, with no options: each freezes once for 1.5 s,
# which is one hang with its function, and its frames are in the session report.

import os
import subprocess
import tempfile
import unittest

from support_plans import missing
from support_run import MS, SANITIZER, Program, Together, hot_functions, main, symbolicated
from support_seen import PACKAGES, PROGRAMS, PYTHON, SeenCase, froze_ns
from support_x_server import x_server

GAMES = {"glxgears": ["/usr/bin/glxgears"], "es2gears": ["/usr/bin/es2gears_x11"],
         "pygame": [PYTHON, os.path.join(PROGRAMS, "game_pygame.py"), *"1500 compute:1500 1000".split()],
         "pygame_long_frame": [PYTHON, os.path.join(PROGRAMS, "game_pygame.py"), *"1500 compute:300 500".split()]}
OPTIONS = {"pygame_long_frame": ["--frame-drop", "150ms", "--display-hz", "30"]}
EVERY = None


def build_freeze(folder):
    library = os.path.join(folder, "libfreeze.so")
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-pthread", os.path.join(PROGRAMS, "freeze_gl.c"), "-o", library],
                   check=True)
    return library


def play(name, env, library):
    """The game, when it has ended; None: it is not there."""
    argv = GAMES[name]
    if name.startswith("pygame"):
        if subprocess.run([PYTHON, "-c", "import pygame"], capture_output=True, check=False).returncode != 0:
            return None
    else:
        env = dict(env, LD_PRELOAD=library)
    if not os.path.exists(argv[0]):
        return None
    game = Program(argv, options=OPTIONS.get(name, ()), env=env)
    game.status = game.wait()
    return game


class Games(SeenCase):
    def played(self, name):
        game = EVERY[name]
        if game is None:
            self.skipTest("no %s: %s" % (name, PACKAGES))
        if SANITIZER and game.status != 0:
            self.skipTest("it does not run with this sanitizer's runtime: " + game.errors[-400:])
        self.assertEqual(0, game.status, game.errors)
        self.assertEqual(1, len(froze_ns(game)), game.output)
        return game

    def assert_played(self, name):
        game = self.played(name)
        self.assert_reported(game, froze_ns(game), [""])
        hang = symbolicated(game, game.reports("hang")[0])
        self.assertIn("block_in_compute", " ".join(hot_functions(hang)))
        session = game.reports("session")[0]
        self.assert_valid(session)
        return session["session"]

    def assert_frames(self, session):
        """They stop while the program is frozen: some 88 refreshes of 60 a second, or fewer, on a machine that is slow."""
        print("%s: %s" % (self.id().rsplit(".", 1)[1], {k: v for k, v in session.items() if "frame" in k or "hitch" in k}))
        timed = sum(bucket["count"] for bucket in session["frame_histogram"])
        self.assertGreater(timed, 20)
        self.assertLessEqual(timed, session["frames_presented"])
        self.assertGreater(session["frames_dropped"], 80)
        self.assertGreater(session["hitch_ns"], 1400 * MS)
        self.assertAlmostEqual(session["frames_per_second"], timed / session["frame_ns"] * 1e9, delta=0.1)

    def test_a_program_of_glx(self):
        self.assert_frames(self.assert_played("glxgears"))

    def test_a_program_of_egl(self):
        self.assert_frames(self.assert_played("es2gears"))

    def test_a_game_of_pygame(self):
        session = self.assert_played("pygame")
        self.assert_frames(session)
        self.assertLess(session["frames_per_second"], 61)

    def test_a_long_frame_of_a_game(self):
        """Below the threshold of a hang, and by an option. A machine that has too much to do makes others."""
        game = self.played("pygame_long_frame")
        frames = [symbolicated(game, report) for report in game.reports("frame-drop", "hang")]
        own = [report for report in frames if "block_in_compute" in " ".join(hot_functions(report))]
        print([(report["kind"], report["duration_ns"] // MS) for report in frames])
        self.assertEqual(1, len(own), game.errors)
        self.assert_valid(own[0])
        self.assertGreaterEqual(own[0]["duration_ns"], froze_ns(game)[0])
        if own[0]["duration_ns"] < 500 * MS:
            self.assertEqual(("frame-drop", 150 * MS), (own[0]["kind"], own[0]["threshold_ns"]))
            self.assertRegex(game.errors, r"hangdog: long frame of 3\d\d ms in block_in_compute")
        session = game.reports("session")[0]["session"]
        self.assertEqual(len(game.reports("hang", "launch")), session["hangs"], game.errors)


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    if missing("Xvfb", "gcc"):
        raise unittest.SkipTest("no Xvfb or gcc: " + PACKAGES)
    folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")  # pylint: disable=consider-using-with
    unittest.addModuleCleanup(folder.cleanup)
    library = build_freeze(folder.name)
    every = Together()
    with x_server() as env:
        for name in GAMES:
            every.start(name, play, name, env, library)
        every.join()
    EVERY = every.results
    for game in filter(None, EVERY.values()):
        unittest.addModuleCleanup(game.close)


if __name__ == "__main__":
    main()
