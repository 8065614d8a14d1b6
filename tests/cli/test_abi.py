# SPDX-License-Identifier: MIT
"""Programs that were linked with the last release run with the libraries of this build: scripts/check-abi."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support_run import BUILD, SOURCE, main


def check(source, *, build=BUILD):
    done = subprocess.run([source + "/scripts/check-abi", build], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@unittest.skipUnless(shutil.which("abidiff"), "abidiff is missing: scripts/install-dependencies lint")
class Abi(unittest.TestCase):
    def test_this_build_fits_programs_of_the_release(self):
        self.assertEqual((0, ""), check(SOURCE))

    def test_a_function_that_is_gone_is_found_and_a_new_one_is_none(self):
        known = "packaging/abi/libhangdog-%s.xml" % os.uname().machine
        with open(os.path.join(SOURCE, known), encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as copy:
            for folder in ("scripts", "packaging/abi", "include"):
                shutil.copytree(os.path.join(SOURCE, folder), os.path.join(copy, folder))
            for new, status in ((text.replace("hangdog_turn@", "hangdog_turned@").replace("hangdog_turn'", "hangdog_turned'"), 1),
                                ("\n".join(line for line in text.split("\n") if "elf-symbol name='hangdog_turn'" not in line), 0)):
                with open(os.path.join(copy, known), "w", encoding="utf-8") as file:
                    file.write(new)
                self.assertEqual(status, check(copy)[0])


class Version(unittest.TestCase):
    def test_all_files_with_a_version_have_that_of_the_header(self):
        found = {}
        for path, pattern in (("include/hangdog/hangdog.h", r'define HANGDOG_VERSION "([^"]+)"'),
                              ("packaging/fedora/hangdog.spec", r"(?m)^Version: +(\S+)"), ("packaging/arch/PKGBUILD", r"(?m)^pkgver=(\S+)"),
                              ("python/hangdog.py", r'(?m)^__version__ = "([^"]+)"'), ("CHANGELOG.md", r"(?m)^## (\S+)")):
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                found[path] = re.search(pattern, file.read()).group(1)
        self.assertEqual(1, len(set(found.values())), found)


if __name__ == "__main__":
    main()
