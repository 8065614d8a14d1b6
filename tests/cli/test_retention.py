# SPDX-License-Identifier: MIT
"""Reports older than the retention go, with their group; the days are a setting of the store."""

import sqlite3
import unittest

from support_fleet import Collector, small_report
from support_run import wait_until


class Retention(unittest.TestCase):
    def setUp(self):
        self.collector = Collector("--retention", "7")
        self.addCleanup(self.collector.close)

    def functions(self):
        return sorted(group["function"] for group in self.collector.get("overview?days=400")["groups"])

    def test_old_reports_go(self):
        for function in "resize", "blur":
            self.assertEqual(self.collector.send(small_report(function))[0], 200)
        self.assertEqual(self.collector.stop(), 0)
        with sqlite3.connect(self.collector.store) as store:
            store.execute("UPDATE report SET received_ms = received_ms - 8 * 86400000 WHERE grouped ="
                          " (SELECT fingerprint FROM grouped WHERE function = 'blur')")
        store.close()
        self.collector.start()  # the store has the 7 days
        wait_until(lambda: self.functions() == ["resize"], "the end of the old report")
        self.collector.stop()
        with sqlite3.connect(self.collector.store) as store:
            self.assertEqual(store.execute("SELECT count(*) FROM report").fetchone(), (1,))
        store.close()


if __name__ == "__main__":
    unittest.main()
