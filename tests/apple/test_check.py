# SPDX-License-Identifier: MIT
"""The scenarios that a person with a Mac runs (scripts/apple-check), with the library that ships, in the loader on both CPUs."""

import os
import subprocess
import sys

from support_apple import CPUS, RUNNERS, SOURCE, AppleTest, folder_of, library, main

# The other programs have tests of their own here. A busy machine leaves no CPU for the scenario `cpu`.
SCENARIOS = ("idle", "hang", "sleep", "lock", "deadlock", "malloc", "images", "threads", "crash")


class Check(AppleTest):
    def test_each_scenario_is_as_it_must_be(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                program = os.path.join(os.path.dirname(library(cpu, "libhangdog.a")), "apple-check-threads")
                folder = folder_of(cpu)
                runner = " ".join([*RUNNERS[cpu], os.path.join(folder, "apple-loader"), "-L", folder])
                done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts/apple-check"), "--runner", runner, program, "--only", *SCENARIOS],
                                      text=True, capture_output=True, check=False)
                print(f"{cpu}:\n{done.stdout}", file=sys.stderr)
                self.assertEqual([["ok", name] for name in SCENARIOS], [line.split()[:2] for line in done.stdout.splitlines()[1:-1]],
                                 done.stdout + done.stderr)


if __name__ == "__main__":
    main()
