# SPDX-License-Identifier: MIT
"""Names that cannot be found in time: the rest is printed."""

import os
import unittest

from support_run import SANITIZER, main
from test_others_files import Nobodys


@unittest.skipIf(os.geteuid() != 0, "needs root, to become another user")
@unittest.skipIf(SANITIZER, "the release judges times")
class SlowLookUp(Nobodys):
    def test_a_process_that_hangs_costs_names_only(self):
        text = self.assert_says("#!/bin/sh\nexec sleep 60\n", "its names take too long to look up", 40)
        self.assertEqual(1, text.count("names are missing: looking them up took too long"))


if __name__ == "__main__":
    main()
