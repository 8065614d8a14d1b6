#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Each function of the C library that can be a loop's wait, by each of its names, under `hangdog run`.

import os
import signal
import subprocess
import unittest

from support_run import BUILD, SANITIZER, RealCase, environment, hot_functions, main, symbolicated

WAITS_BY = os.path.join(BUILD, "tests/programs/waits-by")
CHECKED = ["__poll_chk", "__ppoll_chk"]
FUNCTIONS = ["poll", "__poll", "ppoll", "select", "__select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2", *CHECKED]


class WaitsBy(RealCase):
    def assert_seen(self, program):
        self.assertEqual((3, "done\n"), (program.wait(), program.output), program.errors)
        hangs = program.reports("hang")
        self.assertEqual(["sleep"], [report["cause"]["kind"] for report in hangs], program.errors)
        self.assertIn("block", hot_functions(symbolicated(program, hangs[0])))

    def test_a_loop_is_seen_whatever_it_waits_by(self):
        programs = {name: self.program([WAITS_BY, name]) for name in FUNCTIONS}
        for name, program in programs.items():
            with self.subTest(name):
                self.assert_seen(program)

    def test_a_loop_is_seen_where_addresses_are_not_randomised(self):
        """The main thread's stack, where the array and the set are, is then the last thing below the end."""
        fixed = ["/usr/bin/setarch", "-R"]
        tried = subprocess.run([*fixed, "/bin/true"], env=environment(), stderr=subprocess.PIPE, text=True, check=False)
        if tried.returncode != 0:
            self.skipTest("addresses are randomised for all here: " + tried.stderr)
        for program in [self.program([*fixed, WAITS_BY, name]) for name in ("poll", "select")]:
            self.assert_seen(program)

    @unittest.skipIf(SANITIZER, "its runtime reads the array itself")
    def test_what_is_no_address_is_the_kernels_to_refuse(self):
        plain, watched = [self.program([WAITS_BY, "no-address"], watched=watched) for watched in (False, True)]
        self.assertEqual([0, 0], [program.wait() for program in (plain, watched)], watched.errors)
        self.assertRegex(plain.output, r"^(-1 14, -1 14\n){4}$")
        self.assertEqual(plain.output, watched.output)

    def test_an_array_that_is_too_small_ends_the_program_as_without_us(self):
        for name in CHECKED:
            pair = [self.program([WAITS_BY, name, "overflow"], watched=watched) for watched in (False, True)]
            self.assertEqual([-signal.SIGABRT] * 2, [program.wait() for program in pair], pair[1].errors)
            for program in pair:
                self.assertIn("*** buffer overflow detected ***: terminated\n", program.errors)


if __name__ == "__main__":
    main()
