# SPDX-License-Identifier: MIT
"""From the dylib for macOS to `hangdog show`: a loop hangs in a known function, and the report names the function's module,
UUID and offset. A dSYM gives file and line, the same that llvm-symbolizer gives."""

import os
import tempfile

from support_apple import CPUS, AppleTest, library, linked, main, reports, run, shown


def uuid_of(file):
    for line in run("llvm-objdump-14", "--macho", "--private-headers", file).splitlines():
        word = line.split()
        if word[:1] == ["uuid"]:
            return word[1].replace("-", "").lower()
    return ""


def lines_of(cpu, dsym, offsets):
    """llvm-symbolizer's function and file:line of each offset."""
    said = run("llvm-symbolizer-14", "--obj=" + dsym, "--default-arch=" + cpu, "--relativenames", *[hex(o) for o in offsets])
    answers = []
    for block in said.strip().split("\n\n"):
        function, place = block.split("\n")[-2:]
        answers.append((function.lstrip("_"), ":".join(os.path.basename(place).split(":")[:2])))
    return answers


class ThinThread(AppleTest):
    def check_report(self, cpu, program, report):
        self.assertEqual("hang", report["kind"])
        self.assertTrue(report["complete"])
        self.assertAlmostEqual(700, report["duration_ns"] / 1e6, delta=150)
        host = report["host"]
        self.assertEqual(("macos", "Loader1,1", {"arm64": "aarch64"}.get(cpu, cpu)), (host["os"], host["model"], host["arch"]))
        self.assertTrue(host["os_version"].startswith("macOS 14.5"), host)
        frames = report["hot_stack"]["frames"]
        module = report["modules"][frames[0]["module"]]
        self.assertEqual("thin", os.path.basename(module["path"]))
        self.assertEqual(uuid_of(program), module["build_id"])
        self.assertEqual(uuid_of(program), report["app"].get("build_id"))
        # The innermost frame is an address; the others are return addresses.
        return [int(f["offset"], 16) - (i > 0) for i, f in enumerate(frames) if f["module"] == frames[0]["module"]]

    def test_a_hang_is_named_to_file_and_line(self):
        for cpu in CPUS:
            with self.subTest(cpu), tempfile.TemporaryDirectory(prefix="hangdog-test-") as spool:
                shipped = library(cpu, "libhangdog.1.dylib")
                program = linked(cpu, "thin", shipped)
                run("dsymutil-14", program, "-o", program + ".dSYM")
                dsym = program + ".dSYM/Contents/Resources/DWARF/thin"
                self.passes(cpu, program, spool, folders=[os.path.dirname(shipped)])
                hangs = [r for r in reports(spool) if r["kind"] == "hang"]
                self.assertEqual(1, len(hangs))
                expected = lines_of(cpu, dsym, self.check_report(cpu, program, hangs[0]))
                self.assertEqual(["count_slowly", "parse_document", "handle_event", "main"], [f for f, _ in expected][-4:])
                text = shown(hangs[0])
                for function, place in expected:
                    self.assertIn(function, text)
                    self.assertIn(place, text, f"{cpu}: {function}\n{text}")


if __name__ == "__main__":
    main()
