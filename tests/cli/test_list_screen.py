# SPDX-License-Identifier: MIT
"""The screens of `hangdog list` and `hangdog stats` in a terminal of 80 columns, and the sums of `stats`."""

import datetime
import json
import subprocess

from support_run import main
from support_screen import Screens, screen
from test_cli import HANGDOG, WRITE_REPORT, Command, run

S = 10**9


class Spool(Command, Screens):
    """A spool with the hangs of two programs and a session of one, as their runs of an hour ago left them."""

    def setUp(self):
        super().setUp()
        self.ids = []
        now = datetime.datetime.now(datetime.timezone.utc)
        self.midday = min(now, now.astimezone().replace(hour=12).astimezone(datetime.timezone.utc))
        self.spool.mkdir(parents=True)
        self.add("hang", "dead", "a", 70.6, "lock", "update_row", "/src/dead.c", 13, kind="fatal-hang")
        for i, seconds in enumerate((1.9, 2.0, 1.0)):
            self.add("hang", "redis-server", "b", seconds, "sleep", "debugCommand", None, 0, repeat=i > 0)
        self.add("session", "redis-server", "b", 22 * 60, None, None, None, 0, kind="session")

    def add(self, _, app, session, seconds, cause, function, file, line, kind="hang", repeat=False, age=0, **members):
        out = subprocess.run([WRITE_REPORT, self.spool, "session" if kind == "session" else "full"], check=True,
                             capture_output=True, text=True).stdout
        path = self.spool / (out.strip() + ".json")
        report = json.loads(path.read_text(encoding="utf-8"))
        when = self.midday + datetime.timedelta(seconds=len(self.ids) - age)
        report.update({"kind": kind, "duration_ns": int(seconds * S), "fingerprint": "%s-%s" % (app, function),
                       "started_at": when.strftime("%Y-%m-%dT%H:%M:%S.000000000Z"), **members})
        report["app"].update({"name": app, "session": session})
        if cause:
            report["cause"]["kind"] = cause
            frame = report["hot_stack"]["frames"][0]
            del report["hot_stack"]["frames"][1:]
            frame.update({"function": function, "share": 1.0})
            frame.pop("inlined", None)
            if file:
                frame.update({"file": file, "line": line})
            else:
                frame.pop("file", None)
        else:
            report["session"]["suppressed"] = members.get("suppressed", [])
        if repeat:
            report["repeat_of"] = self.ids[-1]
        path.write_text(json.dumps(report), encoding="utf-8")
        self.ids.append(path.stem)
        return path.stem

    def seen(self, *arguments, **more):
        return screen([HANGDOG, *arguments, "--no-symbols", "--spool", str(self.spool)], **more)


class List(Spool):
    def test_a_row_for_each_hang(self):
        self.assertScreen("""
            WHEN      APP           KIND    LONGEST  CAUSE   N  FUNCTION            REPORT
            22:52:41  dead          fatal    70.6 s  lock    1  update_row (dead.c:13)  da744a
            22:53:23  redis-server  hang     2.0 s  sleep  3  debugCommand         e8f8c1
            """, self.seen("list"))

    def test_other_days_and_what_is_older(self):
        self.add("hang", "dead", "c", 70.6, "lock", "update_row", "/src/dead.c", 13, age=3 * 86400)
        text = self.seen("list", "-n", "1")
        self.assertIn("2 older: %s list -n 0 --spool " % HANGDOG, text.replace("\n", ""))
        self.assertRegex(self.seen("list", "--app", "dead").split("\n")[2], r"^[ \d]\d \w{3} \d\d:\d\d  dead ")

    def test_functions_give_way_then_apps(self):
        self.add("hang", "an-app-with-a-name-of-many-words", "d", 3, "page-fault",
                 "void company::product::Vector<company::Document>::update_the_whole_row(unsigned long)", "/a/row.cc", 100)
        for width in 80, 60, 120:
            text = self.seen("list", width=width)
            self.assertFits(text, width)
            self.assertEqual(4, len(text.split("\n")), text)
        self.assertRegex(self.seen("list").split("\n")[3], r"  hang  .*  update_the_whole_\u2026  [0-9a-f]{6}$")
        self.assertIn("  an-app-with-a-name-of-many-words  ", self.seen("list", width=120))

    def test_in_a_narrow_terminal_other_columns_give_way_to_the_function(self):
        self.add("hang", "an-app-with-a-name-of-many-words", "d", 3, "page-fault", "update_the_whole_row(unsigned long)", "/a/row.cc", 100)
        for width, columns in ((60, r"WHEN +APP +LONGEST +N +FUNCTION +REPORT"), (50, r"WHEN +APP +LONGEST +FUNCTION +REPORT")):
            text = self.seen("list", width=width)
            self.assertFits(text, width)
            self.assertRegex(text.split("\n")[0], r"^%s$" % columns)
            self.assertRegex(text.split("\n")[3], r"  3\.0 s  .*update_the_w\w*\u2026.*  [0-9a-f]{6}$")
        stats = self.seen("stats", width=40)
        self.assertFits(stats, 40)
        self.assertIn("update_the_w", stats)

    def test_colours(self):
        self.assertIn("\033[2mWHEN", self.seen("list", colours=True).replace("\033[39m", ""))
        self.assertNotIn("\033[2m", self.seen("list", colours=True, env={"NO_COLOR": "1"}))


class Stats(Spool):
    def test_the_worst_is_first(self):
        self.assertScreen("""
            LOST    N  WORST   CAUSE  FUNCTION                APP           LAST
            70.6 s  1  70.6 s  lock   update_row (dead.c:13)  dead          22:52:41
            4.9 s   3  2.0 s   sleep  debugCommand            redis-server  22:52:41
            75.5 s lost in 22 min watched: 206 s an hour
            """, self.seen("stats"), (r"206 s an hour", "RATE"))
        self.assertIn("75.5 s lost in 22 min watched: 206 s an hour", self.seen("stats").replace("75.500 s", "75.5 s"))

    def test_a_pool_stall_is_no_lost_time(self):
        self.add("hang", "redis-server", "b", 9, "sleep", "query", None, 0, kind="pool-stall", pool={"name": "libuv", "threads": 2})
        last = run("stats", "--no-symbols", "--spool", self.spool).stdout.splitlines()[-1]
        self.assertRegex(last, r"\A75\.5\d* s lost in 22 min watched: 206 s an hour; pool stalls: 9\.\d+ s\Z")

    def rows(self, *options):
        done = run("stats", "--json", "--no-symbols", "--spool", self.spool, *options)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_sums(self):
        first, second = self.rows()
        self.assertEqual({"fingerprint": "dead-update_row", "own": {"function": "update_row", "file": "/src/dead.c", "line": 13},
                          "cause": "lock", "app": "dead", "count": 1, "total_ns": 70600000000, "max_ns": 70600000000},
                         {name: value for name, value in first.items() if name not in ("last_at", "version")})
        self.assertEqual((3, int(4.9 * S), 2 * S), (second["count"], second["total_ns"], second["max_ns"]))
        self.add("hang", "dead", "c", 1, "lock", "update_row", "/src/dead.c", 15, app_version=2)
        self.add("hang", "dead", "c", 1, "cpu", "resize", "/src/dead.c", 15)
        self.assertEqual([2, 3, 1], [row["count"] for row in self.rows()], "over runs")
        self.assertEqual([("lock", 2), ("sleep", 3), ("cpu", 1)], [(row["cause"], row["count"]) for row in self.rows("--by", "cause")])
        self.assertEqual([("dead", 3), ("redis-server", 3)], [(row["app"], row["count"]) for row in self.rows("--by", "version")])
        self.assertEqual(["redis-server"], [row["app"] for row in self.rows("--app", "redis-server")])

    def of_a_fleet(self):
        """Two hosts, a unit and two containers; a session of one host that counts hangs without a report."""
        web = {"id": "a" * 64, "name": "shop-web-1", "image": "registry/shop:3"}
        for name, function, seconds, host in (("nginx", "resize", 2, {"unit": "nginx.service"}), ("nginx", "blur", 1, {"container": web}),
                                              ("nginx", "blur", 0.6, {"container": {"id": "b" * 64}})):
            host = {"os": "linux", "arch": "x86_64", "name": "db-1" if "id" in host.get("container", {}) else "web-1", **host}
            self.add("hang", name, "f", seconds, "cpu", function, None, 0, host=host)
        self.add("session", "nginx", "f", 60, None, None, None, 0, kind="session", suppressed=[
            {"fingerprint": "nginx-resize", "count": 5, "total_ns": 50 * S, "max_ns": 30 * S},
            {"fingerprint": "of no report", "count": 1, "total_ns": S, "max_ns": S}],
            host={"os": "linux", "arch": "x86_64", "name": "web-1", "unit": "nginx.service"})

    def test_by_host_unit_and_container(self):
        self.of_a_fleet()
        def by(part, *options):
            return [(row.get(part), row["count"]) for row in self.rows("--by", part, "--app", "nginx", *options)]
        self.assertEqual([("web-1", 7), ("db-1", 2)], by("host"))
        self.assertEqual([("nginx.service", 7), (None, 2)], by("unit"))
        self.assertEqual([(None, 7), ("shop-web-1", 1), ("b" * 12, 1)], by("container"))
        self.assertEqual([("nginx.service", 7)], by("unit", "--unit", "nginx"))
        self.assertEqual([("shop-web-1", 1)], by("container", "--container", "registry/shop:*"))
        self.assertEqual([("b" * 12, 1)], by("container", "--container", "b" * 12))
        self.assertEqual([], by("host", "--host", "web"))
        listed = json.loads(run("list", "--json", "--no-symbols", "--unit", "nginx", "--host", "w?b-1", "--spool", self.spool).stdout)
        self.assertEqual([("web-1", "nginx.service", "resize")], [(row["host"], row["unit"], row["function"]) for row in listed])
        self.assertIn("none of 9 reports matches", run("list", "--container", "b", "--spool", self.spool).stderr)
        self.assertScreen("""
            LOST    N  WORST   HOST   APP    LAST
            53.0 s  7  30.0 s  web-1  nginx  12:00:08
            53.0 s lost in 1 min watched: 3180 s an hour
            """, self.seen("stats", "--by", "host", "--host", "w*"))

    def test_hangs_without_a_report_are_counted(self):
        self.add("session", "redis-server", "e", 60, None, None, None, 0, kind="session", suppressed=[
            {"fingerprint": "redis-server-debugCommand", "count": 5, "total_ns": 50 * S, "max_ns": 30 * S},
            {"fingerprint": "of no report", "count": 1, "total_ns": S, "max_ns": S}])
        dead, redis, other = self.rows()
        self.assertEqual((8, int(54.9 * S), 30 * S), (redis["count"], redis["total_ns"], redis["max_ns"]))
        self.assertEqual((1, S, "redis-server", "of no report"), tuple(other[n] for n in ("count", "max_ns", "app", "fingerprint")))
        self.assertEqual("dead", dead["app"])

    def test_a_part_of_a_session(self):
        """It began before: only what came after is watched time, and hangs without a time are not counted."""
        self.add("session", "dead", "f", 2 * 3600, None, None, None, 0, kind="session", age=3600 * 25, suppressed=[
            {"fingerprint": "dead-update_row", "count": 5, "total_ns": 50 * S, "max_ns": 30 * S}])
        since = (self.midday - datetime.timedelta(days=1)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        done = run("stats", "--no-symbols", "--since", since, "--app", "dead", "--spool", self.spool)
        self.assertRegex(done.stdout.splitlines()[-1], r"\A70\.6\d* s lost in (1 h 00|60) min watched: 71 s an hour\Z")

    def test_durations_that_no_clock_has(self):
        self.add("hang", "odd", "g", 1, "cpu", "f", None, 0, duration_ns=2**63 - 1)
        self.add("hang", "odd", "h", 1, "cpu", "f", None, 0, duration_ns=2**63 - 1)
        self.add("hang", "odd", "i", 1, "cpu", "f", None, 0, duration_ns=-5)
        self.assertEqual((3, 2**63 - 1), tuple(self.rows()[0][name] for name in ("count", "total_ns")))
        self.assertNotIn("-", run("stats", "--spool", self.spool).stdout.splitlines()[-1])

    def test_nothing_hung(self):
        for id in self.ids[:-1]:
            (self.spool / f"{id}.json").unlink()
        self.assertScreen("0 us lost in 22 min watched: 0 ms an hour", self.seen("stats"))
        (self.spool / f"{self.ids[-1]}.json").unlink()
        done = run("stats", "--spool", self.spool)
        self.assertEqual((0, ""), (done.returncode, done.stdout))
        self.assertIn("no reports yet", done.stderr)


if __name__ == "__main__":
    main()
