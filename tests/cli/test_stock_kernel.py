# SPDX-License-Identifier: MIT
"""The ways of hangdog attach that a host may refuse, on Debian's stock kernel in a virtual machine (scripts/in-machine).

The host's kernel may be locked down and then has no programs at its functions of wait calls. Its CPU may have no breakpoints.
"""

import os
import re
import subprocess
import unittest

from support_run import BUILD, SOURCE, main

FOR_USERS = "echo 2 >/proc/sys/kernel/perf_event_paranoid && exec %s"  # Debian's own value is 3


class StockKernel(unittest.TestCase):
    def run_in_machine(self, *words, **variables):
        done = subprocess.run([os.path.join(SOURCE, "scripts/in-machine"), *words], capture_output=True, text=True, errors="replace",
                              timeout=400, check=False, env={**os.environ, **variables})
        if done.returncode == 77:
            self.skipTest(done.stdout)
        self.assertEqual(0, done.returncode, done.stdout[-4000:] + done.stderr)
        return done.stdout

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "bpf/waits.skel.h")), "this build has no hooks by BPF: scripts/install-dependencies build")
    def test_fentry_knows_turns_exactly(self):
        said = self.run_in_machine(os.path.join(BUILD, "tests/unit-bpf_hook"), HANGDOG_HOOK="fentry")
        self.assertRegex(said, r"on a CPU: start [-+]\d+ us")

    def test_breakpoints_see_turns(self):
        hooks = os.path.join(BUILD, "tests/unit-poll_hook")
        said = self.run_in_machine("--with", hooks, "/bin/sh", "-c", FOR_USERS % hooks)
        for test in ("a_counter_sees_turns", "records_know_the_start_and_the_end"):
            self.assertEqual(2, len(re.findall(rf"\[ +OK \] {test}", said)), said)  # as root, and as a user


if __name__ == "__main__":
    main()
