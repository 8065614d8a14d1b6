# SPDX-License-Identifier: MIT
"""Stacks of programs with unusual unwind tables, or none: frames are eu-stack's, or the report says where some may be missing."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from support_peers import dumped_threads, eu_stack, ours
from support_run import HANGDOG, PATIENCE, SOURCE, main

PROGRAMS = os.path.join(SOURCE, "tests/real/programs")
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
# name, threads that may lack a frame, flags of gcc; a blocked thread shows no frame pointer, and qsort keeps a number there
BUILDS = [
    ("static", 0, ["-static"]),
    ("no header", 0, ["-Wl,--no-eh-frame-hdr"]),
    ("frame pointers only", 1, [*NO_TABLES, "-fno-omit-frame-pointer"]),
    ("no frame pointers", 0, ["-fomit-frame-pointer"]),
    ("stubs for CET", 0, ["-fcf-protection", "-Wl,-z,ibtplt"]),
]
GAP = "(frames may be missing here)"


class Built(unittest.TestCase):
    def setUp(self):
        for tool in ("gcc", "g++", "eu-stack"):
            if shutil.which(tool) is None:
                self.skipTest("%s is missing: scripts/install-dependencies test" % tool)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, source, name, *flags):
        path = os.path.join(self.folder, name)
        compiler = "g++" if source.endswith(".cc") else "gcc"
        subprocess.run([compiler, "-O2", "-w", *flags, "-o", path, os.path.join(PROGRAMS, source), "-pthread"], check=True)
        return path

    def start(self, *command):
        """A program that blocks at once, and blocks for ever."""
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # pylint: disable=consider-using-with
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        time.sleep(0.5)
        self.assertIsNone(program.poll())
        return program.pid

    def assert_as_eu_stack(self, pid, gaps=0):
        """`gaps`: so many threads may lack frames, if their stacks say so."""
        by_us, by_eu = ours(pid), eu_stack(pid)
        self.assertEqual(set(by_us), set(by_eu))
        said = [thread["tid"] for thread in dumped_threads(pid) if "gap" in str(thread["stack"]["frames"])]
        lacking = [tid for tid in said if by_us[tid] != by_eu[tid]]
        self.assertLessEqual(len(lacking), gaps)
        for tid, frames in by_eu.items():
            if tid not in lacking:
                self.assertEqual([hex(pc) for pc in frames], [hex(pc) for pc in by_us[tid]])


class Tables(Built):
    def test_builds_with_tables_or_frame_pointers(self):
        for name, gaps, flags in BUILDS:
            with self.subTest(name):
                pid = self.start(self.build("waits_deep.c", name.replace(" ", "-"), *flags))
                self.assert_as_eu_stack(pid, gaps)
                self.assertEqual({"root"}, {thread["stack"]["stop"] for thread in dumped_threads(pid)})

    def test_a_stack_that_may_lack_frames_says_so(self):
        pid = self.start(self.build("waits_deep.c", "none", "-fomit-frame-pointer", *NO_TABLES))
        trusts = [[frame.get("trust") for frame in thread["stack"]["frames"]] for thread in dumped_threads(pid)]
        complete = [thread["stack"]["stop"] == "root" for thread in dumped_threads(pid)]
        shown = subprocess.run([HANGDOG, "dump", "--all-frames", str(pid)], capture_output=True, text=True, check=True,
                               timeout=PATIENCE).stdout
        print(shown, file=sys.stderr)
        self.assertTrue(any(complete))
        for trust, whole in zip(trusts, complete):
            self.assertTrue("gap" in trust or not whole, trust)
        self.assertEqual(sum("gap" in trust for trust in trusts), shown.count(GAP))


class Destructors(Built):
    def frames_of(self, *how, flags=()):
        library = self.build("hangs_in_destructor.cc", "libhangs.so", "-shared", "-fPIC")
        pid = self.start(self.build("opens_and_closes.c", "opens", *flags), library, *how)
        self.assert_as_eu_stack(pid)
        shown = subprocess.run([HANGDOG, "dump", "--all-frames", str(pid)], capture_output=True, text=True, check=True,
                               timeout=PATIENCE).stdout
        self.assertNotIn(GAP, shown)
        self.assertNotIn("guessed", shown)
        return [line.split()[0] for line in shown.splitlines()[2:]]

    def test_at_exit(self):
        # of a library that is loaded with the program: that of one that is opened runs before _dl_fini
        frames = self.frames_of(flags=["-Wl,--no-as-needed", "-L" + self.folder, "-Wl,-rpath," + self.folder, "-lhangs"])
        self.assertLess(frames.index("__do_global_dtors_aux"), frames.index("_dl_fini"))
        self.assertLess(frames.index("_dl_fini"), frames.index("exit"))

    def test_in_dlclose(self):
        frames = self.frames_of("close")
        self.assertLess(frames.index("_dl_close"), frames.index("dlclose"))
        self.assertLess(frames.index("dlclose"), frames.index("main"))


if __name__ == "__main__":
    main()
