# SPDX-License-Identifier: MIT
"""The ways of hangdog attach that a host may refuse, on Debian's stock kernel in a virtual machine (scripts/in-machine).

The host's kernel may be locked down and then has no programs at its functions of wait calls. Its CPU may have no breakpoints.
"""

import os
import re
import subprocess
import unittest

from support_run import BUILD, SOURCE, main

# Debian's own value is 3. An emulated CPU is late now and then, as in tests/machine.
THRICE = "echo 2 >/proc/sys/kernel/perf_event_paranoid; for try in 1 2 3; do %s && exit 0; done; exit 1"


class StockKernel(unittest.TestCase):
    def run_in_machine(self, program, **variables):
        program = os.path.join(BUILD, program)
        done = subprocess.run([os.path.join(SOURCE, "scripts/in-machine"), "--with", program, "/bin/sh", "-c", THRICE % program], capture_output=True,
                              text=True, errors="replace", timeout=400, check=False, env={**os.environ, **variables})
        if done.returncode == 77:
            self.skipTest(done.stdout)
        self.assertEqual(0, done.returncode, done.stdout[-4000:] + done.stderr)
        return done.stdout

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "bpf/waits.skel.h")), "this build has no hooks by BPF: scripts/install-dependencies build")
    def test_fentry_knows_turns_exactly(self):
        said = self.run_in_machine("tests/unit-bpf_hook", HANGDOG_HOOK="fentry")
        self.assertRegex(said, r"on a CPU: start [-+]\d+ us")

    def test_breakpoints_see_turns(self):
        said = self.run_in_machine("tests/unit-poll_hook")
        for test in ("a_counter_sees_turns", "records_know_the_start_and_the_end"):
            self.assertGreaterEqual(len(re.findall(rf"\[ +OK \] {test}", said)), 2, said)  # as root, and as a user


if __name__ == "__main__":
    main()
