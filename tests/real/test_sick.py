#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Sick programs: from the first turn on their loop is blocked for 50 to 95 % of the time. Each freeze is reported, with its
# length and function, and nothing else is.

from support_run import main
from support_seen import SeenCase, Try, add_tests, built, run_all


def schedule(percent, ms, *kinds):
    """Freezes of so many ms, of these kinds in turn, six in all; they take that share of the program's time."""
    wait_ms = round(ms * (100 - percent) / percent)
    return " ".join("%d %s:%d" % (wait_ms, kinds[turn % len(kinds)], ms) for turn in range(6)) + " %d" % wait_ms


TRIES = {
    "c_epoll_95": Try("loop_epoll.c", schedule(95, 900, "sleep")),
    "c_epoll_50": Try("loop_epoll.c", schedule(50, 700, "compute", "sleep")),
    "c_poll_90": Try("loop_poll.c", schedule(90, 800, "sleep", "compute")),
    "c_glib_70": Try("loop_glib.c", schedule(70, 700, "sleep")),
    "c_libuv_90": Try("loop_libuv.c", schedule(90, 700, "compute", "sleep", "sleep")),
    "c_libevent_60": Try("loop_libevent.c", schedule(60, 700, "sleep")),
    "c_libev_80": Try("loop_libev.c", schedule(80, 800, "sleep")),
    "c_sd_event_95": Try("loop_sd_event.c", schedule(95, 900, "sleep", "compute", "sleep")),
    "asyncio_90": Try("loop_asyncio.py", schedule(90, 800, "sleep", "child")),
    "asyncio_55": Try("loop_asyncio.py", schedule(55, 700, "compute", "sleep", "sleep")),
    "glib_75": Try("loop_glib.py", schedule(75, 700, "sleep"), imports="gi"),
    "qt5_85": Try("loop_qt5.py", schedule(85, 700, "sleep", "child"), imports="PyQt5.QtCore"),
    "tornado_80": Try("loop_tornado.py", schedule(80, 700, "sleep"), imports="tornado"),
    "twisted_95": Try("loop_twisted.py", schedule(95, 900, "child", "sleep"), imports="twisted"),
    "node_70": Try("loop_node.js", schedule(70, 700, "sleep", "compute", "sleep")),
    "node_95": Try("loop_node.js", schedule(95, 900, "child", "sleep")),
    "tcl_80": Try("loop_tcl.tcl", schedule(80, 700, "sleep", "child")),
}
EVERY = None


class Sick(SeenCase):
    pass


add_tests(Sick, TRIES, lambda: EVERY, SeenCase.assert_seen)


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    EVERY = run_all(TRIES, built(TRIES))


if __name__ == "__main__":
    main()
