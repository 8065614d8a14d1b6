# SPDX-License-Identifier: MIT
"""Two collectors share keys, settings and notes in PostgreSQL; their reports are in ClickHouse. What one changes holds
for the other; while PostgreSQL is away reports are still taken, and nothing that people said is lost."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli"))
from support_clickhouse import Cluster
from support_fleet import Collector, need_fleet, small_report
from support_postgres import Postgres
from support_run import HANGDOG, PATIENCE, environment, wait_until


class SharedState(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_fleet()
        cls.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.close)
        cluster = Cluster(cls.folder)
        cls.addClassCleanup(cluster.stop)
        cls.options = ("--store", cluster.url, "--state", cls.postgres.url)
        cls.one = Collector(*cls.options)
        cls.addClassCleanup(cls.one.close)
        cls.two = Collector(*cls.options)
        cls.addClassCleanup(cls.two.close)

    def change(self, collector, path, value):
        status, _, body = collector.request("POST", "/api/v1/" + path, json.dumps(value),
                                            {"Content-Type": "application/json"}, self.one.admin_key)
        return status, json.loads(body)

    def test_1_keys_and_settings(self):
        self.assertIsNone(self.two.send_key)  # it found those of the first
        self.two.send_key, self.two.read_key = self.one.send_key, self.one.read_key
        self.assertEqual(self.two.send(small_report())[1]["accepted"], 1)
        made = subprocess.run([HANGDOG, "serve", *self.options, "--new-key", "send:shop"], capture_output=True, text=True,
                              check=True, timeout=PATIENCE, env=environment()).stdout.strip()
        wait_until(lambda: self.two.send(small_report(), key=made)[0] == 200, "the new key")
        key = json.loads(self.two.request("GET", "/api/v1/keys", key=self.one.admin_key)[2])[-1]
        self.assertEqual((key["app"], key["use"]), ("shop", "send"))
        self.assertNotIn(made, self.postgres.ask("SELECT encode(hash, 'hex') FROM hangdog_key"))
        status, _, _ = self.one.request("DELETE", "/api/v1/keys/%d" % key["id"], key=self.one.admin_key)
        self.assertEqual(status, 200)
        wait_until(lambda: self.two.send(small_report(), key=made)[0] == 401, "the end of the key")
        self.assertEqual(self.change(self.one, "settings", {"retention_days": 0, "limits": {"report_bytes": 4000}})[0], 200)
        settings = self.two.get("settings")
        self.assertEqual((settings["retention_days"], settings["limits"]["report_bytes"]), (0, 4000))

    def test_2_notes(self):
        fingerprint = self.one.get("overview?days=400")["groups"][0]["fingerprint"]
        self.assertEqual(self.change(self.one, "groups/" + fingerprint, {"note": "Ask the döner shop's team"})[0], 200)
        self.assertEqual(self.change(self.two, "groups/" + fingerprint, {"state": "resolved"})[0], 200)
        for collector in (self.one, self.two):
            group = collector.get("groups/" + fingerprint)
            self.assertEqual((group["note"], group["state"]), ("Ask the döner shop's team", "resolved"))

    def test_3_the_server_is_away(self):
        fingerprint = self.one.get("overview?days=400")["groups"][0]["fingerprint"]
        self.postgres.kill()
        self.assertEqual(self.one.send(small_report())[1]["accepted"], 1)
        self.assertEqual(self.change(self.one, "groups/" + fingerprint, {"state": "open"})[0], 503)
        self.assertEqual(self.change(self.one, "settings", {"retention_days": 5})[0], 503)
        self.assertEqual(self.change(self.one, "keys", {"use": "read"})[0], 503)
        self.assertEqual(self.one.request("GET", "/api/v1/settings", key=self.one.read_key)[0], 503)
        status, _, body = self.one.request("DELETE", "/api/v1/keys/1", key=self.one.admin_key)
        self.assertEqual(status, 503, body)  # not: there is none
        refused = subprocess.run([HANGDOG, "serve", *self.options, "--keys"], capture_output=True, text=True, check=False,
                                 timeout=PATIENCE, env=environment())
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("cannot use PostgreSQL for the keys: ", refused.stderr)
        self.assertIn("refused", refused.stderr)
        self.postgres.start()
        wait_until(lambda: self.change(self.one, "groups/" + fingerprint, {"state": "open"})[0] == 200, "PostgreSQL")
        wait_until(lambda: self.two.request("GET", "/api/v1/settings", key=self.one.read_key)[0] == 200, "its connection")
        group = self.two.get("groups/" + fingerprint)
        self.assertEqual((group["note"], group["state"]), ("Ask the döner shop's team", "open"))
        self.assertEqual(self.two.get("settings")["retention_days"], 0)

    def test_4_the_server_is_stopped(self):
        with self.postgres.stopped():
            self.assertEqual(self.two.request("GET", "/api/v1/settings", key=self.one.read_key)[0], 503)
            self.assertEqual(self.two.send(small_report())[1]["accepted"], 1)
            self.assertEqual({"open"}, {group["state"] for group in self.two.get("overview?days=400")["groups"]})
        wait_until(lambda: self.two.request("GET", "/api/v1/settings", key=self.one.read_key)[0] == 200, "PostgreSQL")

    def test_5_a_wrong_url_shows_no_password(self):
        for password in ("pass/word", "pass@word", "pass%word"):
            url = self.postgres.url.replace("hangdog@", "hangdog:%s@" % password)
            refused = subprocess.run([HANGDOG, "serve", *self.options[:3], url, "--keys"], capture_output=True, text=True,
                                     check=False, timeout=PATIENCE, env=environment())
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("%2F", refused.stderr)
            self.assertNotRegex(refused.stderr, "pass(?!word write)|word(?! write)")


if __name__ == "__main__":
    unittest.main()
