# SPDX-License-Identifier: MIT
"""Hangs that the dylib for macOS reports in the loader: locks and their owners, rings, 256 threads, images that come and go, a
watched thread that owns malloc's lock. The programs check the rule of calls between suspend and resume."""

import os
import sys

from support_apple import CPUS, AppleTest, library, linked, main, run, shown


class Hangs(AppleTest):
    def check_lock(self, cpu, kind, words):
        found = self.reports_of(cpu, "lock", "owner", kind)
        self.assertEqual(1, len(found))
        self.assertAlmostEqual(700, found[0]["duration_ns"] / 1e6, delta=200)
        text = shown(found[0])
        self.assertIn("need_lock", text)
        self.assertRegex(text, rf"waited for {words} held by thread \d+ \"lock owner\", which was in keep_lock")

    def check_ring(self, cpu, kind, words):
        found = self.reports_of(cpu, "lock", "ring", kind)
        self.assertEqual(1, len(found))
        self.assertRegex(shown(found[0]), rf"deadlock: waits for {words} held by thread \d+ \"lock owner\", which waits in close_ring")
        self.assertIn("need_lock", shown(found[0]))

    def test_the_owner_of_a_lock_and_the_ring_of_a_deadlock(self):
        for cpu in CPUS:
            for kind, words in (("unfair", "an unfair lock"), ("mutex", "a mutex")):
                with self.subTest(f"{cpu} {kind}"):
                    self.check_lock(cpu, kind, words)
                    self.check_ring(cpu, kind, words)

    def test_256_threads(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                found = self.reports_of(cpu, "threads")
                self.assertEqual(1, len(found))
                captured = [t for t in found[0]["threads"] if "stack" in t]
                print(f"{cpu}: {len(captured)} of 254 threads captured", file=sys.stderr)
                self.assertGreater(len(captured), 5)  # within 25 ms, however busy this machine is
                self.assertRegex(shown(found[0]), r"threads \"worker")
                self.assertIn("wait_for_end", shown(found[0]))

    def test_images_that_come_and_go(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                dylib = linked(cpu, "plugin", dylib=True)
                other = os.path.join(os.path.dirname(dylib), "libother.dylib")
                run("cp", dylib, other)
                found = self.reports_of(cpu, "images", dylib, other)
                self.assertEqual(3, len(found))
                for report in found:
                    self.assertIn("plugin_hang", shown(report))

    def test_a_thread_that_owns_mallocs_lock(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                found = self.reports_of(cpu, "malloc_lock")
                self.assertEqual(1, len(found))
                self.assertIn("hang_with_lock", shown(found[0]))


if __name__ == "__main__":
    main()
