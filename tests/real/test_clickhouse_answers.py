# SPDX-License-Identifier: MIT
"""A collector on ClickHouse answers as one on SQLite does: the same reports go to both, and each address of docs/collector-api.md
has the same JSON. Rows that no order is promised for are compared as a set."""

import json
import os
import random
import shutil
import sys
import tempfile
import time
import unittest
import uuid
from urllib.parse import quote

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli"))
from support_clickhouse import Cluster
from support_fleet import Collector, small_report
from support_run import main

REPORTS, RUNS = 200, 30
DAY = 86400
# Paths of functions, the innermost first: each bug in builds that lack functions, and one path that two bugs fit.
BUGS = [("match", "find_all", "search", "on_search", "main"), ("decode", "load", "on_open", "main"),
        ("verify", "on_open", "main"), ("flush", "on_save", "main")]
PARTIAL = [("on_search", "main"), ("load", "on_open", "main"), ("on_open", "main")]
KINDS = ["launch", "background-hang", "fatal-hang", "crash", "cpu", "frame-drop"]
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
    return app, {"os": "linux", "os_version": chance.choice(["12", "13"]), "arch": "x86_64"}


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


class Answers(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.cluster = Cluster(cls.folder)
        cls.addClassCleanup(cls.cluster.stop)
        cls.collectors = [Collector(), Collector("--store", cls.cluster.url, "--state", os.path.join(cls.folder, "state.db"))]
        for collector in cls.collectors:
            cls.addClassCleanup(collector.close)
        cls.sqlite, cls.clickhouse = cls.collectors
        cls.reports = make_reports(1)
        for begin in range(0, REPORTS, 40):
            for collector in cls.collectors:
                answer = collector.send(cls.reports[begin:begin + 40])
                assert answer == (200, {"accepted": 40, "repeated": 0, "refused": []}), answer

    def same(self, path):
        one, other = (collector.get(path) for collector in self.collectors)
        self.assertEqual("", "\n".join(differences(plain(one), plain(other))[:20]), path)
        return one

    def test_pages(self):
        for app in "", "&app=shop", "&app=mail", "&app=none":
            for days in 3, 60:
                self.same("overview?days=%d%s" % (days, app))
                self.same("kinds?days=%d%s" % (days, app))
        page = self.same("overview?days=90")
        self.assertLess({"hang", "crash", "cpu"}, {group["kind"] for group in page["groups"]})
        self.assertEqual("hang", page["groups"][0]["kind"])

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
            self.same("reports?kind=%s" % kind)
            self.same("reports?kind=%s&app=mail&offset=1" % kind)
        for report in self.reports[::20]:
            self.assertEqual(report, self.same("reports/" + report["id"]))
        self.assertIsNone(self.same("reports/00000000-0000-4000-8000-000000000000"))


if __name__ == "__main__":
    main()
