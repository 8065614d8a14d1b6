# SPDX-License-Identifier: MIT
#
# A window of GTK 3 with a timer, by PyGObject.

import gi
from schedule import callback, wait_ms

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

window = Gtk.Window(title="GTK 3")
window.add(Gtk.Button(label="a button"))
window.show_all()


def on_timer():
    start_timer(callback())
    return False


def start_timer(ms):
    if ms is None:
        Gtk.main_quit()
    else:
        GLib.timeout_add(ms, on_timer)


start_timer(wait_ms())
Gtk.main()
