# SPDX-License-Identifier: MIT
"""A hang of a process with more than 64 threads: its kind, and the threads grouped by equal stacks."""

import os
import re
import subprocess

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, RealCase, environment, main

BURN = os.path.join(BUILD, "tests/programs/burn")


class ManyThreads(RealCase):
    def test_eighty_threads_that_wait_for_work(self):
        program = self.program([BURN, "crowd", "1.5"])
        program.wait()
        report = next(r for r in program.reports() if r["kind"] != "session")
        self.assert_valid(report)
        self.assertEqual("too-many-threads", report["kind"])
        self.assertIn(report["process"]["thread_count"], (81, 82) if SANITIZER else (81,))  # tsan has a thread of its own
        shown = subprocess.run([HANGDOG, "show", "--spool", program.spool, "latest"], text=True, check=True, timeout=PATIENCE,
                               stdout=subprocess.PIPE, env=environment()).stdout
        line = re.search(r'(?m)^  (\d+) threads "worker-\*"  wait in futex: \d+, \d+, \d+ \.\.\.$', shown)
        self.assertIsNotNone(line, shown)
        self.assertEqual(80, int(line.group(1)) + report.get("threads_left_out", 0))  # 25 ms may be over before, on a busy machine
        self.assertRegex(shown, r"(?m)^  and  the process has too many threads: 8[12]$")
        self.assertRegex(shown, r"^hang of \d.* in compute ")
        self.assertEqual(1, shown.count("worker-"), shown)


if __name__ == "__main__":
    main()
