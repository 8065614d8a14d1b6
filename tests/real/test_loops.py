# SPDX-License-Identifier: MIT
"""docs/loops.md: each cell of its table, from a run. The cost of a turn is a figure of a quiet machine: here it has only to come."""

import os
import re
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_loops import CASES, LOOPS, NotHere, run_case
from support_run import SOURCE, ignore, main

AT_ONCE = 12  # programs
TURNS = 200  # for a cost that only has to come


def rows_of_page():
    """{loop: the texts of its cells}"""
    with open(os.path.join(SOURCE, "docs/loops.md"), encoding="utf-8") as page:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in page if line.startswith("| ")]
    return {row[0]: dict(zip(CASES, row[1:])) for row in rows if len(row) == 1 + len(CASES)}


def without_figures(text):
    return re.sub(r"< noise,|[+-]?[\d.]+", "N", text) if "ms" in text or "µs" in text else re.sub(r" ?\[\^\d+\]", "", text)


class Rows(unittest.TestCase):
    """A test for each loop; they are made below. All programs run next to each other, since they sleep nearly all the time."""

    @classmethod
    def setUpClass(cls):
        pool = cls.enterClassContext(ThreadPoolExecutor(AT_ONCE))
        cls.cells = {(loop.name, case): pool.submit(run_case, loop, case, TURNS) for loop in LOOPS for case in CASES}

    def check(self, loop):
        try:
            cells = {case: self.cells[loop.name, case].result() for case in CASES}
        except NotHere as why:
            self.skipTest(str(why))
        for case, cell in cells.items():
            if cell.faults:  # twelve programs next to each other make a busy machine
                ignore((loop.name, case), "%s, %s: %s: runs once more" % (loop.name, case, cell.faults))
                cells[case] = run_case(loop, case, TURNS)
        self.assertEqual({}, {case: cell.faults for case, cell in cells.items() if cell.faults})
        page = rows_of_page()[loop.name]
        for case, cell in cells.items():
            self.assertEqual(without_figures(page[case]), without_figures(cell.text), case)

    def test_page_has_each_loop(self):
        self.assertEqual([loop.name for loop in LOOPS], [name for name in rows_of_page() if name != "loop"])


for _loop in LOOPS:
    setattr(Rows, "test_" + re.sub(r"\W", "_", _loop.program), lambda self, loop=_loop: self.check(loop))


if __name__ == "__main__":
    main()
