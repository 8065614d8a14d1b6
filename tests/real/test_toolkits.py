#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs on GTK 3 (X and Wayland), Qt 5 (two dispatchers), plain Xlib and GLib, Node and asyncio under `hangdog run`: synchronous calls in
# callbacks hang, whoever makes them, and the peer is named; nested loops that serve the program do not. The programs say in a log
# when they block (tests/recognition/programs).

import subprocess
import unittest

from support_plans import MS, PlanCase, drive_all, need
from support_run import SANITIZER, main, runs_under_sanitizer

GI = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk"
QT = "from PyQt5 import QtWidgets, QtDBus, QtNetwork"
PROGRAMS = ["gtk-x11", "gtk-wayland", "qt-xcb", "qt-offscreen", "xlib", "glib", "node", "asyncio"]
EVERY = None

# What each call of a callback waits for: the cause, and the peer when there is one.
BUS = r"^dbus-\w+$"
MUTE = r"^127\.0\.0\.1:\d+$"
CAUSES = {
    "gsocket": ("network", MUTE),
    "libpq": ("network", MUTE),
    "libcurl": ("network", MUTE),
    "python-socket": ("network", MUTE),
    "socket-recv": ("network", MUTE),
    "http": ("network", MUTE),
    "waitForReadyRead": ("network", MUTE),
    "g_spawn_sync": ("child", None),
    "g_subprocess_wait": ("child", None),
    "subprocess": ("child", None),
    "waitForFinished": ("child", None),
    "spawnSync": ("child", None),
    "sleep": ("sleep", None),
    "dbus-call": ("network", BUS),
    "QDBus": ("network", BUS),
    "thread-below-connect": ("lock", None),  # not what the function asks for that called the program back
}
# The service is in the message on the stack; a thread of the library reads the reply.
ASKED = {
    "dbus-call": "waited for the D-Bus service org.hangdog.Mute in g_dbus_connection_call_sync",
    "QDBus": "waited for the D-Bus service org.hangdog.Mute in QDBusConnection::call",
}


class Toolkits(PlanCase):
    def assert_causes(self, driven):
        for mark, report in driven.verdict.right:
            kind, peer = CAUSES.get(mark.name, (None, None))
            if kind:
                self.assertEqual(kind, report["cause"]["kind"], "%s: %s" % (mark, report["cause"]))
            if peer:
                self.assertRegex(report["cause"].get("peer", ""), peer, mark)
            self.assertIn(ASKED.get(mark.name, ""), report["cause"]["detail"], mark)

    def assert_displays(self, driven, name, peer):
        """Each report of such a call says that it waits for the display's server."""
        causes = [report["cause"] for mark, report in driven.verdict.right if mark.name == name]
        self.assertGreater(len(causes), 0, driven.verdict)
        for cause in causes:
            self.assertEqual("ui", cause["kind"], cause)
            self.assertRegex(cause["detail"], "^waited for (the display server|a reply of the X server)")
            self.assertRegex(cause.get("peer", ""), peer)

    def check(self, name, right, missed=0):
        driven = EVERY[name]
        self.assert_right(driven, right, missed)
        self.assert_times(driven, 60 * MS)
        self.assert_causes(driven)
        return driven

    def test_gtk_on_x(self):
        driven = self.check("gtk-x11", 13, 1)
        self.assert_displays(driven, "round-trip", r"^@/tmp/\.X11-unix/X\d+$|^X\d+$")

    def test_gtk_on_wayland(self):
        driven = self.check("gtk-wayland", 13, 1)
        self.assert_displays(driven, "round-trip", r"^wayland-rec$")

    def test_qt_with_glib(self):
        driven = self.check("qt-xcb", 11, 1)
        self.assert_displays(driven, "round-trip", r"^@/tmp/\.X11-unix/X\d+$|^X\d+$")

    def test_qt_with_its_own_dispatcher(self):
        self.check("qt-offscreen", 10, 1)

    def test_xlib(self):
        driven = self.check("xlib", 3)
        self.assert_displays(driven, "-", r"^@/tmp/\.X11-unix/X\d+$|^X\d+$")

    def test_glib(self):
        self.check("glib", 3)

    def test_node(self):
        self.check("node", 7, 1)

    def test_asyncio(self):
        self.check("asyncio", 11, 1)


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    EVERY = drive_all(PROGRAMS)


if __name__ == "__main__":
    need("gcc", "node", "Xvfb", "weston", "dbus-daemon", "/usr/include/X11/Xlib.h")
    for package, code in (("python3-gi, gir1.2-gtk-3.0", GI), ("python3-pyqt5", QT)):
        if subprocess.run(["/usr/bin/python3", "-c", code], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            print("not here: %s; scripts/install-dependencies test" % package)
            raise SystemExit(77)
    if SANITIZER and runs_under_sanitizer(["/usr/bin/python3", "-c", GI]):
        print("GTK itself does not run with this sanitizer's runtime")
        raise SystemExit(77)
    main()
