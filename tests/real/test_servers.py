#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Servers and terminal programs under `hangdog run`, idle for 10 s and in use before and after: their loop is known beyond doubt, and
# nothing is a hang.

import unittest

from support_plans import PlanCase, drive_all, need
from support_run import S, SANITIZER, main

NAMES = ["nginx", "http-server", "haproxy", "mosquitto", "transmission", "tmux", "xvfb", "weston", "dbus-daemon"]
SELDOM = ["transmission"]  # its main thread may wait too seldom to be sure of within this time
THRESHOLD_MS = 500
EVERY = None


class Servers(PlanCase):
    pass


def add(name):
    def test(self):
        driven = EVERY[name]
        self.assert_silent(driven, r"no hang of %d ms or more(, started in [^;]+)?(; its (child|[0-9]+ children)[, ].*)?$" % THRESHOLD_MS)
        if name in SELDOM:
            return
        self.assertNotRegex(driven.told[-1], "no event loop")
        self.assertGreater(driven.session["idle_ns"], 9 * S)
        self.assertGreater(driven.session["turns"], 3)
    setattr(Servers, "test_" + name.replace("-", "_"), test)


for each in NAMES:
    add(each)


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    EVERY = drive_all(NAMES, THRESHOLD_MS, 11)


if __name__ == "__main__":
    if SANITIZER:
        print("not every one of these servers comes up with a sanitizer's runtime preloaded; the release runs them")
        raise SystemExit(77)
    need("nginx", "haproxy", "mosquitto", "transmission-daemon", "tmux", "Xvfb", "xterm", "weston", "dbus-daemon")
    main()
