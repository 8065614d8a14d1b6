# SPDX-License-Identifier: MIT
"""The Debian packages: built, without a finding of lintian, installed in a fresh Debian, tried and purged (scripts/check-packages)."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support_run import SOURCE, main

TOOLS = ("dh", "lintian", "debootstrap")


def script(name, *words, timeout, **variables):
    done = subprocess.run([os.path.join(SOURCE, "scripts", name), *words], capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout + done.stderr


@unittest.skipUnless(all(map(shutil.which, TOOLS)), "debhelper, lintian or debootstrap is missing: scripts/install-dependencies deb")
@unittest.skipUnless(os.path.exists(os.path.join(SOURCE, ".git")), "the sources are no clone")
class Packages(unittest.TestCase):
    def test_packages_in_a_fresh_debian(self):
        status, said = script("check-packages", "--prepare", timeout=600)
        if status == 77:
            self.skipTest(said)
        self.assertEqual(0, status, said)
        with tempfile.TemporaryDirectory() as folder:
            status, said = script("build-packages", folder, timeout=900, DEB_BUILD_OPTIONS="noautodbgsym")
            self.assertEqual(0, status, said[-4000:])
            (changes,) = [name for name in os.listdir(folder) if name.endswith(".changes")]
            done = subprocess.run(["lintian", "--fail-on", "error,warning", "--allow-root", os.path.join(folder, changes)],
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            status, said = script("check-packages", folder, timeout=300)
        if status == 77:
            self.skipTest(said)
        self.assertEqual(0, status, said)
        self.assertRegex(said, r"\./hangdog_\S+ +\d+ s, +\d+ KiB to load, +\d+ KiB installed\n")
        self.assertRegex(said, re.compile(r"^hangdog: hang of 2\.\d s in debugCommand", re.M))
        self.assertIn("hangdog: reports of users' programs stay", said)


if __name__ == "__main__":
    main()
