# SPDX-License-Identifier: MIT
"""The dashboard in a real browser, against a collector with reports: web/tests/browser has the checks, which playwright-core leads.
HANGDOG_SCREENSHOTS names a folder that gets a picture of each page."""

import glob
import gzip
import os
import subprocess
import unittest

from support_browser import CHROMIUM
from support_dashboard import at, reports, session
from support_fleet import Collector, small_report
from support_run import SOURCE, main

WEB = os.path.join(SOURCE, "web")
NODE = "/usr/bin/node"
COMPRESSED_MAX = 100_000
SECONDS = 400


def wide_reports():
    """More groups than a page has, apps of one version's name, one with a long name that ran for a minute, and slow ones."""
    long = "an-application-whose-name-has-more-than-fifty-letters"
    made = [small_report("wide_bug_%03d" % n, started_at=at((n % 7 + 1 if n < 60 else 9 + n % 7) - 0.5), duration_ns=(625 + n % 9) * 1_000_000,
                         app={"name": "wide", "version": "2.0", "pid": 7}) for n in range(212)]
    made.append(small_report("wide::Paint<int>::operator()(float) const", started_at=at(1), kind="crash", app={"name": "wide", "version": "2.0", "pid": 7}))
    for day in range(12):
        made += [session("wide", "2.0", day, 2, 1), session("other", "2.0", day, 2, 0), session("npm", "", day, 2, 0), session("slow", "1", day, 1, 1),
                 small_report("slowly", started_at=at(day), duration_ns=2_000 * 10 ** 9, app={"name": "slow", "version": "1", "pid": 7})]
    made += [session(long, "1.0", 1, 1 / 60, 1), small_report("wide_bug_of_another", started_at=at(1), duration_ns=20_500_000_000,
                                                                app={"name": long, "version": "1.0", "pid": 7}), session(long, "1.1", 0, 1, 0)]
    return made


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for path, script in ((os.path.join(SOURCE, "build/dashboard/app.js"), "scripts/build-dashboard"),
                             (os.path.join(WEB, "node_modules/playwright-core"), "scripts/build-dashboard"),
                             (NODE, "scripts/install-dependencies test"), (CHROMIUM, "scripts/install-dependencies test")):
            if not os.path.exists(path):
                raise unittest.SkipTest("%s is missing: %s" % (path, script))
        cls.collector, cls.empty, cls.wide = Collector(), Collector(), Collector()
        for collector in (cls.collector, cls.empty, cls.wide):
            cls.addClassCleanup(collector.close)
        status, answer = cls.wide.send(wide_reports())
        assert (status, answer["refused"]) == (200, []), answer
        cls.send_relapse()
        sent = reports()
        status, answer = cls.collector.send(sent)
        assert (status, answer["accepted"]) == (200, len(sent)), answer

    @classmethod
    def send_relapse(cls):
        """Two groups of the app `relapse` are resolved in version 1; one comes again in version 2."""
        sent = [small_report(function, started_at=at(2), app={"name": "relapse", "version": "1", "pid": 7}) for function in ("relapsing", "cured")]
        assert cls.collector.send(sent)[0] == 200
        for group in cls.collector.get("overview?days=30&app=relapse")["groups"]:
            status = cls.collector.request("POST", "/api/v1/groups/" + group["fingerprint"], b'{"state":"resolved"}',
                                           {"Content-Type": "application/json"}, cls.collector.admin_key)[0]
            assert status == 200, status
        again = small_report("relapsing", started_at=at(-1), app={"name": "relapse", "version": "2", "pid": 7})
        assert cls.collector.send(again)[0] == 200

    def test_pages(self):
        environment = {**os.environ, "HANGDOG_URL": self.collector.url, "HANGDOG_KEY": self.collector.read_key,
                       "HANGDOG_ADMIN_KEY": self.collector.admin_key,
                       "HANGDOG_EMPTY_URL": self.empty.url, "HANGDOG_EMPTY_KEY": self.empty.read_key,
                       "HANGDOG_WIDE_URL": self.wide.url, "HANGDOG_WIDE_KEY": self.wide.read_key}
        run = subprocess.run([NODE, "--test", "--test-reporter=spec", *sorted(glob.glob(os.path.join(WEB, "tests/browser/*.check.mjs")))], cwd=WEB, env=environment, timeout=SECONDS,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        print(run.stdout)
        self.assertEqual(0, run.returncode, "a check of web/tests failed")

    def test_size(self):
        page = self.collector.request("GET", "/")[2]
        self.assertIn(b"app.js", page)
        sizes = {name: len(gzip.compress(self.collector.request("GET", "/" + name)[2]))
                 for name in ("", *os.listdir(os.path.join(SOURCE, "build/dashboard")))}
        print("compressed: %s" % sizes)
        self.assertLess(sum(sizes.values()), COMPRESSED_MAX)


if __name__ == "__main__":
    main()
