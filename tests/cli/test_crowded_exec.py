# SPDX-License-Identifier: MIT
"""Under `hangdog run` an exec with many variables works where the stack is small, is followed, and leaves no memory behind."""

import os
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, environment, main

CROWDED = os.path.join(BUILD, "tests/programs/crowded-exec")
LEAST_FRAME_MAX = 5000  # of a signal; a larger one leaves too little of an alternate stack of 8 KiB, with us or without


@unittest.skipIf(SANITIZER, "its frames need more stack than there is")
class CrowdedExec(unittest.TestCase):
    def output(self, *argv, options=(), watched=True):
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            head = [HANGDOG, "run", "--spool", os.path.join(folder, "spool"), *options, "--"] if watched else []
            done = subprocess.run([*head, CROWDED, *map(str, argv)], cwd=folder, env=environment(), text=True, capture_output=True,
                                  timeout=PATIENCE, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def assert_executed(self, how, variables):
        self.assertEqual("plain %d\n" % variables, self.output(how, variables, watched=False))
        self.assertEqual("loaded %d\n" % variables, self.output(how, variables))

    def test_from_a_handler_on_an_alternate_stack(self):
        if os.sysconf("SC_MINSIGSTKSZ") > LEAST_FRAME_MAX:
            self.skipTest("a signal's frame takes an alternate stack of 8 KiB on this CPU")
        for variables in 20, 200, 600, 2000:
            with self.subTest(variables):
                self.assert_executed("alternate", variables)
        self.assert_executed("named", 20)

    def test_on_a_thread_with_the_least_stack(self):
        for variables in 20, 200, 1500, 2000:
            with self.subTest(variables):
                self.assert_executed("thread", variables)

    def test_vforked_children_leave_nothing_of_it_in_their_parents_memory(self):
        output = self.output("vfork", 1900, 20, options=["--follow"])
        self.assertEqual("loaded 1900\n" * 20 + "grown by 0\n", output)


if __name__ == "__main__":
    main()
