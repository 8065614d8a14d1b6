# SPDX-License-Identifier: MIT
"""States and frames by the frameworks that dlsym finds: the library that ships, on a stand-in for the frameworks. Its
objc_msgSend jumps to the method as Apple's does, so a call in wrong types fails."""

import os
import tempfile

from support_apple import CPUS, AppleTest, library, linked, main, reports


class Adapter(AppleTest):
    def run_scenario(self, cpu, name, environment=None):
        """The reports of a run."""
        shipped = library(cpu, "libhangdog.1.dylib")
        frameworks = linked(cpu, "frameworks", dylib=True)
        program = linked(cpu, "adapter", shipped, frameworks)
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
            self.passes(cpu, program, spool, name, folders=[os.path.dirname(shipped)], environment=environment)
            return reports(spool)

    def test_a_report_has_the_state_of_the_last_notification(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                hangs = [r for r in self.run_scenario(cpu, "states") if r["kind"] != "session"]
                found = [(r["kind"], r["loop"]["state"]) for r in hangs]
                self.assertEqual([("hang", "suspend"), ("hang", "foreground"), ("background-hang", "background")], found)
                self.assertEqual(["serious"] * 3, [r["process"].get("thermal_state") for r in hangs])

    def test_a_session_has_the_frames_of_the_display_link(self):
        for cpu in CPUS:
            for name in ("frames-of-uikit", "frames-of-appkit"):
                with self.subTest(cpu, name=name):
                    session = self.run_scenario(cpu, name)[-1]["session"]
                    self.assertEqual((60, 6), (session["frames_presented"], session["frames_dropped"]))
                    self.assertAlmostEqual(66 / 60, session["frame_ns"] / 1e9, delta=0.02)

    def test_a_launch_of_the_system_has_no_report(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                # Under an emulator a stop may come before the session report is written.
                self.assertIn("launch", [r["kind"] for r in self.run_scenario(cpu, "launch")])
                self.assertNotIn("launch", [r["kind"] for r in self.run_scenario(cpu, "launch", {"ActivePrewarm": "1"})])


if __name__ == "__main__":
    main()
