# SPDX-License-Identifier: MIT
#
# GLib's main loop with a timer, by PyGObject.

from gi.repository import GLib
from schedule import callback, wait_ms

loop = GLib.MainLoop()


def on_timer():
    start_timer(callback())
    return False


def start_timer(ms):
    if ms is None:
        loop.quit()
    else:
        GLib.timeout_add(ms, on_timer)


start_timer(wait_ms())
loop.run()
