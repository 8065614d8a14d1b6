# SPDX-License-Identifier: MIT
"""Reports and what `hangdog show --json` makes of them have the form of docs/report.schema.json."""

import copy
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

from support_run import main

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
SOURCE = pathlib.Path(os.environ["HANGDOG_SOURCE"])
HANGDOG = BUILD / "bin" / "hangdog"
WRITE_REPORT = BUILD / "tests" / "programs" / "write-report"
KINDS = ["full", "live", "brief", "session", "nasty", "empty", "deadlock"]
ADDED = {"function", "file", "line"}


def strict(schema):
    """The schema with no member allowed that it does not name: a misspelt one must not pass for an unknown one."""
    schema = copy.deepcopy(schema)
    del schema["$id"]  # a relative one, which the validator would try to fetch

    def close(node):
        if isinstance(node, dict):
            if "properties" in node and "additionalProperties" not in node:
                node["additionalProperties"] = False
            for child in node.values():
                close(child)
        elif isinstance(node, list):
            for child in node:
                close(child)

    close(schema)
    return schema


def without_symbols(node):
    """What a report was before symbols were added."""
    if isinstance(node, dict):
        return {k: without_symbols(v) for k, v in node.items() if k not in ADDED}
    if isinstance(node, list):
        return [without_symbols(v) for v in node if not (isinstance(v, dict) and v.get("inlined"))]
    return node


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = subprocess.run([WRITE_REPORT, cls.folder.name, *KINDS], check=True, capture_output=True, text=True)
        cls.ids = dict(zip(KINDS, out.stdout.split()))
        schema = strict(json.loads((SOURCE / "docs" / "report.schema.json").read_text()))
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def written(self, kind):
        return json.loads((pathlib.Path(self.folder.name) / f"{self.ids[kind]}.json").read_bytes().decode("utf-8"))

    def shown(self, kind, *options):
        file = pathlib.Path(self.folder.name) / f"{kind}.json"  # show keeps the names in a report of its own name
        file.write_text(json.dumps(self.written(kind)), encoding="utf-8")
        command = [HANGDOG, "show", "--json", *options, file]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8"))

    def assert_valid(self, report):
        errors = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in self.validator.iter_errors(report)]
        self.assertEqual(errors, [])

    def test_no_member_stands_twice(self):
        def check(pairs):
            names = [name for name, _ in pairs]
            self.assertEqual(len(set(names)), len(names), names)
            return dict(pairs)
        json.loads((SOURCE / "docs" / "report.schema.json").read_text(encoding="utf-8"), object_pairs_hook=check)

    def test_the_schema_forbids_something(self):
        report = self.written("full")
        report["misspelt"] = 1
        self.assertFalse(self.validator.is_valid(report))
        report = self.written("full")
        report["hot_stack"]["frames"][0]["pc"] = 5
        self.assertFalse(self.validator.is_valid(report))

    def test_a_scripts_function_is_a_frame_too(self):
        report = self.written("full")
        frames = report["hot_stack"]["frames"]
        frames.insert(0, {**frames[0], "function": "tick", "file": "/srv/a.py", "line": 7, "inlined": True, "language": "python"})
        self.assert_valid(report)

    def test_every_kind_of_report_is_valid_as_written(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assert_valid(self.written(kind))

    def test_every_kind_of_report_is_valid_with_symbols(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assert_valid(self.shown(kind))

    def test_symbols_change_nothing_else(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assertEqual(without_symbols(self.shown(kind)), self.written(kind))
                self.assertEqual(self.shown(kind, "--no-symbols"), self.written(kind))

    def test_functions_files_lines_and_inlined_frames_are_added(self):
        report = self.shown("full")
        stacks = [report["hot_stack"], report["samples"]["stacks"][0], report["threads"][0]["stack"]]
        for stack in stacks:
            inner, outer = stack["frames"][:2]
            self.assertEqual((inner["function"], inner["inlined"]), ("inlined_step", True))
            self.assertEqual(outer["function"], "hot_function")
            self.assertNotIn("inlined", outer)
            self.assertEqual(inner["offset"], outer["offset"])
            self.assertIn("main", [f.get("function") for f in stack["frames"]])
            text = (SOURCE / "tests/scenario/programs/write-report.c").read_text().splitlines()
            self.assertTrue(inner["file"].endswith("write-report.c"))
            self.assertIn("take_stack(stack);", text[inner["line"] - 1])
            self.assertIn("inlined_step(stack);", text[outer["line"] - 1])

    def test_the_hot_stack_is_not_the_last_sample(self):
        report = self.shown("full")
        self.assertEqual(report["hot_stack"]["share"], 0.8)
        last = report["samples"]["timeline"][-1]["stack"]
        self.assertEqual(report["samples"]["stacks"][last]["frames"][0]["function"], "other_function")

    def test_the_trees_frames_keep_their_index(self):
        before, after = self.written("full")["samples"]["tree"], self.shown("full")["samples"]["tree"]
        self.assertEqual([f["pc"] for f in before["frames"]], [f["pc"] for f in after["frames"]])
        self.assertIn("hot_function", [f.get("function") for f in after["frames"]])

    def test_no_text_breaks_the_document(self):
        report = self.written("nasty")
        self.assertTrue(report["app"]["name"].startswith("quote\" back\\slash \x01\n\t\x7f caf\u00e9 \ufffd\ufffd"))
        self.assertIn("\U0001f600", report["app"]["name"])

    def test_a_module_that_was_replaced_has_no_symbols_and_says_so(self):
        report = self.written("full")
        module = next(i for i, m in enumerate(report["modules"]) if m["path"].endswith("write-report"))
        report["modules"][module]["build_id"] = "00" * 20
        path = pathlib.Path(self.folder.name) / "replaced.json"
        path.write_text(json.dumps(report))
        out = subprocess.run([HANGDOG, "show", path], check=True, capture_output=True, text=True).stdout
        self.assertIn("no symbols for write-report: its file is another one now: the build-id differs", out)
        self.assertNotIn("hot_function", out)
        path.unlink()

    def test_the_list_names_each_report(self):
        listed = []
        for options in ["--each"], ["--kind", "session"]:
            out = subprocess.run([HANGDOG, "list", "--spool", self.folder.name, "--json", *options], check=True,
                                 capture_output=True)
            listed += json.loads(out.stdout.decode("utf-8"))
        self.assertEqual(sorted(r["id"] for r in listed), sorted(self.ids.values()))
        full = next(r for r in listed if r["id"] == self.ids["full"])
        self.assertEqual((full["function"], full["kind"], full["cause"]), ("inlined_step", "hang", "sleep"))
        self.assertEqual(full["duration_ns"], 2003000000)


if __name__ == "__main__":
    main()
