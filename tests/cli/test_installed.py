# SPDX-License-Identifier: MIT
"""What is installed finds what belongs to it, in whatever folders the build was configured for."""

import os
import subprocess
import tempfile
import unittest

from support_run import BUILD, cached, environment, main


class Installed(unittest.TestCase):
    def test_the_command_finds_its_library(self):
        places = [cached("CMAKE_INSTALL_" + name) for name in ("BINDIR", "LIBDIR")]
        if any(map(os.path.isabs, places)):
            self.skipTest("configured for folders that are not below a prefix")
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", folder], check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
            self.assertTrue(os.path.exists(os.path.join(folder, places[1], "libhangdog-preload.so")))
            done = subprocess.run([os.path.join(folder, places[0], "hangdog"), "run", "--spool", "spool", "--", "true"],
                                  cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=True)
            self.assertRegex(done.stderr, r"\Ahangdog: true ran for .*; no event loop was seen: [^\n]*\n\Z")


if __name__ == "__main__":
    main()
