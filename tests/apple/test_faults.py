# SPDX-License-Identifier: MIT
"""Each call of Mach fails once in turn in a hang: the program goes on, no thread stays suspended, the next hang is reported."""

import re
import tempfile

from support_apple import CPUS, AppleTest, library, linked, main


class Faults(AppleTest):
    def test_each_call_fails_in_turn(self):
        for cpu in CPUS:
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                shipped = library(cpu, "libhangdog.1.dylib")
                said = self.passes(cpu, linked(cpu, "faults", shipped), spool, folders=[shipped.rpartition("/")[0]], timeout=180)
                done = re.search(r"(\d+) of \d+ faults happened", said)
                self.assertGreater(int(done.group(1)), 40)


if __name__ == "__main__":
    main()
