# SPDX-License-Identifier: MIT
#
# Tornado's loop with a timer.

from schedule import callback, wait_ms
from tornado.ioloop import IOLoop

loop = IOLoop.current()


def on_timer():
    start_timer(callback())


def start_timer(ms):
    if ms is None:
        loop.stop()
    else:
        loop.call_later(ms / 1000, on_timer)


start_timer(wait_ms())
loop.start()
