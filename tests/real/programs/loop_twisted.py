# SPDX-License-Identifier: MIT
#
# Twisted's reactor with a timer.

from schedule import callback, wait_ms
from twisted.internet import reactor


def on_timer():
    start_timer(callback())


def start_timer(ms):
    if ms is None:
        reactor.stop()
    else:
        reactor.callLater(ms / 1000, on_timer)


start_timer(wait_ms())
reactor.run()
