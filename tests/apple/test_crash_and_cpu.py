# SPDX-License-Identifier: MIT
"""Crashes by signals, and the CPU monitor's report, from the dylib for macOS in the loader."""

import signal

from support_apple import CPUS, AppleTest, main, shown


class CrashAndCpu(AppleTest):
    def test_crashes_name_their_signal_and_function(self):
        cases = [("segv", signal.SIGSEGV, "SIGSEGV", "read_bad_address"), ("abort", signal.SIGABRT, "SIGABRT", "give_up")]
        for cpu in CPUS:
            for how, number, name, function in cases:
                for where in ((), ("thread",)):
                    with self.subTest(f"{cpu} {how} {where}"):
                        found = self.reports_of(cpu, "crash", how, *where, kind="crash", status=-number)
                        self.assertEqual(1, len(found))
                        text = shown(found[0])
                        self.assertIn(name, text)
                        self.assertIn(function, text)

    def test_the_cpu_monitor_names_the_busy_function(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                found = self.reports_of(cpu, "cpu", kind="cpu")
                self.assertEqual(1, len(found))
                self.assertIn("burn", shown(found[0]))


if __name__ == "__main__":
    main()
