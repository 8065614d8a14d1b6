# SPDX-License-Identifier: MIT
"""`hangdog-bench query` with few reports: it measures every page, the store that it fills in bulk has the sums of its reports, and the
pages say these. The times themselves are for a machine that does nothing else."""

import glob
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest

from support_fleet import SERVE, Collector, need_fleet
from support_run import BUILD, environment, main

BENCH = os.path.join(BUILD, "bin/hangdog-bench")
REPORTS = 10000
PAGES = {"overview", "overview.90_days", "overview.app", "groups.hangs", "groups.users", "groups.new", "groups.offset", "versions", "group.largest", "group", "stack.largest", "stack.version", "stack.inverted",
         "reports", "reports.version", "reports.offset", "compare", "search", "search.version", "search.id", "kinds", "kind", "kind.days", "kind.app"}
PATIENCE_MS = 10000
HANGS = "('hang', 'fatal-hang')"


class Query(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_fleet()
        if not os.path.exists(BENCH):
            raise unittest.SkipTest("built without the benches (HANGDOG_BUILD_BENCH)")
        cls.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.figures = cls.measure()
        (cls.path,) = glob.glob(cls.folder + "/*.db")
        cls.store = sqlite3.connect(cls.path)
        cls.addClassCleanup(cls.store.close)

    @classmethod
    def measure(cls):
        run = subprocess.run([BENCH, "--fast", "--stores", cls.folder, "query"], check=False, text=True, stdout=subprocess.PIPE,
                             env=environment())
        assert run.returncode in (0, 1), run  # 1: a time is above its target
        return {line["name"]: line for line in map(json.loads, run.stdout.splitlines())}

    def rows(self, sql, *values):
        return self.store.execute(sql, values).fetchall()

    def same(self, sums, reports):
        self.assertEqual(self.rows(sums), self.rows(reports))

    def test_every_page_is_measured(self):
        self.assertEqual({"query.1e+04." + page for page in PAGES | {"file"}}, set(self.figures))
        for name, figure in self.figures.items():
            self.assertGreater(figure["value"], 0, figure)
            self.assertLess(figure["value"], PATIENCE_MS, figure)
            self.assertEqual("MiB" if name.endswith(".file") else "ms", figure["unit"])

    def test_a_store_that_is_there_is_not_filled_again(self):
        before = os.stat(self.path).st_ino
        self.assertEqual(set(self.figures), set(self.measure()))
        self.assertEqual(before, os.stat(self.path).st_ino)

    def test_its_sums_are_those_of_the_reports(self):
        self.assertEqual([(REPORTS,)], self.rows("SELECT count(*) FROM report"))
        of_group = "SELECT grouped, %s, count(*), sum(duration_ms) FROM report WHERE grouped NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        for table, column, value in (("group_day", "day", "started_ms / 86400000"), ("group_version", "version", "version"),
                                     ("group_system", "system", "system")):
            self.same("SELECT fingerprint, %s, count, total_ms FROM %s ORDER BY 1, 2" % (column, table), of_group % value)
        self.same("SELECT fingerprint, count, total_ms, max_ms, users, first_ms, last_ms FROM grouped ORDER BY 1",
                  "SELECT r.grouped, count(*), sum(duration_ms), max(duration_ms), (SELECT count(*) FROM user u WHERE u.fingerprint ="
                  " r.grouped), min(started_ms), max(started_ms) FROM report r WHERE grouped NOT NULL GROUP BY 1 ORDER BY 1")
        self.same("SELECT app, day, kind, count FROM app_day ORDER BY 1, 2, 3",
                  "SELECT app, started_ms / 86400000, kind, count(*) FROM report GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")
        hangs = "sum(kind IN %s), sum(iif(kind IN %s, duration_ms, 0))" % (HANGS, HANGS)
        self.same("SELECT app, version, day, count, total_ms FROM version_day ORDER BY 1, 2, 3",
                  "SELECT app, version, started_ms / 86400000, %s FROM report GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" % hangs)
        self.same("SELECT app, version, count, total_ms, runs, first_ms, last_ms FROM app_version ORDER BY 1, 2",
                  "SELECT app, version, %s, sum(kind = 'session'), min(started_ms), max(started_ms) FROM report GROUP BY 1, 2"
                  " ORDER BY 1, 2" % hangs)
        self.same("SELECT sum(used_ms) FROM version_day", "SELECT sum(used_ms) FROM app_version")
        self.same("SELECT sum(used_ms) FROM version_day", "SELECT sum(total_ms) FROM app_day WHERE kind = 'session'")

    def test_pages_are_those_of_the_reports(self):
        collector = Collector()
        self.addCleanup(collector.close)
        collector.stop()
        shutil.copy(self.path, collector.store)
        collector.read_key = subprocess.run([SERVE, "--store", collector.store, "--new-key", "read"], check=True, text=True,
                                            stdout=subprocess.PIPE, env=environment()).stdout.strip()
        collector.start("--retention", "0")
        for days in 7, 90:
            page, since = collector.get("overview?days=%d" % days), int(time.time()) // 86400 - days
            top = self.rows("SELECT grouped, count(*), sum(duration_ms) FROM report WHERE started_ms / 86400000 >= ? AND grouped NOT NULL"
                            " GROUP BY 1 ORDER BY 3 DESC, 2 DESC LIMIT 200", since)
            self.assertEqual([row[1:] for row in top], [(g["count"], g["total_ms"]) for g in page["groups"]])
            self.assertEqual({row[0] for row in top[:100]}, {g["fingerprint"] for g in page["groups"][:100]})
            self.assertEqual(self.rows("SELECT count(*), sum(duration_ms) FROM report WHERE started_ms / 86400000 >= ? AND kind IN " + HANGS,
                                       since), [(sum(row["count"] for row in page["series"]), sum(row["total_ms"] for row in page["series"]))])
            self.assertEqual(self.rows("SELECT kind, count(*) FROM report WHERE started_ms / 86400000 >= ? GROUP BY 1 ORDER BY 1", since),
                             [(row["kind"], row["count"]) for row in collector.get("kinds?days=%d" % days)])


if __name__ == "__main__":
    main()
