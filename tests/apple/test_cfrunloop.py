# SPDX-License-Identifier: MIT
"""The adapter to CFRunLoop as built for macOS, with the library that ships, on the stand-in for CFRunLoop: each block is seen
with its length, and an idle loop wakes no thread."""

import glob
import os
import re
import subprocess
import tempfile
import time

from support_apple import CPUS, RUNNERS, SDK, SOURCE, AppleTest, folder_of, library, linked, main, reports, run

SUPPORT = os.path.join(SOURCE, "tests/support")
FRAMEWORK = "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
FLAGS = (f"-I{SUPPORT}", f"-I{SUPPORT}/corefoundation")
PING_MS = 25  # a ping finds a hang so much later
TRIES = 3  # a machine with too much to do delays a thread between two clocks


def core_foundation(cpu):
    """The stand-in as a library for macOS."""
    folder, objects = folder_of(cpu), []
    for source in sorted(glob.glob(f"{SUPPORT}/cf_run_loop*.c")):
        objects.append(os.path.join(folder, os.path.basename(source) + ".o"))
        run("clang-14", "-target", f"{cpu}-apple-macos12", "-isysroot", SDK, "-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer",
            "-Wall", "-Wextra", "-Werror", *FLAGS, "-c", source, "-o", objects[-1])
    made = os.path.join(folder, "CoreFoundation")
    run("ld64.lld-14", "-dylib", "-arch", cpu, "-platform_version", "macos", "12.0", "14.0", "-syslibroot", SDK,
        "-install_name", FRAMEWORK, *objects, "-lSystem", "-o", made)
    return made


def switches(pid):
    """How often each thread of a process has slept."""
    found = {}
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path, encoding="utf-8") as file:
            found[path] = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(), re.MULTILINE).group(1))
    return found


class CFRunLoop(AppleTest):
    def build(self, cpu):
        shipped = library(cpu, "libhangdog.1.dylib")
        return linked(cpu, "cfrunloop", shipped, core_foundation(cpu), flags=FLAGS), os.path.dirname(shipped)

    def errors(self, cpu, program, shipped):
        """Of one run: each block's name, and by how many ms the report of it is too long."""
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
            said = self.passes(cpu, program, spool, folders=[shipped])
            blocks = [(name, int(ns) / 1e6) for name, ns in re.findall(r"^block (\S+) (\d+)$", said, re.MULTILINE) if name != "short"]
            found = [report for report in reports(spool) if report["kind"] != "session"]
            self.assertEqual(["launch"] + ["hang"] * 10, [report["kind"] for report in found])
            self.assertEqual(11, len(blocks))
            return {name: report["duration_ns"] / 1e6 - ms for (name, ms), report in zip(blocks, found)}

    def test_each_block_is_seen_with_its_length(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                program, shipped = self.build(cpu)
                least = {}
                for _ in range(TRIES):
                    for name, error in self.errors(cpu, program, shipped).items():
                        least[name] = min(error, least.get(name, error), key=abs)
                    late = [name for name, error in least.items()
                            if not (-1 - PING_MS <= error <= 1 + PING_MS / 2 if name == "ping" else -1 <= error <= 1)]
                    if not late:
                        break
                for name, error in least.items():
                    print(f"{cpu}: {name}: error {error:+.3f} ms")
                self.assertEqual([], late)

    def test_an_idle_loop_wakes_no_thread(self):
        for cpu in CPUS:
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                program, shipped = self.build(cpu)
                command = [*RUNNERS[cpu], os.path.join(folder_of(cpu), "apple-loader"), "-L", folder_of(cpu), "-L", shipped, program,
                           spool, "idle"]
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                    self.assertEqual("idle\n", child.stdout.readline())
                    time.sleep(0.7)
                    before = switches(child.pid)
                    time.sleep(1)
                    after = switches(child.pid)
                    self.assertEqual((0, ""), (child.wait(timeout=60), child.stdout.read()))
                self.assertGreaterEqual(len(before), 3)
                self.assertEqual(before, after)


if __name__ == "__main__":
    main()
