# SPDX-License-Identifier: MIT
#
# An application of GTK 4 with a window and a timer, by PyGObject.

import gi
from schedule import callback, wait_ms

gi.require_version("Gtk", "4.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402

application = Gtk.Application(application_id="org.example.Hangdog", flags=Gio.ApplicationFlags.NON_UNIQUE)


def on_activate(_):
    window = Gtk.ApplicationWindow(application=application, title="GTK 4")
    window.set_child(Gtk.Button(label="a button"))
    window.present()
    start_timer(wait_ms())


def on_timer():
    start_timer(callback())
    return False


def start_timer(ms):
    if ms is None:
        application.quit()
    else:
        GLib.timeout_add(ms, on_timer)


application.connect("activate", on_activate)
application.run([])
