# SPDX-License-Identifier: MIT
"""Reports older than the retention go, with their group; the days are a setting of the store. A clock that jumps removes none."""

import json
import sqlite3
import unittest

from support_clock import YEAR, Clock
from support_fleet import Collector, small_report
from support_run import wait_until


class Retention(unittest.TestCase):
    def setUp(self):
        self.collector = Collector("--retention", "7")
        self.addCleanup(self.collector.close)

    def functions(self):
        """Those with reports, in the file: the page's days are the clock's."""
        return [function for (function,) in self.ask("SELECT DISTINCT function FROM grouped JOIN report ON grouped = fingerprint"
                                                     " ORDER BY function")]

    def ask(self, sql):
        store = sqlite3.connect(self.collector.store)
        with store:
            rows = store.execute(sql).fetchall()
        store.close()
        return rows

    def make_old(self, function):
        self.ask("UPDATE report SET received_ms = received_ms - 8 * 86400000 WHERE grouped ="
                 " (SELECT fingerprint FROM grouped WHERE function = '%s')" % function)

    def test_old_reports_go(self):
        for function in "blur", "resize":
            self.assertEqual(self.collector.send(small_report(function))[0], 200)
        self.assertEqual(self.collector.stop(), 0)
        self.make_old("blur")
        self.collector.start()  # the store has the 7 days
        wait_until(lambda: self.functions() == ["resize"], "the end of the old report")
        self.collector.stop()
        self.assertEqual([(1,)], self.ask("SELECT count(*) FROM report"))

    def make_clock(self):
        """The next start has it."""
        clock = Clock(self.collector.folder)
        self.collector.more = clock.environment
        return clock

    def test_a_clock_before_the_build_takes_no_reports(self):
        """They would be dated wrongly, or refused as those of the future."""
        clock = self.make_clock()
        self.assertEqual(0, self.collector.stop())
        clock.set(-10 * YEAR)
        self.collector.start()
        status, headers, body = self.collector.request("POST", "/api/v1/reports", json.dumps(small_report()),
                                                       {"Content-Type": "application/json"}, self.collector.send_key)
        self.assertEqual((503, "60"), (status, headers["Retry-After"]), body)
        self.assertIn(b"clock is wrong", body)
        self.assertEqual(503, self.collector.request("GET", "/healthz")[0])
        clock.set(0)  # while it runs
        self.assertEqual(200, self.collector.send(small_report())[0])
        self.assertEqual(200, self.collector.request("GET", "/healthz")[0])

    def test_a_clock_that_jumps_removes_nothing(self):
        clock = self.make_clock()
        for function in "blur", "resize":
            self.assertEqual(200, self.collector.send([small_report(function) for _ in range(100)])[0])
        self.assertEqual(0, self.collector.stop())
        for jump, functions in ((YEAR, ["blur", "resize"]), (-YEAR, ["blur", "resize", "scale"])):
            clock.set(jump)
            self.collector.start()
            # The first look is at the start.
            wait_until(lambda: "old reports stay" in self.collector.text() or not self.functions(), "a look at the clock")
            self.assertEqual(functions, self.functions(), "a jump of %d days removed reports" % (jump // 86400))
            if jump > 0:  # one comes meanwhile
                self.assertEqual(200, self.collector.send(small_report("scale"))[0])
            self.assertEqual(0, self.collector.stop())
        self.assertEqual([(201,)], self.ask("SELECT count(*) FROM report"))
        clock.set(0)
        self.make_old("blur")
        self.collector.start()
        wait_until(lambda: self.functions() == ["resize", "scale"], "the end of old reports with the right clock")
        self.assertNotIn("old reports stay", self.collector.text())


if __name__ == "__main__":
    unittest.main()
