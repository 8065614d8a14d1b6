# SPDX-License-Identifier: MIT
"""`hangdog run` on macOS: the library that is inserted into a program finds the program's loop. It reports a hang with the
function, and nothing of an idle loop. The variables are gone before main."""

import functools
import glob
import os
import tempfile

from support_apple import CPUS, SDK, SOURCE, AppleTest, folder_of, library, linked, main, reports, run, shown

SUPPORT = os.path.join(SOURCE, "tests/support")
HEADERS = [f"-I{SUPPORT}", f"-I{SUPPORT}/corefoundation"]
THRESHOLD_NS = 300 * 1000 * 1000


@functools.lru_cache(maxsize=None)
def inserted_library(cpu):
    return library(cpu, "libhangdog-insert.dylib")


@functools.lru_cache(maxsize=None)
def core_foundation(cpu):
    """The stand-in for CoreFoundation, as a dylib."""
    folder = folder_of(cpu)
    made, objects = os.path.join(folder, "CoreFoundation"), []
    for source in sorted(glob.glob(os.path.join(SUPPORT, "cf_run_loop*.c"))):
        objects.append(os.path.join(folder, os.path.basename(source) + ".o"))
        run("clang-14", "-target", f"{cpu}-apple-macos12", "-isysroot", SDK, "-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer",
            *HEADERS, "-c", source, "-o", objects[-1])
    run("ld64.lld-14", "-arch", cpu, "-platform_version", "macos", "12.0", "14.0", "-syslibroot", SDK, "-dylib",
        "-install_name", "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", *objects, "-lSystem", "-o", made)
    return made


class Insert(AppleTest):
    def run_inserted(self, cpu, program, *arguments, **options):
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
            lines = {"threshold_ns": THRESHOLD_NS, "spool": spool}
            environment = {"DYLD_INSERT_LIBRARIES": inserted_library(cpu), "APPLE_LOADER_QUIET": "1",
                           "HANGDOG_RUN": "".join(f"{name}={value}\n" for name, value in lines.items())}
            self.passes(cpu, program, spool, *arguments, environment=environment, **options)
            self.assertEqual([], [name for name in os.listdir(spool) if name.endswith(".held")])
            return [{**report, "shown": shown(report)} for report in reports(spool) if report["kind"] != "session"]

    def check_hang(self, found, *functions):
        """One hang of 700 ms. A program of symbols names each function of the hot stack."""
        self.assertEqual(["hang"], [report["kind"] for report in found])
        self.assertTrue(found[0]["complete"])
        self.assertIn(found[0]["app"]["name"], ("inserted", "inserted_loop"))
        self.assertAlmostEqual(700, found[0]["duration_ns"] / 1e6, delta=300)
        for function in functions:
            self.assertIn(function, found[0]["shown"])

    def test_a_hang_of_a_loop_is_reported_with_its_function(self):
        for cpu in CPUS:
            program = linked(cpu, "inserted")
            for wait in ("poll", "select", "kevent", "kevent64"):
                with self.subTest(f"{cpu} {wait}"):
                    self.check_hang(self.run_inserted(cpu, program, wait, "hang"), "parse_document", "main")

    def test_a_blocking_call_of_a_loop_is_a_part_of_its_turn(self):
        for cpu in CPUS:
            program = linked(cpu, "inserted")
            with self.subTest(cpu):
                self.check_hang(self.run_inserted(cpu, program, "kevent", "call"), "read_reply", "main")

    def test_an_idle_loop_has_no_report(self):
        for cpu in CPUS:
            program = linked(cpu, "inserted")
            for wait in ("poll", "kevent"):
                with self.subTest(f"{cpu} {wait}"):
                    self.assertEqual([], self.run_inserted(cpu, program, wait, "idle"))

    def test_a_run_loop_is_marked_by_its_observers(self):
        for cpu in CPUS:
            program = linked(cpu, "inserted_loop", core_foundation(cpu), flags=HEADERS)
            for what, function in (("hang", "layout_views"), ("poll", "ask_server")):
                with self.subTest(f"{cpu} {what}"):
                    self.check_hang(self.run_inserted(cpu, program, what), function, "fire")
            with self.subTest(f"{cpu} idle"):
                self.assertEqual([], self.run_inserted(cpu, program, "idle"))


if __name__ == "__main__":
    main()
