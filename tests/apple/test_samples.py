# SPDX-License-Identifier: MIT
"""Ten thousand samples by the library's objects: no port leaks, each stack is whole, no call breaks the rule."""

import tempfile

from support_apple import CPUS, AppleTest, library, linked, main


class Samples(AppleTest):
    def test_ten_thousand_samples(self):
        for cpu in CPUS:
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                self.passes(cpu, linked(cpu, "samples", library(cpu, "libhangdog.a")), spool, timeout=120)


if __name__ == "__main__":
    main()
