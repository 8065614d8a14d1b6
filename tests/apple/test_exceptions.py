# SPDX-License-Identifier: MIT
"""Uncaught exceptions of C++ and Objective-C, and Mach exceptions, from the dylib for macOS in the loader."""

import signal

from support_apple import CPUS, AppleTest, main, shown


class Exceptions(AppleTest):
    def test_the_report_has_type_and_text(self):
        cases = [("cxx", "uncaught C++ exception, std::out_of_range: no element 7", "throw_cxx"),
                 ("objc", "uncaught exception, NSRangeException: index 5 beyond bounds [0 .. 2]", "throw_objc")]
        for cpu in CPUS:
            for how, text, function in cases:
                with self.subTest(f"{cpu} {how}"):
                    found = self.reports_of(cpu, "exception", how, kind="crash", status=-signal.SIGABRT)
                    self.assertEqual(1, len(found))
                    self.assertEqual("SIGABRT", found[0]["crash"]["signal"])
                    said = " ".join(shown(found[0]).split())
                    self.assertIn(text, said)
                    self.assertIn(function, said)

    def test_a_mach_exception_is_stored_and_refused(self):
        for cpu in CPUS:
            for where in ((), ("thread",)):
                with self.subTest(f"{cpu} {where}"):
                    # 21: the exception was answered and the ports were restored before the program's own handler ran
                    found = self.reports_of(cpu, "crash", "segv", *where, "mach", kind="crash", status=21)
                    self.assertEqual(1, len(found))
                    self.assertEqual(("SIGSEGV", "0x4010"), (found[0]["crash"]["signal"], found[0]["crash"]["address"]))
                    self.assertIn("read_bad_address", shown(found[0]))


if __name__ == "__main__":
    main()
