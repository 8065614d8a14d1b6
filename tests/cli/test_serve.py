# SPDX-License-Identifier: MIT
"""The collector: what it stores, what it refuses and why, and that no acknowledged report is lost, or there twice."""

import gzip
import json
import os
import shutil
import socket
import sqlite3
import stat
import statistics
import subprocess
import tempfile
import time
import unittest
from random import Random

from support_clock import YEAR, Clock
from support_fleet import Collector, need_fleet, sample_report, shared_collector, small_report
from support_load import BATCH, Load
from support_run import HANGDOG, PATIENCE, RELEASE, environment, main_side_by_side, wait_until

KILLS = int(os.environ.get("HANGDOG_KILLS") or (20 if RELEASE else 4))  # 500 by hand
SLOW_CLIENTS = 300


def stored_ids(collector):
    with sqlite3.connect("file:%s?mode=ro" % collector.store, uri=True) as store:
        return [row[0] for row in store.execute("SELECT id FROM report")]


class Serve(unittest.TestCase):
    def setUp(self):
        self.collector = shared_collector()

    def assert_refused(self, report, at, reason):
        status, answer = self.collector.send(report)
        self.assertEqual(400, status, answer)
        (refused,) = answer["refused"]
        self.assertEqual((0, 0), (answer["accepted"], answer["repeated"]))
        self.assertEqual(at, refused["at"], refused)
        self.assertIn(reason, refused["reason"])
        self.assertEqual("future" in reason, "retry_after" in refused, "what a clock refused may pass later")

    def test_a_report_is_stored_and_read_as_it_was_sent(self):
        report = sample_report()
        status, answer = self.collector.send(report)
        self.assertEqual((200, 1), (status, answer["accepted"]), answer)
        self.assertEqual(report, self.collector.get("reports/" + report["id"]))
        status, headers, text = self.collector.request("GET", "/api/v1/reports/%s/text" % report["id"],
                                                       key=self.collector.read_key)
        self.assertEqual((200, "text/plain; charset=utf-8"), (status, headers["Content-Type"]))
        self.assertRegex(text.decode(), r"\Ahang of ")

    def test_the_same_report_twice_is_one(self):
        def send(reports):
            _, answer = self.collector.send(reports)
            return answer["accepted"], answer["repeated"]
        report = small_report("twice")
        self.assertEqual((1, 0), send(report))
        self.assertEqual((0, 1), send(report))
        self.assertEqual((1, 1), send([small_report("twice"), report]))
        (group,) = [group for group in self.collector.get("overview?days=400")["groups"] if group["function"] == "twice"]
        self.assertEqual((2, 3000), (group["count"], group["total_ms"]))

    def test_a_repeat_counts_in_no_group_of_another_app(self):
        """The sender of an app may know a session's and a report's id of another one, and its fingerprint."""
        session, fingerprint = "0190b7a0-0000-7000-8000-000000000001", "feedfeedfeedfeed"
        def report(app, **more):
            return small_report("foreign", app={"name": app, "pid": 1, "session": session}, fingerprint=fingerprint, **more)
        first = report("victim")
        self.assertEqual(200, self.collector.send(first)[0])
        for repeated in first["id"], "0190b7a0-0000-7000-8000-0000000000ff":  # by its id, and by session and fingerprint
            self.assertEqual(200, self.collector.send(report("attacker", repeat_of=repeated))[0])
        self.assertEqual(200, self.collector.send(report("victim", repeat_of=first["id"]))[0])
        counts = {group["app"]: group["count"] for group in self.collector.get("overview?days=400")["groups"]
                  if group["app"] in ("victim", "attacker")}
        self.assertEqual({"victim": 2, "attacker": 2}, counts)

    def test_encodings(self):
        body = json.dumps(small_report()).encode()
        self.assertEqual(200, self.collector.send(gzip.compress(body), "gzip")[0])
        zstd = subprocess.run(["/usr/bin/zstd", "-c"], input=json.dumps(small_report()).encode(), capture_output=True,
                              check=True).stdout if os.path.exists("/usr/bin/zstd") else None
        if zstd:
            self.assertEqual(200, self.collector.send(zstd, "zstd")[0])
        self.assertEqual(415, self.collector.send(body, "br")[0])
        self.assertEqual(400, self.collector.send(gzip.compress(body)[:-9], "gzip")[0])
        self.assertEqual(400, self.collector.send(body, "zstd")[0])

    def test_a_bomb_is_refused(self):
        bomb = gzip.compress(b" " * (80 << 20))
        self.assertLess(len(bomb), 1 << 20)
        status, answer = self.collector.send(bomb, "gzip")
        self.assertEqual((413, True), (status, "after decompression" in answer["error"]))
        status, answer = self.collector.send(b"[" * 100000)
        self.assertIn("nests deeper", answer["refused"][0]["reason"])
        status, answer = self.collector.send(b'{"a":[' + b"0," * 1000000 + b"0]}")
        self.assertIn("values", answer["refused"][0]["reason"])
        status, _, _ = self.collector.request("POST", "/api/v1/reports", b"",
                                                 {"Content-Length": str(1 << 30), "Content-Type": "application/json"},
                                              self.collector.send_key)
        self.assertEqual(413, status)

    def test_what_is_no_report_is_refused_with_its_place(self):
        self.assert_refused(b"{", "", "is no JSON")
        self.assert_refused(b'{"a":"\xff"}', "", "is no JSON")
        self.assert_refused(b"[]", "", "is no object")
        self.assert_refused(small_report(kind="pause"), "/kind", "none of the known words")
        self.assert_refused(small_report(id="../../etc/passwd"), "/id", "no UUID")
        self.assert_refused(small_report(started_at="yesterday"), "/started_at", "no time")
        self.assert_refused(small_report(started_at="2199-01-01T00:00:00Z"), "/started_at", "future")
        self.assert_refused(small_report(duration_ns=-1), "/duration_ns", "less than 0")
        self.assert_refused(small_report(duration_ns=9 * 10 ** 18), "/duration_ns", "ten years")
        self.assert_refused(small_report(app={"name": "shop"}), "/app", "lacks 'pid'")
        self.assert_refused(small_report(hot_stack={"frames": [{"pc": "0x1"}, {"pc": "17"}]}), "/hot_stack/frames/1/pc", "no address")
        self.assert_refused(small_report(app={"name": "x" * 20000, "pid": 1}), "/app/name", "longer")
        self.assert_refused(small_report(hot_stack={"frames": [{"pc": "0x1"}] * 30000}), "/hot_stack/frames", "items")

    def test_the_good_ones_of_a_batch_are_kept(self):
        good = [small_report("batch"), small_report("batch")]
        lines = [json.dumps(good[0]).encode(), b'{"id":7}', json.dumps(good[1]).encode(), b"no JSON"]
        status, answer = self.collector.send(b"\n".join(lines), lines=True)
        self.assertEqual((200, 2), (status, answer["accepted"]))
        self.assertEqual([1, 3], [refused["index"] for refused in answer["refused"]])
        for report in good:
            self.assertEqual(report, self.collector.get("reports/" + report["id"]))

    def test_keys(self):
        body, wrong = json.dumps(small_report()), "hds_" + "0" * 32
        post = {"Content-Type": "application/json"}
        for key in (None, wrong, self.collector.read_key):
            self.assertEqual(401, self.collector.request("POST", "/api/v1/reports", body, post, key)[0])
        for key in (None, wrong, self.collector.send_key):
            self.assertEqual(401, self.collector.request("GET", "/api/v1/overview", key=key)[0])
        self.assertEqual(401, self.collector.request("POST", "/api/v1/reports", body, post, self.collector.admin_key)[0])
        self.assertEqual(200, self.collector.request("GET", "/api/v1/overview", key=self.collector.admin_key)[0])
        with open(self.collector.store, "rb") as store, open(self.collector.store + "-wal", "rb") as wal:
            self.assertNotIn(self.collector.send_key.encode(), store.read() + wal.read())
        self.assertEqual(0, stat.S_IMODE(os.stat(self.collector.store).st_mode) & 0o077)
        made = subprocess.run([HANGDOG, "serve", "--store", self.collector.store, "--new-key", "send"], check=True,
                              capture_output=True, text=True, timeout=PATIENCE).stdout.strip()
        wait_until(lambda: self.collector.request("POST", "/api/v1/reports", json.dumps(small_report()), post, made)[0] == 200,
                   "the collector to know a key that was made while it ran")

    def test_for_machines(self):
        self.collector.send(small_report())
        self.assertEqual((200, b'{"status":"ok"}'), self.collector.request("GET", "/healthz")[::2])
        text = self.collector.request("GET", "/metrics")[2].decode()
        self.assertRegex(text, r"(?m)^hangdog_collector_reports_stored_total [1-9]")
        self.assertNotIn("hd", text.replace("hangdog", ""))
        self.assertNotIn("app=", text, "what users run needs a key")
        self.collector.send(small_report("metric", app={"name": 'sh"op\\', "version": "7", "pid": 1}))
        text = self.collector.request("GET", "/metrics", key=self.collector.read_key)[2].decode()
        self.assertIn('hangdog_hangs_total{app="sh\\"op\\\\",version="7"} 1\n', text)
        self.assertIn('hangdog_hang_seconds_total{app="sh\\"op\\\\",version="7"} 1.5\n', text)
        for key in self.collector.send_key, "hdr_" + "0" * 32:
            self.assertEqual(401, self.collector.request("GET", "/metrics", key=key)[0])

    def test_addresses(self):
        for path in ("/report.schema.json", "/../etc/passwd", "/%2e%2e/etc/passwd", "/api/v1/reports/..%2f..", "/api/v1/groups/0"):
            self.assertEqual(404, self.collector.request("GET", path, key=self.collector.read_key)[0], path)
        self.assertEqual(405, self.collector.request("DELETE", "/api/v1/reports", key=self.collector.send_key)[0])
        status, headers, _ = self.collector.request("GET", "/")
        self.assertEqual(200, status)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])

    def test_a_request_that_has_two_lengths_is_none(self):
        with socket.create_connection(("127.0.0.1", self.collector.port), PATIENCE) as s:
            s.sendall(b"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + self.collector.send_key.encode() +
                      b"\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            s.settimeout(1)
            answer = b""
            try:
                while piece := s.recv(4096):
                    answer += piece
            except socket.timeout:
                pass
        self.assertLessEqual(answer.count(b"HTTP/1.1 200"), 1, "a second request was found in the body of the first one")


class Limits(unittest.TestCase):
    def start(self, *options):
        collector = Collector(*options)
        self.addCleanup(collector.close)
        return collector

    def test_slow_clients_keep_no_others_waiting(self):
        collector, slow = self.start(), []  # its own: all tests come from one address, and each address has a limit
        try:
            for _ in range(SLOW_CLIENTS):
                s = socket.create_connection(("127.0.0.1", collector.port), PATIENCE)
                s.sendall(b"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nAuthor")
                slow.append(s)
            begun = time.monotonic()
            self.assertEqual(200, collector.send(small_report())[0])
            self.assertLess(time.monotonic() - begun, 2 if RELEASE else 20)
        finally:
            for s in slow:
                s.close()

    def test_a_key_over_its_rate_waits(self):
        collector = self.start("--rate", "10")
        statuses = set()
        for _ in range(40):  # ten at a time: a busy machine takes a moment for each request
            status, headers, _ = collector.request("POST", "/api/v1/reports", "\n".join(json.dumps(small_report()) for _ in range(10)),
                                                   {"Content-Type": "application/x-ndjson"}, collector.send_key)
            statuses.add(status)
            if status == 429:
                self.assertGreaterEqual(int(headers["Retry-After"]), 1)
                break
        self.assertEqual({200, 429}, statuses)

    def test_a_full_store_loses_nothing_and_goes_on(self):
        collector = self.start("--limit", "1")
        stored, status = [], 200
        for _ in range(400):
            batch = [small_report("full", **{"host": {"os": "linux", "arch": "x86_64", "kernel": os.urandom(4000).hex()}}) for _ in range(4)]
            status, answer = collector.send(batch)
            if status != 200:
                break
            stored += [report["id"] for report in batch]
        self.assertEqual((507, "the store is full"), (status, answer["error"]))
        self.assertEqual(503, collector.request("GET", "/healthz")[0])
        self.assertEqual(sorted(stored), sorted(stored_ids(collector)))
        self.assertEqual(0, collector.stop())
        collector.start("--limit", "20")
        self.assertEqual(200, collector.send(batch)[0])
        self.assertEqual(sorted(stored + [report["id"] for report in batch]), sorted(stored_ids(collector)))

    def test_signals_end_it(self):
        collector = self.start()
        collector.send(small_report())
        self.assertEqual(0, collector.stop())
        collector.start()
        self.assertNotIn("hds_", collector.text(), "a later start has no key to print")
        self.assertEqual(200, collector.send(small_report())[0])

    def test_wrong_use(self):
        need_fleet()
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder)
        free = ["--listen", "127.0.0.1:0", "--store"]
        for options, words in ((["--listen", "8437"], "want ADDR:PORT"), ([*free, "/proc/none/x"], "cannot open the store"),
                               ([*free, "/dev/null"], "no regular file"),
                               (["--state", "postgresql://hangdog@127.0.0.1:1/x"], "cannot use --state")):
            done = subprocess.run([HANGDOG, "serve", *options], capture_output=True, text=True, timeout=PATIENCE, check=False,
                                  env=environment({"HOME": "/nowhere"} if "8437" not in options else {"XDG_DATA_HOME": folder}))
            self.assertEqual(1, done.returncode)
            self.assertIn(words, done.stderr)


class Killed(unittest.TestCase):
    """The collector is killed at full load, while its clock is a year ahead at every third start."""

    def one_life(self, collector, random):
        """Reports that it acknowledged a second, until it is killed; then those that were not in their tables yet."""
        first = self.load.count()
        wait_until(lambda: self.load.count() > first, "reports to be stored")
        begun, before = time.monotonic(), self.load.count()
        time.sleep(random.uniform(0, 0.3))
        wait_until(lambda: self.load.count() > before + 5 * BATCH, "reports to be stored")
        rate = (self.load.count() - before) / (time.monotonic() - begun)
        collector.kill()
        store = sqlite3.connect("file:%s?mode=ro" % collector.store, uri=True)
        (arrived,) = store.execute("SELECT count(*) FROM arrived").fetchone()
        store.close()
        return rate, arrived

    def test_what_was_acknowledged_is_there_once(self):
        collector = Collector("--retention", "7", "--rate", "1000000")
        self.addCleanup(collector.close)
        clock = None if os.environ.get("HANGDOG_SANITIZER") else Clock(collector.folder)
        random, lives = Random(KILLS), []
        self.load = Load(collector)
        with self.load:
            for kill in range(KILLS):
                lives.append(self.one_life(collector, random))
                if clock is not None:
                    clock.set(YEAR if kill % 3 == 2 else 0)
                    collector.more = clock.environment if kill % 3 == 2 else {}
                collector.start("--rate", "1000000")
        self.assertEqual(0, collector.stop())  # it settles what arrived
        acknowledged = self.load.acknowledged()
        stored = stored_ids(collector)
        lost, twice = len(acknowledged - set(stored)), len(stored) - len(set(stored))
        with sqlite3.connect(collector.store) as store:
            (integrity,) = store.execute("PRAGMA integrity_check").fetchone()
            sums = {table: store.execute("SELECT sum(count), sum(total_ms) FROM " + table).fetchone()
                    for table in ("grouped", "group_day", "group_version", "group_system", "group_duration", "version_day", "app_version")}
        store.close()
        rates = sorted(rate for rate, _ in lives)
        print("%d kills: median %d reports a second (most %d), in at most %d of 'arrived' (%d kills met some); %d acknowledged, %d lost, "
              "%d twice, integrity %s" % (KILLS, statistics.median(rates), rates[-1], max(arrived for _, arrived in lives),
                                          sum(arrived > 0 for _, arrived in lives), len(acknowledged), lost, twice, integrity))
        self.assertEqual((0, 0, "ok"), (lost, twice, integrity))
        self.assertEqual({table: (len(stored), len(stored) * 1500) for table in sums}, sums)
        if RELEASE:
            self.assertGreater(statistics.median(rates), 1000, "the senders were too slow for the way of 'arrived'")
            self.assertGreater(sum(arrived > 0 for _, arrived in lives), 0)


if __name__ == "__main__":
    main_side_by_side()
