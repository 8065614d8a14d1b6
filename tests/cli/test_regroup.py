#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Grouping: reports of other builds come to their bug's group, and `hangdog serve --regroup` brings a store of an older rule to
the groups that a new store has."""

import contextlib
import random
import signal
import sqlite3
import subprocess
import time
import unittest

from support_fleet import Collector, small_report
from support_run import HANGDOG, PATIENCE, environment, main

SUMS = ("group_day", "group_version", "group_system", "group_label", "group_origin", "group_duration", "user")


def report(functions, whole=True, **more):
    """A report of the path `functions`, the innermost first; without lines where it is not whole."""
    frames = [{"pc": "0x1010", "module": 0, "function": name, **({"file": "/src/shop.c", "line": 7} if whole else {})}
              for name in functions]
    return small_report(hot_stack={"frames": frames}, **more)


FULL = ("match", "find_all", "search", "on_search", "main")
OTHER = ("decode", "load", "on_open", "main")


class Regroup(unittest.TestCase):
    def collector(self):
        collector = Collector()
        self.addCleanup(collector.close)
        return collector

    def groups(self, collector):
        """{name of the group: its reports}"""
        with contextlib.closing(sqlite3.connect(collector.store)) as db:
            return dict(db.execute("SELECT function, count FROM grouped"))

    def test_reports_of_other_builds_come_to_their_bugs_group(self):
        collector = self.collector()
        for path, whole in ((FULL, True), (OTHER, True), (("on_search", "main"), False), (("match", "find_all", "search", "main"), True)):
            self.assertEqual((200, 1), self.sent(collector, [report(path, whole)]))
        self.assertEqual({"match": 3, "decode": 1}, self.groups(collector))

    def test_a_report_that_may_be_of_two_bugs_is_of_neither(self):
        collector = self.collector()
        for path, whole in ((("verify", "on_open", "main"), True), (OTHER, True), (("on_open", "main"), False)):
            self.assertEqual((200, 1), self.sent(collector, [report(path, whole)]))
        self.assertEqual({"verify": 1, "decode": 1, "on_open": 1}, self.groups(collector))

    def test_an_early_report_that_lacks_functions_gets_its_groups_name_later(self):
        collector = self.collector()
        self.sent(collector, [report(("on_search", "main"), False), report(FULL)])
        self.assertEqual({"match": 2}, self.groups(collector))

    def sent(self, collector, reports):
        status, answer = collector.send(reports)
        return status, answer["accepted"]

    def regroup(self, collector, check=True):
        return subprocess.run([HANGDOG, "serve", "--regroup", "--store", collector.store], env=environment(), capture_output=True,
                              text=True, timeout=PATIENCE, check=check)

    def rows(self, collector):
        """What the store adds up, without the order of rows."""
        with contextlib.closing(sqlite3.connect(collector.store)) as db:
            sums = {table: sorted(db.execute("SELECT * FROM " + table)) for table in SUMS}
            sums["grouped"] = sorted(db.execute("SELECT fingerprint, rule, function, count, total_ms, max_ms, users, first_ms, last_ms"
                                                " FROM grouped"))
            sums["report"] = sorted(db.execute("SELECT id, grouped FROM report"))
            return sums

    def make_old(self, collector):
        """The groups of an older rule: one group has two bugs, and one bug has two groups."""
        with contextlib.closing(sqlite3.connect(collector.store)) as db, db:
            (match,), (decode,) = (db.execute("SELECT fingerprint FROM grouped WHERE function = ?", (name,)).fetchone()
                                   for name in ("match", "decode"))
            db.execute("DELETE FROM way")
            db.execute("UPDATE grouped SET rule = 1, family = '', frames = '', fingerprint = 'old-' || fingerprint")
            db.execute("UPDATE report SET grouped = 'old-' || grouped")
            for table in SUMS:
                db.execute("UPDATE %s SET fingerprint = 'old-' || fingerprint" % table)
            db.execute("INSERT INTO issue VALUES(?, 'ignored', 'known', '', 0, 0)", ("old-" + decode,))
            # half of one bug's reports are in the other's group
            moved = db.execute("SELECT id FROM report WHERE grouped = ? AND rowid % 2", ("old-" + match,)).fetchall()
            db.executemany("UPDATE report SET grouped = ? WHERE id = ?", [("old-" + decode, *row) for row in moved])
            self.assertTrue(moved)
            for sign, group in ((-1, "old-" + match), (1, "old-" + decode)):
                for table in ("grouped", "group_day", "group_version", "group_system", "group_duration"):
                    db.execute("UPDATE %s SET count = count + ?, total_ms = total_ms + ? WHERE fingerprint = ?" % table,
                               (sign * len(moved), sign * 1500 * len(moved), group))

    def test_a_store_of_an_older_rule_gets_the_groups_of_a_new_one(self):
        collector = self.collector()
        paths = [(FULL, True), (("on_search", "main"), False), (OTHER, True)]
        reports = [report(*random.Random(n).choice(paths), app={"name": "shop", "version": "1.2", "pid": n, "session": "s%d" % (n % 7)})
                   for n in range(400)]
        self.assertEqual((200, 2), self.sent(collector, [report(FULL), report(OTHER)]))
        self.assertEqual((200, 400), self.sent(collector, reports))
        fresh = self.rows(collector)
        self.assertEqual(0, collector.stop())
        self.make_old(collector)
        self.assertNotEqual(fresh, self.rows(collector))
        stopped = 0
        for wait in (0.02, 0.05, 0.1, 0.2):  # killed at any moment, the next run goes on
            with subprocess.Popen([HANGDOG, "serve", "--regroup", "--store", collector.store], env=environment(),
                                  stderr=subprocess.DEVNULL) as process:
                time.sleep(wait)
                process.send_signal(signal.SIGKILL)
                stopped += process.wait() != 0
        self.assertGreater(stopped, 0)
        self.regroup(collector)
        self.assertEqual(fresh, self.rows(collector))
        with contextlib.closing(sqlite3.connect(collector.store)) as db:
            self.assertEqual([("decode", "ignored")], [row for row in db.execute(
                "SELECT function, state FROM issue JOIN grouped USING(fingerprint)") if row[0] == "decode"])
        self.assertEqual({"match", "decode"}, set(self.groups(collector)))


if __name__ == "__main__":
    main()
