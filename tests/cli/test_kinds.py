# SPDX-License-Identifier: MIT
"""Each kind and each cause of the schema: a real program has a report of it. docs/kinds.md shows them."""

import json
import os
import unittest

from support_figures import wrong_figures
from support_kinds import EVERY, run_every, told_by
from support_run import SANITIZER, SOURCE, RealCase, ignore, main


def schema():
    with open(os.path.join(SOURCE, "docs/report.schema.json"), encoding="utf-8") as file:
        return json.load(file)["properties"]


@unittest.skipIf(SANITIZER, "a sanitizer's functions are in the stacks, and its runtime ends what crashes")
class Kinds(RealCase):
    @classmethod
    def setUpClass(cls):
        cls.found = run_every()

    def test_each_of_the_schema_is_shown(self):
        self.assertEqual(set(schema()["kind"]["enum"]), {shown.name for shown in EVERY if shown.group == "kind"})
        self.assertEqual(set(schema()["cause"]["properties"]["kind"]["enum"]),
                         {shown.name for shown in EVERY if shown.group == "cause"})

    def test_each_report_is_what_it_shows(self):
        for shown in EVERY:
            found = self.found[shown.group, shown.name]
            with self.subTest(shown.group + " " + shown.name):
                if found is None:
                    print("%s %s: not shown here" % (shown.group, shown.name))
                    continue
                self.assertIsInstance(found, tuple, found)
                text, report = found
                self.assert_valid(report)
                if "samples" in report and report["kind"] != "crash":  # whose one sample takes no time
                    self.assertEqual([], wrong_figures(report))
                told = told_by(shown, report)
                if told == "starved" != shown.name:
                    ignore(shown.name, "cause starved instead of %s" % shown.name)
                    continue
                self.assertEqual(shown.name, told, text)
                self.assertNotIn(text.strip(), ("", "hangdog"))


if __name__ == "__main__":
    main()
