#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Small programs with a known loop (tests/recognition/programs), one for each thing that makes loops hard to tell, under
# `hangdog run`: each blocking call is a hang, with its times, by the program's own log; no wait of a loop is one.

import unittest

from support_plans import PlanCase, drive_all, missing
from support_run import main

# At least so many blocking calls are long enough to be reported; so many of them may be missed, for the reason told.
RIGHT = {
    "startup": (4, 1),  # on a loaded machine one of its servers may be the loop until the first callback is over
    "resolver-start": (7, 0),
    "reentered": (8, 0),
    "private-epoll": (6, 0),
    "rogue": (6, 0),
    "jumping": (6, 0),
    "throwing": (6, 0),
    "signal-jumping": (6, 0),
    "nested-late": (0, 0),
    "long-first": (3, 0),
    "zero": (6, 0),
    "in-turn": (5, 1),  # the last of the first loop: nothing returns after it
    "coroutine": (5, 0),
    "coroutine-late": (5, 0),
    "fibers": (6, 0),
    "early": (8, 1),  # from the first turn on, before there is a loop
    "mostly-blocked": (9, 1),
    "moving-set": (4, 0),
    "wide-frame": (7, 0),
    "query-start": (9, 1),
    "pool-handler": (8, 0),
    "joins": (8, 0),
    "remade": (12, 2),  # twice it blocks after all that its loop waits for is closed: the loop may be over
    "remade-elsewhere": (26, 1),  # the last of the first loop: nothing returns after it
    "look-first": (0, 0),
    "connection-start": (8, 2),  # start-up used the same connection, for longer than the loop had waited
}
WITHOUT = ["batch", "batch-closing", "sleepers", "idle-elsewhere", "outweighed", "parked", "parked-for-good", "computes-first",
           "pool", "pool-busy"]
EVERY = None


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    if missing("gcc", "g++"):
        raise unittest.SkipTest("no gcc and g++ to build the programs with: scripts/install-dependencies test")
    EVERY = drive_all(["made-" + name for name in [*RIGHT, *WITHOUT]])


class Made(PlanCase):
    def test_a_batch_program_is_silent(self):
        self.assert_silent(EVERY["made-batch"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_so_it_is_when_its_descriptors_have_one_number(self):
        self.assert_silent(EVERY["made-batch-closing"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_a_program_that_sleeps_by_poll_is_silent(self):
        self.assert_silent(EVERY["made-sleepers"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_a_worker_that_is_idle_elsewhere_is_silent(self):
        self.assert_silent(EVERY["made-idle-elsewhere"], r": no event loop, so hangs could not be seen")

    def test_a_loop_that_lost_its_half_of_the_time_was_none(self):
        self.assert_silent(EVERY["made-outweighed"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_what_polled_when_it_started_and_is_parked_has_no_loop(self):
        self.assert_silent(EVERY["made-parked"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_so_it_is_when_a_signal_ends_it(self):
        self.assert_silent(EVERY["made-parked-for-good"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_what_ran_before_it_was_watched_is_not_taken_off_what_it_is_blocked(self):
        self.assert_silent(EVERY["made-computes-first"], r": no event loop, so hangs could not be seen; the main thread.*$")

    def test_what_was_held_and_withdrawn_is_counted(self):
        """The loop waits at places that are new, where a call may be blocked for all that is known then."""
        self.assertGreater(EVERY["made-nested-late"].session.get("withdrawn", 0), 0)

    def test_who_waits_for_its_turn_at_a_loop_that_another_thread_serves_is_idle(self):
        self.assert_silent(EVERY["made-pool"])

    def test_so_it_is_when_the_other_one_is_busy_before_it_serves(self):
        self.assert_silent(EVERY["made-pool-busy"])


def add(name, right, missed):
    def test(self):
        self.assert_right(EVERY["made-" + name], right, missed)
        self.assert_times(EVERY["made-" + name])
    setattr(Made, "test_" + name.replace("-", "_"), test)


for each, (least, most) in RIGHT.items():
    add(each, least, most)

if __name__ == "__main__":
    main()
