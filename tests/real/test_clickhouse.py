# SPDX-License-Identifier: MIT
"""Two collectors on a ClickHouse cluster of two shards. While a shard is away nothing is acknowledged; afterwards each
report is there once. All runs on loopback, from Debian's packages, in a folder of the test."""

import json
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli"))
from support_clickhouse import Cluster
from support_fleet import Collector, small_report
from support_origins import check, fleet
from support_run import wait_until


class ClickHouse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cluster = Cluster(cls.folder)
        cls.addClassCleanup(cluster.stop)
        cls.url, cls.shards = cluster.url, cluster.shards
        cls.collectors = []
        for i in range(2):
            cls.collectors.append(Collector("--store", cls.url, "--state", os.path.join(cls.folder, "state-%d.db" % i)))
            cls.addClassCleanup(cls.collectors[-1].close)

    def ids(self):
        return sorted(self.shards[0].ask("SELECT id FROM hangs.report").split())

    def send_all(self, collector, reports):
        """(the ids that were acknowledged, the statuses of the rest)"""
        lines = b"".join(json.dumps(report).encode() + b"\n" for report in reports)
        status, headers, _ = collector.request("POST", "/api/v1/reports", lines, {"Content-Type": "application/x-ndjson"},
                                               collector.send_key)
        return status, headers

    def test_1_pages(self):
        reports = [small_report("resize" if i % 3 else "blur", label="GET /%d" % (i % 3)) for i in range(30)]
        for i, collector in enumerate(self.collectors):
            self.assertEqual(collector.send(reports[15 * i:15 * i + 15])[1]["accepted"], 15)
        again = self.collectors[1].send(reports)[1]
        self.assertEqual((again["accepted"], again["repeated"]), (0, 30))
        for shard in self.shards:
            self.assertGreater(int(shard.ask("SELECT count() FROM hangs.report_local")), 0)
        collector = self.collectors[0]
        groups = collector.get("overview?days=400")["groups"]
        self.assertEqual([(group["function"], group["count"], group["total_ms"]) for group in groups],
                         [("resize", 20, 30000), ("blur", 10, 15000)])
        group = collector.get("groups/" + groups[0]["fingerprint"])
        self.assertEqual((group["count"], group["users"], group["versions"][0]["count"]), (20, 20, 20))
        self.assertEqual(len(group["reports"]), 20)
        self.assertEqual([(row["label"], row["count"], row["total_ms"]) for row in sorted(group["labels"], key=lambda row: row["label"])],
                         [("GET /1", 10, 15000), ("GET /2", 10, 15000)])
        self.assertEqual(collector.get("reports/" + reports[0]["id"]), reports[0])
        self.assertEqual(collector.get("groups/%s/stack" % groups[0]["fingerprint"])["reports"], 20)
        found = collector.get("search?q=blur")
        self.assertEqual([group["function"] for group in found["groups"]], ["blur"])

    def test_2_a_shard_is_away(self):
        before = self.ids()
        known = set(before)
        sent = [[small_report("fetch") for _ in range(20)] for _ in range(4)]
        self.shards[1].stop()
        for i, batch in enumerate(sent):
            status, headers = self.send_all(self.collectors[i % 2], batch)
            self.assertEqual(status, 503)
            self.assertGreater(int(headers["Retry-After"]), 0)
        self.shards[1].start()
        for i, batch in enumerate(sent):
            wait_until(lambda i=i, batch=batch: self.send_all(self.collectors[i % 2], batch)[0] == 200, "an answer")
            known |= {report["id"] for report in batch}
        self.assertEqual(self.ids(), sorted(known))
        groups = {group["function"]: group["count"] for group in self.collectors[1].get("overview?days=400")["groups"]}
        self.assertEqual(groups["fetch"], 80)


    def test_3_origins(self):
        collector = self.collectors[0]
        for start in range(0, 10, 3):
            collector.send(fleet("fleet")[start:start + 3])
        check(self, collector.get, "fleet")

    def test_3_tables_of_an_earlier_version(self):
        """Tables without hosts get them."""
        url, state = self.url.replace("/hangs?", "/old?"), os.path.join(self.folder, "state-old.db")
        collector = Collector("--store", url, "--state", state)
        self.addCleanup(collector.close)
        collector.send(fleet("fleet-0"))
        collector.stop()
        for shard in self.shards:
            for table in ("origin", "app_origin", "origin_local", "app_origin_local"):
                shard.ask("DROP TABLE IF EXISTS old." + table)
            for column in ("host", "unit", "container", "image"):
                for table in ("report", "report_local"):
                    shard.ask("ALTER TABLE old.%s DROP COLUMN %s" % (table, column))
        collector.start("--store", url, "--state", state)
        collector.send(fleet("fleet-1"))
        self.assertEqual(0, collector.get("overview?days=30&app=fleet-0")["hosts"])
        check(self, collector.get, "fleet-1")


if __name__ == "__main__":
    unittest.main()
