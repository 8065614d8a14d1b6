# SPDX-License-Identifier: MIT
"""The Mach-O loader and its fake libSystem do what a test of Hangdog relies on."""

import tempfile

from support_apple import CPUS, AppleTest, linked, main


class Loader(AppleTest):
    def test_programs_run_as_on_apples_systems(self):
        for cpu in CPUS:
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
                self.passes(cpu, linked(cpu, "loader"), folder)


if __name__ == "__main__":
    main()
