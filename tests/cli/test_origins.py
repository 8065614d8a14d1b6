# SPDX-License-Identifier: MIT
"""A collector with SQLite tells hosts, units, containers and images apart, and counts them."""

import json
import sqlite3
import unittest

from support_fleet import Collector, small_report
from support_origins import check, fleet, place
from support_run import main

TABLES = ("group_origin", "app_origin")


class Origins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.close)

    def sums(self, app):
        with sqlite3.connect(self.collector.store) as db:
            return [db.execute("SELECT sum(count), sum(total_ms) FROM app_origin WHERE app = ? AND part = 'host'", (app,)).fetchone(),
                    db.execute("SELECT sum(o.count) FROM group_origin o JOIN grouped g USING(fingerprint) WHERE g.app = ? AND part = 'host'",
                               (app,)).fetchone()]

    def test_pages(self):
        self.assertEqual(10, self.collector.send(fleet("pages"))[1]["accepted"])
        check(self, self.collector.get, "pages")

    def test_metrics(self):
        self.collector.send(fleet("metrics"))
        text = self.collector.request("GET", "/metrics", key=self.collector.read_key)[2].decode()
        self.assertIn('\nhangdog_hosts{app="metrics"} 4\n', text)
        self.assertIn('\nhangdog_units{app="metrics"} 2\n', text)
        self.assertRegex(text, r'\nhangdog_host_hang_seconds_total\{host="k8s-1"\} [24]\n')
        self.assertRegex(text, r'\nhangdog_unit_used_seconds_total\{unit="nginx.service"\} (36|72)00\n')
        self.assertNotIn("\x1b", text)
        self.assertNotIn("host=", self.collector.request("GET", "/metrics")[2].decode())

    def test_a_filter_has_one_of_them(self):
        for query in ("host=a&unit=b", "app=shop&version=1&host=a"):
            status, _, body = self.collector.request("GET", "/api/v1/groups?" + query, key=self.collector.read_key)
            self.assertEqual(400, status)
            self.assertIn("give one of", json.loads(body)["error"])

    def test_an_erased_report_leaves_the_sums(self):
        reports = fleet("erased")
        self.collector.send(reports)
        for one in reports:
            self.assertEqual(200, self.collector.request("DELETE", "/api/v1/reports/" + one["id"], None, {}, self.collector.admin_key)[0])
        self.assertEqual([(None, None), (None,)], self.sums("erased"))

    def test_names_do_not_fill_the_store(self):
        for start in (0, 550):
            status, answer = self.collector.send([small_report("many", host=place("h%d" % i), app={"name": "many", "pid": 1})
                                                  for i in range(start, start + 550)])
            self.assertEqual((200, 550), (status, answer.get("accepted")), answer)
        group = self.collector.get("overview?days=400&app=many")["groups"][0]
        self.assertEqual([(1100, 1100 * 1500), (1100,)], self.sums("many"))
        self.assertEqual(1000, group["hosts"])
        self.assertEqual(50, len(self.collector.get("groups/" + group["fingerprint"])["hosts"]))

    def test_a_store_of_an_earlier_version(self):
        old = Collector()
        self.addCleanup(old.close)
        old.send(fleet("old"))
        old.stop()
        with sqlite3.connect(old.store) as db:
            db.execute("DROP INDEX report_of_host")
            for table in TABLES:
                db.execute("DROP TABLE " + table)
            for column in ("host", "unit", "container", "image"):
                db.execute("ALTER TABLE report DROP COLUMN " + column)
                db.execute("ALTER TABLE arrived DROP COLUMN " + column)
            db.execute("PRAGMA user_version = %d" % (db.execute("PRAGMA user_version").fetchone()[0] - 1))
        old.start()
        self.assertEqual(0, old.get("overview?days=30&app=old")["hosts"])
        old.send(fleet("new"))
        check(self, old.get, "new")


if __name__ == "__main__":
    main()
