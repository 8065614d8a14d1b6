# SPDX-License-Identifier: MIT
"""What the pages read from the collector: sums by group, version and day, lists, merged stacks, downloads; and that an address with
hostile parameters is refused with its reason."""

import gzip
import json
import os
import re
import sqlite3
import sys
import time
import unittest
import uuid
from urllib.parse import quote

from support_fleet import Collector, sample_report, small_report
from support_run import SOURCE, main

sys.path.append(os.path.join(SOURCE, "scripts"))
import words_def  # pylint: disable=wrong-import-position

WORDS = words_def.words(SOURCE)

NOW = time.time()
DAY = 86400


def at(days_ago=0.0):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(NOW - days_ago * DAY))


def report(function, version="1.0", days_ago=0.1, ms=1000, app="shop", app_more=None, **more):
    return small_report(function, started_at=at(days_ago), duration_ns=ms * 1000000,
                        app={"name": app, "version": version, "pid": 7, "session": str(uuid.uuid4()), **(app_more or {})}, **more)


def session(hangs, used_s, version="1.0", app="shop"):
    return report("none", version, app=app, ms=used_s * 1000, kind="session", session={"used_ns": used_s * 10 ** 9, "hangs": hangs})


def tree(*times):
    """Samples whose tree has main, and below it a function for each of `times` in ms."""
    frames = [{"pc": "0x1000", "module": 0, "function": "main"}]
    nodes = [{"parent": -1, "frame": 0, "time_ns": sum(times) * 1000000, "samples": 1}]
    for i, ms in enumerate(times):
        frames.append({"pc": hex(0x1100 + i), "module": 0, "function": "work_%d" % i, "file": "/src/w.c", "line": i})
        nodes.append({"parent": 0, "frame": i + 1, "time_ns": ms * 1000000, "samples": 1})
    return {"tree": {"frames": frames, "nodes": nodes}}


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.close)
        cls.reports = [report("old_bug", "1.0", 20), report("old_bug", "1.1", 3, 500), report("young_bug", "1.1", 2, 3000),
                       report("treed", "1.0", 5, 400, samples=tree(100, 300)), report("treed", "1.1", 4, 800, samples=tree(700, 100)),
                       report("elsewhere", "9", 1, 250, app="mail"), report("burner", kind="cpu"), report("gone", kind="crash"),
                       session(0, 3600), session(2, 1800, "1.1"), session(0, 60, "9", "mail")]
        status, answer = cls.collector.send(cls.reports)
        assert (status, answer["accepted"]) == (200, len(cls.reports)), answer

    def get(self, path):
        return self.collector.get(path)

    def refused(self, path):
        status, _, body = self.collector.request("GET", "/api/v1/" + path, key=self.collector.read_key)
        self.assertEqual(400, status, (path, body))
        return json.loads(body)["error"]

    def group(self, function, days=30):
        (group,) = [group for group in self.get("overview?days=%d" % days)["groups"] if group["function"] == function]
        return group

    def test_overview(self):
        page = self.get("overview?app=shop&days=30")
        self.assertLessEqual({"mail", "shop"}, {app["app"] for app in page["apps"]})
        self.assertEqual([("young_bug", 3000, 1, 1), ("old_bug", 1500, 2, 2), ("treed", 1200, 2, 2)],
                         [(g["function"], g["total_ms"], g["count"], g["versions"]) for g in page["groups"] if g["kind"] == "hang"])
        self.assertEqual({"cpu", "crash"}, {g["kind"] for g in page["groups"][3:]}, "hangs do not come first")
        self.assertEqual({"young_bug": True, "old_bug": False, "treed": True}, {g["function"]: g["is_new"] for g in page["groups"][:3]})
        self.assertEqual({("open", False)}, {(g["state"], g["regressed"]) for g in page["groups"]})
        self.assertEqual({"runs": 2, "hang_free": 1}, page["sessions"])
        self.assertEqual([{"used_ms": 5400000, "runs": 2, "hang_free": 1}], page["used"])
        versions = {v["version"]: v for v in page["versions"]}
        self.assertEqual((3, 4300, 1800000), tuple(versions["1.1"][member] for member in ("count", "total_ms", "used_ms")))
        self.assertEqual(int(NOW - 4 * DAY), versions["1.1"]["first_ms"] // 1000)
        self.assertEqual((5700, 5400000), (sum(s["total_ms"] for s in page["series"]), sum(s["used_ms"] for s in page["series"])))
        hangs = {g["fingerprint"] for g in page["groups"] if g["kind"] == "hang"}
        self.assertEqual(5700, sum(day["total_ms"] for day in page["days"] if day["fingerprint"] in hangs))

    def test_overview_of_few_days(self):
        page = self.get("overview?app=shop&days=6")
        self.assertEqual(500, self.group("old_bug", 6)["total_ms"])
        self.assertEqual(4700, sum(s["total_ms"] for s in page["series"]))

    def test_reports_of_an_app_a_user_and_one_are_erased(self):
        keys = {"read": self.collector.read_key, "send": self.collector.send_key}

        def erase(path, key=self.collector.admin_key):
            status, _, body = self.collector.request("DELETE", "/api/v1/" + path, key=key)
            return status, json.loads(body).get("erased")

        reports = [report("kept", app="far away/1"), report("gone", app="far away/1", app_more={"install": "ann"}), report("gone", app="far away/1"),
                   report("other", app="near"), session(1, 60, app="near")]
        self.collector.send(reports)
        for key in keys.values():
            self.assertEqual((401, None), erase("apps/near", key))
        self.assertEqual((200, 2), erase("apps/near"))
        self.assertEqual((404, None), erase("apps/near"))
        self.assertEqual((200, 1), erase("users/ann"))
        self.assertEqual((200, 1), erase("reports/" + reports[2]["id"]))
        page = self.get("overview?app=" + quote("far away/1"))
        self.assertEqual(["kept"], [group["function"] for group in page["groups"]])
        self.assertEqual((1, 1000), (page["totals"]["count"], page["totals"]["total_ms"]))
        self.assertEqual([], self.get("overview?app=near")["groups"])
        self.assertEqual((200, 1), erase("apps/" + quote("far away/1")))
        self.assertNotIn("far away/1", {app["app"] for app in self.get("overview")["apps"]})

    def test_series_of_many_versions(self):
        self.collector.send([report("many", "v%d" % i, ms=100 + i, app="many") for i in range(20)])
        series = self.get("overview?app=many")["series"]
        self.assertEqual(["v%d" % i for i in range(8, 20)], sorted((s["version"] for s in series if s["version"]), key=lambda v: int(v[1:])))
        self.assertEqual(sum(100 + i for i in range(8)), sum(s["total_ms"] for s in series if not s["version"]))

    def test_a_version_without_hangs_has_a_series(self):
        self.collector.send([report("once", "1", ms=100, app="mended"), session(1, 3600, "1", "mended"), session(0, 3600, "2", "mended")])
        series = self.get("overview?app=mended")["series"]
        self.assertEqual([("1", 100, 3600000), ("2", 0, 3600000)], sorted((s["version"], s["total_ms"], s["used_ms"]) for s in series))

    def test_group(self):
        group = self.get("groups/" + self.group("old_bug")["fingerprint"])
        self.assertEqual(("open", "", "", False), (group["state"], group["note"], group["resolved_in"], group["regressed"]))
        self.assertIn("own old_bug", group["path"])
        self.assertRegex(group["why"], r"^The reports of this group are of \w+, .*half of their time in old_bug\.")
        self.assertEqual([{"kind": "hang", "count": 2, "total_ms": 1500}], group["kinds"])
        self.assertEqual([("1.0", 1000), ("1.1", 500)], [(v["version"], v["total_ms"]) for v in group["versions"]])
        self.assertEqual([(8, 1), (9, 1)], [(d["step"], d["count"]) for d in group["durations"]])
        self.assertEqual([2, 1500], [sum(day[m] for day in group["days"]) for m in ("count", "total_ms")])
        self.assertEqual([{"system": "linux, x86_64", "count": 2, "total_ms": 1500}], group["systems"])
        self.assertEqual([], group["labels"])

    def test_labels_of_a_group(self):
        labels = ["GET /cart"] * 3 + ["<script>alert(1)</script>\x1b[31m"] * 2 + ["id %d" % i for i in range(400)]
        reports = [report("labelled", ms=100, app="labels") for _ in range(len(labels) + 1)]
        for one, label in zip(reports, labels):
            one["label"] = label
        self.collector.send(reports)
        group = self.get("overview?app=labels")["groups"][0]["fingerprint"]
        rows = self.get("groups/" + group)["labels"]
        self.assertEqual([("GET /cart", 3, 300), (labels[3], 2, 200)], [(r["label"], r["count"], r["total_ms"]) for r in rows[:2]])
        self.assertEqual(51, len(rows))
        self.assertEqual(("", 405 - 3 - 2 - 48), (rows[-1]["label"], rows[-1]["count"]))
        with sqlite3.connect(self.collector.store) as db:
            self.assertEqual((201, 405), db.execute("SELECT count(*), sum(count) FROM group_label WHERE fingerprint = ?", (group,)).fetchone())
        for one in (reports[0], reports[400], reports[-1]):  # of a label, of the others, of none
            self.assertEqual(200, self.collector.request("DELETE", "/api/v1/reports/" + one["id"], None, {}, self.collector.admin_key)[0])
        rows = self.get("groups/" + group)["labels"]
        self.assertEqual([2, 2, 405 - 2 - 3 - 48 - 1], [rows[0]["count"], rows[1]["count"], rows[-1]["count"]])

    def test_reports_of_a_group(self):
        path = "groups/%s/reports" % self.group("old_bug")["fingerprint"]
        self.assertEqual(["1.1", "1.0"], [r["version"] for r in self.get(path)["reports"]])
        self.assertEqual([self.reports[0]["id"]], [r["id"] for r in self.get(path + "?version=1.0")["reports"]])
        self.assertEqual([self.reports[0]["id"]], [r["id"] for r in self.get(path + "?offset=1")["reports"]])
        self.assertEqual([], self.get(path + "?version=2")["reports"])

    def test_a_page_has_at_most_200_reports(self):
        self.collector.send([report("often", app="often") for _ in range(230)])
        path = "groups/%s/reports" % self.get("overview?app=often")["groups"][0]["fingerprint"]
        first, rest = self.get(path)["reports"], self.get(path + "?offset=200")["reports"]
        self.assertEqual((200, 30), (len(first), len(rest)))
        self.assertEqual(230, len({r["id"] for r in first + rest}))

    def test_stack_of_a_version_and_inverted(self):
        path = "groups/%s/stack" % self.group("treed")["fingerprint"]

        def times(stack):
            return {n["name"]: n["ms"] for n in stack["nodes"]}
        both = self.get(path)
        self.assertEqual({"main": 1200, "work_0": 800, "work_1": 400}, times(both))
        self.assertEqual((2, 1200), (both["reports"], both["total_ms"]))
        self.assertEqual({"main": 400, "work_0": 100, "work_1": 300}, times(self.get(path + "?version=1.0")))
        inverted = self.get(path + "?inverted=1")["nodes"]
        self.assertEqual({"work_0": 800, "work_1": 400}, {n["name"]: n["ms"] for n in inverted if n["parent"] == -1})
        self.assertEqual({("main", "work_0", 800), ("main", "work_1", 400)},
                         {(n["name"], inverted[n["parent"]]["name"], n["ms"]) for n in inverted if n["parent"] >= 0})

    def test_compare(self):
        page = self.get("compare?app=shop&from=1.0&to=1.1")
        self.assertEqual(("1.0", 1400, 3600000, 1), tuple(page["from"][m] for m in ("version", "total_ms", "used_ms", "runs")))
        self.assertEqual(4300, page["to"]["total_ms"])
        self.assertEqual({"young_bug": (0, 3000, 0, 1), "old_bug": (1000, 500, 1, 1), "treed": (400, 800, 1, 1)},
                         {g["function"]: (g["from_ms"], g["to_ms"], g["from_count"], g["to_count"]) for g in page["groups"]})
        self.assertEqual((2, 1400), (page["from_stack"]["reports"], page["from_stack"]["total_ms"]))
        self.assertEqual(700, {n["name"]: n["ms"] for n in page["to_stack"]["nodes"]}["work_0"])
        self.assertIsNone(self.get("compare?app=shop&from=1.0&to=7"))
        self.assertIn("app:", self.refused("compare?from=1.0&to=1.1"))

    def test_stacks_of_a_version_weigh_as_their_groups(self):
        self.collector.send([report("weighed", "w", ms=200, app="weighed") for _ in range(9)])
        self.collector.send([report("weighed", "v", ms=200, app="weighed")])
        stack = self.get("compare?app=weighed&from=w&to=v")["from_stack"]
        self.assertEqual((2, 1800, 1800), (stack["reports"], stack["total_ms"], stack["nodes"][0]["ms"]))

    def test_search(self):
        def functions(words):
            return sorted(g["function"] for g in self.get("search?q=" + quote(words))["groups"] if g["app"] in ("shop", "mail"))
        self.assertEqual(["old_bug", "young_bug"], functions("BUG"))
        self.assertEqual(["elsewhere"], functions("elsewhere"))
        self.assertEqual(["old_bug", "treed", "young_bug"], functions("1.1"))
        for words in ("%", "_", "' OR 1=1 --"):
            self.assertEqual([], functions(words + "zz"), words)
        wanted = self.reports[0]["id"]
        self.assertEqual([wanted], [r["id"] for r in self.get("search?q=" + wanted[:13])["reports"]])
        self.assertEqual([], self.get("search?q=%s&app=mail" % wanted)["reports"])

    def test_kinds(self):
        self.assertEqual({"hang": 5, "cpu": 1, "crash": 1, "session": 2},
                         {k["kind"]: k["count"] for k in self.get("kinds?app=shop")})
        (cpu,) = self.get("reports?kind=cpu&app=shop")["reports"]
        self.assertEqual((self.reports[6]["id"], "cpu", "1.0"), (cpu["id"], cpu["kind"], cpu["version"]))
        self.assertEqual("burner", self.get("groups/" + cpu["fingerprint"])["function"])
        self.assertEqual([], self.get("reports?kind=cpu&app=mail")["reports"])
        self.assertEqual(1, len(self.get("reports?kind=crash")["reports"]))

    def test_reports_of_each_kind(self):
        kinds = [row["word"] for row in WORDS["report"] + WORDS["foreign"]]
        for kind in kinds:
            if kind in ("hang", "session"):
                why = self.refused("reports?kind=" + kind)
                self.assertIn("listed by group, and sessions are counted", why)
                self.assertEqual([], [other for other in kinds if other not in why and other not in ("hang", "session")])
            else:
                self.assertIn("reports", self.get("reports?kind=" + kind) or {}, kind)

    def test_reports_of_a_time_have_their_function(self):
        self.collector.send([report("paint", days_ago=day, app="painter", kind="frame-drop") for day in (0.1, 3, 9)])
        for days, count in (("", 3), ("&days=7", 2), ("&days=1", 1)):
            rows = self.get("reports?app=painter&kind=frame-drop" + days)["reports"]
            self.assertEqual([("paint", "shop.c:7")] * count, [(row["function"], row["place"]) for row in rows])
        self.assertEqual(["paint"] * 3, [row["function"] for row in self.get("groups/%s/reports" % rows[0]["fingerprint"])["reports"]])
        self.assertIn("days: want", self.refused("reports?kind=cpu&days=0"))

    def test_totals_are_of_all_groups(self):
        """More groups than a page has; the totals and the pages follow the filter."""
        self.collector.send([report("wide_%03d" % n, ms=1000 + n, days_ago=n % 20 + 0.5, app="wide", app_more={"install": "user-%d" % n})
                             for n in range(230) for _ in range(1 + n % 2)])
        page = self.get("overview?app=wide&days=40")
        self.assertEqual((230, 345), (page["totals"]["groups"], page["totals"]["count"]))
        self.assertEqual(sum(s["total_ms"] for s in page["series"]), page["totals"]["total_ms"])
        rest = self.get("groups?app=wide&days=40&offset=200")
        self.assertEqual((200, 30, page["totals"]), (len(page["groups"]), len(rest["groups"]), rest["totals"]))
        self.assertEqual(230, len({g["fingerprint"] for g in page["groups"] + rest["groups"]}))
        for sort, key in (("time", "total_ms"), ("hangs", "count"), ("users", "users"), ("last", "last_ms"), ("first", "first_ms")):
            values = [g[key] for g in self.get("groups?app=wide&days=40&sort=" + sort)["groups"]]
            self.assertEqual(sorted(values, reverse=True), values, sort)
        new = self.get("overview?app=wide&days=40&seen=new")
        self.assertEqual({True}, {g["is_new"] for g in new["groups"]})
        self.assertEqual((len(new["groups"]), sum(g["total_ms"] for g in new["groups"])), (new["totals"]["groups"], new["totals"]["total_ms"]))
        gone = rest["groups"][0]
        self.collector.request("POST", "/api/v1/groups/" + gone["fingerprint"], b'{"state": "ignored"}', {"Content-Type": "application/json"},
                               self.collector.admin_key)
        some = self.get("groups?app=wide&days=40&state=open")["totals"]
        self.assertEqual((229, page["totals"]["total_ms"] - gone["total_ms"]), (some["groups"], some["total_ms"]))
        (only,) = self.get("groups?app=wide&days=40&state=ignored")["groups"]
        self.assertEqual((gone["fingerprint"], "ignored"), (only["fingerprint"], only["state"]))
        self.assertEqual(0, self.get("groups?app=wide&days=40&seen=regressed")["totals"]["groups"])
        for wrong in ("state=shut", "seen=old", "sort=name", "kind=cpu", "offset=-1"):
            self.assertIn(wrong.split("=")[0] + ": want", self.refused("overview?" + wrong))

    def test_groups_of_a_version(self):
        page = self.get("overview?app=shop&version=1.1&days=1&kind=hang&sort=hangs")
        self.assertEqual({"young_bug": (1, 3000), "old_bug": (1, 500), "treed": (1, 800)},
                         {g["function"]: (g["count"], g["total_ms"]) for g in page["groups"]})
        self.assertEqual({"groups": 3, "count": 3, "total_ms": 4300}, page["totals"])
        self.assertEqual(["young_bug", "treed", "old_bug"], [g["function"] for g in self.get("groups?app=shop&version=1.1")["groups"]])
        self.assertEqual(0, self.get("groups?app=shop&version=1.1&state=ignored")["totals"]["groups"])
        self.assertEqual(2, self.get("groups?app=shop&version=1.0&kind=other")["totals"]["groups"])
        self.assertEqual([], self.get("groups?app=shop&version=77")["groups"])
        self.assertIn("app: name the app", self.refused("groups?version=1.1"))

    def test_others_are_not_behind_hangs(self):
        page = self.get("groups?app=shop&days=30&kind=other")
        self.assertEqual(({"cpu", "crash"}, 2), ({g["kind"] for g in page["groups"]}, page["totals"]["groups"]))
        self.assertEqual({"hang"}, {g["kind"] for g in self.get("groups?app=shop&kind=hang")["groups"]})

    def test_versions(self):
        page = self.get("versions?app=shop")
        self.assertEqual([("1.0", 2, 1400), ("1.1", 3, 4300)],
                         sorted((v["version"], v["count"], v["total_ms"]) for v in page["versions"]))
        self.assertLessEqual({"mail", "shop"}, {app["app"] for app in page["apps"]})
        self.assertEqual(["9"], [v["version"] for v in self.get("versions?app=mail")["versions"]])

    def test_a_report_as_a_download(self):
        whole = sample_report()
        self.collector.send(whole)
        formats = {row["word"]: row["suffix"] for row in WORDS["format"] if row["button"] != "0"}
        self.assertEqual(".envelope", formats["sentry"])  # JSON in lines: no program opens it as one JSON text
        with open(os.path.join(SOURCE, "web/src/words.ts"), encoding="utf-8") as pages:
            offered = dict(re.findall(r"\{ name: '(\w+)', label: '[^']*', suffix: '([^']*)' \}", pages.read()))
        self.assertEqual(formats, offered)  # the name that the page saves a download by
        for name, suffix in formats.items():
            status, headers, body = self.collector.request("GET", "/api/v1/reports/%s/export/%s" % (whole["id"], name),
                                                           key=self.collector.read_key)
            self.assertEqual(200, status, name)
            self.assertEqual('attachment; filename="hangdog-%s%s"' % (whole["id"][:8], suffix), headers["Content-Disposition"])
            if suffix.endswith(".json"):
                json.loads(body)
            if name == "pprof":
                self.assertGreater(len(gzip.decompress(body)), 100)
        for name in ("prometheus", "exe", "text/more"):
            self.assertIsNone(self.get("reports/%s/export/%s" % (whole["id"], name)), name)

    def test_hostile_parameters(self):
        self.assertEqual("app: is longer than 200 bytes", self.refused("overview?app=" + "x" * 201))
        self.assertEqual("days: want a number from 1 to 400", self.refused("overview?days=0"))
        for days in ("401", "-1", "7x", "0x7", "1e2", "99999999999999999999999", "%2030", "1;DROP TABLE report"):
            self.assertIn("days: want a number", self.refused("overview?days=" + quote(days, safe="%")), days)
        for name, path in (("app", "overview?app="), ("app", "kinds?app="), ("q", "search?q="), ("version", "groups/%s/stack?version=" % ("0" * 16)),
                           ("version", "groups/%s/reports?version=" % ("0" * 16)), ("from", "compare?app=shop&from=")):
            for value in ("%00", "a%00b", "%ff%fe", "%c3%28", "a%0ab", "%7f", "%ed%a0%80"):
                self.assertEqual(name + ": is no text in UTF-8, or has control characters", self.refused(path + value), (path, value))
        self.assertIn("offset", self.refused("groups/%s/reports?offset=100001" % ("0" * 16)))
        self.assertIn("inverted", self.refused("groups/%s/stack?inverted=yes" % ("0" * 16)))
        self.assertIn("q: want two", self.refused("search?q=a"))
        self.assertIn("kind: want", self.refused("reports?kind=" + quote("cpu' OR '1'='1")))
        self.assertEqual([], self.get("overview?app=" + quote("shop' OR '1'='1"))["groups"])
        for path in ("groups/" + "0" * 15, "groups/" + "g" * 16, "groups//", "reports/1/2/3/4/5", "x" * 5000, "reports/" + "%2e%2e%2f" * 9):
            self.assertIsNone(self.get(path), path[:40])
        self.assertGreater(len(self.get("overview")["groups"]), 0)


class Issues(unittest.TestCase):
    """POST groups/FINGERPRINT: what people say of a group."""

    def setUp(self):
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        self.send("1.0", 0.1)

    def send(self, version, days_ago=0.0):
        self.assertEqual(200, self.collector.send(report("again_and_again", version, days_ago))[0])

    def group(self):
        (group,) = self.collector.get("overview?days=30")["groups"]
        return group

    def post(self, change, key=None, fingerprint=None, **headers):
        body = change if isinstance(change, bytes) else json.dumps(change).encode()
        status, _, answer = self.collector.request("POST", "/api/v1/groups/" + (fingerprint or self.group()["fingerprint"]), body,
                                                   {"Content-Type": "application/json", **headers}, key or self.collector.admin_key)
        return status, json.loads(answer)

    def issue(self):
        group = self.collector.get("groups/" + self.group()["fingerprint"])
        return group["state"], group["note"]

    def test_other_keys_change_nothing(self):
        for key in (self.collector.read_key, self.collector.send_key, "hda_" + "0" * 32, "hda_", self.collector.admin_key[:-1],
                    self.collector.admin_key + "0", self.collector.admin_key.upper(), self.collector.admin_key + ", x", "x" * 5000):
            status, answer = self.post({"state": "resolved", "note": "x"}, key)
            self.assertIn(status, (401, 431), key)
            self.assertTrue(status == 431 or "a key for administering is needed" == answer["error"], answer)
        for headers in ({}, {"Authorization": "Basic " + self.collector.admin_key}, {"Authorization": self.collector.admin_key},
                        {"Cookie": "key=" + self.collector.admin_key}):
            path = "/api/v1/groups/%s?key=%s" % (self.group()["fingerprint"], self.collector.admin_key)
            self.assertEqual(401, self.collector.request("POST", path, b'{"state":"resolved"}',
                                                         {"Content-Type": "application/json", **headers})[0], headers)
        self.assertEqual(("open", ""), self.issue())
        self.assertNotIn(self.collector.admin_key, self.collector.text().split("collecting at", 1)[1].split("\n", 6)[-1])

    def test_states(self):
        for state in ("resolved", "ignored", "open"):
            self.assertEqual((200, {"changed": True}), self.post({"state": state}))
            self.assertEqual((state, ""), self.issue())
        for state in ("Resolved", "", "closed", "resolved ", "open' OR 1", "resolved\n", 1, None, True, [], ["resolved"], {"resolved": 1}):
            self.assertEqual(400, self.post({"state": state})[0], state)
            self.assertEqual(400, self.post({"state": state, "note": "with a note"})[0], state)
        self.assertEqual(("open", ""), self.issue())

    def test_notes(self):
        for note in ("see ticket 7", "<script>alert(1)</script>", "'; DROP TABLE issue; --", "\u00e4\U0001f600" * 100, "two\nlines", "x" * 4000, ""):
            self.assertEqual(200, self.post({"note": note})[0], note[:40])
            self.assertEqual(("open", note), self.issue())
        self.post({"note": "this one stays"})
        for note in ("x" * 4001, "\u00e4" * 2001, "x" * 60000, 7, None, ["x"], {}, "a\0b"):
            self.assertEqual(400, self.post({"note": note})[0], str(note)[:40])
            self.assertEqual(400, self.post({"note": note, "state": "resolved"})[0], str(note)[:40])
        self.assertEqual(("open", "this one stays"), self.issue())

    def test_bodies_and_addresses(self):
        for body in (b"", b"{", b"[]", b"null", b'"resolved"', b"{}", b'{"other":"x"}', b'{"state":"open","state":"resolved"}', b'{"note":"\xff"}',
                     b"[" * 3000):
            self.assertEqual(400, self.post(body)[0], body[:30])
        self.assertEqual(413, self.post(b'{"note":"' + b"x" * 70000 + b'"}')[0])
        for fingerprint in ("0" * 16, "g" * 16, "x", "..", self.group()["fingerprint"] + "0", self.group()["fingerprint"][:15], "%00", "' OR 1=1"):
            self.assertEqual(404, self.post({"state": "resolved"}, fingerprint=quote(fingerprint, safe="%"))[0], fingerprint)
        self.assertEqual(("open", ""), self.issue())

    def test_a_resolved_group_comes_again(self):
        self.send("0.9", 3)
        self.assertEqual(200, self.post({"state": "resolved", "note": "fixed in 1.1"})[0])
        self.send("0.9", -0.001)  # an older version has no fix
        self.assertEqual(("resolved", False), (self.group()["state"], self.group().get("regressed", False)))
        self.send("2.0", -0.001)  # after it was resolved
        self.assertEqual(("resolved", True), (self.group()["state"], self.group()["regressed"]))
        self.assertEqual(("resolved", "fixed in 1.1"), self.issue())
        self.assertEqual(200, self.post({"state": "open"})[0])
        self.assertFalse(self.group().get("regressed", False))


if __name__ == "__main__":
    main()
