# SPDX-License-Identifier: MIT
"""A program that gives up a right: no thread of ours keeps it, and the program is watched on. tests/scenario/programs/
gives-up.c looks at each thread of its process, and has each try what only that thread may do."""

import os
import pathlib
import re
import unittest

from support_run import BUILD, MS, SANITIZER, Program, RealCase, Together, main

GIVES_UP = os.path.join(BUILD, "tests/programs/gives-up")
# A thread changes its ids without a pause, and the process makes children, which give up a right: how long it takes, in ms.
FORKS = """
import ctypes, os, select, threading, time
libc, on = ctypes.CDLL(None), True
def change():
    while on: libc.seteuid(65534); libc.seteuid(0)
thread = threading.Thread(target=change)
thread.start()
for _ in range(9):
    child = os.fork()
    if child == 0:
        for _ in range(5): select.select([], [], [], 0.002)
        begin = time.monotonic()
        libc.prctl(24, 12, 0, 0, 0)
        print(round(1e3 * (time.monotonic() - begin), 1), flush=True)
        os._exit(7)
    print("" if os.waitpid(child, 0)[1] == 7 << 8 else "failed")
on = False
thread.join()
"""
NONE = {"at once": " no more", "later": " no more", "at the end": " no more"}


@unittest.skipIf(os.geteuid() != 0, "only root has rights to give up")
@unittest.skipIf(SANITIZER, "its runtime calls functions of its own in a thread's signal handler")
class Rights(RealCase):
    def give_up(self, how, options=()):
        folder = pathlib.Path(self.folder())
        secret = folder / "secret"
        secret.write_text("secret", encoding="utf-8")
        program = Program([GIVES_UP, how, str(secret)], options=["--threshold", "200", *options], folder=str(folder))
        self.addCleanup(program.close)
        status = program.wait()
        checks = dict(re.findall(r"(?m)^(.*):((?: .*)?) \(\d threads\)$", program.output))
        threads = [int(count) for count in re.findall(r"\((\d) threads\)", program.output)]
        return program, status, checks, threads

    def test_no_descriptor_of_ours_leads_out_of_a_root(self):
        """The root has a /proc of its own; the program stays root, which may do what the spool needs."""
        for how in ("jail", "jail/number"):
            with self.subTest(how):
                folder = pathlib.Path(self.folder())
                (folder / "secret").write_text("secret", encoding="utf-8")
                (folder / "jail/proc").mkdir(parents=True)
                script = 'mount -t proc proc jail/proc && cd jail && exec "$0" "$@"'
                program = self.program(["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, GIVES_UP, how,
                                        str(folder / "secret")], options=["--threshold", "200"], folder=str(folder))
                self.assertEqual(7, program.wait(), program.output + program.errors)
                self.assertEqual([" no more"] * 3, re.findall(r"(?m):((?: .*)?) \(2 threads\)$", program.output), program.output)
                self.assertIn("sleeping_callback", str(self.assert_watched(program)["hot_stack"]))

    def test_an_exec_under_landlock_has_no_message_of_the_loader(self):
        program, status, _, _ = self.give_up("exec")
        self.assertEqual((0, "became another program\n"), (status, program.output))
        self.assertNotIn("ld.so", program.errors)

    def all_of(self, ways, options=()):
        together = Together()
        for how in ways:
            together.start(how, self.give_up, how, options)
        together.join()
        return {how: together[how] for how in ways}

    def assert_watched(self, program):
        """A hang after it is reported, and its function named where /proc may be read."""
        hangs = [hang for hang in program.reports("hang") if hang["duration_ns"] > 450 * MS]
        self.assertEqual(1, len(hangs), program.errors)
        return hangs[0]

    def test_no_thread_of_ours_keeps_what_the_program_gave_up(self):
        ways = ["capabilities", "some", "effective", "capabilities/number", "privileges", "privileges/number", "bounding",
                "bounding/number", "ambient", "securebits", "landlock", "net", "net/number", "mounts", "uts", "root", "join",
                "join/number", "ids/number", "groups/number", "keyring/number"]
        for how, (program, status, checks, threads) in self.all_of(ways).items():
            with self.subTest(how):
                self.assertEqual((7, NONE), (status, checks), program.output + program.errors)
                self.assertEqual([2, 2], threads[1:], program.output)
                hang = self.assert_watched(program)
                if how != "ids/number":  # what another user may not read
                    self.assertIn("sleeping_callback", str(hang["hot_stack"]))

    def test_what_no_function_of_ours_sees_is_followed_within_seconds(self):
        ways = [how + "/inline" for how in ("capabilities", "effective", "privileges", "bounding", "ids")]
        for how, (program, status, checks, threads) in self.all_of(ways).items():
            with self.subTest(how):
                self.assertEqual((7, " no more", " no more"), (status, checks.get("later"), checks.get("at the end")),
                                 program.output + program.errors)
                self.assertEqual([2, 2], threads, program.output)
                self.assert_watched(program)

    def test_an_inline_filter_ends_the_watch(self):
        program, status, checks, threads = self.give_up("filter/inline")
        self.assertEqual((7, " no more", [0, 0]), (status, checks.get("later"), threads), program.output)
        self.assertIn("its seccomp filter may kill it", program.errors)

    def test_a_child_that_was_forked_during_a_change_of_ids_waits_for_none(self):
        program = self.program(["/usr/bin/python3", "-c", FORKS], options=["--follow"])
        self.assertEqual(0, program.wait(), program.output + program.errors)
        took = sorted(float(ms) for ms in program.output.split())
        self.assertEqual(9, len(took), program.output)
        self.assertLess(took[4], 70, program.output)

    def test_a_program_that_does_so_again_and_again_is_watched_on(self):
        for how, (program, status, checks, _) in self.all_of(["loop-effective", "loop-ids/number", "loop-privileges",
                                                               "loop-join"]).items():
            with self.subTest(how):
                self.assertEqual((7, NONE), (status, checks), program.output + program.errors)
                self.assertLess(float(re.search(r"took ([\d.]+) us", program.output).group(1)), 500)
                self.assert_watched(program)


if __name__ == "__main__":
    main()
