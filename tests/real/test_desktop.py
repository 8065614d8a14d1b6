#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Small desktop programs on an X server of their own: 2.5 s of idleness, one freeze of 1.5 s, 1.5 s more; with no options. Each is
# seen, with the function that froze and how long it did, and nothing else is.

import unittest

from support_plans import missing
from support_run import main
from support_seen import PACKAGES, SeenCase, Try, add_tests, built, run_all
from support_x_server import x_server

SLEEP = "2500 sleep:1500 1500"
COMPUTE = "2500 compute:1500 1500"
TRIES = {
    "gtk3_python": Try("desktop_gtk3.py", SLEEP, imports="gi"),
    "gtk3_c": Try("desktop_gtk3.c", COMPUTE, stuck=True),
    "gtk3_perl": Try("desktop_gtk3.pl", SLEEP, imports="Gtk3"),
    "gtk4_python": Try("desktop_gtk4.py", COMPUTE, imports="gi"),
    "qt5_python": Try("desktop_qt5.py", COMPUTE, imports="PyQt5.QtWidgets"),
    "qt6_python": Try("desktop_qt6.py", SLEEP, imports="PyQt6.QtWidgets"),
    "wx_python": Try("desktop_wx.py", SLEEP, imports="wx"),
    "tk_python": Try("desktop_tk.py", SLEEP, imports="tkinter"),
    "tk_tcl": Try("loop_tcl.tcl", "window " + SLEEP),
    "sdl_waits": Try("desktop_sdl.c", SLEEP),
    "sdl_game": Try("desktop_sdl.c", COMPUTE + " game"),
    "xlib": Try("desktop_xlib.c", SLEEP),
    "xcb": Try("desktop_xcb.c", COMPUTE),
    "xt": Try("desktop_xt.c", SLEEP),
    "fltk": Try("desktop_fltk.cc", COMPUTE),
}
EVERY = None


class Desktop(SeenCase):
    pass


add_tests(Desktop, TRIES, lambda: EVERY, SeenCase.assert_seen)


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    if missing("Xvfb"):
        raise unittest.SkipTest("no Xvfb: " + PACKAGES)
    binaries = built(TRIES)
    with x_server() as env:
        EVERY = run_all(TRIES, binaries, env)


if __name__ == "__main__":
    main()
