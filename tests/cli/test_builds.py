# SPDX-License-Identifier: MIT
"""Other builds than the release: a clone that was copied with its build, and CMAKE_BUILD_TYPE=RelWithDebInfo."""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_run import BUILD, RELEASE, SOURCE, environment, main
from test_installed import copy_of_the_tree


@unittest.skipUnless(RELEASE, "the options are the release's")
class Builds(unittest.TestCase):
    def compiled(self, entry):
        """What the compiler says of one file; -Werror is among its options."""
        words = [word for word in shlex.split(entry["command"]) if word not in ("-Oz", "-Os")]
        words[words.index("-o") + 1] = "/dev/null"
        done = subprocess.run([*words, "-DNDEBUG"], cwd=entry["directory"], capture_output=True, text=True, timeout=120, check=False)
        return done.stderr

    def test_no_warning_at_o2(self):
        """The release builds most of the library for size, and the compiler sees other things then."""
        with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
            entries = [entry for entry in json.load(file) if "/hd_core.dir/" in entry["command"] and entry["file"].startswith(os.path.join(SOURCE, "src"))
                       and ("-Oz" in entry["command"] or "-Os" in entry["command"])]
        self.assertGreater(len(entries), 50)
        with ThreadPoolExecutor(2) as pool:
            said = [text for text in pool.map(self.compiled, entries) if text]
        self.assertEqual([], said)

    def test_a_copy_of_a_built_clone_builds(self):
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            copy = copy_of_the_tree(folder)
            for name in ("CMakeCache.txt", "build.ninja"):
                shutil.copy(os.path.join(BUILD, name), copy + "/build")
            done = subprocess.run(["scripts/build", "--only", "report_page.c", "release"], cwd=copy, capture_output=True, text=True, timeout=120,
                                  env=environment({"PATH": os.environ["PATH"]}), check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn("configuring anew", done.stdout)
            self.assertTrue(os.path.exists(copy + "/build/report_page.c"))


if __name__ == "__main__":
    main()
