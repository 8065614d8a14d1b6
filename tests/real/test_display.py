#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The cause `ui`: a GTK program whose X server stops while the program asks it something, and one that lays out text by Pango.

import os
import signal
import subprocess
import time

from support_run import Program, RealCase, SANITIZER, environment, main, wait_until
from support_x_server import x_server_process

PYTHON = "/usr/bin/python3"
ROUND_TRIPS = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, Gdk, GLib
def ask_the_server():
    Gdk.Display.get_default().sync()
    return True
window = Gtk.Window()
window.show_all()
GLib.timeout_add(100, ask_the_server)
GLib.timeout_add(1000, lambda: print("ready", flush=True))
GLib.timeout_add(4000, Gtk.main_quit)
Gtk.main()
"""
TEXT = """
import time, gi
gi.require_version("PangoCairo", "1.0")
from gi.repository import GLib, Pango, PangoCairo
layout = Pango.Layout(PangoCairo.FontMap.get_default().create_context())
def lay_out_table():
    until = time.monotonic() + 1.2
    while time.monotonic() < until:
        layout.set_text("a row of the table, " * 2000, -1)
        layout.get_pixel_size()
loop = GLib.MainLoop()
for ms in range(50, 600, 50):
    GLib.timeout_add(ms, lambda: False)
GLib.timeout_add(600, lay_out_table)
GLib.timeout_add(2500, loop.quit)
loop.run()
"""


class Display(RealCase):
    def hang_of(self, program):
        program.wait()
        hangs = [report for report in program.reports() if report["kind"] == "hang"]
        self.assertEqual(1, len(hangs), program.errors)
        return hangs[0]

    def test_a_program_waits_for_an_x_server_that_is_stopped(self):
        with x_server_process() as (env, server):
            program = Program([PYTHON, "-c", ROUND_TRIPS], env=env)
            self.addCleanup(program.close)
            wait_until(lambda: "ready" in program.output, "the window")
            os.kill(server, signal.SIGSTOP)
            time.sleep(1.2)
            os.kill(server, signal.SIGCONT)
            hang = self.hang_of(program)
        self.assertEqual("ui", hang["cause"]["kind"], hang["cause"])
        self.assertRegex(hang["cause"]["detail"], r"^waited for the display server Xvfb \(%d\) in poll" % server)
        self.assertRegex(program.errors, r"  why  waited for the display server Xvfb \(%d\) in poll" % server)
        self.assertIn("ask_the_server", program.errors)

    def test_layout_of_text_is_ui(self):
        hang = self.hang_of(self.program_of(TEXT))
        self.assertEqual("ui", hang["cause"]["kind"], hang["cause"])
        self.assertRegex(hang["cause"]["detail"], r"^ran a toolkit's code in lib(pango|harfbuzz|freetype|fontconfig)")

    def test_the_programs_own_work_is_none(self):
        hang = self.hang_of(self.program_of(TEXT.replace('layout.set_text("a row of the table, " * 2000, -1)', "sum(range(100000))")
                                            .replace("layout.get_pixel_size()", "pass")))
        self.assertEqual("cpu", hang["cause"]["kind"], hang["cause"])

    def program_of(self, text):
        program = Program([PYTHON, "-c", text])
        self.addCleanup(program.close)
        return program


if __name__ == "__main__":
    GI = "import gi; gi.require_version('Gtk', '3.0'); gi.require_version('PangoCairo', '1.0')"
    if subprocess.run([PYTHON, "-c", GI], check=False, stderr=subprocess.DEVNULL, env=environment()).returncode != 0 or \
            not os.path.exists("/usr/bin/Xvfb"):
        print("not here: gir1.2-gtk-3.0, xvfb; scripts/install-dependencies test")
        raise SystemExit(77)
    if SANITIZER:
        print("GTK itself does not run with this sanitizer's runtime")
        raise SystemExit(77)
    main()
