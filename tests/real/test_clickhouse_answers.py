# SPDX-License-Identifier: MIT
"""A collector on ClickHouse answers as one on SQLite does: the same reports go to both, and each address of docs/collector-api.md
has the same JSON. Rows that no order is promised for are compared as a set."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from urllib.parse import quote

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli"))
from support_clickhouse import Cluster
from support_fleet import Collector, small_report
from support_run import HANGDOG, PATIENCE, environment, main, wait_until
from test_symbols import Program

REPORTS, RUNS = 200, 30
DAY = 86400
# Paths of functions, the innermost first: each bug in builds that lack functions, and one path that two bugs fit.
BUGS = [("match", "find_all", "search", "on_search", "main"), ("decode", "load", "on_open", "main"),
        ("verify", "on_open", "main"), ("flush", "on_save", "main")]
PARTIAL = [("on_search", "main"), ("load", "on_open", "main"), ("on_open", "main")]
KINDS = ["launch", "background-hang", "fatal-hang", "crash", "cpu", "frame-drop"]
FOLDER, CLUSTER = [], []
NO_ORDER = {"days", "series", "groups", "reports", "nodes"}


def at(seconds_ago):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(time.time() - seconds_ago))


def stack(functions, whole):
    lines = {"file": "/src/shop.c", "line": 7} if whole else {}
    return {"frames": [{"pc": "0x1010", "module": 0, "function": name, **lines} for name in functions]}


def make_run(chance, n):
    """What all reports of a run of a program have."""
    app = {"name": chance.choice(["shop", "shop", "mail"]), "version": chance.choice(["1.0", "1.1", "2.0", "It's \\ 1"]), "pid": 7,
           "session": "run-%d" % n, "install": "user-%d" % chance.randrange(9)}
    origin = [{"name": "web-1", "unit": "shop.service"}, {"name": "web-2", "container": {"id": "a" * 64, "image": "shop:3"}}, {}][n % 3]
    return app, {"os": "linux", "os_version": chance.choice(["12", "13"]), "arch": "x86_64", **origin}


def make_reports(seed):
    """Hangs of all kinds, errors, crashes, brief repeats and sessions, of two apps and some versions, in the last 40 days."""
    chance = random.Random(seed)
    runs, reports = [make_run(chance, n) for n in range(RUNS)], []
    for n in range(REPORTS):
        app, host = chance.choice(runs) if n < REPORTS - RUNS else runs[n - REPORTS]
        whole = chance.random() < 0.7
        path = chance.choice(BUGS if whole else PARTIAL)
        # each starts at another second: so lists by time have one order
        report = small_report(kind=chance.choice(["hang"] * 7 + KINDS), started_at=at(600 + n * 40 * DAY // REPORTS + chance.randrange(1000)),
                              id=str(uuid.UUID(int=chance.getrandbits(128), version=4)), duration_ns=chance.randrange(1, 9000) * 10 ** 6,
                              app=app, host=host, cause={"kind": chance.choice(["cpu", "disk"]) if whole else "cpu"},
                              hot_stack=stack(path, whole), fingerprint=path[0].encode().hex()[:16].rjust(16, "0"))
        before = [known for known in reports if known["app"] == app and known["kind"] == report["kind"]]
        if n >= REPORTS - RUNS:  # a run ends with its session
            report.update(kind="session", session={"used_ns": report["duration_ns"] * 1000, "hangs": chance.randrange(2)},
                          app={name: app[name] for name in app if name != "version" or n % 3})
        elif before and chance.random() < 0.3:
            report.update({"repeat_of": before[0]["id"], "fingerprint": before[0]["fingerprint"], "cause": before[0]["cause"]})
        reports.append(report)
    return reports


def plain(value):
    """With one order where none is promised: rows of equal time may come in any."""
    if isinstance(value, dict):
        return {name: sorted((plain(row) for row in member), key=lambda row: json.dumps(row, sort_keys=True))
                if name in NO_ORDER and isinstance(member, list) else plain(member) for name, member in value.items()}
    return [plain(row) for row in value] if isinstance(value, list) else value


def differences(one, other, at=""):
    """Where the two values differ, a line each."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [line for name in sorted({*one, *other}) for line in differences(one.get(name), other.get(name), at + "." + name)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for i, pair in enumerate(zip(one, other)) for line in differences(*pair, "%s[%d]" % (at, i))]
    return [] if one == other else ["%s: SQLite %.300s, ClickHouse %.300s" % (at, json.dumps(one), json.dumps(other))]


def setUpModule():
    FOLDER.append(tempfile.mkdtemp(prefix="hangdog-test-"))
    unittest.addModuleCleanup(shutil.rmtree, FOLDER[0], ignore_errors=True)
    CLUSTER.append(Cluster(FOLDER[0]))
    unittest.addModuleCleanup(CLUSTER[0].stop)


class Both(unittest.TestCase):
    """A collector on SQLite, and one on a database of its own in the cluster."""
    database = None

    @classmethod
    def setUpClass(cls):
        cls.options = ["--store", CLUSTER[0].url_of(cls.database), "--state", os.path.join(FOLDER[0], cls.database + ".db")]
        cls.collectors = [Collector(), Collector(*cls.options)]
        for collector in cls.collectors:
            cls.addClassCleanup(collector.close)
        cls.sqlite, cls.clickhouse = cls.collectors

    def same(self, path, but=r"\Z."):
        one, other = (collector.get(path) for collector in self.collectors)
        lines = [line for line in differences(plain(one), plain(other)) if not re.search(but, line)]
        self.assertEqual("", "\n".join(lines[:20]), path)
        return one

    def send(self, reports):
        for collector in self.collectors:
            status, answer = collector.send(reports)
            self.assertEqual((200, len(reports)), (status, answer["accepted"]))

    def same_groups(self, but=r"\Z."):
        """{function: the group}, the same in both but for the members that `but` finds."""
        groups = self.same("overview?days=400", but)["groups"]
        for group in groups:
            self.same("groups/" + group["fingerprint"], but)
            self.same("groups/%s/reports" % group["fingerprint"])
            self.same("groups/%s/stack" % group["fingerprint"])
        self.same("kinds?days=400")
        return {group["function"]: group for group in groups}


class Answers(Both):
    database = "hangs"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reports = make_reports(1)
        for begin in range(0, REPORTS, 40):
            for collector in cls.collectors:
                answer = collector.send(cls.reports[begin:begin + 40])
                assert answer == (200, {"accepted": 40, "repeated": 0, "refused": []}), answer

    def test_pages(self):
        for app in "", "&app=shop", "&app=mail", "&app=none":
            for days in 3, 60:
                self.same("overview?days=%d%s" % (days, app))
                self.same("kinds?days=%d%s" % (days, app))
        page = self.same("overview?days=90")
        self.assertLess({"hang", "crash", "cpu"}, {group["kind"] for group in page["groups"]})
        for collector in self.collectors:  # hangs come first, and of each the longest time
            order = [(group["kind"] == "hang", group["total_ms"]) for group in collector.get("overview?days=90")["groups"]]
            self.assertEqual(sorted(order, reverse=True), order)
        self.same("versions?app=shop")

    def test_lists_of_groups(self):
        for parameters in ("kind=hang", "kind=other", "seen=new&kind=hang", "app=shop&version=1.1", "app=shop&version=2.0&kind=hang&sort=users", "app=mail&offset=2", "days=3", *("sort=%s&offset=1" % sort
                           for sort in ("hangs", "users", "last", "first"))):
            self.same("groups?days=60&" + parameters)
        for collector in self.collectors:
            for n, group in enumerate(collector.get("groups?days=60&kind=hang&sort=first")["groups"][:6]):
                status, _, _ = collector.request("POST", "/api/v1/groups/" + group["fingerprint"], b'{"state": "%s"}' % (b"ignored", b"resolved")[n % 2],
                                                 {"Content-Type": "application/json"}, collector.admin_key)
                self.assertEqual(200, status)
        resolved = collector.get("groups?days=60&state=resolved")["groups"]
        self.send([small_report(hot_stack=stack(BUGS[n], True), started_at=at(-2), app={"name": "shop", "version": "9", "pid": 7}) for n in range(4)])
        for parameters in ("state=open", "state=resolved", "state=ignored", "seen=regressed", "seen=regressed&state=open&sort=users"):
            page = self.same("groups?days=60&kind=hang&" + parameters)
        self.assertEqual((3, {True}), (len(resolved), {group["regressed"] for group in page["groups"]}))

    def test_groups(self):
        groups = self.same("overview?days=90")["groups"]
        self.assertGreater(len(groups), 15)
        for group in groups[::4]:
            at_group = "groups/%s" % group["fingerprint"]
            versions = [version["version"] for version in self.same(at_group)["versions"]]
            self.same(at_group + "/reports?offset=3")
            self.same(at_group + "/stack")
            for version in versions[:2]:
                self.same(at_group + "/reports?version=" + quote(version))
                self.same(at_group + "/stack?inverted=1&version=" + quote(version))
        self.assertIsNone(self.same("groups/0000000000000000"))

    def test_two_versions(self):
        for one, other in ("1.0", "1.1"), ("2.0", "It's \\ 1"), ("2.0", "3.0"):
            page = self.same("compare?app=shop&from=%s&to=%s" % (quote(one), quote(other)))
        self.assertIsNone(page)

    def test_search(self):
        for words in "search", "SHOP.C", "on_", "it's", "' OR 1", "%_", "2.0", "nothing", "cause own":
            self.same("search?q=" + quote(words))
        self.same("search?app=mail&q=search")
        group = self.same("overview?days=90")["groups"][0]["fingerprint"]
        self.assertEqual([group], [found["fingerprint"] for found in self.same("search?q=" + group)["groups"]])
        self.assertEqual(self.reports[7]["id"], self.same("search?q=" + self.reports[7]["id"][:9])["reports"][0]["id"])

    def test_reports(self):
        for kind in "crash", "frame-drop":
            self.assertLess({"web-1", "a" * 12}, {r[m] for r in self.same("reports?kind=%s" % kind)["reports"] for m in ("host", "container")})
            self.same("reports?kind=%s&app=mail&offset=1" % kind)
            self.same("reports?kind=%s&days=20" % kind)
        for report in self.reports[::20]:
            self.assertEqual(report, self.same("reports/" + report["id"]))
        self.assertIsNone(self.same("reports/00000000-0000-4000-8000-000000000000"))


class Moves(Both):
    """Reports that get names, or another group."""
    database = "moves"

    def metric(self, collector, name):
        return int(re.search(r"(?m)^hangdog_collector_%s (\d+)" % name, collector.request("GET", "/metrics")[2].decode())[1])

    def test_names_of_debug_files(self):
        program = Program()
        reports = [program.again() for _ in range(3)]
        self.send(reports)
        (before,) = (name for name in self.same_groups() if name.startswith("shop+0x"))
        for collector in self.collectors:
            status, _, _ = collector.request("POST", "/api/v1/symbols/%s?offset=0&size=%d" % (program.build_id, len(program.debug)),
                                             program.debug, {"Content-Type": "application/octet-stream"}, collector.admin_key)
            self.assertEqual(200, status)
            wait_until(lambda collector=collector: self.metric(collector, "reports_named_total") == 3, "names")
        groups = self.same_groups()
        self.assertNotIn(before, groups)
        self.assertEqual((3, 3), (groups["resize_image"]["count"], groups["resize_image"]["users"]))
        self.same("reports/" + reports[0]["id"])
        self.same("search?q=resize_image")
        self.send([program.again()])
        for collector in self.collectors:
            wait_until(lambda collector=collector: self.metric(collector, "reports_named_total") == 4, "names on arrival")
        self.assertEqual(4, self.same_groups()["resize_image"]["count"])

    def test_regroup(self):
        """Reports that lack functions came before their bug was known."""
        chance, reports = random.Random(2), []
        for n, (path, whole) in enumerate([(PARTIAL[0], False)] * 3 + [(PARTIAL[2], False)] * 2 + [(path, True) for path in BUGS] * 4):
            reports.append(small_report(hot_stack=stack(path, whole), started_at=at(900 + n * 70), duration_ns=chance.randrange(1, 99) * 10 ** 8))
        reports.append(small_report(repeat_of=reports[0]["id"], started_at=at(800), app=reports[0]["app"]))
        for report in reports:
            self.send([report])
        before = self.same_groups()
        for collector in self.collectors:
            status, _, _ = collector.request("POST", "/api/v1/groups/" + before["match"]["fingerprint"], b'{"state": "ignored", "note": "known"}',
                                             {"Content-Type": "application/json"}, collector.admin_key)
            self.assertEqual(200, status)
            self.assertEqual(0, collector.stop())
        for collector, place in zip(self.collectors, (["--store", self.sqlite.store], self.options)):
            subprocess.run([HANGDOG, "serve", "--regroup", *place], env=environment(), check=True, capture_output=True, timeout=PATIENCE)
            collector.start(*place)
        # a group that lost some of its reports keeps what it had of their users and extremes
        after = self.same_groups(r"\.(users|max_ms|first_ms|last_ms): ")
        self.same("groups/" + after["match"]["fingerprint"])
        self.assertNotEqual(before["match"]["fingerprint"], after["match"]["fingerprint"])
        self.assertEqual(("ignored", 8), (after["match"]["state"], after["match"]["count"]))
        self.send([small_report(hot_stack=stack(PARTIAL[0], False), started_at=at(700))])
        self.assertEqual(9, self.same_groups(r"\.(users|max_ms|first_ms|last_ms): ")["match"]["count"])


class Retention(Both):
    database = "old"

    def test_old_weeks_go(self):
        young = [small_report("resize", started_at=at(60 + n)) for n in range(10)]
        self.send(young)
        old = 0
        for shard in CLUSTER[0].shards:  # the same reports once more, as if they had come ten weeks ago
            columns = shard.ask("SELECT name FROM system.columns WHERE database = 'old' AND table = 'report_local'").split()
            change = {"id": "concat('0', substring(id, 2))", "week": "week - 70", "fingerprint": "'00000000000000aa'", "function": "'blur'"}
            shard.ask("INSERT INTO old.report_local(%s) SELECT %s FROM old.report_local" % (
                ", ".join(columns), ", ".join(change.get(column, column) for column in columns)))
            old += int(shard.ask("SELECT count() FROM old.report_local WHERE function = 'blur'"))
        self.assertEqual(10, old)
        counts = {group["function"]: group["count"] for group in self.clickhouse.get("overview?days=30")["groups"]}
        self.assertEqual({"resize": 10, "blur": 10}, counts)
        self.assertEqual(0, self.clickhouse.stop())
        self.clickhouse.start("--retention", "30", *self.options)
        wait_until(lambda: len(self.clickhouse.get("overview?days=30")["groups"]) == 1, "the end of the old reports")
        self.same_groups()
        self.same("compare?app=shop&from=1.2&to=1.2")
        for shard in CLUSTER[0].shards:
            weeks = shard.ask("SELECT table, uniq(partition) FROM system.parts WHERE active AND database = 'old' GROUP BY table")
            self.assertEqual({"1"}, {line.split("\t")[1] for line in weeks.splitlines()}, weeks)


if __name__ == "__main__":
    main()
