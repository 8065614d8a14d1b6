# SPDX-License-Identifier: MIT
"""Frames of Apple's programs get names by dSYM bundles and by Mach-O files, from the command and from the collector."""

import json
import os
import random
import re
import subprocess
import tempfile
import unittest

from support_dsym import LACKING, App, SWIFT_SOURCE
from support_fleet import Collector, need_fleet
from support_run import HANGDOG, PATIENCE, SANITIZER, environment, main, wait_until

MUTATIONS = 20 if SANITIZER else 150


@unittest.skipIf(LACKING, LACKING + " is not installed: scripts/install-dependencies apple")
class Apple(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def show(self, report, *options, variables=None):
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return json.loads(subprocess.run([HANGDOG, "show", "--json", *options, path], capture_output=True, text=True, timeout=PATIENCE,
                                         check=True, env=environment(variables or {})).stdout)

    def chains(self, report):
        """{offset: [(function, line)]}."""
        found = {}
        for frame in report["hot_stack"]["frames"]:
            found.setdefault(int(frame["offset"], 16), []).append((frame.get("function"), frame.get("line", 0)))
        return found


class AtTheCommand(Apple):
    def test_a_dsym_names_as_llvm_does(self):
        app = App(self.folder, "arm64", "x86_64")
        for machine in app.machines:
            places = app.addresses(machine, 4)
            found = self.chains(self.show(app.report(machine, places), "--symbols", self.folder))
            inlined = 0
            for place in places:
                self.assertEqual(app.truth(machine, place), found[place], (machine, hex(place)))
                inlined += len(found[place]) > 1
            self.assertGreater(inlined, 0)

    def test_the_environment_and_the_program_s_own_folder(self):
        app = App(self.folder, "arm64")
        place = app.addresses("arm64")[0]
        report = app.report("arm64", [place])
        self.assertNotIn("function", self.show(report)["hot_stack"]["frames"][0])
        self.assertEqual("app.cc", os.path.basename(
            self.show(report, variables={"HANGDOG_SYMBOLS": "/nowhere:" + app.dsym})["hot_stack"]["frames"][0]["file"]))
        self.assertIn("line", self.show(app.report("arm64", [place], path=app.path))["hot_stack"]["frames"][0])

    def test_a_table_of_symbols_names_functions(self):
        app = App(self.folder, "x86_64")
        os.rename(app.dsym, app.dsym + "-elsewhere")
        subprocess.run(["llvm-strip-14", "-S", app.path], check=True)
        places = app.addresses("x86_64", 1)
        report = self.show(app.report("x86_64", places), "--symbols", self.folder)
        names = {frame.get("function") for frame in report["hot_stack"]["frames"]}
        self.assertEqual({"app::View::layout(int)", "app::hidden(int)", "run_app"}, names - {None})

    def test_swift_and_objective_c_are_named_as_a_person_reads_them(self):
        app = App(self.folder, "arm64", source=SWIFT_SOURCE)
        swift = ["View.layout(of:in:)", "partial apply for closure #1 in View.body.getter", "(1) await resume partial function for Model.load()"]
        places = app.addresses("arm64")
        described = self.names(app, places, app.dsym)
        self.assertEqual(swift, described[:3])
        os.rename(app.dsym, app.dsym + "-elsewhere")
        subprocess.run(["llvm-strip-14", "-S", app.path], check=True)
        self.assertEqual(swift + ["$s4main4ViewVMacro", "-[View hit]", "-[View hit]_block_invoke"], self.names(app, places, self.folder))

    def names(self, app, places, symbols):
        """Functions in the order of their code."""
        chains = self.chains(self.show(app.report("arm64", places), "--symbols", symbols))
        return list(dict.fromkeys(chains[place][0][0] for place in places))

    def test_a_swift_function_is_the_app_s_own(self):
        app = App(self.folder, "arm64", source=SWIFT_SOURCE)
        places = app.addresses("arm64")
        chains = self.chains(self.show(app.report("arm64", places), "--symbols", app.dsym))
        for name in ("View.layout(of:in:)", "partial apply for closure #1 in View.body.getter"):
            place = next(place for place in places if chains[place][0][0] == name)
            report = app.report("arm64", [place])
            report["app"]["executable"] = "App"
            path = os.path.join(self.folder, "report.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(report, file)
            text = subprocess.run([HANGDOG, "show", "--symbols", app.dsym, path], capture_output=True, text=True, timeout=PATIENCE, check=True,
                                  env=environment()).stdout
            self.assertRegex(text.splitlines()[0], r"^hang of 1.5 s in %s \(app.cc:\d+\), shop\[71\]" % re.escape(name))

    def test_the_text_has_the_form_of_a_crash_report(self):
        app = App(self.folder, "arm64")
        known, unknown = app.addresses("arm64")[0], 0x9000
        report = app.report("arm64", [known, unknown], threads=[{"tid": 9, "name": "worker", "stack": {"frames": [
            {"pc": hex(0x100000000 + known), "module": 0, "offset": hex(known), "trust": "context"}]}}])
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        text = subprocess.run([HANGDOG, "export", "--symbols", app.dsym, path], capture_output=True, text=True, timeout=PATIENCE, check=True,
                              env=environment()).stdout
        for line in (r"Process: +shop \[71\]", r"Code Type: +ARM-64 \(Native\)", r"Date/Time: +2026-01-31 12:00:00.000 \+0000",
                     r"OS Version: +macOS 14\.5 \(23F79\)", r"Report Version: +104", r"Triggered by Thread: +0", r"Thread 0:", r"Thread 1 name:  worker"):
            self.assertRegex(text, "(?m)^" + line + "$")
        images = re.findall(r"(?m)^ *(0x[0-9a-f]+)[-\s]+(0x[0-9a-f]+)\s+[+]?(.+?)\s+(arm64|x86_64)\s+<([0-9a-f]{32})>\s+(.*)$", text)
        self.assertEqual([("0x100000000", "0x10000ffff", "App", "arm64", app.uuid["arm64"], report["modules"][0]["path"])], images)
        frames = re.findall(r"(?m)^(\d+)\s+(.+?)\s+(0x[0-9a-f]{16})\s+(.*)$", text.split("Binary Images:")[0])
        self.assertEqual(("App", "0x%016x" % (0x100000000 + unknown), "0x100000000 + %d" % unknown),
                         next(frame[1:] for frame in frames if frame[3].startswith("0x")))
        self.assertEqual(2, sum("app::View::layout(int) + " in frame[3] for frame in frames))

    def test_the_app_s_own_function_is_named(self):
        app = App(self.folder, "arm64")
        report = app.report("arm64", [app.addresses("arm64")[0]])
        report["app"]["executable"] = "App"
        report["modules"] += [{"path": path, "base": "0x180000000", "size": 4096, "build_id": "%032x" % (i + 1)} for i, path in enumerate(
            ("/System/Library/Frameworks/AppKit.framework/Versions/C/AppKit",
             "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation", "/usr/lib/dyld"))]
        inner, outer = ((1, "-[NSView layoutSubtreeIfNeeded]"),), ((2, "__CFRunLoopRun"), (1, "-[NSApplication run]"), (0, "main"), (3, "start"))
        frames = [[{"pc": "0x180000010", "module": module, "offset": "0x10", "function": name} for module, name in part] for part in (inner, outer)]
        report["hot_stack"]["frames"] = frames[0] + report["hot_stack"]["frames"] + frames[1]
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        text = subprocess.run([HANGDOG, "show", "--symbols", app.dsym, path], capture_output=True, text=True, timeout=PATIENCE, check=True,
                              env=environment()).stdout
        self.assertRegex(text.splitlines()[0], r"^hang of 1.5 s in app::View::(inner|layout)\(int\) \(app.cc:\d+\), shop\[71\]")

    def test_damaged_files_end_no_command(self):
        app = App(self.folder, "arm64")
        dice = random.Random(31)
        with open(app.dwarf, "rb") as file:
            whole = file.read()
        report = app.report("arm64", app.addresses("arm64"))
        named = 0
        for _ in range(MUTATIONS):
            data = bytearray(whole)
            for _ in range(dice.randint(1, 6)):
                at = dice.randrange(dice.choice((64, 2048, len(data))))
                data[at] = dice.choice((0, 0xff, 0x7f, 0x80, dice.randrange(256)))
            if dice.random() < 0.1:
                del data[dice.randrange(64, len(data)):]
            with open(app.dwarf, "wb") as file:
                file.write(data)
            named += any("line" in frame for frame in self.show(report, "--symbols", app.dsym)["hot_stack"]["frames"])
        self.assertGreater(named, MUTATIONS // 10)

    def test_a_person_learns_where_names_come_from(self):
        app = App(self.folder, "arm64")
        report = app.report("arm64", [*app.addresses("arm64")[:1]])
        report["modules"].append({"path": "/usr/lib/dyld", "base": "0x180000000", "size": 4096, "build_id": "%032x" % 1})
        report["hot_stack"]["frames"].append({"pc": "0x180000010", "module": 1, "offset": "0x10", "trust": "cfi"})
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        text = subprocess.run([HANGDOG, "show", path], capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment()).stdout
        self.assertRegex(text, r"(?m)^ *no symbols for App: .* \(--symbols DIR: a folder with its dSYM\)$")
        self.assertRegex(text, r"(?m)^ *no symbols for dyld: [^(]*$")
        self.assertRegex(text, r"(?m)^ *host +macOS 14\.5 \(23F79\), Darwin 23\.5\.0, aarch64$")

    def test_another_build_is_refused(self):
        app = App(self.folder, "arm64")
        report = app.report("arm64", app.addresses("arm64"), path=app.path)
        report["modules"][0]["build_id"] = "0123456789abcdef0123456789abcdef"
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        done = subprocess.run([HANGDOG, "show", path, "--symbols", self.folder], capture_output=True, text=True, timeout=PATIENCE,
                              check=True, env=environment())
        self.assertIn("no symbols for App: its file is another one now: the UUID differs", done.stdout + done.stderr)


class AtTheCollector(Apple):
    def setUp(self):
        need_fleet()
        super().setUp()
        self.collector = Collector()
        self.addCleanup(self.collector.close)

    def test_an_uploaded_bundle_names_reports(self):
        app = App(self.folder, "arm64", "x86_64")
        for machine in app.machines:
            places = app.addresses(machine, 16)
            report = app.report(machine, places)
            answer = self.collector.send([report])[1]
            self.assertEqual(1, answer["accepted"], answer)
            if machine == app.machines[0]:
                done = subprocess.run([HANGDOG, "upload-symbols", "--to", self.collector.url, "--key", self.collector.admin_key, app.dsym],
                                      capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment())
                self.assertEqual(0, done.returncode, done.stderr)
                for uuid in app.uuid.values():
                    self.assertIn("the collector has it, as " + uuid, done.stderr)
            wait_until(lambda of=report: "function" in self.collector.get("reports/" + of["id"])["hot_stack"]["frames"][0], "names")
            found = self.chains(self.collector.get("reports/" + report["id"]))
            for place in places:
                self.assertEqual(app.truth(machine, place), found[place], (machine, hex(place)))


if __name__ == "__main__":
    main()
