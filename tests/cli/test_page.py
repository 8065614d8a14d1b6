# SPDX-License-Identifier: MIT
"""The collector's page in a real browser: what a person sees, by keyboard, on a phone, in the dark; and a hostile report does
nothing. HANGDOG_SCREENSHOTS names a folder that gets a picture of each view."""

import os
import time
import unittest
import uuid

from support_browser import Browser, Chromium
from support_fleet import Collector, small_report
from support_run import main

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime())


def lock_report():
    """One that waits for a lock, whose owner works in compact_log."""
    def frame(name, line):
        return {"pc": "0x1010", "module": 0, "function": name, "file": "/src/shop.c", "line": line}
    return small_report(started_at=now(), cause={"kind": "lock", "lock_owner_tid": 9, "detail": "waited for a mutex"},
                        hot_stack={"frames": [frame("lookup", 13), frame("main", 17)]},
                        threads=[{"tid": 9, "name": "compactor", "stack": {"frames": [frame("compact_log", 11)]}}])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.chromium = Chromium()
        cls.addClassCleanup(cls.chromium.close)
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.close)
        cls.lock = lock_report()
        cls.hostile = small_report(HOSTILE, started_at=now(), app={"name": HOSTILE, "version": HOSTILE, "pid": 1, "session": str(uuid.uuid4())})
        reports = [small_report(started_at=now()) for _ in range(3)] + [cls.lock, lock_report(), cls.hostile]
        status, answer = cls.collector.send(reports)
        assert (status, answer["accepted"]) == (200, 6), answer

    def browser(self, **options):
        browser = Browser(self.chromium, **options)
        self.addCleanup(browser.close)
        return browser

    def open(self, browser, words, address=""):
        browser.open("%s/#key=%s" % (self.collector.url, self.collector.read_key))
        text = browser.wait_for("Most time lost")
        if address:
            browser.value("location.hash = '%s'" % address)
            text = browser.wait_for(words)
        return text

    def picture(self, browser, name):
        folder = os.environ.get("HANGDOG_SCREENSHOTS")
        if folder:
            browser.screenshot(os.path.join(folder, name + ".png"))

    def assert_fits(self, browser, width=360):
        wide = browser.value("[...document.querySelectorAll('main *')].filter((e) => !e.closest('pre, .scroll') &&"
                             " e.getBoundingClientRect().right > %d).map((e) => e.outerHTML.slice(0, 80))" % width)
        self.assertEqual([], wide)

    def group(self, function):
        (group,) = [group for group in self.collector.groups() if group["function"] == function]
        return "#/group/" + group["fingerprint"]

    def test_a_person_finds_what_cost_the_most(self):
        browser = self.browser()
        text = self.open(browser, "")
        self.assertNotIn("key=", browser.value("location.href"), "the key is still in the address")
        rows = browser.value("[...document.querySelectorAll('table.wide tbody tr')].map((r) => r.innerText)")
        self.assertEqual(3, len(rows))
        self.assertTrue(rows[0].startswith("resize_image"), rows)
        self.assertRegex(rows[0], r"cpu\s+4\.5 s\s+3\s+3\s+1\.5 s")
        self.assertIn("compact_log", text)
        self.picture(browser, "overview")
        browser.value("[...document.querySelectorAll('a')].find((a) => a.innerText === 'compact_log').click()")
        text = browser.wait_for("grouped by what its owner did")
        for words in ("owner compact_log", "cause lock", "lookup", "2 reports, merged by time"):
            self.assertIn(words, text)
        self.picture(browser, "group")
        browser.value("document.querySelector('td a[href^=\"#/report/\"]').click()")
        text = browser.wait_for("As hangdog show prints it")
        self.assertIn("hang of 1.5 s in lookup (shop.c:13)", text)
        self.picture(browser, "report")
        self.assertLess(sum(len(self.collector.request("GET", "/" + name)[2]) for name in ("", "app.js", "app.css", "icon.svg")), 100000)
        self.assertEqual([], browser.faults())
        self.assertEqual([], [url for url in browser.requests() if not url.startswith((self.collector.url + "/", "about:", "blob:"))])

    def test_a_hostile_report_does_nothing(self):
        browser = self.browser()
        self.open(browser, "")
        for address, words in ((self.group(HOSTILE), "Where the time went"), ("#/report/" + self.hostile["id"], "As hangdog show")):
            browser.value("location.hash = '%s'" % address)
            self.assertIn("<img src=x", browser.wait_for(words))
            self.assertNotIn("taken", browser.value("document.title").replace(HOSTILE, ""))
            self.assertEqual(0, browser.value("document.querySelectorAll('main img, main script').length"))
        self.assertEqual([], browser.faults())

    def test_keyboard_alone(self):
        browser = self.browser()
        self.open(browser, "")
        seen = []
        for _ in range(12):
            browser.press("Tab", 9)
            seen.append(browser.value("document.activeElement.innerText || document.activeElement.id"))
            if seen[-1] == "compact_log":
                break
        self.assertEqual("Skip to the content", seen[0])
        self.assertIn("compact_log", seen)
        self.assertNotEqual("none", browser.value("getComputedStyle(document.activeElement).outlineStyle"))
        browser.press("Enter", 13, "\r")
        browser.wait_for("grouped by what its owner did")

    def test_a_phone_in_the_dark(self):
        browser = self.browser(width=360, height=740, dark=True)
        self.open(browser, "")
        self.assert_fits(browser)
        self.assertEqual("rgb(22, 21, 20)", browser.value("getComputedStyle(document.body).backgroundColor"))
        self.picture(browser, "phone")
        for address, words in ((self.group("resize_image"), "Where the time went"), ("#/report/" + self.lock["id"], "As hangdog show")):
            browser.value("location.hash = '%s'" % address)
            browser.wait_for(words)
            self.assert_fits(browser)
        self.picture(browser, "phone-report")

    def test_without_a_key_it_asks_for_one(self):
        browser = self.browser()
        browser.open(self.collector.url + "/")
        browser.wait_for("A key is needed")
        browser.value("document.getElementById('key').value = '%s'" % self.collector.read_key)
        browser.value("document.querySelector('form button').click()")
        browser.wait_for("Most time lost")
        browser.value("location.hash = '#/group/0000000000000000'")
        self.assertIn("it is not in the store", browser.wait_for("This page cannot be shown"))

    def test_nothing_is_there_yet(self):
        collector = Collector()
        self.addCleanup(collector.close)
        browser = self.browser()
        browser.open("%s/#key=%s" % (collector.url, collector.read_key))
        self.assertIn("hangdog upload --to", browser.wait_for("No hangs in this time."))


if __name__ == "__main__":
    main()
