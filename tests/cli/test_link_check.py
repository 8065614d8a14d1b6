# SPDX-License-Identifier: MIT
"""The link check refuses what an object of the library must not need, and names both."""

import os
import subprocess
import tempfile
import unittest

from support_run import SOURCE, main

CHECK = os.path.join(SOURCE, "scripts/check-symbols")
ALLOCATES = "#include <stdlib.h>\nvoid *allocates(void) { return malloc(1); }\n"
MAKES_A_THREAD = """#include <pthread.h>
int makes_a_thread(pthread_t *t, void *(*run)(void *)) { return pthread_create(t, 0, run, 0); }
"""
HARMLESS = "#include <string.h>\nunsigned long harmless(const char *s) { return strlen(s); }\n"
SETUP = "src/os/linux/setup.c"


class LinkCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def checked(self, sources):
        """The link check's status, and what it said, of objects with these names below the folder."""
        objects = []
        for name, text in sources.items():
            objects.append(os.path.join(self.folder, "hd_core.dir", name + ".o"))
            os.makedirs(os.path.dirname(objects[-1]), exist_ok=True)
            subprocess.run(["gcc", "-std=c11", "-c", "-x", "c", "-", "-o", objects[-1]], input=text, text=True, check=True,
                           timeout=60)
        listed = os.path.join(self.folder, "objects")
        with open(listed, "w", encoding="utf-8") as file:
            file.write("".join(name + "\n" for name in objects))
        done = subprocess.run([CHECK, listed], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stderr

    def test_what_allocates_is_refused(self):
        status, said = self.checked({"src/room/a.c": ALLOCATES, "src/room/b.c": HARMLESS, SETUP: HARMLESS})
        self.assertEqual(1, status)
        self.assertIn("link check: src/room/a.c needs malloc, which is not in src/allowed-symbols.txt\n", said)
        self.assertNotIn("src/room/b.c", said)
        status, said = self.checked({"src/room/a.c": HARMLESS, SETUP: ALLOCATES})
        self.assertEqual(1, status)
        self.assertIn("link check: %s needs malloc, which is not in" % SETUP, said)

    def test_threads_are_made_in_one_file_only(self):
        status, said = self.checked({"src/room/a.c": MAKES_A_THREAD})
        self.assertEqual(1, status)
        self.assertIn("link check: src/room/a.c needs pthread_create, which only %s may use\n" % SETUP, said)
        status, said = self.checked({"src/room/a.c": HARMLESS, SETUP: MAKES_A_THREAD})
        self.assertEqual((0, ""), (status, said))

    def test_what_no_file_defines_is_refused(self):
        status, said = self.checked({"src/room/a.c": "void hd_nowhere(void);\nvoid calls(void) { hd_nowhere(); }\n"})
        self.assertEqual(1, status)
        self.assertIn("link check: src/room/a.c needs hd_nowhere, which no file of src/ defines\n", said)


if __name__ == "__main__":
    main()
